/* Which level runs: asked of the processor once, then remembered. Compiled without any level's flags. */
#include "tensor/levels.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static bool always_usable(void) {
  return true;
}

#ifdef CQ_X86
static bool has_avx512(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("fma");
}

static bool has_avx2(void) {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#endif

/* Best first. */
static const struct level {
  const cq_kernels *kernels;
  bool (*runs_here)(void);
} levels[] = {
#ifdef CQ_X86
    {&cq_kernels_avx512, has_avx512},
    {&cq_kernels_avx2, has_avx2},
#endif
    {&cq_kernels_portable, always_usable},
    {&cq_kernels_reference, always_usable},
};

enum { n_levels = (int)(sizeof levels / sizeof *levels) };

const cq_kernels *cq_kernels_named(const char *name) {
  for (size_t i = 0; i < n_levels; i++)
    if (strcmp(levels[i].kernels->name, name) == 0) return levels[i].runs_here() ? levels[i].kernels : NULL;
  return NULL;
}

size_t cq_kernels_all(const cq_kernels **out, size_t max) {
  size_t n = 0;
  for (size_t i = 0; i < n_levels && n < max; i++)
    if (levels[i].runs_here()) out[n++] = levels[i].kernels;
  return n;
}

/* The best level not above the one CALQUE_SIMD names; a name that is none lowers nothing. */
static const cq_kernels *choose_kernels(void) {
  const char *limit = getenv("CALQUE_SIMD");
  size_t first = 0;
  for (size_t i = 0; limit && i < n_levels; i++)
    if (strcmp(levels[i].kernels->name, limit) == 0) first = i;
  for (size_t i = first; i < n_levels; i++)
    if (levels[i].runs_here()) return levels[i].kernels;
  return &cq_kernels_reference;
}

const cq_kernels *cq_kernels_best(void) {
  static _Atomic(const cq_kernels *) best; /* two threads that meet here compute the same */
  const cq_kernels *k = atomic_load_explicit(&best, memory_order_acquire);
  if (!k) {
    k = choose_kernels();
    atomic_store_explicit(&best, k, memory_order_release);
  }
  return k;
}

/* ---- precisions ---- */

const cq_products *cq_products_of(const cq_kernels *kernels, cq_precision precision) {
  for (int p = precision; p > CQ_PRECISION_F32; p--)
    if (kernels->products[p]) return kernels->products[p];
  return kernels->products[CQ_PRECISION_F32];
}

/* ---- 8 bits, for search ---- */

const cq_int8_kernels *cq_int8_best(void) {
#ifdef CQ_X86
  if (cq_kernels_best() == &cq_kernels_avx512 && __builtin_cpu_supports("avx512vnni")) return &cq_int8_avx512vnni;
#endif
  return NULL;
}
