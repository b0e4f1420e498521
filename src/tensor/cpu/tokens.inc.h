/* Probabilities of tokens. A row of logits (125 KiB for 32,000 tokens) is read two or three times and stays in the L2
 * cache meanwhile: for its maximum, for exponentials and their sum, and for the requested result. */

INLINE float row_max(const float *x, int64_t dim) {
  vf max[4];
  for (int p = 0; p < 4; p++) max[p] = v_set(-INFINITY);
  FOR_ROW(dim, { max[part] = v_max_of(max[part], v_fill_tail(v_load_n(x + i, n), n, -INFINITY)); });
  return v_reduce_max(v_max_of(v_max_of(max[0], max[1]), v_max_of(max[2], max[3])));
}

/* The sum of e^(x - max), and the exponentials in `powers` (may be x; NULL: not kept). row_max may miss a NaN, but the
 * sum becomes NaN then. */
INLINE float row_exponentials(float *powers, const float *x, float max, int64_t dim) {
  row_sum sum = {0};
  FOR_ROW(dim, {
    vf e = v_exp2((v_load_n(x + i, n) - v_set(max)) * v_set(log2_e));
    if (powers) v_store_n(powers + i, e, n);
    sum.part[part] += v_fill_tail(e, n, 0.0f);
  });
  return row_total(&sum);
}

static void log_softmax(float *y, int64_t y_stride, const float *x, int64_t x_stride, int64_t rows, int64_t n_logits) {
  for (int64_t row = 0; row < rows; row++) {
    const float *x_row = x + row * x_stride;
    float *y_row = y + row * y_stride;
    const float max = row_max(x_row, n_logits);
    const vf max_of_row = v_set(max), log_sum = v_log(v_set(row_exponentials(NULL, x_row, max, n_logits)));
    FOR_ROW(n_logits, {
      (void)part;
      v_store_n(y_row + i, v_load_n(x_row + i, n) - max_of_row - log_sum, n);
    });
  }
}

INLINE float row_sum_of(const float *x, int64_t dim) {
  row_sum sum = {0};
  FOR_ROW(dim, { sum.part[part] += v_load_n(x + i, n); });
  return row_total(&sum);
}

static double cross_entropy(float *gradient, const float *logits, int64_t stride, const int32_t *ids, float factor,
                            float smoothing, int64_t rows, int64_t n_logits) {
  const float share = smoothing / (float)n_logits;
  double loss = 0;
  for (int64_t row = 0; row < rows; row++) {
    const float *x = logits + row * stride;
    float *g = gradient ? gradient + row * stride : NULL;
    const float max = row_max(x, n_logits), expected = x[ids[row]];
    const double mean = smoothing > 0 ? (double)row_sum_of(x, n_logits) / (double)n_logits : 0;
    const float sum = row_exponentials(g, x, max, n_logits);
    const double target =
        smoothing > 0 ? (1 - (double)smoothing) * (double)expected + (double)smoothing * mean : (double)expected;
    loss += log((double)sum) + ((double)max - target);
    if (!g) continue;
    const vf scaled = v_set(factor / sum), less = v_set(factor * share);
    FOR_ROW(n_logits, {
      (void)part;
      v_store_n(g + i, v_load_n(g + i, n) * scaled - less, n);
    });
    g[ids[row]] -= factor * (1 - smoothing);
  }
  return loss;
}
