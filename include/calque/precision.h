/* The numbers in which an encoder multiplies. Sums, norms, softmax and vectors are f32 in all of them. */
#ifndef CALQUE_PRECISION_H
#define CALQUE_PRECISION_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cq_precision {
  CQ_PRECISION_F32,
  CQ_PRECISION_BF16, /* 8 bits of exponent and 8 of mantissa: about twice as fast where the processor multiplies it */
  CQ_PRECISION_INT8, /* 8-bit weights by output channel, 8-bit activations by token: about four times */
} cq_precision;
#define CQ_N_PRECISIONS 3

#ifdef __cplusplus
}
#endif
#endif
