/* Vectors of first columns, kept for other files: cq_eval_memory. */
#ifndef RECIPE_EVALUATE_ENCODED_ONCE_H
#define RECIPE_EVALUATE_ENCODED_ONCE_H

#include "base/slice.h"
#include "calque/eval.h"

/* Like cq_encode_column for a file's first column, but copies vectors that options->memory has, and adds the others to
 * it. */
CQ_MUST_USE cq_status cq_encode_first_column(float **out, const cq_encoder *encoder, cq_context *ctx,
                                             const cq_slice *sentences, size_t n, const cq_eval_options *options,
                                             cq_error *error);

#endif
