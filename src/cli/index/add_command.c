/* calque index add: adds documents of any format, in batches. */
#include "base/error.h"
#include "cli/frame/command.h"
#include "cli/frame/command_ranks.h"
#include "cli/frame/report.h"
#include "cli/index/index_command.h"

#include <inttypes.h>
#include <stdlib.h>

struct args {
  size_t size;
  cq_documents_options *documents;
  cq_index_read_options *read;
  const char *model;
  size_t passage_tokens, passage_overlap;
  int threads, precision;
  bool ids;
};

static const cq_option_part parts[] = {{.group = &cq_group_documents, .offset = offsetof(struct args, documents)},
                                       {.group = &cq_group_index_read, .offset = offsetof(struct args, read)},
                                       {0}};

static const cq_option options[] = {
    {CQ_TEXT(struct args, "model", model, CHANGES, "MODEL", "where the index's model is now"), .letter = 'm',
     .otherwise = "the name it was made with"},
    CLI_PRECISION(struct args, precision),
    {CQ_FLAG(struct args, "ids", ids, CHANGES, "lines are an id, a tab and a text: --format tsv")},
    CQ_PASSAGE_ROWS(struct args),
    CLI_THREADS(struct args, threads),
};

/* The summary of the additions. */
static void note_changes(const cq_index *index, const cq_index_changes *c) {
  char changes[128] = "";
  const cq_index_read_result *r = &c->read;
  const uint64_t n_after = cq_index_size(index), n_replaced = c->n_before + r->n_added - r->n_removed - n_after;
  const size_t n_passages = cq_index_n_passages(index);
  if (r->n_skipped)
    cli_note("%" PRIu64 " %s skipped", r->n_skipped,
             r->n_skipped == 1 ? "document, file or folder was" : "documents, files or folders were");
  if (r->n_kept)
    cli_note("kept %" PRIu64 " document%s that the index has of files that cannot be read completely", r->n_kept,
             r->n_kept == 1 ? "" : "s");
  if (r->n_blank) cli_note("%" PRIu64 " blank document%s left out", r->n_blank, r->n_blank == 1 ? " was" : "s were");
  if (n_replaced)
    snprintf(changes, sizeof changes, " (%" PRIu64 " replaced)", n_replaced);
  else if (!r->n_removed && n_passages - c->n_passages_before > r->n_added)
    snprintf(changes, sizeof changes, " in %zu passages", n_passages - c->n_passages_before);
  if (r->n_removed) cli_note("removed %" PRIu64 " document%s", r->n_removed, r->n_removed == 1 ? "" : "s");
  if (!r->n_added && r->n_unchanged && !r->n_removed)
    cli_note("nothing changed, the index has %" PRIu64 " document%s", n_after, n_after == 1 ? "" : "s");
  else
    cli_note("added %" PRIu64 " document%s%s, the index has %" PRIu64, r->n_added, r->n_added == 1 ? "" : "s", changes,
             n_after);
}

static bool draw_read(void *progress, uint64_t n_read) {
  cli_progress_draw(progress, "read", n_read, 0, "", false);
  return true;
}

static void end_reading(void *context, const cq_index *index, const cq_index_changes *changes) {
  cli_progress_clear(context);
  *(cli_progress *)context = cli_progress_start();
  if (changes) note_changes(index, changes);
}

int cli_index_folder(char *out, size_t size, const char *folder, const cq_index_options *opening, const char *encoding,
                     cq_context *ctx) {
  cli_progress progress = cli_progress_start();
  const cq_index_folder_watch watch = {draw_read, end_reading, &progress};
  cq_error error = {0};
  const cq_status status = cq_index_folder(out, size, folder, encoding, opening, &watch, ctx, &error);
  return status ? cli_fail_error(&error) : CLI_OK;
}

static int read_all(cq_index *index, cq_documents *in, const cq_index_read_options *how, cq_context *ctx) {
  cli_progress progress = cli_progress_start();
  cq_error error = {0};
  cq_index_changes changes;
  cq_index_read_options o = *how;
  o.progress = draw_read, o.progress_context = &progress;
  const cq_status status = cq_index_read_commit(&changes, index, in, &o, ctx, &error);
  cli_progress_clear(&progress);
  if (status) return cli_fail_error(&error);
  if (cq_ranks_rank(how->ranks) == 0) note_changes(index, &changes);
  return CLI_OK;
}

static cq_status open_all(cq_index **index, cq_documents **in, const cli_call *call, cq_error *error) {
  static const char *const standard_input[] = {"-"};
  const struct args *args = call->options;
  const size_t n_paths = call->n_arguments - 1;
  const bool leads = cq_ranks_rank(args->read->ranks) == 0;
  cq_index_options o = cq_index_default_options();
  o.model = args->model, o.precision = (cq_precision)args->precision;
  o.writing = leads, o.notice = cli_notice;
  o.passage_tokens = args->passage_tokens, o.passage_overlap = args->passage_overlap;
  args->documents->notice = cli_notice;
  if (args->ids) args->documents->format = CQ_DOCUMENTS_TSV;
  cq_status status = CQ_OK;
  if (leads)
    status = cq_documents_open(in, n_paths ? call->arguments + 1 : standard_input, n_paths ? n_paths : 1,
                               args->documents, error);
  return status ? status : cq_index_open(index, call->arguments[0], &o, error);
}

/* mpirun may have started several processes, which must all have the same options. */
static int join_adding_ranks(cq_ranks **out, const cli_call *call) {
  const struct args *args = call->options;
  cq_error error = {0};
  int code = cli_ranks_open(out);
  if (code || !*out) return code;
  args->read->ranks = *out;
  char *lines = cli_ranks_lines(call);
  if (!lines) return cli_fail("out of memory");
  if (cq_ranks_agree(*out, lines, &error)) code = cli_fail_error(&error);
  free(lines);
  return code;
}

static int run_index_add(const cli_call *call) {
  const struct args *args = call->options;
  cq_documents *in = NULL;
  cq_index *index = NULL;
  cq_context *ctx = NULL;
  cq_error error = {0};
  cq_ranks *ranks;
  int code = join_adding_ranks(&ranks, call);
  if (code == CLI_OK) code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK && open_all(&index, &in, call, &error)) code = cli_fail_error(&error);
  if (code == CLI_OK) code = read_all(index, in, args->read, ctx);
  cq_documents_close(in);
  cq_index_free(index);
  cq_context_free(ctx);
  cli_ranks_close(ranks, code);
  return code;
}

const cli_command cli_index_add = {
    .name = "add",
    .summary = "add documents: JSON, CSV, TSV, lines, Markdown, HTML, TREC, Parquet, TMX, folders of them",
    CLI_ARGUMENTS("INDEX [FILE|FOLDER...]", 1, -1),
    .description = "Adds the documents of files and folders, plain or compressed (gzip, xz, Zstandard), or of standard "
                   "input, to an index that 'calque index new' made. 'calque data documents' shows how they are read. "
                   "A document with many tokens is split into passages. A document replaces an earlier one with the "
                   "same id. If anything fails, none is added.",
    .example = "calque index new news.index\n"
               "calque index add news.index --language de news.de.gz\n"
               "calque index add news.index handbook/ reports.jsonl.zst",
    CLI_OPTIONS(struct args, options),
    .groups = parts,
    .takes_ranks = true,
    .run = run_index_add,
};
