/* Nearest-neighbor search by several ranks in a ring. Each keeps a block of x. The blocks of y travel together with the
 * lists of their rows, so that later comparisons use the bounds found earlier.
 *
 *   step    rank 0      rank 1      rank 2
 *    0      X0 . Y0     X1 . Y1     X2 . Y2        then each sends its block of y and the block's lists to the rank
 *    1      X0 . Y1     X1 . Y2     X2 . Y0        before it
 *    2      X0 . Y2     X1 . Y0     X2 . Y1
 *
 * Lists keep the best by (cosine, index), whatever the order of the offers: they equal those of one process, including
 * ties. Within one matrix, y is x and each pair of blocks meets once: X0 . X0 is searched within, and the ring ends
 * halfway round. With an even number of ranks, two ranks then have the same pair of blocks: one takes the first half of
 * the lower block's rows, the other the second half.
 *
 * Rank 0 has the rows: it sends each rank its blocks before the first step, and receives all lists after the last.
 *
 * On disk, each rank keeps its state: both lists at the start of a step, in a file per step. Ranks resume together from
 * a step that all have; a step's file is removed once all have the next one. */
#include "search/ring.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "ranks/ranks.h"
#include "search/lists.h"
#include "search/resume.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_PER_MESSAGE = 4096 };

/* Rank 0's first message. */
typedef struct plan {
  uint64_t n_x, n_y, dim, k, first_pass;
  double checkpoint_every_s;
  cq_identity key; /* of the whole search */
} plan;

typedef struct ring {
  cq_messages *messages;
  cq_ranks *ranks;
  int rank, n_ranks;
  plan plan;
  bool within, wants_y;
  const cq_nearest_options *o;
  size_t step, n_steps;
  size_t done;                /* rows of y in this step */
  cq_row_set x;               /* the block that stays */
  float *kept, *room[2];      /* x's rows, except on rank 0; rows of the current block of y, and of the next */
  cq_neighbors of_x, of_y[2]; /* of x; of the block of y here, and of the next */
  double saved;               /* when */
} ring;

typedef struct block {
  size_t first, n; /* rows */
} block;

/* Block b of n rows. */
static block block_of(size_t n, int n_ranks, int b) {
  const size_t each = n / (size_t)n_ranks, more = n % (size_t)n_ranks, at = (size_t)b;
  return (block){each * at + cq_min(at, more), each + (at < more)};
}

static block x_block(const ring *r, int rank) {
  return block_of(r->plan.n_x, r->n_ranks, rank);
}

/* The number of the block of y that a rank has in a step, and the block. */
static int y_number(const ring *r, int rank, size_t step) {
  return (int)(((size_t)rank + step) % (size_t)r->n_ranks);
}
static block y_block(const ring *r, int rank, size_t step) {
  return block_of(r->plan.n_y, r->n_ranks, y_number(r, rank, step));
}

/* --- rows and lists from rank to rank --- */

/* Rank 0's rows, made contiguous first. */
static cq_status send_rows(const ring *r, int to, const cq_row_set *rows, size_t first, size_t n, cq_error *error) {
  float *together = rows->at ? cq_alloc_array(cq_min(n, ROWS_PER_MESSAGE), rows->dim * sizeof *together) : NULL;
  cq_status status = rows->at && n && !together ? cq_fail_memory(error, "vectors of another rank") : CQ_OK;
  for (size_t done = 0; !status && done < n; done += ROWS_PER_MESSAGE) {
    const size_t some = cq_min(n - done, ROWS_PER_MESSAGE);
    for (size_t i = 0; together && i < some; i++)
      memcpy(together + i * rows->dim, cq_row(rows, first + done + i), rows->dim * sizeof *together);
    status = cq_messages_send(r->messages, to, together ? together : cq_row(rows, first + done),
                              some * rows->dim * sizeof(float), error);
  }
  cq_free(together);
  return status;
}

static cq_status receive_rows(const ring *r, float *out, size_t n, cq_error *error) {
  const size_t dim = r->plan.dim;
  cq_status status = CQ_OK;
  for (size_t done = 0; !status && done < n; done += ROWS_PER_MESSAGE)
    status = cq_messages_receive(r->messages, 0, out + done * dim,
                                 cq_min(n - done, ROWS_PER_MESSAGE) * dim * sizeof *out, error);
  return status;
}

static cq_status send_lists(const ring *r, int to, const cq_neighbors *lists, cq_error *error) {
  const size_t n = lists->n * lists->k;
  const cq_status status = cq_messages_send(r->messages, to, lists->index, n * sizeof *lists->index, error);
  return status ? status : cq_messages_send(r->messages, to, lists->cosine, n * sizeof *lists->cosine, error);
}

static cq_status receive_lists(const ring *r, int from, const cq_neighbors *lists, cq_error *error) {
  const size_t n = lists->n * lists->k;
  const cq_status status = cq_messages_receive(r->messages, from, lists->index, n * sizeof *lists->index, error);
  return status ? status : cq_messages_receive(r->messages, from, lists->cosine, n * sizeof *lists->cosine, error);
}

/* Lists of some of the rows, in place. */
static cq_neighbors some_lists(const cq_neighbors *lists, size_t first, size_t n) {
  return (cq_neighbors){n, lists->k, lists->index + first * lists->k, lists->cosine + first * lists->k};
}

/* --- getting ready --- */

static cq_status make_plan(ring *r, const cq_filling *f, cq_error *error) {
  const cq_nearest_options *o = r->o;
  if (r->rank == 0) {
    r->plan = (plan){f->x.n, f->y.n, f->x.dim, o->k, f->first_pass, o->checkpoint_every_s, {0, 0}};
    if (o->checkpoint) r->plan.key = cq_search_identity(&f->x, &f->y, o->k, f->within);
  }
  const cq_status status = cq_ranks_broadcast(r->ranks, &r->plan, sizeof r->plan, error);
  r->n_steps = f->within ? (size_t)r->n_ranks / 2 + 1 : (size_t)r->n_ranks;
  return status;
}

/* Room for the blocks and lists of this rank. */
static cq_status make_room(ring *r, const cq_filling *f, cq_error *error) {
  size_t row_bytes;
  const block x = x_block(r, r->rank);
  const size_t n_most = y_block(r, 0, 0).n; /* the first blocks are the longest */
  bool ok = cq_checked_mul(&row_bytes, r->plan.dim, sizeof(float));
  const size_t k_x = cq_min(r->plan.k, f->within ? r->plan.n_x - (r->plan.n_x > 0) : r->plan.n_y);
  ok = ok && cq_lists_new(&r->of_x, x.n, k_x);
  for (int i = 0; i < 2 && ok; i++)
    ok = (r->room[i] = cq_alloc_array(n_most, row_bytes)) &&
         (!r->wants_y || cq_lists_new(&r->of_y[i], n_most, f->within ? k_x : cq_min(r->plan.k, r->plan.n_x)));
  if (ok && r->rank > 0) ok = (r->kept = cq_alloc_array(x.n, row_bytes));
  if (!ok) return cq_fail_memory(error, "a block of a search");
  r->x = (cq_row_set){.data = r->kept, .n = x.n, .dim = r->plan.dim, .first = x.first};
  if (r->rank == 0) r->x.data = f->x.data, r->x.at = f->x.at;
  return CQ_OK;
}

static void clear_lists(ring *r, size_t step) {
  cq_lists_clear(&r->of_x, 0, r->of_x.n);
  if (!r->wants_y) return;
  r->of_y[0].n = y_block(r, r->rank, step).n;
  cq_lists_clear(&r->of_y[0], 0, r->of_y[0].n);
}

/* Sends each rank its block of x and the block of y for its first step. */
static cq_status hand_out(ring *r, const cq_filling *f, cq_error *error) {
  const block own = y_block(r, r->rank, r->step);
  cq_status status = CQ_OK;
  if (r->rank > 0) {
    status = receive_rows(r, r->kept, r->x.n, error);
    return status ? status : receive_rows(r, r->room[0], own.n, error);
  }
  for (int to = 1; !status && to < r->n_ranks; to++) {
    const block x = x_block(r, to), y = y_block(r, to, r->step);
    status = send_rows(r, to, &f->x, x.first, x.n, error);
    if (!status) status = send_rows(r, to, &f->y, y.first, y.n, error);
  }
  for (size_t i = 0; i < own.n; i++)
    memcpy(r->room[0] + i * f->y.dim, cq_row(&f->y, own.first + i), f->y.dim * sizeof(float));
  return status;
}

/* --- state on disk --- */

static bool state_path(char out[PATH_MAX], const ring *r, size_t step) {
  return r->o->checkpoint &&
         snprintf(out, PATH_MAX, "%s.%d-of-%d.%zu", r->o->checkpoint, r->rank, r->n_ranks, step) < PATH_MAX;
}

static cq_identity state_key(cq_identity key, int rank, int n_ranks, size_t step) {
  const uint64_t of[] = {(uint64_t)rank, (uint64_t)n_ranks, step};
  return cq_hash128_add(key, of, sizeof of);
}

/* The lists as they are in this step. */
static cq_status save_step(ring *r, size_t done, cq_error *error) {
  char path[PATH_MAX];
  r->saved = cq_seconds(CLOCK_MONOTONIC);
  if (!state_path(path, r, r->step)) return cq_fail(error, CQ_ERR_ARGUMENT, "the search has no place for its state");
  return cq_search_save(path, state_key(r->plan.key, r->rank, r->n_ranks, r->step), done, &r->of_x,
                        r->wants_y ? &r->of_y[0] : NULL, error);
}

/* False: there is none to resume from. */
static bool load_step(ring *r, size_t step) {
  const cq_identity key = state_key(r->plan.key, r->rank, r->n_ranks, step);
  char path[PATH_MAX];
  clear_lists(r, step);
  if (!state_path(path, r, step) || !cq_file_exists(path) || !cq_search_is_of(path, key)) return false;
  const cq_status status =
      cq_search_load(&r->done, path, key, r->plan.n_x, r->plan.n_y, &r->of_x, r->wants_y ? &r->of_y[0] : NULL, NULL);
  if (!status && r->done <= y_block(r, r->rank, step).n) return true;
  clear_lists(r, step);
  return false;
}

static void remove_steps(const ring *r, size_t from, size_t to) {
  char path[PATH_MAX];
  for (size_t step = from; step < to; step++)
    if (state_path(path, r, step)) remove(path);
}

/* Fails if a different number of ranks began this search, since its work would be lost. */
static cq_status refuse_others(const ring *r, cq_error *error) {
  char directory[PATH_MAX];
  if (!r->o->checkpoint || !cq_path_parent(directory, sizeof directory, r->o->checkpoint)) return CQ_OK;
  const cq_slice name = cq_path_name(r->o->checkpoint);
  DIR *dir = opendir(directory);
  cq_status status = CQ_OK;
  for (struct dirent *entry; dir && !status && (entry = readdir(dir));) {
    int n_ranks, end = 0;
    size_t step;
    char path[PATH_MAX];
    if (strncmp(entry->d_name, name.data, name.n) != 0) continue;
    const char *rest = entry->d_name + name.n;
    if (sscanf(rest, ".0-of-%d.%zu%n", &n_ranks, &step, &end) != 2 || rest[end] || n_ranks == r->n_ranks) continue;
    if (cq_path_join(path, sizeof path, directory, entry->d_name, NULL)) continue;
    const cq_identity key = state_key(r->plan.key, 0, n_ranks, step);
    if (cq_search_is_of(path, key))
      status = cq_fail_file(error, CQ_ERR_ARGUMENT, path,
                            "%d ranks have begun this search: continue with as many, or remove the file to start over",
                            n_ranks);
  }
  if (dir) closedir(dir);
  return status;
}

/* The last step whose state all ranks have; without one, all start over. */
static cq_status find_begin(ring *r, cq_error *error) {
  double *last = cq_alloc_array_zeroed((size_t)r->n_ranks, sizeof *last);
  if (!last) return cq_fail_memory(error, "ranks");
  size_t step = r->n_steps;
  while (step > 0 && !load_step(r, step - 1)) step--;
  last[r->rank] = (double)step; /* 0: none */
  cq_status status = cq_messages_sum(r->messages, last, (size_t)r->n_ranks, error);
  for (int i = 0; i < r->n_ranks; i++) step = cq_min(step, (size_t)last[i]);
  bool lacking = step == 0 || (!status && !load_step(r, step - 1));
  if (!status) status = cq_ranks_meet(r->ranks, &lacking, error);
  cq_free(last);
  r->step = lacking ? 0 : step - 1;
  if (lacking) {
    clear_lists(r, 0);
    r->done = 0;
    remove_steps(r, 0, r->n_steps);
  }
  return status;
}

/* --- the steps --- */

static cq_status ring_chunk_done(void *context, size_t done, cq_error *error) {
  ring *r = context;
  const cq_nearest_options *o = r->o;
  cq_status status = CQ_OK;
  const uint64_t parts = r->plan.n_y / (uint64_t)r->n_ranks + 1;
  const bool stop =
      o->progress && !o->progress(o->progress_context, r->step * parts + cq_min(done, parts), r->n_steps * parts);
  if (o->checkpoint && (stop || cq_seconds(CLOCK_MONOTONIC) - r->saved >= r->plan.checkpoint_every_s)) {
    const cq_status kept = save_step(r, done, stop ? error : NULL);
    if (stop) status = kept;
  }
  if (status || !stop) return status;
  return cq_fail(error, CQ_ERR_STOPPED, "stopped after %zu of %zu rows in step %zu of %zu", done,
                 y_block(r, r->rank, r->step).n, r->step + 1, r->n_steps);
}

/* Searches rank r's block of x with the block of y that this rank has now. */
static cq_status fill_step(ring *r, cq_context *ctx, cq_error *error) {
  const int number = y_number(r, r->rank, r->step);
  const block y = y_block(r, r->rank, r->step);
  cq_neighbors of_x = r->of_x, of_y = r->of_y[0];
  cq_filling f = {.x = r->x,
                  .y = {.data = r->room[0], .n = y.n, .dim = r->plan.dim, .first = y.first},
                  .first_pass = (cq_first_pass)r->plan.first_pass,
                  .of_x = &of_x,
                  .of_y = r->wants_y ? &of_y : NULL,
                  .done = r->done,
                  .chunk_done = ring_chunk_done,
                  .context = r};
  if (r->within && r->step == 0) {
    f.y = f.x, f.within = true, f.of_y = NULL;
  } else if (r->within && 2 * r->step == (size_t)r->n_ranks) { /* the rank of that block has the same pair of blocks */
    const size_t half = (r->rank < number ? f.x.n : f.y.n) / 2;
    if (r->rank < number) {
      f.x.n = half, of_x = some_lists(&of_x, 0, half);
    } else {
      f.y.data += half * f.y.dim, f.y.n -= half, f.y.first += half;
      of_y = some_lists(&of_y, half, f.y.n);
    }
  }
  return cq_lists_fill(&f, ctx, error);
}

static cq_status receive_block(ring *r, cq_error *error) {
  const int from = (r->rank + 1) % r->n_ranks;
  const size_t n_y = y_block(r, r->rank, r->step + 1).n;
  r->of_y[1].n = r->wants_y ? n_y : 0;
  const cq_status status = cq_messages_receive(r->messages, from, r->room[1], n_y * r->plan.dim * sizeof(float), error);
  return status || !r->wants_y ? status : receive_lists(r, from, &r->of_y[1], error);
}

static cq_status send_block(ring *r, cq_error *error) {
  const int to = (r->rank + r->n_ranks - 1) % r->n_ranks;
  const size_t n_y = y_block(r, r->rank, r->step).n;
  const cq_status status = cq_messages_send(r->messages, to, r->room[0], n_y * r->plan.dim * sizeof(float), error);
  return status || !r->wants_y ? status : send_lists(r, to, &r->of_y[0], error);
}

/* Passes the block of y on and receives the next one. Sending may block until the receiver is ready, so one of two
 * neighbors sends first. */
static cq_status turn_ring(ring *r, cq_error *error) {
  const bool gives_first = r->rank % 2 == 0;
  cq_status status = gives_first ? send_block(r, error) : receive_block(r, error);
  if (!status) status = gives_first ? receive_block(r, error) : send_block(r, error);
  float *room = r->room[0];
  const cq_neighbors lists = r->of_y[0];
  r->room[0] = r->room[1], r->room[1] = room;
  r->of_y[0] = r->of_y[1], r->of_y[1] = lists;
  r->step++, r->done = 0;
  return status;
}

/* When one rank's save is due, all ranks save the step that begins now; the previous files are removed once all have
 * saved. */
static cq_status save_together(ring *r, cq_error *error) {
  bool it_is_time = r->o->checkpoint && cq_seconds(CLOCK_MONOTONIC) - r->saved >= r->plan.checkpoint_every_s;
  cq_status status = cq_ranks_meet(r->ranks, &it_is_time, error);
  if (status || !it_is_time) return status;
  bool lacking = save_step(r, 0, NULL) != CQ_OK; /* without room for it a search still ends */
  status = cq_ranks_meet(r->ranks, &lacking, error);
  if (!status && !lacking) remove_steps(r, 0, r->step);
  return status;
}

/* --- the result, on rank 0 --- */

static void merge_lists(cq_neighbors *to, const cq_neighbors *from, size_t first) {
  for (size_t i = 0; i < from->n; i++)
    for (size_t j = 0; j < from->k && from->index[i * from->k + j] != UINT32_MAX; j++)
      cq_lists_insert(to, first + i, from->index[i * from->k + j], from->cosine[i * from->k + j]);
}

static cq_status take_lists(ring *r, int from, const cq_neighbors *to, const cq_neighbors *own, cq_error *error) {
  const size_t n = to->n * to->k;
  if (from > 0) return receive_lists(r, from, to, error);
  if (n > 0) memcpy(to->index, own->index, n * sizeof *to->index);
  if (n > 0) memcpy(to->cosine, own->cosine, n * sizeof *to->cosine);
  return CQ_OK;
}

static cq_status take_all(ring *r, const cq_filling *f, cq_error *error) {
  cq_neighbors *of_y = f->within ? NULL : f->of_y, passing = {0};
  if (!cq_lists_new(f->of_x, r->plan.n_x, r->of_x.k) || (of_y && !cq_lists_new(of_y, r->plan.n_y, r->of_y[0].k)))
    return cq_fail_memory(error, "neighbors");
  cq_status status = CQ_OK;
  for (int from = 0; !status && from < r->n_ranks; from++) { /* as they are sent */
    const block x = x_block(r, from);
    const cq_neighbors part = some_lists(f->of_x, x.first, x.n);
    status = take_lists(r, from, &part, &r->of_x, error);
  }
  for (int from = 0; !status && r->wants_y && from < r->n_ranks; from++) {
    const block y = y_block(r, from, r->step);
    if (of_y) {
      const cq_neighbors part = some_lists(of_y, y.first, y.n);
      status = take_lists(r, from, &part, &r->of_y[0], error);
    } else if (!cq_lists_new(&passing, y.n, r->of_x.k)) {
      status = cq_fail_memory(error, "neighbors");
    } else {
      status = take_lists(r, from, &passing, &r->of_y[0], error);
      if (!status) merge_lists(f->of_x, &passing, y.first);
    }
    cq_neighbors_free(&passing);
  }
  return status;
}

/* --- the search --- */

static cq_status run_ring(ring *r, const cq_filling *f, cq_context *ctx, cq_error *error) {
  cq_status status = make_plan(r, f, error);
  if (!status) status = make_room(r, f, error);
  if (!status && r->rank == 0) status = refuse_others(r, error);
  if (!status) status = find_begin(r, error);
  if (!status) status = hand_out(r, f, error);
  r->saved = cq_seconds(CLOCK_MONOTONIC);
  while (!status) {
    status = fill_step(r, ctx, error);
    if (status || r->step + 1 == r->n_steps) break;
    status = turn_ring(r, error);
    if (!status) status = save_together(r, error);
  }
  if (!status) status = r->rank == 0 ? take_all(r, f, error) : send_lists(r, 0, &r->of_x, error);
  if (!status && r->rank > 0 && r->wants_y) status = send_lists(r, 0, &r->of_y[0], error);
  if (!status) status = cq_ranks_meet(r->ranks, NULL, error);
  if (!status) remove_steps(r, 0, r->n_steps);
  return status;
}

cq_status cq_ring_nearest(const cq_filling *filling, const cq_nearest_options *options, cq_context *ctx,
                          cq_error *error) {
  ring r = {.ranks = options->ranks,
            .messages = cq_ranks_messages(options->ranks),
            .rank = cq_ranks_rank(options->ranks),
            .n_ranks = cq_ranks_count(options->ranks),
            .within = filling->within,
            .wants_y = filling->within || filling->of_y,
            .o = options};
  const cq_status status = run_ring(&r, filling, ctx, error);
  cq_neighbors_free(&r.of_x);
  for (int i = 0; i < 2; i++) {
    cq_neighbors_free(&r.of_y[i]);
    cq_free(r.room[i]);
  }
  cq_free(r.kept);
  return status;
}
