/* The parts of a search other than products. */

/* Finds the few high scores among many: two comparisons per vector, and a loop over the bits set. */

static int64_t at_least(uint32_t *hits, const float *scores, int64_t stride, const float *row_bounds,
                        const float *column_bounds, int64_t m, int64_t n) {
  int64_t n_hits = 0;
  for (int64_t i = 0; i < m; i++, scores += stride) {
    const vf row_bound = v_set(row_bounds[i]);
    for (int64_t j = 0; j < n; j += LANES) {
      const vf score = v_load_n(scores + j, n - j), column_bound = v_load_n(column_bounds + j, n - j);
      uint32_t mask = v_mask_at_least(score, row_bound) | v_mask_at_least(score, column_bound);
      if (n - j < LANES) mask &= (1u << (n - j)) - 1;
      for (; mask; mask &= mask - 1) hits[n_hits++] = (uint32_t)(i << 16 | (j + __builtin_ctz(mask)));
    }
  }
  return n_hits;
}

typedef float half_vf __attribute__((vector_size(sizeof(vf) / 2)));
typedef double vd __attribute__((vector_size(sizeof(vf))));
enum { DOT_PARTS = 16, DOT_LANES = LANES / 2, DOT_VECTORS = DOT_PARTS / DOT_LANES };

INLINE vd v_widen(const float *p) {
  half_vf x;
  memcpy(&x, p, sizeof x);
  return __builtin_convertvector(x, vd);
}

static double exact_dot(const float *x, const float *y, int64_t n) {
  vd parts[DOT_VECTORS] = {0};
  double sum = 0;
  int64_t i = 0;
  for (; i + DOT_PARTS <= n; i += DOT_PARTS)
#pragma GCC unroll 8
    for (int v = 0; v < DOT_VECTORS; v++) parts[v] += v_widen(x + i + v * DOT_LANES) * v_widen(y + i + v * DOT_LANES);
  for (; i < n; i++) sum += (double)x[i] * (double)y[i];
#pragma GCC unroll 8
  for (int v = 0; v < DOT_VECTORS; v++)
#pragma GCC unroll 8
    for (int l = 0; l < DOT_LANES; l++) sum += parts[v][l];
  return sum;
}
