/* Approximate search beside exact: seconds to build, milliseconds a query, and how many of the 10 nearest are found.
 *
 *   bench_approximate VECTORS N DIM [QUERIES]
 *
 * VECTORS: f32 numbers alone, DIM in a row; the first QUERIES rows (1000) ask, the N rows behind them are searched. */
#include "search/approximate.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "search/top.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { K = 10 };

static int fail(const cq_error *error) {
  fprintf(stderr, "%s\n", error->message);
  return 1;
}

typedef struct bench {
  const float *queries, *rows;
  size_t n_queries, n, dim;
  cq_context *ctx;
  cq_neighbors exact; /* [n_queries, K] */
} bench;

static size_t common(const uint32_t *a, const uint32_t *b) {
  size_t n = 0;
  for (int i = 0; i < K; i++)
    for (int j = 0; j < K; j++) n += a[i] == b[j];
  return n;
}

/* One query at a time: what a user waits for. */
static int try_effort(const bench *b, const cq_approximate *a, const char *method, size_t effort) {
  cq_error error = {0};
  size_t n_found = 0;
  const double start = cq_seconds(CLOCK_MONOTONIC);
  for (size_t q = 0; q < b->n_queries; q++) {
    cq_neighbors got;
    if (cq_approximate_top(&got, a, b->queries + q * b->dim, 1, b->rows, b->n, b->dim, K, effort, NULL, NULL, NULL,
                           b->ctx, &error))
      return fail(&error);
    n_found += common(got.index, b->exact.index + q * K);
    cq_neighbors_free(&got);
  }
  printf("%s\t%zu\t%.3f\t%.2f\n", method, effort, (cq_seconds(CLOCK_MONOTONIC) - start) / (double)b->n_queries * 1e3,
         100 * (double)n_found / (double)(b->n_queries * K));
  fflush(stdout);
  return 0;
}

static int try_method(const bench *b, bool graph, const char *path) {
  static const size_t efforts[2][6] = {{0, 8, 16, 32, 128, 512}, {0, 32, 64, 256, 512, 1024}};
  const char *method = graph ? "hnsw" : "ivf";
  cq_approximate *a;
  cq_error error = {0};
  double start = cq_seconds(CLOCK_MONOTONIC);
  if (cq_approximate_build(path, graph, b->rows, b->n, b->dim, b->ctx, &error)) return fail(&error);
  printf("# %s: built in %.1f s\n", method, cq_seconds(CLOCK_MONOTONIC) - start);
  if (cq_approximate_open(&a, path, b->n, b->dim, &error)) return fail(&error);
  int code = 0;
  for (int e = 0; e < 6 && !code; e++) code = try_effort(b, a, method, efforts[graph][e]);
  cq_approximate_free(a);
  unlink(path);
  return code;
}

int main(int argc, char **argv) {
  cq_error error = {0};
  cq_mapping file;
  bench b = {0};
  if (argc < 4) return fprintf(stderr, "usage: bench_approximate VECTORS N DIM [QUERIES]\n"), 2;
  b.n = (size_t)atol(argv[2]), b.dim = (size_t)atol(argv[3]), b.n_queries = argc > 4 ? (size_t)atol(argv[4]) : 1000;
  if (cq_mapping_open(&file, argv[1], &error) || cq_context_open(&b.ctx, 2, &error)) return fail(&error);
  if ((b.n_queries + b.n) * b.dim * sizeof(float) > file.n) return fprintf(stderr, "too few vectors\n"), 2;
  b.queries = (const float *)(const void *)file.data, b.rows = b.queries + b.n_queries * b.dim;
  const double start = cq_seconds(CLOCK_MONOTONIC);
  for (size_t q = 0; q < 20; q++) {
    cq_neighbors got;
    if (cq_top(&got, b.queries + q * b.dim, 1, b.rows, b.n, b.dim, K, NULL, NULL, b.ctx, &error)) return fail(&error);
    cq_neighbors_free(&got);
  }
  printf("method\teffort\tms a query\trecall of %d, %%\nexact\t-\t%.3f\t100\n", K,
         (cq_seconds(CLOCK_MONOTONIC) - start) / 20 * 1e3);
  fflush(stdout);
  if (cq_top(&b.exact, b.queries, b.n_queries, b.rows, b.n, b.dim, K, NULL, NULL, b.ctx, &error)) return fail(&error);
  int code = try_method(&b, false, "bench-approximate.tmp");
  if (!code) code = try_method(&b, true, "bench-approximate.tmp");
  cq_neighbors_free(&b.exact);
  cq_context_free(b.ctx);
  cq_mapping_close(&file);
  return code;
}
