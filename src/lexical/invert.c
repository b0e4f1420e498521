/* Inverts batches of documents, and merges their postings term by term into a segment. Threads share no table: each
 * batch has its own terms, which are sorted and merged at the end. See invert.h. */
#include "lexical/invert.h"

#include "base/error.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct tuple {
  uint32_t term, document, frequency;
} tuple;

/* One thread's data. Its analysis has its own term numbers; `shared` maps them to the common ones. */
typedef struct worker {
  cq_analysis *analysis;
  uint32_t *shared;
  size_t n_shared, shared_capacity;
  uint32_t *seen;  /* by own number: one plus the tuple of the current document */
  uint32_t *count; /* by own number, of a batch; zero between batches */
  size_t seen_capacity, count_capacity;
  tuple *tuples;
  size_t n_tuples, tuples_capacity;
  uint32_t *touched;
  size_t touched_capacity;
  cq_builder room;
} worker;

struct cq_inverter {
  pthread_mutex_t lock;
  cq_intern terms;
  const cq_analyzer *analyzer;
  worker *workers;
  int n_workers;
};

cq_status cq_inverter_open(cq_inverter **out, const cq_analyzer *analyzer, int n_workers, cq_error *error) {
  *out = NULL;
  cq_inverter *v = cq_alloc_zeroed(sizeof *v);
  if (!v) return cq_fail_memory(error, "an inverter");
  pthread_mutex_init(&v->lock, NULL);
  v->n_workers = n_workers, v->analyzer = analyzer;
  v->workers = cq_alloc_array_zeroed((size_t)n_workers, sizeof *v->workers);
  cq_status status = v->workers ? CQ_OK : cq_fail_memory(error, "an inverter");
  if (status) cq_inverter_free(v);
  *out = status ? NULL : v;
  return status;
}

void cq_inverter_free(cq_inverter *v) {
  if (!v) return;
  for (int i = 0; v->workers && i < v->n_workers; i++) {
    worker *w = &v->workers[i];
    cq_analysis_free(w->analysis);
    cq_free(w->shared);
    cq_free(w->seen);
    cq_free(w->count);
    cq_free(w->tuples);
    cq_free(w->touched);
    cq_builder_free(&w->room);
  }
  cq_free(v->workers);
  cq_intern_free(&v->terms);
  pthread_mutex_destroy(&v->lock);
  cq_free(v);
}

/* --- batches --- */

cq_status cq_batch_add(cq_batch *b, const cq_raw_document *raw, cq_error *error) {
  if (!cq_reserve((void **)&b->raw, &b->capacity, (size_t)b->n + 1, sizeof *b->raw) ||
      !cq_reserve((void **)&b->begins, &b->begins_capacity, (size_t)b->n + 1, sizeof *b->begins))
    return cq_fail_memory(error, raw->path);
  b->begins[b->n] = (uint32_t)b->raw_bytes.n;
  b->raw[b->n++] = *raw;
  cq_builder_bytes(&b->raw_bytes, raw->bytes.data, raw->bytes.n);
  return b->raw_bytes.failed ? cq_fail_memory(error, raw->path) : CQ_OK;
}

void cq_batch_free(cq_batch *b) {
  if (!b) return;
  cq_free(b->raw);
  cq_free(b->begins);
  cq_builder_free(&b->raw_bytes);
  cq_free(b->lengths);
  cq_free(b->terms);
  cq_free(b->starts);
  cq_free(b->postings);
  cq_free(b->ids);
  cq_arena_free(&b->arena);
  cq_free(b);
}

/* Grows an array indexed by own number to the vocabulary's size, with zeros. */
static bool by_term(uint32_t **array, size_t *capacity, size_t n) {
  const size_t before = *capacity;
  if (n <= before) return true;
  if (!cq_reserve((void **)array, capacity, n, sizeof **array)) return false;
  memset(*array + before, 0, (*capacity - before) * sizeof **array);
  return true;
}

/* Appends the postings of one document, as tuples. */
static bool add_document(worker *w, uint32_t document, const uint32_t *ids, size_t n) {
  const size_t n_terms = cq_analysis_terms(w->analysis)->n, first = w->n_tuples;
  if (!by_term(&w->seen, &w->seen_capacity, n_terms) || !by_term(&w->count, &w->count_capacity, n_terms)) return false;
  if (!cq_reserve((void **)&w->tuples, &w->tuples_capacity, first + n, sizeof *w->tuples)) return false;
  for (size_t i = 0; i < n; i++) {
    const uint32_t term = ids[i];
    if (w->seen[term] > first) {
      w->tuples[w->seen[term] - 1].frequency++;
      continue;
    }
    w->tuples[w->n_tuples++] = (tuple){term, document, 1};
    w->seen[term] = (uint32_t)w->n_tuples;
    w->count[term]++;
  }
  return true;
}

static bool share_terms(cq_inverter *v, worker *w) {
  const cq_intern *own = cq_analysis_terms(w->analysis);
  bool ok = cq_reserve((void **)&w->shared, &w->shared_capacity, own->n, sizeof *w->shared);
  pthread_mutex_lock(&v->lock);
  for (; ok && w->n_shared < own->n; w->n_shared++) {
    w->shared[w->n_shared] = cq_intern_put(&v->terms, own->items[w->n_shared]);
    ok = w->shared[w->n_shared] != CQ_INTERN_NONE;
  }
  pthread_mutex_unlock(&v->lock);
  return ok;
}

/* Turns tuples by document into postings by term: a counting sort, with `seen` as the array of positions. */
static bool group_by_term(cq_batch *b, cq_inverter *v, worker *w) {
  uint32_t n_terms = 0, at = 0;
  if (!share_terms(v, w)) return false;
  for (size_t i = 0; i < w->n_tuples; i++) {
    const uint32_t term = w->tuples[i].term;
    if (w->count[term] == 0) continue;
    if (!cq_reserve((void **)&w->touched, &w->touched_capacity, (size_t)n_terms + 1, sizeof *w->touched)) return false;
    w->touched[n_terms++] = term;
    w->seen[term] = at;
    at += w->count[term];
    w->count[term] = 0;
  }
  b->n_terms = n_terms;
  b->terms = cq_alloc_array(n_terms, sizeof *b->terms);
  b->starts = cq_alloc_array((size_t)n_terms + 1, sizeof *b->starts);
  b->postings = cq_alloc_array(w->n_tuples, sizeof *b->postings);
  if (!b->terms || !b->starts || !b->postings) return false;
  for (uint32_t t = 0; t < n_terms; t++) b->terms[t] = w->shared[w->touched[t]], b->starts[t] = w->seen[w->touched[t]];
  b->starts[n_terms] = at;
  for (size_t i = 0; i < w->n_tuples; i++) {
    const tuple *p = &w->tuples[i];
    b->postings[w->seen[p->term]++] = (cq_posting){b->first + p->document, p->frequency};
  }
  for (uint32_t t = 0; t < n_terms; t++) w->seen[w->touched[t]] = 0;
  return true;
}

/* After a failure: as between batches. */
static void forget_tuples(worker *w) {
  for (size_t i = 0; i < w->n_tuples; i++) w->count[w->tuples[i].term] = w->seen[w->tuples[i].term] = 0;
  w->n_tuples = 0;
}

/* A worker's analysis is opened when first needed: a small commit needs only one worker, however many there are. */
static cq_status start_batch(cq_batch *b, cq_inverter *v, worker *w, cq_error *error) {
  w->n_tuples = 0;
  b->ids = cq_alloc_array_zeroed(b->n, sizeof *b->ids);
  b->lengths = cq_alloc_array(b->n, sizeof *b->lengths);
  if (!b->ids || !b->lengths) return cq_fail_memory(error, "documents");
  return w->analysis ? CQ_OK : cq_analysis_open(&w->analysis, v->analyzer, error);
}

static cq_status invert_text(cq_batch *b, worker *w, uint32_t document, cq_slice text, cq_error *error) {
  const uint32_t *ids;
  size_t n;
  cq_status status = cq_analysis_run(&ids, &n, w->analysis, text, error);
  if (status) return status;
  if (n > UINT32_MAX || !add_document(w, document, ids, n)) return cq_fail_memory(error, "documents");
  b->lengths[document] = (uint32_t)cq_analysis_n_words(w->analysis);
  return CQ_OK;
}

static cq_status finish_batch(cq_batch *b, cq_inverter *v, worker *w, cq_status status, cq_error *error) {
  if (!status && !group_by_term(b, v, w)) status = cq_fail_memory(error, "postings");
  if (status) forget_tuples(w);
  return status;
}

cq_status cq_batch_invert(cq_batch *b, cq_inverter *v, int at, const char *const *fields, size_t n_fields,
                          cq_error *error) {
  worker *w = &v->workers[at];
  cq_status status = start_batch(b, v, w, error);
  for (uint32_t d = 0; !status && d < b->n; d++) {
    cq_collection_document document;
    b->raw[d].bytes.data = b->raw_bytes.data + b->begins[d];
    status = cq_document_read(&document, &b->raw[d], fields, n_fields, &w->room, error);
    if (!status) status = invert_text(b, w, d, document.text, error);
    if (status) break;
    const char *id = cq_arena_strndup(&b->arena, document.id.data, document.id.n);
    if (!id) status = cq_fail_memory(error, "documents");
    b->ids[d] = (cq_slice){id, document.id.n};
  }
  status = finish_batch(b, v, w, status, error);
  cq_builder_free(&b->raw_bytes);
  return status;
}

cq_status cq_batch_invert_texts(cq_batch *b, cq_inverter *v, int at, const cq_slice *texts, const cq_slice *languages,
                                uint32_t n, cq_error *error) {
  worker *w = &v->workers[at];
  b->n = n;
  cq_status status = start_batch(b, v, w, error);
  for (uint32_t d = 0; !status && d < n; d++) {
    cq_analysis_set_language(w->analysis, languages ? languages[d] : (cq_slice){0});
    status = invert_text(b, w, d, texts[d], error);
  }
  return finish_batch(b, v, w, status, error);
}

/* --- the segment --- */

typedef struct sorted_term {
  uint64_t prefix; /* the term's first eight bytes, which decide most comparisons */
  uint32_t term;
  uint32_t n_documents;
} sorted_term;

/* A term's postings in one batch; they form a list. */
typedef struct link {
  uint32_t batch, term;
  uint32_t next; /* of links, plus one; 0: there are no more */
} link;

enum { N_RANGES = 64 };

typedef struct writing {
  const cq_inverter *inverter;
  cq_batch *const *batches;
  size_t n_batches;
  uint32_t *lengths; /* of the segment's documents */
  cq_slice *ids;
  uint32_t n_documents;
  sorted_term *sorted; /* [n_terms] */
  uint32_t n_terms;
  link *links;
  uint32_t *first_link; /* by the inverter's number, plus one; 0: none */
  size_t ranges[N_RANGES + 1];
  cq_builder postings[N_RANGES];
  cq_term_record *records[N_RANGES];
  size_t n_records[N_RANGES];
} writing;

static uint64_t prefix_of(cq_slice term) {
  uint64_t prefix = 0;
  for (size_t i = 0; i < 8; i++) prefix = prefix << 8 | (i < term.n ? (unsigned char)term.data[i] : 0);
  return prefix;
}

/* qsort has no context: only prefixes are compared here, and runs of equal ones are then sorted separately. */
static int by_prefix(const void *a, const void *b) {
  const sorted_term *p = a, *q = b;
  return (p->prefix > q->prefix) - (p->prefix < q->prefix);
}

static void sort_run(sorted_term *run, size_t n, const cq_slice *terms) {
  /* Terms with the same prefix are few and short. Heap sort is safe for any number of them. */
  for (size_t start = n / 2 + 1, end = n; end > 1;) {
    if (start > 1) {
      start--;
    } else {
      const sorted_term last = run[0];
      run[0] = run[--end], run[end] = last;
    }
    for (size_t root = start - 1, child; (child = 2 * root + 1) < end; root = child) {
      if (child + 1 < end && cq_slice_compare(terms[run[child].term], terms[run[child + 1].term]) < 0) child++;
      if (cq_slice_compare(terms[run[root].term], terms[run[child].term]) >= 0) break;
      const sorted_term other = run[root];
      run[root] = run[child], run[child] = other;
    }
  }
}

static void sort_terms(sorted_term *items, size_t n, const cq_slice *terms) {
  if (n) qsort(items, n, sizeof *items, by_prefix);
  for (size_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && items[end].prefix == items[i].prefix;) end++;
    if (end - i > 1) sort_run(items + i, end - i, terms);
  }
}

/* Links each term's postings through the batches, and counts its documents. */
static cq_status link_terms(writing *w, cq_error *error) {
  const uint32_t n_known = w->inverter->terms.n;
  size_t n_links = 0, n = 0;
  for (size_t b = 0; b < w->n_batches; b++) n_links += w->batches[b]->n_terms;
  if (n_links >= UINT32_MAX) return cq_fail(error, CQ_ERR_ARGUMENT, "a segment of too many terms");
  uint32_t *counts = cq_alloc_array_zeroed(n_known, sizeof *counts);
  w->links = cq_alloc_array(n_links, sizeof *w->links);
  w->first_link = cq_alloc_array_zeroed(n_known, sizeof *w->first_link);
  w->sorted = cq_alloc_array(n_known, sizeof *w->sorted);
  cq_status status =
      counts && w->links && w->first_link && w->sorted ? CQ_OK : cq_fail_memory(error, "a segment's terms");
  for (size_t b = w->n_batches; !status && b-- > 0;) {
    const cq_batch *batch = w->batches[b];
    for (uint32_t t = 0; t < batch->n_terms; t++) {
      const uint32_t term = batch->terms[t];
      w->links[n++] = (link){(uint32_t)b, t, w->first_link[term]};
      w->first_link[term] = (uint32_t)n;
      counts[term] += batch->starts[t + 1] - batch->starts[t];
    }
  }
  for (uint32_t t = 0; !status && t < n_known; t++)
    if (counts[t]) w->sorted[w->n_terms++] = (sorted_term){prefix_of(w->inverter->terms.items[t]), t, counts[t]};
  cq_free(counts);
  return status;
}

static cq_status gather_documents(writing *w, cq_error *error) {
  for (size_t b = 0; b < w->n_batches; b++) w->n_documents += w->batches[b]->n;
  w->lengths = cq_alloc_array(w->n_documents, sizeof *w->lengths);
  w->ids = cq_alloc_array(w->n_documents, sizeof *w->ids);
  if (!w->lengths || !w->ids) return cq_fail_memory(error, "a segment's documents");
  for (size_t b = 0; b < w->n_batches; b++) {
    const cq_batch *batch = w->batches[b];
    if (!batch->n) continue;
    memcpy(w->lengths + batch->first, batch->lengths, batch->n * sizeof *w->lengths);
    memcpy(w->ids + batch->first, batch->ids, batch->n * sizeof *w->ids);
  }
  return CQ_OK;
}

/* Ranges of terms with about as many postings each. */
static void cut_ranges(writing *w) {
  uint64_t all = 0, sum = 0;
  for (uint32_t i = 0; i < w->n_terms; i++) all += w->sorted[i].n_documents;
  size_t range = 1;
  for (uint32_t i = 0; i < w->n_terms; i++) {
    while (range < N_RANGES && sum * N_RANGES >= all * range) w->ranges[range++] = i;
    sum += w->sorted[i].n_documents;
  }
  while (range <= N_RANGES) w->ranges[range++] = w->n_terms;
}

static cq_status write_range(void *context, size_t range, int worker_number, cq_error *error) {
  (void)worker_number;
  writing *w = context;
  cq_builder *out = &w->postings[range];
  const size_t from = w->ranges[range], to = w->ranges[range + 1];
  cq_posting *postings = NULL;
  size_t capacity = 0;
  w->records[range] = cq_alloc_array(to - from, sizeof **w->records);
  bool ok = w->records[range] != NULL;
  for (size_t i = from; ok && i < to; i++) {
    const sorted_term *term = &w->sorted[i];
    cq_term_record record = {.at = out->n, .n_documents = term->n_documents};
    ok = cq_reserve((void **)&postings, &capacity, term->n_documents, sizeof *postings);
    size_t n = 0;
    for (uint32_t l = w->first_link[term->term]; ok && l; l = w->links[l - 1].next) {
      const cq_batch *b = w->batches[w->links[l - 1].batch];
      const uint32_t begin = b->starts[w->links[l - 1].term], end = b->starts[w->links[l - 1].term + 1];
      memcpy(postings + n, b->postings + begin, (end - begin) * sizeof *postings);
      n += end - begin;
    }
    for (size_t k = 0; ok && k < n; k++) record.n_occurrences += postings[k].frequency;
    if (ok) cq_postings_write(out, postings, n, w->lengths);
    ok &= !out->failed;
    if (ok) w->records[range][w->n_records[range]++] = record;
  }
  cq_free(postings);
  return ok ? CQ_OK : cq_fail_memory(error, "a segment");
}

static cq_slice id_to_write(const void *context, uint32_t document) {
  return ((const writing *)context)->ids[document];
}

static cq_slice term_to_write(const void *context, uint32_t term) {
  const writing *w = context;
  return w->inverter->terms.items[w->sorted[term].term];
}

cq_status cq_inverter_write(const char *path, cq_inverter *inverter, cq_batch *const *batches, size_t n_batches,
                            cq_context *ctx, cq_error *error) {
  writing *w = cq_alloc_zeroed(sizeof *w);
  if (!w) return cq_fail_memory(error, "a segment");
  w->inverter = inverter, w->batches = batches, w->n_batches = n_batches;
  cq_status status = gather_documents(w, error);
  if (!status) status = link_terms(w, error);
  if (!status) {
    sort_terms(w->sorted, w->n_terms, inverter->terms.items);
    cut_ranges(w);
    status = cq_context_try(ctx, N_RANGES, write_range, w, error);
  }
  if (!status) {
    cq_segment_part parts[N_RANGES];
    for (int i = 0; i < N_RANGES; i++)
      parts[i] = (cq_segment_part){w->postings[i].data, w->postings[i].n, w->records[i], w->n_records[i]};
    const cq_segment_source source = {.n_documents = w->n_documents,
                                      .n_terms = w->n_terms,
                                      .lengths = w->lengths,
                                      .id = id_to_write,
                                      .term = term_to_write,
                                      .context = w,
                                      .parts = parts,
                                      .n_parts = N_RANGES};
    status = cq_segment_write(path, &source, error);
  }
  for (int i = 0; i < N_RANGES; i++) {
    cq_builder_free(&w->postings[i]);
    cq_free(w->records[i]);
  }
  cq_free(w->lengths);
  cq_free(w->ids);
  cq_free(w->sorted);
  cq_free(w->links);
  cq_free(w->first_link);
  cq_free(w);
  return status;
}
