/* calque search: the documents of an index that are nearest to a query, whatever language either is in. */
#include "command.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

struct args {
  const char *model, *language;
  int top, effort, threads;
  bool json, exact;
};

static void defaults(void *options) {
  *(struct args *)options = (struct args){.top = (int)cq_search_default_options().k};
}

static const cli_option options[] = {
    {.name = "model",
     .letter = 'm',
     .type = CLI_TEXT,
     .argument = "MODEL",
     .offset = offsetof(struct args, model),
     .default_text = "the name the index was made with",
     .help = "where the index's model is now"},
    {.name = "top",
     .letter = 'k',
     .type = CLI_INT,
     .argument = "N",
     .offset = offsetof(struct args, top),
     .least = 1,
     .greatest = 100000,
     .help = "documents for each query"},
    {.name = "language",
     .letter = 'l',
     .type = CLI_TEXT,
     .argument = "CODE",
     .offset = offsetof(struct args, language),
     .default_text = "all",
     .help = "only documents that were added with this language"},
    {.name = "exact",
     .type = CLI_FLAG,
     .offset = offsetof(struct args, exact),
     .help = "look at every document, even where the index is approximated"},
    {.name = "effort",
     .type = CLI_INT,
     .argument = "N",
     .offset = offsetof(struct args, effort),
     .least = 0,
     .greatest = 1000000,
     .default_text = "as many as seem right",
     .help = "of an approximated index, lists looked into (ivf) or candidates kept on the way (hnsw)"},
    CLI_JSON(struct args, json),
    CLI_THREADS(struct args, threads),
};

static void json_field(const char *name, cq_slice text) {
  printf(", \"%s\": ", name);
  cli_json_text(stdout, text.data, text.n);
}

static void print_hit(const cq_hit *hit, const char *query, size_t rank, bool json) {
  const cq_document *d = &hit->document;
  if (json) {
    printf("{\"query\": ");
    cli_json_text(stdout, query, strlen(query));
    printf(", \"rank\": %zu, \"cosine\": %.6f", rank, hit->cosine);
    json_field("id", d->id);
    json_field("language", d->language);
    json_field("text", d->text);
    printf("}\n");
  } else {
    printf("%.4f\t%.*s\t%.*s\t%.*s\n", hit->cosine, (int)d->id.n, d->id.data, (int)d->language.n, d->language.data,
           (int)d->text.n, d->text.data);
  }
}

static int run(const cli_call *call) {
  const struct args *args = call->options;
  const size_t n = call->n_arguments - 1;
  const cq_search_options o = {
      .k = (size_t)args->top, .language = args->language, .exact = args->exact, .effort = (size_t)args->effort};
  cq_error error = {0};
  cq_index *index = NULL;
  cq_pool *pool = NULL;
  cq_hit *hits = NULL;
  cq_slice *queries = calloc(n, sizeof *queries);
  if (!queries) return cli_fail("out of memory");
  for (size_t q = 0; q < n; q++) queries[q] = (cq_slice){call->arguments[q + 1], strlen(call->arguments[q + 1])};
  int code = cli_open_pool(&pool, args->threads);
  if (code == CLI_OK && (cq_index_open(&index, call->arguments[0], args->model, false, cli_notice, NULL, &error) ||
                         cq_index_search(&hits, index, queries, n, &o, pool, &error)))
    code = cli_fail_error(&error);
  for (size_t q = 0; q < n && code == CLI_OK; q++) {
    if (n > 1 && !args->json) printf("%s# %s\n", q ? "\n" : "", call->arguments[q + 1]);
    for (size_t i = 0; i < o.k && hits[q * o.k + i].document.id.data; i++)
      print_hit(&hits[q * o.k + i], call->arguments[q + 1], i + 1, args->json);
  }
  free(hits);
  free(queries);
  cq_index_free(index);
  cq_pool_free(pool);
  return code;
}

const cli_command cli_search = {
    .name = "search",
    .summary = "find the documents of an index that mean what a query says",
    .arguments = "INDEX QUERY...",
    .least_arguments = 2,
    .most_arguments = -1,
    .description =
        "Prints lines of cosine, id, language and text, separated by tabs, best first. Query and documents may be "
        "in different languages. The search is exact unless the index is approximated.",
    .example = "calque search news.index \"rising rents in the capital\" --language de --top 3",
    CLI_OPTIONS(struct args, options),
    .defaults = defaults,
    .run = run,
};
