/* calque search: the documents of an index that are nearest to a query, whatever language either is in. */
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <stdlib.h>
#include <string.h>

struct args {
  size_t size;
  const char *model, *queries, *query_model;
  int threads, precision;
  bool json;
};

static const cq_option options[] = {
    {CQ_TEXT(struct args, "model", model, CHANGES, "MODEL", "where the index's model is now"), .letter = 'm',
     .otherwise = "the name the index was made with"},
    {CQ_TEXT(struct args, "query-model", query_model, CHANGES, "MODEL",
             "encodes the queries: a student of the index's model, in its space; the index stays as it is"),
     .otherwise = "the index's model"},
    CLI_PRECISION(struct args, precision),
    {CQ_TEXT(struct args, "queries", queries, CHANGES, "FILE",
             "also search for each line of this file; - is standard input"),
     .letter = 'q', .otherwise = "none"},
    CLI_JSON(struct args, json),
    CLI_THREADS(struct args, threads),
};

static void json_field(const char *name, cq_slice text) {
  printf(", \"%s\": ", name);
  cli_json_text(stdout, text.data, text.n);
}

static void print_hit(const cq_hit *hit, cq_slice query, size_t rank, bool json) {
  const cq_document *d = &hit->document;
  if (json) {
    printf("{\"query\": ");
    cli_json_text(stdout, query.data, query.n);
    printf(", \"rank\": %zu, \"cosine\": %.6f", rank, hit->cosine);
    json_field("id", d->id);
    json_field("language", d->language);
    json_field("text", d->text);
    printf("}\n");
  } else {
    const cq_slice fields[] = {d->id, d->language, d->text};
    printf("%.4f", hit->cosine);
    for (int i = 0; i < 3; i++) putchar('\t'), cli_field(stdout, fields[i]);
    putchar('\n');
  }
}

typedef struct queries {
  cq_slice *items;
  size_t n, capacity;
} queries;

/* Keeps a copy. */
static bool add_query(queries *q, cq_slice text) {
  if (q->n == q->capacity) {
    const size_t capacity = q->capacity ? 2 * q->capacity : 16;
    cq_slice *items = realloc(q->items, capacity * sizeof *items);
    if (!items) return false;
    q->items = items, q->capacity = capacity;
  }
  char *copy = malloc(text.n + 1);
  if (!copy) return false;
  memcpy(copy, text.data, text.n);
  q->items[q->n++] = (cq_slice){copy, text.n};
  return true;
}

static int read_search_queries(queries *q, const char *path) {
  cq_error error = {0};
  cq_lines *lines;
  cq_slice line;
  cq_status status = cq_lines_open(&lines, path, &error);
  if (status) return cli_fail_error(&error);
  int code = CLI_OK;
  while (code == CLI_OK && !(status = cq_lines_next(&line, lines, &error)) && line.data)
    if (line.n && !add_query(q, line)) code = cli_fail("out of memory");
  cq_lines_close(lines);
  return status ? cli_fail_error(&error) : code;
}

static void free_queries(queries *q) {
  for (size_t i = 0; i < q->n; i++) free((char *)q->items[i].data);
  free(q->items);
}

static int run_index_search(const cli_call *call) {
  const struct args *args = call->options;
  cq_index_options opening = cq_index_default_options();
  queries q = {0};
  cq_error error = {0};
  cq_index *index = NULL;
  cq_context *ctx = NULL;
  cq_hits *hits = NULL;
  int code = CLI_OK;
  opening.model = args->model, opening.query_model = args->query_model;
  opening.precision = (cq_precision)args->precision, opening.notice = cli_notice;
  for (size_t i = 1; i < call->n_arguments && code == CLI_OK; i++)
    if (!add_query(&q, (cq_slice){call->arguments[i], strlen(call->arguments[i])})) code = cli_fail("out of memory");
  if (code == CLI_OK && args->queries) code = read_search_queries(&q, args->queries);
  if (code == CLI_OK && q.n == 0) code = cli_usage(call->path, "no query: expected one after INDEX, or --queries FILE");
  if (code == CLI_OK) code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK && (cq_index_open(&index, call->arguments[0], &opening, &error) ||
                         cq_index_search(&hits, index, q.items, q.n, call->library, ctx, &error)))
    code = cli_fail_error(&error);
  for (size_t i = 0; i < q.n && code == CLI_OK; i++) {
    if (q.n > 1 && !args->json) printf("%s# %.*s\n", i ? "\n" : "", (int)q.items[i].n, q.items[i].data);
    size_t n_found;
    const cq_hit *found = cq_hits_of(hits, i, &n_found);
    for (size_t rank = 0; rank < n_found; rank++) print_hit(&found[rank], q.items[i], rank + 1, args->json);
  }
  cq_hits_free(hits);
  free_queries(&q);
  cq_index_free(index);
  cq_context_free(ctx);
  return code;
}

const cli_command cli_search = {
    .name = "search",
    .summary = "semantic search in an index, exact or approximate (ANN)",
    .arguments = "INDEX [QUERY...]",
    .min_arguments = 1,
    .max_arguments = -1,
    .description = "Semantic search: prints the documents with the highest cosine to the query, lines of cosine, id, "
                   "language and text, separated by tabs. Query and documents may be in different languages. With "
                   "several queries, a line '# query' stands above each one's documents. The search is exact unless "
                   "'calque index approximate' built an approximation (ANN).",
    .example = "calque search news.index \"rising rents in the capital\" --language de --top 3\n"
               "calque search english.index --query-model multilingual \"Mieten in der Hauptstadt\"",
    .group = "search",
    CLI_OPTIONS(struct args, options),
    .run = run_index_search,
};
