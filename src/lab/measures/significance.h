/* Is a difference between paired values more than chance? Three two-sided tests of the differences d[i] = b[i] - a[i],
 * and Holm's correction for multiple tests.
 *
 *     a, b ──cq_differences──▶ d ──▶ cq_wilcoxon        ranks of |d|; no assumption but symmetry
 *                                    cq_paired_t        d is drawn from a normal distribution
 *                                    cq_randomization   under the null hypothesis each d could as well be -d
 *
 * All three give p = 1 if there is nothing to test: no pairs, or differences that are all zero. One pair gives 1 as
 * well: both signs are equally likely, and a t-test of it has no degrees of freedom. The other functions rely on finite
 * input, which cq_differences checks. Results do not depend on which of a and b comes first; only sampling (below)
 * depends on the order of the pairs. */
#ifndef LAB_MEASURES_SIGNIFICANCE_H
#define LAB_MEASURES_SIGNIFICANCE_H

#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* out [n] = b - a; may alias either. Errors: CQ_ERR_ARGUMENT with the pair (from 1) if a value or the difference is NaN
 * or infinite. */
CQ_MUST_USE cq_status cq_differences(double *out, const double *a, const double *b, size_t n, cq_error *error);

typedef struct cq_effect {
  double mean; /* 0 when n is 0 */
  size_t n_wins, n_losses, n_ties;
} cq_effect;
/* d [n]: a win is a difference above 0. */
cq_effect cq_effect_of(const double *d, size_t n);

/* The signed-rank test: the p-value of the sum of the positive differences' ranks.
 *   d        [n]; differences of 0 are dropped first; equal |d|, bit for bit, share the mean of their ranks
 *   exact    set if p comes from the exact distribution over all 2^n signs: at most CQ_WILCOXON_EXACT nonzero
 *            differences, no two equal in size. Otherwise, p is the normal approximation, with the variance corrected
 *            for ties and the sum moved by 1/2 towards its mean (continuity)
 * The same as scipy.stats.wilcoxon(d[d != 0], correction=True) with method="exact" or the normal one.
 * Errors: CQ_ERR_MEMORY.
 * Source: Wilcoxon 1945; dropping zeros is Wilcoxon's, the variance under ties Lehmann 1975, section 3.2. */
#define CQ_WILCOXON_EXACT 50
CQ_MUST_USE cq_status cq_wilcoxon(double *p, bool *exact, const double *d, size_t n, cq_error *error);

/* Student's test that the mean of d [n] is 0: t = mean / sqrt(variance / n) with n - 1 degrees of freedom. Equal
 * nonzero differences give 0. Source: Student 1908. */
double cq_paired_t(const double *d, size_t n);

/* P(|T| >= |t|) of Student's distribution, to a relative 1e-12 for 0.5 to a million degrees of freedom.
 * This is the regularized incomplete beta function I_x(degrees / 2, 1/2) at x = degrees / (degrees + t^2). Source: DLMF
 * 8.17.8 for small t, else the even part of the continued fraction 8.17.22 (Didonato & Morris 1992) by the method of
 * Lentz 1976. */
double cq_student_two_sided(double t, double degrees);

/* The sign-flip test: the share of the 2^n assignments of signs to |d| whose sum is at least as far from 0 as d's. Sums
 * within 1e-12 sum|d| of d's count as reaching it, since equal sums are rounded differently.
 *   d          [n]; differences of 0 have no effect
 *   exact      set if all assignments were counted: at most CQ_RANDOMIZATION_EXACT nonzero differences. Otherwise, b of
 *              n_samples random assignments reach it, and p = (b + 1) / (n_samples + 1)
 *   seed       seed of the samples; sample i has its own random numbers, so more samples do not change the first ones
 * Errors: none. Source: Fisher 1935, section 21; Phipson & Smyth 2010, for the two ones; Smucker, Allan & Carterette
 * 2007, for runs. */
#define CQ_RANDOMIZATION_EXACT 20
double cq_randomization(bool *exact, const double *d, size_t n, uint64_t n_samples, uint64_t seed);

/* Holm's correction of p [m] for m tests (family-wise error rate), in their order: the i-th smallest p is multiplied by
 * m - i + 1; results never fall below an earlier one's, nor rise above 1. May alias. Errors: CQ_ERR_MEMORY. Source:
 * Holm 1979, section 3. */
CQ_MUST_USE cq_status cq_holm(double *corrected, const double *p, size_t m, cq_error *error);

#endif
