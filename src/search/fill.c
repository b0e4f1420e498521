/* Lists that a pass over all cosines fills (pass.c).
 *
 * All threads share the lists; a small set of locks guards them. A list's bound is its lowest cosine, so its contents
 * are exact whatever the order of the work. The bound rises fast: of a million columns, only some dozens are relevant
 * for a row. Adversarial input (all rows alike) costs time, never exactness. Within one matrix, a pair is offered to
 * both its rows. */
#include "search/fill.h"

#include "base/error.h"
#include "base/memory.h"
#include "search/lists.h"
#include "search/pass.h"

#include <sched.h>

enum { LOCKS = 1024 };

/* One side's results as they grow. */
typedef struct side {
  cq_neighbors *lists;
  _Atomic float *bounds; /* [n] the lowest cosine of each list */
} side;

typedef struct fill {
  cq_pass *pass;
  side sides[2];      /* of x and, unless within, of y */
  side *rows, *other; /* where x's neighbors go and y's: NULL: not wanted */
  const cq_filling *of;
  atomic_flag locks[LOCKS];
} fill;

static void renew_bound(const fill *s, side *to, size_t list) {
  atomic_store_explicit(&to->bounds[list], cq_pass_bound(s->pass, cq_lists_min(to->lists, list)), memory_order_relaxed);
}

static void offer_neighbor(fill *s, side *to, size_t list, size_t index, double cosine) {
  atomic_flag *lock = &s->locks[list % LOCKS];
  if ((float)cosine < atomic_load_explicit(&to->bounds[list], memory_order_relaxed)) return;
  while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire)) sched_yield();
  cq_lists_insert(to->lists, list, (uint32_t)index, cosine);
  renew_bound(s, to, list);
  atomic_flag_clear_explicit(lock, memory_order_release);
}

static void offer_pair(void *context, int worker, size_t i, size_t j, double cosine) {
  fill *s = context;
  (void)worker;
  const cq_filling *f = s->of;
  offer_neighbor(s, s->rows, i, f->y_numbers ? f->y_numbers[j] : f->y.first + j, cosine);
  if (s->other) offer_neighbor(s, s->other, j, f->x_numbers ? f->x_numbers[i] : f->x.first + i, cosine);
}

static bool open_fill_side(side *out, cq_neighbors *lists) {
  out->lists = lists;
  out->bounds = cq_alloc_array(lists->n, sizeof *out->bounds);
  return out->bounds;
}

static void renew_bounds(const fill *s, side *to) {
  for (size_t i = 0; i < to->lists->n; i++) renew_bound(s, to, i);
}

/* Chunk by chunk; lists without places, or no rows, need no search. */
static cq_status run_fill(fill *s, const cq_filling *f, cq_context *ctx, cq_error *error) {
  cq_status status = CQ_OK;
  size_t done = f->done;
  if (f->of_x->k == 0 || f->x.n == 0) return CQ_OK;
  renew_bounds(s, s->rows);
  if (s->other && s->other != s->rows) renew_bounds(s, s->other);
  while (!status && done < f->y.n) {
    done = cq_pass_run(s->pass, done, ctx);
    if (f->chunk_done) status = f->chunk_done(f->context, done, error);
  }
  return status;
}

cq_status cq_lists_fill(const cq_filling *f, cq_context *ctx, cq_error *error) {
  fill *s = cq_alloc_zeroed(sizeof *s);
  if (!s) return cq_fail_memory(error, "a search");
  for (size_t i = 0; i < LOCKS; i++) atomic_flag_clear(&s->locks[i]);
  s->rows = &s->sides[0], s->other = f->within ? s->rows : f->of_y ? &s->sides[1] : NULL;
  s->of = f;
  cq_status status = open_fill_side(s->rows, f->of_x) && (f->within || !f->of_y || open_fill_side(s->other, f->of_y))
                         ? CQ_OK
                         : cq_fail_memory(error, "neighbors");
  const cq_pass_of of = {.x = f->x,
                         .y = f->y,
                         .within = f->within,
                         .first_pass = f->first_pass,
                         .found = offer_pair,
                         .context = s,
                         .x_bounds = s->rows->bounds,
                         .y_bounds = s->other ? s->other->bounds : NULL};
  if (!status) status = cq_pass_open(&s->pass, &of, ctx, error);
  if (!status) status = run_fill(s, f, ctx, error);
  for (int i = 0; i < 2; i++) cq_free((void *)s->sides[i].bounds);
  cq_pass_free(s->pass);
  cq_free(s);
  return status;
}
