/* The paired bootstrap: how far would a difference between two models' figures vary with other rows?
 *
 *     rows ──▶ n_samples times: as many rows, drawn with replacement, the same for both models ──▶ differences b - a
 *
 * Sample i draws the same row numbers in every call with the same seed and number of rows. So the samples' means over
 * several files are right for files with parallel rows, such as FLORES in several languages. */
#ifndef LAB_MEASURES_BOOTSTRAP_H
#define LAB_MEASURES_BOOTSTRAP_H

#include "calque/context.h"
#include "calque/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct cq_paired_values {
  const double *a, *b; /* [n], finite */
  const double *gold;  /* [n]: the figure is Spearman's correlation with it; NULL: it is the mean */
  size_t n;
} cq_paired_values;

/* differences [n_samples], in the order of the samples, whatever the number of threads. A sample in which a correlation
 * is undefined counts as no difference. Errors: CQ_ERR_MEMORY. Source: Efron & Tibshirani 1993, chapter 13. */
CQ_MUST_USE cq_status cq_bootstrap(double *differences, const cq_paired_values *values, size_t n_samples, uint64_t seed,
                                   cq_context *ctx, cq_error *error);

/* 0 if a difference is that of two sums of the same numbers in another order, such as 1 - 1/3 - 1/3 - 1/3. */
double cq_without_rounding(double difference);

/* The 95 % interval of percentiles, and the two-sided p-value: twice the share of samples on the rarer side of 0, where
 * 0 itself and one more sample count as on it. Sorts differences [n], n > 0. */
void cq_bootstrap_interval(double *low, double *high, double *p, double *differences, size_t n);

#endif
