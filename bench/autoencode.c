/* Times a training step of two languages' autoencoders, and greedy writing, when told: bench/peers/autoencode.py tells
 * it, and does the same with PyTorch in turn.
 *
 *   bench_autoencode DIRECTORY [THREADS [LATENT_AT_EVERY_STEP]]
 *   DIRECTORY is for the vocabulary, and for the file `batches`: a sentence's ids a line, those of one language of a
 *             batch after those of the other. It must exist.
 *
 * Commands on standard input:   step N    N steps: answers with their seconds of the wall and of the processor, their
 *                                         tokens, and -log p of a token of the last
 *                               write     N_WRITTEN sentences of N_TOKENS tokens: seconds, seconds, tokens, 0
 *
 * The sizes are the described system's (cq_autoencode_as_described), the pairs of a batch BATCH; sentences are drawn,
 * 4 to 30 words of a Zipf law. Sentences that are written never end, so that both sides write as many tokens. */
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "lab/autoencode/autoencoder_step.h"
#include "lab/autoencode/beam.h"
#include "model/modules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VOCABULARY = 8000, N_SPECIAL = 4, EMBEDDING = 150, HIDDEN = 256, LATENT = 16, N_LAYERS = 2 };
enum { BATCH = 64, N_BATCHES = 48, SHORTEST = 4, LONGEST = 30, N_SHARDS = 2 };
enum { N_WRITTEN = 256, N_TOKENS = 30, AT_ONCE = 32 };

static cq_error error;

static void must(cq_status status) {
  if (!status) return;
  fprintf(stderr, "%s\n", error.message);
  exit(1);
}

static void *must_have(void *memory) {
  if (!memory) must(cq_fail_memory(&error, "the benchmark"));
  return memory;
}

static double learning_rate(const void *context, uint64_t step, bool table) {
  (void)context, (void)step, (void)table;
  return 2e-4;
}

/* --- models --- */

/* [PAD] [UNK] [CLS] [SEP] w4 w5 ... */
static void write_vocabulary(const char *directory) {
  char path[4096];
  cq_snprintf(path, sizeof path, "%s/vocab.txt", directory);
  FILE *f = fopen(path, "w");
  if (!f) must(cq_fail_file(&error, CQ_ERR_IO, path, "cannot be written"));
  fprintf(f, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n");
  for (int i = N_SPECIAL; i < VOCABULARY; i++) fprintf(f, "w%d\n", i);
  fclose(f);
}

static cq_tokenizer *vocabulary(const char *directory) {
  cq_tokenizer *t;
  must(cq_tokenizer_open(&t, directory, false, &error));
  return t;
}

static cq_encoder *make_encoder(const char *directory, cq_random *random) {
  cq_encoder *e;
  cq_module *m;
  must(cq_encoder_new(&e, &error));
  must(
      cq_word_embeddings_new(&m, vocabulary(directory), EMBEDDING, 100, "0_WordEmbeddings", random, &e->arena, &error));
  must(cq_encoder_append(e, m, &error));
  must(cq_lstm_module_new(&m, EMBEDDING, HIDDEN, N_LAYERS, false, 0.139, "1_LSTM", random, &e->arena, &error));
  must(cq_encoder_append(e, m, &error));
  must(cq_pooling_new(&m, HIDDEN, CQ_POOL_LAST, "2_Pooling", &e->arena, &error));
  must(cq_encoder_append(e, m, &error));
  must(cq_dense_new(&m, HIDDEN, LATENT, CQ_RELU, "3_Dense", random, &e->arena, &error));
  must(cq_encoder_append(e, m, &error));
  return e;
}

static cq_decoder *make_decoder(const char *directory, bool latent_at_every_step, cq_random *random) {
  const cq_decoder_shape shape = {.embedding_dim = EMBEDDING,
                                  .hidden_dim = HIDDEN,
                                  .n_layers = N_LAYERS,
                                  .latent_dim = LATENT,
                                  .latent_at_every_step = latent_at_every_step,
                                  .latent_as_state = true,
                                  .dropout = 0.102};
  cq_decoder *d;
  must(cq_decoder_new(&d, vocabulary(directory), &shape, random, &error));
  return d;
}

/* --- sentences --- */

static cq_slice *draw_sentences(void) {
  cq_slice *out = must_have(cq_alloc_array((size_t)(N_BATCHES * 2 * BATCH), sizeof *out));
  cq_random random = cq_random_seeded(5, 0);
  for (int i = 0; i < N_BATCHES * 2 * BATCH; i++) {
    char text[LONGEST * 8];
    int at = 0;
    const int n = SHORTEST + (int)cq_random_below(&random, LONGEST - SHORTEST + 1);
    for (int w = 0; w < n; w++) {
      const double rank = exp(cq_random_uniform(&random) * log(VOCABULARY - N_SPECIAL)) - 1;
      at += snprintf(text + at, sizeof text - (size_t)at, "w%d ", N_SPECIAL + (int)rank);
    }
    out[i] = cq_slice_of(must_have(cq_strdup(text)));
  }
  return out;
}

static void write_batches(const char *directory, const cq_encoder *e, const cq_slice *sentences) {
  char path[4096];
  cq_ids ids = {0};
  cq_snprintf(path, sizeof path, "%s/batches", directory);
  FILE *f = fopen(path, "w");
  if (!f) must(cq_fail_file(&error, CQ_ERR_IO, path, "cannot be written"));
  for (int i = 0; i < N_BATCHES * 2 * BATCH; i++) {
    bool truncated;
    ids.n = 0;
    must(cq_encoder_tokenize(&ids, e, NULL, sentences[i], &truncated, &error));
    for (size_t j = 0; j < ids.n; j++) fprintf(f, "%d%c", ids.ids[j], j + 1 < ids.n ? ' ' : '\n');
  }
  fclose(f);
  cq_free(ids.ids);
}

/* --- writing --- */

typedef struct writing {
  const cq_decoder *decoder;
  float *vectors;     /* [N_WRITTEN, LATENT] */
  cq_worker *workers; /* [threads] */
} writing;

static void write_run(void *context, size_t item, int worker) {
  const writing *w = context;
  cq_ids ids[AT_ONCE] = {{0}};
  const cq_tensor latent = cq_tensor_f32(w->vectors + item * AT_ONCE * LATENT, AT_ONCE, LATENT);
  const cq_beam_options greedy = {.beam = 1, .max_tokens = N_TOKENS, .length_penalty = 1};
  must(cq_decoder_write(ids, &w->workers[worker], w->decoder, latent, (cq_tensor){0}, &greedy, &error));
  for (int i = 0; i < AT_ONCE; i++) {
    if (ids[i].n != N_TOKENS) abort();
    cq_free(ids[i].ids);
  }
}

/* --- commands --- */

typedef struct bench {
  cq_autoencoder_side sides[2];
  cq_autoencoder_trainer *trainer;
  cq_context *ctx;
  cq_slice *sentences; /* [N_BATCHES][2][BATCH] */
  uint64_t n_steps;
  writing writing;
} bench;

static void steps(bench *b, int n) {
  cq_autoencoder_report report = {0};
  uint64_t n_tokens = 0;
  const double wall = cq_seconds(CLOCK_MONOTONIC), cpu = cq_seconds(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < n; i++) {
    const cq_slice *first = b->sentences + b->n_steps++ % N_BATCHES * 2 * BATCH;
    const cq_autoencoder_batch batch = {.side = {0, 1}, .sentences = {first, first + BATCH}, .n = BATCH};
    must(cq_autoencoder_step(b->trainer, &batch, &report, &error));
    n_tokens += report.n_tokens;
  }
  printf("%.6f %.6f %llu %.4f\n", cq_seconds(CLOCK_MONOTONIC) - wall, cq_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu,
         (unsigned long long)n_tokens, (report.nll[0] + report.nll[1]) / 2);
}

/* The end's bias is far down while sentences are written, and back at once: training reads it anew. */
static void write_sentences(bench *b) {
  size_t n;
  cq_decoder *d = b->sides[0].decoder;
  cq_param *bias = &cq_decoder_params(&n, d)[2]; /* after the words and the output's weight */
  const int32_t end = cq_tokenizer_describe(cq_decoder_tokenizer(d))->sep_id;
  const float before = bias->value[end];
  bias->value[end] = -1e4f;
  must(cq_decoder_pack(d, false, &error));
  const double wall = cq_seconds(CLOCK_MONOTONIC), cpu = cq_seconds(CLOCK_PROCESS_CPUTIME_ID);
  cq_context_run(b->ctx, N_WRITTEN / AT_ONCE, write_run, &b->writing);
  printf("%.6f %.6f %d 0\n", cq_seconds(CLOCK_MONOTONIC) - wall, cq_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu,
         N_WRITTEN * N_TOKENS);
  bias->value[end] = before;
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 4)
    return fprintf(stderr, "usage: bench_autoencode DIRECTORY [THREADS [LATENT_AT_EVERY_STEP]]\n"), 2;
  const char *directory = argv[1];
  const int threads = argc > 2 ? atoi(argv[2]) : 2;
  cq_random random = cq_random_seeded(1, 0);
  cq_params params = {0};
  bench b = {0};
  const cq_autoencoder_options o = {
      .n_shards = N_SHARDS,
      .seed = 1,
      .reconstruction = 1.039,
      .contrast = 1.440,
      .contrast_by = CQ_CONTRAST_PAIRS,
      .margin = 1,
      .temperature = 0.05,
      .optimizer = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .clip_norm = 1, .learning_rate = learning_rate}};
  must(cq_context_open(&b.ctx, threads, &error));
  write_vocabulary(directory);
  for (int s = 0; s < 2; s++)
    b.sides[s] = (cq_autoencoder_side){.encoder = make_encoder(directory, &random),
                                       .decoder = make_decoder(directory, argc > 3 && atoi(argv[3]) != 0, &random)};
  b.sentences = draw_sentences();
  write_batches(directory, b.sides[0].encoder, b.sentences);
  must(cq_autoencoder_trainer_new(&b.trainer, &params, b.sides, 2, b.ctx, &o, &error));
  b.writing = (writing){.decoder = b.sides[0].decoder,
                        .vectors = must_have(cq_alloc_array(N_WRITTEN * LATENT, sizeof(float))),
                        .workers = must_have(cq_alloc_array_zeroed((size_t)threads, sizeof(cq_worker)))};
  for (int i = 0; i < N_WRITTEN * LATENT; i++) b.writing.vectors[i] = (float)fmax(0, cq_random_normal(&random));
  for (int i = 0; i < threads; i++) b.writing.workers[i].kernels = cq_kernels_best();

  char command[64];
  printf("ready\n");
  fflush(stdout);
  while (fgets(command, sizeof command, stdin)) {
    if (!strncmp(command, "step ", 5))
      steps(&b, atoi(command + 5));
    else if (!strcmp(command, "write\n"))
      write_sentences(&b);
    else
      return fprintf(stderr, "not a command: %s", command), 2;
    fflush(stdout);
  }

  cq_autoencoder_trainer_free(b.trainer);
  for (int s = 0; s < 2; s++) {
    cq_encoder_free(b.sides[s].encoder);
    cq_decoder_free(b.sides[s].decoder);
  }
  cq_params_free(&params);
  for (int i = 0; i < threads; i++) cq_workspace_free(&b.writing.workers[i].workspace);
  for (int i = 0; i < N_BATCHES * 2 * BATCH; i++) cq_free((char *)(uintptr_t)b.sentences[i].data);
  cq_free(b.sentences);
  cq_free(b.writing.workers);
  cq_free(b.writing.vectors);
  cq_context_free(b.ctx);
  return 0;
}
