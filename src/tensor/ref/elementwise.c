/* One element at a time. */
#include "tensor/ref/reference.h"

#include "tensor/levels.h"

#include <math.h>

static const double sqrt_half = 0.70710678118654752440;       /* 1 / sqrt 2 */
static const double gauss_peak = 0.39894228040143267794;      /* 1 / sqrt(2 pi) */
static const double gelu_tanh_inner = 0.79788456080286535588; /* sqrt(2 / pi) */
static const double gelu_tanh_cubic = 0.044715;

static double sigmoid_f64(double x) {
  return 1.0 / (1.0 + exp(-x));
}

/* y = f(x) */
static double activation_value(double x, cq_activation activation) {
  switch (activation) {
  case CQ_IDENTITY: return x;
  case CQ_GELU: return x * 0.5 * (1.0 + erf(x * sqrt_half));
  case CQ_GELU_TANH: return x * 0.5 * (1.0 + tanh(gelu_tanh_inner * (x + gelu_tanh_cubic * x * x * x)));
  case CQ_RELU: return x < 0 ? 0 : x; /* this way round, so that NaN stays NaN */
  case CQ_TANH: return tanh(x);
  case CQ_SIGMOID: return sigmoid_f64(x);
  case CQ_SILU: return x * sigmoid_f64(x);
  }
  return x;
}

/* f'(x) */
static double activation_slope(double x, cq_activation activation) {
  switch (activation) {
  case CQ_IDENTITY: return 1;
  case CQ_GELU: return 0.5 * (1.0 + erf(x * sqrt_half)) + x * gauss_peak * exp(-0.5 * x * x);
  case CQ_GELU_TANH: {
    double t = tanh(gelu_tanh_inner * (x + gelu_tanh_cubic * x * x * x));
    double inner = gelu_tanh_inner * (1.0 + 3.0 * gelu_tanh_cubic * x * x);
    return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * inner;
  }
  case CQ_RELU: return x > 0 ? 1 : 0;
  case CQ_TANH: {
    double t = tanh(x);
    return 1.0 - t * t;
  }
  case CQ_SIGMOID: {
    double s = sigmoid_f64(x);
    return s * (1.0 - s);
  }
  case CQ_SILU: {
    double s = sigmoid_f64(x);
    return s * (1.0 + x * (1.0 - s));
  }
  }
  return 1;
}

float ref_activation(float x, cq_activation activation) {
  return (float)activation_value((double)x, activation);
}

void ref_activate(float *y, const float *x, int64_t n, cq_activation activation) {
  for (int64_t i = 0; i < n; i++) y[i] = ref_activation(x[i], activation);
}

void ref_activate_backward(float *dx, const float *dy, const float *x, int64_t n, cq_activation activation) {
  for (int64_t i = 0; i < n; i++) dx[i] = (float)((double)dy[i] * activation_slope((double)x[i], activation));
}

void ref_add(float *y, const float *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] += x[i];
}

void ref_multiply(float *y, const float *x, const float *z, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = x[i] * z[i];
}

void ref_scale(float *y, const float *x, float factor, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = factor * x[i];
}

void ref_dropout(float *y, int64_t n, cq_dropout dropout) {
  if (!(dropout.rate > 0)) return;
  cq_dropout_rule rule = cq_dropout_rule_of(dropout.rate);
  for (int64_t i = 0; i < n; i++) {
    bool kept = cq_dropout_bits(dropout.key, (uint32_t)i) >= rule.threshold;
    y[i] = kept ? y[i] * rule.factor : 0.0f;
  }
}

void ref_gather(float *y, const float *table, const int32_t *ids, int64_t n, int64_t dim, bool accumulate) {
  for (int64_t i = 0; i < n; i++) {
    const float *row = &table[ids[i] * dim];
    for (int64_t j = 0; j < dim; j++) y[i * dim + j] = accumulate ? y[i * dim + j] + row[j] : row[j];
  }
}

static float of_four_bits(const cq_narrow_rows *table, int64_t row, int64_t j, int64_t dim) {
  const int64_t half = dim / 2;
  const int bits = ((const uint8_t *)table->data)[row * half + (j < half ? j : j - half)] >> (j < half ? 0 : 4) & 15;
  return (float)(bits < 8 ? bits : bits - 16) * table->scales[row];
}

static float widened(const cq_narrow_rows *table, int64_t row, int64_t at) {
  uint16_t half;
  if (table->dtype == CQ_I8) return (float)((const int8_t *)table->data)[at] * table->scales[row];
  memcpy(&half, (const char *)table->data + 2 * at, sizeof half);
  if (table->dtype == CQ_BF16) {
    const uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
  }
  const int exponent = half >> 10 & 31, fraction = half & 1023;
  const float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                     : exponent     ? ldexpf((float)(1024 + fraction), exponent - 25)
                                    : ldexpf((float)fraction, -24);
  return half & 0x8000 ? -size : size;
}

void ref_gather_narrow(float *y, const cq_narrow_rows *table, const int32_t *ids, int64_t n, int64_t dim) {
  for (int64_t i = 0; i < n; i++) {
    const int64_t row = ids ? ids[i] : i;
    for (int64_t j = 0; j < dim; j++)
      y[i * dim + j] = table->dtype == CQ_I4 ? of_four_bits(table, row, j, dim) : widened(table, row, row * dim + j);
  }
}

void ref_scatter_add(float *table, const float *y, const int32_t *ids, int64_t n, int64_t dim) {
  for (int64_t i = 0; i < n; i++) {
    float *row = &table[ids[i] * dim];
    for (int64_t j = 0; j < dim; j++) row[j] += y[i * dim + j];
  }
}
