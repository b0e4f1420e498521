/* Tables (word embeddings) whose rows are divided among ranks: each keeps the values and the optimizer's state of its
 * part up to date (nn/optimizer.h), so its memory is its own part plus the rows of a few batches.
 *
 *   before a batch  own rows updated ──share──▶ the batch's rows on all ranks ──▶ forward, backward
 *   after it        gradients of the batch's rows on all ranks ──▶ each updates its own; others' are freed
 *   evaluation      all rows on all ranks, until the next update
 *   a checkpoint    all rows and their state on rank 0
 *
 * A table keeps its address; the pages of freed rows are returned to the system. The bits equal those of whole
 * tables. */
#ifndef TRAIN_TABLE_PARTS_H
#define TRAIN_TABLE_PARTS_H

#include "nn/optimizer.h"
#include "train/exchange.h"

enum { CQ_MAX_TABLE_PARTS = 4096 };

/* {0}: tables are not divided, and all functions do nothing. */
typedef struct cq_table_parts {
  cq_optimizer *optimizer; /* borrowed; its options say this rank's part */
  const cq_exchange *exchange;
  int32_t *ids; /* distinct ones of a batch */
  float *rows;  /* [n, dim] of them, on their way */
  size_t id_capacity, row_capacity;
  int64_t n_fetched; /* rows received from other ranks since they were last freed */
} cq_table_parts;

void cq_table_parts_free(cq_table_parts *t);

/* Fetches other ranks' rows of a batch. All ranks have the same ids [n]. Errors: the exchange's, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_table_parts_fetch(cq_table_parts *t, const cq_param *table, const int32_t *ids, size_t n,
                                           cq_error *error);
/* All rows of all tables. Errors: the exchange's. */
CQ_MUST_USE cq_status cq_table_parts_fetch_all(cq_table_parts *t, cq_error *error);
/* All rows of all tables and their state, on rank 0. Errors: the exchange's. */
CQ_MUST_USE cq_status cq_table_parts_collect(cq_table_parts *t, cq_error *error);
/* After an update: frees others' rows if there are many; always: in any case. */
void cq_table_parts_give_up(cq_table_parts *t, bool always);

#endif
