/* Times ranking: bench_lexical INDEX QUERIES MODEL K THREADS PASSES, with QUERIES lines of id, tab, terms. Queries
 * are read and analyzed before; each pass searches for all of them. Prints the best and the median pass's queries a
 * second, and processor milliseconds a query. */
#include "base/clock.h"
#include "calque/calque.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static cq_lexical_model model_named(const char *name) {
  int m = 0;
  while (m < CQ_N_LEXICAL_MODELS - 1 && strcmp(cq_lexical_model_name((cq_lexical_model)m), name) != 0) m++;
  return (cq_lexical_model)m;
}

int main(int argc, char **argv) {
  if (argc < 7) return fprintf(stderr, "usage: bench_lexical INDEX QUERIES MODEL K THREADS PASSES\n"), 2;
  cq_error error = {0};
  cq_lexical *index;
  cq_context *ctx;
  cq_lines *lines;
  cq_slice line, columns[2];
  cq_lexical_query *queries = calloc(100000, sizeof *queries);
  size_t n = 0;
  cq_lexical_options o = cq_lexical_default_options();
  o.model = model_named(argv[3]);
  o.k = strtoul(argv[4], NULL, 10);
  o.exhaustive = getenv("EXHAUSTIVE") != NULL;
  const int n_passes = atoi(argv[6]);
  double *seconds = calloc((size_t)n_passes, sizeof *seconds), cpu = 0;
  cq_status status = cq_lexical_open(&index, argv[1], &error);
  if (!status) status = cq_context_open(&ctx, atoi(argv[5]), &error);
  if (!status) status = cq_lines_open(&lines, argv[2], &error);
  while (!status && n < 100000 && !(status = cq_lines_next(&line, lines, &error)) && line.data)
    if (cq_tsv_split(columns, 2, line) == 2) status = cq_lexical_parse(&queries[n++], index, columns[1], &error);
  for (int pass = -1; !status && pass < n_passes; pass++) { /* the first one warms up */
    cq_lexical_hit *hits;
    const double wall = cq_seconds(CLOCK_MONOTONIC), before = cq_seconds(CLOCK_PROCESS_CPUTIME_ID);
    status = cq_lexical_search(&hits, index, queries, n, &o, ctx, &error);
    if (pass >= 0)
      seconds[pass] = cq_seconds(CLOCK_MONOTONIC) - wall, cpu += cq_seconds(CLOCK_PROCESS_CPUTIME_ID) - before;
    if (!status) cq_free(hits);
  }
  if (status) return fprintf(stderr, "%s\n", error.message), 1;
  qsort(seconds, (size_t)n_passes, sizeof *seconds, ascending);
  printf("%s top %zu: %zu queries, best %.0f a second, median %.0f, %.3f processor ms a query\n", argv[3], o.k, n,
         (double)n / seconds[0], (double)n / seconds[n_passes / 2], 1000 * cpu / n_passes / (double)n);
  return 0;
}
