/* Nearest neighbours: lists of the best k by (cosine, index), filled by one pass over all cosines (pass.c) for both
 * sides.
 *
 * All threads share the lists, each guarded by one of some locks. What a list asks of the pass is its lowest cosine, so
 * that what is kept is exact whatever the order of the work; it rises so fast that a row of a million meets some
 * dozens of places that matter. Adversaries (all rows alike) cost time, never exactness. Within one matrix a pair is
 * offered to both its rows. */
#include "calque/nearest.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "search/lists.h"
#include "search/options.h"
#include "search/pass.h"
#include "search/resume.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>

enum { LOCKS = 1024 };

/* One side's results as they grow. */
typedef struct side {
  cq_neighbours lists;
  _Atomic float *bounds; /* [n] what each list asks for */
} side;

typedef struct search {
  cq_pass *pass;
  side sides[2];      /* of x and, unless within, of y */
  side *rows, *other; /* where x's neighbours go and y's: NULL: not wanted */
  atomic_flag locks[LOCKS];
} search;

const char *const cq_first_pass_names[] = {"f32", "int8", NULL};

#define O cq_nearest_options
static const cq_option option_rows[] = {
    {CQ_SIZE(O, "k", k, CHANGES, 4, 1, 0, "N", "nearest neighbours of each row"), .letter = 'k'},
    {CQ_CHOICE(O, "first-pass", first_pass, KEEPS, CQ_FIRST_F32, cq_first_pass_names, "TYPE",
               "number format of the first pass; cosines are then computed exactly, the result is the same")},
    {CQ_TEXT(O, "checkpoint", checkpoint, KEEPS, "FILE", "keep the search's state here, and resume from it"),
     .otherwise = "none"},
    {CQ_NUMBER(O, "checkpoint-every", checkpoint_every_s, KEEPS, 60, 0, 0, "S", "seconds between two checkpoints")},
};
#undef O

const cq_option_group cq_group_nearest = {
    .name = "nearest", CQ_ROWS(cq_nearest_options, option_rows), CQ_FIELDS(CQ_CALLBACK(cq_nearest_options, progress))};

/* --- lists --- */

static void renew_bound(const search *s, side *to, size_t list) {
  atomic_store_explicit(&to->bounds[list], cq_pass_bound(s->pass, cq_lists_min(&to->lists, list)),
                        memory_order_relaxed);
}

static void offer_neighbour(search *s, side *to, size_t list, size_t index, double cosine) {
  atomic_flag *lock = &s->locks[list % LOCKS];
  if ((float)cosine < atomic_load_explicit(&to->bounds[list], memory_order_relaxed)) return;
  while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire)) sched_yield();
  cq_lists_insert(&to->lists, list, (uint32_t)index, cosine);
  renew_bound(s, to, list);
  atomic_flag_clear_explicit(lock, memory_order_release);
}

static void offer_pair(void *context, int worker, size_t i, size_t j, double cosine) {
  search *s = context;
  (void)worker;
  offer_neighbour(s, s->rows, i, j, cosine);
  if (s->other) offer_neighbour(s, s->other, j, i, cosine);
}

static bool side_new(side *out, size_t n, size_t k) {
  out->bounds = cq_alloc_array(n, sizeof *out->bounds);
  if (!cq_lists_new(&out->lists, n, k) || !out->bounds) return false;
  cq_lists_clear(&out->lists, 0, n);
  return true;
}

static void renew_bounds(const search *s, side *to) {
  for (size_t i = 0; i < to->lists.n; i++) renew_bound(s, to, i);
}

/* --- the search --- */

/* Within one matrix the later rows have fewer rows below them: how many rows as long as the average the first `done`
 * are. */
static size_t work_done(const cq_pass_of *of, size_t done) {
  const double left = of->within && of->y.n ? 1 - (double)done / (double)of->y.n : 0;
  return of->within ? of->y.n - (size_t)(left * left * (double)of->y.n) : done;
}

static cq_status search_nearest(search *s, const cq_pass_of *of, const cq_nearest_options *o, cq_context *ctx,
                                cq_error *error) {
  const cq_identity key = o->checkpoint ? cq_search_identity(&of->x, &of->y, o->k, of->within) : (cq_identity){0};
  cq_neighbours *of_x = &s->rows->lists, *of_y = s->other && s->other != s->rows ? &s->other->lists : NULL;
  double saved = cq_seconds(CLOCK_MONOTONIC);
  size_t done = 0;
  cq_status status = o->checkpoint ? cq_search_load(&done, o->checkpoint, key, of->y.n, of_x, of_y, error) : CQ_OK;
  if (status == CQ_ERR_FORMAT) { /* a broken file is no reason not to search */
    cq_lists_clear(of_x, 0, of_x->n);
    if (of_y) cq_lists_clear(of_y, 0, of_y->n);
    done = 0, status = CQ_OK;
  }
  if (!status) renew_bounds(s, s->rows);
  if (!status && of_y) renew_bounds(s, s->other);
  while (!status && done < of->y.n) {
    done = cq_pass_run(s->pass, done, ctx);
    const bool stop = o->progress && !o->progress(o->progress_context, work_done(of, done), of->y.n);
    if (o->checkpoint && done < of->y.n && (stop || cq_seconds(CLOCK_MONOTONIC) - saved >= o->checkpoint_every_s)) {
      /* Without room for it a search still ends; only one that stops now has lost something. */
      const cq_status kept = cq_search_save(o->checkpoint, key, done, of_x, of_y, stop ? error : NULL);
      if (stop) status = kept;
      saved = cq_seconds(CLOCK_MONOTONIC);
    }
    if (!status && stop) status = cq_fail(error, CQ_ERR_STOPPED, "stopped after %zu of %zu rows", done, of->y.n);
  }
  if (!status && o->checkpoint) remove(o->checkpoint);
  return status;
}

static cq_status find_nearest(cq_neighbours *of_x, cq_neighbours *of_y, cq_pass_of *of,
                              const cq_nearest_options *options, cq_context *ctx, cq_error *error) {
  cq_nearest_options o;
  const size_t others_of_x = of->within ? of->x.n - (of->x.n > 0) : of->y.n;
  cq_status status = cq_options_take(&o, &cq_group_nearest, options, error);
  if (status) return status;
  search *s = cq_alloc_zeroed(sizeof *s);
  if (!s) return cq_fail_memory(error, "a search");
  for (size_t i = 0; i < LOCKS; i++) atomic_flag_clear(&s->locks[i]);
  s->rows = &s->sides[0], s->other = of->within ? s->rows : of_y ? &s->sides[1] : NULL;
  if (!side_new(s->rows, of->x.n, o.k < others_of_x ? o.k : others_of_x) ||
      (of_y && !side_new(s->other, of->y.n, o.k < of->x.n ? o.k : of->x.n)))
    status = cq_fail_memory(error, "neighbours");
  of->x.at = o.x_rows, of->y.at = of->within ? o.x_rows : o.y_rows;
  of->first_pass = o.first_pass, of->found = offer_pair, of->context = s;
  of->x_bounds = s->rows->bounds, of->y_bounds = s->other ? s->other->bounds : NULL;
  if (!status) status = cq_pass_open(&s->pass, of, ctx, error);
  if (!status && s->rows->lists.k > 0 && of->x.n > 0)
    status = search_nearest(s, of, &o, ctx, error); /* else there is nothing to find */
  for (int i = 0; i < 2; i++) {
    if (status) cq_neighbours_free(&s->sides[i].lists);
    cq_free((void *)s->sides[i].bounds);
  }
  *of_x = s->sides[0].lists;
  if (of_y) *of_y = s->sides[1].lists;
  cq_pass_free(s->pass);
  cq_free(s);
  return status;
}

cq_status cq_nearest(cq_neighbours *of_x, cq_neighbours *of_y, const float *x, size_t n_x, const float *y, size_t n_y,
                     size_t dim, const cq_nearest_options *options, cq_context *ctx, cq_error *error) {
  cq_pass_of of = {.x = {x, NULL, n_x, dim}, .y = {y, NULL, n_y, dim}};
  *of_x = (cq_neighbours){0};
  if (of_y) *of_y = (cq_neighbours){0};
  return find_nearest(of_x, of_y, &of, options, ctx, error);
}

cq_status cq_nearest_within(cq_neighbours *out, const float *x, size_t n, size_t dim, const cq_nearest_options *options,
                            cq_context *ctx, cq_error *error) {
  cq_pass_of of = {.x = {x, NULL, n, dim}, .y = {x, NULL, n, dim}, .within = true};
  *out = (cq_neighbours){0};
  return find_nearest(out, NULL, &of, options, ctx, error);
}
