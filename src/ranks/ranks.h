/* Communication between the ranks of a run (calque/ranks.h). ranks NULL means one process, which sends nothing. */
#ifndef RANKS_RANKS_H
#define RANKS_RANKS_H

#include "base/options.h"
#include "base/slice.h"
#include "calque/ranks.h"
#include "ranks/messages.h"

/* Ranks over any transport that can send and receive messages. Errors: CQ_ERR_MEMORY. Release with cq_ranks_close. */
CQ_MUST_USE cq_status cq_ranks_over(cq_ranks **out, const cq_transport *transport, cq_error *error);

/* NULL if there is only one process. Valid while the ranks are open. */
cq_messages *cq_ranks_messages(cq_ranks *ranks);
/* Bytes of rank 0, on all ranks. Errors: CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_ranks_broadcast(cq_ranks *ranks, void *bytes, size_t n, cq_error *error);
/* Rank 0's text, on all ranks, not zero-terminated; release *out with cq_free even after an error. Errors:
 * CQ_ERR_MEMORY, CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_ranks_first_text(char **out, size_t *n, cq_ranks *ranks, cq_slice own, cq_error *error);
/* Waits for all ranks (a barrier); *any, which may be NULL, becomes true on all ranks if it is true on one. Errors:
 * CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_ranks_meet(cq_ranks *ranks, bool *any, cq_error *error);

/* --- lines of cq_ranks_agree --- */

/* Replaces tabs and line ends within a value by blanks; value NULL: not set. */
void cq_agree_text(cq_builder *lines, const char *name, const char *value);
/* Adds a line for each option that changes the result, named as on the command line; for a model, the line only says
 * whether one is given. */
void cq_agree_options(cq_builder *lines, const cq_option_group *group, const void *options);

#endif
