/* What the library takes for the texts that bench/serve.sh sends to `calque serve`.
 *
 *   bench_serve_library one|batch MODEL TEXTS [--threads N] [--seconds S]        TSV on stdout
 *
 *   one    each text a call of cq_encoder_encode, one after another: milliseconds a call
 *   batch  all texts in one call, again and again: texts a second */
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "calque/calque.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXTS = 100000, MAX_CALLS = 1000000 };

static cq_slice texts[MAX_TEXTS];
static double calls[MAX_CALLS];

static void must(cq_status status, const cq_error *error) {
  if (!status) return;
  fprintf(stderr, "%s\n", error->message);
  exit(1);
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  cq_error error = {0};
  cq_encoder *encoder;
  cq_context *ctx;
  cq_lines *lines;
  cq_slice line;
  size_t n_texts = 0, n_calls = 0;
  int n_threads = 0;
  double seconds = 5;
  for (int i = 4; i + 1 < argc; i += 2) {
    if (!strcmp(argv[i], "--threads")) n_threads = atoi(argv[i + 1]);
    if (!strcmp(argv[i], "--seconds")) seconds = atof(argv[i + 1]);
  }
  if (argc < 4 || (strcmp(argv[1], "one") != 0 && strcmp(argv[1], "batch") != 0))
    return fprintf(stderr, "usage: %s one|batch MODEL TEXTS [--threads N] [--seconds S]\n", argv[0]), 2;
  const bool is_batch = !strcmp(argv[1], "batch");
  must(cq_context_open(&ctx, n_threads, &error), &error);
  must(cq_encoder_open(&encoder, argv[2], NULL, &error), &error);
  must(cq_lines_open(&lines, argv[3], &error), &error);
  for (; n_texts < MAX_TEXTS; n_texts++) {
    must(cq_lines_next(&line, lines, &error), &error);
    if (!line.data) break;
    texts[n_texts] = (cq_slice){cq_strndup(line.data, line.n), line.n};
    if (!texts[n_texts].data) abort();
  }
  cq_lines_close(lines);
  if (!n_texts) return fprintf(stderr, "%s: no texts\n", argv[3]), 1;
  float *vectors = cq_alloc_array(n_texts * (size_t)cq_encoder_dim(encoder), sizeof *vectors);
  if (!vectors) abort();
  const size_t n = is_batch ? n_texts : 1;
  must(cq_encoder_encode(vectors, NULL, encoder, texts, n_texts, NULL, ctx, &error), &error); /* warms the caches */
  const double begun = cq_seconds(CLOCK_MONOTONIC);
  double now = begun, last = begun;
  while (n_calls < MAX_CALLS && now - begun < seconds) {
    must(cq_encoder_encode(vectors, NULL, encoder, texts + n_calls * n % n_texts, n, NULL, ctx, &error), &error);
    now = cq_seconds(CLOCK_MONOTONIC);
    calls[n_calls++] = now - last;
    last = now;
  }
  qsort(calls, n_calls, sizeof *calls, by_value);
  printf("calls\ttexts_per_s\tp50_ms\tp99_ms\n%zu\t%.1f\t%.3f\t%.3f\n", n_calls, (double)(n_calls * n) / (now - begun),
         1e3 * calls[n_calls / 2], 1e3 * calls[(size_t)(0.99 * (double)(n_calls - 1))]);
  for (size_t i = 0; i < n_texts; i++) cq_free((void *)(size_t)texts[i].data);
  cq_free(vectors);
  cq_encoder_free(encoder);
  cq_context_free(ctx);
  return 0;
}
