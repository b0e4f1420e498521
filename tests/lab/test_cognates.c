/* Words spelled alike: two made-up languages whose letters are each other's one to one (or one to two), among words
 * that are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/random.h"
#include "lab/clir/cognates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the languages ---
 *
 * Word i of both is the same word: the sources are written in Latin letters, the targets in Greek ones of the same
 * order. Groups have TRUE words that are each other's and OTHERS of either language that are not; words from
 * IN_GROUPS on are in no group. */
enum { GROUPS = 60, TRUE = 3, OTHERS = 9, EACH = TRUE + OTHERS, LETTERS = 20, UNSEEN = 200 };
enum { IN_GROUPS = GROUPS * (TRUE + 2 * OTHERS), N = IN_GROUPS + UNSEEN, LONGEST_WORD = 10 };

typedef struct language {
  char text[N][4 * LONGEST_WORD + 1];
  cq_slice words[N];
} language;
static language latin, greek, doubled; /* in the last, the letter k is written as two */

typedef struct lists {
  uint32_t sources[GROUPS][EACH], targets[GROUPS][EACH];
  cq_cognate_group groups[GROUPS];
} lists;
static lists related, unrelated,
    others; /* unrelated: the targets are the group's after the next; others: the ninth's after */

static void spell(language *l, uint32_t word, const uint8_t *letters, int n, int kind) {
  char *to = l->text[word];
  for (int i = 0; i < n; i++) {
    if (kind == 0) {
      *to++ = (char)('a' + letters[i]);
      continue;
    }
    if (kind == 2 && letters[i] == 'k' - 'a') to += sprintf(to, "\xcf\x89"); /* ω before it */
    const unsigned code = 0x3b1 + letters[i] + (letters[i] > 16);            /* α; no final sigma */
    *to++ = (char)(0xc0 | code >> 6);
    *to++ = (char)(0x80 | (code & 63));
  }
  *to = '\0';
  l->words[word] = cq_slice_of(l->text[word]);
}

static int make_languages(void **state) {
  (void)state;
  cq_random random = cq_random_seeded(17, 4);
  for (uint32_t w = 0; w < N; w++) {
    uint8_t letters[LONGEST_WORD];
    const int n = 5 + (int)cq_random_below(&random, LONGEST_WORD - 5);
    for (int i = 0; i < n; i++) { /* some letters are more frequent */
      const double u = cq_random_uniform(&random);
      letters[i] = (uint8_t)(LETTERS * pow(u, 1.5));
    }
    spell(&latin, w, letters, n, 0);
    spell(&greek, w, letters, n, 1);
    spell(&doubled, w, letters, n, 2);
  }
  uint32_t next = 0;
  for (size_t g = 0; g < GROUPS; g++) {
    for (size_t i = 0; i < EACH; i++) { /* true ones lie at 1, 5 and 9 */
      const bool is_true = i % 4 == 1;
      related.sources[g][i] = next++;
      related.targets[g][(i + (is_true ? g : 0) * 4) % EACH] = is_true ? next - 1 : next++;
    }
  }
  assert_int_equal(next, IN_GROUPS);
  for (size_t g = 0; g < GROUPS; g++) {
    related.groups[g] = (cq_cognate_group){related.sources[g], related.targets[g], EACH, EACH};
    unrelated.groups[g] = (cq_cognate_group){related.sources[g], related.targets[(g + 2) % GROUPS], EACH, EACH};
    others.groups[g] = (cq_cognate_group){related.sources[g], related.targets[(g + 9) % GROUPS], EACH, EACH};
  }
  return 0;
}

static cq_cognates *opened(const language *targets) {
  cq_cognates *c;
  assert_int_equal(cq_cognates_open(&c, latin.words, N, targets->words, N, NULL), CQ_OK);
  return c;
}

static const int schedule[] = {3, 6, 12};

static void learn(cq_cognates *c, const lists *l, bool finish, cq_context *ctx) {
  assert_int_equal(cq_cognates_learn(c, l->groups, GROUPS, schedule, 3, ctx, NULL), CQ_OK);
  if (finish) assert_int_equal(cq_cognates_finish(c, l->groups, GROUPS, ctx, NULL), CQ_OK);
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The share-th smallest of what words [first, end) score with the word `shift` further on. */
static double score_at(const cq_cognates *c, uint32_t first, uint32_t end, uint32_t shift, double share) {
  static double scores[N];
  const uint32_t n = end - first;
  for (uint32_t i = 0; i < n; i++) scores[i] = cq_cognates_score(c, first + i, first + (i + shift) % n);
  qsort(scores, n, sizeof *scores, ascending);
  return scores[(size_t)(share * (n - 1))];
}

/* --- what is learned --- */

static void cognates_are_told_from_others(void **state) {
  (void)state;
  cq_cognates *c = opened(&greek);
  double contrast, chance;
  for (int finish = 0; finish < 2; finish++) {
    learn(c, &related, finish, NULL);
    /* Words of groups, and words that nothing was learned from. */
    const uint32_t from[] = {0, IN_GROUPS}, to[] = {IN_GROUPS, N};
    for (int i = 0; i < 2; i++) {
      const double least = score_at(c, from[i], to[i], 0, 0), low = score_at(c, from[i], to[i], 0, 0.05);
      const double high = score_at(c, from[i], to[i], 7, 0.99);
      if (!(least > 2 && low > 5 && high < low - 5))
        fail_msg("matches have %.2f and %.2f, others %.2f", least, low, high);
      assert_true(score_at(c, from[i], to[i], 7, 0.5) < 0);
    }
    assert_int_equal(cq_cognates_contrast(&contrast, c, related.groups, GROUPS, NULL, NULL), CQ_OK);
    assert_int_equal(cq_cognates_contrast(&chance, c, unrelated.groups, GROUPS, NULL, NULL), CQ_OK);
    /* A short word's odds are below those that count as a match, so that some are missing. */
    if (!(contrast > 0.6 * GROUPS * TRUE && contrast <= 1.05 * GROUPS * TRUE)) fail_msg("contrast %.2f", contrast);
    if (!(fabs(chance) < 0.03 * GROUPS * TRUE)) fail_msg("contrast of other groups %.2f", chance);
  }
  cq_cognates_free(c);
}

static void unrelated_groups_teach_nothing(void **state) {
  (void)state;
  cq_cognates *c = opened(&greek);
  double contrast;
  learn(c, &unrelated, true, NULL);
  assert_int_equal(cq_cognates_contrast(&contrast, c, unrelated.groups, GROUPS, NULL, NULL), CQ_OK);
  /* Chance is fitted a little; in other groups nothing of it is seen. */
  if (!(fabs(contrast) < 0.2 * GROUPS * TRUE)) fail_msg("contrast %.2f", contrast);
  assert_int_equal(cq_cognates_contrast(&contrast, c, others.groups, GROUPS, NULL, NULL), CQ_OK);
  if (!(fabs(contrast) < 0.05 * GROUPS * TRUE)) fail_msg("contrast of other groups %.2f", contrast);
  /* And what was learned before is forgotten. */
  const double before = cq_cognates_score(c, 1, 1);
  learn(c, &related, true, NULL);
  assert_true(cq_cognates_score(c, 1, 1) > before);
  learn(c, &unrelated, true, NULL);
  assert_true(cq_cognates_score(c, 1, 1) == before);
  cq_cognates_free(c);
}

static void threads_change_no_bit(void **state) {
  (void)state;
  cq_cognates *c = opened(&greek);
  double *scores[2], contrasts[2];
  for (int i = 0; i < 2; i++) {
    cq_context *ctx;
    assert_int_equal(cq_context_open(&ctx, i ? 3 : 1, NULL), CQ_OK);
    learn(c, &related, true, ctx);
    assert_int_equal(cq_cognates_contrast(&contrasts[i], c, related.groups, GROUPS, ctx, NULL), CQ_OK);
    scores[i] = malloc(2 * N * sizeof *scores[i]);
    assert_non_null(scores[i]);
    for (uint32_t w = 0; w < N; w++) {
      scores[i][2 * w] = cq_cognates_score(c, w, w);
      scores[i][2 * w + 1] = cq_cognates_score(c, w, (w + 11) % N);
    }
    cq_context_free(ctx);
  }
  assert_memory_equal(scores[0], scores[1], 2 * N * sizeof *scores[0]);
  assert_memory_equal(&contrasts[0], &contrasts[1], sizeof contrasts[0]);
  free(scores[0]), free(scores[1]);
  cq_cognates_free(c);
}

/* The letter k is written with two: as steps of one letter alone and one of both it costs more than as one step. */
static void one_letter_may_be_two(void **state) {
  (void)state;
  cq_cognates *c = opened(&doubled);
  double before = 0, after = 0;
  size_t n = 0;
  for (int finish = 0; finish < 2; finish++) {
    learn(c, &related, finish, NULL);
    for (uint32_t w = IN_GROUPS; w < N; w++) {
      if (!strchr(latin.text[w], 'k')) continue;
      *(finish ? &after : &before) += cq_cognates_score(c, w, w);
      n++;
    }
    assert_true(score_at(c, IN_GROUPS, N, 0, 0.05) > 5);
    assert_true(score_at(c, IN_GROUPS, N, 7, 0.99) < score_at(c, IN_GROUPS, N, 0, 0.05) - 5);
  }
  if (!(n > 20 && after / (double)n > before / (double)n + 0.25)) fail_msg("%zu: %.3f, then %.3f", n, before, after);
  cq_cognates_free(c);
}

static void a_letter_of_both_is_itself_from_the_first(void **state) {
  (void)state;
  cq_cognates *c;
  assert_int_equal(cq_cognates_open(&c, latin.words, N, latin.words, N, NULL), CQ_OK);
  assert_int_equal(cq_cognates_learn(c, NULL, 0, NULL, 0, NULL, NULL), CQ_OK);
  assert_true(score_at(c, 0, N, 0, 0) > score_at(c, 0, N, 7, 0.95));
  cq_cognates_free(c);
}

/* --- letters as vectors --- */

static void expected_letters_are_near(void **state) {
  (void)state;
  cq_cognates *c = opened(&greek);
  learn(c, &related, true, NULL);
  const int dim = cq_cognates_n_letters(c);
  assert_int_equal(dim, LETTERS);
  float *expected = malloc((size_t)N * (size_t)dim * sizeof *expected),
        *spelled = malloc((size_t)N * (size_t)dim * sizeof *spelled);
  assert_true(expected && spelled);
  assert_int_equal(cq_cognates_expected(expected, c, NULL), CQ_OK);
  cq_cognates_letters(spelled, c);
  size_t n_near = 0;
  for (uint32_t e = IN_GROUPS; e < N; e++) {
    double best = 0, own = 0, squares[2] = {0};
    for (uint32_t h = 0; h < N; h++) {
      double cosine = 0;
      for (int j = 0; j < dim; j++)
        cosine += (double)expected[e * (uint32_t)dim + (uint32_t)j] * (double)spelled[h * (uint32_t)dim + (uint32_t)j];
      if (h == e) own = cosine;
      best = fmax(best, cosine);
    }
    n_near += own >= best - 0.01; /* anagrams */
    for (int j = 0; j < dim; j++) {
      const double x = (double)expected[e * (uint32_t)dim + (uint32_t)j],
                   y = (double)spelled[e * (uint32_t)dim + (uint32_t)j];
      squares[0] += x * x, squares[1] += y * y;
      assert_true(x >= 0 && y >= 0);
    }
    assert_true(fabs(squares[0] - 1) < 1e-5 && fabs(squares[1] - 1) < 1e-5);
    if (own < 0.8) fail_msg("%s: %.3f", latin.text[e], own);
  }
  if (n_near < UNSEEN * 95 / 100) fail_msg("%zu are nearest to their own", n_near);
  free(expected), free(spelled);
  cq_cognates_free(c);
}

/* --- what is little, or too much --- */

static const char *const few_sources[] = {"abba", "baca", "ca", "", "abcabcabcabcabcabcabcabcabcabcabc"};
static const char *const few_targets[] = {"xyyx", "yxzx", "zx", "xyzxyzxyzxyzxyzxyzxyzxyzxyzxyzxyz"};
enum { FEW_SOURCES = 5, FEW_TARGETS = 4 };

static cq_status open_few(cq_cognates **out, cq_error *error) {
  cq_slice sources[FEW_SOURCES], targets[FEW_TARGETS];
  for (int i = 0; i < FEW_SOURCES; i++) sources[i] = cq_slice_of(few_sources[i]);
  for (int i = 0; i < FEW_TARGETS; i++) targets[i] = cq_slice_of(few_targets[i]);
  return cq_cognates_open(out, sources, FEW_SOURCES, targets, FEW_TARGETS, error);
}

static void short_words_have_no_vectors(void **state) {
  (void)state;
  cq_cognates *c;
  float expected[FEW_SOURCES][3], spelled[FEW_TARGETS][3];
  assert_int_equal(open_few(&c, NULL), CQ_OK);
  assert_int_equal(cq_cognates_n_letters(c), 3);
  assert_int_equal(cq_cognates_learn(c, NULL, 0, schedule, 3, NULL, NULL), CQ_OK);
  assert_int_equal(cq_cognates_finish(c, NULL, 0, NULL, NULL), CQ_OK);
  assert_int_equal(cq_cognates_expected(expected[0], c, NULL), CQ_OK);
  cq_cognates_letters(spelled[0], c);
  for (int j = 0; j < 3; j++) {
    assert_true(expected[2][j] == 0 && expected[3][j] == 0 && spelled[2][j] == 0);
    assert_true(expected[4][j] > 0 && spelled[3][j] > 0);
  }
  cq_cognates_free(c);
}

static void groups_may_be_empty(void **state) {
  (void)state;
  const uint32_t some[] = {0, 1, 2, 3, 4};
  const cq_cognate_group groups[] = {
      {NULL, NULL, 0, 0}, {some, NULL, 3, 0}, {NULL, some, 0, 3}, {some, some, 5, 4}, {some, some, 0, 0}};
  cq_cognates *c;
  double contrast = 7;
  assert_int_equal(open_few(&c, NULL), CQ_OK);
  for (size_t n = 0; n <= 5; n++) {
    assert_int_equal(cq_cognates_learn(c, groups, n, schedule, 3, NULL, NULL), CQ_OK);
    assert_int_equal(cq_cognates_finish(c, groups, n, NULL, NULL), CQ_OK);
    assert_int_equal(cq_cognates_contrast(&contrast, c, groups, n, NULL, NULL), CQ_OK);
    assert_true(isfinite(contrast));
    if (n <= 2) assert_true(contrast == 0);
    if (n == 3) assert_true(contrast <= 0); /* the second's sources, the third's targets: words of different groups */
    for (uint32_t e = 0; e < FEW_SOURCES; e++)
      for (uint32_t h = 0; h < FEW_TARGETS; h++) assert_true(isfinite(cq_cognates_score(c, e, h)));
  }
  cq_cognates_free(c);
  /* No words at all. */
  assert_int_equal(cq_cognates_open(&c, NULL, 0, NULL, 0, NULL), CQ_OK);
  assert_int_equal(cq_cognates_n_letters(c), 0);
  assert_int_equal(cq_cognates_learn(c, groups, 1, schedule, 3, NULL, NULL), CQ_OK);
  assert_int_equal(cq_cognates_finish(c, groups, 1, NULL, NULL), CQ_OK);
  assert_int_equal(cq_cognates_contrast(&contrast, c, groups, 1, NULL, NULL), CQ_OK);
  assert_true(contrast == 0);
  cq_cognates_free(c);
  cq_cognates_free(NULL);
}

static void only_the_first_letters_count(void **state) {
  (void)state;
  const cq_slice words[] = {cq_slice_of("abcdefghijklmnopqrstuvwx"), cq_slice_of("abcdefghijklmnopqrstuvwxabcdef")};
  cq_cognates *c;
  assert_int_equal(cq_cognates_open(&c, words, 2, words, 2, NULL), CQ_OK);
  assert_int_equal(cq_cognates_learn(c, NULL, 0, NULL, 0, NULL, NULL), CQ_OK);
  assert_true(cq_cognates_score(c, 0, 0) == cq_cognates_score(c, 1, 1));
  assert_true(cq_cognates_score(c, 0, 0) == cq_cognates_score(c, 0, 1));
  cq_cognates_free(c);
}

/* Han characters: n_letters of them, 20 a word. */
static cq_status open_large(cq_cognates **out, int n_letters, bool as_targets, cq_error *error) {
  static char text[80][61];
  static const cq_slice a = {"a", 1};
  cq_slice words[80];
  uint32_t n = 0;
  for (int at = 0; at < n_letters; n++) {
    char *to = text[n];
    for (int i = 0; i < 20 && at < n_letters; i++, at++) {
      const unsigned code = 0x4e00 + (unsigned)at;
      *to++ = (char)(0xe0 | code >> 12), *to++ = (char)(0x80 | (code >> 6 & 63)), *to++ = (char)(0x80 | (code & 63));
    }
    *to = '\0';
    words[n] = cq_slice_of(text[n]);
  }
  return as_targets ? cq_cognates_open(out, &a, 1, words, n, error) : cq_cognates_open(out, words, n, &a, 1, error);
}

static void too_many_letters_are_refused(void **state) {
  (void)state;
  for (int as_targets = 0; as_targets < 2; as_targets++) {
    cq_cognates *c;
    cq_error error = {0};
    assert_int_equal(open_large(&c, 1000, as_targets, &error), CQ_OK);
    assert_int_equal(cq_cognates_n_letters(c), as_targets ? 1000 : 1);
    cq_cognates_free(c);
    assert_int_equal(open_large(&c, 1001, as_targets, &error), CQ_ERR_UNSUPPORTED);
    assert_string_equal(error.message, "1001 different letters; words are compared in alphabets of at most 1000");
    assert_null(c);
  }
}

static void large_alphabets_do_without_doubles(void **state) {
  (void)state;
  static char text[2][40][61];
  cq_slice words[2][40];
  uint32_t numbers[40];
  cq_cognates *c;
  for (unsigned l = 0; l < 2; l++)
    for (unsigned w = 0; w < 40; w++) { /* 200 letters of either script, five a word */
      char *to = text[l][w];
      for (unsigned i = 0; i < 5; i++) {
        const unsigned code = (l ? 0x5e00 : 0x4e00) + w * 5 + i;
        *to++ = (char)(0xe0 | code >> 12), *to++ = (char)(0x80 | (code >> 6 & 63)), *to++ = (char)(0x80 | (code & 63));
      }
      words[l][w] = cq_slice_of(text[l][w]);
      numbers[w] = w;
    }
  cq_cognate_group groups[40];
  for (size_t g = 0; g < 40; g++) groups[g] = (cq_cognate_group){numbers + g, numbers + g, 1, 1};
  assert_int_equal(cq_cognates_open(&c, words[0], 40, words[1], 40, NULL), CQ_OK);
  assert_int_equal(cq_cognates_learn(c, groups, 40, schedule, 3, NULL, NULL), CQ_OK);
  assert_int_equal(cq_cognates_finish(c, groups, 40, NULL, NULL), CQ_OK);
  for (uint32_t w = 0; w < 40; w++)
    assert_true(cq_cognates_score(c, w, w) > 10 && cq_cognates_score(c, w, (w + 1) % 40) < 0);
  cq_cognates_free(c);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  const uint32_t some[] = {0, 1, 2, 3};
  const cq_cognate_group groups[] = {{some, some, 3, 3}, {some + 1, some + 1, 3, 3}};
  for (long n = 1;; n++) {
    cq_cognates *c = NULL;
    cq_error error = {0};
    double contrast;
    float expected[FEW_SOURCES][3];
    cq_alloc_fail_at(n);
    cq_status status = open_few(&c, &error);
    if (!status) status = cq_cognates_learn(c, groups, 2, schedule, 2, NULL, &error);
    if (!status) status = cq_cognates_finish(c, groups, 2, NULL, &error);
    if (!status) status = cq_cognates_contrast(&contrast, c, groups, 2, NULL, &error);
    if (!status) status = cq_cognates_expected(expected[0], c, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    cq_cognates_free(c);
    if (!failed) break;
    assert_true(error.message[0] != 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cognates_are_told_from_others),
      cmocka_unit_test(unrelated_groups_teach_nothing),
      cmocka_unit_test(threads_change_no_bit),
      cmocka_unit_test(one_letter_may_be_two),
      cmocka_unit_test(a_letter_of_both_is_itself_from_the_first),
      cmocka_unit_test(expected_letters_are_near),
      cmocka_unit_test(short_words_have_no_vectors),
      cmocka_unit_test(groups_may_be_empty),
      cmocka_unit_test(only_the_first_letters_count),
      cmocka_unit_test(too_many_letters_are_refused),
      cmocka_unit_test(large_alphabets_do_without_doubles),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_languages, NULL);
}
