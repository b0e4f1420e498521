/* Transliteration-based matching: finds documents in another language, with feedback; shows translated queries. */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "lab/clir/cognate_model.h"
#include "text/analyzer.h"

#include <stdlib.h>
#include <string.h>

/* Room for one query. */
typedef struct room {
  double *query;                             /* over words */
  double *scratch;                           /* over words, zero between uses */
  double *weights;                           /* over source documents, then over target documents */
  double *scores, *first, *second, *similar; /* over target documents or source documents */
  cq_lexical_hit *all;                       /* target documents */
} room;

static bool open_room(room *r, const cq_clir_cognates *c) {
  const size_t n_words = c->clir->words.n > c->from->plain_words.n ? c->clir->words.n : c->from->plain_words.n;
  const size_t n = c->from->n_documents > c->to->n_documents ? c->from->n_documents : c->to->n_documents;
  r->query = cq_alloc_array_zeroed(n_words, 2 * sizeof *r->query);
  r->weights = cq_alloc_array_zeroed(n, 5 * sizeof *r->weights);
  r->all = cq_alloc_array(c->to->n_documents, sizeof *r->all);
  if (!r->query || !r->weights || !r->all) return false;
  r->scratch = r->query + n_words;
  r->scores = r->weights + n, r->first = r->scores + n, r->second = r->first + n, r->similar = r->second + n;
  return true;
}

static void close_room(room *r) {
  cq_free(r->query);
  cq_free(r->weights);
  cq_free(r->all);
}

/* query = the counts of a run's words, normalized to sum to 1 if to_one is set. */
static void set_query(double *query, size_t n_words, const cq_word_run *run, bool to_one) {
  for (size_t w = 0; w < n_words; w++) query[w] = 0;
  for (size_t i = 0; i < run->n; i++) query[run->words[i]] += to_one ? 1 / (double)run->n : 1;
}

/* r->first = the translated query, without source feedback and similar documents; r->weights: the weights of these. */
static cq_status score_first(room *r, const cq_clir_cognates *c, size_t topic, cq_error *error) {
  const cq_cognate_options *o = &c->o;
  const size_t n = c->to->n_documents, n_plain = c->from->plain_words.n;
  set_query(r->query, n_plain, &c->from->plain_queries[topic], true);
  cq_bags_likelihood(r->first, &c->projected, r->query, o->mu);
  set_query(r->query, c->clir->words.n, &c->from->queries[topic], false);
  cq_bags_likelihood(r->scores, &c->from_stems, r->query, o->mu_feedback);
  cq_status status =
      cq_top_weights(r->weights, r->scores, c->from->n_documents, (size_t)o->n_source, CQ_BY_LIKELIHOOD, error);
  if (!status)
    status =
        cq_bags_feedback(r->query, &c->from_plain, r->weights, (size_t)o->n_source_words, c->projected.masses, error);
  if (status) return status;
  cq_bags_likelihood(r->second, &c->projected, r->query, o->mu);
  for (size_t d = 0; d < n; d++) {
    r->first[d] = o->query_share * r->first[d] + (1 - o->query_share) * r->second[d];
    r->similar[d] = 0;
  }
  for (uint32_t s = 0; s < c->from->n_documents; s++)
    if (r->weights[s] > 0)
      cq_bags_add_similar(r->similar, &c->from_plain, s, &c->projected, c->idf, r->weights[s], r->scratch);
  cq_standardize(r->first, n);
  cq_standardize(r->similar, n);
  for (size_t d = 0; d < n; d++) r->first[d] += o->similar_share * r->similar[d];
  return CQ_OK;
}

/* Adds to r->first feedback from its own best documents. */
static cq_status add_target_feedback(room *r, const cq_clir_cognates *c, cq_error *error) {
  const cq_cognate_options *o = &c->o;
  const size_t n = c->to->n_documents;
  cq_status status = cq_top_weights(r->weights, r->first, n, (size_t)o->n_target, CQ_BY_RANK, error);
  if (!status) status = cq_bags_feedback(r->query, &c->to_stems, r->weights, (size_t)o->n_target_words, NULL, error);
  if (status) return status;
  cq_bags_likelihood(r->second, &c->to_stems, r->query, o->mu_feedback);
  cq_standardize(r->first, n);
  cq_standardize(r->second, n);
  for (size_t d = 0; d < n; d++) r->first[d] = o->first_share * r->first[d] + (1 - o->first_share) * r->second[d];
  return CQ_OK;
}

static int best_document_first(const void *a, const void *b) {
  const cq_lexical_hit *p = a, *q = b;
  if (p->score != q->score) return p->score > q->score ? -1 : 1;
  return (p->document > q->document) - (p->document < q->document);
}

/* A query whose words are in neither collection finds nothing. */
static bool is_known(const cq_clir_cognates *c, size_t topic) {
  bool known = false;
  for (size_t i = 0; i < c->from->plain_queries[topic].n; i++) {
    const uint32_t word = c->from->plain_queries[topic].words[i];
    known |= c->from_plain.masses[word] > 0 || c->projected.masses[word] > 0;
  }
  for (size_t i = 0; i < c->from->queries[topic].n; i++)
    known |= c->from_stems.masses[c->from->queries[topic].words[i]] > 0;
  return known;
}

typedef struct searching {
  const cq_clir_cognates *c;
  const bool *asked;
  size_t k;
  cq_lexical_hit *hits;
  room *rooms; /* [threads] */
} searching;

static cq_status search_topic(void *context, size_t t, int worker, cq_error *error) {
  searching *s = context;
  const cq_clir_cognates *c = s->c;
  const size_t n = c->to->n_documents;
  room *r = &s->rooms[worker];
  if ((s->asked && !s->asked[t]) || !is_known(c, t)) return CQ_OK;
  cq_status status = score_first(r, c, t, error);
  if (!status) status = add_target_feedback(r, c, error);
  for (size_t d = 0; !status && d < n; d++)
    r->all[d] = (cq_lexical_hit){cq_lexical_id(c->to->index, d), r->first[d], d};
  if (!status && n) qsort(r->all, n, sizeof *r->all, best_document_first);
  if (!status) memcpy(s->hits + t * s->k, r->all, cq_min(n, s->k) * sizeof *r->all);
  return status;
}

cq_status cq_clir_search_cognates(cq_lexical_hit **out, const cq_clir_cognates *c, const bool *asked, size_t k,
                                  cq_context *ctx, cq_error *error) {
  const size_t n_workers = ctx ? (size_t)cq_context_n_threads(ctx) : 1;
  searching s = {.c = c, .asked = asked, .k = k};
  s.hits = cq_clir_hits(c->clir, k);
  s.rooms = cq_alloc_array_zeroed(n_workers, sizeof *s.rooms);
  bool ok = s.hits && s.rooms;
  for (size_t i = 0; ok && i < n_workers; i++) ok = open_room(&s.rooms[i], c);
  cq_status status = ok ? CQ_OK : cq_fail_memory(error, "a search");
  if (!status) status = cq_context_try(ctx, c->clir->n_topics, search_topic, &s, error);
  for (size_t i = 0; s.rooms && i < n_workers; i++) close_room(&s.rooms[i]);
  cq_free(s.rooms);
  if (status) cq_free(s.hits), s.hits = NULL;
  *out = s.hits;
  return status;
}

/* --- showing --- */

static int best_entry_first(const void *a, const void *b) {
  const cq_clir_word *p = a, *q = b;
  if (p->score != q->score) return p->score > q->score ? -1 : 1;
  return cq_slice_compare(p->to, q->to);
}

/* Appends one word's entries to the n present ones. */
static bool add_entries(cq_clir_word **out, size_t *n, size_t *capacity, const cq_clir_cognates *c, uint32_t word) {
  const size_t before = *n;
  for (size_t i = c->table.starts[word]; i < c->table.starts[word + 1]; i++) {
    const cq_weighted_word *item = &c->table.items[i];
    if (!cq_reserve((void **)out, capacity, *n + 1, sizeof **out)) return false;
    (*out)[(*n)++] = (cq_clir_word){c->from->plain_words.items[word], c->to->plain_words.items[item->word],
                                    (double)item->weight, (double)item->weight};
  }
  if (*n > before) qsort(*out + before, *n - before, sizeof **out, best_entry_first);
  return true;
}

cq_status cq_clir_cognates_expand(cq_clir_word **out, size_t *n, const cq_clir_cognates *c, cq_slice query,
                                  cq_error *error) {
  const cq_analysis_options o = {sizeof o, c->from->code, NULL, true}; /* stop words are in no table */
  cq_analyzer *analyzer = NULL;
  cq_analysis *analysis = NULL;
  const uint32_t *terms;
  size_t n_terms = 0, capacity = 0;
  *out = NULL, *n = 0;
  cq_status status = cq_analyzer_open(&analyzer, &o, error);
  if (!status) status = cq_analysis_open(&analysis, analyzer, error);
  if (!status) cq_analysis_join(analysis, CQ_CLIR_MAX_JOINED);
  if (!status) status = cq_analysis_run(&terms, &n_terms, analysis, query, error);
  if (!status && !cq_reserve((void **)out, &capacity, 1, sizeof **out)) status = cq_fail_memory(error, "words");
  for (size_t i = 0; !status && i < n_terms; i++) {
    const uint32_t word = cq_intern_find(&c->from->plain_words, cq_analysis_terms(analysis)->items[terms[i]]);
    if (word != CQ_INTERN_NONE && !add_entries(out, n, &capacity, c, word)) status = cq_fail_memory(error, "words");
  }
  cq_analysis_free(analysis);
  cq_analyzer_free(analyzer);
  if (status) cq_free(*out), *out = NULL, *n = 0;
  return status;
}
