/* The discriminator of two languages: forward, its own gradient, and the encoders' gradient. See discriminator.h. */
#include "lab/autoencode/discriminator.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/modules.h"
#include "nn/linear.h"
#include "train/shards.h"
#include "train/update.h"

#include <math.h>

static const float slope = 0.2f; /* of the leaky ReLU below 0 */

enum { HIDDEN, HIDDEN_BIAS, OUTPUT, OUTPUT_BIAS, N_PARAMS };

struct cq_discriminator {
  cq_discriminator_options o;
  const cq_kernels *kernels;
  cq_arena arena;
  cq_param each[N_PARAMS];
  cq_params params;
  cq_linear hidden, output;
  cq_update update;
  cq_shards shards; /* of the batch's pairs */
};

enum { SUM_LOSS, SUM_ADVERSARY, SUM_RIGHT };

/* --- making --- */

static cq_status check_discriminator(const cq_discriminator_options *o, cq_error *error) {
  if (o->hidden < 1 || o->hidden > 1 << 16)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a discriminator of %lld hidden dimensions", (long long)o->hidden);
  if (!(o->smoothing >= 0 && o->smoothing < 0.5))
    return cq_fail(error, CQ_ERR_ARGUMENT, "labels smoothed by %g, expected 0 or more and less than 0.5", o->smoothing);
  return CQ_OK;
}

static cq_status make_discriminator_params(cq_discriminator *d, cq_error *error) {
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
  return status ? status : cq_params_own(&d->params, error);
}

static cq_status pack_layers(void *owner, cq_context *ctx, cq_error *error) {
  (void)ctx;
  return cq_discriminator_pack(owner, error);
}

cq_status cq_discriminator_new(cq_discriminator **out, const cq_kernels *kernels,
                               const cq_discriminator_options *options, cq_error *error) {
  *out = NULL;
  cq_status status = check_discriminator(options, error);
  if (status) return status;
  cq_discriminator *d = cq_alloc_zeroed(sizeof *d);
  if (!d) return cq_fail_memory(error, "a discriminator");
  d->o = *options;
  d->kernels = kernels;
  d->hidden = (cq_linear){.weight = &d->each[HIDDEN], .bias = &d->each[HIDDEN_BIAS]};
  d->output = (cq_linear){.weight = &d->each[OUTPUT], .bias = &d->each[OUTPUT_BIAS]};
  status = cq_shards_new(&d->shards, options->n_shards, 1, kernels, NULL, error);
  if (!status) status = make_discriminator_params(d, error);
  if (!status) status = cq_discriminator_pack(d, error);
  if (!status)
    status = cq_update_new(&d->update, "discriminator", &d->params, kernels, options->n_shards, NULL,
                           &options->optimizer, pack_layers, d, error);
  if (status)
    cq_discriminator_free(d);
  else
    *out = d;
  return status;
}

void cq_discriminator_free(cq_discriminator *d) {
  if (!d) return;
  cq_update_free(&d->update);
  cq_shards_free(&d->shards);
  cq_linear_free(&d->hidden);
  cq_linear_free(&d->output);
  cq_params_free(&d->params);
  cq_arena_free(&d->arena);
  cq_free(d);
}

const cq_params *cq_discriminator_params(const cq_discriminator *d) {
  return &d->params;
}

cq_status cq_discriminator_pack(cq_discriminator *d, cq_error *error) {
  const cq_packing packing = {d->kernels, CQ_PRECISION_F32, true};
  const cq_status status = cq_linear_pack(&d->hidden, &packing, error);
  return status ? status : cq_linear_pack(&d->output, &packing, error);
}

/* --- forward, and back to the vectors --- */

typedef struct forward {
  cq_discriminator *d;
  const cq_space *space;
  double weight;
} forward;

/* -log p of a label y in [0, 1] under the log odds x. */
static double binary_cross_entropy(double x, double y) {
  return log1p(exp(-fabs(x))) + (x > 0 ? x : 0) - x * y;
}

/* Some vectors of one language: computes their part of the loss and of all gradients. */
static cq_status forward_language(const forward *f, cq_shard *s, int side) {
  cq_discriminator *d = f->d;
  cq_gradients *gradients = cq_update_gradients(&d->update, s->number, d->shards.first_own);
  const int64_t first = (int64_t)s->first, n = (int64_t)s->n, dim = d->o.dim, n_hidden = d->o.hidden;
  const double count = 2 * (double)f->space->n, sign = side ? 1 : -1;
  const double label = side ? 1 - d->o.smoothing : d->o.smoothing;
  const bool swapped = d->o.adversary_by == CQ_ADVERSARY_SWAPPED;
  const float *w = d->each[OUTPUT].value;
  cq_workspace *room = &s->worker.workspace;
  const cq_tensor v = cq_tensor_f32((float *)(uintptr_t)(f->space->vectors[side] + first * dim), n, dim),
                  before = cq_workspace_f32(room, n, n_hidden), hidden = cq_workspace_f32(room, n, n_hidden),
                  odds = cq_workspace_f32(room, n, 1), dv = cq_workspace_f32(room, n, dim);
  const cq_tensor none = {0};
  float *dv_of_odds = cq_workspace_take(room, (size_t)n * sizeof(float)); /* what encoders want of the log odds */
  if (!before.data || !hidden.data || !odds.data || !dv.data || !dv_of_odds)
    return cq_fail_memory(&s->error, "a discriminator");

  float *x = cq_f32(before), *y = cq_f32(hidden), *o = cq_f32(odds);
  cq_status status = cq_linear_forward(&s->worker, &d->hidden, before, v, CQ_IDENTITY, none, &s->error);
  if (status) return status;
  for (int64_t i = 0; i < n * n_hidden; i++) y[i] = x[i] > 0 ? x[i] : slope * x[i];
  status = cq_linear_forward(&s->worker, &d->output, odds, hidden, CQ_IDENTITY, none, &s->error);
  if (status) return status;
  for (int64_t i = 0; i < n; i++) {
    const double at = (double)o[i], p = 1 / (1 + exp(-at)), loss = binary_cross_entropy(at, label);
    s->sums[SUM_LOSS] += loss;
    s->sums[SUM_ADVERSARY] += swapped ? binary_cross_entropy(at, 1 - label) : -loss;
    s->sums[SUM_RIGHT] += sign * at > 0;
    o[i] = (float)((p - label) / count);
    dv_of_odds[i] = (float)(f->weight * (swapped ? p - (1 - label) : label - p) / count);
  }

  status = cq_linear_backward(&s->worker, &d->output, gradients, none, false, odds, hidden, &s->error);
  if (status) return status;
  /* The log odds' gradient with respect to the hidden layer before its ReLU and to the vectors; encoders and
   * discriminator scale it differently. */
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < n_hidden; k++) x[i * n_hidden + k] = x[i * n_hidden + k] > 0 ? w[k] : slope * w[k];
  status = cq_linear_backward_input(&s->worker, &d->hidden, dv, false, before, &s->error);
  if (status) return status;
  for (int64_t i = 0; i < n; i++) {
    s->worker.kernels->scale(cq_f32(dv) + i * dim, cq_f32(dv) + i * dim, dv_of_odds[i], dim);
    s->worker.kernels->scale(x + i * n_hidden, x + i * n_hidden, o[i], n_hidden);
  }
  s->worker.kernels->add(f->space->gradients[side] + first * dim, cq_f32(dv), n * dim);
  return cq_linear_backward(&s->worker, &d->hidden, gradients, none, false, before, v, &s->error);
}

static cq_status discriminator_forward_shard(void *context, cq_shard *s, int worker) {
  cq_status status = CQ_OK;
  (void)worker;
  for (int side = 0; side < 2 && !status; side++) {
    const cq_mark mark = cq_workspace_mark(&s->worker.workspace);
    status = forward_language(context, s, side);
    cq_workspace_release(&s->worker.workspace, mark);
  }
  return status;
}

cq_status cq_discriminator_forward(cq_discriminator *d, cq_discriminator_report *report, const cq_space *space,
                                   double weight, cq_context *ctx, cq_error *error) {
  forward f = {d, space, weight};
  double sums[CQ_SHARD_SUMS];
  const double count = 2 * (double)space->n;
  assert(space->dim == d->o.dim);
  *report = (cq_discriminator_report){0};
  cq_update_clear(&d->update, ctx);
  cq_shards_cut_rows(&d->shards, 0, (size_t)space->n);
  cq_status status = cq_shards_run(&d->shards, 0, discriminator_forward_shard, &f, ctx, error);
  if (!status) status = cq_shards_sum(sums, &d->shards, 0, error);
  if (status) return status;
  *report = (cq_discriminator_report){
      .loss = sums[SUM_LOSS] / count, .adversary = sums[SUM_ADVERSARY] / count, .accuracy = sums[SUM_RIGHT] / count};
  return CQ_OK;
}

cq_status cq_discriminator_update(cq_discriminator *d, cq_context *ctx, cq_error *error) {
  double norm;
  return cq_update_apply(&norm, &d->update, 1, ctx, error);
}

cq_status cq_discriminator_save(const cq_discriminator *d, cq_checkpoint_writer *w, cq_error *error) {
  return cq_update_save(&d->update, w, error);
}

cq_status cq_discriminator_restore(cq_discriminator *d, const cq_checkpoint *c, cq_error *error) {
  return cq_update_restore(&d->update, c, NULL, error);
}
