/* How long one short sentence takes to encode, and how much of that is not the model's arithmetic.
 *
 *   bench_latency TEXT [--model MODEL] [--threads N] [--callers N] [--runs N]        TSV on stdout
 *
 *   TEXT       .tsv or .txt, plain or gzipped; its first column's sentences are encoded in turn
 *   --model    a directory or cached name; without it a model of the shape of all-MiniLM-L6-v2 with random weights is
 *              made, its vocabulary trained on TEXT
 *   --threads  of the one context that all callers share
 *   --callers  threads that encode at the same time, one sentence a call
 *
 * Each run times three things on one sentence: the whole call of cq_encoder_encode; the same forward pass on ids and a
 * workspace that are there already; the tokenizer alone. `around` is what the call takes beyond the forward pass, in
 * percent of the call, `around, tokenizer aside` the same without the tokenizer: medians over the runs, each of which
 * compares times taken one after another. */
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "calque/calque.h"
#include "model/encoder.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SENTENCES = 200, MAX_CALLERS = 64, WARM_UP = 20 };

static struct {
  cq_encoder *encoder;
  cq_context *ctx;
  char *sentences[MAX_SENTENCES];
  size_t n_sentences;
  int n_runs;
} bench = {.n_runs = 3000};

typedef struct caller {
  double *call, *forward, *tokenize, *around, *aside; /* [n_runs] */
  uint64_t n_tokens;
} caller;

static void must(cq_status status, const cq_error *error) {
  if (!status) return;
  fprintf(stderr, "%s\n", error->message);
  exit(1);
}

static double now_us(void) {
  return 1e6 * cq_seconds(CLOCK_MONOTONIC);
}

static void *encode_in_turn(void *argument) {
  caller *c = argument;
  cq_error error = {0};
  cq_worker worker = {.kernels = bench.encoder->kernels};
  cq_ids ids = {0};
  cq_token_memory *memory = cq_token_memory_new();
  bool truncated;
  float *vector = cq_alloc_array((size_t)cq_encoder_dim(bench.encoder), sizeof *vector);
  if (!vector || !memory) abort();
  for (int run = -WARM_UP; run < bench.n_runs; run++) {
    const cq_slice sentence = cq_slice_of(bench.sentences[(size_t)(run + WARM_UP) % bench.n_sentences]);
    cq_tensor y;
    double at[4];
    ids.n = 0;
    at[0] = now_us();
    must(cq_encoder_tokenize(&ids, bench.encoder, memory, sentence, &truncated, &error), &error);
    at[1] = now_us();
    must(cq_encoder_encode(vector, NULL, bench.encoder, &sentence, 1, NULL, bench.ctx, &error), &error);
    at[2] = now_us();
    const int64_t starts[2] = {0, (int64_t)ids.n};
    const cq_batch batch = {.ids = ids.ids, .starts = starts, .n_seqs = 1};
    const cq_mark mark = cq_workspace_mark(&worker.workspace);
    must(cq_encoder_forward(&worker, bench.encoder, &batch, &y, NULL, &error), &error);
    cq_workspace_release(&worker.workspace, mark);
    at[3] = now_us();
    if (run < 0) continue;
    const double tokenize = at[1] - at[0], call = at[2] - at[1], forward = at[3] - at[2];
    c->tokenize[run] = tokenize, c->call[run] = call, c->forward[run] = forward;
    c->around[run] = 100 * (call - forward) / call;
    c->aside[run] = 100 * (call - forward - tokenize) / call;
    c->n_tokens += ids.n;
  }
  cq_free(vector);
  cq_free(ids.ids);
  cq_token_memory_free(memory);
  cq_workspace_free(&worker.workspace);
  return NULL;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double quantile(double *values, size_t n, double q) {
  qsort(values, n, sizeof *values, by_value);
  return values[(size_t)(q * (double)(n - 1))];
}

static void read_sentences(const char *path) {
  cq_error error = {0};
  cq_lines *lines;
  cq_slice line;
  must(cq_lines_open(&lines, path, &error), &error);
  while (bench.n_sentences < MAX_SENTENCES) {
    must(cq_lines_next(&line, lines, &error), &error);
    if (!line.data) break;
    const char *tab = memchr(line.data, '\t', line.n);
    bench.sentences[bench.n_sentences] = cq_strndup(line.data, tab ? (size_t)(tab - line.data) : line.n);
    if (!bench.sentences[bench.n_sentences++]) abort();
  }
  cq_lines_close(lines);
}

/* A model of MiniLM's shape in a directory of its own. */
static void make_model(char *directory, size_t size, const char *text) {
  cq_error error = {0};
  cq_student_options o = cq_student_default_options();
  char parent[] = "/tmp/bench_latency.XXXXXX";
  if (!mkdtemp(parent)) abort();
  snprintf(directory, size, "%s/model", parent);
  o.kind = CQ_STUDENT_TRANSFORMER;
  o.text = &(cq_training_data){.path = text}, o.n_text = 1, o.vocab_size = 1000;
  o.dim = 384, o.n_layers = 6, o.n_heads = 12, o.feed_forward_dim = 1536;
  must(cq_student_new(directory, &o, NULL, &error), &error);
}

static void remove_model(char *directory) {
  *strrchr(directory, '/') = '\0';
  cq_directory_remove(directory);
}

static void report(const char *model, int n_threads, caller *callers, int n_callers) {
  const size_t n = (size_t)bench.n_runs * (size_t)n_callers;
  double *all = callers[0].call; /* callers' runs lie one after another */
  uint64_t n_tokens = 0;
  for (int i = 0; i < n_callers; i++) n_tokens += callers[i].n_tokens;
  printf("model\tlevel\tprecision\tthreads\tcallers\truns\ttokens\tcall median us\tcall p99 us\tforward median us\t"
         "tokenizer median us\taround %%\taround, tokenizer aside %%\n");
  printf("%s\t%s\t%s\t%d\t%d\t%zu\t%.1f\t", model, cq_simd_level(),
         cq_precision_name(cq_encoder_precision(bench.encoder)), n_threads, n_callers, n, (double)n_tokens / (double)n);
  printf("%.1f\t", quantile(all, n, 0.5));
  printf("%.1f\t%.1f\t%.1f\t%.2f\t%.2f\n", quantile(all, n, 0.99), quantile(callers[0].forward, n, 0.5),
         quantile(callers[0].tokenize, n, 0.5), quantile(callers[0].around, n, 0.5),
         quantile(callers[0].aside, n, 0.5));
}

int main(int argc, char **argv) {
  const char *text = NULL, *model = NULL;
  int n_threads = 1, n_callers = 1;
  char made[64];
  cq_error error = {0};
  static caller callers[MAX_CALLERS];
  pthread_t threads[MAX_CALLERS];
  for (int i = 1; i < argc; i++) {
    if (i + 1 < argc && !strcmp(argv[i], "--model"))
      model = argv[++i];
    else if (i + 1 < argc && !strcmp(argv[i], "--threads"))
      n_threads = atoi(argv[++i]);
    else if (i + 1 < argc && !strcmp(argv[i], "--callers"))
      n_callers = atoi(argv[++i]);
    else if (i + 1 < argc && !strcmp(argv[i], "--runs"))
      bench.n_runs = atoi(argv[++i]);
    else
      text = argv[i];
  }
  if (!text || n_threads < 1 || n_callers < 1 || n_callers > MAX_CALLERS || bench.n_runs < 1)
    return fprintf(stderr, "usage: %s TEXT [--model MODEL] [--threads N] [--callers N] [--runs N]\n", argv[0]), 2;
  read_sentences(text);
  if (!bench.n_sentences) return fprintf(stderr, "%s: no sentences\n", text), 1;
  if (!model) make_model(made, sizeof made, text);
  must(cq_encoder_open(&bench.encoder, model ? model : made, NULL, &error), &error);
  must(cq_context_open(&bench.ctx, n_threads, &error), &error);

  const size_t n = (size_t)bench.n_runs, n_all = n * (size_t)n_callers;
  double *times = cq_alloc_array(5 * n_all, sizeof *times);
  if (!times) abort();
  for (int i = 0; i < n_callers; i++) {
    double *own = times + (size_t)i * n;
    callers[i] = (caller){own, own + n_all, own + 2 * n_all, own + 3 * n_all, own + 4 * n_all, 0};
    if (pthread_create(&threads[i], NULL, encode_in_turn, &callers[i])) abort();
  }
  for (int i = 0; i < n_callers; i++) pthread_join(threads[i], NULL);
  report(model ? model : "random MiniLM-L6", n_threads, callers, n_callers);

  cq_free(times);
  for (size_t i = 0; i < bench.n_sentences; i++) cq_free(bench.sentences[i]);
  cq_context_free(bench.ctx);
  cq_encoder_free(bench.encoder);
  if (!model) remove_model(made);
  return 0;
}
