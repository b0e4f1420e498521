/* An LSTM that writes text from a sentence vector: forward, backward, and one step at a time for search. See
 * decoder.h. */
#include "lab/autoencode/decoder.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "format/json.h"
#include "lab/autoencode/token_best.h"
#include "lab/autoencode/token_loss.h"
#include "model/modules.h"
#include "nn/embedding.h"
#include "nn/norm.h"

#include <math.h>
#include <string.h>

/* The parameters in file order: words, output (weight, bias), state (weight, bias), then four per layer. */
enum { WORDS, OUTPUT, OUTPUT_BIAS, STATE, STATE_BIAS, FIRST_LAYER, OF_LAYER = 4 };

struct cq_decoder {
  cq_decoder_shape shape;
  cq_arena arena;
  cq_tokenizer *tokenizer;
  cq_weights *weights; /* NULL for a fresh decoder */
  const cq_kernels *kernels;
  cq_param *params;
  size_t n_params;
  cq_lstm *layers;         /* [n_layers] */
  cq_linear output, state; /* [vocabulary, hidden_dim]; [2 n_layers hidden_dim, latent_dim], hidden states first */
  cq_token_bounds bounds;  /* of the output layer as packed for writing */
};

/* --- making, opening, saving --- */

/* The sizes of a shape: keys in decoder_config.json, and maximum values. */
static const struct {
  const char *key;
  size_t offset;
  int64_t max;
} sizes[] = {{"embedding_dim", offsetof(cq_decoder_shape, embedding_dim), 1 << 16},
             {"hidden_dim", offsetof(cq_decoder_shape, hidden_dim), 1 << 16},
             {"num_layers", offsetof(cq_decoder_shape, n_layers), 64},
             {"latent_dim", offsetof(cq_decoder_shape, latent_dim), 1 << 16}};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

static int64_t *decoder_size(cq_decoder_shape *s, int i) {
  return (int64_t *)(void *)((char *)s + sizes[i].offset);
}

static cq_status check_shape(const cq_decoder_shape *shape, cq_error *error) {
  cq_decoder_shape copy = *shape, *s = &copy;
  for (int i = 0; i < N_SIZES; i++)
    if (*decoder_size(s, i) < 1 || *decoder_size(s, i) > sizes[i].max)
      return cq_fail(error, CQ_ERR_ARGUMENT, "a decoder's %s is %lld, expected 1 to %lld", sizes[i].key,
                     (long long)*decoder_size(s, i), (long long)sizes[i].max);
  if (!s->latent_at_every_step && !s->latent_as_state && !s->states_from_encoder)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a decoder that never sees the sentence");
  if (s->latent_as_state && s->states_from_encoder)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a decoder whose first states are both the vector's and the encoder's");
  if (!(s->dropout >= 0 && s->dropout < 1))
    return cq_fail(error, CQ_ERR_ARGUMENT, "dropout %g, expected 0 or more and less than 1", s->dropout);
  return CQ_OK;
}

/* Checks that a vocabulary is suitable for writing sentences. directory NULL: a new decoder's. */
static cq_status check_decoder_vocabulary(const cq_tokenizer *tokenizer, const char *directory, cq_error *error) {
  static const char *const message = "a vocabulary without tokens for beginning, end and unknown words";
  const cq_tokenizer_info *info = cq_tokenizer_describe(tokenizer);
  if (info->cls_id >= 0 && info->sep_id >= 0 && info->unk_id >= 0) return CQ_OK;
  return directory ? cq_fail_file(error, CQ_ERR_UNSUPPORTED, directory, "%s", message)
                   : cq_fail(error, CQ_ERR_UNSUPPORTED, "%s", message);
}

static int64_t layer_input(const cq_decoder_shape *s, int64_t layer) {
  return layer > 0 ? s->hidden_dim : s->embedding_dim + (s->latent_at_every_step ? s->latent_dim : 0);
}

static void param_of(cq_param *p, char name[64], const cq_decoder *d, size_t which) {
  static const char *const names[] = {"embedding.weight", "output.weight", "output.bias", "state.weight", "state.bias"};
  static const char *const kinds[] = {"weight_ih", "weight_hh", "bias_ih", "bias_hh"};
  const cq_decoder_shape *s = &d->shape;
  const int64_t vocabulary = cq_tokenizer_describe(d->tokenizer)->vocab_size, states = 2 * s->n_layers * s->hidden_dim;
  const int64_t rows[] = {vocabulary, vocabulary, vocabulary, states, states},
                cols[] = {s->embedding_dim, s->hidden_dim, 0, s->latent_dim, 0};
  int64_t r, c;
  if (which < FIRST_LAYER) {
    r = rows[which], c = cols[which];
    snprintf(name, 64, "%s", names[which]);
  } else {
    const size_t layer = (which - FIRST_LAYER) / OF_LAYER, kind = (which - FIRST_LAYER) % OF_LAYER;
    r = 4 * s->hidden_dim, c = kind == 0 ? layer_input(s, (int64_t)layer) : kind == 1 ? s->hidden_dim : 0;
    snprintf(name, 64, "decoder.%s_l%zu", kinds[kind], layer);
  }
  *p = (cq_param){.rows = c ? r : 1, .cols = c ? c : r, .n_dims = c ? 2 : 1, .decay = c != 0};
}

/* Everything but the parameters' values. */
static cq_status make_decoder(cq_decoder **out, const cq_decoder_shape *shape, cq_error *error) {
  cq_decoder *d = cq_alloc_zeroed(sizeof *d);
  *out = d;
  if (!d) return cq_fail_memory(error, "a decoder");
  d->shape = *shape;
  d->kernels = cq_kernels_best();
  d->n_params = (size_t)(FIRST_LAYER + OF_LAYER * shape->n_layers);
  d->params = cq_arena_array(&d->arena, d->n_params, sizeof *d->params);
  if (!d->params) return cq_fail_memory(error, "a decoder");
  d->layers = cq_arena_array(&d->arena, (size_t)shape->n_layers, sizeof *d->layers);
  if (!d->layers) return cq_fail_memory(error, "a decoder");
  memset(d->params, 0, d->n_params * sizeof *d->params);
  memset(d->layers, 0, (size_t)shape->n_layers * sizeof *d->layers);
  d->output = (cq_linear){.weight = &d->params[OUTPUT], .bias = &d->params[OUTPUT_BIAS]};
  d->state = (cq_linear){.weight = &d->params[STATE], .bias = &d->params[STATE_BIAS]};
  for (int64_t i = 0; i < shape->n_layers; i++) {
    cq_param *p = &d->params[FIRST_LAYER + OF_LAYER * i];
    d->layers[i] = (cq_lstm){.n_directions = 1, .in = layer_input(shape, i), .dim = shape->hidden_dim};
    d->layers[i].direction[0] = (cq_lstm_direction){
        .input = {.weight = &p[0]}, .recurrent = {.weight = &p[1]}, .bias_input = &p[2], .bias_recurrent = &p[3]};
  }
  return CQ_OK;
}

/* PyTorch's initialization: words from N(0, 1) scaled down, everything else uniform in +-1 / sqrt(inputs). */
static cq_status draw_decoder(cq_decoder *d, cq_random *random, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < d->n_params; i++) {
    cq_param *p = &d->params[i];
    char name[64];
    param_of(p, name, d, i);
    p->name = cq_arena_strdup(&d->arena, name);
    if (!p->name) return cq_fail_memory(error, "a decoder");
    const int64_t in = i == STATE || i == STATE_BIAS ? d->shape.latent_dim : d->shape.hidden_dim;
    status = i == WORDS ? cq_param_normal(p, 0.1, random, &d->arena, error)
                        : cq_param_uniform(p, 1 / sqrt((double)in), random, &d->arena, error);
  }
  return status;
}

cq_status cq_decoder_new(cq_decoder **out, cq_tokenizer *tokenizer, const cq_decoder_shape *shape, cq_random *random,
                         cq_error *error) {
  *out = NULL;
  cq_decoder *d = NULL;
  cq_status status = check_shape(shape, error);
  if (!status) status = check_decoder_vocabulary(tokenizer, NULL, error);
  if (!status) status = make_decoder(&d, shape, error);
  if (!status) {
    d->tokenizer = tokenizer;
    status = draw_decoder(d, random, error);
    d->params[WORDS].table = true;
    if (status) d->tokenizer = NULL;
  }
  if (status)
    cq_decoder_free(d);
  else
    *out = d;
  return status;
}

static cq_status has_all_keys(const json_t *config, const char *path, cq_error *error) {
  static const char *const keys[] = {"embedding_dim",       "hidden_dim",           "num_layers",
                                     "latent_dim",          "latent_at_every_step", "latent_as_state",
                                     "states_from_encoder", "words_hidden",         "dropout"};
  if (!json_is_object(config)) return cq_fail_file(error, CQ_ERR_FORMAT, path, "expected an object");
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (!cq_json_has(config, keys[i])) return cq_fail_file(error, CQ_ERR_FORMAT, path, "\"%s\" is missing", keys[i]);
  return CQ_OK;
}

static cq_status read_decoder_shape(cq_decoder_shape *s, const char *directory, cq_error *error) {
  char path[4096];
  cq_error why = {0};
  json_t *config = NULL;
  cq_status status = cq_path_join(path, sizeof path, directory, "decoder_config.json", error);
  if (!status) status = cq_json_read(&config, path, error);
  if (status) return status;
  status = has_all_keys(config, path, error);
  for (int i = 0; !status && i < N_SIZES; i++)
    status = cq_json_get_int(decoder_size(s, i), config, sizes[i].key, 1, sizes[i].max, path, error);
  if (!status) status = cq_json_get_bool(&s->latent_at_every_step, config, "latent_at_every_step", path, error);
  if (!status) status = cq_json_get_bool(&s->latent_as_state, config, "latent_as_state", path, error);
  if (!status) status = cq_json_get_bool(&s->states_from_encoder, config, "states_from_encoder", path, error);
  if (!status) status = cq_json_get_bool(&s->words_hidden, config, "words_hidden", path, error);
  if (!status) status = cq_json_get_number(&s->dropout, config, "dropout", path, error);
  json_decref(config);
  if (!status && check_shape(s, &why)) status = cq_fail_file(error, CQ_ERR_FORMAT, path, "%s", why.message);
  return status;
}

cq_status cq_decoder_open(cq_decoder **out, const char *directory, cq_error *error) {
  cq_decoder_shape shape = {0};
  cq_decoder *d = NULL;
  *out = NULL;
  cq_status status = read_decoder_shape(&shape, directory, error);
  if (!status) status = make_decoder(&d, &shape, error);
  if (!status) status = cq_tokenizer_open(&d->tokenizer, directory, false, error);
  if (!status) status = check_decoder_vocabulary(d->tokenizer, directory, error);
  if (!status) status = cq_weights_open(&d->weights, directory, error);
  for (size_t i = 0; !status && i < d->n_params; i++) {
    char name[64];
    cq_param expected;
    param_of(&expected, name, d, i);
    const bool is_vector = expected.n_dims == 1;
    status =
        cq_weights_take(&d->params[i], d->weights, (const char *const[]){name, NULL},
                        is_vector ? expected.cols : expected.rows, is_vector ? 0 : expected.cols, &d->arena, error);
  }
  if (!status) status = cq_weights_all_taken(d->weights, NULL, error);
  if (!status) d->params[WORDS].table = true;
  if (!status) status = cq_decoder_pack(d, false, error);
  if (status)
    cq_decoder_free(d);
  else
    *out = d;
  return status;
}

cq_status cq_decoder_save(const cq_decoder *d, const char *directory, cq_error *error) {
  const cq_decoder_shape *s = &d->shape;
  json_t *config = json_pack("{s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:b, s:f}", "embedding_dim",
                             (json_int_t)s->embedding_dim, "hidden_dim", (json_int_t)s->hidden_dim, "num_layers",
                             (json_int_t)s->n_layers, "latent_dim", (json_int_t)s->latent_dim, "latent_at_every_step",
                             s->latent_at_every_step, "latent_as_state", s->latent_as_state, "states_from_encoder",
                             s->states_from_encoder, "words_hidden", s->words_hidden, "dropout", s->dropout);
  cq_status status = cq_json_save(config, directory, "decoder_config.json", error);
  if (!status) status = cq_weights_save(d->params, d->n_params, CQ_F32, directory, error);
  return status ? status : cq_tokenizer_save(d->tokenizer, directory, 0, error);
}

void cq_decoder_free(cq_decoder *d) {
  if (!d) return;
  for (int64_t i = 0; d->layers && i < d->shape.n_layers; i++) cq_lstm_free(&d->layers[i]);
  cq_linear_free(&d->output);
  cq_linear_free(&d->state);
  cq_token_bounds_free(&d->bounds);
  cq_weights_close(d->weights);
  cq_tokenizer_free(d->tokenizer);
  cq_arena_free(&d->arena);
  cq_free(d);
}

const cq_decoder_shape *cq_decoder_shape_of(const cq_decoder *d) {
  return &d->shape;
}

const cq_tokenizer *cq_decoder_tokenizer(const cq_decoder *d) {
  return d->tokenizer;
}

cq_param *cq_decoder_params(size_t *n, cq_decoder *d) {
  *n = d->n_params;
  return d->params;
}

cq_status cq_decoder_pack(cq_decoder *d, bool training, cq_error *error) {
  const cq_packing packing = {d->kernels, CQ_PRECISION_F32, training};
  cq_status status = cq_linear_pack(&d->output, &packing, error);
  if (!status) status = cq_linear_pack(&d->state, &packing, error);
  for (int64_t i = 0; !status && i < d->shape.n_layers; i++) status = cq_lstm_pack(&d->layers[i], 0, &packing, error);
  d->bounds.kernels = NULL;
  return status || training ? status : cq_token_bounds_make(&d->bounds, &d->output, d->kernels, error);
}

/* --- first states --- */

typedef struct first_states {
  cq_tensor before;      /* the linear layer's output, if initial states are computed from the vector */
  float *hidden, *cells; /* [n_layers][n, hidden_dim] */
} first_states;

static cq_lstm_state state_of(float *hidden, float *cells, int64_t layer, int64_t n, int64_t dim) {
  return (cq_lstm_state){cq_tensor_f32(hidden + layer * n * dim, n, dim),
                         cq_tensor_f32(cells + layer * n * dim, n, dim)};
}

static cq_status make_states(first_states *out, cq_worker *worker, const cq_decoder *d, cq_tensor latent,
                             cq_tensor given, cq_error *error) {
  const cq_decoder_shape *s = &d->shape;
  const int64_t n = latent.rows, width = 2 * s->n_layers * s->hidden_dim;
  const size_t n_bytes = (size_t)(s->n_layers * n * s->hidden_dim) * sizeof(float);
  *out = (first_states){0};
  out->hidden = cq_workspace_take(&worker->workspace, n_bytes);
  out->cells = cq_workspace_take(&worker->workspace, n_bytes);
  if (!out->hidden || !out->cells) return cq_fail_memory(error, "a decoder's states");
  memset(out->hidden, 0, n_bytes);
  memset(out->cells, 0, n_bytes);
  if (s->latent_as_state) {
    out->before = cq_workspace_f32(&worker->workspace, n, width);
    given = cq_workspace_f32(&worker->workspace, n, width);
    if (!out->before.data || !given.data) return cq_fail_memory(error, "a decoder's states");
    const cq_status status = cq_linear_forward(worker, &d->state, given, latent, CQ_TANH, out->before, error);
    if (status) return status;
  } else if (!s->states_from_encoder) {
    return CQ_OK;
  }
  assert(given.rows == n && given.cols == width);
  for (int64_t l = 0; l < s->n_layers; l++)
    cq_lstm_state_copy(state_of(out->hidden, out->cells, l, n, s->hidden_dim),
                       cq_lstm_state_of_layer(given, s->n_layers, l));
  return CQ_OK;
}

/* --- training --- */

/* Inputs: all tokens except each sentence's last. Targets: all except each sentence's first. */
typedef struct shifted {
  int32_t *read, *written;
  int64_t *starts;
  cq_batch batch; /* of what is read */
} shifted;

static cq_status shift_tokens(shifted *out, cq_worker *worker, const cq_decoder *d, const cq_decoder_batch *b,
                              cq_error *error) {
  const cq_batch *t = &b->tokens;
  const int64_t n = cq_batch_tokens(t) - t->n_seqs;
  const int32_t unknown = cq_tokenizer_describe(d->tokenizer)->unk_id;
  const uint32_t threshold = (uint32_t)(b->word_dropout * 4294967295.0);
  out->read = cq_workspace_take(&worker->workspace, (size_t)(n + 1) * sizeof *out->read);
  out->written = cq_workspace_take(&worker->workspace, (size_t)(n + 1) * sizeof *out->written);
  out->starts = cq_workspace_take(&worker->workspace, (size_t)(t->n_seqs + 1) * sizeof *out->starts);
  if (!out->read || !out->written || !out->starts) return cq_fail_memory(error, "a decoder's tokens");
  int64_t at = 0;
  for (int64_t s = 0; s < t->n_seqs; s++) {
    const uint64_t key = t->keys ? cq_dropout_key(t->keys[s], UINT32_MAX - 1) : 0;
    out->starts[s] = at;
    assert(cq_batch_length(t, s) >= 2);
    for (int64_t i = t->starts[s]; i + 1 < t->starts[s + 1]; i++, at++) {
      const uint32_t place = (uint32_t)(i - t->starts[s]);
      const bool dropped = t->keys && threshold && place > 0 && cq_dropout_bits(key, place) < threshold;
      out->read[at] = dropped || d->shape.words_hidden ? unknown : t->ids[i];
      out->written[at] = t->ids[i + 1];
    }
  }
  out->starts[t->n_seqs] = at;
  out->batch = (cq_batch){.ids = out->read, .starts = out->starts, .n_seqs = t->n_seqs, .keys = t->keys};
  return CQ_OK;
}

/* x [n_tokens, input] = each token's embedding, followed by its sentence's vector. */
static cq_status read_tokens(cq_tensor *x, cq_worker *worker, const cq_decoder *d, const cq_batch *batch,
                             cq_tensor latent, cq_error *error) {
  const cq_decoder_shape *s = &d->shape;
  const int64_t n = cq_batch_tokens(batch), e = s->embedding_dim, in = layer_input(s, 0);
  cq_tensor words = cq_workspace_f32(&worker->workspace, n, e);
  *x = cq_workspace_f32(&worker->workspace, n, in);
  if (!words.data || !x->data) return cq_fail_memory(error, "a decoder's input");
  worker->kernels->gather(cq_f32(words), d->params[WORDS].value, batch->ids, n, e, false);
  for (int64_t q = 0; q < batch->n_seqs; q++)
    for (int64_t i = batch->starts[q]; i < batch->starts[q + 1]; i++) {
      float *row = cq_f32(*x) + i * in;
      memcpy(row, cq_f32(words) + i * e, (size_t)e * sizeof *row);
      if (in > e) memcpy(row + e, cq_f32(latent) + q * latent.stride, (size_t)s->latent_dim * sizeof *row);
    }
  return CQ_OK;
}

/* Its gradient: for rows of the table; and, summed over each sentence's tokens, for the vectors. */
static cq_status read_backward(cq_tensor dlatent, cq_worker *worker, const cq_decoder *d, const cq_batch *batch,
                               cq_gradients *gradients, cq_tensor dx, cq_error *error) {
  const cq_decoder_shape *s = &d->shape;
  const int64_t n = cq_batch_tokens(batch), e = s->embedding_dim, in = layer_input(s, 0);
  cq_tensor dwords = cq_workspace_f32(&worker->workspace, n, e);
  if (!dwords.data) return cq_fail_memory(error, "a decoder's input");
  for (int64_t q = 0; q < batch->n_seqs; q++)
    for (int64_t i = batch->starts[q]; i < batch->starts[q + 1]; i++) {
      const float *row = cq_f32(dx) + i * in;
      memcpy(cq_f32(dwords) + i * e, row, (size_t)e * sizeof *row);
      if (in > e && dlatent.data) worker->kernels->add(cq_f32(dlatent) + q * dlatent.stride, row + e, s->latent_dim);
    }
  return cq_table_backward(worker, &d->params[WORDS], gradients, dwords, batch->ids, error);
}

/* One layer's run, kept for backward. */
typedef struct layer_run {
  cq_lstm_state first;
  cq_lstm_saved saved;
} layer_run;

static cq_status decoder_backward(cq_worker *worker, const cq_decoder *d, const cq_decoder_batch *b,
                                  const shifted *tokens, const cq_lstm_plan *plan, const first_states *first,
                                  const layer_run *runs, cq_gradients *gradients, cq_tensor dlatent, cq_tensor dgiven,
                                  cq_tensor dy, cq_error *error) {
  const cq_decoder_shape *s = &d->shape;
  const int64_t n_seqs = tokens->batch.n_seqs;
  const bool wanted = s->latent_as_state || (s->states_from_encoder && dgiven.data);
  cq_workspace *w = &worker->workspace;
  cq_lstm_state *dstates = cq_workspace_take(w, (size_t)s->n_layers * sizeof *dstates);
  if (!dstates) return cq_fail_memory(error, "a decoder's gradient");
  for (int64_t l = s->n_layers; l-- > 0;) {
    cq_dropout_apply(worker, &tokens->batch, dy, (float)s->dropout, (uint32_t)l + 1);
    cq_tensor dx = cq_workspace_f32(w, dy.rows, layer_input(s, l));
    dstates[l] =
        (cq_lstm_state){cq_workspace_f32(w, n_seqs, s->hidden_dim), cq_workspace_f32(w, n_seqs, s->hidden_dim)};
    if (!dx.data || !dstates[l].hidden.data || !dstates[l].cell.data)
      return cq_fail_memory(error, "a decoder's gradient");
    cq_status status = cq_lstm_backward(worker, &d->layers[l], plan, gradients, dx, wanted ? &dstates[l] : NULL, dy,
                                        NULL, &runs[l].saved, error);
    if (status) return status;
    dy = dx;
  }
  cq_dropout_apply(worker, &tokens->batch, dy, (float)s->dropout, 0);
  cq_status status = read_backward(dlatent, worker, d, &tokens->batch, gradients, dy, error);
  if (status || !wanted) return status;
  cq_tensor dall = cq_workspace_f32(w, n_seqs, 2 * s->n_layers * s->hidden_dim);
  if (!dall.data) return cq_fail_memory(error, "a decoder's gradient");
  for (int64_t l = 0; l < s->n_layers; l++)
    cq_lstm_state_copy(cq_lstm_state_of_layer(dall, s->n_layers, l), dstates[l]);
  if (s->states_from_encoder) {
    assert(cq_is_dense(dgiven) && dgiven.rows == n_seqs && dgiven.cols == dall.cols);
    worker->kernels->add(cq_f32(dgiven), cq_f32(dall), n_seqs * dall.cols);
    return CQ_OK;
  }
  worker->kernels->activate_backward(cq_f32(dall), cq_f32(dall), cq_f32(first->before), n_seqs * dall.cols, CQ_TANH);
  return cq_linear_backward(worker, &d->state, gradients, dlatent, true, dall, b->latent, error);
}

cq_status cq_decoder_loss(double *loss, cq_worker *worker, const cq_decoder *d, const cq_decoder_batch *b,
                          cq_gradients *gradients, cq_tensor dlatent, cq_tensor dstates, float factor,
                          cq_error *error) {
  const cq_decoder_shape *s = &d->shape;
  cq_workspace *w = &worker->workspace;
  const cq_mark mark = cq_workspace_mark(w);
  shifted tokens;
  first_states first;
  cq_lstm_plan plan;
  cq_tensor x, dy = {0};
  layer_run *runs = cq_workspace_take(w, (size_t)s->n_layers * sizeof *runs);
  cq_status status = runs ? CQ_OK : cq_fail_memory(error, "a decoder");
  if (!status) status = shift_tokens(&tokens, worker, d, b, error);
  if (!status) status = make_states(&first, worker, d, b->latent, b->states, error);
  if (!status) status = cq_lstm_plan_make(&plan, worker, &tokens.batch, 1, error);
  if (!status) status = read_tokens(&x, worker, d, &tokens.batch, b->latent, error);
  if (!status) cq_dropout_apply(worker, &tokens.batch, x, (float)s->dropout, 0);
  for (int64_t l = 0; !status && l < s->n_layers; l++) {
    cq_tensor y = cq_workspace_f32(w, x.rows, s->hidden_dim);
    runs[l].first = state_of(first.hidden, first.cells, l, b->latent.rows, s->hidden_dim);
    status = y.data ? cq_lstm_forward(worker, &d->layers[l], &plan, y, NULL, x, &runs[l].first,
                                      gradients ? &runs[l].saved : NULL, error)
                    : cq_fail_memory(error, "a decoder");
    if (!status) cq_dropout_apply(worker, &tokens.batch, y, (float)s->dropout, (uint32_t)l + 1);
    x = y;
  }
  if (!status && gradients) {
    dy = cq_workspace_f32(w, x.rows, x.cols);
    if (!dy.data) status = cq_fail_memory(error, "a decoder's gradient");
  }
  if (!status) status = cq_token_loss(worker, &d->output, gradients, dy, x, tokens.written, factor, 0, loss, error);
  if (!status && gradients)
    status = decoder_backward(worker, d, b, &tokens, &plan, &first, runs, gradients, dlatent, dstates, dy, error);
  cq_workspace_release(w, mark);
  return status;
}

/* --- writing --- */

cq_status cq_decoder_begin(cq_decoder_state *out, cq_worker *worker, const cq_decoder *d, cq_tensor latent,
                           cq_tensor states, cq_error *error) {
  const cq_mark mark = cq_workspace_mark(&worker->workspace);
  first_states first;
  cq_status status = make_states(&first, worker, d, latent, states, error);
  *out = (cq_decoder_state){latent.rows, first.hidden, first.cells};
  if (status) cq_workspace_release(&worker->workspace, mark);
  return status;
}

/* The states after one more token; *y [n, hidden_dim] is the output layer's input. */
static cq_status advance_decoder(cq_tensor *y, cq_worker *worker, const cq_decoder *d, cq_decoder_state *state,
                                 const int32_t *ids, cq_tensor latent, cq_error *error) {
  const cq_decoder_shape *s = &d->shape;
  const int64_t n = state->n;
  const int32_t unknown = cq_tokenizer_describe(d->tokenizer)->unk_id;
  int64_t *starts = cq_workspace_take(&worker->workspace, (size_t)(n + 1) * sizeof *starts);
  int32_t *read = cq_workspace_take(&worker->workspace, (size_t)(n + 1) * sizeof *read);
  if (!starts || !read) return cq_fail_memory(error, "a decoder");
  for (int64_t i = 0; i <= n; i++) starts[i] = i;
  for (int64_t i = 0; i < n; i++) read[i] = s->words_hidden ? unknown : ids[i];
  const cq_batch batch = {.ids = read, .starts = starts, .n_seqs = n};
  cq_status status = read_tokens(y, worker, d, &batch, latent, error);
  for (int64_t l = 0; !status && l < s->n_layers; l++) {
    const cq_lstm_state layer = state_of(state->hidden, state->cells, l, n, s->hidden_dim);
    status = cq_lstm_step(worker, &d->layers[l], layer.hidden, layer.cell, *y, error);
    *y = layer.hidden;
  }
  return status;
}

cq_status cq_decoder_step(cq_tensor log_p, cq_worker *worker, const cq_decoder *d, cq_decoder_state *state,
                          const int32_t *ids, cq_tensor latent, cq_error *error) {
  const cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor y;
  cq_status status = advance_decoder(&y, worker, d, state, ids, latent, error);
  if (!status) status = cq_token_log_probabilities(worker, &d->output, log_p, y, error);
  cq_workspace_release(&worker->workspace, mark);
  return status;
}

cq_status cq_decoder_step_greedy(int32_t *best, cq_worker *worker, const cq_decoder *d, cq_decoder_state *state,
                                 const int32_t *ids, cq_tensor latent, cq_error *error) {
  const cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor y;
  cq_status status = advance_decoder(&y, worker, d, state, ids, latent, error);
  if (!status) status = cq_token_best(best, worker, &d->output, &d->bounds, y, error);
  cq_workspace_release(&worker->workspace, mark);
  return status;
}
