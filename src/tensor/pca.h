/* What every projection requires of its vectors. */
#ifndef TENSOR_PCA_H
#define TENSOR_PCA_H

#include "calque/status.h"

#include "calque/context.h"

#include <stddef.h>

enum { CQ_MIN_POINTS = 3 }; /* two lie on a line however they are laid out */

/* vectors [n, dim]. Errors: CQ_ERR_ARGUMENT for too few vectors, dim < 1, or a number that is not finite. */
CQ_MUST_USE cq_status cq_points_check(const float *vectors, size_t n, int dim, cq_error *error);

/* The eigenvectors of a symmetric matrix [dim, dim] without negative eigenvalues: axes [n, dim], orthonormal rows, those of
 * the largest eigenvalues first. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_symmetric_axes(double *axes, const double *matrix, size_t dim, size_t n, cq_context *ctx,
                                        cq_error *error);

#endif
