/* Searches an index: queries -> vectors and words -> lists of passages -> documents.
 *
 *   dense     the passages with the highest cosines, or with the highest 2 cos - hubness (CSLS)
 *   words     the passages with the highest lexical scores
 *   hybrid    the nearest `depth` passages and ten times as many by words: the weighted sum of both scores
 *
 * In each list, a document keeps its best passage. If the list then has fewer than k documents, it is made longer,
 * until it has k or nothing is left. */
#include "recipe/index/backend.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/slice.h"
#include "lexical/score.h"
#include "model/encoder.h"
#include "search/top.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

typedef cq_index_searching searching;
typedef cq_index_candidate candidate;
typedef cq_index_candidates candidates;

/* What a term that occurs once in a passage of average length has of its idf is 1 / (1 + k1): with this factor, a passage
 * with all of the query's terms has 1. */
#define ALL_TERMS 2.2
static const double MOST = 0.8; /* of the query's words, weighted by rarity */
enum {
  NEAREST_MATCHES = 3,
  WORDS_DEPTH = 10 /* times the depth: few words are in more passages, so the list is whole */
};

static const char *const rankings[] = {"dense", "words", "hybrid", NULL}; /* in cq_ranking's order */
static const char *const snippets[] = {"none", "words", "vectors", NULL}; /* in cq_snippet's order */

#define O cq_search_options
static const cq_option search_rows[] = {
    CQ_TOP_ROW(O, 1000000),
    {CQ_TEXT(O, "language", language, CHANGES, "CODE", "only documents that were added with this language"),
     .letter = 'l', .otherwise = "all"},
    {CQ_FLAG(O, "exact", exact, CHANGES, "exact nearest neighbors, even if the index has an approximation (ANN)")},
    {CQ_SIZE(O, "effort", effort, CHANGES, 0, 0, 1000000, "N",
             "effort of approximate search: lists probed (nprobe, ivf) or candidates kept during the search (efSearch, "
             "hnsw); higher values are slower and raise recall"),
     .otherwise = "the method's"},
    {CQ_CHOICE(O, "ranking", ranking, CHANGES, CQ_RANK_HYBRID, rankings, "KIND",
               "dense: by cosine; words: by the words in common; hybrid: the weighted sum of the cosine and of the "
               "share of the query that the words cover")},
    {CQ_NUMBER(O, "words-weight", words_weight, CHANGES, 0.2, 0, 1, "SHARE",
               "weight of the score by words in a hybrid ranking; the cosine has the rest")},
    {CQ_SIZE(
        O, "depth", depth, CHANGES, 100, 1, 1000000, "N",
        "nearest passages that a hybrid ranking considers, more if they are of fewer documents than --top; of those "
        "by words, ten times as many")},
    {CQ_TEXT(O, "filter", filter, CHANGES, "CONDITIONS",
             "only documents that match: 'year >= 2020 and lang in [de, fr] and not source = \"wire\"'"),
     .letter = 'f', .otherwise = "none"},
    {CQ_CHOICE(O, "snippet", snippet, CHANGES, CQ_SNIPPET_NONE, snippets, "KIND",
               "the best sentence of each document's passage, by the query's words or by its vector, which is slower")},
    {CQ_FLAG(O, "csls", csls, CHANGES,
             "correct vectors for hubness: rank by 2 cos - the passage's mean cosine with its nearest queries, which "
             "'index hubness' computes")},
    {CQ_CHOICE(
        O, "words-model", words_model, CHANGES, CQ_BM25, cq_lexical_model_names, "MODEL",
        "scores by words: BM25, or query likelihood with Dirichlet smoothing, as Lucene or as Terrier implements "
        "it")},
    {CQ_NUMBER(O, "words-mu", words_mu, CHANGES, 0, 0, 1e12, "X",
               "Dirichlet smoothing of --words-model; lower values suit shorter passages"),
     .flags = CQ_OPTION_BELOW_MAX, .otherwise = "2500; dirichlet-lucene: 2000"},
};
#undef O
const cq_option_group cq_group_search = {
    .name = "search", CQ_ROWS(cq_search_options, search_rows), CQ_FIELDS(CQ_FIELD(cq_search_options, query_vectors))};

/* --- documents of passages --- */

static int by_document(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return (x->record > y->record) - (x->record < y->record);
}

/* Leaves each document's best passage. */
static void keep_best_passages(candidates *list) {
  size_t n = 0;
  qsort(list->items, list->n, sizeof *list->items, by_document);
  for (size_t i = 0; i < list->n; i++)
    if (n == 0 || list->items[n - 1].first != list->items[i].first) list->items[n++] = list->items[i];
  list->n = n;
  qsort(list->items, list->n, sizeof *list->items, cq_index_best_first);
}

/* A list of up to k documents for each query. */
static cq_status find_documents(candidates *lists, searching *s,
                                cq_status (*find)(candidates *, searching *, size_t, cq_error *), cq_error *error) {
  const size_t k = s->options->k;
  size_t n = s->has_passages ? cq_min(4 * k, s->n_allowed) : cq_min(k, s->n_allowed);
  for (n = n ? n : 1;; n = cq_min(4 * n, s->n_allowed)) {
    bool enough = true;
    cq_status status = find(lists, s, n, error);
    for (size_t q = 0; !status && q < s->n_queries; q++) {
      const bool is_all = lists[q].n < n || n >= s->n_allowed;
      keep_best_passages(&lists[q]);
      enough = enough && (is_all || lists[q].n >= k);
    }
    if (status || enough) return status;
  }
}

/* --- both lists --- */

static int by_record(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  return (x->record > y->record) - (x->record < y->record);
}

static void scale_scores(candidates *list, double factor) {
  for (size_t i = 0; i < list->n; i++) list->items[i].score *= factor;
}

/* The score of passages that are not in a list of at most n: the lowest in it, if there may be more than n. */
static double score_of_absent(const candidates *list, size_t n) {
  return list->n < n || list->n == 0 ? 0 : list->items[list->n - 1].score;
}

/* Adds `words` to a list by vectors that has room for it. A passage that shares no word with the query may be in another
 * language, so this says nothing about it: its score by words is the mean of the nearest passages that share some. */
static void fuse_lists(candidates *list, candidates *words, double absent) {
  const size_t n = list->n;
  double matched = 0;
  size_t n_matched = 0;
  qsort(words->items, words->n, sizeof *words->items, by_record);
  for (size_t i = 0; i < n; i++) {
    candidate *c = &list->items[i];
    candidate *same = bsearch(c, words->items, words->n, sizeof *c, by_record);
    if (!same) continue;
    if (n_matched < NEAREST_MATCHES) matched += same->score, n_matched++;
    c->score += same->score, c->words = same->words, c->by_words = true, c->covers = same->covers;
    same->by_vector = true;
  }
  for (size_t i = 0; n_matched > 0 && i < n; i++)
    if (!list->items[i].by_words) list->items[i].score += matched / (double)n_matched;
  for (size_t i = 0; i < words->n; i++) {
    if (words->items[i].by_vector) continue;
    list->items[list->n] = words->items[i];
    list->items[list->n++].score += absent;
  }
}

/* enough: k documents for each query, or all that there are. */
static cq_status find_both(bool *enough, candidates *lists, searching *s, size_t depth, cq_error *error) {
  const cq_search_options *o = s->options;
  const size_t n = depth < s->n_allowed ? depth : s->n_allowed + 1;
  const size_t n_words = cq_min(WORDS_DEPTH * depth, s->n_allowed + 1);
  const struct cq_index_backend *b = s->index->backend;
  candidates *words = cq_alloc_array_zeroed(s->n_queries, sizeof *words);
  cq_status status = words ? b->by_words(words, s, n_words, error) : cq_fail_memory(error, "results");
  if (!status) status = b->by_vectors(lists, s, n, error);
  *enough = true;
  for (size_t q = 0; !status && q < s->n_queries; q++) {
    const bool is_all = lists[q].n < n;
    candidate *both = cq_alloc_array(lists[q].n + words[q].n, sizeof *both);
    if (!both) {
      status = cq_fail_memory(error, "results");
      break;
    }
    memcpy(both, lists[q].items, lists[q].n * sizeof *both);
    cq_free(lists[q].items);
    lists[q].items = both;
    double all_terms = 0; /* the sum of their idf: words that no passage has count most */
    status = b->weigh(&all_terms, s, s->queries[q], &s->queries[q], 1, error);
    if (status) break;
    for (size_t i = 0; i < words[q].n; i++)
      words[q].items[i].covers = ALL_TERMS * words[q].items[i].score >= MOST * all_terms;
    scale_scores(&lists[q], 1 - o->words_weight);
    scale_scores(&words[q], all_terms > 0 ? ALL_TERMS * o->words_weight / all_terms : 0);
    fuse_lists(&lists[q], &words[q], score_of_absent(&lists[q], n));
    keep_best_passages(&lists[q]);
    *enough = *enough && (is_all || lists[q].n >= o->k);
  }
  cq_index_free_candidates(words, s->n_queries);
  return status;
}

static cq_status find_hybrid(candidates *lists, searching *s, cq_error *error) {
  cq_status status = CQ_OK;
  bool enough = false;
  for (size_t depth = cq_hybrid_depth(s->options); !status && !enough; depth *= 4)
    status = find_both(&enough, lists, s, depth, error);
  return status;
}

/* --- hits --- */

static cq_status make_hits(cq_hits **out, const searching *s, const candidates *lists, size_t n_truncated,
                           cq_error *error) {
  const size_t k = cq_min(s->options->k, s->n_allowed ? s->n_allowed : 1);
  cq_hits *hits = cq_alloc_zeroed(sizeof *hits);
  if (!hits) return cq_fail_memory(error, "results");
  *hits = (cq_hits){.n_queries = s->n_queries, .k = k, .n_truncated = n_truncated};
  hits->n = cq_alloc_array_zeroed(s->n_queries, sizeof *hits->n);
  hits->all = cq_alloc_array_zeroed(s->n_queries * k, sizeof *hits->all);
  cq_status status = hits->n && hits->all ? CQ_OK : cq_fail_memory(error, "results");
  if (!status) status = s->index->backend->fill(hits, s, lists, error);
  if (status) cq_hits_free(hits);
  *out = status ? NULL : hits;
  return status;
}

/* What the model's calibration says of the hits. */
static void mark_good(cq_hits *hits, const searching *s) {
  const cq_encoder *e = s->index->query_model ? NULL : atomic_load(&s->index->shared->encoder);
  const double least = s->options->ranking == CQ_RANK_WORDS || !e || e->good_match <= 0 ? -INFINITY : e->good_match;
  for (size_t q = 0; q < hits->n_queries; q++)
    for (size_t i = 0; i < hits->n[q]; i++)
      hits->all[q * hits->k + i].is_good |= hits->all[q * hits->k + i].cosine >= least;
}

/* --- a search --- */

static cq_status encode_queries(float **out, size_t *n_truncated, const searching *s, cq_error *error) {
  const cq_encoder *encoder;
  cq_encode_stats stats = {0};
  cq_status status = cq_index_need_query_model(&encoder, s->index, error);
  if (status) return status;
  *out = cq_alloc_array(s->n_queries, (size_t)s->index->dim * sizeof **out);
  if (!*out) return cq_fail_memory(error, "queries");
  const cq_encode_options how = cq_index_encoding(s->index, encoder, false);
  status = cq_encoder_encode(*out, &stats, encoder, s->queries, s->n_queries, &how, s->ctx, error);
  *n_truncated = (size_t)stats.n_truncated;
  if (!status)
    cq_index_tell_truncated(s->index, stats.n_truncated, stats.n_truncated == 1 ? "query" : "queries", encoder);
  return status;
}

static cq_status find_all(candidates *lists, searching *s, cq_error *error) {
  const struct cq_index_backend *b = s->index->backend;
  const cq_status status = b->begin(s, error);
  if (status || s->n_allowed == 0) return status;
  switch (s->options->ranking) {
  case CQ_RANK_WORDS: return find_documents(lists, s, b->by_words, error);
  case CQ_RANK_HYBRID: return find_hybrid(lists, s, error);
  default: return find_documents(lists, s, b->by_vectors, error);
  }
}

cq_status cq_index_search(cq_hits **out, const cq_index *index, const cq_slice *queries, size_t n_queries,
                          const cq_search_options *options, cq_context *ctx, cq_error *error) {
  cq_search_options o;
  float *vectors = NULL;
  size_t n_truncated = 0;
  cq_hits *hits = NULL;
  *out = NULL;
  cq_status status = cq_options_take(&o, &cq_group_search, options, error);
  if (status) return status;
  searching s = {.index = index, .options = &o, .ctx = ctx, .queries = queries, .n_queries = n_queries};
  candidates *lists = cq_alloc_array_zeroed(n_queries, sizeof *lists);
  if (!lists) status = cq_fail_memory(error, "results");
  if (!status && !o.query_vectors && (o.ranking != CQ_RANK_WORDS || o.snippet == CQ_SNIPPET_VECTORS))
    status = encode_queries(&vectors, &n_truncated, &s, error);
  s.vectors = o.query_vectors ? o.query_vectors : vectors;
  if (!status) status = find_all(lists, &s, error);
  if (!status) status = make_hits(&hits, &s, lists, n_truncated, error);
  if (!status) mark_good(hits, &s);
  if (!status) status = cq_index_find_best(hits, &s, error);
  if (status)
    cq_hits_free(hits);
  else
    *out = hits;
  cq_index_free_candidates(lists, n_queries);
  index->backend->end(&s);
  cq_free(vectors);
  return status;
}

cq_status cq_index_sample(cq_hits **out, float **vectors, const cq_index *index, size_t n, cq_error *error) {
  cq_search_options o = cq_search_default_options();
  o.ranking = CQ_RANK_DENSE; /* there is no query */
  candidates list = {0};
  *out = NULL, *vectors = NULL;
  o.exact = true;
  searching s = {.index = index, .options = &o, .n_queries = 1};
  cq_status status = index->backend->begin(&s, error);
  if (!status) status = index->backend->sample(&list, vectors, &s, n, error);
  o.k = s.n_allowed = list.n ? list.n : 1;
  if (!status) status = make_hits(out, &s, &list, 0, error);
  if (status) {
    cq_free(*vectors);
    *vectors = NULL;
  }
  cq_free(list.items);
  index->backend->end(&s);
  return status;
}

const cq_hit *cq_hits_of(const cq_hits *hits, size_t query, size_t *n) {
  *n = query < hits->n_queries ? hits->n[query] : 0;
  return *n ? hits->all + query * hits->k : NULL;
}

size_t cq_hits_n_truncated(const cq_hits *hits) {
  return hits->n_truncated;
}

void cq_hits_free(cq_hits *hits) {
  if (!hits) return;
  cq_arena_free(&hits->arena);
  cq_free(hits->all);
  cq_free(hits->n);
  cq_free(hits);
}

cq_status cq_index_get(cq_document **out, const cq_index *index, cq_slice id, cq_error *error) {
  *out = NULL;
  return index->backend->get(out, index, id, error);
}
