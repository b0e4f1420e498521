/* The exchange of a run's ranks; ranks NULL: this process is alone. */
#ifndef TRAIN_RANKS_H
#define TRAIN_RANKS_H

#include "calque/ranks.h"
#include "train/tree_exchange.h"

const cq_exchange *cq_ranks_exchange(const cq_ranks *ranks);
/* Bytes of rank 0, on all ranks. Errors: CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_ranks_broadcast(cq_ranks *ranks, void *bytes, size_t n, cq_error *error);
/* Waits until all ranks are here; *any, which may be NULL, becomes true everywhere when it is so anywhere. Errors:
 * CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_ranks_meet(cq_ranks *ranks, bool *any, cq_error *error);

#endif
