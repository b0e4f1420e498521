#include "plot/points.h"

#include "base/error.h"

#include <math.h>

cq_status cq_points_check(const float *vectors, size_t n, int dim, cq_error *error) {
  if (n < CQ_MIN_POINTS)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%zu vectors to project, expected at least %d", n, CQ_MIN_POINTS);
  if (dim < 1) return cq_fail(error, CQ_ERR_ARGUMENT, "vectors of %d dimensions, expected at least 1", dim);
  for (size_t i = 0; i < n; i++)
    for (int d = 0; d < dim; d++)
      if (!isfinite(vectors[i * (size_t)dim + (size_t)d]))
        return cq_fail(error, CQ_ERR_ARGUMENT, "vector %zu of %zu: number %d of %d is not finite", i + 1, n, d + 1,
                       dim);
  return CQ_OK;
}
