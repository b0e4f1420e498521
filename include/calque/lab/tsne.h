/** @file t-SNE: a layout of vectors in a plane that keeps neighbors together. Large distances are not meaningful.
 *
 *      cq_tsne_options o = cq_tsne_default_options();
 *      cq_tsne(places, NULL, vectors, n, dim, &o, ctx, &err);             // x = places[2 * i], y = places[2 * i + 1]
 *
 * Everything is computed in double precision, and is the same for any number of threads.
 *
 * @threads Calls are independent of one another. progress is called on the calling thread. */
#ifndef CALQUE_LAB_TSNE_H
#define CALQUE_LAB_TSNE_H

#include "calque/context.h"
#include "calque/options.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CQ_TSNE_MAX_VECTORS = 5000 }; /**< pairwise affinities take 200 MB */

typedef struct cq_tsne_options {
  size_t size;
  double perplexity; /**< effective number of neighbors; more than 1, less than n - 1 */
  int n_iterations;
  double exaggeration;  /**< of neighbors' attraction, in the first iterations */
  int n_exaggerated;    /**< their number */
  double learning_rate; /**< 0: n / exaggeration / 4, at least 50 */
  uint64_t seed;        /**< of the noise in the initial layout */
  /** Receives the progress; return false to stop (CQ_ERR_STOPPED). May be NULL. */
  bool (*progress)(void *context, uint64_t iteration, uint64_t n_iterations);
  void *progress_context;
} cq_tsne_options;
/** Perplexity 30, 1,000 iterations, the first 250 exaggerated by 12, the rate by n, seed 1: group "tsne". */
CQ_DEFAULT_OPTIONS(cq_tsne_options, cq_tsne_default_options, tsne)

/** Embeds vectors in two dimensions: out minimizes the divergence between the affinities of the vectors, under a
 * Gaussian around each with the given perplexity, and those of the points, under Student's t. Exact: time and memory
 * are quadratic in n.
 * @param out         [n, 2] f64, around (0, 0); without a unit
 * @param divergence  receives the final Kullback-Leibler divergence, in nats; may be NULL
 * @param vectors     [n, dim] f32; distances are Euclidean
 * @param options     NULL: the defaults
 * @errors CQ_ERR_ARGUMENT for fewer than 3 or more than CQ_TSNE_MAX_VECTORS vectors, for options out of range (such as
 * the perplexity for n) and for a number that is not finite, naming its position; CQ_ERR_STOPPED; CQ_ERR_MEMORY.
 * @source Van der Maaten & Hinton 2008, equations 1 to 5 and algorithm 1, with the gains of Jacobs 1988; initial layout
 * by principal components: Kobak & Berens 2019; learning rate by n: Belkina et al. 2019. */
CQ_API CQ_MUST_USE cq_status cq_tsne(double *out, double *divergence, const float *vectors, size_t n, int dim,
                                     const cq_tsne_options *options, cq_context *ctx, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
