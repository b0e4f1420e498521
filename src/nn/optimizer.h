/* AdamW over all parameters of a model. Source: Loshchilov & Hutter 2019, algorithm 2, in PyTorch's order of
 * operations.
 *
 * Tables are updated lazily and exactly: a row that a step does not touch still owes that step's decay and momentum; it
 * catches up, step by step with the same arithmetic, before it is next read (cq_optimizer_catch_up) and before the
 * model is evaluated or saved (cq_optimizer_flush). The result is bit for bit that of updating every row at every step.
 *
 * Two optimizers with separate states may take turns to update the same parameters. The one that comes first in each
 * turn is the other's `before`. The other, which may have more parameters, applies the pending steps of both. */
#ifndef NN_OPTIMIZER_H
#define NN_OPTIMIZER_H

#include "base/context.h"
#include "nn/param.h"

typedef struct cq_optimizer_options {
  double beta1, beta2, eps, weight_decay;
  double clip_norm; /* 0: no clipping */
  /* Learning rate of step t (1-based), for dense parameters and for tables. Must be pure: it is called again for past
   * steps. */
  double (*learning_rate)(const void *context, uint64_t step, bool table);
  const void *context;
  /* This process updates only part number `part` of n_parts of the rows (cq_table_part), other processes the rest;
   * n_parts 0: all rows. */
  int part, n_parts;
} cq_optimizer_options;

/* The rows of a table that belong to part `part` of n_parts: *first to, but not including, *end. */
static inline void cq_table_part(int64_t *first, int64_t *end, const cq_param *table, int part, int n_parts) {
  *first = n_parts ? table->rows * part / n_parts : 0;
  *end = n_parts ? table->rows * (part + 1) / n_parts : table->rows;
}

typedef struct cq_optimizer {
  cq_optimizer_options options;
  cq_params *params; /* owned values (cq_params_own) */
  const cq_kernels *kernels;
  uint64_t step;               /* updates done */
  int64_t n_floats;            /* of all values, tables included */
  float *m, *v;                /* [n_floats], dense parameters at their offsets, then tables: like params->own */
  int64_t *table_at;           /* [n_tables] where in m and v */
  uint32_t **row_steps;        /* [n_tables][rows]: the step a row is up to date with */
  double *partial_sums;        /* of the norm, one a chunk */
  struct cq_optimizer *before; /* optimizer that updates the same parameters before this one in each turn; NULL: none */
} cq_optimizer;

CQ_MUST_USE cq_status cq_optimizer_new(cq_optimizer *out, cq_params *params, const cq_kernels *kernels,
                                       const cq_optimizer_options *options, cq_error *error);
void cq_optimizer_free(cq_optimizer *o);

/* Brings rows ids [n] of a table up to date (an id may repeat). Call it before a turn's first update; before its
 * second, with the rows that the first has not touched. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_optimizer_catch_up(cq_optimizer *o, const cq_param *table, const int32_t *ids, int64_t n,
                                            cq_context *ctx, cq_error *error);
/* Brings every row of every table up to date. */
void cq_optimizer_flush(cq_optimizer *o, cq_context *ctx);

/* Sums the shards into shards[0] over a fixed tree: ((0 + 1) + (2 + 3)) + ..., whatever the number of threads. */
CQ_MUST_USE cq_status cq_gradients_reduce(cq_gradients *shards, int n_shards, const cq_kernels *kernels,
                                          cq_context *ctx, cq_error *error);

/* The two parts of this: floats first to first + n of the dense gradients, and all tables. */
void cq_gradients_reduce_dense(cq_gradients *shards, int n_shards, int64_t first, int64_t n, const cq_kernels *kernels);
CQ_MUST_USE cq_status cq_gradients_reduce_tables(cq_gradients *shards, int n_shards, const cq_kernels *kernels,
                                                 cq_error *error);

/* One update from the gradients, each multiplied by `scale` first (1 / accumulated batches). Table rows in the gradient
 * must be up to date. *norm: the gradient norm after `scale`, before clipping. */
void cq_optimizer_update(cq_optimizer *o, const cq_gradients *gradients, double scale, cq_context *ctx, double *norm);

#endif
