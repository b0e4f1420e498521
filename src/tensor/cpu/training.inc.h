/* The LSTM cell, the loss, the gradient norm, the optimizer's step, and the update of word vectors. */

static void lstm_cell(float *h, int64_t h_stride, float *c, float *gates, const float *c_before, int64_t rows,
                      int64_t dim) {
  for (int64_t row = 0; row < rows; row++) {
    float *gate = gates + row * 4 * dim;
    for (int64_t j = 0; j < dim; j += LANES, gate += LANES) {
      const int64_t n = dim - j;
      vf i = v_sigmoid(v_load_n(gate, n)), f = v_sigmoid(v_load_n(gate + dim, n));
      vf g = v_tanh(v_load_n(gate + 2 * dim, n)), o = v_sigmoid(v_load_n(gate + 3 * dim, n));
      vf now = i * g;
      if (c_before) now = v_fma(f, v_load_n(c_before + row * dim + j, n), now);
      v_store_n(gate, i, n);
      v_store_n(gate + dim, f, n);
      v_store_n(gate + 2 * dim, g, n);
      v_store_n(gate + 3 * dim, o, n);
      v_store_n(c + row * dim + j, now, n);
      v_store_n(h + row * h_stride + j, o * v_tanh(now), n);
    }
  }
}

static void lstm_cell_backward(float *dgates, float *dc, const float *dh, const float *gates, const float *c,
                               const float *c_before, int64_t rows, int64_t dim) {
  const vf one = v_set(1.0f);
  for (int64_t row = 0; row < rows; row++) {
    const float *gate = gates + row * 4 * dim;
    float *dgate = dgates + row * 4 * dim;
    for (int64_t j = 0; j < dim; j += LANES, gate += LANES, dgate += LANES) {
      const int64_t n = dim - j, at = row * dim + j;
      vf i = v_load_n(gate, n), f = v_load_n(gate + dim, n), g = v_load_n(gate + 2 * dim, n),
         o = v_load_n(gate + 3 * dim, n);
      vf t = v_tanh(v_load_n(c + at, n)), dh_j = v_load_n(dh + at, n);
      vf before = c_before ? v_load_n(c_before + at, n) : v_set(0.0f);
      vf dc_j = v_fma(dh_j * o, v_fnma(t, t, one), v_load_n(dc + at, n));
      v_store_n(dgate, dc_j * g * i * (one - i), n);
      v_store_n(dgate + dim, dc_j * before * f * (one - f), n);
      v_store_n(dgate + 2 * dim, dc_j * i * v_fnma(g, g, one), n);
      v_store_n(dgate + 3 * dim, dh_j * t * o * (one - o), n);
      v_store_n(dc + at, dc_j * f, n);
    }
  }
}

/* Squares are summed in f32 over short runs, and the runs in double precision. */
enum { SUM_RUN = 16 * LANES };

static double squared_error(float *gradient, const float *y, const float *target, float factor, int64_t n_elements) {
  double total = 0;
  for (int64_t first = 0; first < n_elements; first += SUM_RUN) {
    row_sum sum = {0};
    const float *y_run = y + first, *target_run = target + first;
    FOR_ROW(at_most(n_elements - first, SUM_RUN), {
      vf difference = v_load_n(y_run + i, n) - v_load_n(target_run + i, n);
      if (gradient) v_store_n(gradient + first + i, v_set(factor) * difference, n);
      sum.part[part] = v_fma(difference, difference, sum.part[part]);
    });
    total += (double)row_total(&sum);
  }
  return total;
}

static double sum_squares(const float *x, int64_t n) {
  double total = 0;
  for (int64_t first = 0; first < n; first += SUM_RUN)
    total += (double)dot(x + first, x + first, at_most(n - first, SUM_RUN));
  return total;
}

static void adamw(float *p, float *m, float *v, const float *g, int64_t n, const cq_adamw *step) {
  const vf decay = v_set((float)(1.0 - step->learning_rate * step->weight_decay));
  const vf beta1 = v_set((float)step->beta1), rest1 = v_set((float)(1.0 - step->beta1));
  const vf beta2 = v_set((float)step->beta2), rest2 = v_set((float)(1.0 - step->beta2));
  const vf rate = v_set((float)(step->learning_rate / step->correction1));
  const vf root2 = v_set((float)sqrt(step->correction2)), eps = v_set((float)step->eps);
  const vf gradient_scale = v_set(step->gradient_scale), least = v_set(CQ_ADAMW_LEAST((float)step->eps));
  for (int64_t i = 0; i < n; i += LANES) {
    vf gradient = g ? v_load_n(g + i, n - i) * gradient_scale : v_set(0.0f);
    vf m_i = v_fma(rest1, gradient, beta1 * v_load_n(m + i, n - i));
    m_i = v_where_positive(v_abs(m_i) - least, m_i, v_set(0.0f));
    vf v_i = v_fma(rest2 * gradient, gradient, beta2 * v_load_n(v + i, n - i));
    v_store_n(m + i, m_i, n - i);
    v_store_n(v + i, v_i, n - i);
    vf change = m_i / (v_sqrt(v_i) / root2 + eps);
    v_store_n(p + i, v_fnma(rate, change, decay * v_load_n(p + i, n - i)), n - i);
  }
}

/* Up to six rows at a time: their dot products, which contribute to dx, are independent of each other. */
enum { SAMPLED = 6 };

INLINE void sample_rows(float *dx, const float *x, float *const *o, const float *label, float rate, int64_t dim,
                        bool first, const int count) {
  vf sum[SAMPLED], g[SAMPLED];
  float f[LANES] = {0};
#pragma GCC unroll 6
  for (int i = 0; i < count; i++) sum[i] = v_set(0.0f);
  for (int64_t j = 0; j < dim; j += LANES) {
    const vf x_j = v_load_n(x + j, dim - j);
#pragma GCC unroll 6
    for (int i = 0; i < count; i++) sum[i] = v_fma(x_j, v_load_n(o[i] + j, dim - j), sum[i]);
  }
#pragma GCC unroll 6
  for (int i = 0; i < count; i++) f[i % LANES] = v_sum(sum[i]);
  float s[LANES];
  v_store(s, v_sigmoid(v_load(f)));
#pragma GCC unroll 6
  for (int i = 0; i < count; i++) g[i] = v_set(fabsf(f[i % LANES]) >= 6 ? 0.0f : rate * (label[i] - s[i % LANES]));
  for (int64_t j = 0; j < dim; j += LANES) {
    const int64_t n = dim - j;
    const vf x_j = v_load_n(x + j, n);
    vf dx_j = first ? v_set(0.0f) : v_load_n(dx + j, n);
#pragma GCC unroll 6
    for (int i = 0; i < count; i++) {
      const vf o_j = v_load_n(o[i] + j, n);
      dx_j = v_fma(g[i], o_j, dx_j);
      v_store_n(o[i] + j, v_fma(g[i], x_j, o_j), n);
    }
    v_store_n(dx + j, dx_j, n);
  }
}

INLINE bool all_differ(const uint32_t *rows, int64_t n) {
  bool differ = true;
  for (int64_t i = 1; i < n; i++)
    for (int64_t k = 0; k < i; k++) differ &= rows[i] != rows[k];
  return differ;
}

static void negative_sampling(float *dx, const float *x, float *outputs, int64_t stride, const uint32_t *rows,
                              int64_t n, float rate, int64_t dim) {
  const int64_t at_once = at_most(LANES, SAMPLED);
  if (n == 0) memset(dx, 0, (size_t)dim * sizeof *dx);
  for (int64_t i = 0; i < n;) {
    int64_t count = at_most(n - i, at_once);
    if (count > 1 && !all_differ(rows + i, count)) count = 1;
    float *o[SAMPLED], label[SAMPLED];
    for (int k = 0; k < count; k++) o[k] = outputs + rows[i + k] * stride, label[k] = i + k == 0;
    switch (count) {
    case 6: sample_rows(dx, x, o, label, rate, dim, i == 0, 6); break;
    case 5: sample_rows(dx, x, o, label, rate, dim, i == 0, 5); break;
    case 4: sample_rows(dx, x, o, label, rate, dim, i == 0, 4); break;
    case 3: sample_rows(dx, x, o, label, rate, dim, i == 0, 3); break;
    case 2: sample_rows(dx, x, o, label, rate, dim, i == 0, 2); break;
    default: sample_rows(dx, x, o, label, rate, dim, i == 0, 1);
    }
    i += count;
  }
}
