/* The most probable token of softmax(x W^T + b), for greedy decoding. See token_best.h. */
#include "lab/autoencode/token_best.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <string.h>

enum { PANEL = CQ_INT8_PANEL };

static int64_t panels_of(int64_t n) {
  return (n + PANEL - 1) / PANEL;
}

void cq_token_bounds_free(cq_token_bounds *b) {
  cq_free(b->packed);
  cq_free(b->bias);
  *b = (cq_token_bounds){0};
}

cq_status cq_token_bounds_make(cq_token_bounds *b, const cq_linear *output, const cq_kernels *kernels,
                               cq_error *error) {
  const int64_t n = output->weight->rows, dim = output->weight->cols;
  const float *weight = output->weight->value;
  const cq_int8_kernels *int8 = dim <= CQ_INT8_MAX_DIM ? cq_int8_best() : NULL;
  b->kernels = NULL;
  if (!int8) return CQ_OK;
  double longest = 0;
  for (int64_t i = 0; i < n; i++) {
    const double squares = kernels->sum_squares(weight + i * dim, dim);
    if (!isfinite(squares) || (output->bias && !isfinite(output->bias->value[i]))) return CQ_OK;
    longest = fmax(longest, squares);
  }
  longest = sqrt(longest) * (1 + 0x1p-20);
  if (!(longest > 1e-30 && longest < 1e30)) return CQ_OK;
  if (!b->packed) b->packed = cq_alloc_array(cq_int8_packed_bytes(n, dim), 1);
  if (!b->bias) b->bias = cq_alloc_array((size_t)(panels_of(n) * PANEL), sizeof *b->bias);
  float *rows = cq_alloc_array((size_t)(PANEL * dim), sizeof *rows);
  if (!b->packed || !b->bias || !rows) {
    cq_free(rows);
    return cq_fail_memory(error, "packed weights");
  }
  for (int64_t p = 0; p < panels_of(n); p++) {
    const int64_t n_rows = n - p * PANEL < PANEL ? n - p * PANEL : PANEL;
    kernels->scale(rows, weight + p * PANEL * dim, (float)(1 / longest), n_rows * dim);
    int8->quantize_right((char *)b->packed + (size_t)p * cq_int8_panel_bytes(dim), rows, n_rows, dim);
  }
  for (int64_t i = 0; i < panels_of(n) * PANEL; i++)
    b->bias[i] = i >= n ? -INFINITY : output->bias ? output->bias->value[i] : 0;
  cq_free(rows);
  b->longest = (float)longest;
  b->kernels = int8;
  return CQ_OK;
}

/* --- without bounds --- */

static int32_t first_highest(const float *logits, int64_t n) {
  int64_t best = 0;
  for (int64_t j = 0; j < n; j++) {
    if (!(fabsf(logits[j]) < INFINITY) && !(logits[j] == -INFINITY)) return 0;
    if (logits[j] > logits[best]) best = j;
  }
  return (int32_t)best;
}

static cq_status best_of_all(int32_t *best, cq_worker *worker, const cq_linear *output, cq_tensor x, cq_error *error) {
  const int64_t n = output->weight->rows;
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor logits = cq_workspace_f32(&worker->workspace, x.rows, n);
  if (!logits.data) return cq_fail_memory(error, "logits");
  const cq_status status = cq_linear_forward(worker, output, logits, x, CQ_IDENTITY, (cq_tensor){0}, error);
  for (int64_t i = 0; !status && i < x.rows; i++) best[i] = first_highest(cq_f32(logits) + i * logits.stride, n);
  cq_workspace_release(&worker->workspace, mark);
  return status;
}

/* --- with them --- */

/* u = length * c + bias, in place, and the maximum of each panel. The 16 lanes let compilers vectorize. */
static void panel_maxima(float *restrict maxima, float *restrict u, const float *restrict bias, float length,
                         int64_t n_panels) {
  enum { LANES = 16 };
  for (int64_t p = 0; p < n_panels; p++, u += PANEL, bias += PANEL) {
    float max[LANES];
    for (int k = 0; k < LANES; k++) max[k] = -INFINITY;
    for (int j = 0; j < PANEL; j += LANES)
      for (int k = 0; k < LANES; k++) {
        const float v = length * u[j + k] + bias[j + k];
        u[j + k] = v;
        max[k] = v > max[k] ? v : max[k];
      }
    for (int k = 1; k < LANES; k++) max[0] = max[k] > max[0] ? max[k] : max[0];
    maxima[p] = max[0];
  }
}

typedef struct token {
  int32_t id;
  float logit;
} token;

static float logit_of(const cq_kernels *k, const cq_linear *output, const float *x, int64_t id) {
  const int64_t dim = output->weight->cols;
  return k->dot(x, output->weight->value + id * dim, dim) + (output->bias ? output->bias->value[id] : 0);
}

/* The possible rounding error of a bound near a logit, or of the logit: bounds apply to products of at most `length`,
 * and the terms added are no larger than the logit plus `length`. */
static float slack_of(float logit, float length, int64_t dim) {
  return (float)(dim + 16) * 0x1p-24f * (fabsf(logit) + 2 * length);
}

static int32_t best_within(const cq_kernels *k, const cq_linear *output, const float *x, const float *u,
                           const float *maxima, float length) {
  const int64_t n = output->weight->rows, dim = output->weight->cols;
  int64_t panel = 0, at = 0;
  for (int64_t p = 1; p < panels_of(n); p++)
    if (maxima[p] > maxima[panel]) panel = p;
  for (int64_t j = 0; j < PANEL; j++)
    if (u[panel * PANEL + j] == maxima[panel]) at = panel * PANEL + j;
  token best = {(int32_t)at, logit_of(k, output, x, at)};
  float threshold = best.logit - slack_of(best.logit, length, dim);
  for (int64_t p = 0; p < panels_of(n); p++) {
    if (maxima[p] < threshold) continue;
    for (int64_t j = p * PANEL; j < (p + 1) * PANEL && j < n; j++) {
      if (u[j] < threshold) continue;
      const float logit = logit_of(k, output, x, j);
      if (logit < best.logit || (logit == best.logit && j > best.id)) continue;
      best = (token){(int32_t)j, logit};
      threshold = logit - slack_of(logit, length, dim);
    }
  }
  return best.id;
}

cq_status cq_token_best(int32_t *best, cq_worker *worker, const cq_linear *output, const cq_token_bounds *b,
                        cq_tensor x, cq_error *error) {
  if (!b->kernels) return best_of_all(best, worker, output, x, error);
  const cq_kernels *k = worker->kernels;
  const int64_t m = x.rows, n = output->weight->rows, dim = x.cols, n_panels = panels_of(n);
  cq_workspace *w = &worker->workspace;
  cq_mark mark = cq_workspace_mark(w);
  cq_tensor units = cq_workspace_f32(w, m, dim), u = cq_workspace_f32(w, m, n_panels * PANEL),
            maxima = cq_workspace_f32(w, 1, n_panels);
  uint8_t *left = cq_workspace_take(w, (size_t)m * (size_t)cq_int8_row_bytes(dim));
  cq_int8_terms *terms = cq_workspace_take(w, (size_t)m * sizeof *terms);
  float *lengths = cq_workspace_take(w, (size_t)m * sizeof *lengths);
  if (!units.data || !u.data || !maxima.data || !left || !terms || !lengths) return cq_fail_memory(error, "logits");
  assert(cq_is_dense(x) && dim == output->weight->cols);
  k->normalize(cq_f32(units), lengths, cq_f32(x), m, dim);
  for (int64_t i = 0; i < m; i++)
    if (!isfinite(lengths[i])) memset(cq_f32(units) + i * dim, 0, (size_t)dim * sizeof(float));
  b->kernels->quantize_left(left, terms, cq_f32(units), m, dim);
  b->kernels->bounds(cq_f32(u), u.stride, left, terms, b->packed, m, n, dim);
  for (int64_t i = 0; i < m; i++) {
    const float length = lengths[i] * b->longest;
    best[i] = 0;
    if (!isfinite(length)) continue;
    panel_maxima(cq_f32(maxima), cq_f32(u) + i * u.stride, b->bias, length, n_panels);
    best[i] = best_within(k, output, cq_f32(x) + i * dim, cq_f32(u) + i * u.stride, cq_f32(maxima), length);
  }
  cq_workspace_release(w, mark);
  return CQ_OK;
}
