/* Searching an index: queries -> vectors and words -> lists of passages -> documents.
 *
 *   dense     the passages of the highest cosines, or of the highest 2 cos - hubness (CSLS)
 *   words     those of the highest scores by words
 *   hybrid    both lists, `depth` passages each, fused by their ranks
 *
 * Of each list a document keeps its best passage. A document may have many among the nearest ones: then the list is made
 * longer, until it has k documents or nothing more is there. */
#include "recipe/search/index.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/slice.h"
#include "calque/embedding.h"
#include "lexical/score.h"
#include "search/top.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FUSION = 60 }; /* Cormack, Clarke & Buettcher 2009: of 1 / (60 + rank) */

static const char *const rankings[] = {"dense", "words", "hybrid", NULL}; /* in cq_ranking's order */
static const char *const snippets[] = {"none", "words", "vectors", NULL}; /* in cq_snippet's order */

#define O cq_search_options
static const cq_option search_rows[] = {
    {CQ_SIZE(O, "top", k, CHANGES, 10, 1, 1000000, "N", "documents for each query"), .letter = 'k'},
    {CQ_TEXT(O, "language", language, CHANGES, "CODE", "only documents that were added with this language"),
     .letter = 'l', .otherwise = "all"},
    {CQ_FLAG(O, "exact", exact, CHANGES, "exact nearest neighbours, even where the index has an approximation (ANN)")},
    {CQ_SIZE(O, "effort", effort, CHANGES, 0, 0, 1000000, "N",
             "of approximate search: lists probed (nprobe, ivf) or candidates kept on the way (efSearch, hnsw); more "
             "is slower "
             "and has a higher recall"),
     .otherwise = "the method's"},
    {CQ_CHOICE(O, "ranking", ranking, CHANGES, CQ_RANK_DENSE, rankings, "KIND",
               "dense: by cosine; words: by the words in common; hybrid: both, fused by reciprocal ranks")},
    {CQ_NUMBER(O, "words-weight", words_weight, CHANGES, 0.5, 0, 1, "SHARE",
               "of the list by words in a hybrid ranking; the rest is the dense list's")},
    {CQ_SIZE(O, "depth", depth, CHANGES, 100, 1, 1000000, "N", "passages of each list that a hybrid ranking fuses")},
    {CQ_TEXT(O, "filter", filter, CHANGES, "CONDITIONS",
             "only documents that fulfil them: 'year >= 2020 and lang in [de, fr] and not source = \"wire\"'"),
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
               "Dirichlet smoothing of --words-model: less for shorter passages"),
     .flags = CQ_OPTION_BELOW_MAX, .otherwise = "2500; dirichlet-lucene: 2000"},
};
#undef O
const cq_option_group cq_group_search = {
    .name = "search", CQ_ROWS(cq_search_options, search_rows), CQ_FIELDS(CQ_FIELD(cq_search_options, query_vectors))};

struct cq_hits {
  cq_arena arena; /* has the documents */
  size_t n_queries, k, n_truncated;
  cq_hit *all; /* [n_queries, k] */
  size_t *n;   /* [n_queries] */
};

/* What is searched: a snapshot, and which of its records are allowed. */
typedef struct searching {
  const cq_index *index;
  const cq_search_options *options;
  cq_context *ctx;
  cq_index_snapshot *snapshot;
  cq_index_info info;
  cq_index_approximation *approximation;
  cq_index_word_set *words;
  unsigned char *selected; /* of a filter; NULL: all live ones */
  size_t n_allowed;
  _Atomic int64_t damaged; /* the first record seen that is; n: none */
  const cq_slice *queries;
  const float *vectors; /* [n_queries, dim]; NULL for a ranking by words */
  size_t n_queries;
} searching;

/* A passage that was found. */
typedef struct candidate {
  double score, cosine, words;
  uint32_t record, first;
  bool by_vector, by_words;
} candidate;

/* Those of one query, best first. */
typedef struct candidates {
  candidate *items;
  size_t n;
} candidates;

/* --- what is allowed --- */

static bool is_selected(const searching *s, int64_t record) {
  return s->selected ? s->selected[record / 8] >> (record % 8) & 1 : cq_index_snapshot_is_live(s->snapshot, record);
}

static bool is_vector_allowed(const void *context, size_t row) {
  const searching *s = context;
  const int64_t record = (int64_t)row;
  if (!is_selected(s, record)) return false;
  if (!cq_index_snapshot_is_sound(s->snapshot, record)) {
    _Atomic int64_t *damaged = (_Atomic int64_t *)&s->damaged;
    int64_t first = atomic_load(damaged);
    while (record < first && !atomic_compare_exchange_weak(damaged, &first, record)) {
    }
  }
  return true;
}

static bool are_words_allowed(const void *context, uint64_t document) {
  return is_selected(context, (int64_t)document);
}

/* language = "CODE", the code's marks escaped. */
static cq_status condition_on_language(char **out, const char *language, cq_error *error) {
  cq_builder b = {0};
  cq_builder_text(&b, "language = \"");
  for (const char *c = language; *c; c++) {
    if (*c == '"' || *c == '\\') cq_builder_char(&b, '\\');
    cq_builder_char(&b, *c);
  }
  cq_builder_char(&b, '"');
  *out = b.failed ? NULL : b.data;
  if (*out) return CQ_OK;
  cq_builder_free(&b);
  return cq_fail_memory(error, "filter");
}

/* Leaves what both allow. */
static void intersect(searching *s, const unsigned char *other) {
  s->n_allowed = 0;
  for (size_t i = 0; i < ((size_t)s->info.n + 7) / 8; i++) {
    s->selected[i] &= other[i];
    s->n_allowed += (size_t)__builtin_popcount(s->selected[i]);
  }
}

static cq_status select_more(searching *s, const char *filter, cq_error *error) {
  unsigned char *selected;
  int64_t n_selected;
  const cq_status status = cq_index_snapshot_select(&selected, &n_selected, s->snapshot, filter, error);
  if (status) return status;
  if (s->selected) {
    intersect(s, selected);
    cq_free(selected);
  } else {
    s->selected = selected, s->n_allowed = (size_t)n_selected;
  }
  return CQ_OK;
}

/* Each by itself: a filter that is wrong is told as it was written, and the snapshot keeps both for other searches. */
static cq_status select_records(searching *s, cq_error *error) {
  char *text = NULL;
  cq_status status = CQ_OK;
  s->n_allowed = (size_t)s->info.n_live;
  if (s->options->filter && *s->options->filter) status = select_more(s, s->options->filter, error);
  if (!status && s->options->language) status = condition_on_language(&text, s->options->language, error);
  if (text) status = select_more(s, text, error);
  cq_free(text);
  return status;
}

/* --- lists of passages --- */

static cq_status reserve_candidates(candidates *lists, size_t n_queries, size_t k, cq_error *error) {
  for (size_t q = 0; q < n_queries; q++) {
    cq_free(lists[q].items);
    lists[q] = (candidates){.items = cq_alloc_array(k, sizeof *lists[q].items)};
    if (!lists[q].items) return cq_fail_memory(error, "results");
  }
  return CQ_OK;
}

static void free_candidates(candidates *lists, size_t n_queries) {
  for (size_t q = 0; lists && q < n_queries; q++) cq_free(lists[q].items);
  cq_free(lists);
}

static cq_status find_by_vectors(candidates *lists, searching *s, size_t k, cq_error *error) {
  cq_neighbours found = {0};
  const float *vectors = cq_index_snapshot_vectors(s->snapshot);
  const cq_index_hub *hubs = cq_index_snapshot_hubness(s->snapshot);
  const size_t n = (size_t)s->info.n, dim = (size_t)s->info.dim;
  const bool csls = s->options->csls;
  cq_top_facts facts = {.lengths = cq_index_snapshot_lengths(s->snapshot)};
  if (csls) facts.means = &hubs->mean, facts.stride = sizeof *hubs / sizeof hubs->mean;
  cq_status status = reserve_candidates(lists, s->n_queries, k, error);
  if (!status)
    status = s->approximation
                 ? cq_approximate_top(&found, s->approximation->it, s->vectors, s->n_queries, vectors, n, dim, k,
                                      s->options->effort, &facts, is_vector_allowed, s, s->ctx, error)
                 : cq_top_csls(&found, s->vectors, s->n_queries, vectors, n, dim, k, &facts, is_vector_allowed, s,
                               s->ctx, error);
  if (!status && s->damaged < s->info.n) status = cq_index_snapshot_fail(s->snapshot, s->damaged, error);
  for (size_t q = 0; !status && q < s->n_queries; q++)
    for (size_t i = 0; i < k && found.index[q * k + i] != UINT32_MAX; i++)
      lists[q].items[lists[q].n++] = (candidate){.score = found.cosine[q * k + i],
                                                 .cosine = csls ? 0 : found.cosine[q * k + i],
                                                 .record = found.index[q * k + i],
                                                 .by_vector = true};
  cq_neighbours_free(&found);
  return status;
}

static cq_status find_by_words(candidates *lists, searching *s, size_t k, cq_error *error) {
  cq_lexical_options o = cq_lexical_default_options();
  const cq_lexical_filter filter = {are_words_allowed, s};
  cq_lexical_hit *hits = NULL;
  o.model = s->options->words_model, o.mu = s->options->words_mu, o.k = k;
  assert(s->words); /* hold_snapshot has opened them */
  cq_status status = reserve_candidates(lists, s->n_queries, k, error);
  if (!status)
    status = cq_lexical_set_search_texts(&hits, s->words->set, s->queries, s->n_queries, &o, &filter, s->ctx, error);
  for (size_t q = 0; !status && q < s->n_queries; q++)
    for (size_t i = 0; i < k && hits[q * k + i].id.data; i++)
      lists[q].items[lists[q].n++] = (candidate){.score = hits[q * k + i].score,
                                                 .words = hits[q * k + i].score,
                                                 .record = (uint32_t)hits[q * k + i].document,
                                                 .by_words = true};
  cq_free(hits);
  return status;
}

/* --- documents of passages --- */

static int by_document(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return (x->record > y->record) - (x->record < y->record);
}

static int best_first(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return (x->record > y->record) - (x->record < y->record);
}

/* Leaves each document's best passage. */
static void keep_best_passages(candidates *list, const cq_index_snapshot *snapshot) {
  size_t n = 0;
  for (size_t i = 0; i < list->n; i++)
    list->items[i].first = cq_index_snapshot_passage(snapshot, list->items[i].record).first;
  qsort(list->items, list->n, sizeof *list->items, by_document);
  for (size_t i = 0; i < list->n; i++)
    if (n == 0 || list->items[n - 1].first != list->items[i].first) list->items[n++] = list->items[i];
  list->n = n;
  qsort(list->items, list->n, sizeof *list->items, best_first);
}

/* A list of k documents for each query, or of all there are. */
static cq_status find_documents(candidates *lists, searching *s,
                                cq_status (*find)(candidates *, searching *, size_t, cq_error *), cq_error *error) {
  const size_t k = s->options->k;
  const bool has_passages = s->info.n_documents < s->info.n_live;
  size_t n = has_passages ? cq_min(4 * k, s->n_allowed) : cq_min(k, s->n_allowed);
  for (n = n ? n : 1;; n = cq_min(4 * n, s->n_allowed)) {
    bool enough = true;
    cq_status status = find(lists, s, n, error);
    for (size_t q = 0; !status && q < s->n_queries; q++) {
      const bool is_all = lists[q].n < n || n >= s->n_allowed;
      keep_best_passages(&lists[q], s->snapshot);
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

/* Scores become shares of reciprocal ranks. */
static void rank_candidates(candidates *list, double weight) {
  for (size_t i = 0; i < list->n; i++) list->items[i].score = weight / (double)(FUSION + 1 + i);
}

/* Adds `other` to a list that has room for it. */
static void fuse_lists(candidates *list, const candidates *other) {
  memcpy(list->items + list->n, other->items, other->n * sizeof *other->items);
  const size_t n_all = list->n + other->n;
  list->n = 0;
  qsort(list->items, n_all, sizeof *list->items, by_record);
  for (size_t i = 0; i < n_all; i++) {
    candidate *last = list->n ? &list->items[list->n - 1] : NULL;
    const candidate *next = &list->items[i];
    if (last && last->record == next->record) {
      last->score += next->score, last->cosine += next->cosine, last->words += next->words;
      last->by_vector |= next->by_vector, last->by_words |= next->by_words;
    } else {
      list->items[list->n++] = *next;
    }
  }
}

static cq_status find_hybrid(candidates *lists, searching *s, cq_error *error) {
  const cq_search_options *o = s->options;
  const size_t depth = o->depth > o->k ? o->depth : o->k, n = depth < s->n_allowed ? depth : s->n_allowed + 1;
  candidates *words = cq_alloc_array_zeroed(s->n_queries, sizeof *words);
  cq_status status = words ? find_by_words(words, s, n, error) : cq_fail_memory(error, "results");
  if (!status) status = find_by_vectors(lists, s, n, error);
  for (size_t q = 0; !status && q < s->n_queries; q++) {
    candidate *both = cq_alloc_array(lists[q].n + words[q].n, sizeof *both);
    if (!both) {
      status = cq_fail_memory(error, "results");
      break;
    }
    memcpy(both, lists[q].items, lists[q].n * sizeof *both);
    cq_free(lists[q].items);
    lists[q].items = both;
    rank_candidates(&lists[q], 1 - o->words_weight);
    rank_candidates(&words[q], o->words_weight);
    fuse_lists(&lists[q], &words[q]);
    keep_best_passages(&lists[q], s->snapshot);
  }
  free_candidates(words, s->n_queries);
  return status;
}

/* --- hits --- */

/* The number of a passage in its document is its distance from the first. Cosines of what was found by words alone, or
 * by CSLS, are computed now. */
static cq_status make_hit(cq_hit *hit, cq_hits *hits, const searching *s, const candidate *c, size_t query,
                          cq_error *error) {
  const cq_index_passage passage = cq_index_snapshot_passage(s->snapshot, c->record);
  const size_t dim = (size_t)s->info.dim;
  if (!cq_index_snapshot_is_sound(s->snapshot, c->record)) return cq_index_snapshot_fail(s->snapshot, c->record, error);
  *hit = (cq_hit){.cosine = c->cosine,
                  .score = c->score,
                  .words = c->words,
                  .by_vector = c->by_vector,
                  .by_words = c->by_words,
                  .passage = c->record - passage.first,
                  .begin = passage.begin,
                  .end = passage.end};
  if ((!c->by_vector || s->options->csls) && s->vectors)
    hit->cosine = cq_cosine(s->vectors + query * dim, cq_index_snapshot_vectors(s->snapshot) + c->record * dim, dim);
  const cq_status status = cq_index_snapshot_document(&hit->document, &hits->arena, s->snapshot, passage.first, error);
  if (status) return status;
  if (passage.begin > passage.end || passage.end > hit->document.text.n)
    return cq_fail_file(error, CQ_ERR_FORMAT, s->index->directory, "record %u does not fit the document '%.*s'",
                        c->record, (int)hit->document.id.n, hit->document.id.data);
  hit->document.text = (cq_slice){hit->document.text.data + passage.begin, passage.end - passage.begin};
  return CQ_OK;
}

static cq_status make_hits(cq_hits **out, const searching *s, const candidates *lists, size_t n_truncated,
                           cq_error *error) {
  const size_t k = cq_min(s->options->k, s->n_allowed ? s->n_allowed : 1);
  cq_hits *hits = cq_alloc_zeroed(sizeof *hits);
  if (!hits) return cq_fail_memory(error, "results");
  *hits = (cq_hits){.n_queries = s->n_queries, .k = k, .n_truncated = n_truncated};
  hits->n = cq_alloc_array_zeroed(s->n_queries, sizeof *hits->n);
  hits->all = cq_alloc_array_zeroed(s->n_queries * k, sizeof *hits->all);
  cq_status status = hits->n && hits->all ? CQ_OK : cq_fail_memory(error, "results");
  for (size_t q = 0; !status && q < s->n_queries; q++)
    for (size_t i = 0; !status && i < lists[q].n && i < k; i++, hits->n[q]++)
      status = make_hit(&hits->all[q * k + i], hits, s, &lists[q].items[i], q, error);
  if (status)
    cq_hits_free(hits);
  else
    *out = hits;
  return status;
}

/* --- a search --- */

/* Whether there is a newer snapshot by now: of this handle's writer, of another process, or found by another thread. */
static bool is_outdated(const searching *s) {
  bool changed;
  (void)!cq_index_store_refresh(s->index->store, &changed, NULL);
  cq_index_snapshot *newest = cq_index_store_hold(s->index->store);
  cq_index_snapshot_release(newest);
  return newest != s->snapshot;
}

/* The newest snapshot with its index by words; that of an older one may be gone already. */
static cq_status hold_snapshot(searching *s, cq_error *error) {
  const bool needs_words = s->options->ranking != CQ_RANK_DENSE || s->options->snippet == CQ_SNIPPET_WORDS;
  const bool exact = s->options->exact || s->options->ranking == CQ_RANK_WORDS;
  for (;;) {
    cq_error e = {0};
    cq_status status = cq_index_hold_newest(&s->snapshot, &s->approximation, s->index, exact, error);
    if (!status && needs_words) {
      status = cq_index_hold_words(&s->words, s->index, s->snapshot, &e);
      if (status == CQ_ERR_IO && is_outdated(s)) {
        cq_index_release_approximation(s->index, s->approximation);
        cq_index_snapshot_release(s->snapshot);
        continue;
      }
      if (status && error) *error = e;
    }
    return status;
  }
}

/* An index that an older calque made has none before its next commit: nothing would be found, and nobody told. */
static cq_status check_words(const searching *s, cq_error *error) {
  int64_t n = 0;
  for (size_t i = 0; i < s->info.n_words; i++) n += s->info.words[i].n;
  if (n == s->info.n) return CQ_OK;
  return cq_fail_file(error, CQ_ERR_UNSUPPORTED, s->index->directory,
                      "it is not indexed by words: an older calque made it; 'calque index compact' indexes it");
}

static cq_status check_hubness(const searching *s, cq_error *error) {
  if (!s->options->csls || s->options->ranking == CQ_RANK_WORDS || s->info.n_queries) return CQ_OK;
  return cq_fail_file(error, CQ_ERR_UNSUPPORTED, s->index->directory,
                      "it has no hubness to correct for (CSLS): 'calque index hubness' computes it");
}

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

static cq_status search_snapshot(candidates *lists, searching *s, cq_error *error) {
  cq_status status = hold_snapshot(s, error);
  if (status) return status;
  s->info = cq_index_snapshot_info(s->snapshot);
  atomic_init(&s->damaged, s->info.n);
  status = s->options->ranking != CQ_RANK_DENSE ? check_words(s, error) : CQ_OK;
  if (!status) status = check_hubness(s, error);
  if (!status) status = select_records(s, error);
  if (status || s->n_allowed == 0) return status;
  switch (s->options->ranking) {
  case CQ_RANK_WORDS: return find_documents(lists, s, find_by_words, error);
  case CQ_RANK_HYBRID: return find_hybrid(lists, s, error);
  default: return find_documents(lists, s, find_by_vectors, error);
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
  if (!status) status = search_snapshot(lists, &s, error);
  if (!status) status = make_hits(&hits, &s, lists, n_truncated, error);
  if (!status)
    status = cq_index_find_best(hits->all, hits->n, hits->k, n_queries, index, s.words ? s.words->set : NULL, queries,
                                s.vectors, o.snippet, ctx, error);
  if (status)
    cq_hits_free(hits);
  else
    *out = hits;
  free_candidates(lists, n_queries);
  cq_free(s.selected);
  cq_index_release_words(index, s.words);
  cq_index_release_approximation(index, s.approximation);
  cq_index_snapshot_release(s.snapshot);
  cq_free(vectors);
  return status;
}

/* Every record that is the first of its share of the live ones. */
static cq_status sample_records(candidates *list, const searching *s, size_t n, cq_error *error) {
  const size_t n_live = (size_t)s->info.n_live;
  size_t seen = 0;
  if (n > n_live) n = n_live;
  list->items = cq_alloc_array(n, sizeof *list->items);
  if (!list->items) return cq_fail_memory(error, "results");
  for (int64_t record = 0; list->n < n && record < s->info.n; record++) {
    if (!cq_index_snapshot_is_live(s->snapshot, record)) continue;
    if (seen++ * n / n_live == list->n) list->items[list->n++] = (candidate){.record = (uint32_t)record};
  }
  return CQ_OK;
}

cq_status cq_index_sample(cq_hits **out, float **vectors, const cq_index *index, size_t n, cq_error *error) {
  cq_search_options o = cq_search_default_options();
  const size_t dim = (size_t)index->dim;
  candidates list = {0};
  *out = NULL, *vectors = NULL;
  searching s = {.index = index, .options = &o, .n_queries = 1, .snapshot = cq_index_store_hold(index->store)};
  s.info = cq_index_snapshot_info(s.snapshot);
  cq_status status = sample_records(&list, &s, n, error);
  o.k = s.n_allowed = list.n ? list.n : 1;
  if (!status && !(*vectors = cq_alloc_array(list.n, dim * sizeof **vectors)))
    status = cq_fail_memory(error, "vectors");
  for (size_t i = 0; !status && i < list.n; i++)
    memcpy(*vectors + i * dim, cq_index_snapshot_vectors(s.snapshot) + list.items[i].record * dim, dim * sizeof(float));
  if (!status) status = make_hits(out, &s, &list, 0, error);
  if (status) {
    cq_free(*vectors);
    *vectors = NULL;
  }
  cq_free(list.items);
  cq_index_snapshot_release(s.snapshot);
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
  cq_arena arena = {0};
  cq_document d;
  int64_t first;
  *out = NULL;
  cq_index_snapshot *snapshot = cq_index_store_hold(index->store);
  cq_status status = cq_index_snapshot_find(&first, snapshot, id, error);
  if (!status && first >= 0) status = cq_index_snapshot_document(&d, &arena, snapshot, first, error);
  if (!status && first >= 0) status = cq_document_copy(out, &d, error);
  cq_arena_free(&arena);
  cq_index_snapshot_release(snapshot);
  return status;
}
