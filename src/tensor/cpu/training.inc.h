/* The LSTM cell, the loss, the gradient's length, and the optimiser's step. */

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

/* Squares are summed in f32 over runs short enough for that, the runs in double precision. */
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
  const vf gradient_scale = v_set(step->gradient_scale);
  for (int64_t i = 0; i < n; i += LANES) {
    vf gradient = g ? v_load_n(g + i, n - i) * gradient_scale : v_set(0.0f);
    vf m_i = v_fma(rest1, gradient, beta1 * v_load_n(m + i, n - i));
    vf v_i = v_fma(rest2 * gradient, gradient, beta2 * v_load_n(v + i, n - i));
    v_store_n(m + i, m_i, n - i);
    v_store_n(v + i, v_i, n - i);
    vf change = m_i / (v_sqrt(v_i) / root2 + eps);
    v_store_n(p + i, v_fnma(rate, change, decay * v_load_n(p + i, n - i)), n - i);
  }
}
