/* An optimiser's whole state and the parameters it trains, as sections of a checkpoint, and back. */
#ifndef TRAIN_OPTIMIZER_STATE_H
#define TRAIN_OPTIMIZER_STATE_H

#include "nn/optimizer.h"
#include "store/checkpoint.h"

/* "parameters", "adam.m", "adam.v" and a "table.steps.N" for each table, each behind the prefix, which has 32 bytes or
 * less; the number of updates is the caller's to keep. Errors: CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_optimizer_save(const cq_optimizer *o, const char *prefix, cq_checkpoint_writer *w,
                                        cq_error *error);
/* All of this but the parameters: of a second optimiser of them. */
CQ_MUST_USE cq_status cq_optimizer_save_moments(const cq_optimizer *o, const char *prefix, cq_checkpoint_writer *w,
                                                cq_error *error);
/* Errors: CQ_ERR_FORMAT naming the section that is missing or of another size. */
CQ_MUST_USE cq_status cq_optimizer_restore(cq_optimizer *o, const char *prefix, const cq_checkpoint *c,
                                           cq_error *error);
CQ_MUST_USE cq_status cq_optimizer_restore_moments(cq_optimizer *o, const char *prefix, const cq_checkpoint *c,
                                                   cq_error *error);

#endif
