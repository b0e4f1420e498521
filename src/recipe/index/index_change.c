/* Changes of an index: documents -> passages -> vectors -> backend.h. */
#include "recipe/index/backend.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/slice.h"
#include "base/utf8.h"
#include "document/passages.h"
#include "format/json.h"
#include "model/encoder.h"
#include "recipe/encode/shared_encoder.h"

#include <math.h>
#include <string.h>

enum { MAX_SAMPLED = 64 }; /* passages of a batch, for the vocabulary's coverage */

/* Documents being added: their passages, and the text to encode for each. */
typedef struct adding {
  const cq_index *index;
  const cq_encoder *encoder;
  cq_passages passages;
  cq_ids ids;
  cq_token_memory *memory;
  size_t n_special;             /* tokens that every text has */
  cq_index_addition *additions; /* [n] */
  cq_index_passage *records;
  size_t n_records, records_capacity;
  cq_slice *texts; /* [n_records] */
  size_t texts_capacity;
  cq_arena arena;
} adding;

static void free_adding(adding *a) {
  cq_passages_close(&a->passages);
  cq_free(a->ids.ids);
  cq_token_memory_free(a->memory);
  cq_free(a->additions);
  cq_free(a->records);
  cq_free(a->texts);
  cq_arena_free(&a->arena);
}

/* --- passages --- */

enum { TOO_MANY_TOKENS = 1 << 28 };

/* Counts tokens, at least up to the model's limit: a longer text has too many, and the exact number does not matter. */
static cq_status count_tokens(size_t *n, void *context, cq_slice text, cq_error *error) {
  adding *a = context;
  bool truncated = false;
  a->ids.n = 0;
  const cq_status status = cq_encoder_tokenize(&a->ids, a->encoder, a->memory, text, &truncated, error);
  *n = truncated ? TOO_MANY_TOKENS : a->ids.n - cq_min(a->ids.n, a->n_special);
  return status;
}

/* With the title before it, a blank line between. */
static cq_status add_record(adding *a, const cq_document *d, size_t begin, size_t end, cq_error *error) {
  if (!cq_reserve((void **)&a->records, &a->records_capacity, a->n_records + 1, sizeof *a->records) ||
      !cq_reserve((void **)&a->texts, &a->texts_capacity, a->n_records + 1, sizeof *a->texts))
    return cq_fail_memory(error, "documents");
  cq_slice text = {d->text.data + begin, end - begin};
  if (d->title.n) {
    char *both = cq_arena_alloc(&a->arena, d->title.n + 1 + text.n);
    if (!both) return cq_fail_memory(error, "documents");
    memcpy(both, d->title.data, d->title.n);
    both[d->title.n] = '\n';
    if (text.n) memcpy(both + d->title.n + 1, text.data, text.n);
    text = (cq_slice){both, d->title.n + 1 + text.n};
  }
  a->texts[a->n_records] = text;
  a->records[a->n_records++] = (cq_index_passage){0, (uint32_t)begin, (uint32_t)end, 0};
  return CQ_OK;
}

static cq_status add_passages(adding *a, const cq_document *d, cq_error *error) {
  const size_t takes = (size_t)cq_encoder_max_seq_length(a->encoder);
  size_t n_title = 0, n_text, room = takes > a->n_special ? takes - a->n_special : 1;
  if (takes == 0) room = TOO_MANY_TOKENS; /* a static model takes all */
  cq_status status = d->title.n ? count_tokens(&n_title, a, d->title, error) : CQ_OK;
  if (!status) status = count_tokens(&n_text, a, d->text, error);
  if (status) return status;
  if (a->index->passage_tokens && a->index->passage_tokens < room) room = a->index->passage_tokens;
  room -= cq_min(n_title, room / 2);
  if (n_text <= room) return add_record(a, d, 0, d->text.n, error);
  char language[16];
  const cq_passage_options o = {room, cq_min(a->index->passage_overlap, room / 2), count_tokens, a,
                                d->language.n ? cq_slice_copy(language, sizeof language, d->language) : NULL};
  status = cq_passages_find(&a->passages, d->text, &o, error);
  for (size_t i = 0; !status && i < a->passages.n; i++)
    status = add_record(a, d, a->passages.items[i].begin, a->passages.items[i].end, error);
  return status || a->passages.n ? status : add_record(a, d, 0, 0, error); /* of blanks alone */
}

/* --- what is refused --- */

static cq_status check_utf8(const cq_document *d, cq_slice text, const char *what, cq_error *error) {
  const size_t at = cq_utf8_invalid_at(text.data, text.n);
  if (at == text.n) return CQ_OK;
  return cq_fail(error, CQ_ERR_FORMAT, "document '%.*s': its %s is not UTF-8 at byte %zu", (int)d->id.n, d->id.data,
                 what, at);
}

enum {
  MAX_METADATA_LEVELS = 500
}; /* SQLite's JSON has its own limit, and one document beyond it would make every filter fail */

static bool is_too_deep(const json_t *json, int levels) {
  const char *key;
  json_t *value;
  size_t i;
  if (!json_is_object(json) && !json_is_array(json)) return false;
  if (levels == 0) return true;
  json_object_foreach((json_t *)(uintptr_t)json, key, value) if (is_too_deep(value, levels - 1)) return true;
  json_array_foreach(json, i, value) if (is_too_deep(value, levels - 1)) return true;
  return false;
}

static cq_status check_document(const cq_document *d, cq_error *error) {
  cq_status status = check_utf8(d, d->id, "id", error);
  if (!status) status = check_utf8(d, d->language, "language", error);
  if (!status) status = check_utf8(d, d->title, "title", error);
  if (!status) status = check_utf8(d, d->url, "url", error);
  if (!status) status = check_utf8(d, d->text, "text", error);
  if (status || d->metadata.n == 0) return status;
  json_error_t at;
  json_t *json;
  if (cq_json_load(&json, d->metadata, JSON_REJECT_DUPLICATES, &at) == CQ_ERR_MEMORY)
    return cq_fail_memory(error, "metadata");
  if (!json_is_object(json))
    status = cq_fail(error, CQ_ERR_FORMAT, "document '%.*s': its metadata are not a JSON object%s%s", (int)d->id.n,
                     d->id.data, json ? "" : ": ", json ? "" : at.text);
  else if (is_too_deep(json, MAX_METADATA_LEVELS))
    status = cq_fail(error, CQ_ERR_FORMAT, "document '%.*s': its metadata have more than %d levels", (int)d->id.n,
                     d->id.data, MAX_METADATA_LEVELS);
  json_decref(json);
  return status;
}

static cq_status check_finite(const adding *a, const float *vectors, size_t n, size_t dim, cq_error *error) {
  for (size_t i = 0, record = 0; i < n; i++)
    for (size_t end = record + a->additions[i].n_passages; record < end; record++)
      for (size_t k = 0; k < dim; k++)
        if (!isfinite(vectors[record * dim + k]))
          return cq_fail(error, CQ_ERR_ARGUMENT,
                         "document '%.*s': the model gives a vector with a number that is not finite",
                         (int)a->additions[i].document->id.n, a->additions[i].document->id.data);
  return CQ_OK;
}

/* --- adding --- */

static cq_status make_passages(adding *a, const cq_document *documents, size_t n, cq_error *error) {
  cq_status status = CQ_OK;
  a->additions = cq_alloc_array_zeroed(n, sizeof *a->additions);
  if (!a->additions) return cq_fail_memory(error, "documents");
  if (!(a->memory = cq_token_memory_new())) return cq_fail_memory(error, "documents");
  status = cq_passages_open(&a->passages, error);
  if (!status) status = count_tokens(&a->n_special, a, (cq_slice){"", 0}, error);
  for (size_t i = 0; !status && i < n; i++) {
    const size_t first = a->n_records;
    status = check_document(&documents[i], error);
    if (!status) status = add_passages(a, &documents[i], error);
    a->additions[i] = (cq_index_addition){&documents[i], NULL, a->n_records - first};
  }
  size_t at = 0;
  for (size_t i = 0; !status && i < n; at += a->additions[i++].n_passages) a->additions[i].passages = a->records + at;
  return status;
}

/* Counts how well the vocabulary covers what is added. */
static cq_status sample_coverage(cq_index *index, const adding *a, size_t n, cq_context *ctx, cq_error *error) {
  const size_t step = a->n_records / MAX_SAMPLED + 1;
  cq_status status = CQ_OK;
  for (size_t i = 0, record = 0; !index->is_coverage_told && i < n; i++)
    for (const size_t end = record + a->additions[i].n_passages; !status && record < end; record++)
      if (record % step == 0)
        status = cq_coverage_add(&index->coverage, a->encoder, a->additions[i].document->language, a->texts[record],
                                 ctx, error);
  return status;
}

/* What a commit has to tell. */
typedef struct commit_news {
  uint64_t n_truncated;
  cq_builder uncovered;
} commit_news;

static cq_status write_uncovered(commit_news *news, cq_index *index, cq_error *error) {
  cq_coverage_sort(&index->coverage);
  for (size_t at = 0; !index->is_coverage_told; cq_builder_text(&news->uncovered, ", "))
    if (!cq_coverage_next(&news->uncovered, &at, &index->coverage)) break;
  return news->uncovered.failed ? cq_fail_memory(error, "vocabulary's coverage") : CQ_OK;
}

static cq_status commit_held(commit_news *news, cq_index *index, cq_error *error) {
  cq_status status = index->backend->check_writing(index, error);
  if (!status) status = write_uncovered(news, index, error);
  if (!status) status = index->backend->commit(index, error);
  if (status) {
    cq_builder_free(&news->uncovered);
    return status;
  }
  news->n_truncated = index->n_truncated;
  index->n_truncated = 0;
  index->is_coverage_told |= news->uncovered.n > 0;
  return CQ_OK;
}

/* After a commit, without the mutex, because it may have to open a model. */
static void tell_news(const cq_index *index, commit_news *news) {
  const cq_encoder *encoder;
  cq_error ignored;
  if (news->n_truncated && !cq_index_need_model(&encoder, index, NULL, &ignored))
    cq_index_tell_truncated(index, news->n_truncated, news->n_truncated == 1 ? "passage" : "passages", encoder);
  if (news->uncovered.n)
    CQ_NOTIFY(index, CQ_UNCOVERED "%.*s; searches in such text find little", (int)news->uncovered.n - 2,
              news->uncovered.data);
  cq_builder_free(&news->uncovered);
}

static cq_status add_documents(cq_index *index, const cq_document *documents, size_t n, bool commits, cq_context *ctx,
                               cq_error *error) {
  adding a = {.index = index};
  const size_t dim = (size_t)index->dim;
  cq_encode_stats stats = {0};
  float *vectors = NULL;
  commit_news news = {0};
  cq_status status = index->backend->check_writing(index, error);
  if (!status) status = cq_index_need_model(&a.encoder, index, NULL, error);
  if (!status) status = make_passages(&a, documents, n, error);
  if (!status && !(vectors = cq_alloc_array(a.n_records, dim * sizeof *vectors)))
    status = cq_fail_memory(error, "documents");
  if (!status) status = cq_shared_encode(vectors, &stats, a.encoder, a.texts, a.n_records, index->ranks, ctx, error);
  if (!status) status = check_finite(&a, vectors, n, dim, error);
  if (!status) {
    pthread_mutex_lock(&index->shared->writing);
    status = sample_coverage(index, &a, n, ctx, error);
    if (!status) status = index->backend->append(index, a.additions, n, vectors, error);
    if (!status) index->n_truncated += stats.n_truncated;
    if (!status && commits) status = commit_held(&news, index, error);
    pthread_mutex_unlock(&index->shared->writing);
  }
  tell_news(index, &news);
  cq_free(vectors);
  free_adding(&a);
  return status;
}

cq_status cq_index_add(cq_index *index, const cq_document *documents, size_t n, cq_context *ctx, cq_error *error) {
  return add_documents(index, documents, n, false, ctx, error);
}

cq_status cq_index_add_commit(cq_index *index, const cq_document *documents, size_t n, cq_context *ctx,
                              cq_error *error) {
  return add_documents(index, documents, n, true, ctx, error);
}

cq_status cq_index_remove(cq_index *index, const cq_slice *ids, size_t n, size_t *n_removed, cq_error *error) {
  pthread_mutex_lock(&index->shared->writing);
  const cq_status status = index->backend->remove(index, ids, n, n_removed, error);
  pthread_mutex_unlock(&index->shared->writing);
  return status;
}

cq_status cq_index_remove_commit(cq_index *index, const cq_slice *ids, size_t n, size_t *n_removed, cq_error *error) {
  commit_news news = {0};
  pthread_mutex_lock(&index->shared->writing);
  cq_status status = index->backend->remove(index, ids, n, n_removed, error);
  if (!status) status = commit_held(&news, index, error);
  pthread_mutex_unlock(&index->shared->writing);
  tell_news(index, &news);
  return status;
}

cq_status cq_index_approximate(cq_index *index, cq_approximation method, cq_context *ctx, cq_error *error) {
  pthread_mutex_lock(&index->shared->writing);
  cq_status status = index->backend->check_writing(index, error);
  if (!status) status = index->backend->approximate(index, method, ctx, error);
  pthread_mutex_unlock(&index->shared->writing);
  return status;
}

cq_status cq_index_commit(cq_index *index, cq_error *error) {
  commit_news news = {0};
  pthread_mutex_lock(&index->shared->writing);
  const cq_status status = commit_held(&news, index, error);
  pthread_mutex_unlock(&index->shared->writing);
  tell_news(index, &news);
  return status;
}
