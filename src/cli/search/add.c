/* calque index add: documents of any format, many at a time. */
#include "cli/frame/command.h"
#include "cli/frame/report.h"
#include "cli/search/index.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { N_FIELDS = 6, BATCH_BYTES = 4 << 20 };

struct args {
  size_t size;
  cq_documents_options *documents;
  const char *model;
  uint64_t passage_tokens, passage_overlap;
  int batch, threads, precision;
  bool ids;
};

static const cli_part parts[] = {{"documents", offsetof(struct args, documents)}, {0}};

static const cq_option options[] = {
    {.name = "model",
     .letter = 'm',
     .type = CQ_OPTION_TEXT,
     .argument = "MODEL",
     .offset = offsetof(struct args, model),
     .otherwise = "the name it was made with",
     .help = "where the index's model is now"},
    CLI_PRECISION(struct args, precision),
    {.name = "ids",
     .type = CQ_OPTION_FLAG,
     .offset = offsetof(struct args, ids),
     .help = "lines are an id, a tab and a text: --format tsv"},
    {CQ_COUNT(struct args, "passage-tokens", passage_tokens, CHANGES, 256, 0, 1000000, "N",
              "split documents with more tokens into passages of whole sentences; 0: what the model takes at most")},
    {CQ_COUNT(struct args, "passage-overlap", passage_overlap, CHANGES, 32, 0, 1000000, "N",
              "tokens at the end of a passage that the next one may begin with, whole sentences")},
    {.name = "batch",
     .letter = 'b',
     .type = CQ_OPTION_INT,
     .argument = "N",
     .offset = offsetof(struct args, batch),
     .min = 1,
     .max = 1 << 20,
     .number = 1024,
     .help = "documents held in memory at a time; results do not depend on it"},
    CLI_THREADS(struct args, threads),
};

/* Documents that wait to be added, their texts one after the other. */
typedef struct batch {
  cq_document *documents; /* [n]; their slices count from the beginning of `bytes`, until they are placed */
  size_t n;
  char *bytes;
  size_t n_bytes, capacity;
} batch;

typedef struct adding {
  const struct args *args;
  cq_index *index;
  cq_context *ctx;
  batch waiting;
  uint64_t n_added, n_blank;
} adding;

static void list_fields(cq_slice *out[N_FIELDS], cq_document *d) {
  cq_slice *const fields[N_FIELDS] = {&d->id, &d->language, &d->text, &d->title, &d->url, &d->metadata};
  memcpy(out, fields, sizeof fields);
}

/* Keeps a document that is borrowed. */
static int keep_document(adding *a, const cq_document *borrowed) {
  batch *b = &a->waiting;
  cq_slice *fields[N_FIELDS];
  size_t n = 0;
  cq_document *d = &b->documents[b->n++];
  *d = *borrowed;
  list_fields(fields, d);
  for (int i = 0; i < N_FIELDS; i++) n += fields[i]->n;
  if (b->n_bytes + n > b->capacity) {
    const size_t capacity = 2 * (b->n_bytes + n);
    char *grown = realloc(b->bytes, capacity);
    if (!grown) return cli_fail("out of memory");
    b->bytes = grown, b->capacity = capacity;
  }
  for (int i = 0; i < N_FIELDS; i++) {
    if (fields[i]->n) memcpy(b->bytes + b->n_bytes, fields[i]->data, fields[i]->n);
    fields[i]->data = NULL; /* its place follows from the order */
    b->n_bytes += fields[i]->n;
  }
  return CLI_OK;
}

static int add_batch(adding *a) {
  batch *b = &a->waiting;
  cq_error error = {0};
  const char *at = b->bytes;
  for (size_t k = 0; k < b->n; k++) {
    cq_slice *fields[N_FIELDS];
    list_fields(fields, &b->documents[k]);
    for (int i = 0; i < N_FIELDS; i++) fields[i]->data = at ? at : "", at += fields[i]->n;
  }
  const cq_status status = b->n ? cq_index_add(a->index, b->documents, b->n, a->ctx, &error) : CQ_OK;
  a->n_added += b->n;
  b->n = b->n_bytes = 0;
  return status ? cli_fail_error(&error) : CLI_OK;
}

static int add_documents(adding *a, cq_documents *in) {
  cq_error error = {0};
  cli_progress progress = cli_progress_start();
  int code = CLI_OK;
  while (code == CLI_OK) {
    cq_document document;
    if (cq_documents_next(&document, in, &error)) code = cli_fail_error(&error);
    if (code || !document.id.data) break;
    if (cq_document_is_blank(&document)) { /* a document of nothing would be near every query */
      a->n_blank++;
      continue;
    }
    code = keep_document(a, &document);
    if (code == CLI_OK && (a->waiting.n == (size_t)a->args->batch || a->waiting.n_bytes >= BATCH_BYTES)) {
      code = add_batch(a);
      cli_progress_draw(&progress, "added", a->n_added, 0, "", false);
    }
  }
  if (code == CLI_OK) code = add_batch(a);
  cli_progress_clear(&progress);
  return code;
}

static void note_added(const adding *a, size_t n_before, size_t n_passages_before) {
  char replaced[64] = "", split[64] = "";
  const size_t after = cq_index_size(a->index), n_replaced = n_before + (size_t)a->n_added - after;
  const size_t n_passages = cq_index_n_passages(a->index) - n_passages_before;
  if (n_replaced) snprintf(replaced, sizeof replaced, " (%zu replaced)", n_replaced);
  if (!n_replaced && n_passages > a->n_added) snprintf(split, sizeof split, " in %zu passages", n_passages);
  cli_note("added %" PRIu64 " document%s%s%s, the index has %zu", a->n_added, a->n_added == 1 ? "" : "s", split,
           replaced, after);
}

static int add_all(adding *a, cq_documents *in) {
  cq_error error = {0};
  const size_t before = cq_index_size(a->index), n_passages = cq_index_n_passages(a->index);
  int code = add_documents(a, in);
  const uint64_t n_skipped = cq_documents_n_skipped(in);
  if (code == CLI_OK && n_skipped)
    cli_note("%" PRIu64 " malformed document%s skipped", n_skipped, n_skipped == 1 ? " was" : "s were");
  if (code == CLI_OK && a->n_blank)
    cli_note("%" PRIu64 " blank document%s left out", a->n_blank, a->n_blank == 1 ? " was" : "s were");
  if (code == CLI_OK && !a->n_added && !a->n_blank && !n_skipped) code = cli_fail("there are no documents to add");
  if (code == CLI_OK && cq_index_commit(a->index, &error)) code = cli_fail_error(&error);
  if (code == CLI_OK) note_added(a, before, n_passages);
  return code;
}

static cq_status open_all(adding *a, cq_documents **in, const cli_call *call, cq_error *error) {
  static const char *const standard_input[] = {"-"};
  const struct args *args = a->args;
  const size_t n_paths = call->n_arguments - 1;
  cq_index_options o = cq_index_default_options();
  o.model = args->model, o.precision = (cq_precision)args->precision;
  o.writing = true, o.notice = cli_notice;
  o.passage_tokens = (size_t)args->passage_tokens, o.passage_overlap = (size_t)args->passage_overlap;
  args->documents->notice = cli_notice;
  if (args->ids) args->documents->format = CQ_DOCUMENTS_TSV;
  cq_status status = cq_documents_open(in, n_paths ? call->arguments + 1 : standard_input, n_paths ? n_paths : 1,
                                       args->documents, error);
  return status ? status : cq_index_open(&a->index, call->arguments[0], &o, error);
}

static int run_index_add(const cli_call *call) {
  cq_documents *in = NULL;
  cq_error error = {0};
  adding a = {.args = call->options};
  int code = cli_open_context(&a.ctx, a.args->threads);
  if (code == CLI_OK && open_all(&a, &in, call, &error)) code = cli_fail_error(&error);
  if (code == CLI_OK) {
    a.waiting.documents = calloc((size_t)a.args->batch, sizeof *a.waiting.documents);
    code = a.waiting.documents ? add_all(&a, in) : cli_fail("out of memory");
  }
  free(a.waiting.documents);
  free(a.waiting.bytes);
  cq_documents_close(in);
  cq_index_free(a.index);
  cq_context_free(a.ctx);
  return code;
}

const cli_command cli_index_add = {
    .name = "add",
    .summary = "add documents: JSON, CSV, TSV, lines, Markdown, HTML, TREC, folders of them",
    .arguments = "INDEX [FILE|FOLDER...]",
    .min_arguments = 1,
    .max_arguments = -1,
    .description =
        "Adds the documents of files and folders, plain or compressed, or of standard input; 'calque data documents' "
        "shows what it makes of them. A document with many tokens is split into passages. A document replaces an "
        "earlier one with the same id. If anything fails, none is added.",
    .example = "calque index add news.index --language de news.de.gz\n"
               "calque index add news.index handbook/ reports.jsonl.zst",
    CLI_OPTIONS(struct args, options),
    .parts = parts,
    .run = run_index_add,
};
