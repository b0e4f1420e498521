/* The blocked pass.
 *
 *                        y, in chunks of a few MiB: scaled to length 1 and packed once
 *                       +-------------------------------+
 *                       | panel | panel | panel |       |   a panel is COLUMNS columns
 *                       +-------------------------------+
 *   x, in blocks    +---+-------+
 *   of ROWS rows,   |   |scores |   PART_ROWS x COLUMNS at a time, scanned at once and never stored
 *   one per worker  +---+-------+
 *
 * A score bounds the true cosine from above: an f32 product of unit rows plus the maximum error, or an int8
 * product plus its quantization error (tensor/int8.h), which is coarser and four times as fast. The cosine is computed,
 * in double precision, only if the score reaches the bound of its row or column. Bounds only rise: workers scan scores
 * with copies made at the start of their block, and check the current bound before computing. */
#include "search/pass.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "search/lists.h"
#include "tensor/int8.h"
#include "tensor/kernels.h"

#include <math.h>

enum { ROWS = 96, PART_ROWS = 24, COLUMNS = 64, WAITING = 32, CHUNK_BYTES = 16 << 20, CACHE_LINE = 64 };

static const double CHUNK_WORK =
    4e13; /* operations per chunk: progress and checkpoints come between chunks, at least every few minutes */

/* A pair whose score may matter: row i of x, row j of y. */
typedef struct place {
  uint32_t i, j;
  float score;
} place;

/* One worker's memory. */
typedef struct worker {
  float *unit;   /* [ROWS, dim] */
  uint8_t *left; /* the same in 8 bits, [ROWS, row bytes], and the terms of each row */
  cq_int8_terms terms[ROWS];
  float scores[PART_ROWS * COLUMNS];
  uint32_t hits[PART_ROWS * COLUMNS];
  float row_bounds[ROWS]; /* bounds of the block's rows and the chunk's columns, read at its beginning or later */
  float *column_bounds;
  place waiting[WAITING]; /* for y's row to come from memory */
  size_t n_waiting;
} worker;

struct cq_pass {
  cq_pass_of of;
  size_t dim;
  double *length_x, *length_y;
  double slack;         /* how far a true cosine may lie above its score */
  size_t chunk_columns; /* at most */
  size_t chunk, n_columns;
  unsigned char *packed;
  size_t panel_bytes;
  worker *workers;
  size_t n_workers;
  const cq_kernels *kernels;
  const cq_int8_kernels *int8; /* NULL: the first pass is in f32 */
};

float cq_pass_bound(const cq_pass *p, double cosine) {
  return nextafterf((float)(cosine - p->slack), -INFINITY);
}

static float row_bound(const cq_pass *p, size_t i) {
  return atomic_load_explicit(&p->of.x_bounds[i], memory_order_relaxed);
}

static float column_bound(const cq_pass *p, size_t j) {
  return p->of.y_bounds ? atomic_load_explicit(&p->of.y_bounds[j], memory_order_relaxed) : INFINITY;
}

/* --- scores --- */

/* n rows from `first` on, scaled to length 1; zero rows stay zero. */
static void unit_pass_rows(float *unit, const cq_row_set *rows, const double *lengths, size_t first, size_t n) {
  for (size_t i = 0; i < n; i++, unit += rows->dim) {
    const float *row = cq_row(rows, first + i);
    const double length = lengths[first + i], scale = length > 0 ? 1 / length : 0;
    for (size_t d = 0; d < rows->dim; d++) unit[d] = (float)((double)row[d] * scale);
  }
}

static void pack_panel(void *context, size_t panel, int w) {
  cq_pass *p = context;
  const size_t first = p->chunk + panel * COLUMNS, n = cq_min(COLUMNS, p->chunk + p->n_columns - first);
  const int64_t dim = (int64_t)p->dim;
  unsigned char *packed = p->packed + panel * p->panel_bytes;
  float *unit = p->workers[w].unit;
  unit_pass_rows(unit, &p->of.y, p->length_y, first, n);
  if (p->int8)
    p->int8->quantize_right(packed, unit, (int64_t)n, dim);
  else
    p->kernels->pack((float *)(void *)packed, unit, 1, dim, dim, (int64_t)n);
}

/* The scores of n of the block's rows, from `first` on, with a panel's columns. */
static void score_panel(const cq_pass *p, worker *w, size_t first, size_t n, size_t panel, size_t width) {
  const unsigned char *packed = p->packed + panel * p->panel_bytes;
  const int64_t dim = (int64_t)p->dim;
  if (p->int8)
    p->int8->bounds(w->scores, COLUMNS, w->left + first * (size_t)cq_int8_row_bytes(dim), w->terms + first, packed,
                    (int64_t)n, (int64_t)width, dim);
  else
    p->kernels->product(w->scores, COLUMNS, w->unit + first * p->dim, dim, (const float *)(const void *)packed,
                        (int64_t)n, (int64_t)width, dim, NULL);
}

/* --- where a score reaches a bound --- */

static void settle_place(const cq_pass *p, int number, size_t start, place at) {
  worker *w = &p->workers[number];
  if (at.score < row_bound(p, at.i) && at.score < column_bound(p, at.j)) return; /* they have risen meanwhile */
  const double length = p->length_x[at.i] * p->length_y[at.j];
  const double dot =
      length == 0 ? 0 : p->kernels->exact_dot(cq_row(&p->of.x, at.i), cq_row(&p->of.y, at.j), (int64_t)p->dim) / length;
  p->of.found(p->of.context, number, at.i, at.j, dot);
  w->row_bounds[at.i - start] = row_bound(p, at.i);
  w->column_bounds[at.j - p->chunk] = column_bound(p, at.j);
}

static void settle_all(const cq_pass *p, int number, size_t start) {
  worker *w = &p->workers[number];
  for (size_t h = 0; h < w->n_waiting; h++) settle_place(p, number, start, w->waiting[h]);
  w->n_waiting = 0;
}

static void wait_for(const cq_pass *p, int number, size_t start, place at) {
  worker *w = &p->workers[number];
  if (p->of.within && at.j >= at.i) return;
  const char *row = (const char *)cq_row(&p->of.y, at.j);
  for (size_t byte = 0; byte < p->dim * sizeof(float); byte += CACHE_LINE) __builtin_prefetch(row + byte, 0, 2);
  w->waiting[w->n_waiting++] = at;
  if (w->n_waiting == WAITING) settle_all(p, number, start);
}

/* --- the pass --- */

/* The block of n rows from `start` on against one panel: columns of the chunk from `first` on. */
static void match_panel(const cq_pass *p, int number, size_t start, size_t n, size_t first) {
  worker *w = &p->workers[number];
  const size_t width = cq_min(COLUMNS, p->n_columns - first);
  for (size_t r = 0; r < n; r += PART_ROWS) {
    const size_t height = cq_min(PART_ROWS, n - r);
    score_panel(p, w, r, height, first / COLUMNS, width);
    const int64_t n_hits = p->kernels->at_least(w->hits, w->scores, COLUMNS, w->row_bounds + r,
                                                w->column_bounds + first, (int64_t)height, (int64_t)width);
    for (int64_t h = 0; h < n_hits; h++) {
      const uint32_t row = w->hits[h] >> 16, column = w->hits[h] & 0xFFFF;
      wait_for(p, number, start,
               (place){(uint32_t)(start + r) + row, (uint32_t)(p->chunk + first) + column,
                       w->scores[row * COLUMNS + column]});
    }
  }
}

/* Within one matrix, blocks before the chunk's first row have no pairs to compare. */
static size_t first_row(const cq_pass *p) {
  return p->of.within ? p->chunk / ROWS * ROWS : 0;
}

static void match_pass_block(void *context, size_t block, int number) {
  cq_pass *p = context;
  worker *w = &p->workers[number];
  const size_t start = first_row(p) + block * ROWS, n = cq_min(ROWS, p->of.x.n - start);
  unit_pass_rows(w->unit, &p->of.x, p->length_x, start, n);
  if (p->int8) p->int8->quantize_left(w->left, w->terms, w->unit, (int64_t)n, (int64_t)p->dim);
  for (size_t i = 0; i < n; i++) w->row_bounds[i] = row_bound(p, start + i);
  for (size_t j = 0; j < p->n_columns; j++) w->column_bounds[j] = column_bound(p, p->chunk + j);
  for (size_t first = 0; first < p->n_columns; first += COLUMNS) {
    if (p->of.within && p->chunk + first >= start + n) break; /* above the diagonal */
    match_panel(p, number, start, n, first);
  }
  settle_all(p, number, start);
}

size_t cq_pass_run(cq_pass *p, size_t done, cq_context *ctx) {
  p->chunk = done;
  p->n_columns = cq_min(p->chunk_columns, p->of.y.n - done);
  cq_context_run(ctx, (p->n_columns + COLUMNS - 1) / COLUMNS, pack_panel, p);
  cq_context_run(ctx, (p->of.x.n - first_row(p) + ROWS - 1) / ROWS, match_pass_block, p);
  return done + p->n_columns;
}

/* --- memory --- */

static bool worker_new(worker *w, const cq_pass *p) {
  w->unit = cq_alloc_array(ROWS, p->dim * sizeof *w->unit);
  w->left = cq_alloc_array(ROWS, (size_t)cq_int8_row_bytes((int64_t)p->dim));
  w->column_bounds = cq_alloc_array(p->chunk_columns, sizeof *w->column_bounds);
  return w->unit && w->left && w->column_bounds;
}

static bool allocate_pass(cq_pass *p, cq_context *ctx) {
  p->kernels = cq_kernels_best();
  p->int8 = p->of.first_pass == CQ_FIRST_INT8 && p->dim <= CQ_INT8_MAX_DIM ? cq_int8_best() : NULL;
  /* Two unit vectors rounded to f32 and a sum of dim products, each with a relative error of 2^-24, plus a little for
   * the rounding of the bounds. Sums of 8-bit products are exact. */
  p->slack = (double)(p->int8 ? 16 : p->dim + 8) * 0x1p-24;
  p->panel_bytes = p->int8 ? cq_int8_packed_bytes(COLUMNS, (int64_t)p->dim)
                           : (size_t)p->kernels->packed_floats((int64_t)p->dim, COLUMNS) * sizeof(float);
  p->panel_bytes = (p->panel_bytes + CQ_ALIGNMENT - 1) / CQ_ALIGNMENT * CQ_ALIGNMENT;
  const size_t panels = CHUNK_BYTES / p->panel_bytes, needed = (p->of.y.n + COLUMNS - 1) / COLUMNS;
  const double work = 2.0 * (double)p->dim * COLUMNS * (double)(p->of.x.n + 1);
  const size_t timely = (size_t)(CHUNK_WORK / work) + 1;
  p->chunk_columns = (panels == 0 ? 1 : cq_min(panels, cq_min(needed, timely))) * COLUMNS;
  p->n_workers = ctx ? (size_t)cq_context_n_threads(ctx) : 1;
  p->packed = cq_alloc_array(p->chunk_columns / COLUMNS, p->panel_bytes);
  p->workers = cq_alloc_array_zeroed(p->n_workers, sizeof *p->workers);
  if (!p->packed || !p->workers) return false;
  for (size_t i = 0; i < p->n_workers; i++)
    if (!worker_new(&p->workers[i], p)) return false;
  return true;
}

cq_status cq_pass_open(cq_pass **out, const cq_pass_of *of, cq_context *ctx, cq_error *error) {
  *out = NULL;
  if (of->x.dim == 0) return cq_fail(error, CQ_ERR_ARGUMENT, "nearest neighbors of vectors without numbers");
  if (of->x.n >= UINT32_MAX || of->y.n >= UINT32_MAX)
    return cq_fail(error, CQ_ERR_ARGUMENT, "nearest neighbors: %zu and %zu rows, expected below 2^32 - 1", of->x.n,
                   of->y.n);
  cq_pass *p = cq_alloc_zeroed(sizeof *p);
  if (!p) return cq_fail_memory(error, "a search");
  p->of = *of, p->dim = of->x.dim;
  cq_status status = cq_exact_lengths(&p->length_x, &of->x, of->within ? "given" : "first", error);
  if (!status && of->within)
    p->length_y = p->length_x;
  else if (!status)
    status = cq_exact_lengths(&p->length_y, &of->y, "second", error);
  if (!status && !allocate_pass(p, ctx)) status = cq_fail_memory(error, "a search");
  if (status) cq_pass_free(p);
  *out = status ? NULL : p;
  return status;
}

void cq_pass_free(cq_pass *p) {
  if (!p) return;
  for (size_t i = 0; p->workers && i < p->n_workers; i++) {
    cq_free(p->workers[i].unit);
    cq_free(p->workers[i].left);
    cq_free(p->workers[i].column_bounds);
  }
  cq_free(p->workers);
  cq_free(p->packed);
  if (p->length_y != p->length_x) cq_free(p->length_y);
  cq_free(p->length_x);
  cq_free(p);
}
