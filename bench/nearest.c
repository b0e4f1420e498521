/* Times cq_nearest: the k nearest both ways, one search a line of standard input.
 *
 *   bench_nearest X.npy Y.npy K THREADS [OUT]     prints "ready", then for each line read ("f32" or "int8": the first pass)
 *                                                 the seconds it took; OUT: the indices
 *
 * bench/nearest.sh runs it in turn with FAISS. */
#include "base/clock.h"
#include "calque/calque.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const cq_error *error) {
  fprintf(stderr, "%s\n", error->message);
  return 1;
}

int main(int argc, char **argv) {
  cq_error error = {0};
  cq_npy *x, *y;
  cq_context *ctx;
  char line[64];
  if (argc < 5) return fprintf(stderr, "usage: bench_nearest X.npy Y.npy K THREADS [OUT]\n"), 2;
  if (cq_npy_open(&x, argv[1], &error) || cq_npy_open(&y, argv[2], &error) ||
      cq_context_open(&ctx, atoi(argv[4]), &error))
    return fail(&error);
  const size_t n_x = (size_t)cq_npy_rows(x), n_y = (size_t)cq_npy_rows(y), dim = (size_t)cq_npy_columns(x);
  cq_nearest_options o = cq_nearest_default_options();
  o.k = (size_t)atoi(argv[3]);
  printf("ready\n");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    cq_neighbors of_x, of_y;
    o.first_pass = strncmp(line, "int8", 4) == 0 ? CQ_FIRST_INT8 : CQ_FIRST_F32;
    const double start = cq_seconds(CLOCK_MONOTONIC);
    if (cq_nearest(&of_x, &of_y, cq_npy_data(x), n_x, cq_npy_data(y), n_y, dim, &o, ctx, &error)) return fail(&error);
    const double seconds = cq_seconds(CLOCK_MONOTONIC) - start;
    if (argc > 5) { /* for comparison: the neighbors of both sides, row by row */
      FILE *out = fopen(argv[5], "wb");
      if (!out) return perror(argv[5]), 1;
      fwrite(of_x.index, sizeof *of_x.index, of_x.n * of_x.k, out);
      fwrite(of_y.index, sizeof *of_y.index, of_y.n * of_y.k, out);
      fclose(out);
    }
    printf("%.6f\n", seconds);
    fflush(stdout);
    cq_neighbors_free(&of_x);
    cq_neighbors_free(&of_y);
  }
  cq_context_free(ctx);
  cq_npy_close(x);
  cq_npy_close(y);
  return 0;
}
