/* Times the training of word vectors: bench_words TEXT [THREADS [WINDOW [DIM [EPOCHS]]]], for each way of training
 * words read a second, as bench/peers/gensim_bench.py counts them; reading the text and counting its words are not in
 * it. */
#include "base/clock.h"
#include "base/context.h"
#include "base/error.h"
#include "words/train_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const cq_error *error) {
  fprintf(stderr, "%s\n", error->message);
  return 1;
}

int main(int argc, char **argv) {
  if (argc < 2) return fprintf(stderr, "usage: bench_words TEXT [THREADS [WINDOW [DIM [EPOCHS]]]]\n"), 2;
  const int threads = argc > 2 ? atoi(argv[2]) : 2;
  cq_words_options o = cq_words_default_options();
  o.window = argc > 3 ? atoi(argv[3]) : 5;
  o.dim = argc > 4 ? atoi(argv[4]) : 100;
  o.epochs = argc > 5 ? atoi(argv[5]) : 1;
  cq_error error = {0};
  cq_word_corpus corpus = {0};
  cq_context *ctx;
  if (cq_word_corpus_read(&corpus, argv[1], &error) || cq_word_corpus_finish(&corpus, 1, &error) ||
      cq_context_open(&ctx, threads, &error))
    return fail(&error);
  printf("way\tthreads\twindow\tdim\ttrain_s\tcpu_s\traw_words\traw_words/s\traw_words/cpu_s\n");
  static const char *const ways[] = {"skip-gram", "skip-gram, shared negatives", "cbow"};
  for (int way = 0; way < 3; way++) {
    cq_word_model model;
    o.share_negatives = way == 1, o.cbow = way == 2;
    const double wall = cq_seconds(CLOCK_MONOTONIC), cpu = cq_seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (cq_word_model_train(&model, &corpus, &o, ctx, &error)) return fail(&error);
    const double seconds = cq_seconds(CLOCK_MONOTONIC) - wall, cpu_seconds = cq_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("%s\t%d\t%d\t%d\t%.2f\t%.2f\t%llu\t%.0f\t%.0f\n", ways[way], threads, o.window, o.dim, seconds, cpu_seconds,
           (unsigned long long)model.n_read, (double)model.n_read / seconds, (double)model.n_read / cpu_seconds);
    cq_word_model_free(&model);
  }
  cq_word_corpus_free(&corpus);
  cq_context_free(ctx);
  return 0;
}
