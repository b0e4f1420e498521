/** @file Principal components: the directions in which vectors differ most, for plots and for shorter vectors.
 *
 *      double *places = malloc(n * 2 * sizeof *places), shares[2];
 *      cq_pca(places, shares, vectors, n, dim, 2, ctx, &err);             // x = places[2 * i], y = places[2 * i + 1]
 *
 * Everything is computed in double precision, and is the same for any number of threads.
 *
 * Outside the promise of a stable ABI: this header may change with any release, and calque/calque.h does not include
 * it.
 *
 * @threads Calls are independent of one another. */
#ifndef CALQUE_EXTRA_PCA_H
#define CALQUE_EXTRA_PCA_H

#include "calque/context.h"
#include "calque/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Projects centered vectors on the directions of highest variance. A direction's sign makes its largest component
 * positive. Directions whose variances agree to ten digits may be mixed arbitrarily.
 * @param out      [n, n_components] f64
 * @param shares   [n_components] of the total variance, descending; 0 for equal vectors; may be NULL
 * @param vectors  [n, dim] f32
 * @errors CQ_ERR_ARGUMENT for fewer than 3 vectors, for n_components outside [1, dim] and for a number that is not
 * finite, naming its position; CQ_ERR_MEMORY.
 * @source Hotelling 1933; by subspace iteration (Halko et al. 2011, algorithm 4.4) to convergence. */
CQ_API CQ_MUST_USE cq_status cq_pca(double *out, double *shares, const float *vectors, size_t n, int dim,
                                    int n_components, cq_context *ctx, cq_error *error);
/** The directions: axes [n_components, dim], orthonormal rows, by descending variance. @errors As cq_pca(). */
CQ_API CQ_MUST_USE cq_status cq_pca_axes(double *axes, const float *vectors, size_t n, int dim, int n_components,
                                         cq_context *ctx, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
