/* Neighbors by an inverted file (IVF; Jegou et al. 2011) of exact searches. See nearest_approximate.h.
 *
 *   a sample of both sides ──k-means on the sphere──▶ centroids
 *   y: each row in the list of its nearest centroid ──▶ a file in the order of the lists
 *   x: a block of rows at a time, each in the lists of its `effort` nearest centroids
 *   for each list: its rows of the block x its rows of y, by one exact pass for both directions
 *
 * Two rows meet at most once, in y's list, so neighbors gather as in an exact search, whose pass makes a cosine as fast
 * here as there. Memory is for the neighbors and one block; y's file is read once for each block, in order. */
#include "search/nearest_approximate.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "search/fill.h"
#include "search/lists.h"
#include "tensor/kernels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The sample: one row in SAMPLE_OF. Every other of its pairs chooses the effort, the others are reported. */
enum { PER_LIST = 40, ITERATIONS = 8, SAMPLE_OF = 200, MIN_SAMPLE = 2000, MAX_SAMPLE = 8000, MAX_EFFORT = 512 };
#define TARGET      0.99
#define BLOCK_BYTES (4ULL << 30) /* of its vectors, lists and their order */

typedef struct inverted {
  const cq_nearest_approximate_options *o;
  cq_row_set x, y;
  size_t n_lists, effort;
  float *centroids; /* [n_lists, dim] */
  cq_neighbors of;  /* [y.n, 1] the list of each row of y */
  uint32_t *order;  /* [y.n] rows of y, list by list */
  size_t *starts;   /* [n_lists + 1] */
  cq_mapping file;  /* [y.n, dim] in that order */
  cq_neighbors *of_x, *of_y;
  size_t n_done, n_all; /* lists of all blocks */
  double n_compared;
} inverted;

/* The k nearest centroids of rows. */
static cq_status nearest_centroids(cq_neighbors *out, const inverted *f, cq_row_set rows, size_t k, cq_context *ctx,
                                   cq_error *error) {
  const cq_filling filling = {.x = rows,
                              .y = {.data = f->centroids, .n = f->n_lists, .dim = rows.dim},
                              .first_pass = CQ_FIRST_INT8,
                              .of_x = out};
  if (!cq_lists_new(out, rows.n, k)) return cq_fail_memory(error, "the lists of rows");
  cq_lists_clear(out, 0, rows.n);
  return cq_lists_fill(&filling, ctx, error);
}

/* --- training --- */

/* Centroids become the means of their rows; without rows, they stay. */
static cq_status move_centroids(inverted *f, const float *sample, const uint32_t *list_of, size_t n, cq_error *error) {
  const size_t dim = f->x.dim;
  float *sums = cq_alloc_array_zeroed(f->n_lists, dim * sizeof *sums);
  size_t *counts = cq_alloc_array_zeroed(f->n_lists, sizeof *counts);
  const cq_status status = sums && counts ? CQ_OK : cq_fail_memory(error, "centroids");
  for (size_t i = 0; !status && i < n; i++) {
    counts[list_of[i]]++;
    for (size_t j = 0; j < dim; j++) sums[list_of[i] * dim + j] += sample[i * dim + j];
  }
  for (size_t c = 0; !status && c < f->n_lists; c++)
    if (counts[c]) cq_kernels_best()->normalize(f->centroids + c * dim, NULL, sums + c * dim, 1, (int64_t)dim);
  cq_free(sums), cq_free(counts);
  return status;
}

static cq_status train(inverted *f, cq_context *ctx, cq_error *error) {
  const size_t dim = f->x.dim, n_all = f->x.n + f->y.n, n = cq_min(n_all, PER_LIST * f->n_lists);
  float *sample = cq_alloc_array(n, dim * sizeof *sample);
  f->centroids = cq_alloc_array(f->n_lists, dim * sizeof *f->centroids);
  cq_status status = sample && f->centroids ? CQ_OK : cq_fail_memory(error, "centroids");
  for (size_t i = 0; !status && i < n; i++) {
    const size_t at = i * n_all / n;
    cq_kernels_best()->normalize(sample + i * dim, NULL, at < f->x.n ? cq_row(&f->x, at) : cq_row(&f->y, at - f->x.n),
                                 1, (int64_t)dim);
  }
  for (size_t c = 0; !status && c < f->n_lists; c++)
    memcpy(f->centroids + c * dim, sample + c * n / f->n_lists * dim, dim * sizeof *sample);
  for (int k = 0; !status && k < ITERATIONS; k++) {
    cq_neighbors of;
    status = nearest_centroids(&of, f, (cq_row_set){.data = sample, .n = n, .dim = dim}, 1, ctx, error);
    if (!status) status = move_centroids(f, sample, of.index, n, error);
    cq_neighbors_free(&of);
  }
  cq_free(sample);
  return status;
}

/* --- lists --- */

/* Sorts rows by list, those of a list in order: row i is in list_of[i * k] to list_of[i * k + k - 1]. */
static cq_status sort_by_list(uint32_t **order, size_t **starts, size_t n_lists, const cq_neighbors *of, size_t first,
                              cq_error *error) {
  size_t *at = *starts = cq_alloc_array_zeroed(n_lists + 2, sizeof **starts);
  *order = cq_alloc_array(of->n, of->k * sizeof **order);
  if (!at || !*order) return cq_fail_memory(error, "the lists of rows");
  for (size_t i = 0; i < of->n * of->k; i++) at[of->index[i] + 2]++;
  for (size_t c = 2; c < n_lists + 2; c++) at[c] += at[c - 1];
  for (size_t i = 0; i < of->n * of->k; i++) (*order)[at[of->index[i] + 1]++] = (uint32_t)(first + i / of->k);
  return CQ_OK;
}

static cq_status write_file(inverted *f, cq_error *error) {
  cq_writer w;
  cq_status status = cq_writer_open(&w, f->o->file, error);
  for (size_t i = 0; !status && i < f->y.n; i++)
    status = cq_writer_bytes(&w, cq_row(&f->y, f->order[i]), f->y.dim * sizeof(float), error);
  if (!status) status = cq_writer_commit(&w, error);
  cq_writer_abort(&w);
  if (!status) status = cq_mapping_open(&f->file, f->o->file, error);
  remove(f->o->file); /* it is open, or not needed */
  return status;
}

static cq_status assign(inverted *f, cq_context *ctx, cq_error *error) {
  cq_status status = nearest_centroids(&f->of, f, f->y, 1, ctx, error);
  if (!status) status = sort_by_list(&f->order, &f->starts, f->n_lists, &f->of, 0, error);
  return status ? status : write_file(f, error);
}

/* --- the sample --- */

/* Rows of x and y that are each other's nearest. */
typedef struct sample {
  size_t n;
  uint32_t x[MAX_SAMPLE], y[MAX_SAMPLE];
} sample;

/* Where the vectors of rows are: *out [n], released with cq_free(). */
static cq_status places_of(uint32_t **out, const cq_row_set *set, const uint32_t *rows, size_t n, cq_error *error) {
  *out = cq_alloc_array(n, sizeof **out);
  if (!*out) return cq_fail_memory(error, "rows");
  for (size_t i = 0; i < n; i++) (*out)[i] = set->at ? set->at[rows[i]] : rows[i];
  return CQ_OK;
}

/* The row of y nearest to each of rows [n] of x. */
static cq_status exact_nearest(cq_neighbors *out, const cq_row_set *x, const uint32_t *rows, size_t n,
                               const cq_row_set *y, cq_context *ctx, cq_error *error) {
  cq_nearest_options o = cq_nearest_default_options();
  uint32_t *places;
  cq_status status = places_of(&places, x, rows, n, error);
  o.k = 1, o.x_rows = places, o.y_rows = y->at, o.first_pass = CQ_FIRST_INT8;
  if (!status) status = cq_nearest(out, NULL, x->data, n, y->data, y->n, x->dim, &o, ctx, error);
  cq_free(places);
  return status;
}

static cq_status take_sample(sample *s, const inverted *f, cq_context *ctx, cq_error *error) {
  const size_t share = cq_min(f->x.n / SAMPLE_OF, MAX_SAMPLE),
               n = cq_min(share < MIN_SAMPLE ? MIN_SAMPLE : share, f->x.n);
  cq_neighbors of_x = {0}, of_y = {0};
  cq_random random = cq_random_seeded(1, n); /* evenly spaced rows would be those of training */
  for (size_t i = 0; i < n; i++) {
    const size_t first = i * f->x.n / n, next = (i + 1) * f->x.n / n;
    s->x[i] = (uint32_t)(first + cq_random_below(&random, next - first));
  }
  cq_status status = exact_nearest(&of_x, &f->x, s->x, n, &f->y, ctx, error);
  if (!status) status = exact_nearest(&of_y, &f->y, of_x.index, n, &f->x, ctx, error);
  for (size_t i = 0; !status && i < n; i++)
    if (of_y.index[i] == s->x[i]) s->x[s->n] = s->x[i], s->y[s->n++] = of_x.index[i];
  cq_neighbors_free(&of_x), cq_neighbors_free(&of_y);
  return status;
}

/* As many lists as TARGET of every other pair needs. */
static cq_status choose_effort(inverted *f, const sample *s, cq_context *ctx, cq_error *error) {
  const size_t most = cq_min(MAX_EFFORT, f->n_lists);
  uint32_t *places;
  size_t counts[MAX_EFFORT] = {0};
  cq_neighbors near = {0};
  cq_status status = places_of(&places, &f->x, s->x, s->n, error);
  const cq_row_set rows = {.data = f->x.data, .at = places, .n = s->n, .dim = f->x.dim};
  if (!status) status = nearest_centroids(&near, f, rows, most, ctx, error);
  for (size_t i = 0; !status && i < s->n; i += 2)
    for (size_t c = 0; c < most; c++) counts[c] += near.index[i * most + c] == f->of.index[s->y[i]];
  const size_t half = (s->n + 1) / 2;
  size_t found = counts[0];
  for (f->effort = 1; f->effort < most && (double)found < TARGET * (double)half;) found += counts[f->effort++];
  cq_neighbors_free(&near);
  cq_free(places);
  return status;
}

static double recall_of(const inverted *f, const sample *s) {
  size_t n = 0, n_same = 0;
  for (size_t i = s->n > 1; i < s->n; i += 2, n++) n_same += f->of_x->index[s->x[i] * f->of_x->k] == s->y[i];
  return n ? (double)n_same / (double)n : 1;
}

/* --- the search --- */

static void copy_lists(cq_neighbors *to, const uint32_t *to_rows, const cq_neighbors *from, const uint32_t *from_rows,
                       size_t n) {
  const size_t k = to->k;
  for (size_t i = 0; i < n; i++) {
    const size_t t = (to_rows ? to_rows[i] : i) * k, s = (from_rows ? from_rows[i] : i) * k;
    memcpy(to->index + t, from->index + s, k * sizeof *to->index);
    memcpy(to->cosine + t, from->cosine + s, k * sizeof *to->cosine);
  }
}

/* n rows of the block with those of y that are in the list. They bring the neighbors that they have, and their bounds. */
static cq_status search_list(inverted *f, size_t list, const uint32_t *rows, size_t n, cq_context *ctx,
                             cq_error *error) {
  const size_t first = f->starts[list], n_y = f->starts[list + 1] - first, dim = f->x.dim;
  const uint32_t *y_rows = f->order + first;
  cq_neighbors of_x = {0}, of_y = {0};
  uint32_t *places = NULL;
  cq_filling filling = {.x = {.data = f->x.data, .n = n, .dim = dim},
                        .y = {.data = (const float *)(const void *)f->file.data + first * dim, .n = n_y, .dim = dim},
                        .x_numbers = rows,
                        .y_numbers = y_rows,
                        .first_pass = CQ_FIRST_INT8,
                        .of_x = &of_x,
                        .of_y = &of_y};
  if (n && n_y) {
    cq_status status = places_of(&places, &f->x, rows, n, error);
    filling.x.at = places;
    if (!status && !(cq_lists_new(&of_x, n, f->of_x->k) && cq_lists_new(&of_y, n_y, f->of_y->k)))
      status = cq_fail_memory(error, "neighbors");
    if (!status) copy_lists(&of_x, NULL, f->of_x, rows, n), copy_lists(&of_y, NULL, f->of_y, y_rows, n_y);
    if (!status) status = cq_lists_fill(&filling, ctx, error);
    if (!status) copy_lists(f->of_x, rows, &of_x, NULL, n), copy_lists(f->of_y, y_rows, &of_y, NULL, n_y);
    cq_neighbors_free(&of_x), cq_neighbors_free(&of_y);
    cq_free(places);
    if (status) return status;
    f->n_compared += (double)n * (double)n_y;
  }
  f->n_done++;
  return f->o->progress && !f->o->progress(f->o->progress_context, f->n_done, f->n_all)
             ? cq_fail(error, CQ_ERR_STOPPED, "stopped while searching")
             : CQ_OK;
}

static cq_status search_block(inverted *f, size_t first, size_t n, cq_context *ctx, cq_error *error) {
  cq_row_set rows = f->x;
  rows.n = n;
  if (rows.at)
    rows.at += first;
  else
    rows.data += first * rows.dim;
  cq_neighbors near;
  uint32_t *order = NULL;
  size_t *starts = NULL;
  cq_status status = nearest_centroids(&near, f, rows, f->effort, ctx, error);
  if (!status) status = sort_by_list(&order, &starts, f->n_lists, &near, first, error);
  cq_neighbors_free(&near);
  for (size_t c = 0; !status && c < f->n_lists; c++)
    status = search_list(f, c, order + starts[c], starts[c + 1] - starts[c], ctx, error);
  cq_free(order), cq_free(starts);
  return status;
}

/* Missing neighbors are as near as the last one, or at 0 where there is none. */
static void fill_up(cq_neighbors *lists) {
  for (size_t i = 0; i < lists->n * lists->k; i++) {
    if (lists->index[i] != UINT32_MAX) continue;
    lists->index[i] = i % lists->k ? lists->index[i / lists->k * lists->k] : 0;
    lists->cosine[i] = i % lists->k ? lists->cosine[i - 1] : 0;
  }
}

static cq_status search(inverted *f, cq_context *ctx, cq_error *error) {
  const size_t fitting = BLOCK_BYTES / (f->x.dim * sizeof(float) + f->effort * 16);
  const size_t wanted = f->o->block ? f->o->block : fitting;
  const size_t block = wanted ? wanted : 1, n_blocks = (f->x.n + block - 1) / block;
  cq_status status =
      cq_lists_new(f->of_x, f->x.n, cq_min(f->o->k, f->y.n)) && cq_lists_new(f->of_y, f->y.n, cq_min(f->o->k, f->x.n))
          ? CQ_OK
          : cq_fail_memory(error, "lists of neighbors");
  f->n_all = n_blocks * f->n_lists;
  if (!status) cq_lists_clear(f->of_x, 0, f->x.n), cq_lists_clear(f->of_y, 0, f->y.n);
  for (size_t first = 0; !status && first < f->x.n; first += block)
    status = search_block(f, first, cq_min(block, f->x.n - first), ctx, error);
  if (!status) fill_up(f->of_x), fill_up(f->of_y);
  return status;
}

static cq_status check_rows(const cq_row_set *rows, const char *side, cq_error *error) {
  double *lengths = NULL;
  if (!rows->dim || rows->n >= UINT32_MAX)
    return cq_fail(error, CQ_ERR_ARGUMENT, "nearest neighbors of %zu rows of %zu numbers", rows->n, rows->dim);
  const cq_status status = cq_exact_lengths(&lengths, rows, side, error);
  cq_free(lengths);
  return status;
}

/* Seconds of all processors since the last call. */
static double lap(double *last) {
  const double now = cq_seconds(CLOCK_PROCESS_CPUTIME_ID), since = now - *last;
  *last = now;
  return since;
}

cq_status cq_nearest_approximate(cq_neighbors *of_x, cq_neighbors *of_y, cq_nearest_approximate_report *report,
                                 const float *x, size_t n_x, const float *y, size_t n_y, size_t dim,
                                 const cq_nearest_approximate_options *options, cq_context *ctx, cq_error *error) {
  inverted f = {.o = options,
                .x = {.data = x, .at = options->x_rows, .n = n_x, .dim = dim},
                .y = {.data = y, .at = options->y_rows, .n = n_y, .dim = dim},
                .of_x = of_x,
                .of_y = of_y};
  const size_t wanted = options->n_lists ? options->n_lists : (size_t)(2 * sqrt((double)n_y));
  double last = cq_seconds(CLOCK_PROCESS_CPUTIME_ID);
  *of_x = *of_y = (cq_neighbors){0};
  *report = (cq_nearest_approximate_report){.recall = 1};
  cq_status status = check_rows(&f.x, "first", error);
  if (!status) status = check_rows(&f.y, "second", error);
  if (status || !n_x || !n_y) return status;
  sample *s = cq_alloc_zeroed(sizeof *s);
  f.n_lists = cq_min(wanted, (n_x + n_y) / PER_LIST);
  if (!f.n_lists) f.n_lists = 1;
  if (!s) return cq_fail_memory(error, "a sample");
  status = train(&f, ctx, error);
  report->train_s = lap(&last);
  if (!status) status = assign(&f, ctx, error);
  report->assign_s = lap(&last);
  if (!status) status = take_sample(s, &f, ctx, error);
  if (!status && !options->effort) status = choose_effort(&f, s, ctx, error);
  if (options->effort) f.effort = cq_min(options->effort, f.n_lists);
  report->sample_s = lap(&last);
  if (!status) status = search(&f, ctx, error);
  report->search_s = lap(&last);
  if (!status) report->recall = recall_of(&f, s);
  report->compared = f.n_compared / ((double)n_x * (double)n_y), report->n_lists = f.n_lists, report->effort = f.effort;
  cq_neighbors_free(&f.of);
  cq_mapping_close(&f.file);
  cq_free(s), cq_free(f.centroids), cq_free(f.order), cq_free(f.starts);
  if (status) cq_neighbors_free(of_x), cq_neighbors_free(of_y);
  return status;
}
