/* An exchange between the ranks of a run, by messages (ranks/messages.h): sums go up the tree, results go back down. So
 * the order of additions is that of train/exchange.h, and the bits equal those of one process.
 *
 * With `narrow`, gradients are sent as bf16, half the bytes: each is rounded to 8 bits of mantissa at every rank on its
 * way. All ranks still have the same bits, but these depend on the number of ranks. */
#ifndef TRAIN_TREE_EXCHANGE_H
#define TRAIN_TREE_EXCHANGE_H

#include "ranks/messages.h"
#include "train/exchange.h"

typedef struct cq_tree_exchange cq_tree_exchange;

/* messages: borrowed; nothing else may be sent while a function of the exchange runs. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_tree_exchange_new(cq_tree_exchange **out, cq_messages *messages, bool narrow,
                                           const cq_kernels *kernels, cq_error *error);
void cq_tree_exchange_free(cq_tree_exchange *exchange);

/* Valid as long as the exchange. If messages fail, its functions fail with CQ_ERR_IO and name the ranks. */
const cq_exchange *cq_tree_exchange_of(const cq_tree_exchange *exchange);

#endif
