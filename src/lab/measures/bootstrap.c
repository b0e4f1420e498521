/* Samples of rows as counts: how often each row was drawn. The mean is a sum weighted by them. Ranks are found in one
 * pass over the rows in the order of their values, which is sorted once for all samples. See bootstrap.h. */
#include "lab/measures/bootstrap.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct ordered {
  double value;
  size_t row;
} ordered;

enum { A, B, GOLD, N_SIDES };

typedef struct bootstrap {
  const cq_paired_values *v;
  double *differences;
  uint64_t seed;
  ordered *order;   /* [N_SIDES, n], each by value; NULL: the figure is the mean */
  uint32_t *counts; /* [workers, n] */
  double *ranks;    /* [workers, N_SIDES, n] */
} bootstrap;

static int by_value(const void *a, const void *b) {
  const double x = ((const ordered *)a)->value, y = ((const ordered *)b)->value;
  return (x > y) - (x < y);
}

/* Ranks of the drawn rows, less their mean; equal values share the mean of their ranks. */
static void rank_sample(double *ranks, const ordered *order, const uint32_t *counts, size_t n) {
  double before = 0;
  for (size_t start = 0, end; start < n; start = end) {
    double drawn = 0;
    for (end = start; end < n && order[end].value == order[start].value; end++) drawn += counts[order[end].row];
    for (size_t i = start; i < end; i++) ranks[order[i].row] = before + (drawn - (double)n) / 2;
    before += drawn;
  }
}

static double sum_products(const double *x, const double *y, const uint32_t *counts, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += counts[i] * x[i] * y[i];
  return sum;
}

static double correlation(const double *x, const double *gold, const uint32_t *counts, size_t n) {
  const double squares = sum_products(x, x, counts, n) * sum_products(gold, gold, counts, n);
  return squares > 0 ? sum_products(x, gold, counts, n) / sqrt(squares) : NAN;
}

static void draw_sample(void *context, size_t sample, int worker) {
  const bootstrap *s = context;
  const cq_paired_values *v = s->v;
  const size_t n = v->n;
  uint32_t *counts = s->counts + (size_t)worker * n;
  cq_random random = cq_random_seeded(s->seed, sample);
  double difference = 0;
  memset(counts, 0, n * sizeof *counts);
  for (size_t i = 0; i < n; i++) counts[cq_random_below(&random, n)]++;
  if (s->order) {
    double *ranks = s->ranks + (size_t)worker * N_SIDES * n, *gold = ranks + GOLD * n;
    for (size_t side = 0; side < N_SIDES; side++) rank_sample(ranks + side * n, s->order + side * n, counts, n);
    difference = correlation(ranks + B * n, gold, counts, n) - correlation(ranks + A * n, gold, counts, n);
    if (isnan(difference)) difference = 0;
  } else {
    for (size_t i = 0; i < n; i++) difference += counts[i] * (v->b[i] - v->a[i]);
    difference /= (double)n;
  }
  s->differences[sample] = difference;
}

cq_status cq_bootstrap(double *differences, const cq_paired_values *values, size_t n_samples, uint64_t seed,
                       cq_context *ctx, cq_error *error) {
  const size_t n = values->n, n_workers = ctx ? (size_t)cq_context_n_threads(ctx) : 1;
  bootstrap s = {.v = values, .differences = differences, .seed = seed};
  const double *const sides[N_SIDES] = {values->a, values->b, values->gold};
  cq_status status = CQ_OK;
  s.counts = cq_alloc_array(n_workers * n, sizeof *s.counts);
  if (values->gold) s.order = cq_alloc_array(N_SIDES * n, sizeof *s.order);
  if (values->gold) s.ranks = cq_alloc_array(n_workers * N_SIDES * n, sizeof *s.ranks);
  if (!s.counts || (values->gold && (!s.order || !s.ranks))) {
    status = cq_fail_memory(error, "samples of rows");
    goto done;
  }
  for (size_t side = 0; s.order && side < N_SIDES; side++) {
    ordered *order = s.order + side * n;
    for (size_t i = 0; i < n; i++) order[i] = (ordered){sides[side][i], i};
    qsort(order, n, sizeof *order, by_value);
  }
  cq_context_run(ctx, n_samples, draw_sample, &s);
done:
  cq_free(s.counts);
  cq_free(s.order);
  cq_free(s.ranks);
  return status;
}

double cq_without_rounding(double difference) {
  return fabs(difference) < 1e-12 ? 0 : difference;
}

void cq_bootstrap_interval(double *low, double *high, double *p, double *differences, size_t n) {
  size_t n_below = 0, n_above = 0;
  const size_t tail = n / 40;
  qsort(differences, n, sizeof *differences, cq_order_doubles);
  for (size_t i = 0; i < n; i++) {
    differences[i] = cq_without_rounding(differences[i]);
    n_below += differences[i] <= 0, n_above += differences[i] >= 0;
  }
  *low = differences[tail], *high = differences[n - 1 - tail];
  *p = fmin(1, 2 * ((double)cq_min(n_below, n_above) + 1) / ((double)n + 1));
}
