/** @file The learning curve of a run that trains an encoder (distill, extend, finetune), from its log.
 *
 *      cq_learning_curve *c;
 *      cq_learning_curve_read(&c, "multilingual", &err);
 *      const cq_curve *loss = cq_learning_curve_get(c, 0);                  // loss->steps, loss->values
 *      cq_learning_curve_free(c);
 *
 * Outside the promise of a stable ABI: this header may change with any release, and calque/calque.h does not include
 * it.
 *
 * @threads All may be called by any number of threads at once. */
#ifndef CALQUE_LAB_LEARNING_CURVE_H
#define CALQUE_LAB_LEARNING_CURVE_H

#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cq_curve_kind {
  CQ_CURVE_LOSS,        /**< of each step */
  CQ_CURVE_TRANSLATION, /**< translation accuracy on a dev set, a share: the mean of both directions */
  CQ_CURVE_LOGITS,      /**< a reranker's: Spearman's correlation of the second column's logits with the teacher's */
  CQ_CURVE_STS,         /**< Spearman's correlation on a dev set */
  CQ_CURVE_MSE,         /**< to the teacher, times 100, of the second column of a dev set */
  CQ_N_CURVE_KINDS
} cq_curve_kind;

typedef struct cq_curve {
  cq_curve_kind kind;
  char *name; /**< a dev set's label, or "mean of dev sets"; of a loss, the kind of its batches, or "loss" */
  const double *steps, *values; /**< [n]; finite */
  size_t n;
} cq_curve;

typedef struct cq_learning_curve cq_learning_curve;

/** Reads a log. An evaluation's values that are null are left out, and so are means of several evaluations' weights.
 * @param path  the model that a run has written or is writing: if PATH.work exists, its current run is read; or the log
 * itself
 * @errors CQ_ERR_FORMAT with the line; CQ_ERR_IO, CQ_ERR_MEMORY. A last line that is incomplete is left out. */
CQ_API CQ_MUST_USE cq_status cq_learning_curve_read(cq_learning_curve **out, const char *path, cq_error *error);
CQ_API void cq_learning_curve_free(cq_learning_curve *curve); /**< NULL is ignored */

CQ_API const char *cq_learning_curve_path(const cq_learning_curve *curve); /**< of the log */
/** Whether the log is of autoencoders: then there are no curves, and cq_autoencode_log_read() reads it. */
CQ_API bool cq_learning_curve_of_autoencoders(const cq_learning_curve *curve);
/** The curves, in the order in which they begin; NULL: there are no more. */
CQ_API const cq_curve *cq_learning_curve_get(const cq_learning_curve *curve, size_t i);

#ifdef __cplusplus
}
#endif
#endif
