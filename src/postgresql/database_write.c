/* A transaction of an index in a database:
 *
 *   lock the row of calque_index ──▶ delete replaced and removed documents ──▶ COPY document, passage, words
 *     ──▶ counts of terms ──▶ counts and next numbers ──▶ COMMIT
 *
 * Numbers are assigned here, under the lock, so COPY can fill all three tables without querying the numbers of the
 * others. */
#include "postgresql/database.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "format/half.h"
#include "text/analyzer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KEY = 2000 }; /* bytes of a key of a B-tree */

/* --- documents --- */

static cq_status fail_zero(const cq_document *d, const char *what, cq_error *error) {
  return cq_fail(error, CQ_ERR_FORMAT, "document '%.*s': its %s has a NUL character, which PostgreSQL cannot keep",
                 (int)cq_min(d->id.n, 200), d->id.data, what);
}

/* The escape \u0000, which jsonb refuses. */
static bool has_escaped_zero(cq_slice json) {
  for (size_t i = 0; i + 1 < json.n; i++) {
    if (json.data[i] != '\\') continue;
    if (i + 6 <= json.n && memcmp(json.data + i, "\\u0000", 6) == 0) return true;
    i++;
  }
  return false;
}

cq_status cq_database_check_document(const cq_document *d, cq_error *error) {
  const struct {
    cq_slice text;
    const char *what;
  } fields[] = {{d->id, "id"},   {d->language, "language"}, {d->title, "title"},
                {d->url, "url"}, {d->text, "text"},         {d->metadata, "metadata"}};
  if (d->id.n == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "a document has an empty id");
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (fields[i].text.n > CQ_DATABASE_MAX_FIELD)
      return cq_fail(error, CQ_ERR_LIMIT, "document '%.*s': its %s has %zu bytes, a database takes %d",
                     (int)cq_min(d->id.n, 100), d->id.data, fields[i].what, fields[i].text.n, CQ_DATABASE_MAX_FIELD);
  for (int i = 0; i < 2; i++) /* id and language are in B-trees */
    if (fields[i].text.n > MAX_KEY)
      return cq_fail(error, CQ_ERR_ARGUMENT, "document '%.*s': its %s has %zu bytes, a database takes %d",
                     (int)cq_min(d->id.n, 100), d->id.data, fields[i].what, fields[i].text.n, MAX_KEY);
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (fields[i].text.n && memchr(fields[i].text.data, 0, fields[i].text.n))
      return fail_zero(d, fields[i].what, error);
  return has_escaped_zero(d->metadata) ? fail_zero(d, "metadata", error) : CQ_OK;
}

/* A field of COPY: the entry described in database.h, after its length. terms ascend. */
static void put_forward(cq_builder *b, int64_t passage, int64_t document, const int64_t *terms, size_t n,
                        size_t n_words) {
  size_t n_distinct = 0;
  for (size_t i = 0; i < n; i++) n_distinct += i == 0 || terms[i] != terms[i - 1];
  cq_pg_put_32(b, (uint32_t)(CQ_DATABASE_FORWARD + 8 * n_distinct));
  cq_pg_put_64(b, (uint64_t)passage);
  cq_pg_put_64(b, (uint64_t)document);
  cq_pg_put_32(b, (uint32_t)n_words);
  cq_pg_put_32(b, (uint32_t)n_distinct);
  for (size_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && terms[end] == terms[i]; end++) continue;
    cq_pg_put_64(b, ((uint64_t)terms[i] & ~UINT64_C(0xffff)) | cq_min(end - i, (size_t)0xffff));
  }
}

typedef cq_database_term_change term_change;
typedef cq_database_writing writing;

void cq_database_writing_free(cq_database_writing *w) {
  cq_free(w->changes);
  cq_builder_free(&w->documents);
  cq_builder_free(&w->passages);
  cq_builder_free(&w->words);
  cq_builder_free(&w->text);
  cq_free(w->terms.items);
  cq_analysis_free(w->analysis);
}

/* terms ascend; sign 1: added, -1: removed. */
static cq_status change_terms(writing *w, const int64_t *terms, size_t n, size_t n_words, int sign, cq_error *error) {
  w->n_occurrences += sign * (int64_t)n_words;
  if (!cq_reserve((void **)&w->changes, &w->capacity, w->n_changes + n, sizeof *w->changes))
    return cq_fail_memory(error, "terms");
  for (size_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && terms[end] == terms[i]; end++) continue;
    w->changes[w->n_changes++] = (term_change){terms[i], sign, sign * (int64_t)(end - i)};
  }
  return CQ_OK;
}

static int by_change(const void *a, const void *b) {
  const term_change *x = a, *y = b;
  return (x->hash > y->hash) - (x->hash < y->hash);
}

static cq_status write_terms(writing *w, cq_error *error) {
  cq_builder columns[3] = {{0}};
  cq_pg_result *r = NULL;
  size_t n = 0;
  if (w->n_changes) qsort(w->changes, w->n_changes, sizeof *w->changes, by_change);
  for (size_t i = 0; i < w->n_changes; i++) {
    if (n && w->changes[n - 1].hash == w->changes[i].hash) {
      w->changes[n - 1].n_passages += w->changes[i].n_passages;
      w->changes[n - 1].n_occurrences += w->changes[i].n_occurrences;
    } else {
      w->changes[n++] = w->changes[i];
    }
  }
  for (int c = 0; c < 3; c++) cq_pg_put_array(&columns[c], CQ_PG_INT8, n);
  for (size_t i = 0; i < n; i++) {
    cq_pg_put_field_64(&columns[0], (uint64_t)w->changes[i].hash);
    cq_pg_put_field_64(&columns[1], (uint64_t)w->changes[i].n_passages);
    cq_pg_put_field_64(&columns[2], (uint64_t)w->changes[i].n_occurrences);
  }
  const cq_pg_value values[] = {cq_pg_value_of(&columns[0]), cq_pg_value_of(&columns[1]), cq_pg_value_of(&columns[2])};
  cq_status status =
      columns[0].failed || columns[1].failed || columns[2].failed ? cq_fail_memory(error, "terms") : CQ_OK;
  if (!status && n)
    status = cq_pg_run_kept(
        &r, w->pg,
        "INSERT INTO term SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) ON CONFLICT (hash) DO "
        "UPDATE SET n_passages = term.n_passages + excluded.n_passages, n_occurrences = term.n_occurrences + "
        "excluded.n_occurrences",
        values, 3, error);
  cq_pg_result_free(r);
  for (int c = 0; c < 3; c++) cq_builder_free(&columns[c]);
  return status;
}

/* --- what goes --- */

static cq_status forget_words(writing *w, cq_pg_value numbers, cq_error *error) {
  cq_pg_result *r;
  cq_status status = cq_pg_run_kept(
      &r, w->pg, "SELECT terms, length::bigint FROM words WHERE document = ANY($1::bigint[])", &numbers, 1, error);
  for (size_t i = 0; !status && i < cq_pg_n_rows(r); i++) {
    const cq_slice array = cq_pg_bytes(r, i, 0);
    const size_t n = array.n >= 20 ? (array.n - 20) / 12 : 0;
    if (!cq_reserve((void **)&w->terms.items, &w->terms.capacity, n + 1, sizeof *w->terms.items))
      status = cq_fail_memory(error, "terms");
    for (size_t t = 0; !status && t < n; t++) w->terms.items[t] = (int64_t)cq_pg_get_64(array.data + 20 + 12 * t + 4);
    if (!status) status = change_terms(w, w->terms.items, n, (size_t)cq_pg_number(r, i, 1), -1, error);
  }
  cq_pg_result_free(r);
  return status;
}

static cq_status delete_rows(int64_t *n, writing *w, const char *sql, cq_pg_value numbers, cq_error *error) {
  cq_pg_result *r;
  const cq_status status = cq_pg_run_kept(&r, w->pg, sql, &numbers, 1, error);
  if (!status) *n -= cq_pg_number(r, 0, 0);
  cq_pg_result_free(r);
  return status;
}

static cq_status delete_documents(writing *w, cq_error *error) {
  cq_builder ids = {0}, numbers = {0};
  cq_pg_result *r = NULL;
  cq_pg_put_array(&ids, CQ_PG_TEXT, w->batch->n + w->batch->n_removed);
  for (size_t i = 0; i < w->batch->n; i++)
    cq_pg_put_field(&ids, w->batch->additions[i].document->id.data, w->batch->additions[i].document->id.n);
  for (size_t i = 0; i < w->batch->n_removed; i++)
    cq_pg_put_field(&ids, w->batch->removed[i].data, w->batch->removed[i].n);
  cq_pg_value value = cq_pg_value_of(&ids);
  cq_status status = ids.failed ? cq_fail_memory(error, "ids") : CQ_OK;
  if (!status)
    status = cq_pg_run_kept(&r, w->pg, "SELECT number FROM document WHERE id = ANY($1::text[])", &value, 1, error);
  const size_t n = status ? 0 : cq_pg_n_rows(r);
  cq_pg_put_array(&numbers, CQ_PG_INT8, n);
  for (size_t i = 0; i < n; i++) cq_pg_put_field_64(&numbers, (uint64_t)cq_pg_number(r, i, 0));
  cq_pg_result_free(r);
  value = cq_pg_value_of(&numbers);
  int64_t ignored = 0;
  if (!status && numbers.failed) status = cq_fail_memory(error, "ids");
  if (!status && n) {
    status = forget_words(w, value, error);
    if (!status)
      status =
          delete_rows(&ignored, w,
                      "WITH x AS (DELETE FROM words WHERE document = ANY($1::bigint[]) RETURNING 1) SELECT count(*) "
                      "FROM x",
                      value, error);
    if (!status)
      status = delete_rows(&w->n_passages, w,
                           "WITH x AS (DELETE FROM passage WHERE document = ANY($1::bigint[]) RETURNING 1) SELECT "
                           "count(*) FROM x",
                           value, error);
    if (!status)
      status = delete_rows(&w->n_documents, w,
                           "WITH x AS (DELETE FROM document WHERE number = ANY($1::bigint[]) RETURNING 1) SELECT "
                           "count(*) FROM x",
                           value, error);
  }
  cq_builder_free(&ids);
  cq_builder_free(&numbers);
  return status;
}

/* --- what comes --- */

static void put_document(cq_builder *b, int64_t number, const cq_document *d) {
  cq_pg_put_16(b, 7);
  cq_pg_put_field_64(b, (uint64_t)number);
  cq_pg_put_field(b, d->id.data, d->id.n);
  cq_pg_put_field(b, d->language.data, d->language.n);
  cq_pg_put_field(b, d->title.data, d->title.n);
  cq_pg_put_field(b, d->url.data, d->url.n);
  cq_pg_put_field(b, d->text.data, d->text.n);
  cq_pg_put_32(b, (uint32_t)(d->metadata.n ? d->metadata.n : 2) + 1); /* jsonb: a version, then JSON */
  cq_builder_char(b, 1);
  cq_builder_bytes(b, d->metadata.n ? d->metadata.data : "{}", d->metadata.n ? d->metadata.n : 2);
}

static cq_status put_passage(writing *w, const cq_document *d, const cq_index_passage *p, size_t position,
                             int64_t document, const float *vector, unsigned char *bytes, cq_error *error) {
  cq_builder *b = &w->passages;
  const int64_t number = w->next_passage++;
  size_t n_terms;
  if (p->begin > p->end || p->end > d->text.n || p->end > INT32_MAX)
    return cq_fail(error, CQ_ERR_FORMAT, "document '%.*s': passage %zu does not fit its text", (int)d->id.n, d->id.data,
                   position);
  cq_pg_put_16(b, 6);
  cq_pg_put_field_64(b, (uint64_t)number);
  cq_pg_put_field_64(b, (uint64_t)document);
  cq_pg_put_field_32(b, (uint32_t)position);
  cq_pg_put_field_32(b, p->begin);
  cq_pg_put_field_32(b, p->end);
  cq_pg_put_field(b, bytes, cq_database_put_vector(bytes, vector, (size_t)w->index->dim, w->index->database->is_half));
  cq_builder_clear(&w->text); /* a passage with its document's title, as in write_words.c */
  cq_builder_bytes(&w->text, d->title.data, d->title.n);
  cq_builder_char(&w->text, '\n');
  cq_builder_bytes(&w->text, d->text.data + p->begin, p->end - p->begin);
  if (w->text.failed) return cq_fail_memory(error, "documents");
  cq_status status =
      cq_database_analyze(&w->terms, &n_terms, w->analysis, (cq_slice){w->text.data, w->text.n}, d->language, error);
  const size_t n_words = cq_analysis_n_words(w->analysis);
  if (!status && n_terms > (CQ_DATABASE_MAX_FIELD - 20) / 12)
    status = cq_fail(error, CQ_ERR_LIMIT, "document '%.*s': passage %zu has %zu words, a database takes %d",
                     (int)cq_min(d->id.n, 200), d->id.data, position, n_terms, (CQ_DATABASE_MAX_FIELD - 20) / 12);
  if (!status) status = change_terms(w, w->terms.items, n_terms, n_words, 1, error);
  if (status) return status;
  b = &w->words;
  cq_pg_put_16(b, 5);
  cq_pg_put_field_64(b, (uint64_t)number);
  cq_pg_put_field_64(b, (uint64_t)document);
  cq_pg_put_field_32(b, (uint32_t)n_words);
  cq_pg_put_32(b, (uint32_t)(n_terms ? 20 + 12 * n_terms : 12));
  cq_pg_put_int8s(b, w->terms.items, n_terms);
  put_forward(b, number, document, w->terms.items, n_terms, n_words);
  return CQ_OK;
}

/* The rows of the batch, from these numbers on. */
static cq_status prepare_rows(writing *w, int64_t next_document, int64_t next_passage, cq_error *error) {
  const size_t dim = (size_t)w->index->dim;
  const float *vector = w->batch->vectors;
  unsigned char *bytes = cq_alloc(4 + 4 * dim);
  cq_builder_clear(&w->documents), cq_builder_clear(&w->passages), cq_builder_clear(&w->words);
  w->next_document = w->first_document = next_document, w->next_passage = w->first_passage = next_passage;
  w->n_documents = w->n_passages = w->n_occurrences = 0, w->n_changes = 0;
  cq_status status = bytes ? CQ_OK : cq_fail_memory(error, "documents");
  for (size_t i = 0; !status && i < w->batch->n; i++) {
    const cq_index_addition *a = &w->batch->additions[i];
    const int64_t number = w->next_document++;
    put_document(&w->documents, number, a->document);
    for (size_t p = 0; !status && p < a->n_passages; p++, vector += dim)
      status = put_passage(w, a->document, &a->passages[p], p, number, vector, bytes, error);
    w->n_documents++, w->n_passages += (int64_t)a->n_passages;
  }
  cq_free(bytes);
  if (!status && (w->documents.failed || w->passages.failed || w->words.failed))
    status = cq_fail_memory(error, "documents");
  return status;
}

static cq_status write_rows(writing *w, cq_error *error) {
  cq_status status = CQ_OK;
  if (w->batch->n) {
    status = cq_pg_copy(w->pg, "COPY document FROM STDIN (FORMAT binary)", &w->documents, error);
    if (!status) status = cq_pg_copy(w->pg, "COPY passage FROM STDIN (FORMAT binary)", &w->passages, error);
    if (!status) status = cq_pg_copy(w->pg, "COPY words FROM STDIN (FORMAT binary)", &w->words, error);
  }
  return status;
}

/* --- the transaction --- */

/* Locks the row until the end of the transaction. */
static cq_status lock_index(void *context, cq_pg *pg, cq_error *error) {
  writing *w = context;
  cq_pg_result *r;
  cq_status status = cq_pg_run_all(NULL, pg, "BEGIN; SET LOCAL lock_timeout = '10s'", error);
  if (status) return status;
  status = cq_pg_run_kept(&r, pg, "SELECT next_document, next_passage, is_whole FROM calque_index FOR UPDATE", NULL, 0,
                          error);
  if (status) return status;
  if (cq_pg_n_rows(r) != 1)
    status = cq_fail_file(error, CQ_ERR_FORMAT, w->index->directory, "its table calque_index has no row");
  else
    w->locked_document = cq_pg_number(r, 0, 0), w->locked_passage = cq_pg_number(r, 0, 1),
    w->is_whole = cq_pg_number(r, 0, 2) != 0;
  cq_pg_result_free(r);
  return status;
}

static cq_status write_counts(writing *w, cq_error *error) {
  cq_builder numbers = {0};
  cq_pg_result *r;
  const int64_t all[] = {w->n_documents,   w->n_passages,   w->n_occurrences,
                         w->next_document, w->next_passage, w->batch->copied_until};
  enum { N = sizeof all / sizeof *all };
  cq_pg_value values[N + 1];
  for (size_t i = 0; i < N; i++) cq_pg_put_64(&numbers, (uint64_t)all[i]);
  if (numbers.failed) return cq_fail_memory(error, "documents");
  for (size_t i = 0; i < N; i++) values[i] = (cq_pg_value){numbers.data + 8 * i, 8};
  values[N] = (cq_pg_value){w->batch->source, w->batch->source ? strlen(w->batch->source) : 0};
  const cq_status status =
      w->batch->source
          ? cq_pg_run_kept(&r, w->pg,
                           "UPDATE calque_index SET n_documents = n_documents + $1::bigint, n_passages = n_passages + "
                           "$2::bigint, n_occurrences = n_occurrences + $3::bigint, next_document = $4::bigint, "
                           "next_passage = $5::bigint, copied_until = $6::bigint, copy_source = $7::text",
                           values, N + 1, error)
          : cq_pg_run_kept(&r, w->pg,
                           "UPDATE calque_index SET n_documents = n_documents + $1::bigint, n_passages = n_passages + "
                           "$2::bigint, n_occurrences = n_occurrences + $3::bigint, next_document = $4::bigint, "
                           "next_passage = $5::bigint",
                           values, N - 1, error);
  cq_pg_result_free(r);
  cq_builder_free(&numbers);
  return status;
}

cq_status cq_database_prepare(cq_database_writing *w, cq_index *index, const cq_database_batch *batch,
                              int64_t next_document, int64_t next_passage, cq_error *error) {
  const cq_analyzer *analyzer;
  cq_status status = CQ_OK;
  w->index = index, w->batch = batch;
  if (!w->analysis) {
    status = cq_index_need_analyzer(&analyzer, index, error);
    if (!status) status = cq_analysis_open(&w->analysis, analyzer, error);
  }
  return status ? status : prepare_rows(w, next_document, next_passage, error);
}

cq_status cq_database_send(cq_database_writing *w, cq_error *error) {
  cq_status status = cq_pg_begin(&w->pg, w->index->database->pool, lock_index, w, error);
  if (!status && (w->locked_document != w->first_document || w->locked_passage != w->first_passage))
    status = prepare_rows(w, w->locked_document, w->locked_passage, error);
  if (!status) status = delete_documents(w, error);
  if (!status) status = write_rows(w, error);
  if (!status && w->is_whole) status = write_terms(w, error);
  if (!status) status = write_counts(w, error);
  if (!status) status = cq_pg_run_all(NULL, w->pg, "COMMIT", error);
  cq_pg_give(w->pg);
  w->pg = NULL;
  return status;
}

cq_status cq_database_write(cq_index *index, const cq_database_batch *batch, cq_error *error) {
  cq_database_writing w = {0};
  cq_pg *pg;
  cq_status status = cq_database_prepare(&w, index, batch, -1, -1, error);
  if (!status) status = cq_database_send(&w, error);
  cq_database_writing_free(&w);
  if (!status && !cq_pg_take(&pg, index->database->pool, NULL)) {
    (void)!cq_database_read_counts(index, pg, NULL);
    cq_pg_give(pg);
  }
  return status;
}
