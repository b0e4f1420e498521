/* Element types, as files name them and tensors carry them. */
#ifndef BASE_DTYPE_H
#define BASE_DTYPE_H

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
  CQ_OTHER_DTYPE
} cq_dtype;

#endif
