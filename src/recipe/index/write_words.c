/* Writes the lexical index: a part for the records of each commit; merging keeps the number of parts small. */
#include "recipe/index/backend.h"

#include "base/error.h"
#include "base/memory.h"
#include "store/index_store.h"

#include <string.h>

enum { PART_RECORDS = 1 << 18, PART_BYTES = 64 << 20 }; /* of text in memory at a time */

typedef struct writing_words {
  cq_index *index;
  cq_context *ctx;
  const cq_analyzer *analyzer;
  cq_index_words *parts; /* as they are to be */
  size_t n_parts, capacity;
  int64_t next;                  /* number of a part's file */
  cq_index_snapshot *compacting; /* only its live records, renumbered; NULL: all */
  /* texts of the current part */
  cq_slice *texts, *languages;
  size_t n_texts, texts_capacity, languages_capacity, n_bytes;
  cq_arena arena;
} writing_words;

static cq_status add_part(writing_words *w, int64_t n, cq_error *error) {
  if (!cq_reserve((void **)&w->parts, &w->capacity, w->n_parts + 1, sizeof *w->parts))
    return cq_fail_memory(error, "index by words");
  w->parts[w->n_parts++] = (cq_index_words){w->next++, n};
  return CQ_OK;
}

static cq_status write_part(writing_words *w, cq_error *error) {
  char path[PATH_MAX];
  if (w->n_texts == 0) return CQ_OK;
  cq_status status = cq_index_store_words(path, w->index->store, w->next, error);
  if (!status)
    status = cq_lexical_segment_of_texts(path, w->analyzer, w->texts, w->languages, w->n_texts, w->ctx, error);
  if (!status) status = add_part(w, (int64_t)w->n_texts, error);
  cq_arena_free(&w->arena);
  w->n_texts = w->n_bytes = 0;
  return status;
}

/* Adds a passage together with its document's title, whose words count as the passage's. */
static cq_status add_text(writing_words *w, const cq_document *d, const cq_index_passage *p, cq_error *error) {
  if (!cq_reserve((void **)&w->texts, &w->texts_capacity, w->n_texts + 1, sizeof *w->texts) ||
      !cq_reserve((void **)&w->languages, &w->languages_capacity, w->n_texts + 1, sizeof *w->languages))
    return cq_fail_memory(error, "index by words");
  const size_t n = d->title.n + 1 + p->end - p->begin;
  char *text = cq_arena_alloc(&w->arena, n);
  if (!text) return cq_fail_memory(error, "index by words");
  if (d->title.n) memcpy(text, d->title.data, d->title.n);
  text[d->title.n] = '\n';
  memcpy(text + d->title.n + 1, d->text.data + p->begin, p->end - p->begin);
  const char *language = cq_arena_strndup(&w->arena, d->language.data, d->language.n);
  if (!language) return cq_fail_memory(error, "index by words");
  w->languages[w->n_texts] = (cq_slice){language, d->language.n};
  w->texts[w->n_texts++] = (cq_slice){text, n};
  w->n_bytes += n;
  return w->n_texts < PART_RECORDS && w->n_bytes < PART_BYTES ? CQ_OK : write_part(w, error);
}

static cq_status index_document(void *context, int64_t first, const cq_document *d, cq_error *error) {
  writing_words *w = context;
  const int64_t n = cq_index_store_n(w->index->store);
  cq_status status = CQ_OK;
  if (w->compacting && !cq_index_snapshot_is_live(w->compacting, first)) return CQ_OK;
  for (int64_t record = first; !status && record < n; record++) {
    cq_index_passage passage;
    status = cq_index_store_passages(&passage, w->index->store, record, 1, error);
    if (status || passage.first != first) break;
    if (passage.begin > passage.end || passage.end > d->text.n)
      return cq_fail_file(error, CQ_ERR_FORMAT, w->index->directory, "record %lld does not fit the document '%.*s'",
                          (long long)record, (int)d->id.n, d->id.data);
    status = add_text(w, d, &passage, error);
  }
  return status;
}

/* --- merging --- */

/* The deleted records, one bit per record of the next state. */
static cq_status dead_records(unsigned char **out, const cq_index *index, cq_error *error) {
  cq_index_snapshot *snapshot = cq_index_store_hold(index->store);
  const int64_t n = cq_index_snapshot_info(snapshot).n;
  *out = cq_alloc_zeroed(((size_t)cq_index_store_n(index->store) + 7) / 8);
  for (int64_t i = 0; *out && i < n; i++)
    if (!cq_index_snapshot_is_live(snapshot, i)) (*out)[i / 8] |= (unsigned char)(1u << (i % 8));
  cq_index_snapshot_release(snapshot);
  return *out ? CQ_OK : cq_fail_memory(error, "index by words");
}

static cq_status merge_parts(writing_words *w, size_t first, size_t n, const unsigned char *dead, cq_error *error) {
  char path[PATH_MAX];
  cq_lexical_set *set = NULL;
  cq_status status = cq_index_open_parts(&set, w->index, w->parts, w->n_parts, NULL, error);
  if (!status) status = cq_index_store_words(path, w->index->store, w->next, error);
  if (!status) status = cq_lexical_segments_merge(path, set, first, n, dead, error);
  if (!status) {
    cq_index_words merged = {w->next++, 0};
    for (size_t i = first; i < first + n; i++) merged.n += w->parts[i].n;
    w->parts[first] = merged;
    memmove(w->parts + first + 1, w->parts + first + n, (w->n_parts - first - n) * sizeof *w->parts);
    w->n_parts -= n - 1;
  }
  cq_lexical_set_free(set);
  return status;
}

static cq_status merge_where_many(writing_words *w, cq_error *error) {
  unsigned char *dead = NULL;
  uint64_t *sizes = cq_alloc_array(w->n_parts, sizeof *sizes);
  size_t first, n;
  cq_status status = sizes ? CQ_OK : cq_fail_memory(error, "index by words");
  for (bool more = true; !status && more;) {
    for (size_t i = 0; i < w->n_parts; i++) sizes[i] = (uint64_t)w->parts[i].n;
    more = cq_lexical_choose_merge(&first, &n, sizes, w->n_parts);
    if (more && !dead) status = dead_records(&dead, w->index, error);
    if (more && !status) status = merge_parts(w, first, n, dead, error);
  }
  cq_free(sizes);
  cq_free(dead);
  return status;
}

static cq_status write_from(writing_words *w, int64_t record, cq_error *error) {
  const cq_index_store *store = w->index->store;
  cq_status status = cq_index_need_analyzer(&w->analyzer, w->index, error);
  if (!status) status = cq_index_store_visit(store, record, cq_index_store_n(store), index_document, w, error);
  return status ? status : write_part(w, error);
}

static void free_writing(writing_words *w) {
  cq_index_snapshot_release(w->compacting);
  cq_free(w->parts);
  cq_free(w->texts);
  cq_free(w->languages);
  cq_arena_free(&w->arena);
}

cq_status cq_index_write_words(cq_index *index, cq_context *ctx, cq_error *error) {
  writing_words w = {.index = index, .ctx = ctx, .next = cq_index_store_next_words(index->store)};
  const cq_index_words *parts;
  size_t n_parts;
  int64_t n_indexed = 0;
  cq_index_store_get_words(&parts, &n_parts, index->store);
  for (size_t i = 0; i < n_parts; i++) n_indexed += parts[i].n;
  if (n_indexed == cq_index_store_n(index->store)) return CQ_OK;
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < n_parts; i++)
    if (!cq_reserve((void **)&w.parts, &w.capacity, i + 1, sizeof *w.parts))
      status = cq_fail_memory(error, "index by words");
    else
      w.parts[w.n_parts++] = parts[i];
  if (!status) status = write_from(&w, n_indexed, error);
  if (!status) status = merge_where_many(&w, error);
  if (!status) status = cq_index_store_set_words(index->store, w.parts, w.n_parts, error);
  free_writing(&w);
  return status;
}

/* The lexical index of live records is written before the manifest names the new generation, so that no reader finds an
 * index without it. */
cq_status cq_index_compact(cq_index *index, cq_context *ctx, cq_error *error) {
  writing_words w = {.index = index, .ctx = ctx};
  if (index->backend->no_compaction)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, index->directory, "%s", index->backend->no_compaction);
  pthread_mutex_lock(&index->shared->writing);
  cq_status status = cq_index_store_check_writing(index->store, error);
  if (!status) status = cq_index_store_check_committed(index->store, error);
  if (!status) {
    w.next = cq_index_store_next_words(index->store);
    w.compacting = cq_index_store_hold(index->store);
    status = write_from(&w, 0, error);
  }
  if (!status) status = cq_index_store_compact(index->store, w.parts, w.n_parts, error);
  pthread_mutex_unlock(&index->shared->writing);
  free_writing(&w);
  return status;
}
