/* An LSTM layer with parameters and a batch of its own, and what its tests compare with. */
#ifndef TESTS_NN_LAYER_H
#define TESTS_NN_LAYER_H

#include "support/files.h"

#include "base/memory.h"
#include "base/random.h"
#include "format/safetensors.h"
#include "nn/lstm.h"

#include <math.h>

#define MAX_SEQS 16

typedef struct layer {
  cq_param params[8];
  cq_lstm lstm;
  cq_params all;
  cq_gradients gradients;
  cq_worker worker;
  int64_t starts[MAX_SEQS + 1];
  cq_batch batch;
} layer;

static const char *const names[] = {"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"};

/* A layer without values; lengths are the batch's. */
static inline void make(layer *l, int64_t in, int64_t dim, int n_directions, const int64_t *lengths, int64_t n_seqs,
                        const cq_kernels *kernels) {
  *l = (layer){.lstm = {.n_directions = n_directions, .in = in, .dim = dim}, .worker = {.kernels = kernels}};
  for (int64_t s = 0; s < n_seqs; s++) l->starts[s + 1] = l->starts[s] + lengths[s];
  l->batch = (cq_batch){.starts = l->starts, .n_seqs = n_seqs};
  for (int d = 0; d < n_directions; d++) {
    cq_param *p = &l->params[4 * d];
    p[0] = (cq_param){.rows = 4 * dim, .cols = in, .n_dims = 2};
    p[1] = (cq_param){.rows = 4 * dim, .cols = dim, .n_dims = 2};
    p[2] = p[3] = (cq_param){.rows = 1, .cols = 4 * dim, .n_dims = 1};
    l->lstm.direction[d] = (cq_lstm_direction){
        .input = {.weight = &p[0]}, .recurrent = {.weight = &p[1]}, .bias_input = &p[2], .bias_recurrent = &p[3]};
    for (int i = 0; i < 4; i++) {
      p[i].name = names[i];
      p[i].value = cq_alloc_array((size_t)cq_param_floats(&p[i]), sizeof(float));
      assert_int_equal(cq_params_add(&l->all, &p[i], NULL), CQ_OK);
    }
  }
  cq_params_index(&l->all);
  assert_int_equal(cq_gradients_new(&l->gradients, &l->all, NULL), CQ_OK);
}

static inline void pack(layer *l) {
  for (int d = 0; d < l->lstm.n_directions; d++)
    assert_int_equal(cq_lstm_pack(&l->lstm, d, &(cq_packing){l->worker.kernels, CQ_PRECISION_F32, true}, NULL), CQ_OK);
}

static inline void unmake(layer *l) {
  for (size_t i = 0; i < l->all.n; i++) cq_free(l->all.items[i]->value);
  cq_lstm_free(&l->lstm);
  cq_gradients_free(&l->gradients);
  cq_params_free(&l->all);
  cq_workspace_free(&l->worker.workspace);
}

/* Fills all parameters. */
static inline void randomize(layer *l, cq_random *random) {
  for (size_t i = 0; i < l->all.n; i++)
    for (int64_t j = 0; j < cq_param_floats(&l->params[i]); j++)
      l->params[i].value[j] = (float)(cq_random_normal(random) * 0.5);
}

static inline void expect_close(const char *what, const float *found, const float *expected, int64_t n,
                                double tolerance) {
  for (int64_t i = 0; i < n; i++) {
    double difference = fabs((double)found[i] - (double)expected[i]);
    if (!(difference <= tolerance * fmax(1, fabs((double)expected[i]))))
      fail_msg("%s[%lld] is %g, expected %g", what, (long long)i, (double)found[i], (double)expected[i]);
  }
}

/* --- golden files --- */

static inline const float *tensor(const cq_safetensors *file, const char *prefix, const char *name, int direction) {
  char full[64];
  snprintf(full, sizeof full, "%s%s%s", prefix, name, direction == 1 ? "_reverse" : "");
  const cq_stored_tensor *t = cq_safetensors_find(file, full);
  if (!t) fail_msg("no %s", full);
  return t->data;
}

/* The layer of a file: the batch of its lengths, and its weights. */
static inline void make_golden(layer *l, const cq_safetensors *file, const cq_kernels *kernels) {
  int64_t lengths[MAX_SEQS];
  const cq_stored_tensor *stored = cq_safetensors_find(file, "lengths");
  for (int64_t s = 0; s < stored->n_elements; s++) lengths[s] = (int64_t)((const float *)stored->data)[s];
  const int n_directions = cq_safetensors_find(file, "weight_ih_l0_reverse") ? 2 : 1;
  const cq_stored_tensor *weight = cq_safetensors_find(file, "weight_ih_l0");
  make(l, weight->shape[1], weight->shape[0] / 4, n_directions, lengths, stored->n_elements, kernels);
  for (size_t i = 0; i < l->all.n; i++)
    memcpy(l->params[i].value, tensor(file, "", names[i % 4], (int)i / 4),
           (size_t)cq_param_floats(&l->params[i]) * sizeof(float));
}

static inline void expect_golden_gradients(layer *l, const cq_safetensors *file, double tolerance) {
  for (size_t i = 0; i < l->all.n; i++)
    expect_close(names[i % 4], cq_gradient_of(&l->gradients, &l->params[i]),
                 tensor(file, "gradient.", names[i % 4], (int)i / 4), cq_param_floats(&l->params[i]), tolerance);
}

#endif
