/* Element types, as files name them and tensors use them. */
#ifndef BASE_DTYPE_H
#define BASE_DTYPE_H

#include <stddef.h>

typedef enum cq_dtype {
  CQ_F32,
  CQ_F16,
  CQ_BF16,
  CQ_F64,
  CQ_I8,
  CQ_U8,
  CQ_I32,
  CQ_I64,
  CQ_BOOL,
  CQ_I4, /* rows of an even number, two in a byte, which files call U8 */
  CQ_OTHER_DTYPE
} cq_dtype;

/* Bytes of an element; 0 for CQ_I4 and CQ_OTHER_DTYPE. */
static inline size_t cq_dtype_size(cq_dtype dtype) {
  static const unsigned char sizes[] = {
      [CQ_F32] = 4, [CQ_F16] = 2, [CQ_BF16] = 2, [CQ_F64] = 8, [CQ_I8] = 1,         [CQ_U8] = 1,
      [CQ_I32] = 4, [CQ_I64] = 8, [CQ_BOOL] = 1, [CQ_I4] = 0,  [CQ_OTHER_DTYPE] = 0};
  return sizes[dtype];
}

#endif
