/* Pearson's product-moment correlation in two passes: means first, so that large offsets lose no digits. */
#include "calque/eval.h"

#include <math.h>
#include <stdbool.h>

/* Compares the values themselves, because the variance of a constant may not round to zero. */
static bool is_constant(const double *x, size_t n) {
  for (size_t i = 1; i < n; i++)
    if (x[i] != x[0]) return false;
  return true;
}

double cq_pearson(const double *x, const double *y, size_t n) {
  double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;
  if (n < 2 || is_constant(x, n) || is_constant(y, n)) return NAN;
  for (size_t i = 0; i < n; i++) mean_x += x[i], mean_y += y[i];
  mean_x /= (double)n, mean_y /= (double)n;
  for (size_t i = 0; i < n; i++) {
    double dx = x[i] - mean_x, dy = y[i] - mean_y;
    xx += dx * dx, yy += dy * dy, xy += dx * dy;
  }
  double r = xy / (sqrt(xx) * sqrt(yy));
  return r > 1 ? 1 : r < -1 ? -1 : r; /* NaN stays */
}
