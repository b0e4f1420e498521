/* Lists of neighbors from FAISS's candidates. See nearest_approximate.h. */
#include "search/nearest_approximate.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "search/approximate.h"
#include "search/lists.h"
#include "tensor/kernels.h"

#include <pthread.h>
#include <stdio.h>

enum { CHUNK = 512, SAMPLE = 1000, CANDIDATES = 16 }; /* CANDIDATES: at least, and four times k */

/* One direction: chunks of rows look for theirs. */
typedef struct looking {
  const cq_nearest_approximate_options *o;
  const cq_approximate *lists;
  cq_row_set x, y;
  const double *x_lengths, *y_lengths;
  size_t n_candidates, n_before, n_all; /* chunks of the other direction that are done; of both */
  cq_neighbors *out;
  pthread_mutex_t lock;
  size_t n_done;
} looking;

static void score_candidates(const looking *l, size_t i, const int64_t *rows) {
  const cq_kernels *kernels = cq_kernels_best();
  for (size_t k = 0; k < l->n_candidates; k++) {
    if (rows[k] < 0 || (size_t)rows[k] >= l->y.n) continue;
    const size_t j = (size_t)rows[k];
    const double length = l->x_lengths[i] * l->y_lengths[j];
    const double dot = kernels->exact_dot(cq_row(&l->x, i), cq_row(&l->y, j), (int64_t)l->x.dim);
    cq_lists_insert(l->out, i, (uint32_t)j, length == 0 ? 0 : dot / length);
  }
}

static cq_status find_chunk(void *context, size_t item, int worker, cq_error *error) {
  looking *l = context;
  const size_t first = item * CHUNK, n = cq_min(CHUNK, l->x.n - first), dim = l->x.dim;
  int64_t *rows = cq_alloc_array(n * l->n_candidates, sizeof *rows);
  float *unit = cq_alloc_array(n, dim * sizeof *unit);
  cq_status status = rows && unit ? CQ_OK : cq_fail_memory(error, "candidates");
  if (!status) {
    cq_kernels_best()->normalize(unit, NULL, cq_row(&l->x, first), (int64_t)n, (int64_t)dim);
    status = cq_approximate_candidates(rows, l->lists, unit, n, l->n_candidates, l->o->effort, error);
  }
  cq_lists_clear(l->out, first, n);
  for (size_t i = 0; !status && i < n; i++) score_candidates(l, first + i, rows + i * l->n_candidates);
  cq_free(rows), cq_free(unit);
  pthread_mutex_lock(&l->lock);
  const size_t n_done = l->n_before + ++l->n_done;
  pthread_mutex_unlock(&l->lock);
  return !status && worker == 0 && l->o->progress && !l->o->progress(l->o->progress_context, n_done, l->n_all)
             ? cq_fail(error, CQ_ERR_STOPPED, "stopped while searching")
             : status;
}

static cq_status find_direction(looking *l, cq_context *ctx, cq_error *error) {
  cq_approximate *lists = NULL;
  const size_t k = cq_min(l->o->k, l->y.n);
  cq_status status = cq_approximate_build(l->o->file, false, l->y.data, l->y.n, l->y.dim, ctx, error);
  if (!status) status = cq_approximate_open(&lists, l->o->file, l->y.n, l->y.dim, error);
  remove(l->o->file); /* it is open, or not needed */
  if (!status && !cq_lists_new(l->out, l->x.n, k)) status = cq_fail_memory(error, "lists of neighbors");
  l->lists = lists, l->n_candidates = cq_min(4 * k > CANDIDATES ? 4 * k : CANDIDATES, l->y.n), l->n_done = 0;
  if (!status) status = cq_context_try(ctx, (l->x.n + CHUNK - 1) / CHUNK, find_chunk, l, error);
  for (size_t i = 0; !status && i < l->x.n * k; i++)
    if (l->out->index[i] == UINT32_MAX) l->out->index[i] = l->out->index[i / k * k], l->out->cosine[i] = 0;
  cq_approximate_free(lists);
  return status;
}

/* How many of a sample have the exact nearest row first. */
static cq_status measure(double *recall, const cq_neighbors *found, const float *x, const float *y, size_t n_y,
                         size_t dim, cq_context *ctx, cq_error *error) {
  const size_t n = cq_min(SAMPLE, found->n), step = found->n / n;
  cq_nearest_options o = cq_nearest_default_options();
  uint32_t *rows = cq_alloc_array(n, sizeof *rows);
  cq_neighbors exact = {0};
  size_t n_same = 0;
  if (!rows) return cq_fail_memory(error, "a sample");
  for (size_t i = 0; i < n; i++) rows[i] = (uint32_t)(i * step);
  o.k = 1, o.x_rows = rows, o.first_pass = CQ_FIRST_INT8;
  const cq_status status = cq_nearest(&exact, NULL, x, n, y, n_y, dim, &o, ctx, error);
  for (size_t i = 0; !status && i < n; i++) n_same += exact.index[i] == found->index[rows[i] * found->k];
  *recall = (double)n_same / (double)n;
  cq_neighbors_free(&exact);
  cq_free(rows);
  return status;
}

cq_status cq_nearest_approximate(cq_neighbors *of_x, cq_neighbors *of_y, double *recall, const float *x, size_t n_x,
                                 const float *y, size_t n_y, size_t dim, const cq_nearest_approximate_options *options,
                                 cq_context *ctx, cq_error *error) {
  const size_t n_before = (n_x + CHUNK - 1) / CHUNK;
  const cq_row_set of[2] = {{.data = x, .n = n_x, .dim = dim}, {.data = y, .n = n_y, .dim = dim}};
  double *lengths[2] = {NULL, NULL};
  looking l = {.o = options, .n_all = n_before + (n_y + CHUNK - 1) / CHUNK};
  *of_x = *of_y = (cq_neighbors){0};
  pthread_mutex_init(&l.lock, NULL);
  cq_status status = cq_exact_lengths(&lengths[0], &of[0], "first", error);
  if (!status) status = cq_exact_lengths(&lengths[1], &of[1], "second", error);
  l.x = of[0], l.y = of[1], l.x_lengths = lengths[0], l.y_lengths = lengths[1], l.out = of_x;
  if (!status) status = find_direction(&l, ctx, error);
  if (!status) status = measure(recall, of_x, x, y, n_y, dim, ctx, error);
  l.x = of[1], l.y = of[0], l.x_lengths = lengths[1], l.y_lengths = lengths[0], l.out = of_y, l.n_before = n_before;
  if (!status) status = find_direction(&l, ctx, error);
  pthread_mutex_destroy(&l.lock);
  cq_free(lengths[0]), cq_free(lengths[1]);
  if (status) cq_neighbors_free(of_x), cq_neighbors_free(of_y);
  return status;
}
