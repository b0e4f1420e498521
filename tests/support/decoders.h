/* Decoders for tests: tiny vocabularies, and the decoder as plain loops in double precision, whose values can be moved
 * by as little as differences want. Wants make_test_directory as the group's set-up. */
#ifndef SUPPORT_DECODERS_H
#define SUPPORT_DECODERS_H

#include "support/files.h"

#include "base/memory.h"
#include "format/safetensors.h"
#include "lab/autoencode/decoder.h"

#include <math.h>
#include <sys/stat.h>

/* [PAD] [UNK] [CLS] [SEP] a b c ...: ids 0 to 3 and n_letters more. */
enum { PLAIN_UNK = 1, PLAIN_START = 2, PLAIN_END = 3, PLAIN_FIRST = 4 };

static inline cq_tokenizer *letters_tokenizer(int n_letters) {
  char directory[400], text[400] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n", path[450];
  cq_tokenizer *t;
  cq_error error = {0};
  assert_true(n_letters <= 26);
  snprintf(directory, sizeof directory, "%s", test_path("letters"));
  mkdir(directory, 0777);
  for (int i = 0; i < n_letters; i++) snprintf(text + strlen(text), 4, "%c\n", 'a' + i);
  snprintf(path, sizeof path, "%s/vocab.txt", directory);
  write_text(path, text);
  snprintf(path, sizeof path, "%s/tokenizer_config.json", directory);
  write_text(path, "{\"mask_token\": null}"); /* or BERT's class adds one */
  if (cq_tokenizer_open(&t, directory, false, &error)) fail_msg("%s", error.message);
  const cq_tokenizer_info *info = cq_tokenizer_describe(t);
  assert_int_equal(info->vocab_size, PLAIN_FIRST + n_letters);
  assert_int_equal(info->unk_id, PLAIN_UNK);
  assert_int_equal(info->cls_id, PLAIN_START);
  assert_int_equal(info->sep_id, PLAIN_END);
  return t;
}

/* All values from N(0, deviation), in memory that is the caller's to free by free_decoder. */
static inline cq_decoder *make_decoder(const cq_decoder_shape *shape, int n_letters, double deviation, uint64_t seed) {
  cq_decoder *d;
  cq_error error = {0};
  cq_random random = cq_random_seeded(seed, 0);
  if (cq_decoder_new(&d, letters_tokenizer(n_letters), shape, &random, &error)) fail_msg("%s", error.message);
  size_t n;
  cq_param *p = cq_decoder_params(&n, d);
  for (size_t i = 0; i < n; i++)
    for (int64_t j = 0; j < cq_param_floats(&p[i]); j++) p[i].value[j] = (float)(cq_random_normal(&random) * deviation);
  assert_int_equal(cq_decoder_pack(d, true, NULL), CQ_OK);
  return d;
}

/* --- gradients, golden files --- */

static inline double gradient_at(const cq_gradients *g, const cq_param *param, int64_t i) {
  if (!param->table) return (double)g->dense[param->offset + i];
  const cq_table_gradient *t = &g->tables[param->offset];
  const int32_t slot = t->slot_of[i / param->cols];
  return slot == 0 ? 0 : (double)t->rows[(slot - 1) * param->cols + i % param->cols];
}

static inline const float *stored(const cq_safetensors *file, const char *prefix, const char *name, int64_t *n) {
  char full[100];
  snprintf(full, sizeof full, "%s%s", prefix, name);
  const cq_stored_tensor *t = cq_safetensors_find(file, full);
  if (!t) fail_msg("no %s", full);
  if (n) *n = (int64_t)t->n_elements;
  return t->data;
}

static inline void expect_close(const char *what, double found, double expected, double tolerance) {
  if (!(fabs(found - expected) <= tolerance * fmax(1, fabs(expected))))
    fail_msg("%s is %.9g, expected %.9g", what, found, expected);
}

/* --- plain loops --- */

enum { PLAIN_MOST = 64, PLAIN_PARAMS = 5 + 4 * 3 }; /* of any dimension, of parameters */

/* words, output and its bias, state and its bias, then weight_ih, weight_hh, bias_ih, bias_hh of each layer. */
typedef struct plain_decoder {
  cq_decoder_shape s;
  int64_t vocabulary;
  size_t n_params;
  double *values[PLAIN_PARAMS];
} plain_decoder;

static inline plain_decoder plain_of(cq_decoder *d) {
  plain_decoder plain = {.s = *cq_decoder_shape_of(d),
                         .vocabulary = cq_tokenizer_describe(cq_decoder_tokenizer(d))->vocab_size};
  const cq_param *p = cq_decoder_params(&plain.n_params, d);
  assert_true(plain.n_params <= PLAIN_PARAMS && plain.vocabulary <= PLAIN_MOST);
  for (size_t i = 0; i < plain.n_params; i++) {
    const int64_t n = cq_param_floats(&p[i]);
    plain.values[i] = malloc((size_t)n * sizeof(double));
    for (int64_t j = 0; j < n; j++) plain.values[i][j] = (double)p[i].value[j];
  }
  return plain;
}

static inline void plain_free(plain_decoder *plain) {
  for (size_t i = 0; i < plain->n_params; i++) free(plain->values[i]);
}

/* What dropout leaves of element i: 0 or 1 / (1 - rate). */
static inline double plain_kept(double rate, const uint64_t *key, uint32_t site, int64_t i) {
  if (!key || rate <= 0) return 1;
  const double most = (double)(float)rate * 4294967296.0;
  return (double)cq_dropout_bits(cq_dropout_key(*key, site), (uint32_t)i) < most ? 0 : 1 / (1 - (double)(float)rate);
}

typedef struct plain_state {
  double hidden[3][PLAIN_MOST], cells[3][PLAIN_MOST];
} plain_state;

/* states [2 n_layers hidden_dim], an encoder's; NULL: none are given. */
static inline void plain_begin(plain_state *state, const plain_decoder *d, const double *latent, const double *states) {
  memset(state, 0, sizeof *state);
  if (!d->s.latent_as_state && !d->s.states_from_encoder) return;
  for (int64_t which = 0; which < 2; which++)
    for (int64_t l = 0; l < d->s.n_layers; l++)
      for (int64_t j = 0; j < d->s.hidden_dim; j++) {
        const int64_t row = (which * d->s.n_layers + l) * d->s.hidden_dim + j;
        double sum = d->values[4][row];
        for (int64_t k = 0; k < d->s.latent_dim; k++) sum += d->values[3][row * d->s.latent_dim + k] * latent[k];
        (which ? state->cells : state->hidden)[l][j] = d->s.states_from_encoder ? states[row] : tanh(sum);
      }
}

/* log_p [vocabulary] of what follows token id, which stands at `place` of the sentence. */
static inline void plain_step(double *log_p, plain_state *state, const plain_decoder *d, const double *latent,
                              int32_t id, int64_t place, const uint64_t *key) {
  const int64_t e = d->s.embedding_dim, dim = d->s.hidden_dim;
  const double rate = d->s.dropout;
  double x[2 * PLAIN_MOST], gates[4 * PLAIN_MOST];
  int64_t in = e + (d->s.latent_at_every_step ? d->s.latent_dim : 0);
  const int32_t read = d->s.words_hidden ? PLAIN_UNK : id;
  for (int64_t i = 0; i < in; i++)
    x[i] = (i < e ? d->values[0][read * e + i] : latent[i - e]) * plain_kept(rate, key, 0, place * in + i);
  for (int64_t l = 0; l < d->s.n_layers; l++, in = dim) {
    double *const *p = &d->values[5 + 4 * l], *h = state->hidden[l], *c = state->cells[l];
    for (int64_t g = 0; g < 4 * dim; g++) {
      gates[g] = p[2][g] + p[3][g];
      for (int64_t i = 0; i < in; i++) gates[g] += p[0][g * in + i] * x[i];
      for (int64_t i = 0; i < dim; i++) gates[g] += p[1][g * dim + i] * h[i];
    }
    for (int64_t j = 0; j < dim; j++) {
      const double i = 1 / (1 + exp(-gates[j])), f = 1 / (1 + exp(-gates[dim + j])), g = tanh(gates[2 * dim + j]),
                   o = 1 / (1 + exp(-gates[3 * dim + j]));
      c[j] = f * c[j] + i * g;
      h[j] = o * tanh(c[j]);
      x[j] = h[j] * plain_kept(rate, key, (uint32_t)l + 1, place * dim + j);
    }
  }
  double most = -INFINITY, sum = 0;
  for (int64_t v = 0; v < d->vocabulary; v++) {
    log_p[v] = d->values[2][v];
    for (int64_t j = 0; j < dim; j++) log_p[v] += d->values[1][v * dim + j] * x[j];
    most = fmax(most, log_p[v]);
  }
  for (int64_t v = 0; v < d->vocabulary; v++) sum += exp(log_p[v] - most);
  for (int64_t v = 0; v < d->vocabulary; v++) log_p[v] -= most + log(sum);
}

/* -log p of ids [n], the first of which is given. key NULL: no dropout, of words neither. */
static inline double plain_nll(const plain_decoder *d, const double *latent, const double *states, const int32_t *ids,
                               int64_t n, const uint64_t *key, double word_dropout) {
  plain_state state;
  double log_p[PLAIN_MOST], sum = 0;
  plain_begin(&state, d, latent, states);
  for (int64_t i = 0; i + 1 < n; i++) {
    const bool hidden =
        key && i > 0 &&
        cq_dropout_bits(cq_dropout_key(*key, UINT32_MAX - 1), (uint32_t)i) < (uint32_t)(word_dropout * 4294967295.0);
    plain_step(log_p, &state, d, latent, hidden ? PLAIN_UNK : ids[i], i, key);
    sum -= log_p[ids[i + 1]];
  }
  return sum;
}

#endif
