/* All pairs above a cosine: the pass of pass.c with one bound for all rows. Each thread keeps its own results; sorting
 * makes their order independent of the threads. */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "search/pass.h"
#include "search/search_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct finds {
  cq_near_pair *pairs;
  size_t n, capacity;
  bool failed;
} finds;

typedef struct gathering {
  double min_cosine;
  size_t max_pairs;
  atomic_size_t n; /* found by all threads */
  _Atomic float *bounds;
  size_t n_rows;
  finds *of_worker; /* [n_workers] */
} gathering;

static void keep_pair(void *context, int worker, size_t i, size_t j, double cosine) {
  gathering *g = context;
  finds *f = &g->of_worker[worker];
  if (cosine < g->min_cosine || f->failed) return;
  const size_t n_before = atomic_fetch_add_explicit(&g->n, 1, memory_order_relaxed);
  if (n_before == g->max_pairs) /* one too many: the rest is not needed */
    for (size_t row = 0; row < g->n_rows; row++) atomic_store_explicit(&g->bounds[row], INFINITY, memory_order_relaxed);
  if (n_before >= g->max_pairs) return;
  f->failed = !cq_reserve((void **)&f->pairs, &f->capacity, f->n + 1, sizeof *f->pairs);
  if (!f->failed) f->pairs[f->n++] = (cq_near_pair){(uint32_t)i, (uint32_t)j, cosine};
}

static int near_by_rows(const void *a, const void *b) {
  const cq_near_pair *p = a, *q = b;
  if (p->row != q->row) return p->row < q->row ? -1 : 1;
  return (p->other > q->other) - (p->other < q->other);
}

static cq_status count_near_pairs(size_t *n, gathering *g, size_t n_workers, cq_error *error) {
  for (size_t w = 0; w < n_workers; w++)
    if (g->of_worker[w].failed) return cq_fail_memory(error, "near pairs");
  *n = atomic_load_explicit(&g->n, memory_order_relaxed);
  return *n <= g->max_pairs ? CQ_OK
                            : cq_fail(error, CQ_ERR_LIMIT, "more than %zu pairs have a cosine of %g or more",
                                      g->max_pairs, g->min_cosine);
}

static cq_status bring_together(cq_near_pair **out, size_t *n, gathering *g, size_t n_workers, cq_error *error) {
  cq_status status = count_near_pairs(n, g, n_workers, error);
  if (status || *n == 0) return status;
  size_t at = 0;
  *out = cq_alloc_array(*n, sizeof **out);
  if (!*out) return cq_fail_memory(error, "near pairs");
  for (size_t w = 0; w < n_workers; w++) {
    const finds *f = &g->of_worker[w];
    if (f->n) memcpy(*out + at, f->pairs, f->n * sizeof *f->pairs);
    at += f->n;
  }
  qsort(*out, *n, sizeof **out, near_by_rows);
  return CQ_OK;
}

static cq_status run_near_pairs(gathering *g, cq_pass *pass, size_t n_rows, size_t n_workers,
                                const cq_nearest_options *o, cq_context *ctx, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t done = 0, n; !status && done < n_rows;) {
    done = cq_pass_run(pass, done, ctx);
    status = count_near_pairs(&n, g, n_workers, error);
    if (!status && o->progress && !o->progress(o->progress_context, done, n_rows))
      status = cq_fail(error, CQ_ERR_STOPPED, "stopped after %zu of %zu rows", done, n_rows);
  }
  return status;
}

cq_status cq_near_pairs(cq_near_pair **out, size_t *n_pairs, const float *x, size_t n, size_t dim, double min_cosine,
                        size_t max_pairs, const cq_nearest_options *options, cq_context *ctx, cq_error *error) {
  cq_nearest_options o;
  *out = NULL, *n_pairs = 0;
  cq_status status = cq_options_take(&o, &cq_group_nearest, options, error);
  if (status) return status;
  const size_t n_workers = ctx ? (size_t)cq_context_n_threads(ctx) : 1;
  _Atomic float *bounds = cq_alloc_array(n, sizeof *bounds);
  gathering g = {.min_cosine = min_cosine,
                 .max_pairs = max_pairs,
                 .bounds = bounds,
                 .n_rows = n,
                 .of_worker = cq_alloc_array_zeroed(n_workers, sizeof *g.of_worker)};
  const cq_row_set rows = {.data = x, .at = o.x_rows, .n = n, .dim = dim};
  const cq_pass_of of = {.x = rows,
                         .y = rows,
                         .within = true,
                         .first_pass = o.first_pass,
                         .x_bounds = bounds,
                         .found = keep_pair,
                         .context = &g};
  cq_pass *pass = NULL;
  status = g.of_worker && bounds ? cq_pass_open(&pass, &of, ctx, error) : cq_fail_memory(error, "near pairs");
  for (size_t i = 0; !status && i < n; i++)
    atomic_store_explicit(&bounds[i], cq_pass_bound(pass, min_cosine), memory_order_relaxed);
  if (!status) status = run_near_pairs(&g, pass, n, n_workers, &o, ctx, error);
  if (!status) status = bring_together(out, n_pairs, &g, n_workers, error);
  for (size_t w = 0; g.of_worker && w < n_workers; w++) cq_free(g.of_worker[w].pairs);
  cq_pass_free(pass);
  cq_free((void *)bounds);
  cq_free(g.of_worker);
  if (status) *n_pairs = 0;
  return status;
}
