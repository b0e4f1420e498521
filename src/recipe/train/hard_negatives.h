/* Hard negatives of distillation: additional candidates of the contrastive loss that are similar to a source.
 *
 *   drawn sources ──rules──▶ near misses ──teacher's cache──┐
 *         └── teacher's vectors ──exact search──▶ nearest ──┴──▶ candidates of each pair
 *
 * All are the teacher's vectors, so its similarities give them soft labels, too: a paraphrase among the nearest is not
 * a false negative. Sources: Tan et al. 2022 (LASER3-CO, arXiv 2210.05033), with a search over all drawn sources
 * instead of a queue; Chen et al. 2023 (xsim++, arXiv 2306.12907) for the near misses. */
#ifndef RECIPE_TRAIN_HARD_NEGATIVES_H
#define RECIPE_TRAIN_HARD_NEGATIVES_H

#include "calque/nearest.h"
#include "corpus/near_miss.h"
#include "recipe/encode/cached_encoder.h"

typedef struct cq_hard_negatives {
  size_t n_nearest;            /* of a source; 0: none are wanted */
  cq_slice *texts;             /* [n] drawn sources, then [misses.n] near misses: what the teacher encodes */
  size_t n, n_texts;           /* n_texts: of both */
  uint32_t *position;          /* [n_sources] index among the drawn ones; UINT32_MAX for others */
  cq_near_misses misses;       /* none, if they are not wanted */
  size_t *first_miss;          /* [n + 1] of each drawn source */
  uint32_t *records;           /* [n] of the drawn sources in the cache */
  cq_neighbors nearest;        /* of the drawn sources among themselves */
  const cq_cached_encoder *of; /* the teacher, once searched */
} cq_hard_negatives;

/* drawn [n]: the indices of the sources that will be drawn, in ascending order. All of `texts` must have vectors before
 * the search. Release with cq_hard_negatives_free, even after an error. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_hard_negatives_list(cq_hard_negatives *out, const cq_slice *sources, size_t n_sources,
                                             const uint32_t *drawn, size_t n, size_t n_nearest, bool near_misses,
                                             uint64_t seed, cq_error *error);
/* Call it once the teacher's vectors are mapped; the teacher must outlive the hard negatives. Errors: CQ_ERR_STOPPED,
 * CQ_ERR_LIMIT, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_hard_negatives_search(cq_hard_negatives *h, const cq_cached_encoder *teacher,
                                               cq_nearest_progress_fn progress, void *progress_context, cq_context *ctx,
                                               cq_error *error);
void cq_hard_negatives_free(cq_hard_negatives *h);

/* How many a source can have. */
size_t cq_hard_negatives_max(const cq_hard_negatives *h);
/* Puts the vectors of a drawn source's hard negatives into out; returns their number. */
size_t cq_hard_negatives_of(const float **out, const cq_hard_negatives *h, uint32_t source);

#endif
