/* A model's parameters as an exported file stores them: as they are, transposed, in half precision, or as 8 bits. */
#ifndef RECIPE_EXPORT_WEIGHTS_OF_H
#define RECIPE_EXPORT_WEIGHTS_OF_H

#include "base/file.h"
#include "nn/param.h"

typedef enum cq_stored_as {
  CQ_AS_F32,
  CQ_AS_F16,
  CQ_AS_U8,     /* 128 + q, where q = x / scale and scale = max |x| / 127 of its row */
  CQ_AS_SCALES, /* [rows] f32: the scales of those */
  CQ_AS_Q8_0,   /* of each 32 numbers a scale in f16, then 32 x int8; cols is a multiple of 32 */
} cq_stored_as;

/* Rows [first, first + rows) of a parameter. */
typedef struct cq_stored_weight {
  const cq_param *param;
  cq_stored_as as;
  bool transposed; /* [cols, rows] */
  int64_t first, rows;
} cq_stored_weight;

/* All rows of a parameter. */
cq_stored_weight cq_stored_weight_of(const cq_param *param, cq_stored_as as, bool transposed);
size_t cq_stored_weight_bytes(const cq_stored_weight *w);
/* Errors: CQ_ERR_LIMIT for a number too large for half precision; CQ_ERR_MEMORY, CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_stored_weight_write(const cq_stored_weight *w, cq_writer *file, cq_error *error);

#endif
