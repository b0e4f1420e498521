/* The best sequence of beads through two documents: a dynamic program, coarse to fine, so that time and memory grow with
 * the documents' length, not its square (Thompson & Koehn 2019, section 3.3).
 *
 *   sentences ──means of two──▶ half as many ──▶ ... ──▶ at most 256: all of the matrix
 *   the path of each level ──▶ a band around it in the level below ──▶ beads within the band of the sentences */
#ifndef RECIPE_ALIGN_PATH_H
#define RECIPE_ALIGN_PATH_H

#include "calque/align.h"
#include "recipe/align/beads.h"

/* Encodes groups of text: those of `wanted[side]` [n * max_group], into sides[side].groups. */
typedef cq_status (*cq_align_encode_fn)(void *context, cq_align_side sides[2], uint8_t *const wanted[2],
                                        cq_error *error);

/* The sides' groups are those that cq_align_side_join() made. word_weights: of the sides' words; NULL: they have none.
 * encode is called once, for the groups of all beads that could be part of a path nearly as good as the best; NULL:
 * never. *out is released with cq_free(). Errors: CQ_ERR_MEMORY, those of encode. */
CQ_MUST_USE cq_status cq_align_path(cq_bead **out, size_t *n, cq_align_side sides[2], const float *word_weights,
                                    cq_align_encode_fn encode, void *context, cq_context *ctx, cq_error *error);

#endif
