/* From the shards' gradients to changed parameters, once for everything that is trained:
 *
 *   gradients of this rank's shards ──fixed tree──▶ their sum ──exchange──▶ of all ranks ──clip, AdamW──▶ parameters
 *                                                                           gradients cleared, parameters packed
 *
 * and its state in a checkpoint. */
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
  cq_gradients *gradients; /* [n_gradients]: the k-th is added to by the k-th of this rank's shards */
  int n_gradients;
  bool is_view; /* of the first parameters of another update */
  const cq_exchange *exchange;
  cq_overlap overlap; /* {0}: sums do not begin early */
  int64_t n_floats;   /* of the last sum: dense gradients and the touched rows of tables */
  cq_pack pack;
  void *owner;
} cq_update;

/* params own their values (cq_params_own), and are borrowed as all pointers are. exchange NULL: cq_exchange_local.
 * Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_update_new(cq_update *out, const char *name, cq_params *params, const cq_kernels *kernels,
                                    int n_shards, const cq_exchange *exchange, const cq_optimizer_options *options,
                                    cq_pack pack, void *owner, cq_error *error);
/* A second one of the first parameters of `of`, by the same gradients, that comes first in each turn
 * (nn/optimizer.h). */
CQ_MUST_USE cq_status cq_update_new_before(cq_update *out, const char *name, cq_update *of, cq_params *first,
                                           const cq_optimizer_options *options, cq_pack pack, void *owner,
                                           cq_error *error);
void cq_update_free(cq_update *u);

/* The gradients that a shard adds to, by its number. */
static inline cq_gradients *cq_update_gradients(const cq_update *u, int shard, int first_own) {
  return &u->gradients[shard - first_own];
}

/* From now on sums may begin while backward runs (cq_overlap_start), if the exchange can begin sums. Not for an update
 * that has another before it, and not for that one. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_update_overlap(cq_update *u, cq_error *error);

/* Updates by the gradients, each times scale (1 / accumulated batches). *norm: the gradient's length after that and
 * before clipping. Errors: CQ_ERR_LIMIT if that is not finite (the parameters are unusable then), those of the exchange
 * and of packing, CQ_ERR_MEMORY. Gradients are cleared in any case. */
CQ_MUST_USE cq_status cq_update_apply(double *norm, cq_update *u, double scale, cq_context *ctx, cq_error *error);
/* Clears the gradients, after a failed step. */
void cq_update_clear(cq_update *u, cq_context *ctx);

/* Sections "parameters" (a view has none), "adam.m", "adam.v", "step" and a "table.steps.N" for each table, each with
 * the prefix "NAME."; and back, packed. Errors of restoring: CQ_ERR_FORMAT naming the section that is missing or of
 * another size. */
CQ_MUST_USE cq_status cq_update_save(const cq_update *u, cq_checkpoint_writer *w, cq_error *error);
CQ_MUST_USE cq_status cq_update_restore(cq_update *u, const cq_checkpoint *c, cq_context *ctx, cq_error *error);

#endif
