/* A gold standard, lines of source id and target id, as rows of the mined files. */
#ifndef RECIPE_MINE_GOLD_PAIRS_H
#define RECIPE_MINE_GOLD_PAIRS_H

#include "base/map.h"
#include "calque/mine.h"

typedef struct cq_gold_pairs {
  cq_map rows, ids; /* both map pair -> count; ids.n: the number of distinct pairs of ids */
} cq_gold_pairs;

/* Errors: CQ_ERR_ARGUMENT if the mined files have no ids, or for an unknown id (with file and line); CQ_ERR_FORMAT for
 * malformed lines and for a file without pairs; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_gold_pairs_read(cq_gold_pairs *out, const cq_mining *mining, const char *path,
                                         cq_error *error);
void cq_gold_pairs_free(cq_gold_pairs *gold);
/* The number of gold pairs of ids in a pair of rows. */
uint64_t cq_gold_pairs_count(const cq_gold_pairs *gold, uint32_t source, uint32_t target);

#endif
