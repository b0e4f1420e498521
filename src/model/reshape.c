/* Making an encoder of BERT's line smaller.
 *
 * Layers: those that go take their parameters along; the others are renumbered.
 *
 * Word embeddings: BERT's first layer normalizes e = word + position + type [dim] and gives gamma e' + beta, with
 * e' = sqrt(dim) c / |c| and c = e less the mean of its components. ELECTRA adds, normalizes and then projects. With
 * orthonormal columns U [dim, rank] that span most of the c, U'c has nearly the length of c, so that ELECTRA computes the
 * same from
 *
 *   word, position, type     U' (each less the mean of its components)
 *   its own gamma, beta      1, 0
 *   embeddings_project       diag(gamma) U sqrt(dim / rank) s, bias beta;  s: the mean of |U'c| / |c|
 *
 * Its norm removes the mean of the rank components, too: U is turned so that this is the least of the axes, which is
 * lost, and all components have parts of all other axes, so that they need equally many bits. Axes come from words by
 * the square root of their frequency and from positions by how often sentences are that long; leaving out the axes of
 * positions, which are none of the words' largest, destroys the model. */
#include "model/reshape.h"

#include "base/error.h"
#include "base/memory.h"
#include "format/json.h"
#include "model/bert.h"
#include "tensor/pca.h"

#include <math.h>
#include <string.h>

/* The architecture; NULL: not of BERT's line. */
static const cq_bert *bert_of(const cq_encoder *e) {
  const cq_module *m = e->modules[0];
  return cq_is_transformer(m) && !((const cq_transformer *)m)->is_stack
             ? cq_bert_find(json_string_value(json_object_get(((const cq_transformer *)m)->config, "model_type")))
             : NULL;
}

static cq_status not_reshaped(const cq_encoder *e, const char *what, cq_error *error) {
  return cq_fail(error, CQ_ERR_UNSUPPORTED, "%s: %s", e->directory, what);
}

/* --- layers --- */

cq_status cq_encoder_keep_layers(cq_encoder *e, const int *layers, size_t n, cq_error *error) {
  const cq_bert *a = bert_of(e);
  if (!a || cq_bert_is_albert(a)) return not_reshaped(e, "layers can be left out of BERT-like encoders only", error);
  cq_transformer *t = (cq_transformer *)e->modules[0];
  for (size_t i = 0; i < n; i++)
    if (layers[i] >= t->n_layers || layers[i] <= (i ? layers[i - 1] : -1))
      return cq_fail(error, CQ_ERR_ARGUMENT, "layer %d: expected rising numbers below %lld", layers[i],
                     (long long)t->n_layers);
  cq_param *params = cq_arena_array(&e->arena, t->base.n_params, sizeof *params);
  if (!params) return cq_fail_memory(error, "parameters");
  size_t n_params = 0;
  for (size_t i = 0; i < t->base.n_params; i++) {
    cq_param p = t->base.params[i];
    int layer, end = 0;
    char pattern[64];
    snprintf(pattern, sizeof pattern, "%s%%n", a->names->layer);
    bool stays = sscanf(p.name, pattern, &layer, &end) != 1 || !end;
    for (size_t k = 0; k < n && !stays; k++) {
      char prefix[64];
      if (layers[k] != layer) continue;
      snprintf(prefix, sizeof prefix, a->names->layer, (int)k);
      p.name = cq_arena_printf(&e->arena, "%s%s", prefix, p.name + end);
      if (!p.name) return cq_fail_memory(error, "parameters");
      stays = true;
    }
    if (stays) params[n_params++] = p;
  }
  cq_json_set(&t->config, a->n_layers, json_integer((json_int_t)n));
  t->base.params = params, t->base.n_params = n_params;
  return t->config ? CQ_OK : cq_fail_memory(error, "config.json");
}

/* --- factorized word embeddings --- */

#define PI 3.14159265358979323846
enum { N_SEEN_POSITIONS = 256, TYPICAL_LENGTH = 16 };
static const double WEIGHT_OF_MEAN = 10; /* the mean is in every sum: its axis stays */

typedef struct factors {
  size_t dim, rank;
  const float *words, *positions, *types, *gamma, *beta;
  size_t n_words, n_positions, n_types;
  const double *shares;
  double *weights;  /* [n_words], their sum 1 */
  double *constant; /* [dim] the type of every token */
  double *mean;     /* [dim] of all sums */
  double *moment;   /* [dim, dim] */
  double *axes;     /* [rank, dim] */
  double *x;        /* [dim] */
} factors;

/* x = row less the mean of its components, plus what is added. */
static void center_row(double *x, const float *row, const double *added, size_t dim) {
  double mean = 0;
  for (size_t d = 0; d < dim; d++) mean += row[d];
  mean /= (double)dim;
  for (size_t d = 0; d < dim; d++) x[d] = row[d] - mean + (added ? added[d] : 0);
}

static void add_moment(factors *f, const double *x, double weight) {
  for (size_t r = 0; r < f->dim; r++) {
    const double wr = weight * x[r];
    double *row = f->moment + r * f->dim;
    for (size_t d = r; d < f->dim; d++) row[d] += wr * x[d];
  }
}

/* The second moment of rows about their own mean, which is added to f->mean. */
static void add_rows(factors *f, const float *rows, size_t n, const double *weights) {
  double *own = f->x, *x = f->x + f->dim;
  memset(own, 0, f->dim * sizeof *own);
  for (size_t i = 0; i < n; i++) {
    center_row(x, rows + i * f->dim, NULL, f->dim);
    for (size_t d = 0; d < f->dim; d++) own[d] += weights[i] * x[d];
  }
  for (size_t i = 0; i < n; i++) {
    center_row(x, rows + i * f->dim, NULL, f->dim);
    for (size_t d = 0; d < f->dim; d++) x[d] -= own[d];
    add_moment(f, x, weights[i]);
  }
  for (size_t d = 0; d < f->dim; d++) f->mean[d] += own[d];
}

static void weigh_words(factors *f) {
  double all = 0, sum = 0;
  for (size_t i = 0; i < f->n_words; i++) {
    f->weights[i] = f->shares ? f->shares[i] : 0;
    sum += f->weights[i];
  }
  for (size_t i = 0; i < f->n_words; i++)
    all += f->weights[i] = sqrt((sum > 0 ? f->weights[i] / sum : 0) + 0.1 / (double)f->n_words);
  for (size_t i = 0; i < f->n_words; i++) f->weights[i] /= all;
}

static cq_status find_axes(factors *f, cq_context *ctx, cq_error *error) {
  double seen[N_SEEN_POSITIONS], all = 0;
  const size_t n_seen = f->n_positions < N_SEEN_POSITIONS ? f->n_positions : N_SEEN_POSITIONS;
  for (size_t i = 0; i < n_seen; i++) all += seen[i] = 1 / (1 + (double)i / TYPICAL_LENGTH);
  for (size_t i = 0; i < n_seen; i++) seen[i] /= all;
  weigh_words(f);
  if (f->types) center_row(f->constant, f->types, NULL, f->dim);
  memcpy(f->mean, f->constant, f->dim * sizeof *f->mean);
  add_rows(f, f->words, f->n_words, f->weights);
  add_rows(f, f->positions, n_seen, seen);
  add_moment(f, f->mean, WEIGHT_OF_MEAN);
  for (size_t r = 0; r < f->dim; r++)
    for (size_t d = 0; d < r; d++) f->moment[r * f->dim + d] = f->moment[d * f->dim + r];
  return cq_symmetric_axes(f->axes, f->moment, f->dim, f->rank, ctx, error);
}

/* Turns the axes by a cosine transform (DCT-II), whose constant is the last one. */
static void spread_axes(factors *f) {
  const size_t k = f->rank, dim = f->dim;
  double *axes = f->moment; /* no longer needed */
  memcpy(axes, f->axes, k * dim * sizeof *axes);
  for (size_t i = 0; i < k; i++) {
    double *out = f->axes + i * dim;
    for (size_t d = 0; d < dim; d++) out[d] = axes[(k - 1) * dim + d] / sqrt((double)k);
    for (size_t n = 1; n < k; n++) {
      const double wave = sqrt(2 / (double)k) * cos(PI * ((double)i + 0.5) * (double)n / (double)k);
      for (size_t d = 0; d < dim; d++) out[d] += wave * axes[(n - 1) * dim + d];
    }
  }
}

static double project_row(double *z, const factors *f, const double *x) {
  double squares = 0;
  for (size_t i = 0; i < f->rank; i++) {
    z[i] = 0;
    for (size_t d = 0; d < f->dim; d++) z[i] += f->axes[i * f->dim + d] * x[d];
    squares += z[i] * z[i];
  }
  return sqrt(squares);
}

static float *project_rows(const factors *f, const float *rows, size_t n, cq_arena *arena) {
  float *out = cq_arena_array(arena, n, f->rank * sizeof *out);
  double *x = f->x, *z = f->x + f->dim;
  for (size_t i = 0; out && i < n; i++) {
    center_row(x, rows + i * f->dim, NULL, f->dim);
    project_row(z, f, x);
    for (size_t k = 0; k < f->rank; k++) out[i * f->rank + k] = (float)z[k];
  }
  return out;
}

/* The mean of |U'c| / |c| over words at a position near the start. */
static double kept_length(const factors *f) {
  const size_t at = f->n_positions > 5 ? 5 : 0;
  double *x = f->x, *z = f->x + f->dim, *added = f->x + 2 * f->dim, kept = 0;
  center_row(added, f->positions + at * f->dim, f->constant, f->dim);
  for (size_t i = 0; i < f->n_words; i++) {
    double squares = 0;
    center_row(x, f->words + i * f->dim, added, f->dim);
    for (size_t d = 0; d < f->dim; d++) squares += x[d] * x[d];
    if (squares > 0) kept += f->weights[i] * project_row(z, f, x) / sqrt(squares);
  }
  return kept;
}

static float *projection(const factors *f, cq_arena *arena) {
  const double scale = sqrt((double)f->dim / (double)f->rank) * kept_length(f);
  float *out = cq_arena_array(arena, f->dim, f->rank * sizeof *out);
  for (size_t d = 0; out && d < f->dim; d++)
    for (size_t k = 0; k < f->rank; k++) out[d * f->rank + k] = (float)(f->gamma[d] * scale * f->axes[k * f->dim + d]);
  return out;
}

/* A parameter with other values; rows 0: a vector. */
static cq_param with_values(cq_param p, const char *name, float *value, size_t rows, size_t cols) {
  p.name = name, p.value = value, p.narrow = (cq_narrow_rows){0};
  p.n_dims = rows ? 2 : 1, p.rows = rows ? (int64_t)rows : 1, p.cols = (int64_t)cols;
  return p;
}

/* The parameters of an ELECTRA: the factors, then all that stood after the embeddings. */
static cq_status put_factors(cq_encoder *e, const factors *f, cq_error *error) {
  cq_transformer *t = (cq_transformer *)e->modules[0];
  const cq_embedding *l = &t->embedding;
  const size_t n_old = 4 + (l->types != NULL), r = f->rank;
  cq_param *params = cq_arena_array(&e->arena, t->base.n_params + 2, sizeof *params), *p = params;
  float *words = project_rows(f, f->words, f->n_words, &e->arena),
        *positions = project_rows(f, f->positions, f->n_positions, &e->arena),
        *types = l->types ? project_rows(f, f->types, f->n_types, &e->arena) : NULL,
        *ones = cq_arena_array(&e->arena, 2 * r, sizeof *ones), *project = projection(f, &e->arena),
        *bias = cq_arena_array(&e->arena, f->dim, sizeof *bias);
  if (!params || !words || !positions || (l->types && !types) || !ones || !project || !bias)
    return cq_fail_memory(error, "word embeddings");
  for (size_t i = 0; i < 2 * r; i++) ones[i] = i < r;
  memcpy(bias, f->beta, f->dim * sizeof *bias);
  *p++ = with_values(*l->words, l->words->name, words, f->n_words, r);
  *p++ = with_values(*l->positions, l->positions->name, positions, f->n_positions, r);
  if (types) *p++ = with_values(*l->types, l->types->name, types, f->n_types, r);
  *p++ = with_values(*l->norm.gamma, l->norm.gamma->name, ones, 0, r);
  *p++ = with_values(*l->norm.beta, l->norm.beta->name, ones + r, 0, r);
  cq_param matrix = t->layers[0].up.weight[0];
  *p++ = with_values(matrix, "embeddings_project.weight", project, f->dim, r);
  *p++ = with_values(*l->norm.beta, "embeddings_project.bias", bias, 0, f->dim);
  memcpy(p, t->base.params + n_old, (t->base.n_params - n_old) * sizeof *p);
  t->base.params = params, t->base.n_params += 2;
  cq_json_set(&t->config, "model_type", json_string("electra"));
  cq_json_set(&t->config, "architectures", json_pack("[s]", "ElectraModel"));
  cq_json_set(&t->config, "embedding_size", json_integer((json_int_t)r));
  cq_json_set(&t->config, "max_position_embeddings", json_integer((json_int_t)f->n_positions));
  return t->config ? CQ_OK : cq_fail_memory(error, "config.json");
}

cq_status cq_encoder_factorize(cq_encoder *e, int rank, const double *shares, cq_context *ctx, cq_error *error) {
  const cq_bert *a = bert_of(e);
  if (!a || !cq_bert_is_plain(a)) return not_reshaped(e, "only BERT, RoBERTa and XLM-R can be factorized", error);
  cq_transformer *t = (cq_transformer *)e->modules[0];
  const cq_embedding *l = &t->embedding;
  if (rank < 2 || rank >= t->dim)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%d dimensions of word embeddings, expected 2 to %lld", rank,
                   (long long)t->dim - 1);
  float *made[3] = {0};
  const size_t first = (size_t)l->first_position, dim = (size_t)t->dim;
  const float *positions = cq_param_f32(&made[1], l->positions);
  factors f = {.dim = dim,
               .rank = (size_t)rank,
               .words = cq_param_f32(&made[0], l->words),
               .positions = positions ? positions + first * dim : NULL,
               .types = l->types ? cq_param_f32(&made[2], l->types) : NULL,
               .gamma = l->norm.gamma->value,
               .beta = l->norm.beta->value,
               .n_words = (size_t)l->words->rows,
               .n_positions = (size_t)l->positions->rows - first,
               .n_types = l->types ? (size_t)l->types->rows : 0,
               .shares = shares};
  f.weights = cq_alloc_array(f.n_words, sizeof *f.weights);
  f.constant = cq_alloc_array_zeroed(5 * dim, sizeof *f.constant);
  f.moment = cq_alloc_array_zeroed(dim * dim, sizeof *f.moment);
  f.axes = cq_alloc_array(f.rank * dim, sizeof *f.axes);
  const bool room = f.words && f.positions && f.weights && f.constant && f.moment && f.axes;
  if (room) f.mean = f.constant + dim, f.x = f.constant + 2 * dim;
  cq_status status = room ? find_axes(&f, ctx, error) : cq_fail_memory(error, "word embeddings");
  if (!status) {
    spread_axes(&f);
    status = put_factors(e, &f, error);
  }
  for (size_t i = 0; i < 3; i++) cq_free(made[i]);
  cq_free(f.weights);
  cq_free(f.constant);
  cq_free(f.moment);
  cq_free(f.axes);
  return status;
}
