/* Finds the exact best k documents of a query without reading every posting.
 *
 * Documents are processed in windows of 4,096. In each window
 *
 *   a term's bound     the highest score that any of its blocks there can give (bounds in their entries)
 *   non-essential      the terms with the lowest bounds, whose sum does not exceed the k-th best score so far
 *   essential          the others: their postings are added, term by term, to an array of the window's scores
 *   candidates         documents that could still exceed that score; if they are few, the non-essential terms are
 *                      looked up only for them
 *
 * Scores are exact sums (score.h), so the order in which terms are added does not matter.
 * Source: Turtle & Flood 1995 (MaxScore), bounds by block as in Ding & Suel 2011, and by window as in Lucene 9. */
#include "base/context.h"
#include "base/error.h"
#include "base/heap.h"
#include "base/memory.h"
#include "base/options.h"
#include "lexical/score.h"
#include "lexical/set.h"

#include <math.h>
#include <stdlib.h>

enum {
  WINDOW = 4096,
  GROUP = 64, /* number of documents scanned together when the window's scores are read */
  GROUPS = WINDOW / GROUP,
  FEW = 48, /* candidates; for more, adding up every posting is faster than looking them up */
};

/* --- iterating over a term's postings --- */

typedef struct cursor {
  cq_term_scoring scoring;
  cq_postings postings;
  const uint32_t *lengths;
  uint32_t block, last; /* the current block, its last document */
  uint32_t n, at;       /* the number of its postings, and the next one; n 0: not unpacked */
  double bound;         /* of the current block */
  double window_bound;  /* of its blocks in the window */
  uint32_t n_documents; /* of the segment */
  bool ended, damaged;
  uint32_t documents[CQ_BLOCK], frequencies[CQ_BLOCK];
} cursor;

static uint32_t n_blocks(const cursor *c) {
  return c->postings.n_full + (c->postings.n % CQ_BLOCK != 0);
}

static void unpack_cursor(cursor *c) {
  if (c->n) return;
  c->n = cq_postings_block(c->documents, c->frequencies, &c->postings, c->block);
  c->at = 0;
  if (c->n == 0) c->ended = c->damaged = true;
}

static double bound_of_block(cursor *c, uint32_t block, uint32_t *last) {
  double bound = 0;
  if (block < c->postings.n_full) {
    const cq_block_entry entry = cq_postings_entry(&c->postings, block);
    for (int i = 0; i < CQ_MAX_PAIRS && entry.pairs[i].frequency; i++)
      bound = fmax(bound, cq_term_score(&c->scoring, entry.pairs[i].frequency, entry.pairs[i].length));
    *last = entry.last;
  } else {
    uint32_t documents[CQ_BLOCK], frequencies[CQ_BLOCK];
    const uint32_t n = cq_postings_block(documents, frequencies, &c->postings, block);
    for (uint32_t i = 0; i < n; i++) {
      c->damaged |= documents[i] >= c->n_documents;
      if (c->damaged) break;
      bound = fmax(bound, cq_term_score(&c->scoring, frequencies[i], c->lengths[documents[i]]));
    }
    *last = n ? documents[n - 1] : 0;
  }
  return bound + CQ_SCORE_UNIT; /* a logarithm may be off by the last bit */
}

static void enter_block(cursor *c, uint32_t block) {
  c->block = block;
  c->n = 0;
  c->ended = block >= n_blocks(c);
  if (!c->ended) c->bound = bound_of_block(c, block, &c->last);
}

/* Skips blocks that end before the window, and bounds those in it. */
static void enter_window(cursor *c, uint32_t from, uint32_t to) {
  while (!c->ended && c->last < from) enter_block(c, c->block + 1);
  c->window_bound = 0;
  if (c->ended) return;
  if (c->n > 0 && c->at < c->n && c->documents[c->at] >= to) return;
  c->window_bound = c->bound;
  uint32_t last = c->last;
  for (uint32_t b = c->block + 1; b < n_blocks(c) && last + 1 < to; b++)
    c->window_bound = fmax(c->window_bound, bound_of_block(c, b, &last));
}

/* --- one query --- */

typedef struct searching {
  const cq_lexical_set *set;
  const cq_scoring *scoring;
  const cq_lexical_options *options;
  const cq_lexical_filter *filter;
  cursor *cursors;
  cursor **by_bound;
  size_t n_cursors, capacity, by_bound_capacity;
  cq_lexical_hit *heap; /* the worst of the best k on top */
  size_t n_heap;
  double scores[WINDOW];     /* minus zero: the document has not occurred (no sum is ever minus zero) */
  unsigned char met[GROUPS]; /* groups with documents that have */
  uint32_t *terms;           /* [n_segments, n] the current query's terms in each segment */
  size_t terms_capacity;
} searching;

static bool is_worse(const void *a, const void *b) {
  const cq_lexical_hit *x = a, *y = b;
  return x->score < y->score || (x->score == y->score && x->document > y->document);
}

static void offer_hit(searching *s, double score, uint64_t document) {
  const cq_lexical_hit it = {.score = score, .document = document};
  if (s->n_heap == s->options->k)
    cq_heap_replace(s->heap, s->n_heap, sizeof it, &it, is_worse);
  else
    cq_heap_push(s->heap, s->n_heap++, sizeof it, &it, is_worse);
}

/* The score that a document must exceed; documents come in ascending order, so a tie is not enough. */
static double score_threshold(const searching *s) {
  return s->n_heap < s->options->k ? -INFINITY : s->heap[0].score;
}

static bool is_allowed(const searching *s, uint64_t document) {
  return !s->filter || s->filter->allows(s->filter->context, document);
}

static int by_bound(const void *a, const void *b) {
  const cursor *const *p = a, *const *q = b;
  return ((*p)->window_bound > (*q)->window_bound) - ((*p)->window_bound < (*q)->window_bound);
}

static bool is_touched(double score) {
  return score != 0 || !signbit(score);
}

/* Adds a term's postings in the window to the scores. */
static void add_term(searching *s, cursor *c, uint32_t from, uint32_t to) {
  while (!c->ended) {
    unpack_cursor(c);
    uint32_t first = c->at, end;
    while (first < c->n && c->documents[first] < from) first++;
    /* Bounded on both sides, even in a damaged file. */
    for (end = first; end < c->n && c->documents[end] - from < to - from; end++)
      s->met[(c->documents[end] - from) / GROUP] = 1;
    cq_term_score_add(s->scores, from, &c->scoring, c->documents + first, c->frequencies + first, c->lengths,
                      end - first);
    c->at = end;
    if (end < c->n) return;
    enter_block(c, c->block + 1);
  }
}

/* The same for the few candidates: their positions in the window, ascending. Blocks without a candidate are not
 * unpacked. */
static void add_to_candidates(searching *s, cursor *c, uint32_t from, const uint16_t *places, size_t n) {
  for (size_t i = 0; i < n && !c->ended; i++) {
    const uint32_t document = from + places[i];
    while (!c->ended && c->last < document) enter_block(c, c->block + 1);
    if (c->ended) return;
    unpack_cursor(c);
    while (c->at < c->n && c->documents[c->at] < document) c->at++;
    if (c->at < c->n && c->documents[c->at] == document)
      s->scores[places[i]] += cq_term_score(&c->scoring, c->frequencies[c->at], c->lengths[document]);
  }
}

/* The positions of documents found so far with scores above `min_score`; returns how many, at most max + 1. */
static size_t find_candidates(uint16_t *places, const searching *s, double min_score, size_t max) {
  size_t n = 0;
  for (uint32_t g = 0; g < GROUPS; g++) {
    if (!s->met[g]) continue;
    for (uint32_t place = g * GROUP; place < (g + 1) * GROUP; place++) {
      if (!(s->scores[place] > min_score) || !is_touched(s->scores[place])) continue;
      if (n > max) return n;
      places[n++] = (uint16_t)place;
    }
  }
  return n;
}

static void clear_window(searching *s) {
  for (uint32_t g = 0; g < GROUPS; g++) {
    if (!s->met[g]) continue;
    for (uint32_t place = g * GROUP; place < (g + 1) * GROUP; place++) s->scores[place] = -0.0;
    s->met[g] = 0;
  }
}

static void search_window(searching *s, uint64_t first_document, uint32_t from, uint32_t to) {
  uint16_t places[WINDOW + 1];
  size_t n = 0, n_free = 0, n_places;
  double rest = 0;
  for (size_t i = 0; i < s->n_cursors; i++) {
    cursor *c = &s->cursors[i];
    enter_window(c, from, to);
    if (!c->ended && c->window_bound > 0) s->by_bound[n++] = c;
  }
  if (!s->options->exhaustive && s->n_heap == s->options->k) {
    qsort(s->by_bound, n, sizeof *s->by_bound, by_bound);
    while (n_free < n && rest + s->by_bound[n_free]->window_bound <= score_threshold(s))
      rest += s->by_bound[n_free++]->window_bound;
  }
  if (n_free == n) return;
  for (size_t i = n_free; i < n; i++) add_term(s, s->by_bound[i], from, to);
  n_places = n_free ? find_candidates(places, s, score_threshold(s) - rest, FEW) : FEW + 1;
  if (n_places > FEW) {
    /* Non-essential terms alone never exceed the threshold, so documents that only they contain do no harm. */
    for (size_t i = n_free; i-- > 0;) add_term(s, s->by_bound[i], from, to);
    n_places = find_candidates(places, s, score_threshold(s), WINDOW);
  } else {
    for (size_t i = n_free; i-- > 0 && n_places;) add_to_candidates(s, s->by_bound[i], from, places, n_places);
  }
  for (size_t i = 0; i < n_places; i++)
    if (s->scores[places[i]] > score_threshold(s) && is_allowed(s, first_document + from + places[i]))
      offer_hit(s, s->scores[places[i]], first_document + from + places[i]);
  clear_window(s);
}

/* Repeated terms are merged, as the model defines. */
static cq_status merge_terms(cq_lexical_term *out, size_t *n, const cq_lexical_query *query, cq_lexical_model model,
                             cq_error *error) {
  cq_intern seen = {0};
  cq_status status = CQ_OK;
  *n = 0;
  for (size_t i = 0; !status && i < query->n; i++) {
    const cq_lexical_term *t = &query->terms[i];
    const uint32_t before = seen.n, id = cq_intern_put(&seen, t->term);
    if (!(t->weight > 0 && t->weight < CQ_MAX_SCORE))
      status = cq_fail(error, CQ_ERR_ARGUMENT, "the weight of '%.*s' is %g, expected a number above 0", (int)t->term.n,
                       t->term.data, t->weight);
    else if (id == CQ_INTERN_NONE)
      status = cq_fail_memory(error, "a query");
    else if (seen.n > before)
      out[(*n)++] = *t;
    else if (model != CQ_DIRICHLET)
      out[id].weight += t->weight;
  }
  cq_intern_free(&seen);
  return status;
}

/* Where the query's terms are in each segment. */
static cq_status find_terms(searching *s, const cq_lexical_term *terms, size_t n, cq_error *error) {
  if (!cq_reserve((void **)&s->terms, &s->terms_capacity, s->set->n_segments * n, sizeof *s->terms) ||
      !cq_reserve((void **)&s->cursors, &s->capacity, n, sizeof *s->cursors) ||
      !cq_reserve((void **)&s->by_bound, &s->by_bound_capacity, n, sizeof *s->by_bound))
    return cq_fail_memory(error, "a query");
  for (size_t i = 0; i < s->set->n_segments; i++)
    for (size_t t = 0; t < n; t++) s->terms[i * n + t] = cq_segment_find(&s->set->segments[i]->file, terms[t].term);
  return CQ_OK;
}

static cq_status fail_damaged(const cq_open_segment *segment, cq_error *error) {
  return cq_fail_file(error, CQ_ERR_FORMAT, segment->path, CQ_DAMAGED_POSTINGS);
}

/* The counts of a term, numbered by its position in the query: the highest of its word's forms. */
static void count_word(uint64_t *n_documents, uint64_t *n_occurrences, const searching *s, const cq_lexical_term *terms,
                       size_t n, size_t term) {
  size_t first = term, end = term + 1;
  while (terms[term].word && first > 0 && terms[first - 1].word == terms[term].word) first--;
  while (terms[term].word && end < n && terms[end].word == terms[term].word) end++;
  *n_documents = *n_occurrences = 0;
  for (size_t i = first; i < end; i++) {
    uint64_t documents = 0, occurrences = 0;
    for (size_t k = 0; k < s->set->n_segments; k++) {
      if (s->terms[k * n + i] == CQ_NO_TERM) continue;
      const cq_term_record *record = &s->set->segments[k]->file.records[s->terms[k * n + i]];
      documents += record->n_documents, occurrences += record->n_occurrences;
    }
    if (documents > *n_documents) *n_documents = documents;
    if (occurrences > *n_occurrences) *n_occurrences = occurrences;
  }
}

/* The cursors of a query's terms in a segment. */
static cq_status enter_segment(searching *s, size_t segment_number, const cq_lexical_term *terms, size_t n,
                               cq_error *error) {
  const cq_segment *segment = &s->set->segments[segment_number]->file;
  double max = 0;
  uint64_t n_documents = 0, n_occurrences = 0;
  size_t counted = 0; /* the word of these counts */
  s->n_cursors = 0;
  for (size_t i = 0; i < n; i++) {
    const uint32_t t = s->terms[segment_number * n + i];
    cursor *c = &s->cursors[s->n_cursors];
    if (t == CQ_NO_TERM) continue;
    if (!cq_segment_postings(&c->postings, segment, t)) return fail_damaged(s->set->segments[segment_number], error);
    if (!terms[i].word || terms[i].word != counted) count_word(&n_documents, &n_occurrences, s, terms, n, i);
    counted = terms[i].word;
    cq_term_scoring_set(&c->scoring, s->scoring, terms[i].weight, n_documents, n_occurrences);
    c->lengths = segment->lengths, c->n_documents = segment->n_documents, c->damaged = false;
    enter_block(c, 0);
    s->n_cursors++;
    max += fabs(cq_term_score(&c->scoring, UINT32_MAX, 0)) + fabs(cq_term_score(&c->scoring, 1, s->set->max_length));
  }
  return max < CQ_MAX_SCORE
             ? CQ_OK
             : cq_fail(error, CQ_ERR_ARGUMENT, "the weights are too large: sums of scores would not be exact");
}

static int best_lexical_hit_first(const void *a, const void *b) {
  return is_worse(a, b) - is_worse(b, a);
}

/* hits: room for k. */
static cq_status search_query(cq_lexical_hit *hits, searching *s, const cq_lexical_query *query, cq_error *error) {
  cq_lexical_term *terms = cq_alloc_array(query->n, sizeof *terms);
  size_t n = 0;
  s->heap = hits, s->n_heap = 0;
  cq_status status = terms ? merge_terms(terms, &n, query, s->options->model, error) : cq_fail_memory(error, "a query");
  if (!status) status = find_terms(s, terms, n, error);
  for (size_t i = 0; !status && i < s->set->n_segments; i++) {
    const cq_segment *segment = &s->set->segments[i]->file;
    status = enter_segment(s, i, terms, n, error);
    for (uint32_t from = 0; !status && s->n_cursors && from < segment->n_documents; from += WINDOW) {
      const uint32_t left = segment->n_documents - from;
      search_window(s, s->set->first[i], from, from + (left < WINDOW ? left : WINDOW));
    }
    for (size_t t = 0; !status && t < s->n_cursors; t++)
      if (s->cursors[t].damaged) status = fail_damaged(s->set->segments[i], error);
  }
  cq_free(terms);
  if (s->n_heap) qsort(hits, s->n_heap, sizeof *hits, best_lexical_hit_first);
  for (size_t i = 0; i < s->n_heap; i++) hits[i].id = cq_lexical_set_id(s->set, hits[i].document);
  return status;
}

/* --- many queries --- */

typedef struct all_queries {
  const cq_lexical_query *queries;
  cq_lexical_hit *hits;
  searching **workers;
  size_t k;
} all_queries;

static cq_status search_one(void *context, size_t item, int worker, cq_error *error) {
  all_queries *a = context;
  return search_query(a->hits + item * a->k, a->workers[worker], &a->queries[item], error);
}

cq_status cq_lexical_set_search(cq_lexical_hit **out, const cq_lexical_set *set, const cq_lexical_query *queries,
                                size_t n_queries, const cq_lexical_options *options, const cq_lexical_filter *filter,
                                cq_context *ctx, cq_error *error) {
  cq_lexical_options o;
  const size_t n_workers = n_queries > 1 ? (size_t)cq_context_n_threads(ctx) : 1; /* one query: the caller's thread */
  cq_scoring scoring = {0};
  all_queries all = {.queries = queries};
  size_t n_hits;
  *out = NULL;
  cq_status status = cq_options_take(&o, &cq_group_lexical, options, error);
  if (status) return status;
  all.k = o.k;
  const cq_collection_counts counts = {(double)cq_lexical_set_n_documents(set), (double)set->n_occurrences};
  status = cq_scoring_open(&scoring, &o, counts, set->max_length, error);
  all.hits =
      cq_checked_mul(&n_hits, n_queries, o.k) ? cq_alloc_array_zeroed(n_hits ? n_hits : 1, sizeof *all.hits) : NULL;
  all.workers = cq_alloc_array_zeroed(n_workers, sizeof *all.workers);
  bool ok = all.hits && all.workers;
  for (size_t w = 0; ok && w < n_workers; w++) {
    all.workers[w] = cq_alloc_zeroed(sizeof **all.workers);
    ok = all.workers[w] != NULL;
    if (!ok) break;
    *all.workers[w] = (searching){.set = set, .scoring = &scoring, .options = &o, .filter = filter};
    for (int i = 0; i < WINDOW; i++) all.workers[w]->scores[i] = -0.0;
  }
  if (!status && !ok) status = cq_fail_memory(error, "a search");
  if (!status) status = cq_context_try(ctx, n_queries, search_one, &all, error);
  for (size_t w = 0; all.workers && w < n_workers; w++) {
    if (!all.workers[w]) continue;
    cq_free(all.workers[w]->cursors);
    cq_free(all.workers[w]->by_bound);
    cq_free(all.workers[w]->terms);
    cq_free(all.workers[w]);
  }
  cq_free(all.workers);
  cq_scoring_free(&scoring);
  if (status) cq_free(all.hits);
  *out = status ? NULL : all.hits;
  return status;
}
