/* Tests of paired differences: randomization, the t-test and Wilcoxon's, with Holm's correction. See significance.h. */
#include "lab/measures/significance.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

cq_status cq_differences(double *out, const double *a, const double *b, size_t n, cq_error *error) {
  for (size_t i = 0; i < n; i++) {
    const double difference = b[i] - a[i];
    if (!isfinite(difference))
      return cq_fail(error, CQ_ERR_ARGUMENT, "compare: pair %zu is %g and %g, expected finite numbers", i + 1, a[i],
                     b[i]);
    out[i] = difference;
  }
  return CQ_OK;
}

cq_effect cq_effect_of(const double *d, size_t n) {
  cq_effect effect = {0};
  for (size_t i = 0; i < n; i++) {
    effect.mean += d[i];
    effect.n_wins += d[i] > 0;
    effect.n_losses += d[i] < 0;
    effect.n_ties += d[i] == 0;
  }
  if (n) effect.mean /= (double)n;
  return effect;
}

/* ---- Wilcoxon ---- */

static int by_size(const void *a, const void *b) {
  const double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
  return (x > y) - (x < y);
}

/* 2 P(W <= w) for the sum W of a random subset of the ranks 1..n; w is at most W's mean. subsets[s] is the number of
 * subsets of the first k ranks with sum s: rank k + 1 is in or out. */
static double exact_tail(size_t n, size_t w) {
  uint64_t subsets[CQ_WILCOXON_EXACT * (CQ_WILCOXON_EXACT + 1) / 4 + 1] = {1}, n_in_tail = 0;
  for (size_t rank = 1; rank <= n; rank++)
    for (size_t sum = w; sum >= rank; sum--) subsets[sum] += subsets[sum - rank];
  for (size_t sum = 0; sum <= w; sum++) n_in_tail += subsets[sum];
  return fmin(1, ldexp((double)n_in_tail, 1 - (int)n)); /* at most 2^50: a double holds it */
}

/* The same for ranks with ties, in groups of t equal ones, by the normal distribution; ties is the sum of t^3 - t. */
static double normal_tail(double n, double w, double ties) {
  const double mean = n * (n + 1) / 4, variance = (n * (n + 1) * (2 * n + 1) - ties / 2) / 24;
  return erfc(fmax(0, mean - w - 0.5) / sqrt(2 * variance));
}

cq_status cq_wilcoxon(double *p, bool *exact, const double *d, size_t n, cq_error *error) {
  double *sorted = cq_alloc_array(n, sizeof *sorted);
  if (!sorted) return cq_fail_memory(error, "ranks");
  size_t n_used = 0;
  for (size_t i = 0; i < n; i++)
    if (d[i] != 0) sorted[n_used++] = d[i];
  if (n_used) qsort(sorted, n_used, sizeof *sorted, by_size);
  double positive = 0, ties = 0;
  for (size_t start = 0, end; start < n_used; start = end) {
    size_t n_positive = 0;
    for (end = start; end < n_used && fabs(sorted[end]) == fabs(sorted[start]); end++) n_positive += sorted[end] > 0;
    const double size = (double)(end - start);
    positive += (double)n_positive * ((double)(start + 1) + (double)end) / 2;
    ties += size * (size * size - 1);
  }
  cq_free(sorted);
  const double used = (double)n_used, w = fmin(positive, used * (used + 1) / 2 - positive);
  *exact = n_used <= CQ_WILCOXON_EXACT && ties == 0;
  *p = n_used == 0 ? 1 : *exact ? exact_tail(n_used, (size_t)w) : normal_tail(used, w, ties);
  return CQ_OK;
}

/* ---- Student's t ---- */

/* Gamma(a + 1/2) / Gamma(a), without the cancellation of two logarithms: raised above 64 by Gamma(x + 1) = x Gamma(x),
 * where eight terms of the asymptotic series (DLMF 5.11.13) are as exact as a double. */
static double gamma_ratio(double a) {
  static const double terms[] = {
      1, -1.0 / 8, 1.0 / 128, 5.0 / 1024, -21.0 / 32768, -399.0 / 262144, 869.0 / 4194304, 39325.0 / 33554432};
  double steps = 1, series = 0;
  while (a < 64) {
    steps *= a / (a + 0.5);
    a += 1;
  }
  for (size_t k = sizeof terms / sizeof *terms; k-- > 0;) series = series / a + terms[k];
  return steps * sqrt(a) * series;
}

/* With front = x^a y^b / B(a, b), y = 1 - x and b = 1/2: front / I_x(a, b), as n[0] + m[1] / (n[1] + m[2] / ...), which
 * is the even part of DLMF 8.17.22. It needs y (a + 2) not much below 1.5, and converges within a multiple of sqrt(a)
 * terms. Near x = 1, n[0] of the published fraction is a small difference; written in terms of y, it is not. */
static double beta_fraction(double x, double y, double a) {
  const double b = 0.5;
  const double first = a * ((a + b) * y + 1 - b) / (a + 1);
  /* The convergent; ratios of successive numerators, and of denominators. */
  double f = first, upper = first, lower = 0, step = 0;
  for (int k = 1; fabs(step - 1) > DBL_EPSILON && k < 1000000; k++) {
    const double i = k;
    const double m = (a + i - 1) * (a + b + i - 1) * i * (b - i) * x * x / ((a + 2 * i - 1) * (a + 2 * i - 1));
    const double n =
        i + i * (b - i) * x / (a + 2 * i - 1) + (a + i) * ((a + b) * y + 1 - b + i * (1 + y)) / (a + 2 * i + 1);
    lower = 1 / (n + m * lower), upper = n + m / upper;
    step = upper * lower, f *= step;
  }
  return f;
}

/* I_y(1/2, a) / front, by the hypergeometric series (DLMF 8.17.8): positive terms, which fall quickly if y is small. */
static double beta_series(double y, double a) {
  double term = 2, sum = 0;
  for (int i = 0; term > DBL_EPSILON / 4 * sum; i++) sum += term, term *= (a + 0.5 + i) / (1.5 + i) * y;
  return sum;
}

double cq_student_two_sided(double t, double degrees) {
  if (t == 0) return 1;
  /* x and y = 1 - x, each computed without a difference; x^a by log1p, because a is large when x is near 1. */
  const double a = degrees / 2, ratio = t * t / degrees, x = 1 / (1 + ratio), y = 1 / (1 + 1 / ratio);
  const double front = exp(-a * log1p(ratio)) * sqrt(y) * gamma_ratio(a) / sqrt(acos(-1));
  return y * (a + 2) < 1.5 ? 1 - front * beta_series(y, a) : front / beta_fraction(x, y, a);
}

double cq_paired_t(const double *d, size_t n) {
  double size = 0, mean = 0, squares = 0;
  for (size_t i = 0; i < n; i++) size = fmax(size, fabs(d[i]));
  if (n < 2 || size == 0) return 1;
  /* In units of the largest, so that no square overflows or underflows. */
  for (size_t i = 0; i < n; i++) mean += d[i] / size / (double)n;
  for (size_t i = 0; i < n; i++) squares += (d[i] / size - mean) * (d[i] / size - mean);
  if (squares == 0) return 0;
  const double degrees = (double)n - 1;
  return cq_student_two_sided(mean / sqrt(squares / degrees / (double)n), degrees);
}

/* ---- randomization ---- */

enum { HALF = CQ_RANDOMIZATION_EXACT / 2 };

/* sums [2^n] of d [n], each under every choice of signs; returns 2^n. */
static size_t all_sums(double *sums, const double *d, size_t n) {
  size_t n_sums = 1;
  sums[0] = 0;
  for (size_t i = 0; i < n; i++, n_sums *= 2)
    for (size_t j = 0; j < n_sums; j++) {
      const double sum = sums[j];
      sums[j] = sum + d[i], sums[j + n_sums] = sum - d[i];
    }
  return n_sums;
}

/* Every sum is a sum of the first half plus one of the second. */
static double share_of_all(const double *d, size_t n, double reach) {
  double first[1 << HALF], second[1 << (CQ_RANDOMIZATION_EXACT - HALF)];
  const size_t split = cq_min(n, HALF), n_first = all_sums(first, d, split),
               n_second = all_sums(second, d + split, n - split);
  uint64_t n_reaching = 0;
  for (size_t i = 0; i < n_first; i++)
    for (size_t j = 0; j < n_second; j++) n_reaching += fabs(first[i] + second[j]) >= reach;
  return (double)n_reaching / ((double)n_first * (double)n_second);
}

/* A random bit for each difference: 1 keeps it. The sum under random signs is twice the kept sum minus the total. */
static double share_of_samples(const double *d, size_t n, double sum, double reach, uint64_t n_samples, uint64_t seed) {
  uint64_t n_reaching = 0;
  for (uint64_t sample = 0; sample < n_samples; sample++) {
    cq_random random = cq_random_seeded(seed, sample);
    double kept = 0;
    for (size_t i = 0; i < n;) {
      uint64_t bits = cq_random_u64(&random);
      for (const size_t end = cq_min(n, i + 64); i < end; i++, bits >>= 1) kept += (double)(bits & 1) * d[i];
    }
    n_reaching += fabs(2 * kept - sum) >= reach;
  }
  return ((double)n_reaching + 1) / ((double)n_samples + 1);
}

double cq_randomization(bool *exact, const double *d, size_t n, uint64_t n_samples, uint64_t seed) {
  double few[CQ_RANDOMIZATION_EXACT], sum = 0, sizes = 0;
  size_t n_used = 0;
  for (size_t i = 0; i < n; i++) {
    if (d[i] == 0) continue;
    if (n_used < CQ_RANDOMIZATION_EXACT) few[n_used] = d[i];
    n_used++, sum += d[i], sizes += fabs(d[i]);
  }
  const double reach = fabs(sum) - 1e-12 * sizes;
  *exact = n_used <= CQ_RANDOMIZATION_EXACT;
  return *exact ? share_of_all(few, n_used, reach) : share_of_samples(d, n, sum, reach, n_samples, seed);
}

/* ---- Holm ---- */

typedef struct indexed {
  double p;
  size_t index;
} indexed;

static int smallest_first(const void *a, const void *b) {
  const double x = ((const indexed *)a)->p, y = ((const indexed *)b)->p;
  return (x > y) - (x < y);
}

cq_status cq_holm(double *corrected, const double *p, size_t m, cq_error *error) {
  indexed *order = cq_alloc_array(m, sizeof *order);
  if (!order) return cq_fail_memory(error, "p-values");
  for (size_t i = 0; i < m; i++) order[i] = (indexed){p[i], i};
  if (m) qsort(order, m, sizeof *order, smallest_first);
  double max = 0;
  for (size_t i = 0; i < m; i++) {
    max = fmax(max, fmin(1, (double)(m - i) * order[i].p));
    corrected[order[i].index] = max;
  }
  cq_free(order);
  return CQ_OK;
}
