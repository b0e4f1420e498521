/* Kernels that work row by row: layer norm, length one, pooling. */

/* Four partial sums, so that an addition does not wait for the previous one. */
typedef struct row_sum {
  vf part[4];
} row_sum;

INLINE float row_total(const row_sum *s) {
  return v_sum((s->part[0] + s->part[1]) + (s->part[2] + s->part[3]));
}

/* Runs the statement in braces over a whole row, with i, the first column, and n, the number of columns; `part` cycles
 * through 0 1 2 3. */
/* clang-format off */
#define FOR_ROW(dim, ...)                                                                                              \
  do {                                                                                                                 \
    int64_t i = 0;                                                                                                     \
    while (i + 4 * LANES <= (dim)) {                                                                                   \
      const int64_t n = LANES;                                                                                         \
      _Pragma("GCC unroll 4") for (int part = 0; part < 4; part++, i += LANES) __VA_ARGS__                             \
    }                                                                                                                  \
    for (int part = 0; i < (dim); part++, i += LANES) {                                                                \
      const int64_t n = at_most((dim) - i, LANES);                                                                     \
      __VA_ARGS__                                                                                                      \
    }                                                                                                                  \
  } while (0)
/* clang-format on */

/* x is read three times, the last two from the L1 cache: its sum with the residual is kept in xhat or, without it, in
 * y. */
static void layer_norm(float *y, float *xhat, float *rstd, const float *x, const float *residual, const float *gamma,
                       const float *beta, float eps, int64_t rows, int64_t dim) {
  const float share = 1.0f / (float)dim;
  for (int64_t row = 0; row < rows; row++) {
    const float *x_row = x + row * dim, *residual_row = residual ? residual + row * dim : NULL;
    float *y_row = y + row * dim, *s_row = xhat ? xhat + row * dim : y_row;
    row_sum sum = {0}, squares = {0};
    FOR_ROW(dim, {
      vf s = v_load_n(x_row + i, n);
      if (residual_row) s += v_load_n(residual_row + i, n);
      v_store_n(s_row + i, s, n);
      sum.part[part] += s;
    });
    const vf mean = v_set(row_total(&sum) * share);
    FOR_ROW(dim, {
      vf centered = v_load_n(s_row + i, n) - mean;
      if (n < LANES) centered = v_fill_tail(centered, n, 0.0f);
      squares.part[part] = v_fma(centered, centered, squares.part[part]);
    });
    const float r = 1.0f / sqrtf(row_total(&squares) * share + eps);
    FOR_ROW(dim, {
      (void)part;
      vf h = (v_load_n(s_row + i, n) - mean) * v_set(r);
      if (xhat) v_store_n(s_row + i, h, n);
      v_store_n(y_row + i, v_fma(v_load_n(gamma + i, n), h, beta ? v_load_n(beta + i, n) : v_set(0.0f)), n);
    });
    if (rstd) rstd[row] = r;
  }
}

/* With dxhat = gamma dy: dx = rstd (dxhat - mean dxhat - xhat mean(dxhat xhat)). */
static void layer_norm_backward(float *dx, float *dgamma, float *dbeta, const float *dy, const float *xhat,
                                const float *rstd, const float *gamma, int64_t rows, int64_t dim) {
  const float share = 1.0f / (float)dim;
  for (int64_t row = 0; row < rows; row++) {
    const float *dy_row = dy + row * dim, *xhat_row = xhat + row * dim;
    row_sum sum = {0}, along = {0};
    FOR_ROW(dim, {
      vf d = v_load_n(dy_row + i, n), h = v_load_n(xhat_row + i, n), g = v_load_n(gamma + i, n) * d;
      if (dgamma) v_store_n(dgamma + i, v_fma(d, h, v_load_n(dgamma + i, n)), n);
      if (dbeta) v_store_n(dbeta + i, v_load_n(dbeta + i, n) + d, n);
      sum.part[part] += g;
      along.part[part] = v_fma(g, h, along.part[part]);
    });
    const vf mean = v_set(row_total(&sum) * share), mean_along = v_set(row_total(&along) * share);
    const vf r = v_set(rstd[row]);
    FOR_ROW(dim, {
      (void)part;
      vf g = v_load_n(gamma + i, n) * v_load_n(dy_row + i, n);
      v_store_n(dx + row * dim + i, r * v_fnma(v_load_n(xhat_row + i, n), mean_along, g - mean), n);
    });
  }
}

static void rms_norm(float *y, float *xhat, float *rstd, const float *x, const float *gamma, float offset, float eps,
                     int64_t rows, int64_t dim) {
  const float share = 1.0f / (float)dim;
  for (int64_t row = 0; row < rows; row++) {
    const float *x_row = x + row * dim;
    row_sum squares = {0};
    FOR_ROW(dim, {
      vf s = v_load_n(x_row + i, n);
      squares.part[part] = v_fma(s, s, squares.part[part]);
    });
    const float r = 1.0f / sqrtf(row_total(&squares) * share + eps);
    FOR_ROW(dim, {
      (void)part;
      vf h = v_load_n(x_row + i, n) * v_set(r);
      if (xhat) v_store_n(xhat + row * dim + i, h, n);
      v_store_n(y + row * dim + i, (v_load_n(gamma + i, n) + v_set(offset)) * h, n);
    });
    if (rstd) rstd[row] = r;
  }
}

/* With dxhat = (offset + gamma) dy: dx = rstd (dxhat - xhat mean(dxhat xhat)). */
static void rms_norm_backward(float *dx, float *dgamma, const float *dy, const float *xhat, const float *rstd,
                              const float *gamma, float offset, int64_t rows, int64_t dim) {
  const float share = 1.0f / (float)dim;
  for (int64_t row = 0; row < rows; row++) {
    const float *dy_row = dy + row * dim, *xhat_row = xhat + row * dim;
    row_sum along = {0};
    FOR_ROW(dim, {
      vf d = v_load_n(dy_row + i, n), h = v_load_n(xhat_row + i, n);
      if (dgamma) v_store_n(dgamma + i, v_fma(d, h, v_load_n(dgamma + i, n)), n);
      along.part[part] = v_fma((v_load_n(gamma + i, n) + v_set(offset)) * d, h, along.part[part]);
    });
    const vf mean_along = v_set(row_total(&along) * share), r = v_set(rstd[row]);
    FOR_ROW(dim, {
      (void)part;
      vf g = (v_load_n(gamma + i, n) + v_set(offset)) * v_load_n(dy_row + i, n);
      v_store_n(dx + row * dim + i, r * v_fnma(v_load_n(xhat_row + i, n), mean_along, g), n);
    });
  }
}

static void rotate(float *x, int64_t stride, const float *turns, bool back, int64_t rows, int64_t n_heads,
                   int64_t head_dim, int64_t n_turned) {
  const int64_t half = n_turned / 2;
  const vf sign = v_set(back ? -1.0f : 1.0f);
  for (int64_t row = 0; row < rows; row++, turns += n_turned) {
    for (int64_t h = 0; h < n_heads; h++) {
      float *low = x + row * stride + h * head_dim, *high = low + half;
      for (int64_t j = 0; j < half; j += LANES) {
        const int64_t n = half - j;
        const vf c = v_load_n(turns + j, n), s = v_load_n(turns + half + j, n) * sign;
        const vf a = v_load_n(low + j, n), b = v_load_n(high + j, n);
        v_store_n(low + j, v_fnma(b, s, a * c), n);
        v_store_n(high + j, v_fma(a, s, b * c), n);
      }
    }
  }
}

static float dot(const float *x, const float *y, int64_t dim) {
  row_sum sum = {0};
  FOR_ROW(dim, { sum.part[part] = v_fma(v_load_n(x + i, n), v_load_n(y + i, n), sum.part[part]); });
  return row_total(&sum);
}

static void normalize(float *y, float *length, const float *x, int64_t rows, int64_t dim) {
  for (int64_t row = 0; row < rows; row++) {
    float l = sqrtf(dot(x + row * dim, x + row * dim, dim));
    if (l < CQ_NORMALIZE_MIN) l = CQ_NORMALIZE_MIN;
    const vf divisor = v_set(l);
    FOR_ROW(dim, {
      (void)part;
      v_store_n(y + row * dim + i, v_load_n(x + row * dim + i, n) / divisor, n);
    });
    if (length) length[row] = l;
  }
}

/* dx = (dy - y (y . dy)) / length; a length clamped to its minimum does not depend on x: dx = dy / length. */
static void normalize_backward(float *dx, const float *dy, const float *y, const float *length, int64_t rows,
                               int64_t dim) {
  for (int64_t row = 0; row < rows; row++) {
    const float *dy_row = dy + row * dim, *y_row = y + row * dim;
    const float along = length[row] <= CQ_NORMALIZE_MIN ? 0.0f : dot(y_row, dy_row, dim);
    const vf share = v_set(along), divisor = v_set(length[row]);
    FOR_ROW(dim, {
      (void)part;
      v_store_n(dx + row * dim + i, v_fnma(v_load_n(y_row + i, n), share, v_load_n(dy_row + i, n)) / divisor, n);
    });
  }
}

/* ---- pooling ---- */

/* All modes but the maximum are a weighted sum of rows [first, last), with weight(i) = constant + i * slope. */
typedef struct pooling_weights {
  int64_t first, last;
  float constant, slope;
} pooling_weights;

INLINE pooling_weights pooling_weights_of(cq_pooling_mode mode, int64_t n) {
  const double count = (double)n;
  switch (mode) {
  case CQ_POOL_CLS: return (pooling_weights){0, 1, 1.0f, 0.0f};
  case CQ_POOL_LAST: return (pooling_weights){n - 1, n, 1.0f, 0.0f};
  case CQ_POOL_MEAN: return (pooling_weights){0, n, (float)(1.0 / count), 0.0f};
  case CQ_POOL_MEAN_SQRT: return (pooling_weights){0, n, (float)(1.0 / sqrt(count)), 0.0f};
  case CQ_POOL_WEIGHTED_MEAN: {
    float step = (float)(2.0 / (count * (count + 1.0)));
    return (pooling_weights){0, n, step, step};
  }
  case CQ_POOL_MAX: break;
  }
  return (pooling_weights){0, 0, 0.0f, 0.0f};
}

/* The first of equals; a NaN wins and stays. */
INLINE void pool_max(float *y, int32_t *argmax, const float *tokens, int64_t n_tokens, int64_t dim) {
  for (int64_t j = 0; j < dim; j += LANES) {
    const int64_t n = at_most(dim - j, LANES);
    vf best = v_load_n(tokens + j, n);
    vi where = {0};
    for (int64_t i = 1; i < n_tokens; i++) {
      vf x = v_load_n(tokens + i * dim + j, n);
      vi taken = (x > best) | ((x != x) & (best == best));
      best = (vf)(((vi)x & taken) | ((vi)best & ~taken));
      where = ((int32_t)i & taken) | (where & ~taken);
    }
    v_store_n(y + j, best, n);
    if (argmax)
      for (int64_t i = 0; i < n; i++) argmax[j + i] = where[i];
  }
}

static void pool(float *y, int32_t *argmax, const float *tokens, int64_t n_tokens, int64_t dim, cq_pooling_mode mode) {
  if (mode == CQ_POOL_MAX) {
    pool_max(y, argmax, tokens, n_tokens, dim);
    return;
  }
  const pooling_weights w = pooling_weights_of(mode, n_tokens);
  for (int64_t j = 0; j < dim; j += LANES) {
    const int64_t n = at_most(dim - j, LANES);
    vf sum = v_set(0.0f);
    for (int64_t i = w.first; i < w.last; i++)
      sum = v_fma(v_set(w.constant + (float)i * w.slope), v_load_n(tokens + i * dim + j, n), sum);
    v_store_n(y + j, sum, n);
  }
}

static void pool_backward(float *dtokens, const float *dy, const int32_t *argmax, int64_t n_tokens, int64_t dim,
                          cq_pooling_mode mode) {
  if (mode == CQ_POOL_MAX) {
    for (int64_t j = 0; j < dim; j++) dtokens[argmax[j] * dim + j] += dy[j];
    return;
  }
  const pooling_weights w = pooling_weights_of(mode, n_tokens);
  for (int64_t i = w.first; i < w.last; i++) {
    float *row = dtokens + i * dim;
    const vf weight = v_set(w.constant + (float)i * w.slope);
    for (int64_t j = 0; j < dim; j += LANES)
      v_store_n(row + j, v_fma(weight, v_load_n(dy + j, dim - j), v_load_n(row + j, dim - j)), dim - j);
  }
}
