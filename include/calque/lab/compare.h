/** @file Significance of the difference between ranked runs: paired tests over topics.
 *
 *      const char *runs[] = {"before.txt", "after.txt"};
 *      cq_comparisons *c;
 *      cq_compare_runs(&c, "qrels.txt", runs, 2, NULL, &err);
 *      const cq_comparison *r = cq_comparisons_result(c, 0, 0);
 *      printf("%+.4f, p = %.4f\n", r->difference, r->p[CQ_TEST_WILCOXON]);
 *      cq_comparisons_free(c);
 *
 * Values of one measure are tested in pairs: a pair for each topic, or a pair of means over a group of topics that are
 * not independent, such as queries from one article. All tests are two-sided.
 *
 * Outside the promise of a stable ABI: this header may change with any release, and calque/calque.h does not include
 * it.
 *
 * @threads Calls are independent of one another; a cq_comparisons may be read by any number of threads at once. */
#ifndef CALQUE_LAB_COMPARE_H
#define CALQUE_LAB_COMPARE_H

#include "calque/options.h"
#include "calque/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cq_test {
  CQ_TEST_WILCOXON,      /**< signed ranks of the differences (Wilcoxon 1945) */
  CQ_TEST_T,             /**< Student's t of the differences (Student 1908) */
  CQ_TEST_RANDOMIZATION, /**< the sum of differences, under random signs (Fisher 1935; Smucker, Allan & Carterette
                          * 2007) */
  CQ_N_TESTS
} cq_test;

/** Compares b with a. A p-value is 1 if there is nothing to test: no pair, one pair, or all differences zero. */
typedef struct cq_comparison {
  size_t n, n_wins, n_losses, n_ties; /**< pairs; with b higher, lower, equal */
  double mean_a, mean_b, difference;  /**< difference: the mean of b - a; 0 when n is 0 */
  double p[CQ_N_TESTS];
  /** Holm's correction of p (Holm 1979) over all pairs of runs compared, for each measure and test; p itself from
   * cq_compare_values(), which compares once. */
  double corrected[CQ_N_TESTS];
  /** Whether p is exact. Wilcoxon: for at most 50 nonzero differences of distinct size, otherwise by the normal
   * distribution with corrections for ties and continuity. Randomization: for at most 20 nonzero differences, otherwise
   * by samples. t: always. */
  bool exact[CQ_N_TESTS];
} cq_comparison;

typedef struct cq_compare_options {
  size_t size;
  const char *const *measures; /**< as for cq_eval_retrieval(); none: map */
  size_t n_measures;
  uint64_t topics_per_group; /**< test means over groups of consecutive topic numbers (cq_topic_group); 0: topics */
  bool all_pairs;            /**< compare each run with each later one; otherwise, every other run with the first */
  bool in_double;            /**< as in cq_retrieval_eval_options */
  uint64_t n_samples, seed;  /**< for randomization, if it cannot try all signs */
} cq_compare_options;
/** 100,000 samples, seed 0: group "compare". */
CQ_DEFAULT_OPTIONS(cq_compare_options, cq_compare_default_options, compare)

/** Compares n pairs of values.
 * @param a,b      [n]
 * @param options  NULL for the defaults; only n_samples and seed are used
 * @errors CQ_ERR_ARGUMENT with the pair (from 1) for values that are not finite, and for options out of range;
 * CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_compare_values(cq_comparison *out, const double *a, const double *b, size_t n,
                                               const cq_compare_options *options, cq_error *error);

/** Holm's correction of p [m], in their order; may alias. @errors CQ_ERR_MEMORY. @source Holm 1979, section 3. */
CQ_API CQ_MUST_USE cq_status cq_compare_corrected(double *corrected, const double *p, size_t m, cq_error *error);

/** The group of a topic whose name is a number from 1 on: `*group` is (number - 1) / topics_per_group, from 0.
 * @errors CQ_ERR_ARGUMENT, which names the topic, for any other name; topics_per_group is not 0. */
CQ_API CQ_MUST_USE cq_status cq_topic_group(uint64_t *group, cq_slice topic, uint64_t topics_per_group,
                                            cq_error *error);

typedef struct cq_comparisons cq_comparisons;

/** Evaluates runs and compares them. The topics are judged topics for which some run has a document; a run without one
 * found nothing. A run's mean is over the tested values: with groups, the groups' means.
 * @param runs     [n_runs] paths; the first is the baseline
 * @param options  NULL for the defaults
 * @errors CQ_ERR_ARGUMENT for fewer than two runs, options out of range, or, with groups, a topic that is not a number;
 * those of cq_eval_retrieval(). */
CQ_API CQ_MUST_USE cq_status cq_compare_runs(cq_comparisons **out, const char *judgements, const char *const *runs,
                                             size_t n_runs, const cq_compare_options *options, cq_error *error);
CQ_API void cq_comparisons_free(cq_comparisons *comparisons);

CQ_API size_t cq_comparisons_n_measures(const cq_comparisons *comparisons);
CQ_API const char *cq_comparisons_measure(const cq_comparisons *comparisons, size_t measure);
CQ_API size_t cq_comparisons_n_topics(const cq_comparisons *comparisons);
CQ_API size_t cq_comparisons_n_groups(const cq_comparisons *comparisons); /**< without groups: the number of topics */
/** Which runs were compared, by index: second with first. */
CQ_API size_t cq_comparisons_n_pairs(const cq_comparisons *comparisons);
CQ_API size_t cq_comparisons_first(const cq_comparisons *comparisons, size_t pair);
CQ_API size_t cq_comparisons_second(const cq_comparisons *comparisons, size_t pair);
CQ_API const cq_comparison *cq_comparisons_result(const cq_comparisons *comparisons, size_t pair, size_t measure);

#ifdef __cplusplus
}
#endif
#endif
