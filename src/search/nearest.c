/* Nearest neighbours of both sides from one blocked pass.
 *
 *                        y, in chunks of a few MiB: scaled to length 1 and packed once
 *                       +-------------------------------+
 *                       |  strip  |  strip  |           |   a strip is WIDTH columns
 *                       +-------------------------------+
 *   x, in blocks    +---+---------+
 *   of ROWS rows,   |   | bounds  | ROWS x WIDTH, looked through at once and never stored
 *   one a worker    +---+---------+
 *
 * An f32 product of unit rows, plus the most it can be wrong by, bounds the true cosine from above; so does an 8-bit product
 * with its own rests (tensor/int8.h), which is coarser and four times as fast. Only where the bound
 * reaches the least cosine kept of its row or of its column is the cosine computed, in double precision; each list keeps
 * its best k by (cosine, index). What is kept is therefore exact whatever the order of the work, and a list's least
 * cosine rises so fast that a row of a million meets some dozens of such places. Adversaries (all rows alike) cost time,
 * never exactness.
 *
 * A row's list belongs to the worker that has its block. A column's lists, one a worker, live as long as their chunk and
 * are merged at its end. Within one matrix the pairs below the diagonal are looked at, each for both its rows. */
#include "calque/nearest.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "search/lists.h"
#include "search/resume.h"
#include "tensor/int8.h"
#include "tensor/kernels.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

enum { ROWS = 96, WIDTH = 256, CHUNK_BYTES = 8 << 20, MERGE_COLUMNS = 1024 };

/* One worker's memory. */
typedef struct worker {
  float *unit;   /* [max(ROWS, WIDTH), dim] */
  uint8_t *left; /* the same in 8 bits, [ROWS, row bytes], and what stands beside each row */
  cq_int8_terms terms[ROWS];
  float *scores; /* [ROWS, WIDTH] */
  uint32_t *hits;
  cq_neighbours columns; /* [columns of a chunk, k_y] */
  float *column_bounds;  /* [columns of a chunk] */
} worker;

typedef struct pass {
  const float *x, *y;
  size_t n_x, n_y, dim;
  double *length_x, *length_y;
  cq_neighbours *of_x, *of_y; /* of_y NULL: not wanted */
  bool within;                /* x is y, and of_x is for both */
  size_t k_columns;           /* of the columns' lists; 0: none */
  float *row_bounds;          /* [n_x] what a score must reach to matter to its row */
  double slack;               /* how far a true cosine may lie above its score */
  size_t chunk_columns, chunk, n_columns;
  unsigned char *packed;
  size_t strip_bytes;
  worker *workers;
  size_t n_workers;
  const cq_kernels *kernels;
  const cq_int8_kernels *int8; /* NULL: the first pass is in f32 */
} pass;

cq_nearest_options cq_nearest_default_options(void) {
  return (cq_nearest_options){.k = 4, .checkpoint_every_s = 60};
}

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* The least score that may belong to a cosine that the list would take: rounded down. */
static float bound_of(const pass *p, const cq_neighbours *lists, size_t row) {
  return nextafterf((float)(cq_lists_least(lists, row) - p->slack), -INFINITY);
}

/* --- vectors --- */

static double cosine(const pass *p, size_t i, size_t j) {
  const double length = p->length_x[i] * p->length_y[j];
  return length == 0 ? 0 : cq_exact_dot(p->x + i * p->dim, p->y + j * p->dim, p->dim) / length;
}

/* Rows scaled to length 1; zero rows stay zero. */
static void unit_rows(float *unit, const float *rows, const double *lengths, size_t n, size_t dim) {
  for (size_t i = 0; i < n; i++) {
    const double scale = lengths[i] > 0 ? 1 / lengths[i] : 0;
    for (size_t d = 0; d < dim; d++) unit[i * dim + d] = (float)((double)rows[i * dim + d] * scale);
  }
}

/* --- the pass --- */

static void pack_strip(void *context, size_t strip, int w) {
  pass *p = context;
  const size_t first = p->chunk + strip * WIDTH, n = smaller(WIDTH, p->chunk + p->n_columns - first);
  const int64_t dim = (int64_t)p->dim;
  unsigned char *packed = p->packed + strip * p->strip_bytes;
  float *unit = p->workers[w].unit;
  unit_rows(unit, p->y + first * p->dim, p->length_y + first, n, p->dim);
  if (p->int8)
    p->int8->quantize_right(packed, unit, (int64_t)n, dim);
  else
    p->kernels->pack((float *)(void *)packed, unit, 1, dim, dim, (int64_t)n);
}

/* Scores of a block's n rows, scaled and quantised already, with a strip's columns. */
static void score(const pass *p, worker *w, size_t strip, size_t n, size_t width) {
  const unsigned char *packed = p->packed + strip * p->strip_bytes;
  const int64_t dim = (int64_t)p->dim;
  if (p->int8)
    p->int8->bounds(w->scores, WIDTH, w->left, w->terms, packed, (int64_t)n, (int64_t)width, dim);
  else
    p->kernels->product(w->scores, WIDTH, w->unit, dim, (const float *)(const void *)packed, (int64_t)n, (int64_t)width,
                        dim, NULL);
}

/* A place whose score may matter: row i of x, column j of the chunk. */
static void consider(const pass *p, worker *w, size_t i, size_t j, float bound) {
  const bool for_row = bound >= p->row_bounds[i], for_column = bound >= w->column_bounds[j];
  if (!for_row && !for_column) return; /* a bound has risen since the strip was looked through */
  if (p->within && p->chunk + j >= i) return;
  const double c = cosine(p, i, p->chunk + j);
  if (for_row) {
    cq_lists_insert(p->of_x, i, (uint32_t)(p->chunk + j), c);
    p->row_bounds[i] = bound_of(p, p->of_x, i);
  }
  if (for_column) {
    cq_lists_insert(&w->columns, j, (uint32_t)i, c);
    w->column_bounds[j] = bound_of(p, &w->columns, j);
  }
}

static void match_block(void *context, size_t block, int worker_index) {
  pass *p = context;
  worker *w = &p->workers[worker_index];
  const size_t start = (p->within ? p->chunk / ROWS * ROWS : 0) + block * ROWS, n = smaller(ROWS, p->n_x - start);
  unit_rows(w->unit, p->x + start * p->dim, p->length_x + start, n, p->dim);
  if (p->int8) p->int8->quantize_left(w->left, w->terms, w->unit, (int64_t)n, (int64_t)p->dim);
  for (size_t strip = 0, first = 0; first < p->n_columns; strip++, first += WIDTH) {
    const size_t width = smaller(WIDTH, p->n_columns - first);
    if (p->within && p->chunk + first >= start + n) break; /* above the diagonal */
    score(p, w, strip, n, width);
    const int64_t n_hits = p->kernels->at_least(w->hits, w->scores, WIDTH, p->row_bounds + start,
                                                w->column_bounds + first, (int64_t)n, (int64_t)width);
    for (int64_t h = 0; h < n_hits; h++) {
      const size_t row = w->hits[h] >> 16, column = w->hits[h] & 0xFFFF;
      consider(p, w, start + row, first + column, w->scores[row * WIDTH + column]);
    }
  }
}

static void clear_columns(void *context, size_t slice, int unused) {
  pass *p = context;
  (void)unused;
  const size_t first = slice * MERGE_COLUMNS, n = smaller(MERGE_COLUMNS, p->n_columns - first);
  for (size_t i = 0; i < p->n_workers; i++) {
    worker *w = &p->workers[i];
    if (p->k_columns) cq_lists_clear(&w->columns, first, n);
    for (size_t j = first; j < first + n; j++)
      w->column_bounds[j] = !p->k_columns ? INFINITY : p->within ? p->row_bounds[p->chunk + j] : -INFINITY;
  }
}

/* The workers' lists of some columns, brought together. */
static void merge_columns(void *context, size_t slice, int unused) {
  pass *p = context;
  (void)unused;
  cq_neighbours *to = p->within ? p->of_x : p->of_y;
  const size_t first = slice * MERGE_COLUMNS, n = smaller(MERGE_COLUMNS, p->n_columns - first);
  for (size_t j = first; j < first + n; j++) {
    for (size_t i = 0; i < p->n_workers; i++) {
      const cq_neighbours *from = &p->workers[i].columns;
      for (size_t at = j * from->k; at < (j + 1) * from->k && from->index[at] != UINT32_MAX; at++)
        cq_lists_insert(to, p->chunk + j, from->index[at], from->cosine[at]);
    }
    if (p->within) p->row_bounds[p->chunk + j] = bound_of(p, to, p->chunk + j);
  }
}

static void run_chunk(pass *p, cq_pool *pool) {
  const size_t slices = (p->n_columns + MERGE_COLUMNS - 1) / MERGE_COLUMNS;
  const size_t skipped = p->within ? p->chunk / ROWS * ROWS : 0;
  cq_pool_run(pool, (p->n_columns + WIDTH - 1) / WIDTH, pack_strip, p);
  cq_pool_run(pool, slices, clear_columns, p);
  cq_pool_run(pool, (p->n_x - skipped + ROWS - 1) / ROWS, match_block, p);
  if (p->k_columns) cq_pool_run(pool, slices, merge_columns, p);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static cq_status run_chunks(pass *p, const cq_nearest_options *o, cq_pool *pool, cq_error *error) {
  const uint64_t key = o->checkpoint ? cq_search_key(p->x, p->n_x, p->y, p->n_y, p->dim, o->k, p->within) : 0;
  double saved = seconds();
  size_t done = 0;
  cq_status status = o->checkpoint ? cq_search_load(&done, o->checkpoint, key, p->of_x, p->of_y, error) : CQ_OK;
  for (size_t i = 0; !status && i < p->n_x; i++) p->row_bounds[i] = bound_of(p, p->of_x, i);
  while (!status && done < p->n_y) {
    p->chunk = done;
    p->n_columns = smaller(p->chunk_columns, p->n_y - done);
    run_chunk(p, pool);
    done += p->n_columns;
    const bool stop = o->progress && !o->progress(o->progress_context, done, p->n_y);
    if (o->checkpoint && done < p->n_y && (stop || seconds() - saved >= o->checkpoint_every_s)) {
      status = cq_search_save(o->checkpoint, key, done, p->of_x, p->of_y, error);
      saved = seconds();
    }
    if (!status && stop) status = cq_fail(error, CQ_ERR_STOPPED, "stopped after %zu of %zu rows", done, p->n_y);
  }
  if (!status && o->checkpoint) remove(o->checkpoint);
  return status;
}

/* --- memory --- */

static bool worker_new(worker *w, const pass *p) {
  const size_t unit_rows_held = WIDTH > ROWS ? WIDTH : ROWS;
  w->unit = cq_alloc_array(unit_rows_held, p->dim * sizeof *w->unit);
  w->left = cq_alloc_array(ROWS, (size_t)cq_int8_row_bytes((int64_t)p->dim));
  w->scores = cq_alloc_array(ROWS * WIDTH, sizeof *w->scores);
  w->hits = cq_alloc_array(ROWS * WIDTH, sizeof *w->hits);
  w->column_bounds = cq_alloc_array(p->chunk_columns, sizeof *w->column_bounds);
  return w->unit && w->left && w->scores && w->hits && w->column_bounds &&
         (!p->k_columns || cq_lists_new(&w->columns, p->chunk_columns, p->k_columns));
}

static bool pass_new(pass *p, cq_first_pass first_pass, cq_pool *pool) {
  p->kernels = cq_kernels_best();
  p->int8 = first_pass == CQ_FIRST_INT8 && p->dim <= CQ_INT8_MAX_DIM ? cq_int8_best() : NULL;
  /* Two unit vectors rounded to f32, a sum of dim products, each within a relative 2^-24, and a little for the rounding of
   * the bounds themselves. Sums of 8-bit products are exact. */
  p->slack = (double)(p->int8 ? 16 : p->dim + 8) * 0x1p-24;
  /* A chunk: packed, in the last-level cache; the columns' lists of one worker take no more. */
  const size_t column_bytes = p->dim * (p->int8 ? 1 : sizeof(float)),
               list_bytes = p->k_columns * (sizeof(double) + sizeof(uint32_t));
  p->chunk_columns = CHUNK_BYTES / (column_bytes > list_bytes ? column_bytes : list_bytes) / WIDTH * WIDTH;
  if (p->chunk_columns < WIDTH) p->chunk_columns = WIDTH;
  p->chunk_columns = smaller(p->chunk_columns, (p->n_y + WIDTH - 1) / WIDTH * WIDTH);
  p->strip_bytes = p->int8 ? cq_int8_packed_bytes(WIDTH, (int64_t)p->dim)
                           : (size_t)p->kernels->packed_floats((int64_t)p->dim, WIDTH) * sizeof(float);
  p->strip_bytes = (p->strip_bytes + CQ_ALIGNMENT - 1) / CQ_ALIGNMENT * CQ_ALIGNMENT;
  p->n_workers = pool ? (size_t)cq_pool_n_threads(pool) : 1;
  p->packed = cq_alloc_array(p->chunk_columns / WIDTH, p->strip_bytes);
  p->row_bounds = cq_alloc_array(p->n_x, sizeof *p->row_bounds);
  p->workers = cq_alloc_array_zeroed(p->n_workers, sizeof *p->workers);
  if (!p->packed || !p->row_bounds || !p->workers) return false;
  for (size_t i = 0; i < p->n_workers; i++)
    if (!worker_new(&p->workers[i], p)) return false;
  return true;
}

static void pass_free(pass *p) {
  for (size_t i = 0; p->workers && i < p->n_workers; i++) {
    worker *w = &p->workers[i];
    cq_free(w->unit);
    cq_free(w->left);
    cq_free(w->scores);
    cq_free(w->hits);
    cq_free(w->column_bounds);
    cq_neighbours_free(&w->columns);
  }
  cq_free(p->workers);
  cq_free(p->row_bounds);
  cq_free(p->packed);
  if (p->length_y != p->length_x) cq_free(p->length_y);
  cq_free(p->length_x);
}

/* --- the two ways in --- */

static cq_status search(pass *p, const cq_nearest_options *options, cq_pool *pool, cq_error *error) {
  const cq_nearest_options o = options ? *options : cq_nearest_default_options();
  const size_t others_of_x = p->within ? p->n_x - (p->n_x > 0) : p->n_y;
  cq_neighbours of_x = {0}, of_y = {0}, *want_y = p->of_y, *want_x = p->of_x;
  cq_status status = CQ_OK;
  if (p->dim == 0 || o.k == 0)
    return cq_fail(error, CQ_ERR_ARGUMENT, "nearest neighbours: dim is %zu, k is %zu, expected 1 or more", p->dim, o.k);
  if (p->n_x >= UINT32_MAX || p->n_y >= UINT32_MAX)
    return cq_fail(error, CQ_ERR_ARGUMENT, "nearest neighbours: %zu and %zu rows, expected below 2^32 - 1", p->n_x,
                   p->n_y);
  p->of_x = &of_x, p->of_y = want_y ? &of_y : NULL;
  if (!cq_lists_new(&of_x, p->n_x, smaller(o.k, others_of_x)) ||
      (want_y && !cq_lists_new(&of_y, p->n_y, smaller(o.k, p->n_x)))) {
    status = cq_fail_memory(error, "neighbours");
    goto done;
  }
  cq_lists_clear(&of_x, 0, p->n_x);
  if (want_y) cq_lists_clear(&of_y, 0, p->n_y);
  p->k_columns = p->within ? of_x.k : of_y.k;
  status = cq_exact_lengths(&p->length_x, p->x, p->n_x, p->dim, p->within ? "given" : "first", error);
  if (!status && p->within)
    p->length_y = p->length_x;
  else if (!status)
    status = cq_exact_lengths(&p->length_y, p->y, p->n_y, p->dim, "second", error);
  if (status || of_x.k == 0) goto done; /* nothing to find */
  status = pass_new(p, o.first_pass, pool) ? run_chunks(p, &o, pool, error) : cq_fail_memory(error, "a search");
done:
  pass_free(p);
  if (status) {
    cq_neighbours_free(&of_x);
    cq_neighbours_free(&of_y);
  }
  *want_x = of_x, p->of_x = want_x;
  if (want_y) *want_y = of_y;
  p->of_y = want_y;
  return status;
}

cq_status cq_nearest(cq_neighbours *of_x, cq_neighbours *of_y, const float *x, size_t n_x, const float *y, size_t n_y,
                     size_t dim, const cq_nearest_options *options, cq_pool *pool, cq_error *error) {
  pass p = {.x = x, .y = y, .n_x = n_x, .n_y = n_y, .dim = dim, .of_x = of_x, .of_y = of_y};
  return search(&p, options, pool, error);
}

cq_status cq_nearest_within(cq_neighbours *out, const float *x, size_t n, size_t dim, const cq_nearest_options *options,
                            cq_pool *pool, cq_error *error) {
  pass p = {.x = x, .y = x, .n_x = n, .n_y = n, .dim = dim, .of_x = out, .within = true};
  return search(&p, options, pool, error);
}
