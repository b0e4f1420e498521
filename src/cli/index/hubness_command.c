/* calque index hubness: computes how near each passage is to queries in general, for 'calque search --csls'. */
#include "base/memory.h"
#include "cli/frame/command.h"
#include "cli/frame/report.h"
#include "cli/index/index_command.h"

struct args {
  size_t size;
  const char *model, *queries, *query_model;
  uint64_t k, sample;
  int threads, precision;
  bool remove;
};

static const cq_option options[] = {
    {CQ_TEXT(struct args, "queries", queries, CHANGES, "FILE",
             "queries as users ask them, one per line, in any of the query model's languages"),
     .letter = 'q', .otherwise = "the index's own passages"},
    {CQ_COUNT(struct args, "neighbors", k, CHANGES, 10, 1, 1000, "K",
              "number of nearest queries whose mean cosine is a passage's hubness"),
     .letter = 'k'},
    {CQ_COUNT(struct args, "sample", sample, CHANGES, 4096, 1, 1 << 24, "N",
              "maximum number of queries, taken evenly from the file or the passages")},
    {CQ_FLAG(struct args, "remove", remove, CHANGES, "remove the index's hubness, and do nothing else")},
    CLI_INDEX_MODEL(struct args),
    {CQ_TEXT(struct args, "query-model", query_model, CHANGES, "MODEL",
             "model for the queries: the one that searches will use"),
     .otherwise = "the index's model"},
    CLI_PRECISION(struct args, precision),
    CLI_THREADS(struct args, threads),
};

/* Lines of a file, one text after the other. */
typedef struct lines {
  cq_slice *items; /* [n]; without data until all are read */
  size_t n, capacity;
  cq_builder bytes;
} lines;

static int keep_line(lines *all, cq_slice line) {
  if (line.n == 0) return CLI_OK;
  cq_builder_bytes(&all->bytes, line.data, line.n);
  if (all->bytes.failed || !cq_reserve((void **)&all->items, &all->capacity, all->n + 1, sizeof *all->items))
    return cli_fail("out of memory");
  all->items[all->n++].n = line.n;
  return CLI_OK;
}

static int read_lines(lines *all, const char *path) {
  cq_lines *in = NULL;
  cq_slice line;
  cq_error error = {0};
  int code = cq_lines_open(&in, path, &error) ? cli_fail_error(&error) : CLI_OK;
  while (code == CLI_OK) {
    if (cq_lines_next(&line, in, &error)) code = cli_fail_error(&error);
    if (code || !line.data) break;
    code = keep_line(all, line);
  }
  cq_lines_close(in);
  const char *at = all->bytes.data;
  for (size_t i = 0; i < all->n; i++) all->items[i].data = at, at += all->items[i].n;
  return code == CLI_OK && all->n == 0 ? cli_fail("%s: there are no queries", path) : code;
}

/* Leaves n of them, spread evenly. */
static void thin_lines(lines *all, size_t n) {
  for (size_t i = 0; n < all->n && i < n; i++) all->items[i] = all->items[i * all->n / n];
  if (n < all->n) all->n = n;
}

static cq_status measure(cq_index *index, const struct args *args, const lines *queries, cq_context *ctx,
                         cq_error *error) {
  const size_t n = args->remove ? 0 : args->queries ? queries->n : (size_t)args->sample;
  const cq_status status = cq_index_hubness(index, queries->items, n, (size_t)args->k, ctx, error);
  return status ? status : cq_index_commit(index, error);
}

static void note_hubness(const cq_index *index, const struct args *args) {
  const size_t n = cq_index_n_hubness_queries(index), k = args->k < n ? (size_t)args->k : n;
  cli_note("hubness of %zu passages by the %zu nearest of %zu %s", cq_index_n_passages(index), k, n,
           args->queries ? "queries" : "passages");
}

static int run_index_hubness(const cli_call *call) {
  const struct args *args = call->options;
  cq_index_options o = cq_index_default_options();
  cq_error error = {0};
  cq_index *index = NULL;
  cq_context *ctx = NULL;
  lines queries = {0};
  o.model = args->model, o.query_model = args->query_model, o.precision = (cq_precision)args->precision;
  o.writing = true, o.notice = cli_notice;
  if (args->remove && args->queries) return cli_usage(call->path, "--remove needs no queries");
  int code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK && args->queries) code = read_lines(&queries, args->queries);
  if (code == CLI_OK) {
    thin_lines(&queries, (size_t)args->sample);
    if (cq_index_open(&index, call->arguments[0], &o, &error) || measure(index, args, &queries, ctx, &error))
      code = cli_fail_error(&error);
  }
  if (code == CLI_OK && args->remove) cli_note("the index has no hubness any more");
  if (code == CLI_OK && !args->remove) note_hubness(index, args);
  cq_free(queries.items);
  cq_builder_free(&queries.bytes);
  cq_index_free(index);
  cq_context_free(ctx);
  return code;
}

const cli_command cli_index_hubness = {
    .name = "hubness",
    .summary = "measure hubness, for search --csls",
    CLI_ARGUMENTS("INDEX", 1, 1),
    .description = "Hubs are documents that are near many queries, whatever they ask. This computes the hubness of "
                   "each passage, the mean cosine of its nearest queries, which 'calque search --csls' subtracts from "
                   "the score (CSLS). The queries are kept in the index for passages that are added later.",
    .example = "calque index hubness news.index --queries asked.txt\n"
               "calque search news.index --csls \"rising rents in the capital\"",
    CLI_OPTIONS(struct args, options),
    .run = run_index_hubness,
};
