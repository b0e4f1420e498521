/* The best k documents of a query, exactly, without looking at every posting.
 *
 * Documents are taken in windows of 4,096. In each window
 *
 *   a term's bound     the best score that any of its blocks there can give (its entries' pairs say)
 *   non-essential      the terms of the lowest bounds, as many as together cannot lift a document over the k-th best score so far
 *   essential          the others: their postings are added up, term after term, in an array of the window's scores
 *   candidates         documents among them that could still come over that score; only for them the non-essential terms are
 *                      looked up, and only in blocks that a candidate lies in
 *
 * Scores are exact sums (score.h), so that it does not matter which terms are added first.
 * Source: Turtle & Flood 1995 (MaxScore), with bounds by block as Ding & Suel 2011, and by windows as Lucene 9 does. */
#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "lexical/index.h"
#include "lexical/score.h"

#include <math.h>
#include <stdlib.h>

enum { WINDOW = 4096, WORDS = WINDOW / 64 };

/* --- a term's way through its postings --- */

typedef struct cursor {
  cq_term_scoring scoring;
  cq_postings postings;
  const uint32_t *lengths;
  uint32_t block, last; /* the block at hand, its last document */
  uint32_t n, at;       /* how many postings it has and which is next; n 0: it is not unpacked */
  double bound;         /* of the block at hand */
  double window_bound;  /* of its blocks in the window */
  uint32_t n_documents; /* of the segment */
  bool ended, damaged;
  uint32_t documents[CQ_BLOCK], frequencies[CQ_BLOCK];
} cursor;

static uint32_t n_blocks(const cursor *c) {
  return c->postings.n_full + (c->postings.n % CQ_BLOCK != 0);
}

static void unpack(cursor *c) {
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

/* Passes over blocks that end before the window, and bounds those that are in it. */
static void enter_window(cursor *c, uint32_t from, uint32_t to) {
  while (!c->ended && c->last < from) enter_block(c, c->block + 1);
  c->window_bound = 0;
  if (c->ended) return;
  const bool unpacked = c->n > 0;
  if (c->block > 0 && c->block <= c->postings.n_full && cq_postings_entry(&c->postings, c->block - 1).last + 1 >= to)
    return;
  if (unpacked && c->at < c->n && c->documents[c->at] >= to) return;
  c->window_bound = c->bound;
  uint32_t last = c->last;
  for (uint32_t b = c->block + 1; b < n_blocks(c) && last + 1 < to; b++)
    c->window_bound = fmax(c->window_bound, bound_of_block(c, b, &last));
}

/* --- one query --- */

typedef struct scored {
  double score;
  uint32_t document;
} scored;

typedef struct searching {
  const cq_lexical *index;
  const cq_scoring *scoring;
  const cq_lexical_options *options;
  cursor *cursors;
  cursor **by_bound;
  size_t n_cursors, capacity, by_bound_capacity;
  cq_lexical_hit *heap; /* the worst of the best on top */
  size_t n_heap;
  double scores[WINDOW];
  uint64_t touched[WORDS];
} searching;

static bool is_worse(const cq_lexical_hit *a, const cq_lexical_hit *b) {
  return a->score < b->score || (a->score == b->score && a->document > b->document);
}

static void sift_down(cq_lexical_hit *heap, size_t n, size_t at) {
  const cq_lexical_hit it = heap[at];
  for (size_t child; (child = 2 * at + 1) < n; at = child) {
    if (child + 1 < n && is_worse(&heap[child + 1], &heap[child])) child++;
    if (!is_worse(&heap[child], &it)) break;
    heap[at] = heap[child];
  }
  heap[at] = it;
}

static void offer(searching *s, double score, uint64_t document) {
  const cq_lexical_hit it = {.score = score, .document = document};
  const size_t k = s->options->k;
  if (s->n_heap == k) {
    s->heap[0] = it;
    sift_down(s->heap, k, 0);
    return;
  }
  size_t at = s->n_heap++;
  for (; at > 0 && is_worse(&it, &s->heap[(at - 1) / 2]); at = (at - 1) / 2) s->heap[at] = s->heap[(at - 1) / 2];
  s->heap[at] = it;
}

/* What a document must come over; documents come in ascending order, so that an equal score does not do. */
static double threshold(const searching *s) {
  return s->n_heap < s->options->k ? -INFINITY : s->heap[0].score;
}

static int by_bound(const void *a, const void *b) {
  const cursor *const *p = a, *const *q = b;
  return ((*p)->window_bound > (*q)->window_bound) - ((*p)->window_bound < (*q)->window_bound);
}

/* Adds a term's postings in the window to the scores. */
static void add_term(searching *s, cursor *c, uint32_t from, uint32_t to) {
  while (!c->ended) {
    unpack(c);
    uint32_t first = c->at, end;
    while (first < c->n && c->documents[first] < from) first++;
    /* Bounded on both sides whatever a damaged file says. */
    for (end = first; end < c->n && c->documents[end] - from < to - from; end++) {
      const uint32_t place = c->documents[end] - from;
      s->touched[place / 64] |= (uint64_t)1 << place % 64;
    }
    cq_term_score_add(s->scores, from, &c->scoring, c->documents + first, c->frequencies + first, c->lengths,
                      end - first);
    c->at = end;
    if (end < c->n) return;
    enter_block(c, c->block + 1);
  }
}

/* The same for candidates only. */
static void add_to_candidates(searching *s, cursor *c, uint32_t from, uint32_t to) {
  while (!c->ended) {
    const uint32_t begin =
        c->block > 0 && c->block <= c->postings.n_full ? cq_postings_entry(&c->postings, c->block - 1).last + 1 : 0;
    if (begin >= to) return;
    if (c->last < from) {
      enter_block(c, c->block + 1);
      continue;
    }
    /* The words of candidates that the block covers */
    const uint32_t low = begin > from ? begin - from : 0, high = c->last < to ? c->last - from : to - from - 1;
    uint64_t any = 0;
    for (uint32_t w = low / 64; w <= high / 64; w++) any |= s->touched[w];
    if (any) {
      unpack(c);
      uint32_t i = c->at;
      while (i < c->n && c->documents[i] < from) i++;
      for (; i < c->n && c->documents[i] - from < to - from; i++) {
        const uint32_t place = c->documents[i] - from;
        if (s->touched[place / 64] >> place % 64 & 1)
          s->scores[place] += cq_term_score(&c->scoring, c->frequencies[i], c->lengths[c->documents[i]]);
      }
      c->at = i;
      if (c->ended) return;
    }
    if (c->last >= to - 1) return;
    enter_block(c, c->block + 1);
  }
}

/* Of the touched documents those that can come over `least`. */
static void drop_hopeless(searching *s, double least) {
  for (uint32_t w = 0; w < WORDS; w++)
    for (uint64_t bits = s->touched[w]; bits; bits &= bits - 1) {
      const uint32_t place = w * 64 + (uint32_t)__builtin_ctzll(bits);
      if (s->scores[place] > least) continue;
      s->touched[w] &= ~((uint64_t)1 << place % 64);
      s->scores[place] = 0;
    }
}

static void search_window(searching *s, uint64_t first_document, uint32_t from, uint32_t to) {
  size_t n = 0, n_free = 0;
  double rest = 0;
  for (size_t i = 0; i < s->n_cursors; i++) {
    cursor *c = &s->cursors[i];
    enter_window(c, from, to);
    if (!c->ended && c->window_bound > 0) s->by_bound[n++] = c;
  }
  if (!s->options->exhaustive && s->n_heap == s->options->k) {
    qsort(s->by_bound, n, sizeof *s->by_bound, by_bound);
    while (n_free < n && rest + s->by_bound[n_free]->window_bound <= threshold(s))
      rest += s->by_bound[n_free++]->window_bound;
  }
  if (n_free == n) return;
  for (size_t i = n_free; i < n; i++) add_term(s, s->by_bound[i], from, to);
  for (size_t i = n_free; i-- > 0;) {
    drop_hopeless(s, threshold(s) - rest);
    add_to_candidates(s, s->by_bound[i], from, to);
    rest -= s->by_bound[i]->window_bound;
  }
  for (uint32_t w = 0; w < WORDS; w++) {
    for (uint64_t bits = s->touched[w]; bits; bits &= bits - 1) {
      const uint32_t place = w * 64 + (uint32_t)__builtin_ctzll(bits);
      if (s->scores[place] > threshold(s)) offer(s, s->scores[place], first_document + from + place);
      s->scores[place] = 0;
    }
    s->touched[w] = 0;
  }
}

/* Terms that come again are made one, as the model has it. */
static cq_status merge_terms(cq_lexical_term *out, size_t *n, const cq_lexical_query *query, cq_lexical_model model,
                             cq_error *error) {
  cq_intern seen = {0};
  cq_status status = CQ_OK;
  *n = 0;
  for (size_t i = 0; !status && i < query->n; i++) {
    const cq_lexical_term *t = &query->terms[i];
    const uint32_t before = seen.n, id = cq_intern_put(&seen, t->term);
    if (!(t->weight > 0 && t->weight < CQ_GREATEST_SCORE))
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

/* The cursors of a query's terms in a segment. */
static cq_status enter_segment(searching *s, const cq_segment *segment, const cq_lexical_term *terms, size_t n,
                               cq_error *error) {
  double greatest = 0;
  s->n_cursors = 0;
  if (!cq_reserve((void **)&s->cursors, &s->capacity, n, sizeof *s->cursors) ||
      !cq_reserve((void **)&s->by_bound, &s->by_bound_capacity, n, sizeof *s->by_bound))
    return cq_fail_memory(error, "a query");
  for (size_t i = 0; i < n; i++) {
    uint64_t n_documents, n_occurrences;
    const uint32_t t = cq_segment_find(segment, terms[i].term);
    cursor *c = &s->cursors[s->n_cursors];
    if (t == CQ_NO_TERM || !cq_segment_postings(&c->postings, segment, t)) continue;
    cq_lexical_count(&n_documents, &n_occurrences, s->index, terms[i].term);
    cq_term_scoring_set(&c->scoring, s->scoring, terms[i].weight, n_documents, n_occurrences);
    c->lengths = segment->lengths, c->n_documents = segment->n_documents, c->damaged = false;
    enter_block(c, 0);
    s->n_cursors++;
    greatest +=
        fabs(cq_term_score(&c->scoring, UINT32_MAX, 0)) + fabs(cq_term_score(&c->scoring, 1, s->index->longest));
  }
  return greatest < CQ_GREATEST_SCORE
             ? CQ_OK
             : cq_fail(error, CQ_ERR_ARGUMENT, "the weights are too great: sums of scores would not be exact");
}

static int best_first(const void *a, const void *b) {
  return is_worse(a, b) - is_worse(b, a);
}

/* hits: room for k. */
static cq_status search(cq_lexical_hit *hits, searching *s, const cq_lexical_query *query, cq_error *error) {
  cq_lexical_term *terms = cq_alloc_array(query->n, sizeof *terms);
  size_t n = 0;
  s->heap = hits, s->n_heap = 0;
  cq_status status = terms ? merge_terms(terms, &n, query, s->options->model, error) : cq_fail_memory(error, "a query");
  for (size_t i = 0; !status && i < s->index->n_segments; i++) {
    const cq_segment *segment = &s->index->segments[i];
    status = enter_segment(s, segment, terms, n, error);
    for (uint32_t from = 0; !status && s->n_cursors && from < segment->n_documents; from += WINDOW) {
      const uint32_t left = segment->n_documents - from;
      search_window(s, s->index->first[i], from, from + (left < WINDOW ? left : WINDOW));
    }
    for (size_t t = 0; !status && t < s->n_cursors; t++)
      if (s->cursors[t].damaged) status = cq_fail(error, CQ_ERR_FORMAT, "segment %zu of the index is damaged", i + 1);
  }
  cq_free(terms);
  if (s->n_heap) qsort(hits, s->n_heap, sizeof *hits, best_first);
  for (size_t i = 0; i < s->options->k; i++) {
    if (i < s->n_heap)
      hits[i].id = cq_lexical_id(s->index, hits[i].document);
    else
      hits[i] = (cq_lexical_hit){0};
  }
  return status;
}

/* --- many queries --- */

typedef struct all_queries {
  const cq_lexical_query *queries;
  cq_lexical_hit *hits;
  searching **workers;
  size_t k;
  cq_status *status; /* [n_queries] */
  cq_error *errors;
} all_queries;

static void search_one(void *context, size_t item, int worker) {
  all_queries *a = context;
  a->status[item] = search(a->hits + item * a->k, a->workers[worker], &a->queries[item], &a->errors[item]);
}

cq_status cq_lexical_search(cq_lexical_hit **out, const cq_lexical *index, const cq_lexical_query *queries,
                            size_t n_queries, const cq_lexical_options *options, cq_pool *pool, cq_error *error) {
  const cq_lexical_options o = options ? *options : cq_lexical_default_options();
  const size_t n_workers = pool ? (size_t)cq_pool_n_threads(pool) : 1;
  const uint64_t n_documents = index->first[index->n_segments];
  cq_scoring scoring = {0};
  all_queries all = {.queries = queries, .k = o.k};
  size_t n_hits;
  *out = NULL;
  if (o.k == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "k is 0, expected at least 1");
  const cq_collection_counts counts = {(double)n_documents, (double)index->n_occurrences};
  cq_status status = cq_scoring_open(&scoring, &o, counts, index->longest, error);
  all.hits = cq_checked_mul(&n_hits, n_queries, o.k) ? calloc(n_hits ? n_hits : 1, sizeof *all.hits) : NULL;
  all.status = cq_alloc_array_zeroed(n_queries, sizeof *all.status);
  all.errors = cq_alloc_array_zeroed(n_queries, sizeof *all.errors);
  all.workers = cq_alloc_array_zeroed(n_workers, sizeof *all.workers);
  bool ok = all.hits && all.status && all.errors && all.workers;
  for (size_t w = 0; ok && w < n_workers; w++) {
    all.workers[w] = cq_alloc_zeroed(sizeof **all.workers);
    ok = all.workers[w] != NULL;
    if (ok) *all.workers[w] = (searching){.index = index, .scoring = &scoring, .options = &o};
  }
  if (!status && !ok) status = cq_fail_memory(error, "a search");
  if (!status) cq_pool_run(pool, n_queries, search_one, &all);
  for (size_t i = 0; !status && i < n_queries; i++) {
    status = all.status[i];
    if (status && error) *error = all.errors[i];
  }
  for (size_t w = 0; all.workers && w < n_workers; w++) {
    if (!all.workers[w]) continue;
    cq_free(all.workers[w]->cursors);
    cq_free(all.workers[w]->by_bound);
    cq_free(all.workers[w]);
  }
  cq_free(all.workers);
  cq_free(all.status);
  cq_free(all.errors);
  cq_scoring_free(&scoring);
  if (status)
    free(all.hits);
  else
    *out = all.hits;
  return status;
}
