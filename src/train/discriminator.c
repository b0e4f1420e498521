#include "train/discriminator.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/modules.h"
#include "nn/linear.h"
#include "train/optimizer_state.h"

#include <math.h>

static const float slope = 0.2f; /* of the leaky ReLU below 0 */

enum { HIDDEN, HIDDEN_BIAS, OUTPUT, OUTPUT_BIAS, N_PARAMS };

/* A range of the batch, of both languages. */
typedef struct shard {
  cq_lane lane;
  double loss, adversary; /* sums */
  int64_t n_right;
  cq_status status;
  cq_error error;
} shard;

struct cq_discriminator {
  cq_discriminator_options o;
  const cq_kernels *kernels;
  cq_arena arena;
  cq_param each[N_PARAMS];
  cq_params params;
  cq_linear hidden, output;
  cq_optimizer optimizer;
  shard *shards;           /* [n_shards] */
  cq_gradients *gradients; /* [n_shards] */
};

/* --- making --- */

static cq_status check(const cq_discriminator_options *o, cq_error *error) {
  if (o->hidden < 1 || o->hidden > 1 << 16)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a discriminator of %lld hidden dimensions", (long long)o->hidden);
  if (!(o->smoothing >= 0 && o->smoothing < 0.5))
    return cq_fail(error, CQ_ERR_ARGUMENT, "labels smoothed by %g, expected 0 or more and less than 0.5", o->smoothing);
  return CQ_OK;
}

static cq_status make_params(cq_discriminator *d, cq_error *error) {
  static const char *const names[N_PARAMS] = {"hidden.weight", "hidden.bias", "output.weight", "output.bias"};
  const int64_t outs[2] = {d->o.hidden, 1}, ins[2] = {d->o.dim, d->o.hidden};
  cq_random random = cq_random_seeded(d->o.seed, 1);
  cq_status status = CQ_OK;
  for (int i = 0; !status && i < N_PARAMS; i++) {
    const int64_t out = outs[i / 2], in = ins[i / 2];
    const bool weight = i % 2 == 0;
    d->each[i] = (cq_param){.name = names[i],
                            .rows = weight ? out : 1,
                            .cols = weight ? in : out,
                            .n_dims = weight ? 2 : 1,
                            .decay = weight};
    status = cq_param_uniform(&d->each[i], 1 / sqrt((double)in), &random, &d->arena, error);
    if (!status) status = cq_params_add(&d->params, &d->each[i], error);
  }
  if (status) return status;
  cq_params_index(&d->params);
  return cq_params_own(&d->params, error);
}

cq_status cq_discriminator_new(cq_discriminator **out, const cq_kernels *kernels,
                               const cq_discriminator_options *options, cq_error *error) {
  *out = NULL;
  cq_status status = check(options, error);
  if (status) return status;
  cq_discriminator *d = cq_alloc_zeroed(sizeof *d);
  if (!d) return cq_fail_memory(error, "a discriminator");
  d->o = *options;
  d->kernels = kernels;
  d->hidden = (cq_linear){.weight = &d->each[HIDDEN], .bias = &d->each[HIDDEN_BIAS]};
  d->output = (cq_linear){.weight = &d->each[OUTPUT], .bias = &d->each[OUTPUT_BIAS]};
  d->shards = cq_alloc_array_zeroed((size_t)options->n_shards, sizeof *d->shards);
  d->gradients = cq_alloc_array_zeroed((size_t)options->n_shards, sizeof *d->gradients);
  if (!d->shards || !d->gradients) status = cq_fail_memory(error, "a discriminator");
  if (!status) status = make_params(d, error);
  if (!status) status = cq_discriminator_pack(d, error);
  for (int i = 0; !status && i < options->n_shards; i++) {
    d->shards[i].lane.kernels = kernels;
    status = cq_gradients_new(&d->gradients[i], &d->params, error);
  }
  if (!status) status = cq_optimizer_new(&d->optimizer, &d->params, kernels, &options->optimizer, error);
  if (status)
    cq_discriminator_free(d);
  else
    *out = d;
  return status;
}

void cq_discriminator_free(cq_discriminator *d) {
  if (!d) return;
  if (d->optimizer.params) cq_optimizer_free(&d->optimizer);
  for (int i = 0; d->gradients && i < d->o.n_shards; i++) cq_gradients_free(&d->gradients[i]);
  for (int i = 0; d->shards && i < d->o.n_shards; i++) cq_workspace_free(&d->shards[i].lane.workspace);
  cq_linear_free(&d->hidden);
  cq_linear_free(&d->output);
  cq_params_free(&d->params);
  cq_arena_free(&d->arena);
  cq_free(d->shards);
  cq_free(d->gradients);
  cq_free(d);
}

const cq_params *cq_discriminator_params(const cq_discriminator *d) {
  return &d->params;
}

cq_status cq_discriminator_pack(cq_discriminator *d, cq_error *error) {
  cq_status status = cq_linear_pack(&d->hidden, d->kernels, true, error);
  return status ? status : cq_linear_pack(&d->output, d->kernels, true, error);
}

/* --- judging --- */

typedef struct judging {
  cq_discriminator *d;
  const cq_space *space;
  double weight;
} judging;

/* -log p of a label y in [0, 1] under the log odds x. */
static double cross_entropy(double x, double y) {
  return log1p(exp(-fabs(x))) + (x > 0 ? x : 0) - x * y;
}

/* Some vectors of one language: their part of the loss, and of all gradients. */
static cq_status judge_rows(const judging *j, shard *s, cq_gradients *gradients, int side, int64_t first, int64_t n) {
  cq_discriminator *d = j->d;
  const int64_t dim = d->o.dim, n_hidden = d->o.hidden;
  const double count = 2 * (double)j->space->n, sign = side ? 1 : -1;
  const double label = side ? 1 - d->o.smoothing : d->o.smoothing;
  const bool swapped = d->o.adversary_by == CQ_ADVERSARY_SWAPPED;
  const float *w = d->each[OUTPUT].value;
  cq_workspace *room = &s->lane.workspace;
  const cq_tensor v = cq_tensor_f32((float *)(uintptr_t)(j->space->vectors[side] + first * dim), n, dim),
                  before = cq_workspace_f32(room, n, n_hidden), hidden = cq_workspace_f32(room, n, n_hidden),
                  odds = cq_workspace_f32(room, n, 1), dv = cq_workspace_f32(room, n, dim);
  const cq_tensor none = {0};
  float *dv_of_odds = cq_workspace_take(room, (size_t)n * sizeof(float)); /* what encoders want of the log odds */
  if (!before.data || !hidden.data || !odds.data || !dv.data || !dv_of_odds)
    return cq_fail_memory(&s->error, "a discriminator");

  float *x = cq_f32(before), *y = cq_f32(hidden), *o = cq_f32(odds);
  cq_linear_forward(&s->lane, &d->hidden, before, v, CQ_IDENTITY, none);
  for (int64_t i = 0; i < n * n_hidden; i++) y[i] = x[i] > 0 ? x[i] : slope * x[i];
  cq_linear_forward(&s->lane, &d->output, odds, hidden, CQ_IDENTITY, none);
  for (int64_t i = 0; i < n; i++) {
    const double at = (double)o[i], p = 1 / (1 + exp(-at)), loss = cross_entropy(at, label);
    s->loss += loss;
    s->adversary += swapped ? cross_entropy(at, 1 - label) : -loss;
    s->n_right += sign * at > 0;
    o[i] = (float)((p - label) / count);
    dv_of_odds[i] = (float)(j->weight * (swapped ? p - (1 - label) : label - p) / count);
  }

  cq_status status = cq_linear_backward(&s->lane, &d->output, gradients, none, false, odds, hidden, &s->error);
  if (status) return status;
  /* The log odds' gradient, of the hidden layer before its ReLU and of the vectors: encoders and discriminator want it
   * times different factors. */
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < n_hidden; k++) x[i * n_hidden + k] = x[i * n_hidden + k] > 0 ? w[k] : slope * w[k];
  s->lane.kernels->product(cq_f32(dv), dim, x, n_hidden, d->hidden.packed_backward, n, dim, n_hidden, NULL);
  for (int64_t i = 0; i < n; i++) {
    s->lane.kernels->scale(cq_f32(dv) + i * dim, cq_f32(dv) + i * dim, dv_of_odds[i], dim);
    s->lane.kernels->scale(x + i * n_hidden, x + i * n_hidden, o[i], n_hidden);
  }
  s->lane.kernels->add(j->space->gradients[side] + first * dim, cq_f32(dv), n * dim);
  return cq_linear_backward(&s->lane, &d->hidden, gradients, none, false, before, v, &s->error);
}

static void judge_shard(void *context, size_t k, int worker) {
  const judging *j = context;
  shard *s = &j->d->shards[k];
  const int64_t n = j->space->n, n_shards = j->d->o.n_shards, first = n * (int64_t)k / n_shards,
                end = n * ((int64_t)k + 1) / n_shards;
  (void)worker;
  s->loss = s->adversary = 0, s->n_right = 0, s->status = CQ_OK;
  cq_gradients_clear(&j->d->gradients[k]);
  for (int side = 0; side < 2 && end > first && !s->status; side++) {
    const cq_mark mark = cq_workspace_mark(&s->lane.workspace);
    s->status = judge_rows(j, s, &j->d->gradients[k], side, first, end - first);
    cq_workspace_release(&s->lane.workspace, mark);
  }
}

cq_status cq_discriminator_judge(cq_discriminator *d, cq_discriminator_report *report, const cq_space *space,
                                 double weight, cq_context *ctx, cq_error *error) {
  judging j = {d, space, weight};
  const double count = 2 * (double)space->n;
  int64_t n_right = 0;
  assert(space->dim == d->o.dim);
  *report = (cq_discriminator_report){0};
  cq_context_run(ctx, (size_t)d->o.n_shards, judge_shard, &j);
  for (int k = 0; k < d->o.n_shards; k++) {
    const shard *s = &d->shards[k];
    if (s->status) {
      if (error) *error = s->error;
      return s->status;
    }
    report->loss += s->loss;
    report->adversary += s->adversary;
    n_right += s->n_right;
  }
  report->loss /= count, report->adversary /= count;
  report->accuracy = (double)n_right / count;
  return CQ_OK;
}

cq_status cq_discriminator_learn(cq_discriminator *d, cq_context *ctx, cq_error *error) {
  double norm;
  cq_status status = cq_gradients_reduce(d->gradients, d->o.n_shards, d->kernels, ctx, error);
  if (status) return status;
  cq_optimizer_update(&d->optimizer, &d->gradients[0], 1, ctx, &norm);
  if (!isfinite(norm)) return cq_fail(error, CQ_ERR_LIMIT, "the length of the discriminator's gradient is %g", norm);
  return cq_discriminator_pack(d, error);
}

/* --- state --- */

cq_status cq_discriminator_save(const cq_discriminator *d, cq_checkpoint_writer *w, cq_error *error) {
  cq_status status =
      cq_checkpoint_writer_section(w, "discriminator.step", &d->optimizer.step, sizeof d->optimizer.step, error);
  return status ? status : cq_optimizer_save(&d->optimizer, "discriminator.", w, error);
}

cq_status cq_discriminator_restore(cq_discriminator *d, const cq_checkpoint *c, cq_error *error) {
  uint64_t step;
  cq_status status = cq_checkpoint_read(&step, sizeof step, c, "discriminator.step", error);
  if (!status) status = cq_optimizer_restore(&d->optimizer, "discriminator.", c, error);
  if (status) return status;
  d->optimizer.step = step;
  return cq_discriminator_pack(d, error);
}
