/* Few queries against many documents: the time is spent on reading the documents, so each is read once and scored in
 * f32 with all queries (by a product, unless there are very few queries). The cosine is computed in double precision
 * only if the score may enter a query's list (see nearest.c). With hubness, lists and bounds use 2 cos - mean. The
 * documents are the product's left side in place: nothing is copied or packed. */
#include "search/top.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "search/lists.h"
#include "tensor/kernels.h"

#include <math.h>
#include <stdatomic.h>

enum { ROWS = 256, MAX_QUERIES = 64, FEW_QUERIES = 16 };

typedef struct worker {
  float *scores; /* [ROWS, MAX_QUERIES] */
  cq_neighbors lists;
} worker;

typedef struct top {
  const float *queries, *documents; /* of one round: n_queries <= MAX_QUERIES */
  const double *lengths;            /* of the queries */
  size_t n_queries, n, dim;
  float *packed;
  double slack;
  bool (*allowed)(const void *context, size_t row);
  const void *context;
  cq_top_facts facts;
  worker *workers;
  size_t n_workers;
  const cq_kernels *kernels;
} top;

/* Every thread computes the same value. */
static double length_of(const top *t, size_t row) {
  _Atomic double *kept = t->facts.lengths ? &t->facts.lengths[row] : NULL;
  double length = kept ? atomic_load_explicit(kept, memory_order_relaxed) : 0;
  if (length == 0) {
    length = sqrt(t->kernels->sum_squares(t->documents + row * t->dim, (int64_t)t->dim));
    if (kept) atomic_store_explicit(kept, length, memory_order_relaxed);
  }
  return length;
}

static void score_block(void *context, size_t block, int worker_index) {
  top *t = context;
  worker *w = &t->workers[worker_index];
  const size_t start = block * ROWS, n = cq_min(ROWS, t->n - start);
  const bool few = t->n_queries <= FEW_QUERIES;
  const double factor = t->facts.means ? 2 : 1, slack = factor * t->slack;
  if (!few)
    t->kernels->product(w->scores, MAX_QUERIES, t->documents + start * t->dim, (int64_t)t->dim, t->packed, (int64_t)n,
                        (int64_t)t->n_queries, (int64_t)t->dim, NULL);
  for (size_t i = 0; i < n; i++) {
    const float *document = t->documents + (start + i) * t->dim;
    float *scores = w->scores + i * MAX_QUERIES;
    for (size_t q = 0; few && q < t->n_queries; q++)
      scores[q] = t->kernels->dot(t->queries + q * t->dim, document, (int64_t)t->dim);
    if (t->allowed && !t->allowed(t->context, start + i)) continue;
    const double length = length_of(t, start + i);
    const double mean = t->facts.means ? (double)t->facts.means[(start + i) * t->facts.stride] : 0;
    for (size_t q = 0; q < t->n_queries; q++) {
      const double both = length * t->lengths[q], score = both > 0 ? (double)scores[q] / both : 0;
      if (factor * score - mean + slack < cq_lists_min(&w->lists, q)) continue; /* NaN passes, and is decided below */
      const double dot = t->kernels->exact_dot(t->queries + q * t->dim, document, (int64_t)t->dim);
      const double exact_length = sqrt(t->kernels->exact_dot(document, document, (int64_t)t->dim)) * t->lengths[q];
      cq_lists_insert(&w->lists, q, (uint32_t)(start + i),
                      factor * (exact_length == 0 ? 0 : dot / exact_length) - mean);
    }
  }
}

static cq_status workers_new(top *t, size_t n_queries, size_t k, cq_context *ctx, cq_error *error) {
  t->n_workers = ctx ? (size_t)cq_context_n_threads(ctx) : 1;
  t->packed = cq_alloc_array((size_t)t->kernels->packed_floats((int64_t)t->dim, MAX_QUERIES), sizeof *t->packed);
  t->workers = cq_alloc_array_zeroed(t->n_workers, sizeof *t->workers);
  bool ok = t->packed && t->workers;
  for (size_t i = 0; ok && i < t->n_workers; i++) {
    t->workers[i].scores = cq_alloc_array(ROWS * MAX_QUERIES, sizeof(float));
    ok = t->workers[i].scores && cq_lists_new(&t->workers[i].lists, cq_min(n_queries, MAX_QUERIES), cq_min(k, t->n));
  }
  return ok ? CQ_OK : cq_fail_memory(error, "a search");
}

static void workers_free(top *t) {
  for (size_t i = 0; t->workers && i < t->n_workers; i++) {
    cq_free(t->workers[i].scores);
    cq_neighbors_free(&t->workers[i].lists);
  }
  cq_free(t->workers);
  cq_free(t->packed);
}

/* Runs one round of queries; the results go into out's lists from `first` on. */
static void run_round(top *t, cq_neighbors *out, size_t first, cq_context *ctx) {
  t->kernels->pack(t->packed, t->queries, 1, (int64_t)t->dim, (int64_t)t->dim, (int64_t)t->n_queries);
  for (size_t i = 0; i < t->n_workers; i++) cq_lists_clear(&t->workers[i].lists, 0, t->n_queries);
  cq_context_run(ctx, (t->n + ROWS - 1) / ROWS, score_block, t);
  for (size_t q = 0; q < t->n_queries; q++) {
    for (size_t i = 0; i < t->n_workers; i++) {
      const cq_neighbors *from = &t->workers[i].lists;
      for (size_t at = q * from->k; at < (q + 1) * from->k && from->index[at] != UINT32_MAX; at++)
        cq_lists_insert(out, first + q, from->index[at], from->cosine[at]);
    }
  }
}

cq_status cq_top_csls(cq_neighbors *out, const float *queries, size_t n_queries, const float *documents, size_t n,
                      size_t dim, size_t k, const cq_top_facts *facts, bool (*allowed)(const void *context, size_t row),
                      const void *context, cq_context *ctx, cq_error *error) {
  top t = {.documents = documents,
           .n = n,
           .dim = dim,
           .slack = (double)(dim + 8) * 0x1p-24,
           .allowed = allowed,
           .context = context,
           .kernels = cq_kernels_best()};
  double *lengths = NULL;
  if (facts) t.facts = *facts;
  *out = (cq_neighbors){0};
  if (dim == 0 || k == 0 || n >= UINT32_MAX)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a search for the %zu nearest of %zu rows of %zu numbers", k, n, dim);
  const cq_row_set rows = {.data = queries, .n = n_queries, .dim = dim};
  cq_status status = cq_exact_lengths(&lengths, &rows, "query", error);
  if (!status) status = workers_new(&t, n_queries, k, ctx, error);
  if (!status && !cq_lists_new(out, n_queries, k)) status = cq_fail_memory(error, "results");
  if (!status) cq_lists_clear(out, 0, n_queries);
  for (size_t first = 0; !status && first < n_queries; first += MAX_QUERIES) {
    t.queries = queries + first * dim, t.lengths = lengths + first;
    t.n_queries = cq_min(MAX_QUERIES, n_queries - first);
    run_round(&t, out, first, ctx);
  }
  workers_free(&t);
  cq_free(lengths);
  if (status) cq_neighbors_free(out);
  return status;
}

cq_status cq_top(cq_neighbors *out, const float *queries, size_t n_queries, const float *documents, size_t n,
                 size_t dim, size_t k, bool (*allowed)(const void *context, size_t row), const void *context,
                 cq_context *ctx, cq_error *error) {
  return cq_top_csls(out, queries, n_queries, documents, n, dim, k, NULL, allowed, context, ctx, error);
}
