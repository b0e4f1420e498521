/* Vectors of first columns, kept from file to file: cq_eval_memory. */
#ifndef RECIPE_EVALUATE_ENCODED_ONCE_H
#define RECIPE_EVALUATE_ENCODED_ONCE_H

#include "base/slice.h"
#include "calque/eval.h"

/* cq_encode_column of a file's first column; what options->memory has is copied, and what it lacks is added. */
CQ_MUST_USE cq_status cq_encode_first_column(float **out, const cq_encoder *encoder, cq_context *ctx,
                                             const cq_slice *sentences, size_t n, const cq_eval_options *options,
                                             cq_error *error);

#endif
