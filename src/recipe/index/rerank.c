/* Hits in the order of a reranker's logits. */
#include "base/error.h"
#include "base/memory.h"
#include "recipe/index/backend.h"

#include <string.h>

/* One query's hits, n of them, whose order is that of the logits. */
static void reorder(cq_hit *hits, cq_hit *before, size_t *order, const float *logits, size_t n) {
  cq_reranker_order(order, logits, n);
  memcpy(before, hits, n * sizeof *hits);
  for (size_t i = 0; i < n; i++) hits[i] = before[order[i]], hits[i].score = (double)logits[order[i]];
}

cq_status cq_hits_rerank(cq_hits *hits, cq_encode_stats *stats, const cq_reranker *reranker, const cq_slice *queries,
                         size_t depth, size_t k, cq_context *ctx, cq_error *error) {
  size_t n = 0, at = 0;
  for (size_t q = 0; q < hits->n_queries; q++) n += cq_min(hits->n[q], depth);
  cq_slice *texts = cq_alloc_array(2 * n + 1, sizeof *texts), *passages = texts + n;
  float *logits = cq_alloc_array(n + 1, sizeof *logits);
  cq_hit *before = cq_alloc_array(hits->k + 1, sizeof *before);
  size_t *order = cq_alloc_array(hits->k + 1, sizeof *order);
  cq_status status = texts && logits && before && order ? CQ_OK : cq_fail_memory(error, "passages to rank");
  for (size_t q = 0; !status && q < hits->n_queries; q++)
    for (size_t i = 0; i < hits->n[q] && i < depth; i++, at++) {
      texts[at] = queries[q];
      passages[at] = hits->all[q * hits->k + i].document.text;
    }
  if (!status) status = cq_reranker_score_pairs(logits, stats, reranker, texts, passages, n, ctx, error);
  for (size_t q = at = 0; !status && q < hits->n_queries; q++) {
    const size_t n_ranked = cq_min(hits->n[q], depth);
    reorder(hits->all + q * hits->k, before, order, logits + at, n_ranked);
    at += n_ranked;
    hits->n[q] = cq_min(hits->n[q], k);
  }
  cq_free(texts);
  cq_free(logits);
  cq_free(before);
  cq_free(order);
  return status;
}
