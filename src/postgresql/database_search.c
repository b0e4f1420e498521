/* Searches of an index in a database: their beginning and end, and the documents of the hits. */
#include "postgresql/database_search.h"

#include "base/error.h"
#include "base/memory.h"
#include "calque/embedding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MIN_EFFORT = 40,
  MAX_EFFORT = 1000, /* pgvector's limit of hnsw.ef_search */
};

typedef cq_database_search searching;
typedef cq_index_candidate candidate;
typedef cq_index_candidates candidates;

/* --- beginning --- */

static cq_status add_conditions(searching *s, const cq_search_options *o, cq_error *error) {
  cq_filter filter = {0};
  cq_status status = CQ_OK;
  if (o->filter && *o->filter) {
    status = cq_filter_parse(&filter, cq_slice_of(o->filter), error);
    if (!status) status = cq_pg_select(&s->condition, &s->values, &filter, error);
    cq_filter_free(&filter);
  }
  if (!status && o->language) {
    cq_filter_value code = {.text = cq_slice_of(o->language)};
    cq_filter_node node = {.kind = CQ_FILTER_IN, .field = {"language", 8}, .values = &code, .n_values = 1};
    cq_builder_text(&s->condition, s->condition.n ? " AND " : "");
    status = cq_pg_select(&s->condition, &s->values, &(cq_filter){.root = &node}, error);
  }
  return status || !s->condition.failed ? status : cq_fail_memory(error, "filter");
}

/* A scan that needs more candidates starts again, so request more at once if a filter removes some. */
static void set_effort(searching *s, const cq_search_options *o) {
  const size_t wanted = o->ranking == CQ_RANK_HYBRID ? cq_hybrid_depth(o) : o->k;
  const size_t effort = o->effort ? o->effort : s->condition.n ? CQ_DATABASE_FILTERED * wanted : wanted;
  snprintf(s->effort, sizeof s->effort, "%zu", effort < MIN_EFFORT ? MIN_EFFORT : cq_min(effort, MAX_EFFORT));
}

static cq_status split_queries(searching *s, const cq_index_searching *of, cq_error *error) {
  cq_status status = CQ_OK;
  if (of->options->ranking == CQ_RANK_DENSE || !of->queries) return CQ_OK;
  if (!(s->terms = cq_alloc_array_zeroed(of->n_queries, sizeof *s->terms))) return cq_fail_memory(error, "queries");
  for (size_t q = 0; !status && q < of->n_queries; q++)
    status = cq_database_split_query(&s->terms[q], of, of->queries[q], error);
  return status;
}

static void take_counts(searching *s, const cq_pg_result *r, bool has_snapshot) {
  if (cq_pg_n_rows(r) != 1) return;
  s->n_documents = cq_pg_number(r, 0, 3), s->n_passages = cq_pg_number(r, 0, 4);
  s->n_occurrences = cq_pg_number(r, 0, 5), s->is_whole = cq_pg_number(r, 0, 6) != 0;
  const cq_slice snapshot = has_snapshot ? cq_pg_bytes(r, 0, 7) : (cq_slice){"", 0};
  snprintf(s->snapshot, sizeof s->snapshot, "%.*s", (int)snapshot.n, snapshot.data);
}

#define COUNTS                                                                                                         \
  "SELECT " CQ_DATABASE_TIMEOUT ", set_config('hnsw.iterative_scan', 'strict_order', true), "                          \
  "set_config('hnsw.ef_search', $1::text, true), n_documents, n_passages, n_occurrences, is_whole"

/* Sends everything that can be sent at once as one message. */
static cq_status begin_snapshot(void *context, cq_pg *pg, cq_error *error) {
  const cq_index_searching *of = context;
  const cq_search_options *o = of->options;
  searching *s = of->state;
  const bool asks = o->ranking == CQ_RANK_HYBRID && of->n_queries == 1;
  if (asks && s->terms && s->terms[0].n && !s->second) s->second = cq_pg_take_idle(of->index->database->pool);
  const cq_pg_value effort = {s->effort, strlen(s->effort)};
  cq_pg_value terms;
  cq_builder hashes = {0};
  cq_database_nearest nearest = {0};
  cq_pg_result *results[3];
  size_t n = 2;
  cq_status status = CQ_OK;
  cq_pg_statement statements[4] = {
      {.sql = CQ_DATABASE_BEGIN, .is_kept = true},
      {.sql = s->second ? COUNTS ", pg_export_snapshot() FROM calque_index" : COUNTS " FROM calque_index",
       .values = &effort,
       .n_values = 1,
       .is_kept = true}};
  if (s->terms)
    status = cq_database_counts_statement(&statements[n++], &terms, &hashes, s->terms, of->n_queries, error);
  if (!status && asks) {
    statements[n - 1].is_needed = true;
    status =
        cq_database_nearest_statement(&statements[n], &nearest, of, of->vectors, cq_hybrid_depth(o), o->exact, error);
  }
  if (!status) status = cq_pg_send(pg, statements, asks ? n + 1 : n, error);
  if (!status) status = cq_pg_receive(results, n, pg, error);
  cq_builder_free(&hashes);
  cq_database_nearest_free(&nearest);
  if (status) return status;
  s->is_asked = asks;
  take_counts(s, results[1], s->second != NULL);
  if (s->terms) cq_database_take_counts(s->terms, of->n_queries, results[2]);
  for (size_t i = 0; i < n; i++) cq_pg_result_free(results[i]);
  return CQ_OK;
}
#undef COUNTS

cq_status cq_database_begin(cq_index_searching *of, cq_error *error) {
  searching *s = of->state = cq_alloc_zeroed(sizeof *s);
  if (!s) return cq_fail_memory(error, "results");
  if (of->options->csls && of->options->ranking != CQ_RANK_WORDS)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, of->index->directory,
                        "a database has no hubness to correct for (CSLS): an index of files may have it");
  cq_status status = add_conditions(s, of->options, error);
  if (!status) status = split_queries(s, of, error);
  set_effort(s, of->options);
  if (!status) status = cq_pg_begin(&s->pg, of->index->database->pool, begin_snapshot, of, error);
  if (status) return status;
  of->n_allowed = (size_t)s->n_passages; /* by a filter fewer: lists end when there are no more */
  of->has_passages = s->n_documents < s->n_passages;
  return CQ_OK;
}

void cq_database_end(cq_index_searching *of) {
  searching *s = of->state;
  if (!s) return;
  cq_pg_result_free(s->neighbors);
  cq_pg_give(s->second);
  cq_pg_give(s->pg);
  for (size_t q = 0; s->terms && q < of->n_queries; q++) cq_free(s->terms[q].items);
  cq_free(s->terms);
  cq_builder_free(&s->condition);
  cq_pg_values_free(&s->values);
  cq_free(s);
  of->state = NULL;
}

/* --- hits --- */

/* A row of the answer, by the passage's number. */
typedef struct found_row {
  int64_t number;
  size_t row;
} found_row;

static int by_number(const void *a, const void *b) {
  const found_row *x = a, *y = b;
  return (x->number > y->number) - (x->number < y->number);
}

static bool keep_field(cq_slice *out, cq_arena *arena, cq_slice from) {
  out->data = cq_arena_strndup(arena, from.data, from.n);
  out->n = from.n;
  return out->data != NULL;
}

static cq_status make_hit(cq_hit *hit, cq_hits *hits, const cq_index_searching *of, const candidate *c,
                          const cq_pg_result *r, size_t row, const float *query, float *vector, cq_error *error) {
  cq_document *d = &hit->document;
  *hit = (cq_hit){.cosine = c->cosine,
                  .score = c->score,
                  .words = c->words,
                  .by_vector = c->by_vector,
                  .by_words = c->by_words,
                  .is_good = c->covers,
                  .passage = (size_t)cq_pg_number(r, row, 1),
                  .begin = (size_t)cq_pg_number(r, row, 2),
                  .end = (size_t)cq_pg_number(r, row, 3)};
  if (query) {
    const cq_status status = cq_database_get_vector(vector, of->index, cq_pg_bytes(r, row, 4), error);
    if (status) return status;
    hit->cosine = cq_cosine(query, vector, (size_t)of->index->dim);
  }
  if (!keep_field(&d->id, &hits->arena, cq_pg_bytes(r, row, 5)) ||
      !keep_field(&d->language, &hits->arena, cq_pg_bytes(r, row, 6)) ||
      !keep_field(&d->title, &hits->arena, cq_pg_bytes(r, row, 7)) ||
      !keep_field(&d->url, &hits->arena, cq_pg_bytes(r, row, 8)) ||
      !keep_field(&d->text, &hits->arena, cq_pg_bytes(r, row, 9)) ||
      !keep_field(&d->metadata, &hits->arena, cq_pg_bytes(r, row, 10)))
    return cq_fail_memory(error, "results");
  return CQ_OK;
}

static cq_status read_hits(cq_pg_result **out, const cq_index_searching *of, const cq_hits *hits,
                           const candidates *lists, cq_error *error) {
  const searching *s = of->state;
  cq_builder numbers = {0};
  size_t n = 0;
  for (size_t q = 0; q < hits->n_queries; q++) n += cq_min(lists[q].n, hits->k);
  *out = NULL;
  if (n == 0) return CQ_OK;
  cq_pg_put_array(&numbers, CQ_PG_INT8, n);
  for (size_t q = 0; q < hits->n_queries; q++)
    for (size_t i = 0; i < lists[q].n && i < hits->k; i++)
      cq_pg_put_field_64(&numbers, (uint64_t)lists[q].items[i].record);
  const cq_pg_value value = cq_pg_value_of(&numbers);
  const cq_status status =
      numbers.failed
          ? cq_fail_memory(error, "results")
          : cq_pg_run_kept(
                out, s->pg,
                "SELECT p.number, p.position, p.starts, p.ends, p.embedding, d.id, d.language, d.title, d.url, "
                "substring(convert_to(d.text, 'UTF8') FROM p.starts + 1 FOR p.ends - p.starts), "
                "CASE d.metadata WHEN '{}' THEN '' ELSE d.metadata::text END "
                "FROM passage p JOIN document d ON d.number = p.document WHERE p.number = ANY($1::bigint[])",
                &value, 1, error);
  cq_builder_free(&numbers);
  return status;
}

cq_status cq_database_fill(cq_hits *hits, const cq_index_searching *of, const candidates *lists, cq_error *error) {
  const size_t dim = (size_t)of->index->dim;
  cq_pg_result *r;
  cq_status status = read_hits(&r, of, hits, lists, error);
  if (status || !r) return status;
  const size_t n = cq_pg_n_rows(r);
  found_row *rows = cq_alloc_array(n, sizeof *rows);
  float *vector = cq_alloc_array(dim, sizeof *vector);
  if (!rows || !vector) status = cq_fail_memory(error, "results");
  for (size_t i = 0; !status && i < n; i++) rows[i] = (found_row){cq_pg_number(r, i, 0), i};
  if (!status && n) qsort(rows, n, sizeof *rows, by_number);
  for (size_t q = 0; !status && q < hits->n_queries; q++)
    for (size_t i = 0; !status && i < lists[q].n && i < hits->k; i++) {
      const found_row key = {lists[q].items[i].record, 0}, *found = bsearch(&key, rows, n, sizeof key, by_number);
      if (!found)
        status = cq_fail_file(error, CQ_ERR_FORMAT, of->index->directory, "passage %lld has no document",
                              (long long)key.number);
      else
        status = make_hit(&hits->all[q * hits->k + hits->n[q]], hits, of, &lists[q].items[i], r, found->row,
                          of->vectors ? of->vectors + q * dim : NULL, vector, error);
      if (!status) hits->n[q]++;
    }
  cq_free(vector);
  cq_free(rows);
  cq_pg_result_free(r);
  return status;
}

/* --- the rest --- */

cq_status cq_database_sample(candidates *list, float **vectors, cq_index_searching *of, size_t n, cq_error *error) {
  const searching *s = of->state;
  const size_t dim = (size_t)of->index->dim, n_live = (size_t)s->n_passages;
  cq_builder numbers = {0};
  cq_pg_result *r = NULL;
  n = cq_min(n, n_live);
  cq_pg_put_64(&numbers, n), cq_pg_put_64(&numbers, n_live ? n_live : 1);
  if (numbers.failed) return cq_fail_memory(error, "results");
  const cq_pg_value values[] = {{numbers.data, 8}, {numbers.data + 8, 8}};
  cq_status status =
      cq_pg_run_kept(&r, s->pg,
                     "SELECT number, document, embedding FROM (SELECT number, document, embedding, "
                     "row_number() OVER (ORDER BY number) - 1 AS i FROM passage) AS x WHERE i = 0 OR i * "
                     "$1::bigint / $2::bigint <> (i - 1) * $1::bigint / $2::bigint ORDER BY number",
                     values, 2, error);
  const size_t n_rows = status || n == 0 ? 0 : cq_pg_n_rows(r);
  list->items = cq_alloc_array(n_rows, sizeof *list->items);
  *vectors = cq_alloc_array(n_rows, dim * sizeof **vectors);
  if (!status && (!list->items || !*vectors)) status = cq_fail_memory(error, "vectors");
  for (size_t i = 0; !status && i < n_rows; i++) {
    list->items[list->n++] = (candidate){.record = cq_pg_number(r, i, 0), .first = cq_pg_number(r, i, 1)};
    status = cq_database_get_vector(*vectors + i * dim, of->index, cq_pg_bytes(r, i, 2), error);
  }
  cq_pg_result_free(r);
  cq_builder_free(&numbers);
  return status;
}
