/* Values in the database's formats: vectors, terms as hashes, the counts of an index, and statements with a filter's
 * values. */
#include "postgresql/database_search.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "format/half.h"
#include "text/analyzer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- vectors --- */

size_t cq_database_put_vector(unsigned char *bytes, const float *vector, size_t dim, bool is_half) {
  double square = 0;
  for (size_t i = 0; i < dim; i++) square += (double)vector[i] * (double)vector[i];
  const double scale = square > 0 ? 1 / sqrt(square) : 0;
  unsigned char *at = bytes;
  *at++ = (unsigned char)(dim >> 8), *at++ = (unsigned char)dim, *at++ = 0, *at++ = 0;
  for (size_t i = 0; i < dim; i++) {
    const float x = (float)((double)vector[i] * scale);
    if (is_half) {
      const uint16_t half = __builtin_bswap16(cq_f32_to_f16(x));
      memcpy(at, &half, sizeof half);
      at += sizeof half;
    } else {
      const uint32_t bits = __builtin_bswap32(cq_bits_of_float(x));
      memcpy(at, &bits, sizeof bits);
      at += sizeof bits;
    }
  }
  return (size_t)(at - bytes);
}

cq_status cq_database_get_vector(float *out, const cq_index *index, cq_slice bytes, cq_error *error) {
  const size_t dim = (size_t)index->dim, width = index->database->is_half ? 2 : 4;
  if (bytes.n != 4 + width * dim || cq_pg_get_16(bytes.data) != dim)
    return cq_fail_file(error, CQ_ERR_FORMAT, index->directory, "a vector has %d dimensions, the index %zu",
                        bytes.n >= 2 ? cq_pg_get_16(bytes.data) : 0, dim);
  for (size_t i = 0; i < dim; i++) {
    if (width == 2) {
      out[i] = cq_f16_to_f32(cq_pg_get_16(bytes.data + 4 + 2 * i));
    } else {
      out[i] = cq_float_of_bits(cq_pg_get_32(bytes.data + 4 + 4 * i));
    }
  }
  return CQ_OK;
}

/* --- terms --- */

int64_t cq_database_hash(cq_slice term) {
  return (int64_t)cq_hash64(term.data, term.n, 0);
}

static int by_hash(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

cq_status cq_database_analyze(cq_database_terms *room, size_t *n, cq_analysis *analysis, cq_slice text,
                              cq_slice language, cq_error *error) {
  const uint32_t *ids;
  *n = 0;
  cq_analysis_set_language(analysis, language);
  const cq_status status = cq_analysis_run(&ids, n, analysis, text, error);
  if (status) return status;
  if (!cq_reserve((void **)&room->items, &room->capacity, *n + 1, sizeof *room->items))
    return cq_fail_memory(error, "terms");
  for (size_t i = 0; i < *n; i++) room->items[i] = cq_database_hash(cq_analysis_terms(analysis)->items[ids[i]]);
  qsort(room->items, *n, sizeof *room->items, by_hash);
  return CQ_OK;
}

/* --- statements and counts --- */

cq_pg_statement cq_database_statement(cq_pg_value *room, const cq_database_search *s, const cq_builder *sql,
                                      const cq_pg_value *more, size_t n) {
  if (s->values.n) memcpy(room, s->values.items, s->values.n * sizeof *room);
  for (size_t i = 0; i < n; i++) room[s->values.n + i] = more[i];
  return (cq_pg_statement){
      .sql = sql->data, .values = room, .n_values = s->values.n + n, .is_kept = s->condition.n == 0};
}

cq_status cq_database_read_counts(cq_index *index, cq_pg *pg, cq_error *error) {
  cq_pg_result *r;
  const cq_status status = cq_pg_run_kept(
      &r, pg, "SELECT n_documents, n_passages, next_document, " CQ_DATABASE_HAS_HNSW " FROM calque_index", NULL, 0,
      error);
  if (status) return status;
  cq_index_counts counts = {0};
  int64_t next_document = 0;
  if (cq_pg_n_rows(r) == 1) {
    counts.n_documents = (size_t)cq_pg_number(r, 0, 0), counts.n_passages = (size_t)cq_pg_number(r, 0, 1);
    next_document = cq_pg_number(r, 0, 2);
    counts.n_approximate = cq_pg_number(r, 0, 3) ? counts.n_passages : 0;
    atomic_store(&index->database->has_hnsw, cq_pg_number(r, 0, 3) != 0);
  }
  cq_pg_result_free(r);
  pthread_mutex_lock(&index->database->mutex);
  index->database->counts = counts, index->database->next_document = next_document;
  pthread_mutex_unlock(&index->database->mutex);
  return CQ_OK;
}
