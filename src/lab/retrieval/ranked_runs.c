/* Runs without an inverted index: dense retrieval, and fusion of runs. */
#include "base/arena.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/memory.h"
#include "calque/lab/retrieval.h"
#include "format/collection.h"
#include "lab/retrieval/trec.h"
#include "model/encoder.h"
#include "search/top.h"

#include <stdlib.h>

/* --- dense --- */

typedef struct texts {
  cq_slice *ids, *items;
  size_t n, ids_capacity, items_capacity;
  cq_arena arena;
} texts;

static cq_status add_ranked_text(texts *t, cq_slice id, cq_slice text, cq_error *error) {
  const char *name = cq_arena_strndup(&t->arena, id.data, id.n);
  const char *copy = cq_arena_strndup(&t->arena, text.data, text.n);
  if (!name || !copy || !cq_reserve((void **)&t->ids, &t->ids_capacity, t->n + 1, sizeof *t->ids) ||
      !cq_reserve((void **)&t->items, &t->items_capacity, t->n + 1, sizeof *t->items))
    return cq_fail_memory(error, "documents");
  t->ids[t->n] = (cq_slice){name, id.n};
  t->items[t->n++] = (cq_slice){copy, text.n};
  return CQ_OK;
}

static void free_texts(texts *t) {
  cq_free(t->ids);
  cq_free(t->items);
  cq_arena_free(&t->arena);
}

static cq_status read_ranked_texts(texts *out, const char *path, cq_error *error) {
  cq_collection *collection;
  cq_raw_document raw;
  cq_builder room = {0};
  cq_status status = cq_collection_open(&collection, &path, 1, error);
  while (!status && !(status = cq_collection_next(&raw, collection, error)) && raw.bytes.data) {
    cq_collection_document document;
    status = cq_document_read(&document, &raw, NULL, 0, &room, error);
    if (!status) status = add_ranked_text(out, document.id, document.text, error);
  }
  cq_builder_free(&room);
  cq_collection_close(collection);
  return status;
}

static cq_status encode_texts(float **out, const cq_encoder *encoder, const cq_slice *items, size_t n, cq_context *ctx,
                              cq_error *error) {
  *out = cq_alloc_array(n, (size_t)cq_encoder_dim(encoder) * sizeof **out);
  if (!*out) return cq_fail_memory(error, "vectors");
  cq_encode_stats stats = {0};
  const cq_status status = cq_encoder_encode(*out, &stats, encoder, items, n, NULL, ctx, error);
  if (!status) cq_encoder_tell_truncated(encoder, stats.n_truncated, stats.n_sentences);
  return status;
}

/* A topic's first documents in the order of the logits; the others' scores stay below, at cosine - 2. */
static cq_status rerank_found(const cq_neighbors *found, const cq_slice *titles, const cq_slice *documents,
                              const cq_dense_models *m, cq_context *ctx, cq_error *error) {
  const size_t depth = cq_min(m->rerank_depth, found->k);
  cq_slice *passages = cq_alloc_array(depth + 1, sizeof *passages);
  float *logits = cq_alloc_array(depth + 1, sizeof *logits);
  size_t *order = cq_alloc_array(depth + 1, sizeof *order);
  uint32_t *before = cq_alloc_array(depth + 1, sizeof *before);
  cq_status status = passages && logits && order && before ? CQ_OK : cq_fail_memory(error, "documents to rank");
  for (size_t t = 0; !status && t < found->n; t++) {
    uint32_t *index = found->index + t * found->k;
    double *score = found->cosine + t * found->k;
    size_t n = 0;
    for (; n < depth && index[n] != UINT32_MAX; n++) passages[n] = documents[before[n] = index[n]];
    status = cq_reranker_score(logits, m->reranked, m->reranker, titles[t], passages, n, ctx, error);
    if (status) break;
    cq_reranker_order(order, logits, n);
    for (size_t i = 0; i < n; i++) index[i] = before[order[i]], score[i] = (double)logits[order[i]];
    for (size_t i = n; n && i < found->k; i++) score[i] += score[n - 1] - 2;
  }
  cq_free(passages);
  cq_free(logits);
  cq_free(order);
  cq_free(before);
  return status;
}

cq_status cq_dense_run(const char *run, const cq_dense_models *models, const char *documents_path,
                       const char *topics_path, size_t k, const char *tag, cq_context *ctx, cq_error *error) {
  const cq_encoder *encoder = models->encoder;
  texts documents = {0};
  cq_topics topics = {0};
  cq_slice *titles = NULL;
  float *x = NULL, *y = NULL;
  cq_neighbors found = {0};
  cq_text_writer out = {0};
  cq_status status = cq_run_check_tag(tag, error);
  if (!status) status = cq_text_writer_check(run, error);
  if (!status) status = read_ranked_texts(&documents, documents_path, error);
  if (!status && documents.n == 0) status = cq_fail_file(error, CQ_ERR_FORMAT, documents_path, "no documents");
  if (!status) status = cq_topics_read(&topics, topics_path, error);
  if (!status && !(titles = cq_alloc_array(topics.n, sizeof *titles))) status = cq_fail_memory(error, "topics");
  for (size_t i = 0; !status && i < topics.n; i++) titles[i] = topics.items[i].title;
  if (!status) status = encode_texts(&x, encoder, titles, topics.n, ctx, error);
  if (!status) status = encode_texts(&y, encoder, documents.items, documents.n, ctx, error);
  const size_t n_found = cq_min(models->reranker && k < models->rerank_depth ? models->rerank_depth : k, documents.n);
  if (!status)
    status =
        cq_top(&found, x, topics.n, y, documents.n, (size_t)cq_encoder_dim(encoder), n_found, NULL, NULL, ctx, error);
  if (!status && models->reranker) status = rerank_found(&found, titles, documents.items, models, ctx, error);
  if (!status) status = cq_text_writer_open(&out, run, error);
  for (size_t t = 0; !status && t < topics.n; t++)
    for (size_t rank = 0; !status && rank < n_found && rank < k && found.index[t * n_found + rank] != UINT32_MAX;
         rank++)
      status = cq_run_put(&out, topics.items[t].id, documents.ids[found.index[t * n_found + rank]], rank + 1,
                          found.cosine[t * n_found + rank], tag, error);
  if (!status) status = cq_text_writer_commit(&out, error);
  cq_text_writer_abort(&out);
  cq_neighbors_free(&found);
  cq_free(x);
  cq_free(y);
  cq_free(titles);
  cq_topics_free(&topics);
  free_texts(&documents);
  return status;
}

/* --- fusion --- */

typedef struct fused {
  cq_slice topic, document;
  double score;
} fused;

static int by_topic_and_score(const void *a, const void *b) {
  const fused *p = a, *q = b;
  const int order = cq_slice_compare(p->topic, q->topic);
  if (order) return order;
  if (p->score != q->score) return p->score > q->score ? -1 : 1;
  return cq_slice_compare(p->document, q->document);
}

/* Adds 1 / (k + rank) for every line of a run; places: topic, NUL, document ──▶ its index. */
static cq_status add_run(fused **all, size_t *n, size_t *capacity, cq_intern *places, const cq_run *run, double k,
                         cq_error *error) {
  cq_builder key = {0};
  cq_status status = CQ_OK;
  for (size_t i = 0, rank = 0; !status && i < run->n; i++) {
    const cq_ranked *line = &run->items[i];
    rank = i && cq_slice_equal(line->topic, run->items[i - 1].topic) ? rank + 1 : 1;
    cq_builder_clear(&key);
    cq_builder_bytes(&key, line->topic.data, line->topic.n);
    cq_builder_char(&key, '\0');
    cq_builder_bytes(&key, line->document.data, line->document.n);
    const uint32_t at = key.failed ? CQ_INTERN_NONE : cq_intern_put(places, (cq_slice){key.data, key.n});
    if (at == CQ_INTERN_NONE || !cq_reserve((void **)all, capacity, *n + 1, sizeof **all)) {
      status = cq_fail_memory(error, "a fusion");
      break;
    }
    if (at == *n) (*all)[(*n)++] = (fused){line->topic, line->document, 0};
    (*all)[at].score += 1 / (k + (double)rank);
  }
  cq_builder_free(&key);
  return status;
}

cq_status cq_fuse_runs(const char *run, const char *const *paths, size_t n_runs, double k, size_t depth,
                       const char *tag, cq_error *error) {
  fused *all = NULL;
  size_t n = 0, capacity = 0;
  cq_intern places = {0};
  cq_text_writer out = {0};
  if (!(k >= 0)) return cq_fail(error, CQ_ERR_ARGUMENT, "k is %g, expected 0 or more", k);
  cq_run *runs = cq_alloc_array_zeroed(n_runs, sizeof *runs);
  cq_status status = runs ? cq_run_check_tag(tag, error) : cq_fail_memory(error, "a fusion");
  if (!status) status = cq_text_writer_check(run, error);
  for (size_t i = 0; !status && i < n_runs; i++) {
    status = cq_run_read(&runs[i], paths[i], false, error);
    if (!status) status = add_run(&all, &n, &capacity, &places, &runs[i], k, error);
  }
  if (!status && n) qsort(all, n, sizeof *all, by_topic_and_score);
  if (!status) status = cq_text_writer_open(&out, run, error);
  for (size_t i = 0, rank = 0; !status && i < n; i++) {
    rank = i && cq_slice_equal(all[i].topic, all[i - 1].topic) ? rank + 1 : 1;
    if (rank <= depth) status = cq_run_put(&out, all[i].topic, all[i].document, rank, all[i].score, tag, error);
  }
  if (!status) status = cq_text_writer_commit(&out, error);
  cq_text_writer_abort(&out);
  for (size_t i = 0; runs && i < n_runs; i++) cq_run_free(&runs[i]);
  cq_free(runs);
  cq_free(all);
  cq_intern_free(&places);
  return status;
}
