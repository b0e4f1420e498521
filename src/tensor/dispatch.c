/* Chooses the level that runs: detected once, then cached. Compiled without any level's flags. */
#include "tensor/levels.h"

#include "base/processor.h"

#ifdef CQ_X86
#include <cpuid.h>
#endif
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
    {&cq_kernels_avx512, has_avx512},      {&cq_kernels_avx2, has_avx2},
#endif
#ifdef CQ_ARM64
    {&cq_kernels_neon, always_usable},
#endif
    {&cq_kernels_portable, always_usable}, {&cq_kernels_reference, always_usable},
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

/* The best level up to the one in CALQUE_SIMD; an unknown name has no effect. */
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

#ifdef CQ_X86
static bool has_avx512_bf16(void) {
  return has_avx512() && __builtin_cpu_supports("avx512bf16");
}
static bool has_avx512_vnni(void) {
  return has_avx512() && __builtin_cpu_supports("avx512vnni");
}
/* Tested directly: the compilers' feature tests do not know it yet. */
static bool has_avxvnni(void) {
  unsigned eax, ebx, ecx, edx;
  return has_avx2() && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) && (eax & 1u << 4);
}
#endif

#ifdef CQ_AMX
/* Bits for the tiles that the processor and the system allow: 1 for bf16, 2 for 8 bits. */
static int amx_abilities(void) {
  static atomic_int known = -1; /* two threads that meet here compute the same */
  int abilities = atomic_load_explicit(&known, memory_order_relaxed);
  unsigned eax, ebx, ecx, edx;
  if (abilities >= 0) return abilities;
  abilities = 0;
  if (has_avx512() && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (edx & 1u << 24) && cq_processor_allows_amx())
    abilities = (edx & 1u << 22 ? 1 : 0) | (edx & 1u << 25 ? 2 : 0);
  atomic_store_explicit(&known, abilities, memory_order_relaxed);
  return abilities;
}
static bool has_amx_bf16(void) {
  return has_avx512_bf16() && (amx_abilities() & 1);
}
static bool has_amx_int8(void) {
  return has_avx512_vnni() && (amx_abilities() & 2);
}
#endif

/* For each level and precision, the best first. */
static const struct narrow {
  const cq_kernels *level;
  const cq_products *products;
  bool (*runs_here)(void);
} narrows[] = {
#ifdef CQ_AMX
    {&cq_kernels_avx512, &cq_products_bf16_amx, has_amx_bf16},
    {&cq_kernels_avx512, &cq_products_int8_amx, has_amx_int8},
#endif
#ifdef CQ_X86
    {&cq_kernels_avx512, &cq_products_bf16_avx512, has_avx512_bf16},
    {&cq_kernels_avx512, &cq_products_int8_avx512, has_avx512_vnni},
    {&cq_kernels_avx512, &cq_products_int8_avx2, has_avx2},
    {&cq_kernels_avx2, &cq_products_int8_avxvnni, has_avxvnni},
    {&cq_kernels_avx2, &cq_products_int8_avx2, has_avx2},
#endif
#ifdef CQ_ARM64
    {&cq_kernels_neon, &cq_products_bf16_neon, cq_processor_has_bf16},
    {&cq_kernels_neon, &cq_products_int8_i8mm, cq_processor_has_i8mm},
    {&cq_kernels_neon, &cq_products_int8_dotprod, cq_processor_has_dotprod},
#endif
    {&cq_kernels_reference, &cq_products_bf16_reference, always_usable},
    {&cq_kernels_reference, &cq_products_int8_reference, always_usable},
};

enum { n_narrows = (int)(sizeof narrows / sizeof *narrows) };

const cq_products *cq_products_of(const cq_kernels *kernels, cq_precision precision) {
  for (cq_precision p = precision; p > CQ_PRECISION_F32; p--)
    for (size_t i = 0; i < n_narrows; i++)
      if (narrows[i].level == kernels && narrows[i].products->precision == p && narrows[i].runs_here())
        return narrows[i].products;
  return kernels->products;
}

size_t cq_products_all(const cq_products **out, size_t max) {
  size_t n = 0;
  for (size_t i = 0; i < n_narrows && n < max; i++) {
    size_t same = 0;
    while (same < n && out[same] != narrows[i].products) same++;
    if (same == n && narrows[i].runs_here()) out[n++] = narrows[i].products;
  }
  return n;
}

/* ---- 8 bits, for search ---- */

const cq_int8_kernels *cq_int8_best(void) {
#ifdef CQ_X86
  if (cq_kernels_best() == &cq_kernels_avx512 && __builtin_cpu_supports("avx512vnni")) return &cq_int8_avx512vnni;
#endif
  return NULL;
}
