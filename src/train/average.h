/* Stochastic weight averaging: the mean of a model's parameters at several steps of its training.
 *
 *   mean_1 = x_1,  mean_n = mean_(n-1) + (x_n - mean_(n-1)) / n
 *
 * One more copy of the parameters, in f32, however many steps are averaged. Tables must have been brought to the step
 * (cq_trainer_settle) before they are added. Source: Izmailov et al. 2018, algorithm 1. */
#ifndef TRAIN_AVERAGE_H
#define TRAIN_AVERAGE_H

#include "base/context.h"
#include "cache/checkpoint.h"
#include "nn/param.h"

/* {0} is none, and may be freed. */
typedef struct cq_average {
  const cq_params *params; /* borrowed */
  float *mean;             /* [n_floats] in the layout of params->own */
  int64_t n_floats;
  uint64_t n; /* steps that it is the mean of */
} cq_average;

/* params own their values. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_average_new(cq_average *out, const cq_params *params, cq_error *error);
void cq_average_free(cq_average *a);

void cq_average_add(cq_average *a, cq_context *ctx);
/* Swaps the parameters' values and the mean. Packed weights must be packed again afterwards. */
void cq_average_swap(cq_average *a, cq_context *ctx);

/* Saves the sections "average.n" and, if n is not 0, "average", and restores them. Errors of restoring: CQ_ERR_FORMAT,
 * which names the missing section or the one with a wrong size. */
CQ_MUST_USE cq_status cq_average_save(const cq_average *a, cq_checkpoint_writer *w, cq_error *error);
CQ_MUST_USE cq_status cq_average_restore(cq_average *a, const cq_checkpoint *c, cq_error *error);

#endif
