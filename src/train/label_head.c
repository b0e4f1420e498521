/* A softmax classifier over (u, v, |u - v|): forward, gradients, update and state. See label_head.h. */
#include "train/label_head.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/modules.h"
#include "nn/linear.h"
#include "train/update.h"

#include <math.h>
#include <string.h>

enum { WEIGHT, BIAS, N_PARAMS };

struct cq_label_head {
  cq_label_head_options o;
  cq_arena arena;
  cq_param each[N_PARAMS];
  cq_params params;
  cq_linear layer;
  cq_update update; /* one shard: the batch */
  cq_worker worker;
};

/* --- making --- */

static cq_status make_head_params(cq_label_head *h, cq_error *error) {
  const int64_t width = 3 * h->o.dim;
  cq_random random = cq_random_seeded(h->o.seed, 0x1abe1);
  h->each[WEIGHT] = (cq_param){.name = "weight", .rows = h->o.n_labels, .cols = width, .n_dims = 2, .decay = true};
  h->each[BIAS] = (cq_param){.name = "bias", .rows = 1, .cols = h->o.n_labels, .n_dims = 1};
  h->layer = (cq_linear){.weight = &h->each[WEIGHT], .bias = &h->each[BIAS]};
  cq_status status = CQ_OK;
  for (int i = 0; !status && i < N_PARAMS; i++) {
    status = cq_param_uniform(&h->each[i], 1 / sqrt((double)width), &random, &h->arena, error);
    if (!status) status = cq_params_add(&h->params, &h->each[i], error);
  }
  return status ? status : cq_params_own(&h->params, error);
}

static cq_status pack_layer(void *owner, cq_context *ctx, cq_error *error) {
  (void)ctx;
  return cq_label_head_pack(owner, error);
}

cq_status cq_label_head_new(cq_label_head **out, const cq_kernels *kernels, const cq_label_head_options *options,
                            cq_error *error) {
  *out = NULL;
  if (options->n_labels < 2)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%lld label, expected 2 or more", (long long)options->n_labels);
  cq_label_head *h = cq_alloc_zeroed(sizeof *h);
  if (!h) return cq_fail_memory(error, "labels");
  h->o = *options;
  h->worker.kernels = kernels;
  cq_status status = make_head_params(h, error);
  if (!status) status = cq_label_head_pack(h, error);
  if (!status)
    status =
        cq_update_new(&h->update, "labels", &h->params, kernels, 1, NULL, &options->optimizer, pack_layer, h, error);
  if (status)
    cq_label_head_free(h);
  else
    *out = h;
  return status;
}

void cq_label_head_free(cq_label_head *h) {
  if (!h) return;
  cq_update_free(&h->update);
  cq_workspace_free(&h->worker.workspace);
  cq_linear_free(&h->layer);
  cq_params_free(&h->params);
  cq_arena_free(&h->arena);
  cq_free(h);
}

const cq_params *cq_label_head_params(const cq_label_head *h) {
  return &h->params;
}

const cq_gradients *cq_label_head_gradients(const cq_label_head *h) {
  return h->update.gradients;
}

cq_status cq_label_head_pack(cq_label_head *h, cq_error *error) {
  return cq_linear_pack(&h->layer, &(cq_packing){h->worker.kernels, CQ_PRECISION_F32, true}, error);
}

/* --- forward, and back to the vectors --- */

/* (u, v, |u - v|) of each pair. */
static void combine_vectors(float *features, const cq_space *s) {
  for (int64_t i = 0; i < s->n; i++) {
    const float *u = s->vectors[0] + i * s->dim, *v = s->vectors[1] + i * s->dim;
    float *row = features + i * 3 * s->dim;
    memcpy(row, u, (size_t)s->dim * sizeof *row);
    memcpy(row + s->dim, v, (size_t)s->dim * sizeof *row);
    for (int64_t j = 0; j < s->dim; j++) row[2 * s->dim + j] = fabsf(u[j] - v[j]);
  }
}

static void combine_backward(const cq_space *s, const float *dfeatures) {
  for (int64_t i = 0; i < s->n; i++) {
    const float *u = s->vectors[0] + i * s->dim, *v = s->vectors[1] + i * s->dim, *d = dfeatures + i * 3 * s->dim;
    float *du = s->gradients[0] + i * s->dim, *dv = s->gradients[1] + i * s->dim;
    for (int64_t j = 0; j < s->dim; j++) {
      const float apart = d[2 * s->dim + j] * (float)((u[j] > v[j]) - (u[j] < v[j]));
      du[j] += d[j] + apart;
      dv[j] += d[s->dim + j] - apart;
    }
  }
}

/* Whether the pair's label is the likeliest, the first of equals. NaN is never right. */
static bool is_right(const float *logits, int64_t n, int64_t label) {
  for (int64_t k = 0; k < n; k++)
    if (!(k < label ? logits[k] < logits[label] : logits[k] <= logits[label])) return false;
  return true;
}

cq_status cq_label_head_forward(cq_label_head *h, cq_label_head_report *report, const cq_space *space,
                                const uint32_t *labels, cq_error *error) {
  cq_workspace *room = &h->worker.workspace;
  const cq_mark mark = cq_workspace_mark(room);
  const int64_t n = space->n, width = 3 * h->o.dim;
  const cq_tensor features = cq_workspace_f32(room, n, width), dfeatures = cq_workspace_f32(room, n, width),
                  logits = cq_workspace_f32(room, n, h->o.n_labels), none = {0};
  size_t n_right = 0;
  double sum = 0;
  assert(space->dim == h->o.dim);
  cq_status status = features.data && dfeatures.data && logits.data ? CQ_OK : cq_fail_memory(error, "labels");
  if (!status) {
    combine_vectors(cq_f32(features), space);
    status = cq_linear_forward(&h->worker, &h->layer, logits, features, CQ_IDENTITY, none, error);
    for (int64_t i = 0; !status && i < n; i++) {
      float *row = cq_f32(cq_tensor_rows(logits, i, 1));
      const int32_t label = (int32_t)labels[i];
      n_right += is_right(row, h->o.n_labels, label);
      sum += h->worker.kernels->cross_entropy(row, row, h->o.n_labels, &label, 1 / (float)n, 0, 1, h->o.n_labels);
    }
    if (!status)
      status =
          cq_linear_backward(&h->worker, &h->layer, h->update.gradients, dfeatures, false, logits, features, error);
  }
  if (!status) combine_backward(space, cq_f32(dfeatures));
  cq_workspace_release(room, mark);
  *report = (cq_label_head_report){.loss = sum / (double)n, .accuracy = (double)n_right / (double)n};
  return status;
}

cq_status cq_label_head_update(cq_label_head *h, double scale, cq_context *ctx, cq_error *error) {
  double norm;
  return cq_update_apply(&norm, &h->update, scale, ctx, error);
}

cq_status cq_label_head_save(const cq_label_head *h, cq_checkpoint_writer *w, cq_error *error) {
  return cq_update_save(&h->update, w, error);
}

cq_status cq_label_head_restore(cq_label_head *h, const cq_checkpoint *c, cq_error *error) {
  return cq_update_restore(&h->update, c, NULL, error);
}
