/* Rows of documents; see document_store.h. */
#include "store/document_store.h"

#include "base/document.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "store/page_checks.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>

enum { BUSY_MS = 30000, N_FIELDS = 6, ROWS_AT_A_TIME = 512 };

struct cq_document_store {
  _Atomic int n_users;
  pthread_mutex_t mutex; /* of all that follows */
  char *path;            /* for messages */
  sqlite3 *db;
  sqlite3_stmt *read, *find; /* made when first needed */
};

static const char columns[] = "first, id, language, title, url, text, metadata, check_of_all";

/* Copies borrowed bytes to the arena. */
static bool keep_document(cq_document *d, cq_arena *arena) {
  char *block = cq_arena_alloc(arena, cq_document_bytes(d));
  if (block) cq_document_move_fields(d, block);
  return block != NULL;
}

/* --- SQLite's errors as ours --- */

static cq_status status_of(int code) {
  switch (code & 0xff) {
  case SQLITE_NOMEM: return CQ_ERR_MEMORY;
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
  case SQLITE_ERROR: /* a table or a function that is missing */
  case SQLITE_SCHEMA: return CQ_ERR_FORMAT;
  case SQLITE_TOOBIG: return CQ_ERR_LIMIT; /* a field of 10^9 bytes */
  default: return CQ_ERR_IO;
  }
}

static cq_status fail_page(const cq_document_store *s, cq_error *error) {
  const long long page = cq_page_checks_damaged(s->db);
  if (page == 0)
    return cq_fail_file(error, CQ_ERR_FORMAT, s->path,
                        "the journal that a killed process left beside it is damaged: restore both, or index again");
  return cq_fail_file(error, CQ_ERR_FORMAT, s->path,
                      "page %lld (bytes %lld to %lld) is damaged: it does not fit its check", page,
                      (page - 1) * CQ_PAGE_BYTES, page * CQ_PAGE_BYTES - 1);
}

static cq_status fail_sqlite(const cq_document_store *s, int code, cq_error *error) {
  const cq_status status = status_of(code);
  if (s->db && sqlite3_extended_errcode(s->db) == SQLITE_IOERR_DATA) return fail_page(s, error);
  if (status == CQ_ERR_MEMORY) return cq_fail_memory(error, s->path);
  return cq_fail_file(error, status, s->path, "%s", s->db ? sqlite3_errmsg(s->db) : sqlite3_errstr(code));
}

static cq_status run_sql(cq_document_store *s, const char *sql, cq_error *error) {
  const int code = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
  return code == SQLITE_OK ? CQ_OK : fail_sqlite(s, code, error);
}

static cq_status prepare(sqlite3_stmt **out, cq_document_store *s, const char *sql, cq_error *error) {
  if (*out) return CQ_OK;
  const int code = sqlite3_prepare_v2(s->db, sql, -1, out, NULL);
  return code == SQLITE_OK ? CQ_OK : fail_sqlite(s, code, error);
}

/* Empty text is '', empty metadata (JSON) NULL. */
static int bind_slice(sqlite3_stmt *statement, int place, cq_slice text) {
  return sqlite3_bind_text64(statement, place, text.n ? text.data : "", text.n, SQLITE_STATIC, SQLITE_UTF8);
}

/* --- opening --- */

static const char schema[] = "PRAGMA page_size = 4096;"
                             "CREATE TABLE IF NOT EXISTS document (first INTEGER PRIMARY KEY, id TEXT NOT NULL, "
                             "language TEXT NOT NULL, title TEXT NOT NULL, url TEXT NOT NULL, text TEXT NOT NULL, "
                             "metadata TEXT, check_of_all INTEGER NOT NULL);"
                             "CREATE INDEX IF NOT EXISTS document_id ON document (id, first);"
                             "CREATE INDEX IF NOT EXISTS document_language ON document (language, first);";

cq_status cq_document_store_open(cq_document_store **out, const char *path, bool writing, cq_error *error) {
  *out = NULL;
  cq_document_store *s = cq_alloc_zeroed(sizeof *s);
  if (!s) return cq_fail_memory(error, path ? path : "documents");
  atomic_init(&s->n_users, 1);
  pthread_mutex_init(&s->mutex, NULL);
  s->path = cq_strdup(path ? path : "documents in memory");
  cq_status status = s->path ? CQ_OK : cq_fail_memory(error, "documents");
  /* A reader may also have to roll back a killed writer's transaction; without write permission, SQLite only reads. */
  const int flags = SQLITE_OPEN_READWRITE | (writing || !path ? SQLITE_OPEN_CREATE : 0);
  if (!status) {
    const int code = path ? cq_page_checks_open(&s->db, path, flags | SQLITE_OPEN_NOMUTEX)
                          : sqlite3_open_v2(":memory:", &s->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) status = fail_sqlite(s, code, error);
  }
  if (!status) sqlite3_busy_timeout(s->db, BUSY_MS);
  if (!status && (writing || !path)) status = run_sql(s, schema, error);
  if (!status && writing) status = run_sql(s, "PRAGMA synchronous = EXTRA; PRAGMA cache_spill = OFF", error);
  if (status) cq_document_store_close(s);
  *out = status ? NULL : s;
  return status;
}

cq_document_store *cq_document_store_share(cq_document_store *s) {
  atomic_fetch_add(&s->n_users, 1);
  return s;
}

void cq_document_store_close(cq_document_store *s) {
  if (!s || atomic_fetch_sub(&s->n_users, 1) > 1) return;
  sqlite3_finalize(s->read);
  sqlite3_finalize(s->find);
  sqlite3_close(s->db);
  pthread_mutex_destroy(&s->mutex);
  cq_free(s->path);
  cq_free(s);
}

/* --- writing --- */

static void fields_of(cq_slice out[N_FIELDS], const cq_document *d) {
  const cq_slice fields[N_FIELDS] = {d->id, d->language, d->title, d->url, d->text, d->metadata};
  memcpy(out, fields, sizeof fields);
}

static sqlite3_int64 check_of(const cq_document *d, int64_t first) {
  cq_slice fields[N_FIELDS];
  uint64_t check = (uint64_t)first;
  fields_of(fields, d);
  for (int i = 0; i < N_FIELDS; i++) check = cq_hash64(fields[i].n ? fields[i].data : "", fields[i].n, check);
  return (sqlite3_int64)check;
}

static cq_status insert(cq_document_store *s, sqlite3_stmt *statement, const cq_document *d, int64_t first,
                        cq_error *error) {
  cq_slice fields[N_FIELDS];
  fields_of(fields, d);
  int code = sqlite3_bind_int64(statement, 1, first);
  for (int i = 0; code == SQLITE_OK && i < N_FIELDS; i++)
    code = i == N_FIELDS - 1 && fields[i].n == 0 ? sqlite3_bind_null(statement, 2 + i)
                                                 : bind_slice(statement, 2 + i, fields[i]);
  if (code == SQLITE_OK) code = sqlite3_bind_int64(statement, 2 + N_FIELDS, check_of(d, first));
  if (code == SQLITE_OK) code = sqlite3_step(statement);
  if (code == SQLITE_DONE) code = sqlite3_reset(statement);
  return code == SQLITE_OK ? CQ_OK : fail_sqlite(s, code, error);
}

cq_status cq_document_store_append(cq_document_store *s, const cq_document *documents, const int64_t *firsts, size_t n,
                                   cq_error *error) {
  sqlite3_stmt *statement = NULL;
  pthread_mutex_lock(&s->mutex);
  cq_status status = run_sql(s, "BEGIN IMMEDIATE", error);
  const bool begun = !status;
  if (!status) status = prepare(&statement, s, "INSERT INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?)", error);
  for (size_t i = 0; !status && i < n; i++) status = insert(s, statement, &documents[i], firsts[i], error);
  sqlite3_finalize(statement);
  if (!status) status = run_sql(s, "COMMIT", error);
  if (status && begun) sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
  pthread_mutex_unlock(&s->mutex);
  return status;
}

enum { BATCH_DOCUMENTS = 4096, BATCH_BYTES = 8 << 20 };

cq_status cq_document_batch_add(cq_document_batch *b, const cq_document *document, int64_t first, cq_error *error) {
  if (!b->documents) b->documents = cq_alloc_array(BATCH_DOCUMENTS, sizeof *b->documents);
  if (!b->firsts) b->firsts = cq_alloc_array(BATCH_DOCUMENTS, sizeof *b->firsts);
  if (!b->documents || !b->firsts) return cq_fail_memory(error, "documents");
  cq_document *copy = &b->documents[b->n];
  *copy = *document;
  if (!keep_document(copy, &b->arena)) return cq_fail_memory(error, "documents");
  b->firsts[b->n++] = first;
  b->n_bytes += document->text.n;
  return b->n < BATCH_DOCUMENTS && b->n_bytes < BATCH_BYTES ? CQ_OK : cq_document_batch_flush(b, error);
}

cq_status cq_document_batch_flush(cq_document_batch *b, cq_error *error) {
  const cq_status status = b->n ? cq_document_store_append(b->to, b->documents, b->firsts, b->n, error) : CQ_OK;
  cq_arena_free(&b->arena);
  b->n = b->n_bytes = 0;
  return status;
}

void cq_document_batch_free(cq_document_batch *b) {
  cq_arena_free(&b->arena);
  cq_free(b->documents);
  cq_free(b->firsts);
  *b = (cq_document_batch){0};
}

cq_status cq_document_store_truncate(cq_document_store *s, int64_t n_records, cq_error *error) {
  char sql[80];
  sqlite3_snprintf(sizeof sql, sql, "DELETE FROM document WHERE first >= %lld", (long long)n_records);
  pthread_mutex_lock(&s->mutex);
  const cq_status status = run_sql(s, sql, error);
  pthread_mutex_unlock(&s->mutex);
  return status;
}

/* --- reading --- */

static cq_slice column(sqlite3_stmt *row, int i) {
  const void *data = sqlite3_column_text(row, i); /* before its size */
  return (cq_slice){data ? data : "", data ? (size_t)sqlite3_column_bytes(row, i) : 0};
}

/* The current row, borrowed until the next. */
static cq_status borrow_row(cq_document *out, const cq_document_store *s, sqlite3_stmt *row, cq_error *error) {
  const sqlite3_int64 first = sqlite3_column_int64(row, 0);
  *out = (cq_document){.id = column(row, 1),
                       .language = column(row, 2),
                       .text = column(row, 5),
                       .title = column(row, 3),
                       .url = column(row, 4),
                       .metadata = column(row, 6)};
  if (sqlite3_errcode(s->db) == SQLITE_NOMEM) return cq_fail_memory(error, s->path);
  if (check_of(out, first) == sqlite3_column_int64(row, 7)) return CQ_OK;
  return cq_fail_file(error, CQ_ERR_FORMAT, s->path,
                      "the document of record %lld is damaged: it does not fit its check", (long long)first);
}

cq_status cq_document_store_read(cq_document *out, cq_arena *arena, cq_document_store *s, int64_t first,
                                 cq_error *error) {
  static const char sql[] = "SELECT first, id, language, title, url, text, metadata, check_of_all FROM document "
                            "WHERE first = ?";
  pthread_mutex_lock(&s->mutex);
  cq_status status = prepare(&s->read, s, sql, error);
  if (!status) {
    sqlite3_bind_int64(s->read, 1, first);
    const int code = sqlite3_step(s->read);
    if (code == SQLITE_DONE)
      status = cq_fail_file(error, CQ_ERR_FORMAT, s->path, "the document of record %lld is missing", (long long)first);
    else
      status = code == SQLITE_ROW ? borrow_row(out, s, s->read, error) : fail_sqlite(s, code, error);
    if (!status && !keep_document(out, arena)) status = cq_fail_memory(error, s->path);
    sqlite3_reset(s->read);
  }
  pthread_mutex_unlock(&s->mutex);
  return status;
}

/* Reads a row's record number; callers use it as an index into tables of n_records. */
static cq_status take_record(int64_t *first, const cq_document_store *s, sqlite3_stmt *row, int column_of_record,
                             int64_t from, int64_t n_records, cq_error *error) {
  *first = sqlite3_column_int64(row, column_of_record);
  if (*first >= from && *first < n_records) return CQ_OK;
  return cq_fail_file(error, CQ_ERR_FORMAT, s->path, "it is damaged: a document of record %lld, expected %lld to %lld",
                      (long long)*first, (long long)from, (long long)n_records - 1);
}

cq_status cq_document_store_find(int64_t *first, cq_document_store *s, cq_slice id, int64_t n_records,
                                 cq_error *error) {
  static const char sql[] = "SELECT first FROM document WHERE id = ? AND first < ? ORDER BY first DESC LIMIT 1";
  *first = -1;
  pthread_mutex_lock(&s->mutex);
  cq_status status = prepare(&s->find, s, sql, error);
  if (!status) {
    int code = bind_slice(s->find, 1, id);
    if (code == SQLITE_OK) code = sqlite3_bind_int64(s->find, 2, n_records);
    if (code == SQLITE_OK) code = sqlite3_step(s->find);
    if (code == SQLITE_ROW)
      status = take_record(first, s, s->find, 0, 0, n_records, error);
    else if (code != SQLITE_DONE)
      status = fail_sqlite(s, code, error);
    sqlite3_reset(s->find);
  }
  pthread_mutex_unlock(&s->mutex);
  return status;
}

/* Calls `row` for every row of a statement that is ready to run. */
static cq_status each_row(cq_document_store *s, sqlite3_stmt *statement,
                          cq_status (*row)(void *, cq_document_store *, sqlite3_stmt *, cq_error *), void *context,
                          cq_error *error) {
  int code = SQLITE_ROW;
  cq_status status = CQ_OK;
  while (!status && (code = sqlite3_step(statement)) == SQLITE_ROW) status = row(context, s, statement, error);
  return status || code == SQLITE_DONE ? status : fail_sqlite(s, code, error);
}

/* The same for a statement without parameters. */
static cq_status run_query(cq_document_store *s, const char *sql,
                           cq_status (*row)(void *, cq_document_store *, sqlite3_stmt *, cq_error *), void *context,
                           cq_error *error) {
  sqlite3_stmt *statement = NULL;
  pthread_mutex_lock(&s->mutex);
  cq_status status = prepare(&statement, s, sql, error);
  if (!status) status = each_row(s, statement, row, context, error);
  sqlite3_finalize(statement);
  pthread_mutex_unlock(&s->mutex);
  return status;
}

typedef struct selecting {
  void (*found)(void *, int64_t);
  void *context;
  int64_t n_records;
} selecting;

static cq_status select_row(void *context, cq_document_store *s, sqlite3_stmt *row, cq_error *error) {
  const selecting *to = context;
  int64_t first;
  const cq_status status = take_record(&first, s, row, 0, 0, to->n_records, error);
  if (!status) to->found(to->context, first);
  return status;
}

cq_status cq_document_store_select(cq_document_store *s, const cq_filter *filter, int64_t n_records,
                                   void (*found)(void *, int64_t), void *context, cq_error *error) {
  sqlite3_stmt *statement = NULL;
  cq_sql sql;
  cq_builder text = {0};
  selecting to = {found, context, n_records};
  cq_status status = cq_filter_sql(&sql, filter, error);
  if (status) return status;
  cq_builder_printf(&text, "SELECT first FROM document WHERE (%s) AND first < ? ORDER BY first", sql.text.data);
  if (text.failed) status = cq_fail_memory(error, "filter");
  pthread_mutex_lock(&s->mutex);
  if (!status) status = prepare(&statement, s, text.data, error);
  int code = SQLITE_OK;
  for (size_t i = 0; !status && code == SQLITE_OK && i < sql.n_values; i++)
    code = sql.values[i].is_number ? sqlite3_bind_double(statement, (int)i + 1, sql.values[i].number)
                                   : bind_slice(statement, (int)i + 1, sql.values[i].text);
  if (!status && code == SQLITE_OK) code = sqlite3_bind_int64(statement, (int)sql.n_values + 1, n_records);
  if (!status && code != SQLITE_OK) status = fail_sqlite(s, code, error);
  if (!status) status = each_row(s, statement, select_row, &to, error);
  sqlite3_finalize(statement);
  pthread_mutex_unlock(&s->mutex);
  cq_builder_free(&text);
  cq_sql_free(&sql);
  return status;
}

typedef struct visiting {
  cq_visit_document_fn visit;
  void *context;
  int64_t next, end; /* next: after the last one visited */
  size_t n;
} visiting;

static cq_status visit_row(void *context, cq_document_store *s, sqlite3_stmt *row, cq_error *error) {
  visiting *to = context;
  cq_document document;
  int64_t first;
  cq_status status = take_record(&first, s, row, 0, to->next, to->end, error);
  if (!status) status = borrow_row(&document, s, row, error);
  to->next = first + 1;
  to->n++;
  return status ? status : to->visit(to->context, first, &document, error);
}

/* A read transaction blocks another process's commit, so it ends after some rows: rows already read do not change. */
cq_status cq_document_store_visit(cq_document_store *s, int64_t from, int64_t to, cq_visit_document_fn visit,
                                  void *context, cq_error *error) {
  visiting how = {visit, context, from, to, ROWS_AT_A_TIME};
  char sql[240];
  cq_status status = CQ_OK;
  while (!status && how.n == ROWS_AT_A_TIME) {
    how.n = 0;
    sqlite3_snprintf(sizeof sql, sql,
                     "SELECT %s FROM document WHERE first >= %lld AND first < %lld ORDER BY first "
                     "LIMIT %d",
                     columns, (long long)how.next, (long long)to, ROWS_AT_A_TIME);
    status = run_query(s, sql, visit_row, &how, error);
  }
  return status;
}

typedef struct counting {
  void (*found)(void *, cq_slice, int64_t);
  void *context;
  int64_t n_records;
} counting;

static cq_status language_row(void *context, cq_document_store *s, sqlite3_stmt *row, cq_error *error) {
  const counting *to = context;
  int64_t first;
  const cq_status status = take_record(&first, s, row, 1, 0, to->n_records, error);
  if (!status) to->found(to->context, column(row, 0), first);
  return status;
}

cq_status cq_document_store_languages(cq_document_store *s, int64_t n_records, void (*found)(void *, cq_slice, int64_t),
                                      void *context, cq_error *error) {
  counting to = {found, context, n_records};
  char sql[120];
  sqlite3_snprintf(sizeof sql, sql, "SELECT language, first FROM document WHERE first < %lld ORDER BY language, first",
                   (long long)n_records);
  return run_query(s, sql, language_row, &to, error);
}

/* --- verifying --- */

static cq_status integrity_row(void *context, cq_document_store *s, sqlite3_stmt *row, cq_error *error) {
  const cq_slice text = column(row, 0);
  (void)context;
  if (cq_slice_equal(text, cq_slice_of("ok"))) return CQ_OK;
  if (cq_page_checks_damaged(s->db)) return fail_page(s, error);
  return cq_fail_file(error, CQ_ERR_FORMAT, s->path, "it is damaged: %.*s", (int)text.n, text.data);
}

cq_status cq_document_store_verify(cq_document_store *s, cq_error *error) {
  return run_query(s, "PRAGMA integrity_check(1)", integrity_row, NULL, error);
}
