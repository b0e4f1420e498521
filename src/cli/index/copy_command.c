/* calque index copy: copies an index of files into PostgreSQL. */
#include "calque/index_copy.h"
#include "cli/frame/command.h"
#include "cli/frame/report.h"
#include "cli/index/index_command.h"

#include <inttypes.h>

struct args {
  size_t size;
  const char *to;
};

static const cq_option options[] = {
    {CQ_TEXT(struct args, "to", to, CHANGES, "ADDRESS",
             "postgresql://USER@HOST/DATABASE?schema=NAME; the default schema is 'calque'"),
     .otherwise = ""},
};

static bool draw_copied(void *progress, uint64_t n_done, uint64_t n_all) {
  cli_progress_draw(progress, "copied", n_done, n_all, "", false);
  return true;
}

static int run_index_copy(const cli_call *call) {
  const struct args *args = call->options;
  cq_index_copy_options o = *(const cq_index_copy_options *)call->library;
  cq_index_options opening = cq_index_default_options();
  cq_index_copy_result r;
  cq_index *index;
  cq_error error = {0};
  cli_progress progress = cli_progress_start();
  if (!args->to) return cli_usage(call->path, "--to ADDRESS must be given");
  opening.notice = cli_notice;
  if (cq_index_open(&index, call->arguments[0], &opening, &error)) return cli_fail_error(&error);
  o.progress = draw_copied, o.progress_context = &progress;
  const cq_status status = cq_index_copy(index, args->to, &r, &o, &error);
  cli_progress_clear(&progress);
  cq_index_free(index);
  if (status) return cli_fail_error(&error);
  cli_note("%s %" PRIu64 " documents, the index in the database has %" PRIu64 " (%" PRIu64 " passages)",
           r.is_resumed ? "resumed: copied the last" : "copied", r.n_copied, r.n_documents, r.n_passages);
  return CLI_OK;
}

const cli_command cli_index_copy = {
    .name = "copy",
    .summary = "copy an index into PostgreSQL with pgvector",
    CLI_ARGUMENTS("INDEX", 1, 1),
    .description =
        "Copies documents, passages, metadata and vectors into a PostgreSQL database with pgvector 0.8 or later, one "
        "transaction per batch, and makes an HNSW index of the vectors at the end. A document with an existing id is "
        "replaced. An interrupted copy resumes when the command is run again. The address then stands for an index in "
        "'calque search', 'calque serve' and 'calque index'. Put the password in PGPASSWORD, PGPASSFILE or a service "
        "file (PGSERVICE), as for psql, because ps shows arguments.",
    .example = "calque index copy news.index --to postgresql://me@db.example/news --halfvec\n"
               "calque search postgresql://me@db.example/news \"rising rents in the capital\"",
    CLI_GROUP(&cq_group_index_copy),
    CLI_OPTIONS(struct args, options),
    .run = run_index_copy,
};
