/* Mining parallel sentences: margins over nearest neighbours, pairs, and the threshold that labelled data suggest.
 *
 *   cq_neighbours of_x, of_y;                                        // calque/nearest.h
 *   cq_nearest(&of_x, &of_y, x, n_x, y, n_y, dim, NULL, pool, &err);
 *   cq_mined_pair *pairs;
 *   size_t n;
 *   cq_margin_pairs(&pairs, &n, &of_x, &of_y, NULL, &err);           // best first
 *   free(pairs);
 *
 * cq_mine does all of it on two files. Source: Artetxe & Schwenk 2019, sections 3 and 4. */
#ifndef CALQUE_MINE_H
#define CALQUE_MINE_H

#include "calque/encoder.h"
#include "calque/nearest.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a pair is scored from its cosine a and b, the mean of what its two rows' k nearest neighbours have on average. */
typedef enum cq_margin {
  CQ_MARGIN_RATIO,    /* a / b; 0 where b is 0 (equation 2) */
  CQ_MARGIN_DISTANCE, /* a - b */
  CQ_MARGIN_ABSOLUTE, /* a: plain cosine */
} cq_margin;

/* Which pairs are candidates. */
typedef enum cq_retrieval {
  CQ_RETRIEVE_FORWARD,   /* each source's best target */
  CQ_RETRIEVE_BACKWARD,  /* each target's best source */
  CQ_RETRIEVE_INTERSECT, /* pairs that are each other's best */
  CQ_RETRIEVE_MAX,       /* both sides' best, taken greedily by score, no row twice */
} cq_retrieval;

typedef struct cq_mined_pair {
  uint32_t source, target; /* rows */
  double score, cosine;
} cq_mined_pair;

typedef struct cq_margin_options {
  cq_margin margin;
  cq_retrieval retrieval;
  size_t per_row;   /* forward and backward: so many best candidates of a row instead of one */
  double threshold; /* pairs below it are left out */
} cq_margin_options;
CQ_API cq_margin_options cq_margin_default_options(void); /* ratio, max, 1, none */

/* Scores candidates from both sides' neighbours and chooses pairs, best first (then by source, then by target).
 *   out      released with free(); NULL when there are none
 *   options  NULL for the defaults
 * Errors: CQ_ERR_ARGUMENT when the neighbours are not of one search; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_margin_pairs(cq_mined_pair **out, size_t *n, const cq_neighbours *of_source,
                                             const cq_neighbours *of_target, const cq_margin_options *options,
                                             cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
