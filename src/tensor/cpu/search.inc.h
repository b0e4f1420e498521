/* Looking for the few scores that matter among many: two comparisons a vector, and a loop over the bits that are set. */

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
