/* Kernels that treat each row independently. */
#include "tensor/ref/reference.h"

#include "tensor/levels.h"

#include <math.h>

void ref_layer_norm(float *y, float *xhat, float *rstd, const float *x, const float *residual, const float *gamma,
                    const float *beta, float eps, int64_t rows, int64_t dim) {
  for (int64_t i = 0; i < rows; i++) {
    const float *x_row = &x[i * dim], *residual_row = residual ? &residual[i * dim] : NULL;
#define SUM_AT(j) ((double)x_row[j] + (residual_row ? (double)residual_row[j] : 0.0))
    double mean = 0, variance = 0;
    for (int64_t j = 0; j < dim; j++) mean += SUM_AT(j);
    mean /= (double)dim;
    for (int64_t j = 0; j < dim; j++) variance += (SUM_AT(j) - mean) * (SUM_AT(j) - mean);
    variance /= (double)dim;
    double r = 1.0 / sqrt(variance + (double)eps);
    for (int64_t j = 0; j < dim; j++) {
      double h = (SUM_AT(j) - mean) * r;
      y[i * dim + j] = (float)((double)gamma[j] * h + (beta ? (double)beta[j] : 0.0));
      if (xhat) xhat[i * dim + j] = (float)h;
    }
    if (rstd) rstd[i] = (float)r;
#undef SUM_AT
  }
}

/* With dxhat = gamma dy: dx = rstd (dxhat - mean dxhat - xhat mean(dxhat xhat)). */
void ref_layer_norm_backward(float *dx, float *dgamma, float *dbeta, const float *dy, const float *xhat,
                             const float *rstd, const float *gamma, int64_t rows, int64_t dim) {
  for (int64_t i = 0; i < rows; i++) {
    const float *dy_row = &dy[i * dim], *xhat_row = &xhat[i * dim];
    double mean = 0, mean_xhat = 0;
    for (int64_t j = 0; j < dim; j++) {
      double dxhat = (double)dy_row[j] * (double)gamma[j];
      mean += dxhat;
      mean_xhat += dxhat * (double)xhat_row[j];
    }
    mean /= (double)dim;
    mean_xhat /= (double)dim;
    for (int64_t j = 0; j < dim; j++) {
      double dxhat = (double)dy_row[j] * (double)gamma[j];
      if (dgamma) dgamma[j] += dy_row[j] * xhat_row[j];
      if (dbeta) dbeta[j] += dy_row[j];
      dx[i * dim + j] = (float)((double)rstd[i] * (dxhat - mean - (double)xhat_row[j] * mean_xhat));
    }
  }
}

void ref_rms_norm(float *y, float *xhat, float *rstd, const float *x, const float *gamma, float offset, float eps,
                  int64_t rows, int64_t dim) {
  for (int64_t i = 0; i < rows; i++) {
    double squares = 0;
    for (int64_t j = 0; j < dim; j++) squares += (double)x[i * dim + j] * (double)x[i * dim + j];
    const double r = 1.0 / sqrt(squares / (double)dim + (double)eps);
    for (int64_t j = 0; j < dim; j++) {
      const double h = (double)x[i * dim + j] * r;
      y[i * dim + j] = (float)(((double)offset + (double)gamma[j]) * h);
      if (xhat) xhat[i * dim + j] = (float)h;
    }
    if (rstd) rstd[i] = (float)r;
  }
}

/* With dxhat = (offset + gamma) dy: dx = rstd (dxhat - xhat mean(dxhat xhat)). */
void ref_rms_norm_backward(float *dx, float *dgamma, const float *dy, const float *xhat, const float *rstd,
                           const float *gamma, float offset, int64_t rows, int64_t dim) {
  for (int64_t i = 0; i < rows; i++) {
    const float *dy_row = &dy[i * dim], *xhat_row = &xhat[i * dim];
#define DXHAT_AT(j) ((double)dy_row[j] * ((double)offset + (double)gamma[j]))
    double along = 0;
    for (int64_t j = 0; j < dim; j++) along += DXHAT_AT(j) * (double)xhat_row[j];
    along /= (double)dim;
    for (int64_t j = 0; j < dim; j++) {
      if (dgamma) dgamma[j] += dy_row[j] * xhat_row[j];
      dx[i * dim + j] = (float)((double)rstd[i] * (DXHAT_AT(j) - (double)xhat_row[j] * along));
    }
#undef DXHAT_AT
  }
}

void ref_rotate(float *x, int64_t stride, const float *turns, bool back, int64_t rows, int64_t n_heads,
                int64_t head_dim, int64_t n_turned) {
  const int64_t half = n_turned / 2;
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t h = 0; h < n_heads; h++) {
      float *head = &x[i * stride + h * head_dim];
      for (int64_t j = 0; j < half; j++) {
        const double c = (double)turns[i * n_turned + j];
        const double s = back ? -(double)turns[i * n_turned + half + j] : (double)turns[i * n_turned + half + j];
        const double a = (double)head[j], b = (double)head[half + j];
        head[j] = (float)(a * c - b * s);
        head[half + j] = (float)(b * c + a * s);
      }
    }
  }
}

void ref_normalize(float *y, float *length, const float *x, int64_t rows, int64_t dim) {
  for (int64_t i = 0; i < rows; i++) {
    double squares = 0;
    for (int64_t j = 0; j < dim; j++) squares += (double)x[i * dim + j] * (double)x[i * dim + j];
    double l = sqrt(squares);
    if (l < (double)CQ_NORMALIZE_MIN) l = (double)CQ_NORMALIZE_MIN;
    for (int64_t j = 0; j < dim; j++) y[i * dim + j] = (float)((double)x[i * dim + j] / l);
    if (length) length[i] = (float)l;
  }
}

/* dx = (dy - y (y . dy)) / length; a length clamped to its minimum does not depend on x: dx = dy / length. */
void ref_normalize_backward(float *dx, const float *dy, const float *y, const float *length, int64_t rows,
                            int64_t dim) {
  for (int64_t i = 0; i < rows; i++) {
    double along = 0;
    for (int64_t j = 0; j < dim; j++) along += (double)y[i * dim + j] * (double)dy[i * dim + j];
    if (length[i] <= CQ_NORMALIZE_MIN) along = 0;
    for (int64_t j = 0; j < dim; j++)
      dx[i * dim + j] = (float)(((double)dy[i * dim + j] - (double)y[i * dim + j] * along) / (double)length[i]);
  }
}
