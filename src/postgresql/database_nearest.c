/* Finds passages by their vectors: candidates from pgvector (by HNSW if it exists, otherwise all) by inner product ──▶
 * their vectors ──▶ cosines in double precision. A hybrid ranking keeps pgvector's order and products in f32 of its long
 * list; its hits get cosines later. With `exact`, no vector index is used. */
#include "postgresql/database_search.h"

#include "base/error.h"
#include "base/memory.h"
#include "calque/embedding.h"

#include <stdlib.h>
#include <string.h>

enum { MARGIN = 16 }; /* extra neighbors, because f32 sums may order the last ones differently */

typedef cq_database_search searching;
typedef cq_index_candidate candidate;
typedef cq_index_candidates candidates;

/* Whether lists are in pgvector's order. */
static bool is_ranked(const cq_index_searching *of) {
  return of->options->ranking == CQ_RANK_HYBRID;
}

cq_status cq_database_nearest_statement(cq_pg_statement *out, cq_database_nearest *q, const cq_index_searching *of,
                                        const float *query, size_t k, bool exact, cq_error *error) {
  const searching *s = of->state;
  const size_t dim = (size_t)of->index->dim;
  const bool is_half = of->index->database->is_half;
  if (!(q->bytes = cq_alloc(4 + 4 * dim))) return cq_fail_memory(error, "results");
  const char *type = is_half ? "halfvec" : "vector";
  const size_t number = s->values.n + 1;
  cq_builder_text(&q->sql, "SELECT p.number, p.document, ");
  if (is_ranked(of))
    cq_builder_printf(&q->sql, "p.embedding <#> $%zu::%s", number, type);
  else
    cq_builder_text(&q->sql, "p.embedding");
  cq_builder_text(&q->sql, " FROM passage p");
  if (s->condition.n)
    cq_builder_printf(&q->sql, " JOIN document d ON d.number = p.document WHERE %s", s->condition.data);
  cq_builder_printf(&q->sql, exact ? " ORDER BY (p.embedding <#> $%zu::%s) + 0" : " ORDER BY p.embedding <#> $%zu::%s",
                    number, type);
  cq_builder_printf(&q->sql, " LIMIT %zu", exact ? k + MARGIN : k);
  q->vector = (cq_pg_value){q->bytes, cq_database_put_vector(q->bytes, query, dim, is_half)};
  *out = cq_database_statement(q->room, s, &q->sql, &q->vector, 1);
  return q->sql.failed ? cq_fail_memory(error, "results") : CQ_OK;
}

void cq_database_nearest_free(cq_database_nearest *q) {
  cq_builder_free(&q->sql);
  cq_free(q->bytes);
}

cq_status cq_database_receive_nearest(searching *s, cq_error *error) {
  if (!s->is_asked) return CQ_OK;
  s->is_asked = false;
  return cq_pg_receive(&s->neighbors, 1, s->pg, error);
}

static cq_status get_nearest(cq_pg_result **out, const cq_index_searching *of, const float *query, size_t k, bool exact,
                             cq_error *error) {
  const searching *s = of->state;
  cq_database_nearest question = {0};
  cq_pg_statement statement;
  cq_status status = cq_database_nearest_statement(&statement, &question, of, query, k, exact, error);
  if (!status) status = cq_pg_run_statement(out, s->pg, &statement, error);
  cq_database_nearest_free(&question);
  return status;
}

static cq_status has_hnsw(bool *out, cq_pg *pg, cq_error *error) {
  cq_pg_result *r;
  const cq_status status = cq_pg_run_kept(&r, pg, "SELECT " CQ_DATABASE_HAS_HNSW, NULL, 0, error);
  *out = !status && cq_pg_n_rows(r) == 1 && cq_pg_number(r, 0, 0);
  cq_pg_result_free(r);
  return status;
}

/* pgvector ends a scan after hnsw.max_scan_tuples, 20,000 by default. With a selective filter or many deleted rows, it
 * may return too few; then all passages are compared. */
static cq_status find_neighbors(candidates *list, const cq_index_searching *of, const float *query, size_t k,
                                float *vector, cq_error *error) {
  searching *s = of->state;
  const cq_index *index = of->index;
  const size_t dim = (size_t)index->dim;
  const bool exact = of->options->exact;
  cq_pg_result *r = NULL;
  bool has_more = false;
  cq_status status = cq_database_receive_nearest(s, error);
  if (!status && s->neighbors)
    r = s->neighbors, s->neighbors = NULL;
  else if (!status)
    status = get_nearest(&r, of, query, k, exact, error);
  if (!status && !exact && cq_pg_n_rows(r) < cq_min(k, (size_t)s->n_passages))
    status = has_hnsw(&has_more, s->pg, error);
  if (!status && has_more) {
    cq_pg_result_free(r);
    r = NULL;
    status = get_nearest(&r, of, query, k, true, error);
  }
  const size_t n = status ? 0 : cq_pg_n_rows(r);
  candidate *found = cq_alloc_array(n, sizeof *found);
  if (!status && !found) status = cq_fail_memory(error, "results");
  for (size_t i = 0; !status && i < n; i++) {
    double cosine;
    if (is_ranked(of)) {
      cosine = -cq_pg_double(r, i, 2);
    } else {
      status = cq_database_get_vector(vector, index, cq_pg_bytes(r, i, 2), error);
      cosine = status ? 0 : cq_cosine(query, vector, dim);
    }
    found[i] = (candidate){.score = cosine,
                           .cosine = cosine,
                           .record = cq_pg_number(r, i, 0),
                           .first = cq_pg_number(r, i, 1),
                           .by_vector = true};
  }
  cq_pg_result_free(r);
  if (!status && n) {
    qsort(found, n, sizeof *found, cq_index_best_first);
    list->n = cq_min(n, k);
    memcpy(list->items, found, list->n * sizeof *found);
  }
  cq_free(found);
  return status;
}

cq_status cq_database_by_vectors(candidates *lists, cq_index_searching *of, size_t k, cq_error *error) {
  const size_t dim = (size_t)of->index->dim;
  float *vector = cq_alloc_array(dim, sizeof *vector);
  cq_status status =
      vector ? cq_index_reserve_candidates(lists, of->n_queries, k, error) : cq_fail_memory(error, "results");
  for (size_t q = 0; !status && q < of->n_queries; q++)
    status = find_neighbors(&lists[q], of, of->vectors + q * dim, k, vector, error);
  cq_free(vector);
  return status;
}
