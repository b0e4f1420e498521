/* From the shards' gradients to changed parameters, the same code for everything that is trained:
 *
 *   gradients of this rank's shards ──fixed tree──▶ their sum ──exchange──▶ of all ranks ──clip, AdamW──▶ parameters
 *                                                                           gradients cleared, parameters packed
 *
 * It also saves its state in a checkpoint. */
#ifndef TRAIN_UPDATE_H
#define TRAIN_UPDATE_H

#include "cache/checkpoint.h"
#include "nn/optimizer.h"
#include "train/exchange.h"
#include "train/overlap.h"

/* Makes changed parameters ready to compute with. */
typedef cq_status (*cq_pack)(void *owner, cq_context *ctx, cq_error *error);

/* {0} is none, and may be freed. */
typedef struct cq_update {
  const char *name; /* in messages, and before the names of sections; "" for the model itself */
  cq_optimizer optimizer;
  cq_gradients *gradients; /* [n_gradients]: this rank's k-th shards add to the k-th of these */
  int n_gradients;
  bool is_view; /* of the first parameters of another update */
  const cq_exchange *exchange;
  cq_overlap overlap; /* {0}: sums do not begin early */
  int64_t n_floats;   /* of the last sum: dense gradients and the touched rows of tables */
  cq_pack pack;
  void *owner;
} cq_update;

/* params own their values (cq_params_own) and, like all pointers, are borrowed. exchange NULL: cq_exchange_local.
 * Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_update_new(cq_update *out, const char *name, cq_params *params, const cq_kernels *kernels,
                                    int n_shards, const cq_exchange *exchange, const cq_optimizer_options *options,
                                    cq_pack pack, void *owner, cq_error *error);
/* An optimizer for the first parameters of `of`, with the same gradients, that comes first in each turn
 * (nn/optimizer.h). */
CQ_MUST_USE cq_status cq_update_new_before(cq_update *out, const char *name, cq_update *of, cq_params *first,
                                           const cq_optimizer_options *options, cq_pack pack, void *owner,
                                           cq_error *error);
void cq_update_free(cq_update *u);

/* The gradients that a shard adds to, by its number. */
static inline cq_gradients *cq_update_gradients(const cq_update *u, int shard, int first_own) {
  return &u->gradients[shard - first_own];
}

/* After this call, sums may begin while backward runs (cq_overlap_start), if the exchange can begin sums. Not allowed
 * for two updates that take turns. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_update_overlap(cq_update *u, cq_error *error);

/* Updates by the gradients, each times scale (1 / accumulated batches). *norm: the gradient norm after that, before
 * clipping. Errors: CQ_ERR_LIMIT if it is not finite (the parameters are then unusable), those of the exchange and of
 * packing, CQ_ERR_MEMORY. Gradients are cleared in any case. */
CQ_MUST_USE cq_status cq_update_apply(double *norm, cq_update *u, double scale, cq_context *ctx, cq_error *error);
/* Clears the gradients, after a failed step. */
void cq_update_clear(cq_update *u, cq_context *ctx);

/* Sections "parameters" (a view has none), "adam.m", "adam.v", "step" and a "table.steps.N" for each table, each with
 * the prefix "NAME."; restoring also packs. Errors of restoring: CQ_ERR_FORMAT, which names the missing section or the
 * one with a wrong size. */
CQ_MUST_USE cq_status cq_update_save(const cq_update *u, cq_checkpoint_writer *w, cq_error *error);
CQ_MUST_USE cq_status cq_update_restore(cq_update *u, const cq_checkpoint *c, cq_context *ctx, cq_error *error);

#endif
