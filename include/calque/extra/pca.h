/* Principal components: the directions in which vectors differ most, for pictures and for shorter vectors.
 *
 *   double *places = malloc(n * 2 * sizeof *places), shares[2];
 *   cq_pca(places, shares, vectors, n, dim, 2, ctx, &err);             // x = places[2 * i], y = places[2 * i + 1]
 *
 * Everything is computed in double precision, and is the same for any number of threads.
 *
 * Outside the promise of a stable ABI: what is declared here may change with any release, and calque/calque.h leaves it
 * out.
 *
 * Threads: calls are independent of one another. */
#ifndef CALQUE_EXTRA_PCA_H
#define CALQUE_EXTRA_PCA_H

#include "calque/context.h"
#include "calque/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The directions of greatest variance, and where the vectors lie along them, from their mean.
 *   out      [n, n_components] f64
 *   shares   [n_components] of the whole variance, from the greatest; 0 where all vectors are one; may be NULL
 *   vectors  [n, dim] f32
 * A direction's sign is that which makes its greatest component positive. Directions whose variances are equal to ten
 * digits may come as any mixture of them. Errors: CQ_ERR_ARGUMENT for fewer than 3 vectors, for n_components outside
 * [1, dim] and for a number that is not finite, naming its place; CQ_ERR_MEMORY.
 * Source: Hotelling 1933; by subspace iteration (Halko et al. 2011, algorithm 4.4) until nothing moves. */
CQ_API CQ_MUST_USE cq_status cq_pca(double *out, double *shares, const float *vectors, size_t n, int dim,
                                    int n_components, cq_context *ctx, cq_error *error);
/* The directions themselves: axes [n_components, dim], orthonormal rows, those of highest variance first. Errors: as
 * cq_pca. */
CQ_API CQ_MUST_USE cq_status cq_pca_axes(double *axes, const float *vectors, size_t n, int dim, int n_components,
                                         cq_context *ctx, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
