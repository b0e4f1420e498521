/* Pooling: all modes but the maximum are a weighted sum of the rows. */
#include "tensor/ref/reference.h"

#include <math.h>

/* The weight of row i of n. */
static double token_weight(cq_pooling_mode mode, int64_t i, int64_t n) {
  switch (mode) {
  case CQ_POOL_CLS: return i == 0 ? 1 : 0;
  case CQ_POOL_LAST: return i == n - 1 ? 1 : 0;
  case CQ_POOL_MEAN: return 1.0 / (double)n;
  case CQ_POOL_MEAN_SQRT: return 1.0 / sqrt((double)n);
  case CQ_POOL_WEIGHTED_MEAN: return (double)(i + 1) / ((double)n * (double)(n + 1) / 2.0);
  case CQ_POOL_MAX: break;
  }
  return 0;
}

void ref_pool(float *y, int32_t *argmax, const float *tokens, int64_t n_tokens, int64_t dim, cq_pooling_mode mode) {
  for (int64_t j = 0; j < dim; j++) {
    if (mode == CQ_POOL_MAX) {
      int64_t best = 0; /* the first of equals; a NaN wins and stays */
      for (int64_t i = 1; i < n_tokens; i++) {
        float x = tokens[i * dim + j], max = tokens[best * dim + j];
        if (x > max || (isnan(x) && !isnan(max))) best = i;
      }
      y[j] = tokens[best * dim + j];
      if (argmax) argmax[j] = (int32_t)best;
      continue;
    }
    double sum = 0;
    for (int64_t i = 0; i < n_tokens; i++) {
      double w = token_weight(mode, i, n_tokens);
      if (w > 0) sum += w * (double)tokens[i * dim + j];
    }
    y[j] = (float)sum;
  }
}

void ref_pool_backward(float *dtokens, const float *dy, const int32_t *argmax, int64_t n_tokens, int64_t dim,
                       cq_pooling_mode mode) {
  for (int64_t j = 0; j < dim; j++) {
    if (mode == CQ_POOL_MAX) {
      dtokens[argmax[j] * dim + j] += dy[j];
      continue;
    }
    for (int64_t i = 0; i < n_tokens; i++)
      dtokens[i * dim + j] += (float)(token_weight(mode, i, n_tokens) * (double)dy[j]);
  }
}
