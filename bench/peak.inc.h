/* The peak of multiply-adds: as many independent chains in registers as a product's tile has, no memory.
 * Returns the floating-point operations done; *sink keeps the compiler from leaving them out. */
double PEAK_NAME(float *sink, int64_t steps) {
  enum { CHAINS = TILE_ROWS * TILE_VECTORS };
  vf acc[CHAINS];
  const vf x = v_load(sink), y = v_load(sink + LANES);
#pragma GCC unroll 32
  for (int i = 0; i < CHAINS; i++) acc[i] = v_set((float)i);
  for (int64_t s = 0; s < steps; s++) {
#pragma GCC unroll 32
    for (int i = 0; i < CHAINS; i++) acc[i] = v_fma(acc[i], x, y);
  }
  vf sum = v_set(0.0f);
#pragma GCC unroll 32
  for (int i = 0; i < CHAINS; i++) sum += acc[i];
  v_store(sink, sum);
  return 2.0 * CHAINS * LANES * (double)steps;
}
