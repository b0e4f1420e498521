/* Hard negatives of distillation: the nearest other sources, near misses, which source has which, and little memory. */
#include "support/files.h"

#include "base/memory.h"
#include "calque/embedding.h"
#include "recipe/train/hard_negatives.h"

#define MODEL CQ_TESTS_DIR "/golden/models/bert-uncased"

static const char *const texts[] = {
    "the river is long",  "never drawn", "a boat on the river", "he sang", "", "two boats came to the station",
    "the station is here"};
enum { N_SOURCES = sizeof texts / sizeof *texts, N_DRAWN = 5, MAX = 16 };
static const uint32_t drawn[N_DRAWN] = {0, 2, 3, 5, 6};
static const size_t n_wanted[N_DRAWN] = {3, 2, 2, 3, 3}; /* two nearest; and a negation, a number, a negation */

typedef struct problem {
  cq_slice sources[N_SOURCES];
  cq_cached_encoder teacher;
  cq_hard_negatives hard;
} problem;

static cq_status make(problem *p, size_t n_nearest, bool near_misses, cq_nearest_progress_fn progress,
                      cq_error *error) {
  for (size_t i = 0; i < N_SOURCES; i++) p->sources[i] = cq_slice_of(texts[i]);
  const cq_encoder_options opening = cq_encoder_default_options();
  cq_status status =
      cq_hard_negatives_list(&p->hard, p->sources, N_SOURCES, drawn, N_DRAWN, n_nearest, near_misses, 1, error);
  if (!status) status = cq_cached_encoder_open(&p->teacher, MODEL, &opening, test_path("cache"), error);
  if (!status) status = cq_cached_encoder_prepare(&p->teacher, p->hard.texts, p->hard.n_texts, NULL, NULL, NULL, error);
  if (!status) status = cq_cached_encoder_map(&p->teacher, error);
  return status ? status : cq_hard_negatives_search(&p->hard, &p->teacher, progress, NULL, NULL, error);
}

static void release(problem *p) {
  cq_hard_negatives_free(&p->hard);
  if (p->teacher.store) cq_cached_encoder_close(&p->teacher);
  *p = (problem){0};
}

static const float *vector_of(const problem *p, uint32_t source) {
  return cq_cached_encoder_vector(&p->teacher, p->sources[source]);
}

/* The r-th nearest of the drawn sources, by looking at all. */
static uint32_t nearest_of(const problem *p, uint32_t source, size_t rank) {
  const size_t dim = (size_t)p->teacher.dim;
  for (size_t i = 0; i < N_DRAWN; i++) {
    const double cosine = cq_cosine(vector_of(p, source), vector_of(p, drawn[i]), dim);
    size_t n_nearer = 0;
    for (size_t j = 0; j < N_DRAWN; j++)
      n_nearer += drawn[j] != source && cq_cosine(vector_of(p, source), vector_of(p, drawn[j]), dim) > cosine;
    if (drawn[i] != source && n_nearer == rank) return drawn[i];
  }
  fail();
  return 0;
}

static void nearest_others_and_near_misses(void **state) {
  (void)state;
  problem p = {0};
  const float *got[MAX];
  assert_int_equal(make(&p, 2, true, NULL, NULL), CQ_OK);
  assert_int_equal(cq_hard_negatives_max(&p.hard), 2 + CQ_N_MISSES);
  for (size_t i = 0; i < N_DRAWN; i++) {
    const size_t n = cq_hard_negatives_of(got, &p.hard, drawn[i]);
    for (size_t r = 0; r < 2; r++) assert_ptr_equal(got[r], vector_of(&p, nearest_of(&p, drawn[i], r)));
    assert_int_equal(n, n_wanted[i]);
  }
  cq_hard_negatives_of(got, &p.hard, 6);
  assert_ptr_equal(got[2], cq_cached_encoder_vector(&p.teacher, cq_slice_of("the station is not here")));
  release(&p);
}

static void each_alone(void **state) {
  (void)state;
  problem p = {0};
  const float *got[MAX];
  assert_int_equal(make(&p, 0, false, NULL, NULL), CQ_OK);
  assert_int_equal(cq_hard_negatives_max(&p.hard), 0);
  assert_int_equal(cq_hard_negatives_of(got, &p.hard, 0), 0);
  release(&p);
  assert_int_equal(make(&p, 10, false, NULL, NULL), CQ_OK); /* more than there are */
  assert_int_equal(p.hard.n_texts, N_DRAWN);
  assert_int_equal(cq_hard_negatives_of(got, &p.hard, 3), N_DRAWN - 1);
  release(&p);
  assert_int_equal(make(&p, 0, true, NULL, NULL), CQ_OK);
  assert_int_equal(cq_hard_negatives_of(got, &p.hard, 3), 0); /* no rule applies */
  assert_int_equal(cq_hard_negatives_of(got, &p.hard, 5), 1); /* two boats */
  release(&p);
}

static bool stop(void *context, uint64_t done, uint64_t n) {
  (void)context, (void)done, (void)n;
  return false;
}

static void the_search_can_be_stopped(void **state) {
  (void)state;
  problem p = {0};
  assert_int_equal(make(&p, 2, false, stop, NULL), CQ_ERR_STOPPED);
  release(&p);
}

static void memory_may_be_short(void **state) {
  (void)state;
  problem p = {0};
  assert_int_equal(make(&p, 2, true, NULL, NULL), CQ_OK); /* fills the cache */
  release(&p);
  for (long n = 1;; n++) {
    cq_alloc_fail_at(n);
    const cq_status status = make(&p, 2, true, NULL, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    release(&p);
    if (failed && status != CQ_ERR_MEMORY) fail_msg("allocation %ld: %s", n, cq_status_name(status));
    if (!failed) assert_int_equal(status, CQ_OK);
    if (!failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nearest_others_and_near_misses),
      cmocka_unit_test(each_alone),
      cmocka_unit_test(the_search_can_be_stopped),
      cmocka_unit_test(memory_may_be_short),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
