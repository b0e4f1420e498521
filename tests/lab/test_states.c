/* States handed from encoders to decoders: the loss of what is written by the states and the vector of what is read,
 * against plain loops in double precision, whose differences check all gradients, and against PyTorch
 * (reference/golden_decoder_states.py); with and without training, by sentences and by blocks; encoders that have no
 * states to hand over. */
#include "support/decoders.h"

#include "base/context.h"
#include "lab/autoencode/states.h"
#include "model/modules.h"

enum { N_LETTERS = 6, N = 4, EMBEDDING = 4, DIM = 5, LATENT = 3, MOST_LAYERS = 2, MOST_STATES = 2 * MOST_LAYERS * 7 };

/* What is read, and what is written of it; of several lengths, in other orders. */
static const int32_t read_ids[] = {2, 4, 7, 5, 3, 2, 3, 2, 6, 8, 4, 9, 5, 8, 3, 2, 4, 3};
static const int64_t read_starts[] = {0, 5, 7, 15, 18};
static const int32_t written_ids[] = {2, 9, 3, 2, 5, 5, 6, 4, 8, 7, 3, 2, 3, 2, 4, 6, 1, 3};
static const int64_t written_starts[] = {0, 3, 11, 13, 18};
static const uint64_t keys[] = {21, 22, 23, 24};

typedef struct encoder_shape {
  int64_t embedding_dim, dim, n_layers, latent_dim;
  double dropout;
} encoder_shape;

static void append(cq_encoder *e, cq_status status, cq_module *const *m) {
  assert_int_equal(status, CQ_OK);
  assert_int_equal(cq_encoder_append(e, *m, NULL), CQ_OK);
}

/* words -> LSTM -> mean -> linear, all values from N(0, deviation). */
static cq_encoder *make_encoder(const encoder_shape *s, double deviation, uint64_t seed) {
  cq_encoder *e;
  cq_module *m;
  cq_random random = cq_random_seeded(seed, 1);
  assert_int_equal(cq_encoder_new(&e, NULL), CQ_OK);
  append(e,
         cq_word_embeddings_new(&m, letters_tokenizer(N_LETTERS), s->embedding_dim, 9, "0_WordEmbeddings", &random,
                                &e->arena, NULL),
         &m);
  append(e,
         cq_lstm_module_new(&m, s->embedding_dim, s->dim, s->n_layers, false, s->dropout, "1_LSTM", &random, &e->arena,
                            NULL),
         &m);
  append(e, cq_pooling_new(&m, s->dim, CQ_POOL_MEAN, "2_Pooling", &e->arena, NULL), &m);
  append(e, cq_dense_new(&m, s->dim, s->latent_dim, CQ_IDENTITY, "3_Dense", &random, &e->arena, NULL), &m);
  for (size_t i = 0; i < e->params.n; i++)
    for (int64_t j = 0; j < cq_param_floats(e->params.items[i]); j++)
      e->params.items[i]->value[j] = (float)(cq_random_normal(&random) * deviation);
  assert_int_equal(cq_encoder_pack(e, NULL, true, NULL), CQ_OK);
  return e;
}

/* --- the encoder as plain loops --- */

/* The table of words, weight_ih, weight_hh, bias_ih, bias_hh of each layer, and the linear layer's weight and bias. */
typedef struct plain_encoder {
  encoder_shape s;
  double *values[1 + 4 * MOST_LAYERS + 2];
} plain_encoder;

static plain_encoder plain_encoder_of(const cq_encoder *e, const encoder_shape *s) {
  plain_encoder plain = {.s = *s};
  assert_int_equal(e->params.n, 1 + 4 * s->n_layers + 2);
  for (size_t i = 0; i < e->params.n; i++) {
    const int64_t n = cq_param_floats(e->params.items[i]);
    plain.values[i] = malloc((size_t)n * sizeof(double));
    for (int64_t j = 0; j < n; j++) plain.values[i][j] = (double)e->params.items[i]->value[j];
  }
  return plain;
}

static void plain_encoder_free(plain_encoder *plain) {
  for (int64_t i = 0; i < 1 + 4 * plain->s.n_layers + 2; i++) free(plain->values[i]);
}

/* latent [latent_dim], states [2 n_layers dim] of ids [n]. Dropout is between layers: a state is before it. */
static void plain_encode(double *latent, double *states, const plain_encoder *e, const int32_t *ids, int64_t n,
                         const uint64_t *key) {
  const int64_t dim = e->s.dim, n_layers = e->s.n_layers;
  double *const *linear = &e->values[1 + 4 * n_layers];
  double *hidden = states, *cells = states + n_layers * dim, mean[PLAIN_MOST] = {0};
  memset(states, 0, (size_t)(2 * n_layers * dim) * sizeof *states);
  for (int64_t t = 0; t < n; t++) {
    double x[PLAIN_MOST], gates[4 * PLAIN_MOST];
    int64_t in = e->s.embedding_dim;
    for (int64_t i = 0; i < in; i++) x[i] = e->values[0][ids[t] * in + i];
    for (int64_t l = 0; l < n_layers; l++, in = dim) {
      double *const *p = &e->values[1 + 4 * l], *h = hidden + l * dim, *c = cells + l * dim;
      for (int64_t g = 0; g < 4 * dim; g++) {
        gates[g] = p[2][g] + p[3][g];
        for (int64_t i = 0; i < in; i++) gates[g] += p[0][g * in + i] * x[i];
        for (int64_t i = 0; i < dim; i++) gates[g] += p[1][g * dim + i] * h[i];
      }
      for (int64_t j = 0; j < dim; j++) {
        const double i = 1 / (1 + exp(-gates[j])), f = 1 / (1 + exp(-gates[dim + j])),
                     o = 1 / (1 + exp(-gates[3 * dim + j]));
        c[j] = f * c[j] + i * tanh(gates[2 * dim + j]);
        h[j] = o * tanh(c[j]);
        x[j] = h[j] * (l + 1 < n_layers ? plain_kept(e->s.dropout, key, (uint32_t)l, t * dim + j) : 1);
      }
    }
    for (int64_t j = 0; j < dim; j++) mean[j] += x[j] / (double)n;
  }
  for (int64_t i = 0; i < e->s.latent_dim; i++) {
    latent[i] = linear[1][i];
    for (int64_t j = 0; j < dim; j++) latent[i] += linear[0][i * dim + j] * mean[j];
  }
}

/* --- both together --- */

typedef struct problem {
  cq_encoder *encoder;
  cq_decoder *decoder;
  cq_worker worker;
  cq_batch read, written;
  int64_t n, latent_dim, width;
  float *latent, *dlatent, *states, *dstates; /* [n, latent_dim], [n, width] */
  cq_params params;                           /* of the decoder; the encoder has its own */
  cq_gradients of_encoder, of_decoder;
} problem;

static void set_up(problem *p, cq_encoder *encoder, cq_decoder *decoder, cq_batch read, cq_batch written) {
  size_t n;
  *p = (problem){.encoder = encoder, .decoder = decoder, .worker = {.kernels = cq_kernels_best()}, .n = read.n_seqs};
  cq_param *params = cq_decoder_params(&n, decoder);
  for (size_t i = 0; i < n; i++) assert_int_equal(cq_params_add(&p->params, &params[i], NULL), CQ_OK);
  cq_params_index(&p->params);
  assert_int_equal(cq_gradients_new(&p->of_decoder, &p->params, NULL), CQ_OK);
  assert_int_equal(cq_gradients_new(&p->of_encoder, &encoder->params, NULL), CQ_OK);
  assert_int_equal(cq_encoder_states_width(&p->width, encoder, NULL), CQ_OK);
  assert_int_equal(cq_states_check(decoder, encoder, NULL), CQ_OK);
  assert_int_equal(cq_decoder_states_width(decoder), p->width);
  p->latent_dim = cq_encoder_dim(encoder);
  float **const rows[] = {&p->latent, &p->dlatent, &p->states, &p->dstates};
  for (int i = 0; i < 4; i++) *rows[i] = calloc((size_t)(p->n * (i < 2 ? p->latent_dim : p->width)), sizeof(float));
  p->read = read, p->written = written;
  p->read.final = cq_tensor_f32(p->states, p->n, p->width);
  p->read.dfinal = cq_tensor_f32(p->dstates, p->n, p->width);
}

static void tear_down(problem *p) {
  free(p->latent), free(p->dlatent), free(p->states), free(p->dstates);
  cq_gradients_free(&p->of_encoder);
  cq_gradients_free(&p->of_decoder);
  cq_params_free(&p->params);
  cq_workspace_free(&p->worker.workspace);
  cq_encoder_free(p->encoder);
  cq_decoder_free(p->decoder);
}

/* -log p of what is written by what is read, with all gradients, times factor. */
static double forward_and_backward(problem *p, float factor, double word_dropout) {
  cq_tape tape;
  cq_tensor y;
  double loss = 0;
  assert_int_equal(cq_encoder_forward(&p->worker, p->encoder, &p->read, &y, &tape, NULL), CQ_OK);
  memcpy(p->latent, y.data, (size_t)(p->n * p->latent_dim) * sizeof(float));
  const cq_tensor latent = cq_tensor_f32(p->latent, p->n, p->latent_dim),
                  dlatent = cq_tensor_f32(p->dlatent, p->n, p->latent_dim);
  const cq_decoder_batch batch = {
      .tokens = p->written, .latent = latent, .states = p->read.final, .word_dropout = word_dropout};
  assert_int_equal(
      cq_decoder_loss(&loss, &p->worker, p->decoder, &batch, &p->of_decoder, dlatent, p->read.dfinal, factor, NULL),
      CQ_OK);
  assert_int_equal(cq_encoder_backward(&p->worker, p->encoder, &p->read, dlatent, &tape, &p->of_encoder, NULL), CQ_OK);
  return loss;
}

/* --- differences --- */

static double plain_loss(const plain_encoder *e, const plain_decoder *d, bool dropout) {
  double sum = 0;
  for (int64_t s = 0; s < N; s++) {
    double latent[LATENT], states[MOST_STATES];
    const uint64_t *key = dropout ? &keys[s] : NULL;
    plain_encode(latent, states, e, read_ids + read_starts[s], read_starts[s + 1] - read_starts[s], key);
    sum += plain_nll(d, latent, states, written_ids + written_starts[s], written_starts[s + 1] - written_starts[s], key,
                     dropout ? 0.3 : 0);
  }
  return sum;
}

/* As in test_decoder.c: differences in double precision, gradients in f32. */
static void expect_slope(double *value, const cq_param *param, int64_t i, double found, const plain_encoder *e,
                         const plain_decoder *d, bool dropout) {
  const double step = 1e-5, kept = *value;
  double sides[2];
  for (int side = 0; side < 2; side++) {
    *value = kept + (side ? -step : step);
    sides[side] = plain_loss(e, d, dropout);
  }
  *value = kept;
  const double slope = 0.5 * (sides[0] - sides[1]) / (2 * step);
  if (!(fabs(found - slope) <= 1e-5 * fmax(1, fabs(slope))))
    fail_msg("%d layers, %s[%lld] is %g, expected %g", (int)e->s.n_layers, param->name, (long long)i, found, slope);
}

static void check_gradients(int64_t n_layers, bool at_every_step, bool dropout) {
  const encoder_shape shape = {EMBEDDING, DIM, n_layers, LATENT, dropout ? 0.3 : 0};
  const cq_decoder_shape decoder = {.embedding_dim = 3,
                                    .hidden_dim = DIM,
                                    .n_layers = n_layers,
                                    .latent_dim = LATENT,
                                    .latent_at_every_step = at_every_step,
                                    .states_from_encoder = true,
                                    .dropout = dropout ? 0.2 : 0};
  problem p;
  set_up(&p, make_encoder(&shape, 0.5, 4), make_decoder(&decoder, N_LETTERS, 0.5, 5),
         (cq_batch){.ids = read_ids, .starts = read_starts, .n_seqs = N, .keys = dropout ? keys : NULL},
         (cq_batch){.ids = written_ids, .starts = written_starts, .n_seqs = N, .keys = dropout ? keys : NULL});
  plain_encoder e = plain_encoder_of(p.encoder, &shape);
  plain_decoder d = plain_of(p.decoder);
  const double loss = forward_and_backward(&p, 0.5f, dropout ? 0.3 : 0), expected = plain_loss(&e, &d, dropout);
  expect_close("the loss", loss, expected, 2e-6);
  for (int64_t s = 0; s < N; s++) {
    double latent[LATENT], states[MOST_STATES];
    plain_encode(latent, states, &e, read_ids + read_starts[s], read_starts[s + 1] - read_starts[s],
                 dropout ? &keys[s] : NULL);
    for (int i = 0; i < LATENT; i++) expect_close("a vector", (double)p.latent[s * LATENT + i], latent[i], 1e-6);
    for (int64_t i = 0; i < p.width; i++) expect_close("a state", (double)p.states[s * p.width + i], states[i], 1e-6);
  }
  double largest = 0;
  for (size_t i = 0; i < p.encoder->params.n; i++)
    for (int64_t j = 0; j < cq_param_floats(p.encoder->params.items[i]); j++) {
      const cq_param *param = p.encoder->params.items[i];
      const double found = gradient_at(&p.of_encoder, param, j);
      largest = fmax(largest, fabs(found));
      expect_slope(&e.values[i][j], param, j, found, &e, &d, dropout);
    }
  assert_true(largest > 0.05);
  for (size_t i = 0; i < p.params.n; i++)
    for (int64_t j = 0; j < cq_param_floats(p.params.items[i]); j++)
      expect_slope(&d.values[i][j], p.params.items[i], j, gradient_at(&p.of_decoder, p.params.items[i], j), &e, &d,
                   dropout);
  plain_encoder_free(&e);
  plain_free(&d);
  tear_down(&p);
}

static void differences_agree(void **state) {
  (void)state;
  for (int way = 0; way < 8; way++) check_gradients(1 + way % 2, way / 2 % 2, way / 4);
}

/* --- PyTorch --- */

typedef struct stored_batch {
  int32_t ids[64];
  int64_t starts[16];
  cq_batch batch;
} stored_batch;

static void read_batch(stored_batch *out, const cq_safetensors *file, const char *prefix) {
  int64_t n, n_ids;
  const float *lengths = stored(file, prefix, "lengths", &n), *ids = stored(file, prefix, "ids", &n_ids);
  assert_true(n < 16 && n_ids <= 64);
  out->starts[0] = 0;
  for (int64_t i = 0; i < n_ids; i++) out->ids[i] = (int32_t)ids[i];
  for (int64_t s = 0; s < n; s++) out->starts[s + 1] = out->starts[s] + (int64_t)lengths[s];
  out->batch = (cq_batch){.ids = out->ids, .starts = out->starts, .n_seqs = n};
}

/* The parameters' values; those that PyTorch's model lacks, as it does not use them, stay. */
static void take_values(const cq_params *params, const cq_safetensors *file, const char *prefix) {
  for (size_t i = 0; i < params->n; i++) {
    int64_t n;
    if (strstr(params->items[i]->name, "state.")) continue;
    const float *values = stored(file, prefix, params->items[i]->name, &n);
    assert_int_equal(n, cq_param_floats(params->items[i]));
    memcpy(params->items[i]->value, values, (size_t)n * sizeof *values);
  }
}

static void expect_gradients(const cq_gradients *g, const cq_params *params, const cq_safetensors *file,
                             const char *prefix) {
  for (size_t i = 0; i < params->n; i++) {
    const cq_param *p = params->items[i];
    const bool unused = strstr(p->name, "state.") != NULL;
    const float *expected = unused ? NULL : stored(file, prefix, p->name, NULL);
    for (int64_t j = 0; j < cq_param_floats(p); j++)
      expect_close(p->name, gradient_at(g, p, j), unused ? 0 : (double)expected[j], 1e-5);
  }
}

/* Both sides are f32 sums in different orders. */
static void pytorch_agrees(void **state) {
  const encoder_shape shape = {6, 7, 2, 5, 0};
  const cq_decoder_shape decoder = {.embedding_dim = 6,
                                    .hidden_dim = 7,
                                    .n_layers = 2,
                                    .latent_dim = 5,
                                    .latent_at_every_step = true,
                                    .states_from_encoder = true};
  cq_safetensors *file;
  stored_batch read, written;
  problem p;
  (void)state;
  assert_int_equal(cq_safetensors_open(&file, tests_file("golden/decoder/from-encoder.safetensors"), NULL), CQ_OK);
  read_batch(&read, file, "");
  read_batch(&written, file, "written_");
  set_up(&p, make_encoder(&shape, 1, 1), make_decoder(&decoder, N_LETTERS, 1, 1), read.batch, written.batch);
  take_values(&p.encoder->params, file, "encoder/");
  take_values(&p.params, file, "decoder/");
  assert_int_equal(cq_encoder_pack(p.encoder, NULL, true, NULL), CQ_OK);
  assert_int_equal(cq_decoder_pack(p.decoder, true, NULL), CQ_OK);
  const double loss = forward_and_backward(&p, 1, 0);
  expect_close("the loss", loss, (double)*stored(file, "", "loss", NULL), 1e-6);
  const float *latent = stored(file, "", "latent", NULL), *states = stored(file, "", "states", NULL);
  for (int64_t i = 0; i < p.n * 5; i++) expect_close("a vector", (double)p.latent[i], (double)latent[i], 1e-6);
  for (int64_t i = 0; i < p.n * p.width; i++) expect_close("a state", (double)p.states[i], (double)states[i], 1e-6);
  expect_gradients(&p.of_encoder, &p.encoder->params, file, "gradient.encoder/");
  expect_gradients(&p.of_decoder, &p.params, file, "gradient.decoder/");
  tear_down(&p);
  cq_safetensors_close(file);
}

/* --- without training --- */

/* The same bits with a tape and without, wanted or not, of all sentences and of one, in text and in ids, and for any
 * number of threads. */
static void states_do_not_depend_on_the_way(void **state) {
  enum { N_TEXTS = 300 };
  static const char *const texts[] = {"a b c", "", "f e d c b a", "d", "zz a"};
  const encoder_shape shape = {EMBEDDING, DIM, 2, LATENT, 0.4};
  cq_encoder *e = make_encoder(&shape, 0.7, 9);
  cq_slice sentences[N_TEXTS];
  int64_t width;
  (void)state;
  for (int i = 0; i < N_TEXTS; i++) sentences[i] = cq_slice_of(texts[i % 5]);
  assert_int_equal(cq_encoder_states_width(&width, e, NULL), CQ_OK);
  assert_int_equal(width, 2 * 2 * DIM);
  float *vectors[3], *states[3];
  for (int way = 0; way < 3; way++) {
    cq_context *ctx;
    assert_int_equal(cq_context_open(&ctx, way + 1, NULL), CQ_OK);
    vectors[way] = calloc(N_TEXTS * LATENT, sizeof(float));
    states[way] = calloc((size_t)(N_TEXTS * width), sizeof(float));
    assert_int_equal(cq_encoder_encode_states(vectors[way], cq_tensor_f32(states[way], N_TEXTS, width), NULL, e,
                                              sentences, N_TEXTS, NULL, ctx, NULL),
                     CQ_OK);
    assert_memory_equal(vectors[way], vectors[0], N_TEXTS * LATENT * sizeof(float));
    assert_memory_equal(states[way], states[0], (size_t)(N_TEXTS * width) * sizeof(float));
    cq_context_free(ctx);
  }
  assert_int_equal(cq_encoder_encode(vectors[1], NULL, e, sentences, N_TEXTS, NULL, NULL, NULL), CQ_OK);
  assert_memory_equal(vectors[1], vectors[0], N_TEXTS * LATENT * sizeof(float));
  for (int i = 0; i < 5; i++) {
    cq_ids ids = {0};
    cq_worker worker = {.kernels = cq_kernels_best()};
    bool truncated;
    float alone[MOST_STATES];
    assert_int_equal(cq_encoder_tokenize(&ids, e, NULL, sentences[i], &truncated, NULL), CQ_OK);
    const int64_t starts[] = {0, (int64_t)ids.n};
    const cq_batch batch = {.ids = ids.ids, .starts = starts, .n_seqs = 1, .final = cq_tensor_f32(alone, 1, width)};
    for (int with_tape = 0; with_tape < 2; with_tape++) {
      cq_tape tape;
      cq_tensor y;
      memset(alone, 0, sizeof alone);
      assert_int_equal(cq_encoder_forward(&worker, e, &batch, &y, with_tape ? &tape : NULL, NULL), CQ_OK);
      assert_memory_equal(alone, states[0] + i * width, (size_t)width * sizeof(float));
      assert_memory_equal(y.data, vectors[0] + i * LATENT, LATENT * sizeof(float));
    }
    cq_workspace_free(&worker.workspace);
    cq_free(ids.ids);
  }
  for (int way = 0; way < 3; way++) free(vectors[way]), free(states[way]);
  cq_encoder_free(e);
}

/* --- what does not fit --- */

typedef enum layout { NO_LSTM, ONE_LSTM, TWO_LSTMS, BOTH_WAYS } layout;

static cq_encoder *lay_out(layout which, int64_t dim, int64_t n_layers) {
  cq_encoder *e;
  cq_module *m;
  cq_random random = cq_random_seeded(1, 1);
  int64_t out = EMBEDDING;
  assert_int_equal(cq_encoder_new(&e, NULL), CQ_OK);
  append(e,
         cq_word_embeddings_new(&m, letters_tokenizer(N_LETTERS), EMBEDDING, 9, "0_WordEmbeddings", &random, &e->arena,
                                NULL),
         &m);
  for (int i = 0; i < (which == NO_LSTM ? 0 : which == TWO_LSTMS ? 2 : 1); i++) {
    append(e, cq_lstm_module_new(&m, out, dim, n_layers, which == BOTH_WAYS, 0, "1_LSTM", &random, &e->arena, NULL),
           &m);
    out = m->output_dim;
  }
  append(e, cq_pooling_new(&m, out, CQ_POOL_MAX, "2_Pooling", &e->arena, NULL), &m);
  return e;
}

static void not_every_encoder_fits(void **state) {
  static const struct {
    layout which;
    int64_t dim, n_layers;
    const char *word;
  } cases[] = {{NO_LSTM, 0, 0, "an encoder of 0 LSTMs"},
               {TWO_LSTMS, 6, 2, "an encoder of 2 LSTMs"},
               {BOTH_WAYS, 6, 2, "reads in both directions"},
               {ONE_LSTM, 6, 1, "2 layers of 6, an encoder that ends in 1 of 6"},
               {ONE_LSTM, 5, 2, "ends in 2 of 5"},
               {ONE_LSTM, 6, 2, NULL}};
  const cq_decoder_shape shape = {
      .embedding_dim = 3, .hidden_dim = 6, .n_layers = 2, .latent_dim = 6, .states_from_encoder = true};
  cq_decoder_shape own = shape;
  own.states_from_encoder = false, own.latent_as_state = true;
  cq_decoder *taking = make_decoder(&shape, N_LETTERS, 1, 1), *other = make_decoder(&own, N_LETTERS, 1, 1);
  (void)state;
  assert_int_equal(cq_decoder_states_width(taking), 24);
  assert_int_equal(cq_decoder_states_width(other), 0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_encoder *e = lay_out(cases[i].which, cases[i].dim, cases[i].n_layers);
    cq_error error = {0};
    int64_t width;
    assert_int_equal(cq_states_check(other, e, NULL), CQ_OK);
    assert_int_equal(cq_states_check(taking, e, &error), cases[i].word ? CQ_ERR_ARGUMENT : CQ_OK);
    if (cases[i].word && !strstr(error.message, cases[i].word))
      fail_msg("'%s' does not say '%s'", error.message, cases[i].word);
    assert_int_equal(cq_encoder_states_width(&width, e, NULL), cases[i].which == ONE_LSTM ? CQ_OK : CQ_ERR_ARGUMENT);
    if (cases[i].which == ONE_LSTM) assert_int_equal(width, 2 * cases[i].dim * cases[i].n_layers);
    cq_encoder_free(e);
  }
  cq_decoder_free(taking);
  cq_decoder_free(other);
}

/* --- out of memory --- */

/* Forward and backward with as little room left as they can do with, and with less. */
static void memory_may_run_out_anywhere(void **state) {
  enum { CHUNK = 4 << 20 /* of a workspace */ };
  const encoder_shape shape = {EMBEDDING, DIM, 2, LATENT, 0.3};
  const cq_decoder_shape decoder = {
      .embedding_dim = 3, .hidden_dim = DIM, .n_layers = 2, .latent_dim = LATENT, .states_from_encoder = true};
  problem p;
  (void)state;
  set_up(&p, make_encoder(&shape, 0.5, 4), make_decoder(&decoder, N_LETTERS, 0.5, 5),
         (cq_batch){.ids = read_ids, .starts = read_starts, .n_seqs = N, .keys = keys},
         (cq_batch){.ids = written_ids, .starts = written_starts, .n_seqs = N, .keys = keys});
  forward_and_backward(&p, 1, 0); /* the tables of gradients have their rows from here on */
  int n_failed[2] = {0};
  for (int backward = 0; backward < 2; backward++)
    for (size_t left = 0;; left += 64) {
      cq_worker worker = {.kernels = p.worker.kernels};
      cq_workspace *w = &worker.workspace;
      cq_tape tape;
      cq_tensor y;
      cq_status status = CQ_OK;
      if (backward) status = cq_encoder_forward(&worker, p.encoder, &p.read, &y, &tape, NULL);
      assert_int_equal(status, CQ_OK);
      assert_non_null(cq_workspace_take(w, 64));
      assert_non_null(cq_workspace_take(w, CHUNK - cq_workspace_mark(w).used - left));
      cq_alloc_fail_at(1);
      status = backward ? cq_encoder_backward(&worker, p.encoder, &p.read, cq_tensor_f32(p.dlatent, N, LATENT), &tape,
                                              &p.of_encoder, NULL)
                        : cq_encoder_forward(&worker, p.encoder, &p.read, &y, &tape, NULL);
      cq_alloc_fail_at(0);
      cq_workspace_free(w);
      if (!status) break;
      assert_int_equal(status, CQ_ERR_MEMORY);
      n_failed[backward]++;
    }
  assert_true(n_failed[0] > 20 && n_failed[1] > 20);
  tear_down(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(differences_agree),
      cmocka_unit_test(pytorch_agrees),
      cmocka_unit_test(states_do_not_depend_on_the_way),
      cmocka_unit_test(not_every_encoder_fits),
      cmocka_unit_test(memory_may_run_out_anywhere),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
