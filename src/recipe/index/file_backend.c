/* An index of files and SQLite (store/index_store.h), as backend.h's table. */
#include "recipe/index/file_backend.h"

#include "base/error.h"
#include "base/memory.h"
#include "search/approximate.h"

static cq_status create_files(const char *place, const cq_index_making *m, cq_error *error) {
  return cq_index_store_create(place, m->model, m->fingerprint, m->dim, m->tasks, error);
}

static cq_status remember_shape(cq_index *index, cq_error *error) {
  cq_index_snapshot *snapshot = cq_index_store_hold(index->store);
  const cq_index_info info = cq_index_snapshot_info(snapshot);
  index->dim = info.dim;
  index->tasks = info.tasks;
  index->model = cq_strdup(info.model);
  bool ok = index->model != NULL;
  ok = (index->fingerprint = cq_strdup(info.fingerprint)) && ok;
  cq_index_snapshot_release(snapshot);
  return ok ? CQ_OK : cq_fail_memory(error, index->directory);
}

static cq_status open_files(cq_index *index, const char *place, cq_error *error) {
  if (!(index->directory = cq_strdup(place))) return cq_fail_memory(error, place);
  const cq_status status = cq_index_store_open(&index->store, index->directory, index->is_writing, error);
  return status ? status : remember_shape(index, error);
}

static void close_files(cq_index *index) {
  cq_index_store_close(index->store);
}

static cq_status refresh_files(cq_index *index, bool *changed, cq_error *error) {
  return cq_index_store_refresh(index->store, changed, error);
}

static cq_status check_files(const cq_index *index, cq_context *ctx, cq_error *error) {
  cq_index_snapshot *snapshot = cq_index_store_hold(index->store); /* its deletions have been compared */
  const cq_index_info info = cq_index_snapshot_info(snapshot);
  cq_index_word_set *words = NULL;
  char path[PATH_MAX];
  cq_status status = cq_index_hold_words(&words, index, snapshot, error);
  if (!status) status = cq_lexical_set_verify(words->set, error);
  if (!status) status = cq_index_snapshot_verify(snapshot, ctx, error);
  if (!status) status = cq_index_store_verify_queries(index->store, snapshot, error);
  if (!status && info.n_approximate > 0) {
    status = cq_index_store_approximate(path, index->store, info.approximate, error);
    if (!status) status = cq_index_snapshot_verify_approximate(snapshot, path, error);
  }
  cq_index_release_words(index, words);
  cq_index_snapshot_release(snapshot);
  return status;
}

static cq_index_counts count_files(const cq_index *index) {
  cq_index_snapshot *snapshot = cq_index_store_hold(index->store);
  const cq_index_info info = cq_index_snapshot_info(snapshot);
  cq_index_snapshot_release(snapshot);
  return (cq_index_counts){(size_t)info.n_documents, (size_t)info.n_live, (size_t)info.n_approximate,
                           (size_t)info.n_queries};
}

static cq_status visit_languages(const cq_index *index, void (*found)(void *context, cq_slice language, size_t n),
                                 void *context, cq_error *error) {
  cq_index_snapshot *snapshot = cq_index_store_hold(index->store);
  const cq_status status = cq_index_snapshot_languages(snapshot, found, context, error);
  cq_index_snapshot_release(snapshot);
  return status;
}

static cq_status get_document(cq_document **out, const cq_index *index, cq_slice id, cq_error *error) {
  cq_arena arena = {0};
  cq_document d;
  int64_t first;
  cq_index_snapshot *snapshot = cq_index_store_hold(index->store);
  cq_status status = cq_index_snapshot_find(&first, snapshot, id, error);
  if (!status && first >= 0) status = cq_index_snapshot_document(&d, &arena, snapshot, first, error);
  if (!status && first >= 0) status = cq_document_copy(out, &d, error);
  cq_arena_free(&arena);
  cq_index_snapshot_release(snapshot);
  return status;
}

/* --- changes --- */

static cq_status check_writing(const cq_index *index, cq_error *error) {
  return cq_index_store_check_writing(index->store, error);
}

static cq_status append_documents(cq_index *index, const cq_index_addition *additions, size_t n, const float *vectors,
                                  cq_error *error) {
  return cq_index_store_append(index->store, additions, n, vectors, error);
}

static cq_status remove_documents(cq_index *index, const cq_slice *ids, size_t n, size_t *n_removed, cq_error *error) {
  return cq_index_store_remove(index->store, ids, n, n_removed, error);
}

static cq_status commit_changes(cq_index *index, cq_error *error) {
  cq_status status = cq_index_write_words(index, NULL, error);
  if (!status) status = cq_index_write_hubness(index, NULL, error);
  return status ? status : cq_index_store_commit(index->store, error);
}

static cq_status build_approximation(cq_index *index, bool graph, cq_context *ctx, cq_error *error) {
  cq_index_snapshot *snapshot = cq_index_store_hold(index->store); /* stays the newest: this thread is the writer */
  const cq_index_info info = cq_index_snapshot_info(snapshot);
  char path[PATH_MAX];
  cq_status status = info.n ? cq_index_store_approximate(path, index->store, info.approximate + 1, error)
                            : cq_fail(error, CQ_ERR_ARGUMENT, "an index without documents cannot be approximated");
  if (!status) status = cq_index_snapshot_verify(snapshot, ctx, error);
  if (!status)
    status = cq_approximate_build(path, graph, cq_index_snapshot_vectors(snapshot), (size_t)info.n, (size_t)info.dim,
                                  ctx, error);
  cq_index_snapshot_release(snapshot);
  return status;
}

static cq_status approximate_files(cq_index *index, cq_approximation method, cq_context *ctx, cq_error *error) {
  cq_status status = CQ_OK;
  if (method != CQ_APPROXIMATE_NONE) status = build_approximation(index, method == CQ_APPROXIMATE_HNSW, ctx, error);
  return status ? status : cq_index_store_set_approximate(index->store, method != CQ_APPROXIMATE_NONE, error);
}

const struct cq_index_backend cq_index_files = {
    .version = CQ_INDEX_BACKEND_VERSION,
    .create = create_files,
    .open = open_files,
    .close = close_files,
    .refresh = refresh_files,
    .check = check_files,
    .count = count_files,
    .languages = visit_languages,
    .get = get_document,
    .check_writing = check_writing,
    .append = append_documents,
    .remove = remove_documents,
    .commit = commit_changes,
    .approximate = approximate_files,
    .begin = cq_index_files_begin,
    .by_vectors = cq_index_files_by_vectors,
    .by_words = cq_index_files_by_words,
    .fill = cq_index_files_fill,
    .weigh = cq_index_files_weigh,
    .sample = cq_index_files_sample,
    .end = cq_index_files_end,
};
