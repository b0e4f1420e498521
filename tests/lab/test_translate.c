/* Neighbors in the other language: worked out by hand, and against the whole matrix of cosines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "lab/clir/translate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Source 0 1 7, target 2 3 4 5 7. As unit vectors 2 is (.6, .8), 3 (1, 0), 7 (.8, .6); 5 stays zero. */
enum { N = 8, DIM = 2 };
static const float vectors[N][DIM] = {{1, 0}, {0, 1}, {3, 4}, {2, 0}, {0, -1}, {0, 0}, {-5, 0}, {4, 3}};
static const bool is_source[N] = {1, 1, 0, 0, 0, 0, 0, 1}, is_target[N] = {0, 0, 1, 1, 1, 1, 0, 1};

static cq_translator opened(int csls) {
  cq_translator t;
  assert_int_equal(cq_translator_open(&t, vectors[0], N, DIM, is_source, is_target, csls, NULL, NULL), CQ_OK);
  return t;
}

typedef struct expected {
  uint32_t to;
  double cosine, score;
} expected;

static void expect(const cq_translator *t, const uint32_t *words, size_t n, size_t tau, bool summed, uint32_t from,
                   const expected *want, size_t n_want) {
  cq_translation got[N * N];
  assert_int_equal(cq_translate(got, t, words, n, tau, summed, vectors[0], DIM), n_want);
  for (size_t i = 0; i < n_want; i++) {
    assert_int_equal(got[i].from, from);
    assert_int_equal(got[i].to, want[i].to);
    assert_float_equal(got[i].cosine, want[i].cosine, 1e-6);
    assert_float_equal(got[i].score, want[i].score, 1e-6);
  }
}

static void nearest_by_hand(void **state) {
  (void)state;
  cq_translator t = opened(-3); /* no correction */
  assert_null(t.crowding);
  assert_int_equal(t.n_targets, 5);
  const expected of_0[] = {{3, 1, 1}, {7, .8, .8}, {2, .6, .6}, {4, 0, 0}, {5, 0, 0}}; /* ties to the lower number */
  for (size_t tau = 1; tau <= 5; tau++) expect(&t, (uint32_t[]){0}, 1, tau, false, 0, of_0, tau);
  expect(&t, (uint32_t[]){0}, 1, 100, false, 0, of_0, 5); /* there are no more words than that */
  /* A word of both languages finds itself. */
  const expected of_7[] = {{7, 1, 1}, {2, .96, .96}, {3, .8, .8}, {5, 0, 0}, {4, -.6, -.6}};
  expect(&t, (uint32_t[]){7}, 1, 9, false, 7, of_7, 5);
  /* A zero vector is as far from all, as they come. */
  const expected of_5[] = {{2, 0, 0}, {3, 0, 0}, {4, 0, 0}};
  expect(&t, (uint32_t[]){5}, 1, 3, false, 5, of_5, 3);
  /* Words one after another, a word that appears twice included. */
  cq_translation got[6];
  const uint32_t words[] = {0, 1, 0}, from[] = {0, 0, 1, 1, 0, 0}, to[] = {3, 7, 2, 7, 3, 7};
  assert_int_equal(cq_translate(got, &t, words, 3, 2, false, vectors[0], DIM), 6);
  for (size_t i = 0; i < 6; i++) {
    assert_int_equal(got[i].from, from[i]);
    assert_int_equal(got[i].to, to[i]);
  }
  expect(&t, words, 0, 5, false, 0, NULL, 0);
  expect(&t, words, 3, 0, false, 0, NULL, 0);
  expect(&t, words, 0, 5, true, 0, NULL, 0);
  cq_translator_close(&t);
  assert_null(t.vectors);
}

static void the_sum_is_of_vectors_as_given(void **state) {
  (void)state;
  cq_translator t = opened(0);
  /* (1, 0) + 2 (0, 1) = (1, 2) */
  const double root5 = sqrt(5), root52 = sqrt(52);
  const expected a[] = {{2, 2.2 / root5, 2.2 / root5},
                        {7, 2 / root5, 2 / root5},
                        {3, 1 / root5, 1 / root5},
                        {5, 0, 0},
                        {4, -2 / root5, -2 / root5}};
  expect(&t, (uint32_t[]){0, 1, 1}, 3, 9, true, CQ_ALL_WORDS, a, 5);
  expect(&t, (uint32_t[]){1, 0, 1}, 3, 2, true, CQ_ALL_WORDS, a, 2);
  /* (4, 3) + 3 (0, 1) = (4, 6): not (.8, 3.6), which is what unit vectors would give */
  const expected b[] = {{2, 7.2 / root52, 7.2 / root52}, {7, 6.8 / root52, 6.8 / root52}};
  expect(&t, (uint32_t[]){7, 1, 1, 1}, 4, 2, true, CQ_ALL_WORDS, b, 2);
  /* One word's sum is the word. */
  const expected c[] = {{3, 1, 1}};
  expect(&t, (uint32_t[]){0}, 1, 1, true, CQ_ALL_WORDS, c, 1);
  /* 5 (1, 0) + (-5, 0) = 0 */
  const expected d[] = {{2, 0, 0}, {3, 0, 0}};
  expect(&t, (uint32_t[]){0, 0, 0, 0, 0, 6}, 6, 2, true, CQ_ALL_WORDS, d, 2);
  cq_translator_close(&t);
}

static void csls_by_hand(void **state) {
  (void)state;
  cq_translator t = opened(1);
  /* k 1, what is nearest on the other side: 0 has 3, 1; 1 has 2, .8; 2 has 7, .96; 3 has 0, 1; 4 has 0, 0; 5 any, 0;
   * 7 has 0, .8, for itself does not count. */
  const expected of_0[] = {{3, 1, 2 - 1 - 1}, {7, .8, 1.6 - 1 - .8}, {2, .6, 1.2 - 1 - .96}, {4, 0, -1}, {5, 0, -1}};
  expect(&t, (uint32_t[]){0}, 1, 9, false, 0, of_0, 5);
  /* Here the order is another one than the cosines': 5 is nobody's neighbor, 3 is. */
  const expected of_1[] = {
      {2, .8, 1.6 - .8 - .96}, {7, .6, 1.2 - .8 - .8}, {5, 0, -.8}, {3, 0, -.8 - 1}, {4, -1, -2.8}};
  expect(&t, (uint32_t[]){1}, 1, 9, false, 1, of_1, 5);
  /* The sum (1, 2) has no neighbors of its own. */
  const double root5 = sqrt(5);
  const expected sum[] = {{2, 2.2 / root5, 4.4 / root5 - .96}, {7, 2 / root5, 4 / root5 - .8}, {5, 0, 0}};
  expect(&t, (uint32_t[]){0, 1, 1}, 3, 3, true, CQ_ALL_WORDS, sum, 3);
  cq_translator_close(&t);
  /* k 2: 0 .9; 2 (.96 + .8) / 2; 3 (1 + .8) / 2; 7 (.8 + .6) / 2; 4 (0 - .6) / 2 */
  t = opened(2);
  const expected two[] = {
      {3, 1, 2 - .9 - .9}, {7, .8, 1.6 - .9 - .7}, {2, .6, 1.2 - .9 - .88}, {4, 0, -.9 + .3}, {5, 0, -.9}};
  expect(&t, (uint32_t[]){0}, 1, 9, false, 0, two, 5);
  cq_translator_close(&t);
  /* k beyond what there is: 0 has five, 2 has three; and what no language has stays in no one's way. */
  t = opened(100);
  const double r0 = (1 + .8 + .6) / 5, r3 = 1.8 / 3;
  const expected all[] = {{3, 1, 2 - r0 - r3}};
  expect(&t, (uint32_t[]){0}, 1, 1, false, 0, all, 1);
  cq_translator_close(&t);
}

static void no_language_no_words(void **state) {
  (void)state;
  const bool none[N] = {false};
  cq_translation got[N];
  for (int csls = 0; csls <= 3; csls += 3) {
    cq_translator t;
    assert_int_equal(cq_translator_open(&t, vectors[0], N, DIM, is_source, none, csls, NULL, NULL), CQ_OK);
    assert_int_equal(cq_translate(got, &t, (uint32_t[]){0, 1}, 2, 4, false, vectors[0], DIM), 0);
    assert_int_equal(cq_translate(got, &t, (uint32_t[]){0, 1}, 2, 4, true, vectors[0], DIM), 0);
    cq_translator_close(&t);
  }
}

/* --- the whole matrix --- */

enum { MANY = 90, WIDE = 19, K = 4 };
static float x[MANY][WIDE];
static bool of_source[MANY], of_target[MANY];

static double cosine(size_t a, size_t b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < WIDE; i++)
    ab += (double)x[a][i] * (double)x[b][i], aa += (double)x[a][i] * (double)x[a][i],
        bb += (double)x[b][i] * (double)x[b][i];
  return ab / sqrt(aa * bb);
}

static int falling(const void *a, const void *b) {
  const double p = *(const double *)a, q = *(const double *)b;
  return (p < q) - (p > q);
}

static double mean_of_nearest(size_t word, const bool *language) {
  double all[MANY], sum = 0;
  size_t n = 0;
  for (size_t i = 0; i < MANY; i++)
    if (language[i] && i != word) all[n++] = cosine(word, i);
  qsort(all, n, sizeof *all, falling);
  for (size_t i = 0; i < K; i++) sum += all[i] / K;
  return sum;
}

static void the_plain_loop_says_the_same(void **state) {
  (void)state;
  cq_random random = cq_random_seeded(21, 0);
  cq_context *ctx;
  for (size_t w = 0; w < MANY; w++) {
    of_source[w] = w % 2 == 0, of_target[w] = w % 2 == 1;
    for (size_t i = 0; i < WIDE; i++) x[w][i] = (float)cq_random_normal(&random) * (float)(1 + w);
  }
  assert_int_equal(cq_context_open(&ctx, 3, NULL), CQ_OK);
  for (int csls = 0; csls <= K; csls += K) {
    cq_translator t;
    assert_int_equal(cq_translator_open(&t, x[0], MANY, WIDE, of_source, of_target, csls, csls ? ctx : NULL, NULL),
                     CQ_OK);
    for (uint32_t w = 0; w < MANY; w += 2) {
      cq_translation got[MANY];
      double scores[MANY];
      size_t n = 0;
      for (size_t to = 1; to < MANY; to += 2)
        scores[n++] =
            csls ? 2 * cosine(w, to) - mean_of_nearest(w, of_target) - mean_of_nearest(to, of_source) : cosine(w, to);
      qsort(scores, n, sizeof *scores, falling);
      assert_int_equal(cq_translate(got, &t, &w, 1, 7, false, x[0], WIDE), 7);
      for (size_t i = 0; i < 7; i++) {
        assert_float_equal(got[i].score, scores[i], 1e-5);
        assert_float_equal(got[i].cosine, cosine(w, got[i].to), 1e-5);
        assert_true(of_target[got[i].to]);
      }
    }
    cq_translator_close(&t);
  }
  cq_context_free(ctx);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  for (long n = 1;; n++) {
    cq_translator t;
    cq_translation got[N];
    size_t n_got = 0;
    cq_alloc_fail_at(n);
    cq_status status = cq_translator_open(&t, vectors[0], N, DIM, is_source, is_target, 2, NULL, NULL);
    if (!status) n_got = cq_translate(got, &t, (uint32_t[]){0, 1}, 2, 3, true, vectors[0], DIM);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (failed)
      assert_true(status == CQ_ERR_MEMORY || n_got == SIZE_MAX);
    else
      assert_true(status == CQ_OK && n_got == 3);
    cq_translator_close(&t);
    if (!failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nearest_by_hand),
      cmocka_unit_test(the_sum_is_of_vectors_as_given),
      cmocka_unit_test(csls_by_hand),
      cmocka_unit_test(no_language_no_words),
      cmocka_unit_test(the_plain_loop_says_the_same),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
