/* Searches of an index in a database: one transaction, which sees one snapshot.
 *
 *   vectors   candidates by pgvector (HNSW where there is one, else all), in order of its inner products
 *             ──▶ their vectors ──▶ cosines in double precision
 *   words     passages that have any of the query's rarest terms, ten times as many as are asked for; those of more
 *             terms while there are fewer than are asked for ──▶ their terms ──▶ scores by all of the query's terms,
 *             as lexical/score.h has them
 *   hits      the documents of those that are left
 *
 * With `exact` no index of vectors is used, and passages with any of the query's terms are scored. */
#include "recipe/search/database.h"

#include "base/error.h"
#include "base/memory.h"
#include "calque/embedding.h"
#include "lexical/growing.h"
#include "lexical/score.h"
#include "store/postgresql_select.h"
#include "text/analyzer.h"

#include <stdlib.h>
#include <string.h>

enum {
  MIN_CANDIDATES = 2000, /* terms are looked for together while they have no more passages */
  MAX_OF_ONE = 50000,    /* passages read for a single term */
  MARGIN = 16,           /* more neighbours than are asked for, exactly: f32 sums may order the last ones otherwise */
  FILTERED_EFFORT = 4,
  MIN_EFFORT = 40,
  MAX_EFFORT = 1000, /* pgvector's limit of hnsw.ef_search */
  LENGTHS = 1024,    /* in the table of scores; longer passages are computed */
};

typedef cq_index_candidate candidate;
typedef cq_index_candidates candidates;

typedef struct searching {
  cq_pg *pg;
  int64_t n_documents, n_passages, n_occurrences;
  bool is_whole; /* terms are counted */
  bool has_hnsw;
  cq_builder condition; /* on d; empty: none */
  cq_pg_values values;  /* $1, $2, ... of the condition; others come behind them */
} searching;

/* A term of a query. */
typedef struct query_term {
  int64_t hash, n_passages, n_occurrences; /* 0: no passage has it */
  double weight;
  cq_term_scoring scoring;
} query_term;

/* --- beginning --- */

static cq_status add_conditions(searching *s, const cq_search_options *o, cq_error *error) {
  cq_filter filter = {0};
  size_t number;
  cq_status status = CQ_OK;
  if (o->filter && *o->filter) {
    status = cq_filter_parse(&filter, cq_slice_of(o->filter), error);
    if (!status) status = cq_pg_select(&s->condition, &s->values, &filter, error);
    cq_filter_free(&filter);
  }
  if (!status && o->language) {
    status = cq_pg_add_value(&number, &s->values, o->language, strlen(o->language), error);
    if (!status) cq_builder_printf(&s->condition, "%sd.language = $%zu::text", s->condition.n ? " AND " : "", number);
  }
  return status || !s->condition.failed ? status : cq_fail_memory(error, "filter");
}

static cq_status begin_snapshot(void *context, cq_pg *pg, cq_error *error) {
  const cq_index_searching *of = context;
  const cq_search_options *o = of->options;
  searching *s = of->state;
  cq_builder sql = {0};
  cq_pg_result *r;
  const size_t wanted = o->ranking == CQ_RANK_HYBRID && o->depth > o->k ? o->depth : o->k;
  /* A scan that goes on for more starts anew, so that it is cheaper to look for more at once where a filter drops
   * some. */
  size_t effort = o->effort ? o->effort : s->condition.n ? FILTERED_EFFORT * wanted : wanted;
  effort = effort < MIN_EFFORT ? MIN_EFFORT : cq_min(effort, MAX_EFFORT);
  cq_builder_printf(&sql,
                    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = '30s'; "
                    "SET LOCAL hnsw.ef_search = %zu; SET LOCAL hnsw.iterative_scan = strict_order; "
                    "SELECT n_documents, n_passages, n_occurrences, is_whole, " CQ_DATABASE_HAS_HNSW
                    " FROM calque_index",
                    effort);
  cq_status status = sql.failed ? cq_fail_memory(error, "search") : cq_pg_run_all(&r, pg, sql.data, error);
  cq_builder_free(&sql);
  if (status) return status;
  if (cq_pg_n_rows(pg, r) == 1) {
    s->n_documents = cq_pg_text_number(pg, r, 0, 0), s->n_passages = cq_pg_text_number(pg, r, 0, 1);
    s->n_occurrences = cq_pg_text_number(pg, r, 0, 2), s->is_whole = cq_pg_text_number(pg, r, 0, 3);
    s->has_hnsw = cq_pg_text_number(pg, r, 0, 4);
  }
  cq_pg_result_free(pg, r);
  return CQ_OK;
}

cq_status cq_database_begin(cq_index_searching *of, cq_error *error) {
  searching *s = of->state = cq_alloc_zeroed(sizeof *s);
  if (!s) return cq_fail_memory(error, "results");
  if (of->options->csls && of->options->ranking != CQ_RANK_WORDS)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, of->index->directory,
                        "a database has no hubness to correct for (CSLS): an index of files may have it");
  cq_status status = add_conditions(s, of->options, error);
  if (!status) status = cq_pg_begin(&s->pg, of->index->database->pool, begin_snapshot, of, error);
  if (status) return status;
  of->n_allowed = (size_t)s->n_passages; /* by a filter fewer: lists end where there are no more */
  of->has_passages = s->n_documents < s->n_passages;
  return CQ_OK;
}

void cq_database_end(cq_index_searching *of) {
  searching *s = of->state;
  if (!s) return;
  cq_pg_give(s->pg);
  cq_builder_free(&s->condition);
  cq_pg_values_free(&s->values);
  cq_free(s);
  of->state = NULL;
}

/* `condition`'s values, then these; kept where there is no condition, since with one each statement is another. */
static cq_status run_search(cq_pg_result **out, const searching *s, const cq_builder *sql, const cq_pg_value *more,
                            size_t n, cq_error *error) {
  cq_pg_value values[CQ_PG_MAX_VALUES + 4];
  if (sql->failed) return cq_fail_memory(error, "search");
  if (s->values.n) memcpy(values, s->values.items, s->values.n * sizeof *values);
  for (size_t i = 0; i < n; i++) values[s->values.n + i] = more[i];
  return s->condition.n ? cq_pg_run(out, s->pg, sql->data, values, s->values.n + n, error)
                        : cq_pg_run_kept(out, s->pg, sql->data, values, n, error);
}

static int best_first(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return (x->record > y->record) - (x->record < y->record);
}

/* --- by vectors --- */

static cq_status ask_neighbours(cq_pg_result **out, const cq_index_searching *of, const cq_pg_value *vector, size_t k,
                                bool exact, cq_error *error) {
  const searching *s = of->state;
  cq_builder sql = {0};
  cq_builder_printf(
      &sql,
      "SELECT p.number, p.document, p.embedding FROM passage p%s%s ORDER BY %sp.embedding <#> $%zu::%s%s LIMIT %zu",
      s->condition.n ? " JOIN document d ON d.number = p.document WHERE " : "", s->condition.n ? s->condition.data : "",
      exact ? "(" : "", s->values.n + 1, of->index->database->is_half ? "halfvec" : "vector", exact ? ") + 0" : "",
      exact ? k + MARGIN : k);
  const cq_status status = run_search(out, s, &sql, vector, 1, error);
  cq_builder_free(&sql);
  return status;
}

/* pgvector gives a scan up after hnsw.max_scan_tuples, 20,000 where nobody has set it: behind a filter that few pass,
 * or many deleted rows, it has found fewer than there are. Then all are compared. */
static cq_status find_neighbours(candidates *list, const cq_index_searching *of, const float *query, size_t k,
                                 float *vector, unsigned char *bytes, cq_error *error) {
  const searching *s = of->state;
  const cq_index *index = of->index;
  const size_t dim = (size_t)index->dim;
  const bool exact = of->options->exact;
  cq_pg_result *r = NULL;
  const cq_pg_value value = {bytes, cq_database_put_vector(bytes, query, dim, index->database->is_half)};
  cq_status status = ask_neighbours(&r, of, &value, k, exact, error);
  if (!status && !exact && s->has_hnsw && cq_pg_n_rows(s->pg, r) < cq_min(k, (size_t)s->n_passages)) {
    cq_pg_result_free(s->pg, r);
    status = ask_neighbours(&r, of, &value, k, true, error);
  }
  const size_t n = status ? 0 : cq_pg_n_rows(s->pg, r);
  candidate *found = cq_alloc_array(n, sizeof *found);
  if (!status && !found) status = cq_fail_memory(error, "results");
  for (size_t i = 0; !status && i < n; i++) {
    status = cq_database_get_vector(vector, index, cq_pg_bytes(s->pg, r, i, 2), error);
    if (status) break;
    const double cosine = cq_cosine(query, vector, dim);
    found[i] = (candidate){.score = cosine,
                           .cosine = cosine,
                           .record = cq_pg_number(s->pg, r, i, 0),
                           .first = cq_pg_number(s->pg, r, i, 1),
                           .by_vector = true};
  }
  cq_pg_result_free(s->pg, r);
  if (!status && n) {
    qsort(found, n, sizeof *found, best_first);
    list->n = cq_min(n, k);
    memcpy(list->items, found, list->n * sizeof *found);
  }
  cq_free(found);
  return status;
}

cq_status cq_database_by_vectors(candidates *lists, cq_index_searching *of, size_t k, cq_error *error) {
  const size_t dim = (size_t)of->index->dim;
  float *vector = cq_alloc_array(dim, sizeof *vector);
  unsigned char *bytes = cq_alloc(4 + 4 * dim);
  cq_status status =
      vector && bytes ? cq_index_reserve_candidates(lists, of->n_queries, k, error) : cq_fail_memory(error, "results");
  for (size_t q = 0; !status && q < of->n_queries; q++)
    status = find_neighbours(&lists[q], of, of->vectors + q * dim, k, vector, bytes, error);
  cq_free(vector);
  cq_free(bytes);
  return status;
}

/* --- by words --- */

static int by_rarity(const void *a, const void *b) {
  const query_term *x = a, *y = b;
  if (x->n_passages != y->n_passages) return x->n_passages < y->n_passages ? -1 : 1;
  return (x->hash > y->hash) - (x->hash < y->hash);
}

static int by_hash(const void *a, const void *b) {
  const query_term *x = a, *y = b;
  return (x->hash > y->hash) - (x->hash < y->hash);
}

/* *out [n], by hash. */
static cq_status count_terms(query_term **out, size_t *n, const cq_index_searching *of, cq_slice query,
                             cq_error *error) {
  const searching *s = of->state;
  const cq_analyzer *analyzer;
  cq_analysis *analysis = NULL;
  cq_database_terms room = {0};
  cq_builder hashes = {0};
  cq_pg_result *r = NULL;
  size_t n_all = 0;
  *out = NULL, *n = 0;
  cq_status status = cq_index_need_analyzer(&analyzer, of->index, error);
  if (!status) status = cq_analysis_open(&analysis, analyzer, error);
  if (!status) status = cq_database_analyze(&room, &n_all, analysis, query, error);
  if (!status && !(*out = cq_alloc_array_zeroed(n_all + 1, sizeof **out))) status = cq_fail_memory(error, "a query");
  for (size_t i = 0; !status && i < n_all; i++) {
    if (*n == 0 || (*out)[*n - 1].hash != room.items[i]) (*out)[(*n)++].hash = room.items[i];
    query_term *t = &(*out)[*n - 1];
    if (t->weight == 0 || of->options->words_model != CQ_DIRICHLET) t->weight += 1;
  }
  cq_pg_put_array(&hashes, CQ_PG_INT8, *n);
  for (size_t i = 0; i < *n; i++) cq_pg_put_field_64(&hashes, (uint64_t)(*out)[i].hash);
  const cq_pg_value value = cq_pg_value_of(&hashes);
  if (!status && hashes.failed) status = cq_fail_memory(error, "a query");
  if (!status && *n)
    status = cq_pg_run_kept(
        &r, s->pg, "SELECT hash, n_passages, n_occurrences FROM term WHERE hash = ANY($1::bigint[])", &value, 1, error);
  for (size_t i = 0; !status && *n && i < cq_pg_n_rows(s->pg, r); i++) {
    const query_term key = {.hash = cq_pg_number(s->pg, r, i, 0)};
    query_term *t = bsearch(&key, *out, *n, sizeof key, by_hash);
    if (t) t->n_passages = cq_pg_number(s->pg, r, i, 1), t->n_occurrences = cq_pg_number(s->pg, r, i, 2);
  }
  cq_pg_result_free(s->pg, r);
  cq_builder_free(&hashes);
  cq_analysis_free(analysis);
  cq_free(room.items);
  if (status) {
    cq_free(*out);
    *out = NULL;
  }
  return status;
}

/* The array's elements and the terms both ascend. */
static double score_terms(const query_term *terms, size_t n, cq_slice array, uint32_t length) {
  const size_t n_elements = array.n >= 20 ? (array.n - 20) / 12 : 0;
  double score = 0;
  for (size_t t = 0, i = 0; t < n; t++) {
    uint32_t frequency = 0;
    while (i < n_elements && (int64_t)cq_pg_get_64(array.data + 24 + 12 * i) < terms[t].hash) i++;
    for (; i < n_elements && (int64_t)cq_pg_get_64(array.data + 24 + 12 * i) == terms[t].hash; i++) frequency++;
    if (frequency && terms[t].n_passages > 0) score += cq_term_score(&terms[t].scoring, frequency, length);
  }
  return score;
}

/* Passages are read in rounds, rarest terms first. A round takes terms while they have no more than `max` passages
 * together, and at least one that has any. by_rarity orders terms; returns the round's end, *sum the passages of its
 * terms. */
static size_t choose_terms(int64_t *sum, const query_term *terms, size_t first, size_t n, int64_t max) {
  size_t end = first;
  *sum = 0;
  while (end < n && (*sum == 0 || *sum + terms[end].n_passages <= max)) *sum += terms[end++].n_passages;
  return end;
}

static void put_hashes(cq_builder *b, const query_term *terms, size_t n) {
  cq_pg_put_array(b, CQ_PG_INT8, n);
  for (size_t i = 0; i < n; i++) cq_pg_put_field_64(b, (uint64_t)terms[i].hash);
}

/* Passages that have any of the terms first to end, and none of those before first, which earlier rounds have read.
 * limit 0: all of them. */
static cq_status read_round(cq_pg_result **out, const searching *s, const query_term *terms, size_t first, size_t end,
                            size_t limit, cq_error *error) {
  cq_builder sql = {0}, wanted = {0}, done = {0};
  put_hashes(&wanted, terms + first, end - first);
  put_hashes(&done, terms, first);
  cq_builder_printf(&sql,
                    "SELECT w.passage, w.document, w.length, w.terms FROM words w%s WHERE w.terms && $%zu::bigint[] "
                    "AND NOT w.terms && $%zu::bigint[]%s%s",
                    s->condition.n ? " JOIN document d ON d.number = w.document" : "", s->values.n + 1, s->values.n + 2,
                    s->condition.n ? " AND " : "", s->condition.n ? s->condition.data : "");
  /* an order, so that the same search finds the same; + 0 keeps the planner from reading the whole table by number */
  if (limit) cq_builder_printf(&sql, " ORDER BY w.passage + 0 LIMIT %zu", limit);
  const cq_pg_value values[] = {cq_pg_value_of(&wanted), cq_pg_value_of(&done)};
  const cq_status status =
      wanted.failed || done.failed ? cq_fail_memory(error, "a query") : run_search(out, s, &sql, values, 2, error);
  cq_builder_free(&sql);
  cq_builder_free(&wanted);
  cq_builder_free(&done);
  return status;
}

/* What was found, in all rounds. */
typedef struct scored {
  candidate *items;
  size_t n, capacity;
} scored;

/* terms, by hash: all of the query's. */
static cq_status score_rows(scored *found, const searching *s, const cq_pg_result *r, const query_term *terms, size_t n,
                            cq_error *error) {
  const size_t n_rows = cq_pg_n_rows(s->pg, r);
  if (!cq_reserve((void **)&found->items, &found->capacity, found->n + n_rows + 1, sizeof *found->items))
    return cq_fail_memory(error, "results");
  for (size_t i = 0; i < n_rows; i++) {
    const double score = score_terms(terms, n, cq_pg_bytes(s->pg, r, i, 3), (uint32_t)cq_pg_number(s->pg, r, i, 2));
    found->items[found->n++] = (candidate){.score = score,
                                           .words = score,
                                           .record = cq_pg_number(s->pg, r, i, 0),
                                           .first = cq_pg_number(s->pg, r, i, 1),
                                           .by_words = true};
  }
  return CQ_OK;
}

static cq_status score_passages(candidates *list, const cq_index_searching *of, query_term *terms, size_t n, size_t k,
                                cq_error *error) {
  const searching *s = of->state;
  const bool exact = of->options->exact;
  const size_t max = 10 * k > MIN_CANDIDATES ? 10 * k : MIN_CANDIDATES,
               max_of_one = max > MAX_OF_ONE ? max : MAX_OF_ONE;
  scored found = {0};
  cq_status status = CQ_OK;
  query_term *rarest = cq_alloc_array(n, sizeof *rarest);
  if (!rarest) return cq_fail_memory(error, "a query");
  memcpy(rarest, terms, n * sizeof *rarest);
  qsort(rarest, n, sizeof *rarest, by_rarity);
  for (size_t first = 0, end; !status && first < n && found.n < k; first = end) {
    int64_t sum;
    cq_pg_result *r = NULL;
    end = choose_terms(&sum, rarest, first, n, exact ? INT64_MAX / 2 : (int64_t)max);
    if (sum <= 0) continue;
    status = read_round(&r, s, rarest, first, end, !exact && sum > (int64_t)max_of_one ? max_of_one : 0, error);
    if (!status) status = score_rows(&found, s, r, terms, n, error);
    cq_pg_result_free(s->pg, r);
  }
  if (!status && found.n) {
    qsort(found.items, found.n, sizeof *found.items, best_first);
    list->n = cq_min(found.n, k);
    memcpy(list->items, found.items, list->n * sizeof *found.items);
  }
  cq_free(found.items);
  cq_free(rarest);
  return status;
}

cq_status cq_database_by_words(candidates *lists, cq_index_searching *of, size_t k, cq_error *error) {
  const searching *s = of->state;
  cq_lexical_options o = cq_lexical_default_options();
  cq_scoring scoring = {0};
  if (!s->is_whole)
    return cq_fail_file(error, CQ_ERR_UNAVAILABLE, of->index->directory,
                        "the index is still being copied: at the end of that it can be searched by words");
  o.model = of->options->words_model, o.mu = of->options->words_mu;
  const cq_collection_counts counts = {(double)s->n_passages, (double)s->n_occurrences};
  cq_status status = cq_scoring_open(&scoring, &o, counts, LENGTHS, error);
  if (!status) status = cq_index_reserve_candidates(lists, of->n_queries, k, error);
  for (size_t q = 0; !status && q < of->n_queries; q++) {
    query_term *terms = NULL;
    size_t n;
    bool has_any = false;
    status = count_terms(&terms, &n, of, of->queries[q], error);
    for (size_t t = 0; !status && t < n; t++) {
      if (terms[t].n_passages <= 0) continue;
      cq_term_scoring_set(&terms[t].scoring, &scoring, terms[t].weight, (uint64_t)terms[t].n_passages,
                          (uint64_t)terms[t].n_occurrences);
      has_any = true;
    }
    if (!status && has_any) status = score_passages(&lists[q], of, terms, n, k, error);
    cq_free(terms);
  }
  cq_scoring_free(&scoring);
  return status;
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
  const cq_pg *pg = ((const searching *)of->state)->pg;
  cq_document *d = &hit->document;
  *hit = (cq_hit){.cosine = c->cosine,
                  .score = c->score,
                  .words = c->words,
                  .by_vector = c->by_vector,
                  .by_words = c->by_words,
                  .passage = (size_t)cq_pg_number(pg, r, row, 1),
                  .begin = (size_t)cq_pg_number(pg, r, row, 2),
                  .end = (size_t)cq_pg_number(pg, r, row, 3)};
  if (!c->by_vector && query) {
    const cq_status status = cq_database_get_vector(vector, of->index, cq_pg_bytes(pg, r, row, 4), error);
    if (status) return status;
    hit->cosine = cq_cosine(query, vector, (size_t)of->index->dim);
  }
  if (!keep_field(&d->id, &hits->arena, cq_pg_bytes(pg, r, row, 5)) ||
      !keep_field(&d->language, &hits->arena, cq_pg_bytes(pg, r, row, 6)) ||
      !keep_field(&d->title, &hits->arena, cq_pg_bytes(pg, r, row, 7)) ||
      !keep_field(&d->url, &hits->arena, cq_pg_bytes(pg, r, row, 8)) ||
      !keep_field(&d->text, &hits->arena, cq_pg_bytes(pg, r, row, 9)) ||
      !keep_field(&d->metadata, &hits->arena, cq_pg_bytes(pg, r, row, 10)))
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
  const searching *s = of->state;
  const size_t dim = (size_t)of->index->dim;
  cq_pg_result *r;
  cq_status status = read_hits(&r, of, hits, lists, error);
  if (status || !r) return status;
  const size_t n = cq_pg_n_rows(s->pg, r);
  found_row *rows = cq_alloc_array(n, sizeof *rows);
  float *vector = cq_alloc_array(dim, sizeof *vector);
  if (!rows || !vector) status = cq_fail_memory(error, "results");
  for (size_t i = 0; !status && i < n; i++) rows[i] = (found_row){cq_pg_number(s->pg, r, i, 0), i};
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
  cq_pg_result_free(s->pg, r);
  return status;
}

/* --- the rest --- */

typedef struct counted {
  query_term *terms;
  size_t n;
} counted;

static uint64_t count_term(const void *context, cq_slice term) {
  const counted *c = context;
  const query_term key = {.hash = cq_database_hash(term)}, *t = bsearch(&key, c->terms, c->n, sizeof key, by_hash);
  return t && t->n_passages > 0 ? (uint64_t)t->n_passages : 0;
}

cq_status cq_database_weigh(double *weights, const cq_index_searching *of, cq_slice query, const cq_slice *texts,
                            size_t n, cq_error *error) {
  const searching *s = of->state;
  const cq_analyzer *analyzer;
  counted c = {0};
  cq_status status = cq_index_need_analyzer(&analyzer, of->index, error);
  if (!status) status = count_terms(&c.terms, &c.n, of, query, error);
  if (!status)
    status = cq_lexical_weigh_by(weights, analyzer, query, texts, n, count_term, &c, (uint64_t)s->n_passages, error);
  cq_free(c.terms);
  return status;
}

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
  const size_t n_rows = status || n == 0 ? 0 : cq_pg_n_rows(s->pg, r);
  list->items = cq_alloc_array(n_rows, sizeof *list->items);
  *vectors = cq_alloc_array(n_rows, dim * sizeof **vectors);
  if (!status && (!list->items || !*vectors)) status = cq_fail_memory(error, "vectors");
  for (size_t i = 0; !status && i < n_rows; i++) {
    list->items[list->n++] = (candidate){.record = cq_pg_number(s->pg, r, i, 0), .first = cq_pg_number(s->pg, r, i, 1)};
    status = cq_database_get_vector(*vectors + i * dim, of->index, cq_pg_bytes(s->pg, r, i, 2), error);
  }
  cq_pg_result_free(s->pg, r);
  cq_builder_free(&numbers);
  return status;
}
