/** @file Evaluation of a multilingual encoder: MSE to a teacher, translation accuracy, semantic textual similarity
 * (STS), and precision, recall and F1 of mined pairs.
 *
 *      cq_translation_result r;
 *      cq_eval_translation(&r, encoder, "test-tatoeba.tsv.gz", NULL, ctx, &err);
 *      printf("%.1f %% and %.1f %%\n", 100 * r.source_to_target, 100 * r.target_to_source);
 *
 * Each measure has two functions: for vectors, and for a model and a file. @source Reimers & Gurevych 2020, section 3.
 *
 * @threads Calls are independent of one another, and may share an encoder. */
#ifndef CALQUE_EVAL_H
#define CALQUE_EVAL_H

#include "calque/encoder.h"
#include "calque/options.h"
#include "calque/reranker.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @name On vectors */

/** The mean of `(a - b)^2` over all n * dim, times 100, summed in double precision. NaN when n * dim is 0. */
CQ_API double cq_mse_100(const float *a, const float *b, size_t n, size_t dim);

/** Translation accuracy: the share of rows a[i] whose most similar b by cosine, over the full matrix, is b[i], and the
 * reverse. Ties go to the lowest index; a zero vector's cosines are 0; chance level is 1 / n. The result equals that of
 * a plain double-precision loop, at every SIMD level and number of threads. @errors CQ_ERR_ARGUMENT when n is 0,
 * CQ_ERR_MEMORY. */
typedef struct cq_translation_result {
  double source_to_target, target_to_source, mean; /**< fractions of n */
  size_t n, n_skipped;                             /**< n_skipped: malformed lines of a file; 0 for vectors */
} cq_translation_result;
CQ_API CQ_MUST_USE cq_status cq_translation_accuracy(cq_translation_result *out, const float *a, const float *b,
                                                     size_t n, size_t dim, cq_context *ctx, cq_error *error);

/** Spearman's rank correlation, average ranks on ties; NaN when n < 2 or a side is constant.
 * @errors CQ_ERR_ARGUMENT for NaN in the input, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_spearman(double *out, const double *x, const double *y, size_t n, cq_error *error);
/** Pearson's correlation; NaN as above. */
CQ_API double cq_pearson(const double *x, const double *y, size_t n);

/** Precision, recall and F1 of the scored candidates with score >= threshold. */
typedef struct cq_f1_point {
  double threshold, precision, recall, f1; /**< fractions; 0 if a divisor is 0 */
  size_t n_taken, n_correct;
} cq_f1_point;

/** Precision, recall and F1 at one threshold. n_gold: the total number of correct candidates, found or not. */
CQ_API void cq_f1_at(cq_f1_point *out, double threshold, const double *scores, const bool *correct, size_t n,
                     size_t n_gold);

/** The same at every distinct threshold, the highest first: midway between two adjacent scores, and the lowest score
 * itself. Candidates with equal scores are taken together.
 * @param out  released with cq_free(); NULL when n is 0
 * @errors CQ_ERR_ARGUMENT for a NaN score or more correct candidates than n_gold; CQ_ERR_MEMORY.
 * @source The midpoint rule of Artetxe & Schwenk 2019, section 4.1. */
CQ_API CQ_MUST_USE cq_status cq_f1_curve(cq_f1_point **out, size_t *n_points, const double *scores, const bool *correct,
                                         size_t n, size_t n_gold, cq_error *error);
/** The point of maximum F1; on a tie, the one with the highest threshold; all zero for an empty curve. */
CQ_API void cq_f1_best(cq_f1_point *out, const cq_f1_point *curve, size_t n_points);

/** @name On a model and a file of lines: SOURCE tab TARGET [tab GOLD] */

/** Vectors of first-column sentences that files in several languages share, as in FLORES and NTREX: each is encoded
 * once. For calls one at a time, with the same options except max_rows and skip_bad, and the same models (at most two,
 * which must outlive it); at most 100,000 sentences per model. @errors CQ_ERR_MEMORY. */
typedef struct cq_eval_memory cq_eval_memory;
CQ_API CQ_MUST_USE cq_status cq_eval_memory_new(cq_eval_memory **out, cq_error *error);
CQ_API void cq_eval_memory_free(cq_eval_memory *memory); /**< NULL is ignored */

typedef struct cq_eval_options {
  size_t size;
  size_t max_rows; /**< read at most this many rows; 0: all */
  bool skip_bad;   /**< count malformed lines instead of CQ_ERR_FORMAT */
  const char *prompt;
  int truncate_dim; /**< keep only this many leading dimensions; 0: all */
  /** Rewrite the second column: lower, upper (case), accents (without), punctuation (without the last marks), nfd,
   * hyphen (soft hyphens in words); NULL: as it is */
  const char *perturb;
  cq_eval_memory *memory; /**< for cq_eval_mse, translation, xsim, search and sts; NULL: none */
  cq_notice_fn notice;    /**< receives the number of lines that were left out because they have no label */
  void *notice_context;
} cq_eval_options;
CQ_DEFAULT_OPTIONS(cq_eval_options, cq_eval_default_options, eval) /**< group "eval" */

/** MSE between the student's vectors of both sides of a file and the teacher's vectors of the first column. */
typedef struct cq_mse_result {
  double target;           /**< x 100: student(target) against teacher(source), the paper's measure */
  double source;           /**< x 100: student(source) against teacher(source) */
  double teacher_variance; /**< x 100: variance of the teacher's vectors; the MSE of a constant student */
  double teacher_norm;     /**< mean length of the teacher's vectors */
  size_t n, n_skipped;
} cq_mse_result;
/** MSE of a student to its teacher. A student with fewer dimensions is compared with the teacher's first ones, as in
 * distillation with truncation. @errors CQ_ERR_ARGUMENT when it has more dimensions, or the file has no rows; those of
 * reading and encoding. */
CQ_API CQ_MUST_USE cq_status cq_eval_mse(cq_mse_result *out, const cq_encoder *teacher, const cq_encoder *student,
                                         const char *file, const cq_eval_options *options, cq_context *ctx,
                                         cq_error *error);

/** Translation accuracy of a file's two columns. A match with the right text counts as right, even in another row (as
 * in sentence-transformers' TranslationEvaluator). @errors CQ_ERR_ARGUMENT when the file has no rows; those of reading
 * and encoding. */
CQ_API CQ_MUST_USE cq_status cq_eval_translation(cq_translation_result *out, const cq_encoder *encoder,
                                                 const char *file, const cq_eval_options *options, cq_context *ctx,
                                                 cq_error *error);

/** xsim: the share of rows whose best candidate by the ratio margin, among the 4 nearest, is not their translation.
 * @errors As above. @source Artetxe & Schwenk 2019, equation 2; LASER's xsim. */
CQ_API CQ_MUST_USE cq_status cq_eval_xsim(cq_translation_result *out, const cq_encoder *encoder, const char *file,
                                          const cq_eval_options *options, cq_context *ctx, cq_error *error);

/** xsim++: the candidates for each sentence of the second column are the sentences of the first, which is English, and
 * near misses of these made by rules: another number, another name, a negation added or removed, two clauses swapped.
 * @errors As above. @source Chen et al. 2023 (xsim++, arXiv 2306.12907); the rules are ours. */
typedef struct cq_xsim_kind {
  size_t n_errors, n_near_misses; /**< rows whose best candidate is a near miss of this kind; near misses of this
                                   * kind */
} cq_xsim_kind;
typedef struct cq_xsim_hard_result {
  double error; /**< share of the rows */
  cq_xsim_kind number, name, negation, order;
  size_t n_other; /**< errors with another row's sentence */
  size_t n, n_skipped;
} cq_xsim_hard_result;
CQ_API CQ_MUST_USE cq_status cq_eval_xsim_hard(cq_xsim_hard_result *out, const cq_encoder *encoder, const char *file,
                                               const cq_eval_options *options, cq_context *ctx, cq_error *error);

/** Search in another model's index: the first column's sentences are documents, encoded by `documents`; the second
 * column's are queries, encoded by `queries`, a student of it. A hit is the query's own row, or a row with the same
 * text. */
typedef struct cq_eval_search_result {
  double hits_at_1, hits_at_10; /**< shares of queries with their document in first place, or in the top ten */
  double mrr;                   /**< mean reciprocal rank */
  size_t n, n_skipped;
} cq_eval_search_result;
/** Evaluates search. A student with fewer dimensions is compared with the documents' first ones. @errors
 * CQ_ERR_ARGUMENT when it has more dimensions, or the file has no rows; those of reading and encoding. */
CQ_API CQ_MUST_USE cq_status cq_eval_search(cq_eval_search_result *out, const cq_encoder *documents,
                                            const cq_encoder *queries, const char *file, const cq_eval_options *options,
                                            cq_context *ctx, cq_error *error);

/** Correlation between cosine and gold score over a file with three columns.
 * @errors CQ_ERR_FORMAT for a gold score that is not a number; CQ_ERR_ARGUMENT when the file has no rows; those of
 * reading and encoding. */
typedef struct cq_sts_result {
  double spearman, pearson;
  size_t n, n_skipped;
} cq_sts_result;
CQ_API CQ_MUST_USE cq_status cq_eval_sts(cq_sts_result *out, const cq_encoder *encoder, const char *file,
                                         const cq_eval_options *options, cq_context *ctx, cq_error *error);
/** The same with a reranker's logits instead of cosines; the first column is the query.
 * @errors CQ_ERR_ARGUMENT for the options prompt and truncate_dim; those of cq_reranker_score_pairs(). */
CQ_API CQ_MUST_USE cq_status cq_eval_sts_reranker(cq_sts_result *out, const cq_reranker *reranker, const char *file,
                                                  const cq_eval_options *options, cq_context *ctx, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
