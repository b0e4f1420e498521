/* Exact nearest neighbors by cosine, for translation accuracy. */
#ifndef EVAL_TRANSLATION_H
#define EVAL_TRANSLATION_H

#include "calque/eval.h"

/* best[i] = the row of b [n_b, dim] with the highest cosine to row i of a [n_a, dim], the lowest row on ties; n_b if
 * there is none (n_b is 0, or no cosine is a number). The same as a plain loop in double precision, at every SIMD
 * level. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_best_matches(size_t *best, const float *a, size_t n_a, const float *b, size_t n_b, size_t dim,
                                      cq_context *ctx, cq_error *error);

#endif
