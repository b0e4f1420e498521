/* The loss of distillation, the gradient norm, the optimizer's step, and the update of word vectors. */
#include "tensor/ref/reference.h"

#include <math.h>

double ref_squared_error(float *gradient, const float *y, const float *target, float factor, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) {
    float difference = y[i] - target[i];
    if (gradient) gradient[i] = factor * difference;
    sum += (double)difference * (double)difference;
  }
  return sum;
}

double ref_sum_squares(const float *x, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
  return sum;
}

void ref_adamw(float *p, float *m, float *v, const float *g, int64_t n, const cq_adamw *step) {
  const float decay = (float)(1.0 - step->learning_rate * step->weight_decay);
  const float beta1 = (float)step->beta1, rest1 = (float)(1.0 - step->beta1);
  const float beta2 = (float)step->beta2, rest2 = (float)(1.0 - step->beta2);
  const float rate = (float)(step->learning_rate / step->correction1);
  const float root2 = (float)sqrt(step->correction2), eps = (float)step->eps, least = CQ_ADAMW_LEAST(eps);
  for (int64_t i = 0; i < n; i++) {
    float gradient = g ? g[i] * step->gradient_scale : 0.0f;
    m[i] = beta1 * m[i] + rest1 * gradient;
    if (!(fabsf(m[i]) > least)) m[i] = 0;
    v[i] = beta2 * v[i] + rest2 * gradient * gradient;
    p[i] = decay * p[i] - rate * (m[i] / (sqrtf(v[i]) / root2 + eps));
  }
}

void ref_negative_sampling(float *dx, const float *x, float *outputs, int64_t stride, const uint32_t *rows, int64_t n,
                           float rate, int64_t dim) {
  for (int64_t j = 0; j < dim; j++) dx[j] = 0;
  for (int64_t i = 0; i < n; i++) {
    float *o = outputs + rows[i] * stride, f = 0;
    for (int64_t j = 0; j < dim; j++) f += x[j] * o[j];
    if (fabsf(f) >= 6) continue;
    const float g = rate * ((i == 0) - 1 / (1 + expf(-f)));
    for (int64_t j = 0; j < dim; j++) {
      dx[j] += g * o[j];
      o[j] += g * x[j];
    }
  }
}
