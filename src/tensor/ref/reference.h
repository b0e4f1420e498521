/* The reference level: plain loops that say what each kernel of tensor/kernels.h means. Sums are in double precision,
 * and functions are libm's; nothing here is meant to be fast. tensor/kernels.h has the contract of each entry. */
#ifndef TENSOR_REF_REFERENCE_H
#define TENSOR_REF_REFERENCE_H

#include "tensor/kernels.h"

/* products.c */
int64_t ref_packed_floats(int64_t k, int64_t n);
void ref_pack(float *packed, const float *b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n);
void ref_product(float *c, int64_t c_stride, const float *a, int64_t a_stride, const float *packed, int64_t m,
                 int64_t n, int64_t k, const cq_epilogue *epilogue);
void ref_product_transposed(float *c, int64_t c_stride, const float *a, int64_t a_stride, const float *b,
                            int64_t b_stride, int64_t m, int64_t n, int64_t k, float *scratch);
void ref_add_columns(float *sum, const float *a, int64_t a_stride, int64_t m, int64_t n);

/* search.c */
int64_t ref_at_least(uint32_t *hits, const float *scores, int64_t stride, const float *row_bounds,
                     const float *column_bounds, int64_t m, int64_t n);
float ref_dot(const float *x, const float *y, int64_t n);
double ref_exact_dot(const float *x, const float *y, int64_t n);

/* elementwise.c */
float ref_activation(float x, cq_activation activation);
void ref_activate(float *y, const float *x, int64_t n, cq_activation activation);
void ref_activate_backward(float *dx, const float *dy, const float *x, int64_t n, cq_activation activation);
void ref_add(float *y, const float *x, int64_t n);
void ref_multiply(float *y, const float *x, const float *z, int64_t n);
void ref_scale(float *y, const float *x, float factor, int64_t n);
void ref_dropout(float *y, int64_t n, cq_dropout dropout);
void ref_gather(float *y, const float *table, const int32_t *ids, int64_t n, int64_t dim, bool accumulate);
void ref_gather_narrow(float *y, const cq_narrow_rows *table, const int32_t *ids, int64_t n, int64_t dim);
void ref_scatter_add(float *table, const float *y, const int32_t *ids, int64_t n, int64_t dim);

/* pooling.c */
void ref_pool(float *y, int32_t *argmax, const float *tokens, int64_t n_tokens, int64_t dim, cq_pooling_mode mode);
void ref_pool_backward(float *dtokens, const float *dy, const int32_t *argmax, int64_t n_tokens, int64_t dim,
                       cq_pooling_mode mode);

/* rows.c */
void ref_layer_norm(float *y, float *xhat, float *rstd, const float *x, const float *residual, const float *gamma,
                    const float *beta, float eps, int64_t rows, int64_t dim);
void ref_layer_norm_backward(float *dx, float *dgamma, float *dbeta, const float *dy, const float *xhat,
                             const float *rstd, const float *gamma, int64_t rows, int64_t dim);
void ref_rms_norm(float *y, float *xhat, float *rstd, const float *x, const float *gamma, float offset, float eps,
                  int64_t rows, int64_t dim);
void ref_rms_norm_backward(float *dx, float *dgamma, const float *dy, const float *xhat, const float *rstd,
                           const float *gamma, float offset, int64_t rows, int64_t dim);
void ref_rotate(float *x, int64_t stride, const float *turns, bool back, int64_t rows, int64_t n_heads,
                int64_t head_dim, int64_t n_turned);
void ref_normalize(float *y, float *length, const float *x, int64_t rows, int64_t dim);
void ref_normalize_backward(float *dx, const float *dy, const float *y, const float *length, int64_t rows, int64_t dim);

/* attention.c */
int64_t ref_attention_scratch(int64_t n_tokens, int64_t head_dim);
void ref_attention(float *out, float *log_sum, const float *q, const float *k, const float *v,
                   const cq_attention_shape *shape, float *scratch);
void ref_attention_backward(float *dq, float *dk, float *dv, float *dbias, const float *dout, const float *out,
                            const float *log_sum, const float *q, const float *k, const float *v,
                            const cq_attention_shape *shape, float *scratch);

/* lstm.c */
void ref_lstm_cell(float *h, int64_t h_stride, float *c, float *gates, const float *c_before, int64_t rows,
                   int64_t dim);
void ref_lstm_cell_backward(float *dgates, float *dc, const float *dh, const float *gates, const float *c,
                            const float *c_before, int64_t rows, int64_t dim);

/* tokens.c */
void ref_log_softmax(float *y, int64_t y_stride, const float *x, int64_t x_stride, int64_t rows, int64_t n);
double ref_cross_entropy(float *gradient, const float *logits, int64_t stride, const int32_t *ids, float factor,
                         float smoothing, int64_t rows, int64_t n);

/* training.c */
double ref_squared_error(float *gradient, const float *y, const float *target, float factor, int64_t n);
double ref_sum_squares(const float *x, int64_t n);
void ref_adamw(float *p, float *m, float *v, const float *g, int64_t n, const cq_adamw *step);
void ref_negative_sampling(float *dx, const float *x, float *outputs, int64_t stride, const uint32_t *rows, int64_t n,
                           float rate, int64_t dim);

#endif
