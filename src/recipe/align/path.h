/* The best sequence of beads through two documents: a dynamic program, coarse to fine, so that time and memory grow with
 * the documents' length, not its square (Thompson & Koehn 2019, section 3.3).
 *
 *   sentences ──means of two──▶ half as many ──▶ ... ──▶ at most 256: all of the matrix
 *   the path of each level ──▶ a band around it in the level below ──▶ beads within the band of the sentences */
#ifndef RECIPE_ALIGN_PATH_H
#define RECIPE_ALIGN_PATH_H

#include "calque/align.h"
#include "recipe/align/beads.h"

/* Nodes of the matrix: of row i, 0 to n, those from lo[i] to hi[i] of 0 to m. */
typedef struct cq_align_band {
  size_t n, m, *lo, *hi;
  size_t *at; /* [n + 2]: the first cell of a row */
} cq_align_band;

/* What is known of a path before the groups' vectors are. */
typedef struct cq_align_plan {
  cq_align_band band;
  uint8_t *wanted[2]; /* [n * max_group] groups of beads on paths nearly as good as the best: worth encoding */
} cq_align_plan;

/* The sides' groups are those that cq_align_side_join() made. word_weights: of the sides' words; NULL: they have none.
 * Errors: CQ_ERR_MEMORY. Release with cq_align_plan_free, even after an error. */
CQ_MUST_USE cq_status cq_align_plan_make(cq_align_plan *out, cq_align_side sides[2], const float *word_weights,
                                         cq_context *ctx, cq_error *error);
void cq_align_plan_free(cq_align_plan *plan);

/* The best path, by the groups' vectors. *out is released with cq_free(). Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_align_path(cq_bead **out, size_t *n, const cq_align_plan *plan, cq_align_side sides[2],
                                    const float *word_weights, cq_context *ctx, cq_error *error);

#endif
