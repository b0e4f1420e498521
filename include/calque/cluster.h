/** @file Clusters of sentences of similar meaning, across languages (community detection).
 *
 *      cq_cluster_options o = cq_cluster_default_options();
 *      o.file = "reviews.txt.gz", o.model = "multilingual";
 *      cq_clustering *c;
 *      cq_cluster(&c, &o, ctx, &err);
 *      for (size_t i = 0; i < cq_clustering_n(c); i++) ... cq_clustering_members(&n, c, i) ...   // the largest first
 *      cq_clustering_free(c);
 *
 * A community is a center and all sentences within the threshold. The sentence with the most neighbors is the first
 * center; the next center is the one with the most neighbors among the remaining sentences, and so on. No sentence is
 * in two communities. The result equals that of `community_detection` in sentence-transformers 6.2; it takes one exact
 * pass over half of the matrix of cosines.
 *
 * @threads Calls are independent of one another; a cq_clustering may be read by any number of threads at once. */
#ifndef CALQUE_CLUSTER_H
#define CALQUE_CLUSTER_H

#include "calque/encoder.h"
#include "calque/mine.h"
#include "calque/nearest.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_member {
  uint32_t row;
  double cosine; /**< to the center; the center's own is 1 */
} cq_member;

typedef struct cq_communities {
  size_t n;           /**< communities, the largest first; on a tie, the center with more neighbors */
  size_t *starts;     /**< [n + 1] into members */
  cq_member *members; /**< center first, then by cosine, then by row */
} cq_communities;

/** Finds the communities of n_rows rows from all their near pairs (cq_near_pairs()), each of at least min_size members,
 * 1 or more. @errors CQ_ERR_ARGUMENT for a pair with a row out of range; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_communities_find(cq_communities *out, const cq_near_pair *pairs, size_t n_pairs,
                                                 size_t n_rows, size_t min_size, cq_error *error);
CQ_API void cq_communities_free(cq_communities *communities);

/** @name On a file */

typedef struct cq_cluster_options {
  size_t size;
  const char *file, *model, *cache_directory; /**< as in cq_mine_options */
  size_t raw_dim;
  double threshold; /**< minimum cosine to a cluster's center */
  size_t min_size;  /**< distinct sentences */
  size_t max_pairs; /**< near pairs in memory; more are an error */
  cq_first_pass first_pass;
  bool skip_bad;
  cq_notice_fn notice;
  void *notice_context;
  cq_mine_progress_fn progress;
  void *progress_context;
  cq_precision precision; /**< of the model */
  bool compose;           /**< as in cq_encoder_options */
} cq_cluster_options;
/** 0.75, 10, 200 million: group "cluster". */
CQ_DEFAULT_OPTIONS(cq_cluster_options, cq_cluster_default_options, cluster)

typedef struct cq_clustering cq_clustering;

/** Clusters a file's sentences; repeated ones count once. @errors Those of cq_mine(); CQ_ERR_LIMIT for more than
 * max_pairs near pairs. */
CQ_API CQ_MUST_USE cq_status cq_cluster(cq_clustering **out, const cq_cluster_options *options, cq_context *ctx,
                                        cq_error *error);
CQ_API void cq_clustering_free(cq_clustering *clustering);
CQ_API size_t cq_clustering_n(const cq_clustering *clustering);
/** The i-th community's members, the center first. */
CQ_API const cq_member *cq_clustering_members(size_t *n, const cq_clustering *clustering, size_t i);
/** A row's sentence; data NULL when vectors were clustered. The number of its lines, and the id of the i-th line; data
 * NULL when lines have no ids. */
CQ_API cq_slice cq_clustering_sentence(const cq_clustering *clustering, uint32_t row);
CQ_API size_t cq_clustering_n_lines(const cq_clustering *clustering, uint32_t row);
CQ_API cq_slice cq_clustering_id(const cq_clustering *clustering, uint32_t row, size_t i);

#ifdef __cplusplus
}
#endif
#endif
