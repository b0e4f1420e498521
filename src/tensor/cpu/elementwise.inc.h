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

static void multiply_elements(float *y, const float *x, const float *z, int64_t n) {
  for (int64_t i = 0; i < n; i += LANES) v_store_n(y + i, v_load_n(x + i, n - i) * v_load_n(z + i, n - i), n - i);
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
  if (dim == 1) { /* a relative position's bias: with dim 1, a call and a mask per element would be most of the work */
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

/* ---- narrow rows ---- */

typedef uint16_t halves __attribute__((vector_size(2 * LANES)));
typedef int8_t bytes_8 __attribute__((vector_size(LANES)));

/* LANES elements from `from` on, of which n exist. */
INLINE vf v_of_bytes(const int8_t *from, int64_t n) {
  bytes_8 x = {0};
  if (n >= LANES)
    memcpy(&x, from, sizeof x);
  else
    memcpy(&x, from, (size_t)n);
  return v_to_float(__builtin_convertvector(x, vi));
}
INLINE vi v_of_halves(const char *from, int64_t n) {
  halves x = {0};
  if (n >= LANES)
    memcpy(&x, from, sizeof x);
  else
    memcpy(&x, from, (size_t)n * sizeof(uint16_t));
  return __builtin_convertvector(x, vi);
}
INLINE vf v_of_bf16(const char *from, int64_t n) {
  return (vf)(v_of_halves(from, n) << 16);
}
/* Shifts the fraction and exponent of f16 to their f32 positions, times 2^112 (the difference of the biases). */
INLINE vf v_of_f16(const char *from, int64_t n) {
  const vi x = v_of_halves(from, n), rest = x & 0x7FFF, sign = (x & 0x8000) << 16;
  const vi special = (rest >= 0x7C00) & 0x7F800000; /* infinity and NaN */
  return (vf)((vi)((vf)(rest << 13) * 0x1p112f) | special | sign);
}

#define FOR_NARROW_ROWS(ELEMENTS)                                                                                      \
  for (int64_t i = 0; i < n; i++) {                                                                                    \
    const int64_t row = ids ? ids[i] : i;                                                                              \
    for (int64_t j = 0; j < dim; j += LANES) {                                                                         \
      const int64_t at = row * dim + j;                                                                                \
      v_store_n(y + i * dim + j, ELEMENTS, dim - j);                                                                   \
    }                                                                                                                  \
  }

static void gather_four_bits(float *y, const cq_narrow_rows *table, const int32_t *ids, int64_t n, int64_t dim) {
  const int64_t half = dim / 2;
  for (int64_t i = 0; i < n; i++) {
    const int64_t row = ids ? ids[i] : i;
    const int8_t *from = (const int8_t *)table->data + row * half;
    const vf scale = v_set(table->scales[row]);
    for (int64_t j = 0; j < half; j += LANES) {
      const vi both = v_to_int(v_of_bytes(from + j, half - j));
      v_store_n(y + i * dim + j, v_to_float(both << 28 >> 28) * scale, half - j);
      v_store_n(y + i * dim + half + j, v_to_float(both >> 4) * scale, half - j);
    }
  }
}

static void gather_narrow(float *y, const cq_narrow_rows *table, const int32_t *ids, int64_t n, int64_t dim) {
  const char *data = table->data;
  switch (table->dtype) {
  case CQ_I4: gather_four_bits(y, table, ids, n, dim); break;
  case CQ_I8: FOR_NARROW_ROWS(v_of_bytes((const int8_t *)table->data + at, dim - j) * v_set(table->scales[row])) break;
  case CQ_BF16: FOR_NARROW_ROWS(v_of_bf16(data + 2 * at, dim - j)) break;
  default: FOR_NARROW_ROWS(v_of_f16(data + 2 * at, dim - j))
  }
}

static void scatter_add(float *table, const float *y, const int32_t *ids, int64_t n, int64_t dim) {
  if (dim == 1) {
    for (int64_t i = 0; i < n; i++) table[ids[i]] += y[i];
    return;
  }
  for (int64_t i = 0; i < n; i++) add(table + ids[i] * dim, y + i * dim, dim);
}
