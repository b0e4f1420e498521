/* How fast a tokenizer is, alone, on one thread.
 *
 *   bench_tokenize DIRECTORY TEXT [ROUNDS]        one line: sentences, ids, a sum of the ids, best seconds
 *
 * TEXT is a file of sentences, a line each; every round tokenizes all of them, special tokens included, without
 * truncation. */
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "token/tokenizer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(cq_status status, const cq_error *error) {
  if (!status) return;
  fprintf(stderr, "%s\n", error->message);
  exit(1);
}

int main(int argc, char **argv) {
  cq_error error = {0};
  cq_tokenizer *t;
  cq_slice text;
  cq_ids ids = {0};
  double best = INFINITY;
  uint64_t n_ids = 0, sum = 0;
  size_t n = 0;
  if (argc < 3) return fprintf(stderr, "usage: bench_tokenize DIRECTORY TEXT [ROUNDS]\n"), 2;
  must(cq_tokenizer_open(&t, argv[1], false, &error), &error);
  must(cq_file_read(&text, argv[2], &error), &error);
  cq_token_memory *memory = cq_token_memory_new();
  for (int round = 0; round < (argc > 3 ? atoi(argv[3]) : 5); round++) {
    const double start = cq_seconds(CLOCK_PROCESS_CPUTIME_ID);
    n = n_ids = sum = 0;
    for (const char *at = text.data, *end = at + text.n; at < end; n++) {
      const char *newline = memchr(at, '\n', (size_t)(end - at));
      const size_t length = (size_t)((newline ? newline : end) - at);
      ids.n = 0;
      must(cq_tokenizer_encode(&ids, t, memory, (cq_slice){at, length}, true, 0, NULL, &error), &error);
      n_ids += ids.n;
      for (size_t i = 0; i < ids.n; i++) sum += (uint64_t)ids.ids[i] * (i + 1);
      at += length + 1;
    }
    best = fmin(best, cq_seconds(CLOCK_PROCESS_CPUTIME_ID) - start);
  }
  printf("%zu %llu %llu %.6f\n", n, (unsigned long long)n_ids, (unsigned long long)sum, best);
  cq_token_memory_free(memory);
  cq_free(ids.ids);
  cq_free((void *)text.data);
  cq_tokenizer_free(t);
  return 0;
}
