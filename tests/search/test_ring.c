/* Neighbors by several ranks are those of one process, ties included, whatever the sizes; a search that was stopped goes
 * on with as many ranks, and refuses another number. */
#include "support/files.h"
#include "support/wires.h"

#include "base/random.h"
#include "calque/nearest.h"

#include <math.h>

enum { DIM = 5, K = 3, MAX_ROWS = 64 };

typedef struct searching {
  const float *x, *y; /* y NULL: within x */
  const uint32_t *x_rows, *y_rows;
  size_t n_x, n_y;
  bool one_side;
  const char *checkpoint;
  int stop_after, n_told; /* calls of progress; 0: never */
  cq_neighbors of_x, of_y;
  cq_status status;
  cq_error error;
} searching;

static bool told(void *context, uint64_t done, uint64_t n_all) {
  searching *s = context;
  s->n_told++;
  return done <= n_all && s->n_told != s->stop_after;
}

static void search_together(cq_ranks *ranks, void *item) {
  searching *s = item;
  cq_nearest_options o = cq_nearest_default_options();
  const bool leads = cq_ranks_rank(ranks) == 0;
  o.k = leads ? K : 1; /* rank 0's counts */
  o.ranks = ranks, o.checkpoint = s->checkpoint, o.checkpoint_every_s = 0;
  o.progress = told, o.progress_context = s;
  if (leads) o.x_rows = s->x_rows, o.y_rows = s->y_rows;
  const float *x = leads ? s->x : NULL, *y = leads ? s->y : NULL;
  const size_t n_x = leads ? s->n_x : 0, n_y = leads ? s->n_y : 0, dim = leads ? DIM : 0;
  s->status = s->y ? cq_nearest(&s->of_x, s->one_side ? NULL : &s->of_y, x, n_x, y, n_y, dim, &o, NULL, &s->error)
                   : cq_nearest_within(&s->of_x, x, n_x, dim, &o, NULL, &s->error);
}

static void free_found(searching *s) {
  cq_neighbors_free(&s->of_x);
  cq_neighbors_free(&s->of_y);
}

/* All ranks alike; returns rank 0's, whose lists are the caller's. */
static searching run_search(int n_ranks, const searching *how) {
  searching all[MAX_WIRED_RANKS];
  for (int i = 0; i < n_ranks; i++) all[i] = *how;
  run_ranks(n_ranks, search_together, all, sizeof *all);
  for (int i = 1; i < n_ranks; i++) {
    assert_int_equal(all[i].status, all[0].status);
    assert_int_equal(all[i].of_x.n + all[i].of_y.n, 0);
    free_found(&all[i]);
  }
  return all[0];
}

static void assert_same_lists(const cq_neighbors *a, const cq_neighbors *b) {
  assert_int_equal(a->n, b->n);
  assert_int_equal(a->k, b->k);
  const size_t n = a->n * a->k;
  if (n) assert_memory_equal(a->index, b->index, n * sizeof *a->index);
  if (n) assert_memory_equal(a->cosine, b->cosine, n * sizeof *a->cosine);
}

/* One process is proved against a plain loop in test_nearest.c. */
static void check_search(int n_ranks, const searching *how) {
  searching one = run_search(1, how), many = run_search(n_ranks, how);
  assert_int_equal(one.status, CQ_OK);
  assert_int_equal(many.status, CQ_OK);
  assert_same_lists(&one.of_x, &many.of_x);
  assert_same_lists(&one.of_y, &many.of_y);
  free_found(&one);
  free_found(&many);
}

/* Rows of few kinds, so that most cosines have equals; some rows are zero. */
static void fill_rows(float rows[MAX_ROWS * DIM], uint64_t seed) {
  for (size_t i = 0; i < MAX_ROWS; i++) {
    const uint64_t kind = (i * 2654435761U + seed) % 11;
    for (size_t d = 0; d < DIM; d++) rows[i * DIM + d] = kind ? (float)((kind * (d + 3) + d * d) % 7) - 3 : 0;
  }
}

static void many_ranks_find_what_one_finds(void **state) {
  (void)state;
  static const size_t sizes[] = {1, 2, 3, 4, 7, 30, MAX_ROWS};
  enum { N_SIZES = sizeof sizes / sizeof *sizes };
  float x[MAX_ROWS * DIM], y[MAX_ROWS * DIM];
  uint32_t x_rows[MAX_ROWS], y_rows[MAX_ROWS];
  fill_rows(x, 1), fill_rows(y, 5);
  for (uint32_t i = 0; i < MAX_ROWS; i++) x_rows[i] = (i * 37 + 5) % MAX_ROWS, y_rows[i] = MAX_ROWS - 1 - i;
  for (int n_ranks = 1; n_ranks <= MAX_WIRED_RANKS; n_ranks++)
    for (size_t a = 0; a < N_SIZES; a++) {
      for (size_t b = 0; b < N_SIZES; b++)
        for (int how = 0; how < 4; how++)
          check_search(n_ranks, &(searching){.x = x,
                                             .y = y,
                                             .n_x = sizes[a],
                                             .n_y = sizes[b],
                                             .one_side = how % 2,
                                             .x_rows = how / 2 ? x_rows : NULL,
                                             .y_rows = how / 2 ? y_rows : NULL});
      check_search(n_ranks, &(searching){.x = x, .n_x = sizes[a]});
      check_search(n_ranks, &(searching){.x = x, .n_x = sizes[a], .x_rows = x_rows});
    }
}

/* --- stopped searches --- */

static int n_states(void) {
  int n = 0;
  DIR *dir = opendir(test_directory);
  for (const struct dirent *entry; (entry = readdir(dir));) n += !strncmp(entry->d_name, "search", 6);
  closedir(dir);
  return n;
}

static const char *state_of(int rank, int n_ranks, int step) {
  static char name[64];
  snprintf(name, sizeof name, "search.%d-of-%d.%d", rank, n_ranks, step);
  return test_path(name);
}

static void check_stopped(int n_ranks, bool within) {
  float x[MAX_ROWS * DIM], y[MAX_ROWS * DIM];
  fill_rows(x, 1), fill_rows(y, 5);
  searching how = {.x = x, .y = within ? NULL : y, .n_x = MAX_ROWS, .n_y = within ? 0 : 50};
  const int n_steps = within ? n_ranks / 2 + 1 : n_ranks;
  searching one = run_search(1, &how);
  for (int stop = 1; stop <= n_steps; stop++)
    for (int harm = 0; harm < 3; harm++) { /* nothing; a state is gone; a state is damaged */
      how.checkpoint = test_path("search"), how.stop_after = stop;
      searching stopped = run_search(n_ranks, &how);
      assert_int_equal(stopped.status, CQ_ERR_STOPPED);
      assert_int_equal(stopped.of_x.n, 0);
      assert_int_equal(n_states(), n_ranks); /* each has that of its step, and no other */
      if (harm == 1) assert_int_equal(unlink(state_of(n_ranks - 1, n_ranks, stop - 1)), 0);
      if (harm == 2) assert_int_equal(truncate(state_of(0, n_ranks, stop - 1), 50), 0);
      how.stop_after = 0;
      if (harm == 0 && n_ranks < MAX_WIRED_RANKS) {
        searching others[MAX_WIRED_RANKS];
        for (int i = 0; i <= n_ranks; i++) others[i] = how;
        run_ranks(n_ranks + 1, search_together, others, sizeof *others);
        assert_int_equal(others[0].status, CQ_ERR_ARGUMENT);
        char expected[64];
        snprintf(expected, sizeof expected, "%d ranks have begun this search", n_ranks);
        assert_non_null(strstr(others[0].error.message, expected));
        for (int i = 1; i <= n_ranks; i++) assert_int_equal(others[i].status, CQ_ERR_IO); /* rank 0 has left */
      }
      searching again = run_search(n_ranks, &how);
      assert_int_equal(again.status, CQ_OK);
      assert_int_equal(again.n_told, harm ? n_steps : n_steps - stop); /* steps that were left to do */
      assert_same_lists(&one.of_x, &again.of_x);
      assert_same_lists(&one.of_y, &again.of_y);
      assert_int_equal(n_states(), 0);
      free_found(&again);
    }
  free_found(&one);
}

static void a_stopped_search_goes_on(void **state) {
  (void)state;
  for (int n_ranks = 2; n_ranks <= MAX_WIRED_RANKS; n_ranks++) {
    check_stopped(n_ranks, false);
    check_stopped(n_ranks, true);
  }
}

/* States of other vectors are as none. */
static void another_search_begins_anew(void **state) {
  (void)state;
  float x[MAX_ROWS * DIM], y[MAX_ROWS * DIM];
  fill_rows(x, 1), fill_rows(y, 5);
  searching how = {.x = x, .y = y, .n_x = MAX_ROWS, .n_y = 50, .checkpoint = test_path("search"), .stop_after = 2};
  searching stopped = run_search(3, &how);
  assert_int_equal(stopped.status, CQ_ERR_STOPPED);
  y[49 * DIM] += 1;
  how.stop_after = 0;
  searching again = run_search(3, &how);
  how.checkpoint = NULL;
  searching one = run_search(1, &how);
  assert_int_equal(again.n_told, 3);
  assert_same_lists(&one.of_x, &again.of_x);
  assert_int_equal(n_states(), 0);
  free_found(&one), free_found(&again);
}

/* --- errors --- */

static void a_bad_number_is_named(void **state) {
  (void)state;
  float x[MAX_ROWS * DIM], y[MAX_ROWS * DIM];
  fill_rows(x, 1), fill_rows(y, 5);
  y[40 * DIM + 2] = INFINITY;
  searching all[3];
  for (int i = 0; i < 3; i++) all[i] = (searching){.x = x, .y = y, .n_x = MAX_ROWS, .n_y = MAX_ROWS};
  run_ranks(3, search_together, all, sizeof *all);
  assert_int_equal(all[1].status, CQ_ERR_ARGUMENT); /* the block of rows 22 to 42 is its own */
  assert_string_equal(all[1].error.message, "row 41 of the second vectors holds a number that is not finite");
  for (int i = 0; i < 3; i++) {
    assert_int_not_equal(all[i].status, CQ_OK);
    free_found(&all[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_ranks_find_what_one_finds),
      cmocka_unit_test(a_stopped_search_goes_on),
      cmocka_unit_test(another_search_begins_anew),
      cmocka_unit_test(a_bad_number_is_named),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
