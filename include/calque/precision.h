/** @file The number formats of an encoder's products. Sums, norms, softmax and vectors are f32 in all of them. */
#ifndef CALQUE_PRECISION_H
#define CALQUE_PRECISION_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cq_precision {
  CQ_PRECISION_DEFAULT, /**< CALQUE_PRECISION in the environment, else int8 for an int8 model, else f32 */
  CQ_PRECISION_F32,
  CQ_PRECISION_BF16, /**< bfloat16: up to twice as fast if the processor has such products */
  CQ_PRECISION_INT8, /**< weights scaled by output channel, activations by token: up to four times as fast */
} cq_precision;

/** Their names in options, by cq_precision. */
#define CQ_PRECISION_NAMES                                                                                             \
  { "default", "f32", "bf16", "int8", NULL }

#ifdef __cplusplus
}
#endif
#endif
