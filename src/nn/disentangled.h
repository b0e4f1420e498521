/* Disentangled attention: a score depends on the contents of query and key, and on their distance: by the product of
 * the query's content with the distance (c2p), and of the key's content with the distance (p2c).
 *
 *   score(i, j) = (q_i . k_j + q_i . K[r] + k_j . Q[r]) / sqrt(head_dim * n_terms),  r = span + bucket(i - j)
 *
 * K and Q are projections of one table of vectors, with one row per bucket of distances. All layers share the table.
 * Source: He et al. 2021, section 3.1; the upper half of DeBERTa V3's buckets is logarithmic. */
#ifndef NN_DISENTANGLED_H
#define NN_DISENTANGLED_H

#include "nn/linear.h"
#include "nn/norm.h"

/* The distances, as all layers see them. */
typedef struct cq_distances {
  cq_param *table; /* [2 span, dim] */
  cq_norm norm;    /* of its rows; gamma NULL: none */
  int64_t span;    /* buckets on either side */
  int64_t max;     /* larger distances share the last bucket; 0: one bucket per distance */
} cq_distances;

typedef struct cq_disentangled {
  const cq_distances *distances;
  const cq_linear *key, *query; /* projections of the distances, for c2p and p2c; NULL: the term is left out */
  int n_terms;                  /* of the score */
} cq_disentangled;

/* The bucket of a query that is `distance` positions after its key: -span to span. */
int64_t cq_distance_bucket(const cq_distances *distances, int64_t distance);

/* A layer's projections of the distances that occur in a batch. */
typedef struct cq_distance_rows {
  cq_tensor key, query; /* [n_rows, dim]; data NULL: none */
  int64_t n_rows, longest;
  const int32_t *row_of; /* [2 longest - 1] by distance + longest - 1 */
} cq_distance_rows;

/* In the workspace. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_distance_rows_make(cq_distance_rows *out, cq_worker *worker, const cq_disentangled *l,
                                            int64_t longest, cq_error *error);
/* The bias [n_heads, length, length] added to the scores of one sequence with queries q and keys k [length, dim].
 * Errors: CQ_ERR_MEMORY for scratch. */
CQ_MUST_USE cq_status cq_disentangled_bias(float *bias, cq_worker *worker, const cq_distance_rows *rows, cq_tensor q,
                                           cq_tensor k, int64_t n_heads, float scale, cq_error *error);

#endif
