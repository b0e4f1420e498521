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
 * An f32 product of unit rows, plus the most it can be wrong by, bounds the true cosine from above. Only where the bound
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
#include "tensor/kernels.h"

#include <math.h>
#include <string.h>

enum { ROWS = 96, WIDTH = 256, CHUNK_BYTES = 8 << 20, MERGE_COLUMNS = 1024 };

/* One worker's memory. */
typedef struct worker {
  float *unit;   /* [max(ROWS, WIDTH), dim] */
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
  double slack;               /* how far a true cosine may lie above its f32 score */
  size_t chunk_columns, chunk, n_columns;
  float *packed;
  size_t strip_floats;
  worker *workers;
  size_t n_workers;
  const cq_kernels *kernels;
} pass;

cq_nearest_options cq_nearest_default_options(void) {
  return (cq_nearest_options){.k = 4};
}

void cq_neighbours_free(cq_neighbours *neighbours) {
  cq_free(neighbours->index);
  cq_free(neighbours->cosine);
  *neighbours = (cq_neighbours){0};
}

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

/* --- lists --- */

static bool lists_new(cq_neighbours *out, size_t n, size_t k) {
  size_t count;
  *out = (cq_neighbours){.n = n, .k = k};
  if (!cq_checked_mul(&count, n, k)) return false;
  out->index = cq_alloc_array(count, sizeof *out->index);
  out->cosine = cq_alloc_array(count, sizeof *out->cosine);
  return out->index && out->cosine;
}

static void lists_clear(cq_neighbours *lists, size_t first, size_t n) {
  for (size_t i = first * lists->k; i < (first + n) * lists->k; i++) {
    lists->cosine[i] = -INFINITY;
    lists->index[i] = UINT32_MAX;
  }
}

/* Puts a neighbour where it belongs, or nowhere. */
static void insert(cq_neighbours *lists, size_t row, uint32_t index, double cosine) {
  double *cosines = lists->cosine + row * lists->k;
  uint32_t *indices = lists->index + row * lists->k;
  size_t at = lists->k;
  for (; at > 0 && (cosine > cosines[at - 1] || (cosine == cosines[at - 1] && index < indices[at - 1])); at--)
    if (at < lists->k) cosines[at] = cosines[at - 1], indices[at] = indices[at - 1];
  if (at == lists->k) return;
  cosines[at] = cosine;
  indices[at] = index;
}

/* The least score that may belong to a cosine that the list would take: rounded down. */
static float bound_of(const pass *p, const cq_neighbours *lists, size_t row) {
  return nextafterf((float)(lists->cosine[(row + 1) * lists->k - 1] - p->slack), -INFINITY);
}

/* --- vectors --- */

enum { PARTS = 8 };

/* In double precision; eight partial sums, because one would wait for itself at every step. */
static double dot(const float *x, const float *y, size_t dim) {
  double parts[PARTS] = {0}, sum = 0;
  size_t d = 0;
  for (; d + PARTS <= dim; d += PARTS)
    for (size_t i = 0; i < PARTS; i++) parts[i] += (double)x[d + i] * (double)y[d + i];
  for (; d < dim; d++) sum += (double)x[d] * (double)y[d];
  for (size_t i = 0; i < PARTS; i++) sum += parts[i];
  return sum;
}

static double cosine(const pass *p, size_t i, size_t j) {
  const double length = p->length_x[i] * p->length_y[j];
  return length == 0 ? 0 : dot(p->x + i * p->dim, p->y + j * p->dim, p->dim) / length;
}

static cq_status lengths_of(double **out, const float *rows, size_t n, size_t dim, const char *side, cq_error *error) {
  double *lengths = cq_alloc_array(n, sizeof *lengths);
  if (!lengths) return cq_fail_memory(error, "lengths of vectors");
  *out = lengths;
  for (size_t i = 0; i < n; i++) {
    lengths[i] = sqrt(dot(rows + i * dim, rows + i * dim, dim));
    if (!isfinite(lengths[i]))
      return cq_fail(error, CQ_ERR_ARGUMENT, "row %zu of the %s vectors holds a number that is not finite", i + 1,
                     side);
  }
  return CQ_OK;
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
  float *unit = p->workers[w].unit;
  unit_rows(unit, p->y + first * p->dim, p->length_y + first, n, p->dim);
  p->kernels->pack(p->packed + strip * p->strip_floats, unit, 1, (int64_t)p->dim, (int64_t)p->dim, (int64_t)n);
}

/* A place whose score may matter: row i of x, column j of the chunk. */
static void consider(const pass *p, worker *w, size_t i, size_t j, float score) {
  const bool for_row = score >= p->row_bounds[i], for_column = score >= w->column_bounds[j];
  if (!for_row && !for_column) return; /* a bound has risen since the strip was looked through */
  if (p->within && p->chunk + j >= i) return;
  const double c = cosine(p, i, p->chunk + j);
  if (for_row) {
    insert(p->of_x, i, (uint32_t)(p->chunk + j), c);
    p->row_bounds[i] = bound_of(p, p->of_x, i);
  }
  if (for_column) {
    insert(&w->columns, j, (uint32_t)i, c);
    w->column_bounds[j] = bound_of(p, &w->columns, j);
  }
}

static void match_block(void *context, size_t block, int worker_index) {
  pass *p = context;
  worker *w = &p->workers[worker_index];
  const size_t start = (p->within ? p->chunk / ROWS * ROWS : 0) + block * ROWS, n = smaller(ROWS, p->n_x - start);
  unit_rows(w->unit, p->x + start * p->dim, p->length_x + start, n, p->dim);
  for (size_t strip = 0, first = 0; first < p->n_columns; strip++, first += WIDTH) {
    const size_t width = smaller(WIDTH, p->n_columns - first);
    if (p->within && p->chunk + first >= start + n) break; /* above the diagonal */
    p->kernels->product(w->scores, WIDTH, w->unit, (int64_t)p->dim, p->packed + strip * p->strip_floats, (int64_t)n,
                        (int64_t)width, (int64_t)p->dim, NULL);
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
    if (p->k_columns) lists_clear(&w->columns, first, n);
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
        insert(to, p->chunk + j, from->index[at], from->cosine[at]);
    }
    if (p->within) p->row_bounds[p->chunk + j] = bound_of(p, to, p->chunk + j);
  }
}

static cq_status run_chunks(pass *p, const cq_nearest_options *o, cq_pool *pool, cq_error *error) {
  const size_t n_chunks = (p->n_y + p->chunk_columns - 1) / p->chunk_columns;
  for (size_t c = 0; c < n_chunks; c++) {
    p->chunk = c * p->chunk_columns;
    p->n_columns = smaller(p->chunk_columns, p->n_y - p->chunk);
    const size_t slices = (p->n_columns + MERGE_COLUMNS - 1) / MERGE_COLUMNS;
    const size_t skipped = p->within ? p->chunk / ROWS * ROWS : 0;
    cq_pool_run(pool, (p->n_columns + WIDTH - 1) / WIDTH, pack_strip, p);
    cq_pool_run(pool, slices, clear_columns, p);
    cq_pool_run(pool, (p->n_x - skipped + ROWS - 1) / ROWS, match_block, p);
    if (p->k_columns) cq_pool_run(pool, slices, merge_columns, p);
    if (o->progress && !o->progress(o->progress_context, c + 1, n_chunks))
      return cq_fail(error, CQ_ERR_STOPPED, "stopped after %zu of %zu parts of the search", c + 1, n_chunks);
  }
  return CQ_OK;
}

/* --- memory --- */

static bool worker_new(worker *w, const pass *p) {
  const size_t unit_rows_held = WIDTH > ROWS ? WIDTH : ROWS;
  w->unit = cq_alloc_array(unit_rows_held, p->dim * sizeof *w->unit);
  w->scores = cq_alloc_array(ROWS * WIDTH, sizeof *w->scores);
  w->hits = cq_alloc_array(ROWS * WIDTH, sizeof *w->hits);
  w->column_bounds = cq_alloc_array(p->chunk_columns, sizeof *w->column_bounds);
  return w->unit && w->scores && w->hits && w->column_bounds &&
         (!p->k_columns || lists_new(&w->columns, p->chunk_columns, p->k_columns));
}

static bool pass_new(pass *p, cq_pool *pool) {
  p->kernels = cq_kernels_best();
  /* Two unit vectors rounded to f32 and a sum of dim products, each within a relative 2^-24; a little for the bounds' own
   * rounding. */
  p->slack = (double)(p->dim + 8) * 0x1p-24;
  /* A chunk: packed, in the last-level cache; the columns' lists of one worker take no more. */
  const size_t column_bytes = p->dim * sizeof(float), list_bytes = p->k_columns * (sizeof(double) + sizeof(uint32_t));
  p->chunk_columns = CHUNK_BYTES / (column_bytes > list_bytes ? column_bytes : list_bytes) / WIDTH * WIDTH;
  if (p->chunk_columns < WIDTH) p->chunk_columns = WIDTH;
  p->chunk_columns = smaller(p->chunk_columns, (p->n_y + WIDTH - 1) / WIDTH * WIDTH);
  p->strip_floats = ((size_t)p->kernels->packed_floats((int64_t)p->dim, WIDTH) + 15) & ~(size_t)15;
  p->n_workers = pool ? (size_t)cq_pool_n_threads(pool) : 1;
  p->packed = cq_alloc_array(p->chunk_columns / WIDTH, p->strip_floats * sizeof *p->packed);
  p->row_bounds = cq_alloc_array(p->n_x, sizeof *p->row_bounds);
  p->workers = cq_alloc_array_zeroed(p->n_workers, sizeof *p->workers);
  if (!p->packed || !p->row_bounds || !p->workers) return false;
  for (size_t i = 0; i < p->n_workers; i++)
    if (!worker_new(&p->workers[i], p)) return false;
  for (size_t i = 0; i < p->n_x; i++) p->row_bounds[i] = -INFINITY;
  return true;
}

static void pass_free(pass *p) {
  for (size_t i = 0; p->workers && i < p->n_workers; i++) {
    worker *w = &p->workers[i];
    cq_free(w->unit);
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
  if (!lists_new(&of_x, p->n_x, smaller(o.k, others_of_x)) ||
      (want_y && !lists_new(&of_y, p->n_y, smaller(o.k, p->n_x)))) {
    status = cq_fail_memory(error, "neighbours");
    goto done;
  }
  lists_clear(&of_x, 0, p->n_x);
  if (want_y) lists_clear(&of_y, 0, p->n_y);
  p->k_columns = p->within ? of_x.k : of_y.k;
  status = lengths_of(&p->length_x, p->x, p->n_x, p->dim, p->within ? "given" : "first", error);
  if (!status && p->within)
    p->length_y = p->length_x;
  else if (!status)
    status = lengths_of(&p->length_y, p->y, p->n_y, p->dim, "second", error);
  if (status || of_x.k == 0) goto done; /* nothing to find */
  status = pass_new(p, pool) ? run_chunks(p, &o, pool, error) : cq_fail_memory(error, "a search");
done:
  pass_free(p);
  if (status) {
    cq_neighbours_free(&of_x);
    cq_neighbours_free(&of_y);
  }
  *want_x = of_x;
  if (want_y) *want_y = of_y;
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
