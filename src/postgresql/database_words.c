/* Finds passages by their words: those with any of the query's rarest terms, up to ten times the list's length; while
 * there are too few, those with more frequent terms ──▶ their terms ──▶ scores by all of the query's terms
 * (lexical/score.h). With `exact`, all passages with any of the query's terms are scored. */
#include "postgresql/database_search.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/analyzer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MIN_CANDIDATES = 2000, /* for a purely lexical ranking: maximum passages of terms that are read together */
  MAX_OF_ONE = 50000,    /* passages read for a single term */
  OF_A_ROW = 1000,       /* passages in a row of an answer, whose limit is 1 GB */
  LENGTHS = 1024,        /* lengths in the table of scores; scores of longer passages are computed */
};

typedef cq_database_search searching;
typedef cq_database_query_term query_term;
typedef cq_index_candidate candidate;
typedef cq_index_candidates candidates;

/* --- terms --- */

static int by_rarity(const void *a, const void *b) {
  const query_term *x = a, *y = b;
  if (x->n_passages != y->n_passages) return x->n_passages < y->n_passages ? -1 : 1;
  return (x->hash > y->hash) - (x->hash < y->hash);
}

static int by_hash(const void *a, const void *b) {
  const query_term *x = a, *y = b;
  return (x->hash > y->hash) - (x->hash < y->hash);
}

static int by_hash_and_word(const void *a, const void *b) {
  const query_term *x = a, *y = b;
  return x->hash == y->hash ? (x->word > y->word) - (x->word < y->word) : by_hash(a, b);
}

cq_status cq_database_split_query(cq_database_query *out, const cq_index_searching *of, cq_slice query,
                                  cq_error *error) {
  const cq_analyzer *analyzer;
  cq_analysis *analysis = NULL;
  const cq_query_form *forms;
  size_t n_all = 0, n = 0;
  *out = (cq_database_query){0};
  cq_status status = cq_index_need_analyzer(&analyzer, of->index, error);
  if (!status) status = cq_analysis_open(&analysis, analyzer, error);
  if (!status) status = cq_analysis_run_query(&forms, &n_all, analysis, query, error);
  if (!status && !(out->items = cq_alloc_array_zeroed(n_all + 1, sizeof *out->items)))
    status = cq_fail_memory(error, "a query");
  for (; !status && n < n_all; n++)
    out->items[n] = (query_term){.hash = cq_database_hash(cq_analysis_terms(analysis)->items[forms[n].id]),
                                 .weight = forms[n].share,
                                 .word = forms[n].word};
  if (n) qsort(out->items, n, sizeof *out->items, by_hash_and_word);
  for (size_t i = 0; i < n; i++) {
    if (out->n == 0 || out->items[out->n - 1].hash != out->items[i].hash)
      out->items[out->n++] = out->items[i];
    else if (of->options->words_model != CQ_DIRICHLET)
      out->items[out->n - 1].weight += out->items[i].weight;
  }
  cq_analysis_free(analysis);
  return status;
}

cq_status cq_database_counts_statement(cq_pg_statement *out, cq_pg_value *value, cq_builder *hashes,
                                       const cq_database_query *queries, size_t n, cq_error *error) {
  size_t n_hashes = 0;
  for (size_t q = 0; q < n; q++) n_hashes += queries[q].n;
  cq_pg_put_array(hashes, CQ_PG_INT8, n_hashes);
  for (size_t q = 0; q < n; q++)
    for (size_t t = 0; t < queries[q].n; t++) cq_pg_put_field_64(hashes, (uint64_t)queries[q].items[t].hash);
  *value = cq_pg_value_of(hashes);
  *out = (cq_pg_statement){.sql = "SELECT hash, n_passages, n_occurrences FROM term WHERE hash = ANY($1::bigint[])",
                           .values = value,
                           .n_values = 1,
                           .is_kept = true};
  return hashes->failed ? cq_fail_memory(error, "a query") : CQ_OK;
}

void cq_database_take_counts(cq_database_query *queries, size_t n, const cq_pg_result *result) {
  for (size_t i = 0; i < cq_pg_n_rows(result); i++) {
    const query_term key = {.hash = cq_pg_number(result, i, 0)};
    for (size_t q = 0; q < n; q++) {
      query_term *t = queries[q].n ? bsearch(&key, queries[q].items, queries[q].n, sizeof key, by_hash) : NULL;
      if (!t) continue;
      t->n_passages = cq_pg_number(result, i, 1), t->n_occurrences = cq_pg_number(result, i, 2);
    }
  }
}

/* Each term's scoring, by the counts of its word: the highest of the word's forms. *has_any: some passage has a term. */
static cq_status score_by_words(bool *has_any, const cq_database_query *query, const cq_scoring *scoring,
                                cq_error *error) {
  uint32_t n_words = 0;
  *has_any = false;
  for (size_t t = 0; t < query->n; t++)
    if (query->items[t].word > n_words) n_words = query->items[t].word;
  int64_t(*counts)[2] = cq_alloc_array_zeroed((size_t)n_words + 1, sizeof *counts);
  if (!counts) return cq_fail_memory(error, "a query");
  for (size_t t = 0; t < query->n; t++) {
    int64_t *of_word = counts[query->items[t].word];
    if (query->items[t].n_passages > of_word[0]) of_word[0] = query->items[t].n_passages;
    if (query->items[t].n_occurrences > of_word[1]) of_word[1] = query->items[t].n_occurrences;
  }
  for (size_t t = 0; t < query->n; t++) {
    query_term *term = &query->items[t];
    const int64_t *of_word = counts[term->word];
    if (term->n_passages <= 0) continue;
    cq_term_scoring_set(&term->scoring, scoring, term->weight, (uint64_t)of_word[0], (uint64_t)of_word[1]);
    *has_any = true;
  }
  cq_free(counts);
  return CQ_OK;
}

/* --- passages --- */

/* A passage's n terms of 8 bytes, and the query's terms, are both ascending. */
static double score_terms(const cq_database_query *query, const char *at, size_t n, uint32_t length) {
  double score = 0;
  for (size_t t = 0, i = 0; t < query->n; t++) {
    const query_term *term = &query->items[t];
    const int64_t wanted = term->hash >> 16;
    int64_t element = 0;
    for (; i < n; i++) {
      element = (int64_t)cq_pg_get_64(at + 8 * i);
      if (element >> 16 >= wanted) break;
    }
    if (i < n && element >> 16 == wanted && term->n_passages > 0)
      score += cq_term_score(&term->scoring, (uint32_t)(element & 0xffff), length);
  }
  return score;
}

/* Passages are read in rounds, rarest terms first. A round takes terms as long as they have at most `max` passages in
 * total, and at least one term with passages. terms are in order of rarity. Returns the round's end; *sum: the passages
 * of its terms. */
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

/* Begins the second connection's transaction in the first one's snapshot, and sends a statement. *begun false, with any
 * error: the second connection is unusable. */
static cq_status run_on_second(bool *begun, cq_pg_result **out, searching *s, const cq_pg_statement *statement,
                               cq_error *error) {
  enum { N_BEGIN = 3 };
  char snapshot[96];
  cq_pg_result *results[N_BEGIN];
  snprintf(snapshot, sizeof snapshot, "SET TRANSACTION SNAPSHOT '%s'", s->snapshot);
  const cq_pg_statement statements[N_BEGIN + 1] = {{.sql = CQ_DATABASE_BEGIN, .is_kept = true},
                                                   {.sql = snapshot},
                                                   {.sql = "SELECT " CQ_DATABASE_TIMEOUT, .is_kept = true},
                                                   *statement};
  const size_t n_begin = s->has_begun ? 0 : N_BEGIN;
  cq_status status = cq_pg_send(s->second, statements + N_BEGIN - n_begin, n_begin + 1, error);
  if (!status && n_begin) status = cq_pg_receive(results, n_begin, s->second, error);
  for (size_t i = 0; !status && i < n_begin; i++) cq_pg_result_free(results[i]);
  *begun = s->has_begun = s->has_begun || !status;
  return status ? status : cq_pg_receive(out, 1, s->second, error);
}

/* If the second connection is unusable (lost while idle, or to another server), uses the first one. */
static cq_status run_round(cq_pg_result **out, searching *s, const cq_pg_statement *statement, cq_error *error) {
  if (s->second) {
    cq_error e = {0};
    bool begun;
    const cq_status status = run_on_second(&begun, out, s, statement, &e);
    if (!status) return CQ_OK;
    if (begun) {
      if (error) *error = e;
      return status;
    }
    cq_pg_give(s->second);
    s->second = NULL;
  }
  const cq_status status = cq_database_receive_nearest(s, error);
  return status ? status : cq_pg_run_statement(out, s->pg, statement, error);
}

/* The forward entries of passages with any of terms[first..end) and none of terms[0..first), which earlier rounds have
 * read; many entries per row. limit 0: no limit. */
static cq_status read_round(cq_pg_result **out, searching *s, const query_term *terms, size_t first, size_t end,
                            size_t limit, cq_error *error) {
  cq_builder sql = {0}, wanted = {0}, done = {0};
  cq_pg_value room[CQ_DATABASE_MAX_VALUES];
  put_hashes(&wanted, terms + first, end - first);
  put_hashes(&done, terms, first);
  cq_builder_printf(&sql,
                    "SELECT string_agg(x.forward, '') FROM (SELECT w.passage, w.forward FROM words w%s WHERE w.terms "
                    "&& $%zu::bigint[]",
                    s->condition.n ? " JOIN document d ON d.number = w.document" : "", s->values.n + 1);
  if (first) cq_builder_printf(&sql, " AND NOT w.terms && $%zu::bigint[]", s->values.n + 2);
  if (s->condition.n) cq_builder_printf(&sql, " AND (%s)", s->condition.data);
  /* ordered, so that a search is reproducible; + 0 prevents the planner from scanning the whole table by number */
  if (limit) cq_builder_printf(&sql, " ORDER BY w.passage + 0 LIMIT %zu", limit);
  cq_builder_printf(&sql, ") x GROUP BY x.passage / %d", OF_A_ROW);
  const cq_pg_value values[] = {cq_pg_value_of(&wanted), cq_pg_value_of(&done)};
  const cq_pg_statement statement = cq_database_statement(room, s, &sql, values, first ? 2 : 1);
  const cq_status status = sql.failed || wanted.failed || done.failed ? cq_fail_memory(error, "a query")
                                                                      : run_round(out, s, &statement, error);
  cq_builder_free(&sql);
  cq_builder_free(&wanted);
  cq_builder_free(&done);
  return status;
}

/* The results of all rounds. */
typedef struct scored {
  candidate *items;
  size_t n, capacity;
} scored;

static cq_status score_entries(scored *found, const cq_index_searching *of, cq_slice entries,
                               const cq_database_query *query, cq_error *error) {
  for (size_t at = 0; at < entries.n;) {
    const char *entry = entries.data + at;
    const size_t left = entries.n - at;
    const size_t n = left >= CQ_DATABASE_FORWARD ? cq_pg_get_32(entry + 20) : 0;
    if (left < CQ_DATABASE_FORWARD || (left - CQ_DATABASE_FORWARD) / 8 < n)
      return cq_fail_file(error, CQ_ERR_FORMAT, of->index->directory, "its table words has a damaged entry");
    if (!cq_reserve((void **)&found->items, &found->capacity, found->n + 1, sizeof *found->items))
      return cq_fail_memory(error, "results");
    const double score = score_terms(query, entry + CQ_DATABASE_FORWARD, n, cq_pg_get_32(entry + 16));
    found->items[found->n++] = (candidate){.score = score,
                                           .words = score,
                                           .record = (int64_t)cq_pg_get_64(entry),
                                           .first = (int64_t)cq_pg_get_64(entry + 8),
                                           .by_words = true};
    at += CQ_DATABASE_FORWARD + 8 * n;
  }
  return CQ_OK;
}

static cq_status score_passages(candidates *list, const cq_index_searching *of, const cq_database_query *query,
                                size_t k, cq_error *error) {
  searching *s = of->state;
  const bool exact = of->options->exact;
  const size_t at_least = of->options->ranking == CQ_RANK_WORDS ? MIN_CANDIDATES : 0;
  const bool is_hybrid = of->options->ranking == CQ_RANK_HYBRID; /* k is ten times the depth already */
  const size_t wanted = (is_hybrid ? 1 : 10) * k * (s->condition.n ? (size_t)CQ_DATABASE_FILTERED : 1);
  const size_t max = wanted > at_least ? wanted : at_least, max_of_one = max > MAX_OF_ONE ? max : MAX_OF_ONE;
  /* Passages with only more common words would merely fill the end of a hybrid ranking's list. */
  const size_t documents = of->has_passages ? 4 * of->options->k : of->options->k;
  const size_t enough = is_hybrid && !exact ? cq_min(k, documents) : k;
  scored found = {0};
  cq_status status = CQ_OK;
  query_term *rarest = cq_alloc_array(query->n, sizeof *rarest);
  if (!rarest) return cq_fail_memory(error, "a query");
  memcpy(rarest, query->items, query->n * sizeof *rarest);
  qsort(rarest, query->n, sizeof *rarest, by_rarity);
  for (size_t first = 0, end; !status && first < query->n && found.n < enough; first = end) {
    int64_t sum;
    cq_pg_result *r = NULL;
    end = choose_terms(&sum, rarest, first, query->n, exact ? INT64_MAX / 2 : (int64_t)max);
    if (sum <= 0) continue;
    status = read_round(&r, s, rarest, first, end, !exact && sum > (int64_t)max_of_one ? max_of_one : 0, error);
    for (size_t i = 0; !status && i < cq_pg_n_rows(r); i++)
      status = score_entries(&found, of, cq_pg_bytes(r, i, 0), query, error);
    cq_pg_result_free(r);
  }
  if (!status && found.n) {
    qsort(found.items, found.n, sizeof *found.items, cq_index_best_first);
    list->n = cq_min(found.n, k);
    memcpy(list->items, found.items, list->n * sizeof *found.items);
  }
  cq_free(found.items);
  cq_free(rarest);
  return status;
}

cq_status cq_database_by_words(candidates *lists, cq_index_searching *of, size_t k, cq_error *error) {
  searching *s = of->state;
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
    const cq_database_query *query = &s->terms[q];
    bool has_any;
    status = score_by_words(&has_any, query, &scoring, error);
    if (!status && has_any) status = score_passages(&lists[q], of, query, k, error);
  }
  cq_scoring_free(&scoring);
  cq_pg_give(s->second);
  s->second = NULL, s->has_begun = false;
  return status;
}

/* --- weights of words --- */

static uint64_t count_term(const void *context, cq_slice term) {
  const cq_database_query *query = context;
  const query_term key = {.hash = cq_database_hash(term)},
                   *t = query->n ? bsearch(&key, query->items, query->n, sizeof key, by_hash) : NULL;
  return t && t->n_passages > 0 ? (uint64_t)t->n_passages : 0;
}

cq_status cq_database_weigh(double *weights, const cq_index_searching *of, cq_slice query, const cq_slice *texts,
                            size_t n, cq_error *error) {
  const searching *s = of->state;
  const cq_analyzer *analyzer;
  cq_database_query terms = {0};
  cq_pg_statement ask;
  cq_pg_value value;
  cq_builder hashes = {0};
  cq_pg_result *r = NULL;
  cq_status status = cq_index_need_analyzer(&analyzer, of->index, error);
  if (!status) status = cq_database_split_query(&terms, of, query, error);
  if (!status) status = cq_database_counts_statement(&ask, &value, &hashes, &terms, 1, error);
  if (!status) status = cq_pg_run_statement(&r, s->pg, &ask, error);
  if (!status) cq_database_take_counts(&terms, 1, r);
  if (!status)
    status =
        cq_lexical_weigh_by(weights, analyzer, query, texts, n, count_term, &terms, (uint64_t)s->n_passages, error);
  cq_pg_result_free(r);
  cq_builder_free(&hashes);
  cq_free(terms.items);
  return status;
}
