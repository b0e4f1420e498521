/* The parts of t-SNE that can be tested separately. */
#ifndef LAB_PLOT_TSNE_H
#define LAB_PLOT_TSNE_H

#include "base/context.h"

#include <stdbool.h>

/* How near each of n vectors is to vector `self` (equation 1): squared distances [n] become p [n], with sum 1, 0 at
 * self, and entropy log(perplexity), or as near to that as a Gaussian allows. */
void cq_tsne_neighbors(double *p, size_t n, size_t self, double perplexity);

/* The force on every point (equation 5): the gradient of sum p log(p / q), p's side multiplied by exaggeration.
 *   gradient  [n, 2]
 *   p         [n, n] symmetric, sum 1, 0 on the diagonal
 *   y         [n, 2]
 *   work      [n, CQ_TSNE_WORK]
 * Returns the divergence, sum p log(p / q) in nats, if requested; otherwise NaN. */
enum { CQ_TSNE_WORK = 6 };
double cq_tsne_gradient(double *gradient, const double *p, const double *y, size_t n, double exaggeration,
                        bool divergence, double *work, cq_context *ctx);

#endif
