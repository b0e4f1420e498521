/* What the kernel tests share: buffers between guard zones, and a comparison that NaN cannot pass. */
#ifndef TESTS_TENSOR_HARNESS_H
#define TESTS_TENSOR_HARNESS_H

#include "base/arena.h"
#include "base/random.h"
#include "tensor/kernels.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

enum { GUARD = 32 };
static const float guard_value = 1234567.0f;

/* All buffers of a test; release with cq_arena_free. */
static cq_arena arena;
static cq_random rng = {12345};
/* Off while a test expects comparisons to fail. */
static bool verbose = true;

/* n floats between guards, `offset` floats past a cache line. */
static inline float *buffer(int64_t n, int64_t offset) {
  float *base = cq_arena_array(&arena, (size_t)(n + 2 * GUARD + offset), sizeof *base);
  assert_non_null(base);
  for (int64_t i = 0; i < n + 2 * GUARD + offset; i++) base[i] = guard_value;
  return base + GUARD + offset;
}

static inline float uniform(float low, float high) {
  return low + (high - low) * (float)cq_random_uniform(&rng);
}

static inline float *random_buffer(int64_t n, int64_t offset, float low, float high) {
  float *x = buffer(n, offset);
  for (int64_t i = 0; i < n; i++) x[i] = uniform(low, high);
  return x;
}

static inline float *copy_of(const float *x, int64_t n, int64_t offset) {
  float *y = buffer(n, offset);
  if (n > 0) memcpy(y, x, (size_t)n * sizeof *y);
  return y;
}

/* Nothing was written before or after the n floats. */
static inline bool intact(const char *what, const float *x, int64_t n) {
  for (int64_t i = 1; i <= GUARD; i++) {
    if (x[-i] == guard_value && x[n + i - 1] == guard_value) continue;
    if (verbose) print_error("%s: written outside of its %lld floats\n", what, (long long)n);
    return false;
  }
  return true;
}

/* |got - want| <= absolute + relative |want| everywhere; a NaN or infinity only where the other has the same. */
static inline bool near(const char *what, const float *got, const float *want, int64_t n, double absolute,
                        double relative) {
  for (int64_t i = 0; i < n; i++) {
    double g = (double)got[i], w = (double)want[i];
    bool same = isnan(w) ? isnan(g) : isinf(w) ? g == w : fabs(g - w) <= absolute + relative * fabs(w);
    if (same) continue;
    if (verbose)
      print_error("%s: element %lld of %lld is %.9g, expected %.9g\n", what, (long long)i, (long long)n, g, w);
    return false;
  }
  return intact(what, got, n) && intact(what, want, n);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

#endif
