/* Spearman's rank correlation: Pearson's correlation of the ranks; equal values share the mean of their ranks. */
#include "base/error.h"
#include "base/memory.h"
#include "calque/eval.h"

#include <math.h>
#include <stdlib.h>

typedef struct ranked {
  double value;
  size_t index;
} ranked;

static int by_value(const void *a, const void *b) {
  double x = ((const ranked *)a)->value, y = ((const ranked *)b)->value;
  return (x > y) - (x < y);
}

/* rank [n], 1-based, by way of order [n]. */
static void average_ranks(double *rank, ranked *order, const double *x, size_t n) {
  for (size_t i = 0; i < n; i++) order[i] = (ranked){x[i], i};
  qsort(order, n, sizeof *order, by_value);
  for (size_t start = 0, end; start < n; start = end) {
    for (end = start + 1; end < n && order[end].value == order[start].value;) end++;
    double mean = ((double)(start + 1) + (double)end) / 2;
    for (size_t i = start; i < end; i++) rank[order[i].index] = mean;
  }
}

cq_status cq_spearman(double *out, const double *x, const double *y, size_t n, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t i = 0; i < n; i++)
    if (isnan(x[i]) || isnan(y[i]))
      return cq_fail(error, CQ_ERR_ARGUMENT, "correlation: value %zu is not a number", i + 1);
  double *ranks = cq_alloc_array(n, 2 * sizeof *ranks);
  ranked *order = cq_alloc_array(n, sizeof *order);
  if (!ranks || !order) {
    status = cq_fail_memory(error, "ranks");
    goto done;
  }
  average_ranks(ranks, order, x, n);
  average_ranks(ranks + n, order, y, n);
  *out = cq_pearson(ranks, ranks + n, n);
done:
  cq_free(order);
  cq_free(ranks);
  return status;
}
