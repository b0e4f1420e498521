/* An index in PostgreSQL, the functions of backend.h: opening, reading, pending changes. */
#include "postgresql/database.h"

#include "base/document.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CONNECTIONS = 8 };

/* --- opening --- */

static cq_status fail_place(const cq_pg_pool *pool, cq_status status, const char *reason, cq_error *error) {
  return cq_fail_file(error, status, cq_pg_pool_name(pool), "%s", reason);
}

/* Checks name and version first, because a newer version may have different columns. */
static cq_status check_format(bool *is_there, cq_pg *pg, const cq_pg_pool *pool, cq_error *error) {
  cq_pg_result *r = NULL;
  cq_builder sql = {0};
  cq_error e = {0};
  cq_builder_printf(&sql, "SELECT name = 'calque index', version FROM %s.calque_index", cq_pg_pool_quoted(pool));
  cq_status status = sql.failed ? cq_fail_memory(&e, "index") : cq_pg_run_all(&r, pg, sql.data, &e);
  cq_builder_free(&sql);
  const char *code = cq_pg_sqlstate(pg);
  *is_there = !status || (strcmp(code, "42P01") != 0 && strcmp(code, "3F000") != 0);
  if (!*is_there) return CQ_OK;
  if (status && strncmp(code, "42", 2) == 0)
    return cq_fail_file(error, CQ_ERR_FORMAT, cq_pg_pool_name(pool),
                        "the table calque_index of the schema '%s' is not calque's: %s", cq_pg_pool_schema(pool),
                        e.message);
  if (status) {
    if (error) *error = e;
    return status;
  }
  const bool is_ours = cq_pg_n_rows(r) == 1 && cq_pg_text_number(r, 0, 0);
  const int64_t version = is_ours ? cq_pg_text_number(r, 0, 1) : 0;
  cq_pg_result_free(r);
  if (!is_ours)
    return cq_fail_file(error, CQ_ERR_FORMAT, cq_pg_pool_name(pool),
                        "the table calque_index of the schema '%s' is not calque's", cq_pg_pool_schema(pool));
  if (version == CQ_DATABASE_VERSION) return CQ_OK;
  return cq_fail_file(error, CQ_ERR_FORMAT, cq_pg_pool_name(pool),
                      "the index is of version %lld, this calque has version %d: %s", (long long)version,
                      CQ_DATABASE_VERSION,
                      version > CQ_DATABASE_VERSION ? "a newer calque made it"
                                                    : "build it again ('calque index copy', 'calque index new')");
}

static cq_status need_index(cq_pg *pg, const cq_pg_pool *pool, cq_error *error) {
  bool is_there;
  const cq_status status = check_format(&is_there, pg, pool, error);
  if (status || is_there) return status;
  return cq_fail_file(error, CQ_ERR_FORMAT, cq_pg_pool_name(pool),
                      "there is no index in the schema '%s': 'calque index new' or 'calque index copy' makes one",
                      cq_pg_pool_schema(pool));
}

/* Whether its schema contains an index. Errors: CQ_ERR_FORMAT for another program's or a newer calque's table. */
static cq_status has_index(bool *out, const char *address, cq_error *error) {
  cq_pg_pool *pool;
  cq_pg *pg = NULL;
  cq_status status = cq_pg_pool_open(&pool, address, 1, error);
  if (status) return status;
  status = cq_pg_take(&pg, pool, error);
  if (!status) status = check_format(out, pg, pool, error);
  cq_pg_give(pg);
  cq_pg_pool_close(pool);
  return status;
}

static cq_status read_shape(cq_index *index, cq_pg *pg, cq_error *error) {
  cq_pg_result *r;
  cq_status status =
      cq_pg_run(&r, pg, "SELECT model, fingerprint, dim, tasks, vectors = 'halfvec' FROM calque_index", NULL, 0, error);
  if (status) return status;
  if (cq_pg_n_rows(r) == 1) {
    const cq_slice model = cq_pg_bytes(r, 0, 0), fingerprint = cq_pg_bytes(r, 0, 1);
    index->model = cq_strndup(model.data, model.n);
    index->fingerprint = cq_strndup(fingerprint.data, fingerprint.n);
    index->dim = cq_pg_number(r, 0, 2), index->tasks = cq_pg_number(r, 0, 3) != 0;
    index->database->is_half = cq_pg_number(r, 0, 4) != 0;
    if (!index->model || !index->fingerprint) status = cq_fail_memory(error, index->directory);
    if (!status && (index->dim < 1 || index->dim > 16000))
      status = cq_fail_file(error, CQ_ERR_FORMAT, index->directory,
                            "its vectors have %lld dimensions, expected 1 to 16000", (long long)index->dim);
  } else {
    status = fail_place(index->database->pool, CQ_ERR_FORMAT, "its table calque_index has no row", error);
  }
  cq_pg_result_free(r);
  return status;
}

/* Checks the column itself, regardless of calque_index. */
static cq_status check_dimension(const cq_index *index, cq_pg *pg, cq_error *error) {
  cq_pg_result *r;
  cq_status status = cq_pg_run(
      &r, pg,
      "SELECT atttypmod, format_type(atttypid, NULL) = $1 FROM pg_attribute WHERE attrelid = "
      "to_regclass('passage') AND attname = 'embedding'",
      &(cq_pg_value){index->database->is_half ? "halfvec" : "vector", index->database->is_half ? 7 : 6}, 1, error);
  if (status) return status;
  const int64_t dim = cq_pg_n_rows(r) ? cq_pg_number(r, 0, 0) : 0;
  if (dim != index->dim)
    status = cq_fail_file(error, CQ_ERR_FORMAT, index->directory,
                          "its column passage.embedding has %lld dimensions, the index %lld", (long long)dim,
                          (long long)index->dim);
  cq_pg_result_free(r);
  return status;
}

static cq_status open_database(cq_index *index, const char *place, cq_error *error) {
  cq_pg *pg = NULL;
  cq_index_database *db = index->database = cq_alloc_zeroed(sizeof *db);
  if (!db) return cq_fail_memory(error, "index");
  pthread_mutex_init(&db->mutex, NULL);
  cq_status status = cq_pg_pool_open(&db->pool, place, MAX_CONNECTIONS, error);
  if (status) return status;
  if (!(index->directory = cq_strdup(cq_pg_pool_name(db->pool)))) return cq_fail_memory(error, "index");
  status = cq_pg_take(&pg, db->pool, error);
  if (!status) status = cq_database_find_pgvector(pg, db->pool, error);
  if (!status) status = need_index(pg, db->pool, error);
  if (!status) status = read_shape(index, pg, error);
  if (!status) status = check_dimension(index, pg, error);
  if (!status) status = cq_database_read_counts(index, pg, error);
  cq_pg_give(pg);
  return status;
}

/* All but the first n. */
static void drop_additions(cq_index_database *db, size_t n) {
  while (db->n_waiting > n) {
    cq_database_waiting *w = &db->waiting[--db->n_waiting];
    cq_free(w->document);
    cq_free(w->passages);
    cq_free(w->vectors);
  }
}

static void drop_removals(cq_index_database *db, size_t n) {
  while (db->n_removed > n) cq_free((char *)(uintptr_t)db->removed[--db->n_removed].data);
}

static void free_waiting(cq_index_database *db) {
  drop_additions(db, 0);
  drop_removals(db, 0);
}

static void close_database(cq_index *index) {
  cq_index_database *db = index->database;
  if (!db) return;
  free_waiting(db);
  cq_free(db->waiting);
  cq_free(db->removed);
  cq_pg_pool_close(db->pool);
  pthread_mutex_destroy(&db->mutex);
  cq_free(db);
}

static cq_status create_database(const char *place, const cq_index_making *making, cq_error *error) {
  bool is_there = false;
  const cq_status status = making->for_copy ? has_index(&is_there, place, error) : CQ_OK;
  return status || is_there ? status : cq_database_create(place, making, error);
}

/* --- reading --- */

static cq_status refresh_counts(cq_index *index, cq_error *error) {
  cq_pg *pg;
  cq_status status = cq_pg_take(&pg, index->database->pool, error);
  if (status) return status;
  status = cq_database_read_counts(index, pg, error);
  cq_pg_give(pg);
  return status;
}

static cq_status refresh_database(cq_index *index, bool *changed, cq_error *error) {
  cq_index_database *db = index->database;
  pthread_mutex_lock(&db->mutex);
  const cq_index_counts before = db->counts;
  const int64_t next_document = db->next_document;
  pthread_mutex_unlock(&db->mutex);
  const cq_status status = refresh_counts(index, error);
  pthread_mutex_lock(&db->mutex);
  *changed = next_document != db->next_document || memcmp(&before, &db->counts, sizeof before) != 0;
  pthread_mutex_unlock(&db->mutex);
  return status;
}

static cq_index_counts count_database(const cq_index *index) {
  pthread_mutex_lock(&index->database->mutex);
  const cq_index_counts counts = index->database->counts;
  pthread_mutex_unlock(&index->database->mutex);
  return counts;
}

static cq_status check_database(const cq_index *index, cq_context *ctx, cq_error *error) {
  (void)ctx;
  return fail_place(index->database->pool, CQ_ERR_UNSUPPORTED,
                    "a database keeps checksums of its own: pg_amcheck and pg_checksums compare them", error);
}

static cq_status visit_languages(const cq_index *index, void (*found)(void *context, cq_slice language, size_t n),
                                 void *context, cq_error *error) {
  cq_pg *pg;
  cq_pg_result *r;
  cq_status status = cq_pg_take(&pg, index->database->pool, error);
  if (status) return status;
  status = cq_pg_run_kept(&r, pg, "SELECT language, count(*) FROM document GROUP BY language ORDER BY language", NULL,
                          0, error);
  for (size_t i = 0; !status && i < cq_pg_n_rows(r); i++)
    found(context, cq_pg_bytes(r, i, 0), (size_t)cq_pg_number(r, i, 1));
  cq_pg_result_free(r);
  cq_pg_give(pg);
  return status;
}

static cq_status get_document(cq_document **out, const cq_index *index, cq_slice id, cq_error *error) {
  cq_pg *pg;
  cq_pg_result *r;
  if (memchr(id.data, 0, id.n)) return CQ_OK; /* PostgreSQL's texts have no zeros */
  cq_status status = cq_pg_take(&pg, index->database->pool, error);
  if (status) return status;
  status =
      cq_pg_run_kept(&r, pg,
                     "SELECT id, language, title, url, text, CASE metadata WHEN '{}' THEN '' ELSE metadata::text END "
                     "FROM document WHERE id = $1::text",
                     &(cq_pg_value){id.data, id.n}, 1, error);
  if (!status && cq_pg_n_rows(r) == 1) {
    const cq_document d = {.id = cq_pg_bytes(r, 0, 0),
                           .language = cq_pg_bytes(r, 0, 1),
                           .title = cq_pg_bytes(r, 0, 2),
                           .url = cq_pg_bytes(r, 0, 3),
                           .text = cq_pg_bytes(r, 0, 4),
                           .metadata = cq_pg_bytes(r, 0, 5)};
    status = cq_document_copy(out, &d, error);
  }
  cq_pg_result_free(r);
  cq_pg_give(pg);
  return status;
}

/* --- changes --- */

static cq_status check_writing(const cq_index *index, cq_error *error) {
  if (index->is_writing) return CQ_OK;
  return fail_place(index->database->pool, CQ_ERR_ARGUMENT, "the index is not open for writing", error);
}

/* The one that waits with that id, if any. */
static cq_database_waiting *find_waiting(const cq_index_database *db, cq_slice id) {
  for (size_t i = db->n_waiting; i-- > 0;)
    if (!db->waiting[i].is_dropped && cq_slice_equal(db->waiting[i].document->id, id)) return &db->waiting[i];
  return NULL;
}

static cq_status wait_for_commit(cq_index_database *db, const cq_index_addition *a, const float *vectors, size_t dim,
                                 cq_error *error) {
  cq_database_waiting w = {.n_passages = a->n_passages};
  if (!cq_reserve((void **)&db->waiting, &db->waiting_capacity, db->n_waiting + 1, sizeof *db->waiting))
    return cq_fail_memory(error, "documents");
  w.passages = cq_alloc_array(a->n_passages, sizeof *w.passages);
  w.vectors = cq_alloc_array(a->n_passages, dim * sizeof *w.vectors);
  cq_status status =
      w.passages && w.vectors ? cq_document_copy(&w.document, a->document, error) : cq_fail_memory(error, "documents");
  if (status) {
    cq_free(w.passages);
    cq_free(w.vectors);
    return status;
  }
  memcpy(w.passages, a->passages, a->n_passages * sizeof *w.passages);
  memcpy(w.vectors, vectors, a->n_passages * dim * sizeof *w.vectors);
  db->waiting[db->n_waiting++] = w;
  return CQ_OK;
}

static cq_status append_documents(cq_index *index, const cq_index_addition *additions, size_t n, const float *vectors,
                                  cq_error *error) {
  cq_index_database *db = index->database;
  const size_t n_before = db->n_waiting, dim = (size_t)index->dim;
  cq_map ids = {0};
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < n_before; i++)
    if (!db->waiting[i].is_dropped && !cq_map_put_borrowed(&ids, db->waiting[i].document->id, i))
      status = cq_fail_memory(error, "documents");
  for (size_t i = 0; !status && i < n; i++) {
    const cq_document *d = additions[i].document;
    status = cq_database_check_document(d, error);
    if (!status && cq_map_get(&ids, d->id) != CQ_MAP_NONE)
      status = cq_fail(error, CQ_ERR_ARGUMENT, "the id '%.*s' appears twice", (int)cq_min(d->id.n, 200), d->id.data);
    if (!status) status = wait_for_commit(db, &additions[i], vectors, dim, error);
    if (!status && !cq_map_put_borrowed(&ids, db->waiting[db->n_waiting - 1].document->id, db->n_waiting - 1))
      status = cq_fail_memory(error, "documents");
    vectors += additions[i].n_passages * dim;
  }
  if (status) drop_additions(db, n_before);
  cq_map_free(&ids);
  return status;
}

static cq_status remove_documents(cq_index *index, const cq_slice *ids, size_t n, size_t *n_removed, cq_error *error) {
  cq_index_database *db = index->database;
  const size_t n_before = db->n_removed;
  cq_pg *pg;
  cq_status status = check_writing(index, error);
  *n_removed = 0;
  if (status || (status = cq_pg_take(&pg, db->pool, error))) return status;
  for (size_t i = 0; !status && i < n; i++) {
    cq_pg_result *r;
    char *copy = NULL;
    if (memchr(ids[i].data, 0, ids[i].n)) continue;
    status = cq_pg_run_kept(&r, pg, "SELECT 1 FROM document WHERE id = $1::text", &(cq_pg_value){ids[i].data, ids[i].n},
                            1, error);
    const bool is_there = !status && cq_pg_n_rows(r) > 0;
    cq_pg_result_free(r);
    if (status || (!is_there && !find_waiting(db, ids[i]))) continue;
    if (!(copy = cq_strndup(ids[i].data, ids[i].n)) ||
        !cq_reserve((void **)&db->removed, &db->removed_capacity, db->n_removed + 1, sizeof *db->removed)) {
      cq_free(copy);
      status = cq_fail_memory(error, "ids");
    } else {
      db->removed[db->n_removed++] = (cq_slice){copy, ids[i].n};
    }
  }
  cq_pg_give(pg);
  if (status) {
    drop_removals(db, n_before);
    return status;
  }
  for (size_t i = n_before; i < db->n_removed; i++) {
    cq_database_waiting *waiting = find_waiting(db, db->removed[i]);
    if (waiting) waiting->is_dropped = true;
  }
  *n_removed = db->n_removed - n_before;
  return CQ_OK;
}

/* Even after a failure, no changes are kept for later. The next commit may come from another client, and another server
 * may meanwhile have written the same documents. Also, a document that the database always refuses would make every
 * later commit fail. */
static cq_status commit_changes(cq_index *index, cq_error *error) {
  cq_index_database *db = index->database;
  const size_t dim = (size_t)index->dim;
  size_t n = 0, n_passages = 0, at = 0;
  if (db->n_waiting == 0 && db->n_removed == 0) return CQ_OK;
  for (size_t i = 0; i < db->n_waiting; i++) n_passages += db->waiting[i].n_passages;
  cq_index_addition *additions = cq_alloc_array(db->n_waiting, sizeof *additions);
  float *vectors = cq_alloc_array(n_passages, dim * sizeof *vectors);
  cq_status status = additions && vectors ? CQ_OK : cq_fail_memory(error, "documents");
  for (size_t i = 0; !status && i < db->n_waiting; i++) {
    const cq_database_waiting *w = &db->waiting[i];
    if (w->is_dropped) continue;
    additions[n++] = (cq_index_addition){w->document, w->passages, w->n_passages};
    memcpy(vectors + at * dim, w->vectors, w->n_passages * dim * sizeof *vectors);
    at += w->n_passages;
  }
  const cq_database_batch batch = {
      .additions = additions, .n = n, .vectors = vectors, .removed = db->removed, .n_removed = db->n_removed};
  if (!status) status = cq_database_write(index, &batch, error);
  cq_free(additions);
  cq_free(vectors);
  free_waiting(db);
  return status;
}

static cq_status approximate_database(cq_index *index, cq_approximation method, cq_context *ctx, cq_error *error) {
  (void)ctx;
  if (method == CQ_APPROXIMATE_IVF)
    return fail_place(index->database->pool, CQ_ERR_UNSUPPORTED, "a database has an HNSW index: --method hnsw", error);
  return cq_database_approximate(index, method == CQ_APPROXIMATE_HNSW, false, error);
}

extern const struct cq_index_backend cq_postgresql_plugin_table;
__attribute__((visibility("default"))) const struct cq_index_backend cq_postgresql_plugin_table = {
    .version = CQ_INDEX_BACKEND_VERSION,
    .create = create_database,
    .open = open_database,
    .close = close_database,
    .refresh = refresh_database,
    .check = check_database,
    .count = count_database,
    .languages = visit_languages,
    .get = get_document,
    .check_writing = check_writing,
    .append = append_documents,
    .remove = remove_documents,
    .commit = commit_changes,
    .approximate = approximate_database,
    .copy = cq_database_copy,
    .no_hubness = "hubness is for an index of files: compute it there",
    .no_compaction = "a database gives room back by itself (autovacuum): VACUUM does it now",
    .no_mirror = "mirroring is for an index of files: mirror there, then 'calque index copy'",
    .begin = cq_database_begin,
    .by_vectors = cq_database_by_vectors,
    .by_words = cq_database_by_words,
    .fill = cq_database_fill,
    .weigh = cq_database_weigh,
    .sample = cq_database_sample,
    .end = cq_database_end,
};
