/** @file Cross-lingual classification: a logistic regression on a frozen encoder's vectors, trained in one language and
 * evaluated in others. How well it transfers shows how language-independent the vectors are.
 *
 *      cq_classifier *c;
 *      cq_classifier_train(&c, encoder, "topics-en.tsv.gz", NULL, NULL, ctx, &err); // lines of sentence, tab, class
 *      cq_classify_result r;
 *      cq_eval_classify(&r, c, "topics-de.tsv.gz", NULL, ctx, &err);
 *      cq_classifier_free(c);
 *
 * The regression also works on vectors alone.
 *
 * @threads A trained cq_classifier may be used by any number of threads at once, and so may a cq_logistic. */
#ifndef CALQUE_CLASSIFY_H
#define CALQUE_CLASSIFY_H

#include "calque/eval.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @name On vectors */

typedef struct cq_logistic_options {
  size_t size;
  double c;           /**< inverse regularization strength, as scikit-learn's C */
  double tolerance;   /**< stops when no gradient element exceeds this times n * c */
  int max_iterations; /**< or after this many iterations */
} cq_logistic_options;
CQ_DEFAULT_OPTIONS(cq_logistic_options, cq_logistic_default_options, logistic) /**< group "logistic" */

typedef struct cq_logistic {
  size_t n_classes, dim;
  double *weights;  /**< [n_classes, dim + 1]; the last number of a row is its intercept */
  double loss;      /**< the minimum */
  int n_iterations; /**< to reach it */
  bool converged;   /**< within the tolerance */
} cq_logistic;

/** The weights of `p(k | x) = softmax(W x + b)` that minimize `c * sum of -log p + |W|^2 / 2`, as in scikit-learn's
 * LogisticRegression; intercepts are not regularized. The minimum is unique; it is found by L-BFGS (Liu & Nocedal 1989)
 * in double precision.
 * @param vectors,classes  [n, dim]; [n], below n_classes
 * @errors CQ_ERR_ARGUMENT for fewer than two classes, no rows, a class out of range, vectors that are not finite,
 * options out of range; CQ_ERR_MEMORY. `*out` is {0} then; release with cq_logistic_free(). */
CQ_API CQ_MUST_USE cq_status cq_logistic_train(cq_logistic *out, const float *vectors, const uint32_t *classes,
                                               size_t n, size_t dim, size_t n_classes,
                                               const cq_logistic_options *options, cq_context *ctx, cq_error *error);
CQ_API void cq_logistic_free(cq_logistic *model);
/** The most probable class of a vector [dim]; the first on a tie. */
CQ_API uint32_t cq_logistic_class(const cq_logistic *model, const float *vector);

/** Accuracy of n predictions, and F1 averaged over the classes that occur, as gold or predicted. */
typedef struct cq_classify_result {
  double accuracy, macro_f1;
  double chance; /**< the share of gold's most frequent class */
  size_t n, n_skipped;
} cq_classify_result;
/** Scores predictions. @errors CQ_ERR_ARGUMENT when n is 0 or a class is n_classes or more; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_classify_score(cq_classify_result *out, const uint32_t *predicted, const uint32_t *gold,
                                               size_t n, size_t n_classes, cq_error *error);

/** @name On a model and a file of lines: SENTENCE tab CLASS
 * Rows of class -1 or -, which data sets use for a missing label, and column names in the first line are left out. */

typedef struct cq_classifier cq_classifier;

/** Trains on a file; the encoder is borrowed. NULL options are the defaults; eval_options control how the file is read
 * and encoded.
 * @errors CQ_ERR_ARGUMENT for a file of one class; those of reading, encoding and cq_logistic_train(). */
CQ_API CQ_MUST_USE cq_status cq_classifier_train(cq_classifier **out, const cq_encoder *encoder, const char *file,
                                                 const cq_logistic_options *options,
                                                 const cq_eval_options *eval_options, cq_context *ctx, cq_error *error);
CQ_API void cq_classifier_free(cq_classifier *classifier);
CQ_API size_t cq_classifier_n_classes(const cq_classifier *classifier);
CQ_API bool cq_classifier_converged(const cq_classifier *classifier); /**< false: stopped after max_iterations */

/** Evaluates the classifier on a file. @errors CQ_ERR_FORMAT with the row's number for a class that the training file
 * lacks; those of reading and encoding. */
CQ_API CQ_MUST_USE cq_status cq_eval_classify(cq_classify_result *out, const cq_classifier *classifier,
                                              const char *file, const cq_eval_options *options, cq_context *ctx,
                                              cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
