/* t-SNE: vectors laid out in a plane so that neighbors stay together. It says nothing of what is far apart.
 *
 *   cq_tsne_options o = cq_tsne_default_options();
 *   cq_tsne(places, NULL, vectors, n, dim, &o, ctx, &err);             // x = places[2 * i], y = places[2 * i + 1]
 *
 * Everything is computed in double precision, and is the same for any number of threads.
 *
 * Threads: calls are independent of one another. progress is called on the calling thread. */
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

enum { CQ_TSNE_MAX_VECTORS = 5000 }; /* there are numbers for each two of them: 200 MB */

typedef struct cq_tsne_options { /* group "tsne" */
  size_t size;
  double perplexity; /* about as many neighbors as count for a vector; more than 1, less than n - 1 */
  int n_iterations;
  double exaggeration;  /* of neighbors' attraction, in the first iterations */
  int n_exaggerated;    /* how many */
  double learning_rate; /* 0: n / exaggeration / 4, but 50 at least */
  uint64_t seed;        /* of the slight disorder that the start is put into */
  /* Told how far it is, now and then. Returns false to stop (CQ_ERR_STOPPED). May be NULL. */
  bool (*progress)(void *context, uint64_t iteration, uint64_t n_iterations);
  void *progress_context;
} cq_tsne_options;
/* Perplexity 30, 1000 iterations, the first 250 exaggerated by 12, the rate by n, seed 1. */
CQ_DEFAULT_OPTIONS(cq_tsne_options, cq_tsne_default_options, tsne)

/* Two dimensions in which neighbors are neighbors: out minimises the divergence between how near the vectors are to
 * one another, under a Gaussian around each that holds the perplexity asked for, and how near the points are, under
 * Student's t. Exact: time and memory go with n squared.
 *   out      [n, 2] f64, around (0, 0); their unit means nothing
 *   divergence  receives the Kullback-Leibler divergence in the end, in nats; may be NULL
 *   vectors  [n, dim] f32; near is what has little Euclidean distance
 *   options  NULL: the defaults
 * Errors: CQ_ERR_ARGUMENT for fewer than 3 or more than CQ_TSNE_MAX_VECTORS vectors, for options out of range (the
 * perplexity against n among them) and for a number that is not finite, naming its place; CQ_ERR_STOPPED;
 * CQ_ERR_MEMORY.
 * Source: van der Maaten & Hinton 2008, equations 1 to 5 and algorithm 1, with the gains of Jacobs 1988 as there; the
 * start from principal components is Kobak & Berens 2019, the learning rate by n Belkina et al. 2019. */
CQ_API CQ_MUST_USE cq_status cq_tsne(double *out, double *divergence, const float *vectors, size_t n, int dim,
                                     const cq_tsne_options *options, cq_context *ctx, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
