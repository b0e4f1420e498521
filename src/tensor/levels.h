/* The tables behind dispatch.c, and the few numbers that every level must agree on to the bit. Private to src/tensor/.
 */
#ifndef TENSOR_LEVELS_H
#define TENSOR_LEVELS_H

#include "tensor/kernels.h"

extern const cq_kernels cq_kernels_reference;
extern const cq_kernels cq_kernels_portable;
#ifdef CQ_X86
extern const cq_kernels cq_kernels_avx2;
extern const cq_kernels cq_kernels_avx512;
#endif

/* An element is kept when its bits are at least `threshold`, and then multiplied by `factor`. */
typedef struct cq_dropout_rule {
  uint32_t threshold;
  float factor; /* 0 when nothing is kept */
} cq_dropout_rule;

static inline cq_dropout_rule cq_dropout_rule_of(float rate) {
  if (!(rate < 1.0f)) return (cq_dropout_rule){UINT32_MAX, 0.0f};
  return (cq_dropout_rule){(uint32_t)((double)rate * 4294967296.0), 1.0f / (1.0f - rate)};
}

/* The shortest length a row is divided by. */
#define CQ_NORMALIZE_MIN 1e-12f

#endif
