/* Probabilities of tokens: softmax by rows, and the negative log-likelihood of one token per row. */
#include "tensor/ref/reference.h"

#include <math.h>

static double row_max(const float *x, int64_t n) {
  double max = -INFINITY;
  for (int64_t j = 0; j < n; j++)
    if (!((double)x[j] <= max)) max = (double)x[j];
  return max;
}

/* log of sum of exp(x - max) */
static double log_sum(const float *x, double max, int64_t n) {
  double sum = 0;
  for (int64_t j = 0; j < n; j++) sum += exp((double)x[j] - max);
  return log(sum);
}

void ref_log_softmax(float *y, int64_t y_stride, const float *x, int64_t x_stride, int64_t rows, int64_t n) {
  for (int64_t i = 0; i < rows; i++) {
    const double max = row_max(x + i * x_stride, n), sum = log_sum(x + i * x_stride, max, n);
    for (int64_t j = 0; j < n; j++) y[i * y_stride + j] = (float)((double)x[i * x_stride + j] - max - sum);
  }
}

double ref_cross_entropy(float *gradient, const float *logits, int64_t stride, const int32_t *ids, float factor,
                         float smoothing, int64_t rows, int64_t n) {
  const double s = (double)smoothing, share = s / (double)n;
  double loss = 0;
  for (int64_t i = 0; i < rows; i++) {
    const float *x = logits + i * stride;
    const double max = row_max(x, n), sum = log_sum(x, max, n);
    loss -= (1 - s) * ((double)x[ids[i]] - max - sum);
    for (int64_t j = 0; j < n && s > 0; j++) loss -= share * ((double)x[j] - max - sum);
    for (int64_t j = 0; j < n && gradient; j++) {
      const double target = share + (j == ids[i] ? 1 - s : 0);
      gradient[i * stride + j] = (float)((double)factor * (exp((double)x[j] - max - sum) - target));
    }
  }
  return loss;
}
