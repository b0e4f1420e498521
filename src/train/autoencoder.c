#include "train/autoencoder.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "model/states.h"
#include "train/optimizer_state.h"

#include <math.h>
#include <string.h>

enum { MOST_SIDES = 64 };

/* A shard of one half of the batch: a run of its sentences. Its activations stay from the encoders' forward to their
 * backward, so it has a lane of its own. */
typedef struct shard {
  int half;
  size_t first, n; /* sentences */
  cq_lane lane;
  cq_batch batch;
  int64_t *starts;
  cq_tape tape;
  double loss; /* of the decoder, summed over tokens */
  cq_status status;
  cq_error error;
} shard;

/* One language's part of a batch; without sentences when the batch is of one language. */
typedef struct half {
  cq_ids ids;
  int64_t *starts; /* [n + 1] */
  uint64_t *keys;  /* [n] */
  float *vectors;  /* [n, dim] */
  float *gradient; /* [n, dim] of the vectors */
  size_t capacity;
  float *states; /* [n, states_width], and behind it its gradient */
} half;

struct cq_autoencoder_trainer {
  cq_autoencoder_side *sides;
  int n_sides;
  cq_autoencoder_options o;
  cq_pool *pool;
  const cq_kernels *kernels;
  cq_params *params; /* of all that is not frozen */
  cq_optimizer optimizer;
  shard *shards;           /* [2 n_shards] */
  cq_gradients *gradients; /* [n_shards]: of the k-th shards of both languages, which share no parameter */
  half halves[2];
  cq_autoencoder_batch batch; /* at hand */
  int64_t dim;
  int64_t states_width; /* of what any encoder hands over of a sentence; 0: no decoder is trained on it */
  uint64_t n_batches;
};

/* --- making --- */

static bool trains_encoder(const cq_autoencoder_side *side) {
  return !side->encoder_frozen;
}

static bool trains_decoder(const cq_autoencoder_trainer *t, const cq_autoencoder_side *side) {
  return side->decoder && !side->decoder_frozen && t->o.reconstruction > 0;
}

/* Whose sentences a half of the batch holds. */
static const cq_autoencoder_side *side_of(const cq_autoencoder_trainer *t, int which) {
  return &t->sides[t->batch.side[which]];
}

static int n_halves(const cq_autoencoder_trainer *t) {
  return t->batch.side[1] < 0 ? 1 : 2;
}

/* A decoder is given its encoder's ids. */
static bool share_vocabulary(const cq_autoencoder_side *side) {
  const cq_tokenizer *read = cq_encoder_text_module(side->encoder)->tokenizer;
  const cq_tokenizer *written = cq_decoder_tokenizer(side->decoder);
  if (!read || side->encoder->max_seq_length == 1) return false;
  const cq_tokenizer_info *a = cq_tokenizer_describe(read), *b = cq_tokenizer_describe(written);
  return a->vocab_size == b->vocab_size && a->cls_id == b->cls_id && a->sep_id == b->sep_id;
}

static cq_status check(const cq_autoencoder_trainer *t, cq_error *error) {
  const cq_autoencoder_options *o = &t->o;
  if (o->n_shards < 1 || o->n_shards > 64) return cq_fail(error, CQ_ERR_ARGUMENT, "%d shards", o->n_shards);
  if (!(o->reconstruction >= 0 && o->contrast >= 0 && o->distance >= 0) ||
      !(o->reconstruction + o->contrast + o->distance > 0))
    return cq_fail(error, CQ_ERR_ARGUMENT, "losses weighted %g, %g and %g: expected none below 0 and one above",
                   o->reconstruction, o->contrast, o->distance);
  if (!(o->temperature > 0) || !(o->margin >= 0) || !(o->noise >= 0) || !(o->word_dropout >= 0 && o->word_dropout < 1))
    return cq_fail(error, CQ_ERR_ARGUMENT, "temperature %g, margin %g, noise %g, word dropout %g", o->temperature,
                   o->margin, o->noise, o->word_dropout);
  bool any = false;
  for (const cq_autoencoder_side *s = t->sides; s < t->sides + t->n_sides; s++) {
    any |= trains_encoder(s) || trains_decoder(t, s);
    if (cq_encoder_dim(s->encoder) != t->dim)
      return cq_fail(error, CQ_ERR_ARGUMENT, "sentence vectors of %lld and of %lld dimensions", (long long)t->dim,
                     (long long)cq_encoder_dim(s->encoder));
    if (s->decoder && cq_decoder_shape_of(s->decoder)->latent_dim != t->dim)
      return cq_fail(error, CQ_ERR_ARGUMENT, "a decoder of vectors of %lld dimensions, the encoders give %lld",
                     (long long)cq_decoder_shape_of(s->decoder)->latent_dim, (long long)t->dim);
    if (s->decoder && !share_vocabulary(s))
      return cq_fail(error, CQ_ERR_ARGUMENT, "a decoder writes other tokens than its encoder reads");
    /* Whichever languages a decoder learns from, it is to translate from all. */
    for (int from = 0; s->decoder && from < t->n_sides; from++) {
      const cq_status status = cq_states_check(s->decoder, t->sides[from].encoder, error);
      if (status) return status;
    }
  }
  return any ? CQ_OK : cq_fail(error, CQ_ERR_ARGUMENT, "everything is frozen: there is nothing to train");
}

static cq_status gather_params(cq_autoencoder_trainer *t, cq_error *error) {
  cq_status status = CQ_OK;
  for (const cq_autoencoder_side *s = t->sides; s < t->sides + t->n_sides; s++) {
    const cq_params *of_encoder = &s->encoder->params;
    for (size_t i = 0; !status && trains_encoder(s) && i < of_encoder->n; i++)
      status = cq_params_add(t->params, of_encoder->items[i], error);
    size_t n = 0;
    cq_param *of_decoder = trains_decoder(t, s) ? cq_decoder_params(&n, s->decoder) : NULL;
    for (size_t i = 0; !status && i < n; i++) status = cq_params_add(t->params, &of_decoder[i], error);
  }
  if (status) return status;
  cq_params_index(t->params);
  return cq_params_own(t->params, error);
}

typedef struct packing {
  cq_autoencoder_trainer *t;
  bool all, training; /* all: frozen decoders too */
  cq_status status[MOST_SIDES];
  cq_error errors[MOST_SIDES];
} packing;

static void pack_decoder(void *context, size_t i, int worker) {
  (void)worker;
  packing *p = context;
  const cq_autoencoder_side *side = &p->t->sides[i];
  if (side->decoder && (p->all || trains_decoder(p->t, side)))
    p->status[i] = cq_decoder_pack(side->decoder, p->training, &p->errors[i]);
}

static cq_status pack_decoders(cq_autoencoder_trainer *t, bool all, bool training, cq_error *error) {
  packing p = {.t = t, .all = all, .training = training};
  cq_pool_run(t->pool, (size_t)t->n_sides, pack_decoder, &p);
  for (int s = 0; s < t->n_sides; s++) {
    if (!p.status[s]) continue;
    if (error) *error = p.errors[s];
    return p.status[s];
  }
  return CQ_OK;
}

static cq_status pack(cq_autoencoder_trainer *t, bool all, cq_error *error) {
  cq_status status = CQ_OK;
  for (const cq_autoencoder_side *s = t->sides; !status && s < t->sides + t->n_sides; s++)
    if (trains_encoder(s)) status = cq_encoder_pack(s->encoder, t->pool, true, error);
  return status ? status : pack_decoders(t, all, true, error);
}

cq_status cq_autoencoder_trainer_new(cq_autoencoder_trainer **out, cq_params *params, const cq_autoencoder_side *sides,
                                     int n_sides, cq_pool *pool, const cq_autoencoder_options *options,
                                     cq_error *error) {
  *out = NULL;
  if (n_sides < 1 || n_sides > MOST_SIDES)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%d languages, expected 1 to %d", n_sides, MOST_SIDES);
  cq_autoencoder_trainer *t = cq_alloc_zeroed(sizeof *t);
  if (!t) return cq_fail_memory(error, "trainer");
  t->sides = cq_alloc_array((size_t)n_sides, sizeof *t->sides);
  if (!t->sides) {
    cq_free(t);
    return cq_fail_memory(error, "trainer");
  }
  memcpy(t->sides, sides, (size_t)n_sides * sizeof *sides);
  t->n_sides = n_sides;
  t->o = *options;
  t->params = params;
  t->pool = pool;
  t->kernels = sides[0].encoder->kernels;
  t->dim = cq_encoder_dim(sides[0].encoder);
  cq_status status = check(t, error);
  for (const cq_autoencoder_side *s = t->sides; !status && s < t->sides + n_sides; s++)
    if (trains_decoder(t, s) && cq_decoder_states_width(s->decoder) > 0)
      t->states_width = cq_decoder_states_width(s->decoder);
  const size_t n_shards = 2 * (size_t)options->n_shards;
  if (!status) {
    t->shards = cq_alloc_array_zeroed(n_shards, sizeof *t->shards);
    t->gradients = cq_alloc_array_zeroed((size_t)options->n_shards, sizeof *t->gradients);
    if (!t->shards || !t->gradients) status = cq_fail_memory(error, "trainer");
  }
  if (!status) status = gather_params(t, error);
  if (!status) status = pack(t, true, error);
  for (size_t i = 0; !status && i < n_shards; i++) {
    t->shards[i].lane.kernels = t->kernels;
    t->shards[i].half = (int)(i / (size_t)options->n_shards);
  }
  for (int i = 0; !status && i < options->n_shards; i++) status = cq_gradients_new(&t->gradients[i], t->params, error);
  if (!status) status = cq_optimizer_new(&t->optimizer, t->params, t->kernels, &options->optimizer, error);
  if (status)
    cq_autoencoder_trainer_free(t);
  else
    *out = t;
  return status;
}

void cq_autoencoder_trainer_free(cq_autoencoder_trainer *t) {
  if (!t) return;
  if (t->optimizer.params) cq_optimizer_free(&t->optimizer);
  for (int i = 0; t->gradients && i < t->o.n_shards; i++) cq_gradients_free(&t->gradients[i]);
  for (int i = 0; t->shards && i < 2 * t->o.n_shards; i++) cq_workspace_free(&t->shards[i].lane.workspace);
  for (int s = 0; s < 2; s++) {
    cq_free(t->halves[s].ids.ids);
    cq_free(t->halves[s].starts);
    cq_free(t->halves[s].keys);
    cq_free(t->halves[s].vectors);
    cq_free(t->halves[s].gradient);
    cq_free(t->halves[s].states);
  }
  cq_free(t->shards);
  cq_free(t->gradients);
  cq_free(t->sides);
  cq_free(t);
}

uint64_t cq_autoencoder_updates(const cq_autoencoder_trainer *t) {
  return t->optimizer.step;
}

/* --- laying out a batch --- */

static cq_status make_room(half *h, size_t n, int64_t dim, int64_t states_width, cq_error *error) {
  if (n <= h->capacity) return CQ_OK;
  cq_free(h->starts);
  cq_free(h->keys);
  cq_free(h->vectors);
  cq_free(h->gradient);
  cq_free(h->states);
  h->starts = cq_alloc_array(n + 1, sizeof *h->starts);
  h->keys = cq_alloc_array(n, sizeof *h->keys);
  h->vectors = cq_alloc_array(n, (size_t)dim * sizeof *h->vectors);
  h->gradient = cq_alloc_array(n, (size_t)dim * sizeof *h->gradient);
  h->states = cq_alloc_array(2 * n, (size_t)states_width * sizeof *h->states);
  h->capacity = h->starts && h->keys && h->vectors && h->gradient && h->states ? n : 0;
  return h->capacity ? CQ_OK : cq_fail_memory(error, "batch");
}

static cq_status tokenize(cq_autoencoder_trainer *t, int which, cq_autoencoder_report *report, cq_error *error) {
  half *h = &t->halves[which];
  h->ids.n = 0;
  h->starts[0] = 0;
  for (size_t i = 0; which < n_halves(t) && i < t->batch.n; i++) {
    bool truncated;
    cq_status status =
        cq_encoder_tokenize(&h->ids, side_of(t, which)->encoder, t->batch.sentences[which][i], &truncated, error);
    if (status) return status;
    h->starts[i + 1] = (int64_t)h->ids.n;
    h->keys[i] = cq_mix(cq_mix(t->o.seed + 1) ^ cq_mix(2 * t->n_batches + (uint64_t)which + 1)) + i;
  }
  report->n_tokens += h->ids.n;
  return CQ_OK;
}

/* What the encoder of half `which` hands over of a shard's sentences, or its gradient; data NULL: nothing. */
static cq_tensor states_of(const cq_autoencoder_trainer *t, int which, const shard *s, bool gradient) {
  const size_t row = (gradient ? t->batch.n : 0) + s->first;
  if (t->states_width == 0) return (cq_tensor){0};
  return cq_tensor_f32(t->halves[which].states + row * (size_t)t->states_width, (int64_t)s->n, t->states_width);
}

/* Each language's sentences in ranges of about as many tokens. */
static cq_status cut(cq_autoencoder_trainer *t, cq_error *error) {
  for (int which = 0; which < 2; which++) {
    const half *h = &t->halves[which];
    const size_t n = which < n_halves(t) ? t->batch.n : 0, n_states = t->batch.n * (size_t)t->states_width;
    size_t at = 0;
    memset(h->states + n_states, 0, n_states * sizeof *h->states);
    for (int k = 0; k < t->o.n_shards; k++) {
      shard *s = &t->shards[which * t->o.n_shards + k];
      s->first = at;
      while (at < n && (k + 1 == t->o.n_shards || h->starts[at] < (int64_t)h->ids.n * (k + 1) / t->o.n_shards)) at++;
      s->n = at - s->first;
      s->loss = 0, s->status = CQ_OK;
      cq_workspace_release(&s->lane.workspace, (cq_mark){0, 0});
      s->starts = cq_workspace_take(&s->lane.workspace, (s->n + 1) * sizeof *s->starts);
      if (!s->starts) return cq_fail_memory(error, "batch");
      for (size_t i = 0; i <= s->n; i++) s->starts[i] = h->starts[s->first + i] - h->starts[s->first];
      s->batch = (cq_batch){.ids = h->ids.ids + h->starts[s->first],
                            .starts = s->starts,
                            .n_seqs = (int64_t)s->n,
                            .keys = h->keys + s->first,
                            .final = states_of(t, which, s, false),
                            .dfinal = states_of(t, which, s, true)};
    }
  }
  return CQ_OK;
}

/* --- the three passes --- */

static cq_feed feed_of(const cq_autoencoder_trainer *t) {
  return n_halves(t) == 1 ? CQ_FEED_OWN : t->o.feed;
}

static cq_gradients *gradients_of(cq_autoencoder_trainer *t, size_t i) {
  return &t->gradients[i % (size_t)t->o.n_shards];
}

static void encode_shard(void *context, size_t i, int worker) {
  (void)worker;
  cq_autoencoder_trainer *t = context;
  shard *s = &t->shards[i];
  cq_batch batch = s->batch;
  cq_tensor y;
  if (s->n == 0) return;
  const bool train = trains_encoder(side_of(t, s->half));
  if (!train) batch.keys = NULL; /* a frozen encoder has no dropout */
  s->status =
      cq_encoder_forward(&s->lane, side_of(t, s->half)->encoder, &batch, &y, train ? &s->tape : NULL, &s->error);
  for (size_t r = 0; !s->status && r < s->n; r++)
    memcpy(t->halves[s->half].vectors + (s->first + r) * (size_t)t->dim, cq_f32(y) + (int64_t)r * y.stride,
           (size_t)t->dim * sizeof(float));
}

/* A shard's sentences written from the vectors of half `from`, whose gradients are added to it. */
static cq_status write_from(cq_autoencoder_trainer *t, shard *s, cq_gradients *gradients, int from, float factor) {
  const int64_t dim = t->dim, n = (int64_t)s->n;
  cq_workspace *w = &s->lane.workspace;
  const cq_mark mark = cq_workspace_mark(w);
  cq_tensor latent = cq_workspace_f32(w, n, dim), dlatent = {0}, dstates = {0};
  if (!latent.data) return cq_fail_memory(&s->error, "sentence vectors");
  memcpy(latent.data, t->halves[from].vectors + s->first * (size_t)dim, (size_t)(n * dim) * sizeof(float));
  for (int64_t i = 0; t->o.noise > 0 && i < n; i++) {
    cq_random random = cq_random_seeded(s->batch.keys[i], 7 + (uint64_t)from);
    const double deviation = t->o.noise / sqrt((double)dim);
    for (int64_t j = 0; j < dim; j++) cq_f32(latent)[i * dim + j] += (float)(deviation * cq_random_normal(&random));
  }
  if (trains_encoder(side_of(t, from))) {
    dlatent = cq_workspace_f32(w, n, dim);
    if (!dlatent.data) return cq_fail_memory(&s->error, "sentence vectors");
    memset(dlatent.data, 0, (size_t)(n * dim) * sizeof(float));
    dstates = states_of(t, from, s, true);
  }
  const cq_decoder_batch batch = {
      .tokens = s->batch, .latent = latent, .states = states_of(t, from, s, false), .word_dropout = t->o.word_dropout};
  cq_status status = cq_decoder_loss(&s->loss, &s->lane, side_of(t, s->half)->decoder, &batch, gradients, dlatent,
                                     dstates, factor, &s->error);
  float *into = t->halves[from].gradient + s->first * (size_t)dim;
  if (!status && dlatent.data) t->kernels->add(into, cq_f32(dlatent), n * dim);
  cq_workspace_release(w, mark);
  return status;
}

typedef struct decoding {
  cq_autoencoder_trainer *t;
  bool from_other;
} decoding;

static void decode_shard(void *context, size_t i, int worker) {
  (void)worker;
  const decoding *d = context;
  cq_autoencoder_trainer *t = d->t;
  shard *s = &t->shards[i];
  if (s->n == 0 || s->status || !trains_decoder(t, side_of(t, s->half))) return;
  const int64_t n_written = (int64_t)t->halves[s->half].ids.n - (int64_t)t->batch.n;
  const double share = feed_of(t) == CQ_FEED_BOTH ? 0.5 : 1;
  const float factor = (float)(t->o.reconstruction * share / (double)n_written);
  s->status = write_from(t, s, gradients_of(t, i), d->from_other ? 1 - s->half : s->half, factor);
}

static void backward_shard(void *context, size_t i, int worker) {
  (void)worker;
  cq_autoencoder_trainer *t = context;
  shard *s = &t->shards[i];
  if (s->n == 0 || s->status || !trains_encoder(side_of(t, s->half))) return;
  cq_tensor dy = cq_tensor_f32(t->halves[s->half].gradient + s->first * (size_t)t->dim, (int64_t)s->n, t->dim);
  s->status = cq_encoder_backward(&s->lane, side_of(t, s->half)->encoder, &s->batch, dy, &s->tape, gradients_of(t, i),
                                  &s->error);
}

/* --- losses between the languages: value, and gradients added to both halves --- */

static double distance(cq_autoencoder_trainer *t) {
  const int64_t n = (int64_t)t->batch.n * t->dim;
  const float *a = t->halves[0].vectors, *b = t->halves[1].vectors;
  const double factor = 2 * t->o.distance / (double)t->batch.n;
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    const double difference = (double)a[i] - (double)b[i];
    sum += difference * difference;
    t->halves[0].gradient[i] += (float)(factor * difference);
    t->halves[1].gradient[i] -= (float)(factor * difference);
  }
  return sum / (double)t->batch.n;
}

/* Adds `weight` times the gradient of |a - b|^2 / 2. */
static void pull(float *da, float *db, const float *a, const float *b, int64_t dim, double weight) {
  for (int64_t j = 0; j < dim; j++) {
    const float step = (float)(weight * ((double)a[j] - (double)b[j]));
    da[j] += step;
    db[j] -= step;
  }
}

static double pairs_contrast(cq_autoencoder_trainer *t) {
  const half *a = &t->halves[0], *b = &t->halves[1];
  const int64_t dim = t->dim;
  const double scale = t->o.contrast / (double)t->batch.n;
  double sum = 0;
  for (size_t i = 0; i < t->batch.n; i++) {
    const size_t other = (i + 1) % t->batch.n; /* batches are in random order */
    for (int negative = 0; negative < (t->batch.n > 1 ? 2 : 1); negative++) {
      const size_t at = negative ? other : i;
      const float *x = a->vectors + (int64_t)i * dim, *y = b->vectors + (int64_t)at * dim;
      double squares = 0;
      for (int64_t j = 0; j < dim; j++) squares += ((double)x[j] - (double)y[j]) * ((double)x[j] - (double)y[j]);
      const double d = sqrt(squares), lack = t->o.margin - d;
      if (negative && lack <= 0) continue;
      sum += negative ? lack * lack : squares;
      const double weight = negative ? (d > 1e-12 ? -2 * lack / d : 0) : 2;
      pull(a->gradient + (int64_t)i * dim, b->gradient + (int64_t)at * dim, x, y, dim, scale * weight);
    }
  }
  return sum / (double)t->batch.n;
}

/* log p, and p - [i = own] in place, of one row of similarities. */
static double softmax_row(double *row, size_t n, size_t stride, size_t own) {
  double most = -INFINITY, sum = 0;
  for (size_t j = 0; j < n; j++) most = fmax(most, row[j * stride]);
  for (size_t j = 0; j < n; j++) sum += exp(row[j * stride] - most);
  const double log_p = row[own * stride] - most - log(sum);
  for (size_t j = 0; j < n; j++) row[j * stride] = exp(row[j * stride] - most) / sum - (j == own);
  return log_p;
}

/* The gradient of a vector's length-one version, brought back to the vector and added. */
static void add_unit_gradient(float *into, const double *dunit, const float *unit, double length, int64_t dim) {
  double along = 0;
  for (int64_t j = 0; j < dim; j++) along += dunit[j] * (double)unit[j];
  for (int64_t j = 0; j < dim; j++) into[j] += (float)((dunit[j] - along * (double)unit[j]) / length);
}

static cq_status batch_contrast(double *loss, cq_autoencoder_trainer *t, cq_error *error) {
  const size_t n = t->batch.n;
  const int64_t dim = t->dim;
  cq_workspace *w = &t->shards[0].lane.workspace;
  const cq_mark mark = cq_workspace_mark(w);
  float *units[2], *lengths[2];
  double *rows = cq_workspace_take(w, n * n * sizeof *rows), *columns = cq_workspace_take(w, n * n * sizeof *columns),
         *d = cq_workspace_take(w, (size_t)dim * sizeof *d);
  bool ok = rows && columns && d;
  for (int s = 0; ok && s < 2; s++) {
    units[s] = cq_workspace_take(w, n * (size_t)dim * sizeof(float));
    lengths[s] = cq_workspace_take(w, n * sizeof(float));
    ok = units[s] && lengths[s];
    if (ok) t->kernels->normalize(units[s], lengths[s], t->halves[s].vectors, (int64_t)n, dim);
  }
  if (!ok) return cq_fail_memory(error, "similarities of a batch");
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      rows[i * n + j] = columns[i * n + j] =
          (double)t->kernels->dot(units[0] + (int64_t)i * dim, units[1] + (int64_t)j * dim, dim) / t->o.temperature;
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum -= softmax_row(rows + i * n, n, 1, i) + softmax_row(columns + i, n, n, i);
  const double scale = t->o.contrast / (2 * (double)n * t->o.temperature);
  for (int s = 0; s < 2; s++)
    for (size_t i = 0; i < n; i++) {
      memset(d, 0, (size_t)dim * sizeof *d);
      for (size_t j = 0; j < n; j++) {
        const size_t at = s == 0 ? i * n + j : j * n + i;
        const double weight = scale * (rows[at] + columns[at]);
        const float *other = units[1 - s] + (int64_t)j * dim;
        for (int64_t k = 0; k < dim; k++) d[k] += weight * (double)other[k];
      }
      add_unit_gradient(t->halves[s].gradient + (int64_t)i * dim, d, units[s] + (int64_t)i * dim, (double)lengths[s][i],
                        dim);
    }
  cq_workspace_release(w, mark);
  *loss = sum / (2 * (double)n);
  return CQ_OK;
}

static cq_status align(cq_autoencoder_trainer *t, cq_autoencoder_report *report, cq_error *error) {
  for (int s = 0; s < n_halves(t); s++) memset(t->halves[s].gradient, 0, t->batch.n * (size_t)t->dim * sizeof(float));
  if (n_halves(t) == 1 || (!trains_encoder(side_of(t, 0)) && !trains_encoder(side_of(t, 1)))) return CQ_OK;
  if (t->o.distance > 0) report->distance = distance(t);
  if (t->o.contrast > 0 && t->o.contrast_by == CQ_CONTRAST_PAIRS) report->contrast = pairs_contrast(t);
  if (t->o.contrast > 0 && t->o.contrast_by == CQ_CONTRAST_IN_BATCH) return batch_contrast(&report->contrast, t, error);
  return CQ_OK;
}

/* --- a step --- */

static cq_status catch_up(cq_autoencoder_trainer *t, cq_error *error) {
  cq_status status = CQ_OK;
  for (int which = 0; which < n_halves(t); which++) {
    const half *h = &t->halves[which];
    const cq_autoencoder_side *s = side_of(t, which);
    const cq_params *of_encoder = &s->encoder->params;
    for (size_t i = 0; !status && trains_encoder(s) && i < of_encoder->n; i++)
      if (of_encoder->items[i]->table)
        status =
            cq_optimizer_catch_up(&t->optimizer, of_encoder->items[i], h->ids.ids, (int64_t)h->ids.n, t->pool, error);
    if (status || !trains_decoder(t, s)) continue;
    size_t n;
    const cq_param *table = cq_decoder_params(&n, s->decoder);
    const int32_t unknown = cq_tokenizer_describe(cq_decoder_tokenizer(s->decoder))->unk_id;
    status = cq_optimizer_catch_up(&t->optimizer, table, h->ids.ids, (int64_t)h->ids.n, t->pool, error);
    if (!status) status = cq_optimizer_catch_up(&t->optimizer, table, &unknown, 1, t->pool, error);
  }
  return status;
}

static cq_status first_failure(const cq_autoencoder_trainer *t, cq_error *error) {
  for (int i = 0; i < 2 * t->o.n_shards; i++)
    if (t->shards[i].status) {
      if (error) *error = t->shards[i].error;
      return t->shards[i].status;
    }
  return CQ_OK;
}

static cq_status compute(cq_autoencoder_trainer *t, cq_autoencoder_report *report, cq_error *error) {
  const size_t n_shards = 2 * (size_t)t->o.n_shards;
  decoding own = {t, false}, other = {t, true};
  cq_pool_run(t->pool, n_shards, encode_shard, t);
  cq_status status = first_failure(t, error);
  if (!status) status = align(t, report, error);
  if (status) return status;
  /* Decoders of one kind at a time, so that each half's gradients are added to by one shard at a time. */
  if (t->o.reconstruction > 0 && feed_of(t) != CQ_FEED_OTHER) cq_pool_run(t->pool, n_shards, decode_shard, &own);
  if (t->o.reconstruction > 0 && feed_of(t) != CQ_FEED_OWN) cq_pool_run(t->pool, n_shards, decode_shard, &other);
  cq_pool_run(t->pool, n_shards, backward_shard, t);
  status = first_failure(t, error);
  for (int s = 0; !status && s < n_halves(t); s++) {
    double sum = 0;
    for (int k = 0; k < t->o.n_shards; k++) sum += t->shards[s * t->o.n_shards + k].loss;
    const double n_runs = feed_of(t) == CQ_FEED_BOTH ? 2 : 1;
    report->nll[s] = sum / n_runs / ((double)t->halves[s].ids.n - (double)t->batch.n);
  }
  return status;
}

static void clear_gradients(void *context, size_t item, int worker) {
  (void)worker;
  cq_autoencoder_trainer *t = context;
  cq_gradients_clear(&t->gradients[item]);
}

static cq_status check_batch(const cq_autoencoder_trainer *t, const cq_autoencoder_batch *batch, cq_error *error) {
  const int a = batch->side[0], b = batch->side[1];
  if (batch->n == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "an empty batch");
  if (a < 0 || a >= t->n_sides || b < -1 || b >= t->n_sides || a == b)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a batch of languages %d and %d of %d", a, b, t->n_sides);
  for (int s = 0; s < (b < 0 ? 1 : 2); s++) {
    const cq_autoencoder_side *side = &t->sides[batch->side[s]];
    if (trains_decoder(t, side) || (trains_encoder(side) && b >= 0)) return CQ_OK;
  }
  return cq_fail(error, CQ_ERR_ARGUMENT, "a batch that nothing is trained on");
}

cq_status cq_autoencoder_step(cq_autoencoder_trainer *t, const cq_autoencoder_batch *batch,
                              cq_autoencoder_report *report, cq_error *error) {
  *report = (cq_autoencoder_report){0};
  cq_status status = check_batch(t, batch, error);
  if (status) return status;
  t->batch = *batch;
  for (int s = 0; !status && s < 2; s++) status = make_room(&t->halves[s], batch->n, t->dim, t->states_width, error);
  for (int s = 0; !status && s < 2; s++) status = tokenize(t, s, report, error);
  if (!status) status = catch_up(t, error);
  if (!status) status = cut(t, error);
  if (!status) status = compute(t, report, error);
  const double loss = report->nll[0] + report->nll[1] + report->contrast + report->distance;
  if (!status && !isfinite(loss))
    status = cq_fail(error, CQ_ERR_LIMIT, "batch %llu: the loss is %g: -log p %g and %g, contrast %g, distance %g",
                     (unsigned long long)t->n_batches + 1, loss, report->nll[0], report->nll[1], report->contrast,
                     report->distance);
  if (!status) status = cq_gradients_reduce(t->gradients, t->o.n_shards, t->kernels, t->pool, error);
  if (!status) cq_optimizer_update(&t->optimizer, &t->gradients[0], 1, t->pool, &report->gradient_norm);
  if (!status && !isfinite(report->gradient_norm))
    status = cq_fail(error, CQ_ERR_LIMIT, "batch %llu: the gradient's length is %g, its loss %g",
                     (unsigned long long)t->n_batches + 1, report->gradient_norm, loss);
  cq_pool_run(t->pool, (size_t)t->o.n_shards, clear_gradients, t);
  t->n_batches++;
  return status ? status : pack(t, false, error);
}

cq_status cq_autoencoder_settle(cq_autoencoder_trainer *t, cq_error *error) {
  cq_optimizer_flush(&t->optimizer, t->pool);
  cq_status status = pack(t, true, error);
  return status ? status : pack_decoders(t, true, false, error);
}

/* --- state --- */

cq_status cq_autoencoder_trainer_save(cq_autoencoder_trainer *t, cq_checkpoint_writer *w, cq_error *error) {
  const uint64_t counts[2] = {t->n_batches, t->optimizer.step};
  cq_status status = cq_checkpoint_writer_section(w, "counts", counts, sizeof counts, error);
  return status ? status : cq_optimizer_save(&t->optimizer, w, error);
}

cq_status cq_autoencoder_trainer_restore(cq_autoencoder_trainer *t, const cq_checkpoint *c, cq_error *error) {
  uint64_t counts[2];
  cq_status status = cq_checkpoint_read(counts, sizeof counts, c, "counts", error);
  if (!status) status = cq_optimizer_restore(&t->optimizer, c, error);
  if (status) return status;
  t->n_batches = counts[0];
  t->optimizer.step = counts[1];
  return pack(t, true, error);
}
