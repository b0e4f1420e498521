/* What the ranks of a run (calque/ranks.h) say to each other; ranks NULL: this process is alone, and all is said. */
#ifndef RANKS_RANKS_H
#define RANKS_RANKS_H

#include "calque/ranks.h"
#include "ranks/messages.h"

/* NULL where this process is alone. Good as long as the ranks are open. */
cq_messages *cq_ranks_messages(cq_ranks *ranks);
/* Bytes of rank 0, on all ranks. Errors: CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_ranks_broadcast(cq_ranks *ranks, void *bytes, size_t n, cq_error *error);
/* Waits until all ranks are here; *any, which may be NULL, becomes true everywhere when it is so anywhere. Errors:
 * CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_ranks_meet(cq_ranks *ranks, bool *any, cq_error *error);

#endif
