/* Stochastic weight averaging: means of the weights over the end of a run. See average.h. */
#include "train/average.h"

#include "base/error.h"
#include "base/memory.h"

#include <assert.h>

#define CHUNK ((int64_t)1 << 16)

cq_status cq_average_new(cq_average *out, const cq_params *params, cq_error *error) {
  assert(params->own);
  *out = (cq_average){.params = params, .n_floats = cq_params_floats(params)};
  out->mean = cq_alloc_array_zeroed((size_t)out->n_floats, sizeof *out->mean);
  return out->mean ? CQ_OK : cq_fail_memory(error, "averaged parameters");
}

void cq_average_free(cq_average *a) {
  cq_free(a->mean);
  *a = (cq_average){0};
}

/* ---- elementwise kernels, independent of threads ---- */

static int64_t end_of_chunk(const cq_average *a, int64_t first) {
  return first + CHUNK < a->n_floats ? first + CHUNK : a->n_floats;
}

static void add_chunk(void *context, size_t item, int worker) {
  const cq_average *a = context;
  const float *x = a->params->own, n = (float)a->n;
  const int64_t first = (int64_t)item * CHUNK, end = end_of_chunk(a, first);
  (void)worker;
  for (int64_t i = first; i < end; i++) a->mean[i] += (x[i] - a->mean[i]) / n;
}

static void swap_chunk(void *context, size_t item, int worker) {
  const cq_average *a = context;
  float *x = a->params->own;
  const int64_t first = (int64_t)item * CHUNK, end = end_of_chunk(a, first);
  (void)worker;
  for (int64_t i = first; i < end; i++) {
    const float kept = x[i];
    x[i] = a->mean[i], a->mean[i] = kept;
  }
}

static size_t chunks_of(const cq_average *a) {
  return (size_t)((a->n_floats + CHUNK - 1) / CHUNK);
}

void cq_average_add(cq_average *a, cq_context *ctx) {
  a->n++;
  cq_context_run(ctx, chunks_of(a), add_chunk, a);
}

void cq_average_swap(cq_average *a, cq_context *ctx) {
  cq_context_run(ctx, chunks_of(a), swap_chunk, a);
}

/* ---- state ---- */

static cq_status pass_average(cq_average *a, cq_checkpoint_writer *w, const cq_checkpoint *c, cq_error *error) {
  cq_status status = cq_checkpoint_pass(w, c, "average.n", &a->n, sizeof a->n, error);
  if (status || a->n == 0) return status;
  return cq_checkpoint_pass(w, c, "average", a->mean, (size_t)a->n_floats * sizeof *a->mean, error);
}

cq_status cq_average_save(const cq_average *a, cq_checkpoint_writer *w, cq_error *error) {
  cq_average copy = *a;
  return pass_average(&copy, w, NULL, error);
}

cq_status cq_average_restore(cq_average *a, const cq_checkpoint *c, cq_error *error) {
  return pass_average(a, NULL, c, error);
}
