/* The numbers in which an encoder multiplies. Sums, norms, softmax and vectors are f32 in all of them. */
#ifndef CALQUE_PRECISION_H
#define CALQUE_PRECISION_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cq_precision {
  CQ_PRECISION_DEFAULT, /* what CALQUE_PRECISION in the environment says, else int8 for a model quantized so, else f32 */
  CQ_PRECISION_F32,
  CQ_PRECISION_BF16, /* 8 bits of exponent, 8 of mantissa: up to twice as fast where the processor has such products */
  CQ_PRECISION_INT8, /* 8-bit weights, scaled by output channel, and 8-bit activations, scaled by token: up to four times */
} cq_precision;

/* Their names as options have them, by cq_precision. */
#define CQ_PRECISION_NAMES                                                                                             \
  { "default", "f32", "bf16", "int8", NULL }

#ifdef __cplusplus
}
#endif
#endif
