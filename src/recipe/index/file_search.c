/* Searches of an index of files: a snapshot, held from begin() to end(). */
#include "recipe/index/file_backend.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/slice.h"
#include "calque/embedding.h"
#include "lexical/score.h"
#include "search/top.h"

#include <assert.h>
#include <string.h>

typedef cq_index_candidate candidate;
typedef cq_index_candidates candidates;

/* The data that is searched: a snapshot, and its allowed records. */
typedef struct searching {
  cq_index_searching *of;
  const cq_index *index;
  const cq_search_options *options;
  cq_index_snapshot *snapshot;
  cq_index_info info;
  cq_index_approximation *approximation;
  cq_index_word_set *words;
  unsigned char *selected; /* of a filter; NULL: all live ones */
  size_t n_allowed;
  _Atomic int64_t damaged; /* the first record seen that is; n: none */
} searching;

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
static void put_language_condition(cq_builder *out, const char *language) {
  cq_builder_text(out, "language = \"");
  for (const char *c = language; *c; c++) {
    if (*c == '"' || *c == '\\') cq_builder_char(out, '\\');
    cq_builder_char(out, *c);
  }
  cq_builder_char(out, '"');
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

/* Two separate selections: an error shows the filter as the user wrote it, and the snapshot caches both results for
 * other searches. */
static cq_status select_records(searching *s, cq_error *error) {
  cq_builder condition = {0};
  cq_status status = CQ_OK;
  s->n_allowed = (size_t)s->info.n_live;
  if (s->options->filter && *s->options->filter) status = select_more(s, s->options->filter, error);
  if (s->options->language) put_language_condition(&condition, s->options->language);
  if (!status && condition.failed) status = cq_fail_memory(error, "filter");
  if (!status && condition.n) status = select_more(s, condition.data, error);
  cq_builder_free(&condition);
  return status;
}

/* --- lists of passages --- */

static void add_candidate(candidates *list, const searching *s, candidate c) {
  c.first = cq_index_snapshot_passage(s->snapshot, c.record).first;
  list->items[list->n++] = c;
}

cq_status cq_index_files_by_vectors(candidates *lists, cq_index_searching *of, size_t k, cq_error *error) {
  searching *s = of->state;
  cq_neighbors found = {0};
  const float *vectors = cq_index_snapshot_vectors(s->snapshot);
  const cq_index_hub *hubs = cq_index_snapshot_hubness(s->snapshot);
  const size_t n = (size_t)s->info.n, dim = (size_t)s->info.dim;
  const bool csls = s->options->csls;
  cq_top_facts facts = {.lengths = cq_index_snapshot_lengths(s->snapshot)};
  if (csls) facts.means = &hubs->mean, facts.stride = sizeof *hubs / sizeof hubs->mean;
  cq_status status = cq_index_reserve_candidates(lists, s->of->n_queries, k, error);
  if (!status)
    status = s->approximation
                 ? cq_approximate_top(&found, s->approximation->it, s->of->vectors, s->of->n_queries, vectors, n, dim,
                                      k, s->options->effort, &facts, is_vector_allowed, s, s->of->ctx, error)
                 : cq_top_csls(&found, s->of->vectors, s->of->n_queries, vectors, n, dim, k, &facts, is_vector_allowed,
                               s, s->of->ctx, error);
  if (!status && s->damaged < s->info.n) status = cq_index_snapshot_fail(s->snapshot, s->damaged, error);
  for (size_t q = 0; !status && q < s->of->n_queries; q++)
    for (size_t i = 0; i < k && found.index[q * k + i] != UINT32_MAX; i++)
      add_candidate(&lists[q], s,
                    (candidate){.score = found.cosine[q * k + i],
                                .cosine = csls ? 0 : found.cosine[q * k + i],
                                .record = found.index[q * k + i],
                                .by_vector = true});
  cq_neighbors_free(&found);
  return status;
}

cq_status cq_index_files_by_words(candidates *lists, cq_index_searching *of, size_t k, cq_error *error) {
  searching *s = of->state;
  cq_lexical_options o = cq_lexical_default_options();
  const cq_lexical_filter filter = {are_words_allowed, s};
  cq_lexical_hit *hits = NULL;
  o.model = s->options->words_model, o.mu = s->options->words_mu, o.k = k;
  assert(s->words); /* hold_snapshot has opened them */
  cq_status status = cq_index_reserve_candidates(lists, s->of->n_queries, k, error);
  if (!status)
    status = cq_lexical_set_search_texts(&hits, s->words->set, s->of->queries, s->of->n_queries, &o, &filter,
                                         s->of->ctx, error);
  for (size_t q = 0; !status && q < s->of->n_queries; q++)
    for (size_t i = 0; i < k && hits[q * k + i].id.data; i++)
      add_candidate(&lists[q], s,
                    (candidate){.score = hits[q * k + i].score,
                                .words = hits[q * k + i].score,
                                .record = (int64_t)hits[q * k + i].document,
                                .by_words = true});
  cq_free(hits);
  return status;
}

/* --- beginning --- */

/* Whether there is a newer snapshot, by this handle's writer, by another process, or opened by another thread. */
static bool is_outdated(const searching *s) {
  bool changed;
  (void)!cq_index_store_refresh(s->index->store, &changed, NULL);
  cq_index_snapshot *newest = cq_index_store_hold(s->index->store);
  cq_index_snapshot_release(newest);
  return newest != s->snapshot;
}

/* The newest snapshot with its lexical index; the files of an older one may have been removed. */
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

static cq_status check_hubness(const searching *s, cq_error *error) {
  if (!s->options->csls || s->options->ranking == CQ_RANK_WORDS || s->info.n_queries) return CQ_OK;
  return cq_fail_file(error, CQ_ERR_UNSUPPORTED, s->index->directory,
                      "it has no hubness to correct for (CSLS): 'calque index hubness' computes it");
}

cq_status cq_index_files_begin(cq_index_searching *of, cq_error *error) {
  searching *s = of->state = cq_alloc_zeroed(sizeof *s);
  if (!s) return cq_fail_memory(error, "results");
  s->of = of, s->index = of->index, s->options = of->options;
  cq_status status = hold_snapshot(s, error);
  if (status) return status;
  s->info = cq_index_snapshot_info(s->snapshot);
  atomic_init(&s->damaged, s->info.n);
  status = check_hubness(s, error);
  if (!status) status = select_records(s, error);
  of->n_allowed = s->n_allowed, of->has_passages = s->info.n_documents < s->info.n_live;
  return status;
}

void cq_index_files_end(cq_index_searching *of) {
  searching *s = of->state;
  if (!s) return;
  cq_free(s->selected);
  cq_index_release_words(s->index, s->words);
  cq_index_release_approximation(s->index, s->approximation);
  cq_index_snapshot_release(s->snapshot);
  cq_free(s);
  of->state = NULL;
}

/* --- hits --- */

/* A passage's number within its document is its distance from the document's first record. Computes the cosines of
 * passages that were found only by words or by CSLS. */
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
                  .is_good = c->covers,
                  .passage = (size_t)(c->record - passage.first),
                  .begin = passage.begin,
                  .end = passage.end};
  if ((!c->by_vector || s->options->csls) && s->of->vectors)
    hit->cosine =
        cq_cosine(s->of->vectors + query * dim, cq_index_snapshot_vectors(s->snapshot) + (size_t)c->record * dim, dim);
  const cq_status status = cq_index_snapshot_document(&hit->document, &hits->arena, s->snapshot, passage.first, error);
  if (status) return status;
  if (passage.begin > passage.end || passage.end > hit->document.text.n)
    return cq_fail_file(error, CQ_ERR_FORMAT, s->index->directory, "record %lld does not fit the document '%.*s'",
                        (long long)c->record, (int)hit->document.id.n, hit->document.id.data);
  hit->document.text = (cq_slice){hit->document.text.data + passage.begin, passage.end - passage.begin};
  return CQ_OK;
}

cq_status cq_index_files_fill(cq_hits *hits, const cq_index_searching *of, const candidates *lists, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t q = 0; !status && q < hits->n_queries; q++)
    for (size_t i = 0; !status && i < lists[q].n && i < hits->k; i++, hits->n[q]++)
      status = make_hit(&hits->all[q * hits->k + i], hits, of->state, &lists[q].items[i], q, error);
  return status;
}

cq_status cq_index_files_weigh(double *weights, const cq_index_searching *of, cq_slice query, const cq_slice *texts,
                               size_t n, cq_error *error) {
  const searching *s = of->state;
  return cq_lexical_weigh(weights, s->words->set, query, texts, n, error);
}

/* Samples evenly: each record that is the first of its share of the live records. */
static cq_status sample_records(candidates *list, const searching *s, size_t n, cq_error *error) {
  const size_t n_live = (size_t)s->info.n_live;
  size_t seen = 0;
  if (n > n_live) n = n_live;
  list->items = cq_alloc_array(n, sizeof *list->items);
  if (!list->items) return cq_fail_memory(error, "results");
  for (int64_t record = 0; list->n < n && record < s->info.n; record++) {
    if (!cq_index_snapshot_is_live(s->snapshot, record)) continue;
    if (seen++ * n / n_live == list->n) list->items[list->n++] = (candidate){.record = record};
  }
  return CQ_OK;
}

cq_status cq_index_files_sample(candidates *list, float **vectors, cq_index_searching *of, size_t n, cq_error *error) {
  const searching *s = of->state;
  const size_t dim = (size_t)s->info.dim;
  cq_status status = sample_records(list, s, n, error);
  if (!status && !(*vectors = cq_alloc_array(list->n, dim * sizeof **vectors)))
    status = cq_fail_memory(error, "vectors");
  for (size_t i = 0; !status && i < list->n; i++)
    memcpy(*vectors + i * dim, cq_index_snapshot_vectors(s->snapshot) + (size_t)list->items[i].record * dim,
           dim * sizeof(float));
  return status;
}
