/* Nearest neighbours of both sides from one blocked pass.
 *
 *                        y, in chunks of some MiB: scaled to length 1 and packed once
 *                       +-------------------------------+
 *                       | panel | panel | panel |       |   a panel is COLUMNS columns
 *                       +-------------------------------+
 *   x, in blocks    +---+-------+
 *   of ROWS rows,   |   |bounds |   PART_ROWS x COLUMNS at a time, looked through at once and never stored
 *   one a worker    +---+-------+
 *
 * An f32 product of unit rows, plus the most it can be wrong by, bounds the true cosine from above; so does an 8-bit product
 * with its own rests (tensor/int8.h), which is coarser and four times as fast. Only where the bound
 * reaches the least cosine kept of its row or of its column is the cosine computed, in double precision; each list keeps
 * its best k by (cosine, index). What is kept is therefore exact whatever the order of the work, and a list's least
 * cosine rises so fast that a row of a million meets some dozens of such places. Adversaries (all rows alike) cost time,
 * never exactness.
 *
 * All workers share the lists, each guarded by one of some locks. What a list's score must reach, its bound, only rises: workers
 * look scores through with copies of their own, as of the beginning of their block, and ask again before
 * they compute a cosine. Within one matrix the pairs below the diagonal are looked at, each for both its rows. */
#include "calque/nearest.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "search/lists.h"
#include "search/resume.h"
#include "tensor/int8.h"
#include "tensor/kernels.h"

#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum {
  ROWS = 96,
  PART_ROWS = 24,
  COLUMNS = 64,
  WAITING = 32,
  LOCKS = 1024,
  CHUNK_BYTES = 16 << 20,
  CACHE_LINE = 64,
};

/* One direction's results as they grow, and for each list the least score that may matter to it. */
typedef struct side {
  cq_neighbours *lists; /* NULL: not wanted */
  _Atomic float *bounds;
} side;

/* A place whose score may matter: row i of x, row j of y. */
typedef struct place {
  uint32_t i, j;
  float bound;
} place;

/* One worker's memory. */
typedef struct worker {
  float *unit;   /* [ROWS, dim] */
  uint8_t *left; /* the same in 8 bits, [ROWS, row bytes], and what stands beside each row */
  cq_int8_terms terms[ROWS];
  float scores[PART_ROWS * COLUMNS];
  uint32_t hits[PART_ROWS * COLUMNS];
  float row_bounds[ROWS]; /* of the block's rows and the chunk's columns, as of its beginning or newer */
  float *column_bounds;
  place waiting[WAITING]; /* for y's row to come from memory */
  size_t n_waiting;
} worker;

typedef struct pass {
  const float *x, *y;
  size_t n_x, n_y, dim;
  double *length_x, *length_y;
  side rows, columns;   /* of x and of y; within: the same */
  atomic_flag *locks;   /* [LOCKS] */
  bool within;          /* x is y */
  double slack;         /* how far a true cosine may lie above its score */
  size_t chunk_columns; /* at most */
  size_t chunk, n_columns;
  unsigned char *packed;
  size_t panel_bytes;
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

/* --- vectors --- */

static double cosine(const pass *p, size_t i, size_t j) {
  const double length = p->length_x[i] * p->length_y[j];
  return length == 0 ? 0 : p->kernels->exact_dot(p->x + i * p->dim, p->y + j * p->dim, (int64_t)p->dim) / length;
}

/* Rows scaled to length 1; zero rows stay zero. */
static void unit_rows(float *unit, const float *rows, const double *lengths, size_t n, size_t dim) {
  for (size_t i = 0; i < n; i++) {
    const double scale = lengths[i] > 0 ? 1 / lengths[i] : 0;
    for (size_t d = 0; d < dim; d++) unit[i * dim + d] = (float)((double)rows[i * dim + d] * scale);
  }
}

/* --- lists --- */

static float bound(const side *s, size_t list) {
  return atomic_load_explicit(&s->bounds[list], memory_order_relaxed);
}

/* Reads a list's bound off its least cosine: rounded down. */
static float renew_bound(const pass *p, const side *s, size_t list) {
  const float least = nextafterf((float)(cq_lists_least(s->lists, list) - p->slack), -INFINITY);
  atomic_store_explicit(&s->bounds[list], least, memory_order_relaxed);
  return least;
}

/* Returns the list's new bound. */
static float insert(const pass *p, const side *s, size_t list, size_t index, double c) {
  atomic_flag *lock = &p->locks[list % LOCKS];
  while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire)) sched_yield();
  cq_lists_insert(s->lists, list, (uint32_t)index, c);
  const float least = renew_bound(p, s, list);
  atomic_flag_clear_explicit(lock, memory_order_release);
  return least;
}

/* --- the pass --- */

static void pack_panel(void *context, size_t panel, int w) {
  pass *p = context;
  const size_t first = p->chunk + panel * COLUMNS, n = smaller(COLUMNS, p->chunk + p->n_columns - first);
  const int64_t dim = (int64_t)p->dim;
  unsigned char *packed = p->packed + panel * p->panel_bytes;
  float *unit = p->workers[w].unit;
  unit_rows(unit, p->y + first * p->dim, p->length_y + first, n, p->dim);
  if (p->int8)
    p->int8->quantize_right(packed, unit, (int64_t)n, dim);
  else
    p->kernels->pack((float *)(void *)packed, unit, 1, dim, dim, (int64_t)n);
}

/* The scores of n of the block's rows, from `first` on, with a panel's columns. */
static void score(const pass *p, worker *w, size_t first, size_t n, size_t panel, size_t width) {
  const unsigned char *packed = p->packed + panel * p->panel_bytes;
  const int64_t dim = (int64_t)p->dim;
  if (p->int8)
    p->int8->bounds(w->scores, COLUMNS, w->left + first * (size_t)cq_int8_row_bytes(dim), w->terms + first, packed,
                    (int64_t)n, (int64_t)width, dim);
  else
    p->kernels->product(w->scores, COLUMNS, w->unit + first * p->dim, dim, (const float *)(const void *)packed,
                        (int64_t)n, (int64_t)width, dim, NULL);
}

static void settle(const pass *p, worker *w, size_t start, place at) {
  const bool for_row = at.bound >= bound(&p->rows, at.i);
  const bool for_column = p->columns.lists && at.bound >= bound(&p->columns, at.j);
  if (!for_row && !for_column) return; /* a bound has risen since the scores were looked through */
  const double c = cosine(p, at.i, at.j);
  if (for_row) w->row_bounds[at.i - start] = insert(p, &p->rows, at.i, at.j, c);
  if (for_column) w->column_bounds[at.j - p->chunk] = insert(p, &p->columns, at.j, at.i, c);
}

static void settle_all(const pass *p, worker *w, size_t start) {
  for (size_t h = 0; h < w->n_waiting; h++) settle(p, w, start, w->waiting[h]);
  w->n_waiting = 0;
}

static void wait_for(const pass *p, worker *w, size_t start, place at) {
  if (p->within && at.j >= at.i) return;
  const char *row = (const char *)(p->y + at.j * p->dim);
  for (size_t byte = 0; byte < p->dim * sizeof *p->y; byte += CACHE_LINE) __builtin_prefetch(row + byte, 0, 2);
  w->waiting[w->n_waiting++] = at;
  if (w->n_waiting == WAITING) settle_all(p, w, start);
}

/* The block of rows from start on with one panel: columns from `first` of the chunk on. */
static void match_panel(const pass *p, worker *w, size_t start, size_t n, size_t first) {
  const size_t width = smaller(COLUMNS, p->n_columns - first);
  for (size_t r = 0; r < n; r += PART_ROWS) {
    const size_t height = smaller(PART_ROWS, n - r);
    score(p, w, r, height, first / COLUMNS, width);
    const int64_t n_hits = p->kernels->at_least(w->hits, w->scores, COLUMNS, w->row_bounds + r,
                                                w->column_bounds + first, (int64_t)height, (int64_t)width);
    for (int64_t h = 0; h < n_hits; h++) {
      const uint32_t row = w->hits[h] >> 16, column = w->hits[h] & 0xFFFF;
      wait_for(p, w, start,
               (place){(uint32_t)(start + r) + row, (uint32_t)(p->chunk + first) + column,
                       w->scores[row * COLUMNS + column]});
    }
  }
}

static void match_block(void *context, size_t block, int worker_index) {
  pass *p = context;
  worker *w = &p->workers[worker_index];
  const size_t start = (p->within ? p->chunk / ROWS * ROWS : 0) + block * ROWS, n = smaller(ROWS, p->n_x - start);
  unit_rows(w->unit, p->x + start * p->dim, p->length_x + start, n, p->dim);
  if (p->int8) p->int8->quantize_left(w->left, w->terms, w->unit, (int64_t)n, (int64_t)p->dim);
  for (size_t i = 0; i < n; i++) w->row_bounds[i] = bound(&p->rows, start + i);
  for (size_t j = 0; j < p->n_columns; j++)
    w->column_bounds[j] = p->columns.lists ? bound(&p->columns, p->chunk + j) : INFINITY;
  for (size_t first = 0; first < p->n_columns; first += COLUMNS) {
    if (p->within && p->chunk + first >= start + n) break; /* above the diagonal */
    match_panel(p, w, start, n, first);
  }
  settle_all(p, w, start);
}

static void run_chunk(pass *p, cq_pool *pool) {
  const size_t skipped = p->within ? p->chunk / ROWS * ROWS : 0;
  cq_pool_run(pool, (p->n_columns + COLUMNS - 1) / COLUMNS, pack_panel, p);
  cq_pool_run(pool, (p->n_x - skipped + ROWS - 1) / ROWS, match_block, p);
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static cq_status run_chunks(pass *p, const cq_nearest_options *o, cq_pool *pool, cq_error *error) {
  const uint64_t key = o->checkpoint ? cq_search_key(p->x, p->n_x, p->y, p->n_y, p->dim, o->k, p->within) : 0;
  cq_neighbours *of_y = p->within ? NULL : p->columns.lists;
  double saved = seconds();
  size_t done = 0;
  cq_status status = o->checkpoint ? cq_search_load(&done, o->checkpoint, key, p->rows.lists, of_y, error) : CQ_OK;
  for (size_t i = 0; !status && i < p->n_x; i++) renew_bound(p, &p->rows, i);
  for (size_t j = 0; !status && of_y && j < p->n_y; j++) renew_bound(p, &p->columns, j);
  while (!status && done < p->n_y) {
    p->chunk = done;
    p->n_columns = smaller(p->chunk_columns, p->n_y - done);
    run_chunk(p, pool);
    done += p->n_columns;
    const bool stop = o->progress && !o->progress(o->progress_context, done, p->n_y);
    if (o->checkpoint && done < p->n_y && (stop || seconds() - saved >= o->checkpoint_every_s)) {
      status = cq_search_save(o->checkpoint, key, done, p->rows.lists, of_y, error);
      saved = seconds();
    }
    if (!status && stop) status = cq_fail(error, CQ_ERR_STOPPED, "stopped after %zu of %zu rows", done, p->n_y);
  }
  if (!status && o->checkpoint) remove(o->checkpoint);
  return status;
}

/* --- memory --- */

static bool worker_new(worker *w, const pass *p) {
  w->unit = cq_alloc_array(ROWS, p->dim * sizeof *w->unit);
  w->left = cq_alloc_array(ROWS, (size_t)cq_int8_row_bytes((int64_t)p->dim));
  w->column_bounds = cq_alloc_array(p->chunk_columns, sizeof *w->column_bounds);
  return w->unit && w->left && w->column_bounds;
}

static bool pass_new(pass *p, cq_first_pass first_pass, cq_pool *pool) {
  p->kernels = cq_kernels_best();
  p->int8 = first_pass == CQ_FIRST_INT8 && p->dim <= CQ_INT8_MAX_DIM ? cq_int8_best() : NULL;
  /* Two unit vectors rounded to f32, a sum of dim products, each within a relative 2^-24, and a little for the rounding of
   * the bounds themselves. Sums of 8-bit products are exact. */
  p->slack = (double)(p->int8 ? 16 : p->dim + 8) * 0x1p-24;
  p->panel_bytes = p->int8 ? cq_int8_packed_bytes(COLUMNS, (int64_t)p->dim)
                           : (size_t)p->kernels->packed_floats((int64_t)p->dim, COLUMNS) * sizeof(float);
  p->panel_bytes = (p->panel_bytes + CQ_ALIGNMENT - 1) / CQ_ALIGNMENT * CQ_ALIGNMENT;
  const size_t panels = CHUNK_BYTES / p->panel_bytes, needed = (p->n_y + COLUMNS - 1) / COLUMNS;
  p->chunk_columns = (panels == 0 ? 1 : smaller(panels, needed)) * COLUMNS;
  p->n_workers = pool ? (size_t)cq_pool_n_threads(pool) : 1;
  p->packed = cq_alloc_array(p->chunk_columns / COLUMNS, p->panel_bytes);
  p->rows.bounds = cq_alloc_array(p->n_x, sizeof *p->rows.bounds);
  p->columns.bounds =
      p->within || !p->columns.lists ? p->rows.bounds : cq_alloc_array(p->n_y, sizeof *p->columns.bounds);
  p->locks = cq_alloc_array(LOCKS, sizeof *p->locks);
  p->workers = cq_alloc_array_zeroed(p->n_workers, sizeof *p->workers);
  if (!p->packed || !p->rows.bounds || !p->columns.bounds || !p->locks || !p->workers) return false;
  for (size_t i = 0; i < LOCKS; i++) atomic_flag_clear(&p->locks[i]);
  for (size_t i = 0; i < p->n_workers; i++)
    if (!worker_new(&p->workers[i], p)) return false;
  return true;
}

static void pass_free(pass *p) {
  for (size_t i = 0; p->workers && i < p->n_workers; i++) {
    worker *w = &p->workers[i];
    cq_free(w->unit);
    cq_free(w->left);
    cq_free(w->column_bounds);
  }
  cq_free(p->workers);
  cq_free(p->locks);
  if (p->columns.bounds != p->rows.bounds) cq_free((void *)p->columns.bounds);
  cq_free((void *)p->rows.bounds);
  cq_free(p->packed);
  if (p->length_y != p->length_x) cq_free(p->length_y);
  cq_free(p->length_x);
}

/* --- the two ways in --- */

static cq_status search(cq_neighbours *want_x, cq_neighbours *want_y, pass *p, const cq_nearest_options *options,
                        cq_pool *pool, cq_error *error) {
  const cq_nearest_options o = options ? *options : cq_nearest_default_options();
  const size_t others_of_x = p->within ? p->n_x - (p->n_x > 0) : p->n_y;
  cq_neighbours of_x = {0}, of_y = {0};
  cq_status status = CQ_OK;
  if (p->dim == 0 || o.k == 0)
    return cq_fail(error, CQ_ERR_ARGUMENT, "nearest neighbours: dim is %zu, k is %zu, expected 1 or more", p->dim, o.k);
  if (p->n_x >= UINT32_MAX || p->n_y >= UINT32_MAX)
    return cq_fail(error, CQ_ERR_ARGUMENT, "nearest neighbours: %zu and %zu rows, expected below 2^32 - 1", p->n_x,
                   p->n_y);
  p->rows.lists = &of_x;
  p->columns.lists = p->within ? &of_x : want_y ? &of_y : NULL;
  if (!cq_lists_new(&of_x, p->n_x, smaller(o.k, others_of_x)) ||
      (want_y && !cq_lists_new(&of_y, p->n_y, smaller(o.k, p->n_x)))) {
    status = cq_fail_memory(error, "neighbours");
    goto done;
  }
  cq_lists_clear(&of_x, 0, p->n_x);
  if (want_y) cq_lists_clear(&of_y, 0, p->n_y);
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
  *want_x = of_x;
  if (want_y) *want_y = of_y;
  return status;
}

cq_status cq_nearest(cq_neighbours *of_x, cq_neighbours *of_y, const float *x, size_t n_x, const float *y, size_t n_y,
                     size_t dim, const cq_nearest_options *options, cq_pool *pool, cq_error *error) {
  pass p = {.x = x, .y = y, .n_x = n_x, .n_y = n_y, .dim = dim};
  return search(of_x, of_y, &p, options, pool, error);
}

cq_status cq_nearest_within(cq_neighbours *out, const float *x, size_t n, size_t dim, const cq_nearest_options *options,
                            cq_pool *pool, cq_error *error) {
  pass p = {.x = x, .y = x, .n_x = n, .n_y = n, .dim = dim, .within = true};
  return search(out, NULL, &p, options, pool, error);
}
