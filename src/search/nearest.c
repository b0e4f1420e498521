/* Nearest neighbors: lists of the best k by (cosine, index), filled by one pass over all cosines for both sides
 * (fill.c). The state is regularly saved to disk. Several ranks: ring.c. */
#include "calque/nearest.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "search/fill.h"
#include "search/lists.h"
#include "search/resume.h"
#include "search/ring.h"
#include "search/search_options.h"

#include <stdio.h>

const char *const cq_first_pass_names[] = {"f32", "int8", NULL};

#define O cq_nearest_options
static const cq_option option_rows[] = {
    {CQ_SIZE(O, "k", k, CHANGES, 4, 1, 0, "N", "nearest neighbors of each row"), .letter = 'k'},
    {CQ_CHOICE(O, "first-pass", first_pass, KEEPS, CQ_FIRST_F32, cq_first_pass_names, "TYPE",
               "number format of the first pass; cosines are then computed exactly, the result is the same")},
    {CQ_TEXT(O, "checkpoint", checkpoint, KEEPS, "FILE", "keep the search's state here, and resume from it"),
     .otherwise = "none"},
    {CQ_NUMBER(O, "checkpoint-every", checkpoint_every_s, KEEPS, 60, 0, 0, "S", "seconds between two checkpoints")},
};
#undef O

const cq_option_group cq_group_nearest = {
    .name = "nearest",
    CQ_ROWS(cq_nearest_options, option_rows),
    CQ_FIELDS(CQ_CALLBACK(cq_nearest_options, progress), CQ_FIELD(cq_nearest_options, ranks))};

/* --- the search --- */

/* Within one matrix, later rows have fewer pairs: converts the first `done` to a number of average rows. */
static size_t work_done(const cq_filling *of, size_t done) {
  const double left = of->within && of->y.n ? 1 - (double)done / (double)of->y.n : 0;
  return of->within ? of->y.n - (size_t)(left * left * (double)of->y.n) : done;
}

typedef struct search {
  const cq_nearest_options *o;
  cq_filling filling;
  cq_identity key;
  double saved; /* when */
} search;

static cq_status chunk_done(void *context, size_t done, cq_error *error) {
  search *s = context;
  const cq_nearest_options *o = s->o;
  const cq_filling *f = &s->filling;
  cq_status status = CQ_OK;
  const bool stop = o->progress && !o->progress(o->progress_context, work_done(f, done), f->y.n);
  if (o->checkpoint && done < f->y.n && (stop || cq_seconds(CLOCK_MONOTONIC) - s->saved >= o->checkpoint_every_s)) {
    /* If the disk is full, the search continues; its progress is lost only if it is stopped now. */
    const cq_status kept = cq_search_save(o->checkpoint, s->key, done, f->of_x, f->of_y, stop ? error : NULL);
    if (stop) status = kept;
    s->saved = cq_seconds(CLOCK_MONOTONIC);
  }
  if (status || !stop) return status;
  return cq_fail(error, CQ_ERR_STOPPED, "stopped after %zu of %zu rows", done, f->y.n);
}

static cq_status search_nearest(search *s, cq_context *ctx, cq_error *error) {
  const cq_nearest_options *o = s->o;
  cq_filling *f = &s->filling;
  f->done = 0, f->chunk_done = chunk_done, f->context = s;
  s->key = o->checkpoint ? cq_search_identity(&f->x, &f->y, o->k, f->within) : (cq_identity){0};
  s->saved = cq_seconds(CLOCK_MONOTONIC);
  cq_status status =
      o->checkpoint ? cq_search_load(&f->done, o->checkpoint, s->key, f->x.n, f->y.n, f->of_x, f->of_y, error) : CQ_OK;
  if (status == CQ_ERR_FORMAT) { /* a broken file: search from the beginning */
    cq_lists_clear(f->of_x, 0, f->of_x->n);
    if (f->of_y) cq_lists_clear(f->of_y, 0, f->of_y->n);
    f->done = 0, status = CQ_OK;
  }
  if (!status) status = cq_lists_fill(f, ctx, error);
  if (!status && o->checkpoint) remove(o->checkpoint);
  return status;
}

static cq_status find_nearest(cq_neighbors *of_x, cq_neighbors *of_y, cq_filling *filling,
                              const cq_nearest_options *options, cq_context *ctx, cq_error *error) {
  cq_nearest_options o;
  *of_x = (cq_neighbors){0};
  if (of_y) *of_y = (cq_neighbors){0};
  cq_status status = cq_options_take(&o, &cq_group_nearest, options, error);
  if (status) return status;
  search s = {.o = &o, .filling = *filling};
  cq_filling *f = &s.filling;
  f->x.at = o.x_rows, f->y.at = f->within ? o.x_rows : o.y_rows;
  f->first_pass = o.first_pass, f->of_x = of_x, f->of_y = of_y;
  if (cq_ranks_count(o.ranks) > 1) {
    status = cq_ring_nearest(f, &o, ctx, error);
  } else {
    const size_t others_of_x = f->within ? f->x.n - (f->x.n > 0) : f->y.n;
    if (!cq_lists_new(of_x, f->x.n, cq_min(o.k, others_of_x)) ||
        (of_y && !cq_lists_new(of_y, f->y.n, cq_min(o.k, f->x.n))))
      status = cq_fail_memory(error, "neighbors");
    if (!status) cq_lists_clear(of_x, 0, of_x->n);
    if (!status && of_y) cq_lists_clear(of_y, 0, of_y->n);
    if (!status) status = search_nearest(&s, ctx, error);
  }
  if (status) cq_neighbors_free(of_x);
  if (status && of_y) cq_neighbors_free(of_y);
  return status;
}

cq_status cq_nearest(cq_neighbors *of_x, cq_neighbors *of_y, const float *x, size_t n_x, const float *y, size_t n_y,
                     size_t dim, const cq_nearest_options *options, cq_context *ctx, cq_error *error) {
  cq_filling f = {.x = {.data = x, .n = n_x, .dim = dim}, .y = {.data = y, .n = n_y, .dim = dim}};
  return find_nearest(of_x, of_y, &f, options, ctx, error);
}

cq_status cq_nearest_within(cq_neighbors *out, const float *x, size_t n, size_t dim, const cq_nearest_options *options,
                            cq_context *ctx, cq_error *error) {
  cq_filling f = {.x = {.data = x, .n = n, .dim = dim}, .within = true};
  f.y = f.x;
  return find_nearest(out, NULL, &f, options, ctx, error);
}
