/* Exact search with and without the correction for hubness, in turn: what the correction costs.
 *
 *   bench_csls [N] [DIM] [K]      200000 384 10: random vectors
 *
 * One thread, timed by its own processor time; the median of 15 searches each. */
#include "base/clock.h"
#include "base/random.h"
#include "search/top.h"

#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 15, MAX_QUERIES = 64 };

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  const size_t n = argc > 1 ? (size_t)atol(argv[1]) : 200000, dim = argc > 2 ? (size_t)atol(argv[2]) : 384;
  const size_t k = argc > 3 ? (size_t)atol(argv[3]) : 10;
  float *rows = malloc(n * dim * sizeof *rows), *queries = malloc(MAX_QUERIES * dim * sizeof *queries);
  float *means = malloc(2 * n * sizeof *means); /* beside each its check, as in an index */
  cq_random r = cq_random_seeded(1, 1);
  cq_error error = {0};
  if (!rows || !queries || !means) return 1;
  for (size_t i = 0; i < n * dim; i++) rows[i] = (float)cq_random_normal(&r);
  for (size_t i = 0; i < MAX_QUERIES * dim; i++) queries[i] = (float)cq_random_normal(&r);
  for (size_t i = 0; i < 2 * n; i++) means[i] = (float)cq_random_normal(&r) * 0.05F;
  const cq_top_facts facts = {.means = means, .stride = 2};
  printf("queries\tcosine ms\tcsls ms\n");
  for (size_t n_queries = 1; n_queries <= MAX_QUERIES; n_queries *= 8) {
    double seconds[2][RUNS];
    for (int run = 0; run < 2 * RUNS; run++) {
      cq_neighbours found;
      const double start = cq_seconds(CLOCK_THREAD_CPUTIME_ID);
      if (cq_top_csls(&found, queries, n_queries, rows, n, dim, k, run % 2 ? &facts : NULL, NULL, NULL, NULL, &error))
        return fprintf(stderr, "%s\n", error.message), 1;
      seconds[run % 2][run / 2] = cq_seconds(CLOCK_THREAD_CPUTIME_ID) - start;
      cq_neighbours_free(&found);
    }
    for (int i = 0; i < 2; i++) qsort(seconds[i], RUNS, sizeof(double), by_value);
    printf("%zu\t%.2f\t%.2f\n", n_queries, seconds[0][RUNS / 2] * 1e3, seconds[1][RUNS / 2] * 1e3);
  }
  free(rows);
  free(queries);
  free(means);
  return 0;
}
