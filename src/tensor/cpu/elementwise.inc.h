/* One element beside the other, LANES at a time. */

INLINE void activate_as(float *y, const float *x, int64_t n, cq_activation activation) {
  for (int64_t i = 0; i < n; i += LANES) v_store_n(y + i, v_activation(v_load_n(x + i, n - i), activation), n - i);
}

static void activate(float *y, const float *x, int64_t n,
                     cq_activation activation){FOR_ACTIVATION(activation, activate_as, y, x, n)}

INLINE void activate_backward_as(float *dx, const float *dy, const float *x, int64_t n, cq_activation activation) {
  for (int64_t i = 0; i < n; i += LANES) {
    vf slope = v_activation_slope(v_load_n(x + i, n - i), activation);
    v_store_n(dx + i, v_load_n(dy + i, n - i) * slope, n - i);
  }
}

static void activate_backward(float *dx, const float *dy, const float *x, int64_t n, cq_activation activation) {
  FOR_ACTIVATION(activation, activate_backward_as, dx, dy, x, n)
}

static void add(float *y, const float *x, int64_t n) {
  for (int64_t i = 0; i < n; i += LANES) v_store_n(y + i, v_load_n(y + i, n - i) + v_load_n(x + i, n - i), n - i);
}

static void scale(float *y, const float *x, float factor, int64_t n) {
  for (int64_t i = 0; i < n; i += LANES) v_store_n(y + i, v_set(factor) * v_load_n(x + i, n - i), n - i);
}

static void dropout(float *y, int64_t n, cq_dropout d) {
  if (!(d.rate > 0)) return;
  const cq_dropout_rule rule = cq_dropout_rule_of(d.rate);
  for (int64_t i = 0; i < n; i += LANES) {
    vf x = v_load_n(y + i, n - i) * v_set(rule.factor);
    v_store_n(y + i, v_where_kept(v_dropout_bits(d.key, (uint32_t)i), rule.threshold, x), n - i);
  }
}

static void gather(float *y, const float *table, const int32_t *ids, int64_t n, int64_t dim, bool accumulate) {
  if (dim == 1) { /* a relative position's bias: a call and a mask each would be most of the work */
    for (int64_t i = 0; i < n; i++) y[i] = accumulate ? y[i] + table[ids[i]] : table[ids[i]];
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    const float *row = table + ids[i] * dim;
    if (accumulate)
      add(y + i * dim, row, dim);
    else
      memcpy(y + i * dim, row, (size_t)dim * sizeof *row);
  }
}

static void scatter_add(float *table, const float *y, const int32_t *ids, int64_t n, int64_t dim) {
  if (dim == 1) {
    for (int64_t i = 0; i < n; i++) table[ids[i]] += y[i];
    return;
  }
  for (int64_t i = 0; i < n; i++) add(table + ids[i] * dim, y + i * dim, dim);
}
