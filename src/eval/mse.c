/* Mean squared error between two sets of vectors, times 100 as in sentence-transformers. */
#include "calque/eval.h"

#include <math.h>

double cq_mse_100(const float *a, const float *b, size_t n, size_t dim) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) { /* row by row: the partial sums stay of one size */
    double row = 0;
    for (size_t d = 0; d < dim; d++) {
      double difference = (double)a[i * dim + d] - (double)b[i * dim + d];
      row += difference * difference;
    }
    sum += row;
  }
  if (n == 0 || dim == 0) return NAN;
  return 100 * sum / ((double)n * (double)dim);
}
