/* Lists of nearest neighbors while they grow, and the arithmetic that decides what they keep. */
#ifndef SEARCH_LISTS_H
#define SEARCH_LISTS_H

#include "calque/nearest.h"
#include "search/rows.h"

/* n lists of k places; false: out of memory (free the partial result with cq_neighbors_free). */
bool cq_lists_new(cq_neighbors *out, size_t n, size_t k);
/* Empties n lists from the first on: cosine -infinity, index UINT32_MAX. */
void cq_lists_clear(cq_neighbors *lists, size_t first, size_t n);
/* Inserts a neighbor in order of cosine (ties: lowest index first) if it is good enough. */
void cq_lists_insert(cq_neighbors *lists, size_t list, uint32_t index, double cosine);
/* The cosine in the last place: the minimum for a neighbor to enter the list. */
static inline double cq_lists_min(const cq_neighbors *lists, size_t list) {
  return lists->cosine[(list + 1) * lists->k - 1];
}

/* The lengths of rows: *out [n], to be released with cq_free. Errors: CQ_ERR_ARGUMENT for a number that is not
 * finite, naming the row (from 1) and the side; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_exact_lengths(double **out, const cq_row_set *rows, const char *side, cq_error *error);

#endif
