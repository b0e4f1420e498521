/* Lists of the passages that a search has found: their order and memory, for all backends. */
#include "recipe/index/backend.h"

#include "base/error.h"
#include "base/memory.h"

int cq_index_best_first(const void *a, const void *b) {
  const cq_index_candidate *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return (x->record > y->record) - (x->record < y->record);
}

cq_status cq_index_reserve_candidates(cq_index_candidates *lists, size_t n_queries, size_t k, cq_error *error) {
  for (size_t q = 0; q < n_queries; q++) {
    cq_free(lists[q].items);
    lists[q] = (cq_index_candidates){.items = cq_alloc_array(k, sizeof *lists[q].items)};
    if (!lists[q].items) return cq_fail_memory(error, "results");
  }
  return CQ_OK;
}

void cq_index_free_candidates(cq_index_candidates *lists, size_t n_queries) {
  for (size_t q = 0; lists && q < n_queries; q++) cq_free(lists[q].items);
  cq_free(lists);
}
