/* Documents of several languages made one: the worked examples, and what holds for all lengths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "lab/clir/shuffle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LANGUAGES = 5, MOST_WORDS = 400 };

/* Word i of language l is l * MOST_WORDS + i, so that a word tells where it comes from. */
static uint32_t words[MOST_LANGUAGES][MOST_WORDS];

static int number_words(void **state) {
  (void)state;
  for (uint32_t l = 0; l < MOST_LANGUAGES; l++)
    for (uint32_t i = 0; i < MOST_WORDS; i++) words[l][i] = l * MOST_WORDS + i;
  return 0;
}

static void runs_of(cq_word_run *runs, const size_t *lengths, size_t n) {
  for (size_t l = 0; l < n; l++) runs[l] = (cq_word_run){words[l], lengths[l]};
}

/* Every word of the documents once, and those of one language in order, from `first` on. */
static void expect_whole(const cq_u32_array *ids, size_t first, const size_t *lengths, size_t n) {
  size_t next[MOST_LANGUAGES] = {0}, n_words = 0;
  for (size_t l = 0; l < n; l++) n_words += lengths[l];
  assert_int_equal(ids->n - first, n_words);
  for (size_t i = first; i < ids->n; i++) {
    const uint32_t language = ids->items[i] / MOST_WORDS, at = ids->items[i] % MOST_WORDS;
    assert_true(language < n);
    assert_int_equal(at, next[language]++);
  }
}

static void expect_languages(const size_t *lengths, size_t n, const char *expected) {
  cq_word_run runs[MOST_LANGUAGES];
  cq_u32_array ids = {0};
  runs_of(runs, lengths, n);
  assert_true(cq_shuffle_by_length(&ids, runs, n));
  assert_int_equal(ids.n, strlen(expected));
  for (size_t i = 0; i < ids.n; i++)
    if ("ABCDE"[ids.items[i] / MOST_WORDS] != expected[i]) fail_msg("%s: word %zu is another language's", expected, i);
  expect_whole(&ids, 0, lengths, n);
  cq_u32_array_free(&ids);
}

static void worked_examples(void **state) {
  (void)state;
  expect_languages((size_t[]){3, 7}, 2, "ABBBABBBAB");
  expect_languages((size_t[]){7, 3}, 2, "AAABAAABAB");
  expect_languages((size_t[]){3, 6}, 2, "ABBABBABB");
  expect_languages((size_t[]){4, 6}, 2, "ABBABBABBA"); /* two at a time: the longer one is over before the shorter */
  expect_languages((size_t[]){2, 5, 4}, 3, "ABBBCCABBCC");
  expect_languages((size_t[]){2, 2, 3}, 3, "ABCCABC");
  expect_languages((size_t[]){1, 1}, 2, "AB");
  expect_languages((size_t[]){4, 4}, 2, "ABABABAB");
  expect_languages((size_t[]){2, 2, 2}, 3, "ABCABC");
  expect_languages((size_t[]){1, 5}, 2, "ABBBBB");
}

static void empty_documents_are_left_out(void **state) {
  (void)state;
  expect_languages((size_t[]){0, 3}, 2, "BBB");
  expect_languages((size_t[]){3, 0, 7}, 3, "ACCCACCCAC"); /* as if the empty one were not there */
  expect_languages((size_t[]){0, 0}, 2, "");
  expect_languages((size_t[]){4}, 1, "AAAA");
  expect_languages(NULL, 0, "");
  cq_u32_array ids = {0};
  const cq_word_run none[] = {{NULL, 0}, {words[1], 2}};
  assert_true(cq_shuffle_by_length(&ids, none, 2));
  assert_int_equal(ids.n, 2);
  cq_u32_array_free(&ids);
}

static void every_word_once_for_random_lengths(void **state) {
  (void)state;
  cq_random random = cq_random_seeded(11, 0);
  cq_u32_array ids = {0};
  for (int round = 0; round < 500; round++) {
    const size_t n = 1 + cq_random_below(&random, MOST_LANGUAGES), first = ids.n;
    size_t lengths[MOST_LANGUAGES];
    cq_word_run runs[MOST_LANGUAGES];
    for (size_t l = 0; l < n; l++)
      lengths[l] = cq_random_below(&random, 4) ? cq_random_below(&random, MOST_WORDS + 1) : 0;
    runs_of(runs, lengths, n);
    assert_true(cq_shuffle_by_length(&ids, runs, n)); /* behind what is there */
    expect_whole(&ids, first, lengths, n);
    if (round % 50 == 49) ids.n = 0;
  }
  cq_u32_array_free(&ids);
}

/* No stretch of one language is longer than its share of the round. */
static void languages_take_turns_by_their_lengths(void **state) {
  (void)state;
  const size_t lengths[] = {40, 100, 399};
  const size_t shares[] = {1, 3, 10};
  cq_word_run runs[3];
  cq_u32_array ids = {0};
  runs_of(runs, lengths, 3);
  assert_true(cq_shuffle_by_length(&ids, runs, 3));
  size_t longest[3] = {0};
  for (size_t i = 0, n = 0; i < ids.n; i++) {
    const uint32_t l = ids.items[i] / MOST_WORDS;
    n = i && ids.items[i - 1] / MOST_WORDS == l ? n + 1 : 1;
    if (i < 120 && n > longest[l]) longest[l] = n; /* while all three have words left */
  }
  for (size_t l = 0; l < 3; l++) assert_int_equal(longest[l], shares[l]);
  cq_u32_array_free(&ids);
}

static int ascending(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static void at_random_every_word_once_and_by_the_seed(void **state) {
  (void)state;
  const size_t lengths[] = {30, 0, 70};
  cq_word_run runs[3];
  cq_u32_array ids = {0}, again = {0}, other = {0};
  const uint32_t before = 7;
  runs_of(runs, lengths, 3);
  assert_true(cq_u32_array_append(&ids, &before, 1));
  assert_true(cq_shuffle_at_random(&ids, runs, 3, &(cq_random){5}));
  assert_true(cq_shuffle_at_random(&again, runs, 3, &(cq_random){5}));
  assert_true(cq_shuffle_at_random(&other, runs, 3, &(cq_random){6}));
  assert_int_equal(ids.n, 101);
  assert_int_equal(ids.items[0], 7); /* what was there stays where it was */
  assert_memory_equal(ids.items + 1, again.items, 100 * sizeof *again.items);
  assert_memory_not_equal(again.items, other.items, 100 * sizeof *again.items);
  qsort(again.items, again.n, sizeof *again.items, ascending);
  for (uint32_t i = 0; i < 30; i++) assert_int_equal(again.items[i], i);
  for (uint32_t i = 0; i < 70; i++) assert_int_equal(again.items[30 + i], 2 * MOST_WORDS + i);
  cq_u32_array_free(&ids), cq_u32_array_free(&again), cq_u32_array_free(&other);
}

/* Each of three words comes first about as often as the others. */
static void at_random_is_even(void **state) {
  (void)state;
  enum { N = 3000 };
  const size_t lengths[] = {1, 2};
  size_t first[3] = {0};
  cq_random random = cq_random_seeded(3, 3);
  cq_word_run runs[2];
  cq_u32_array ids = {0};
  runs_of(runs, lengths, 2);
  for (int i = 0; i < N; i++) {
    ids.n = 0;
    assert_true(cq_shuffle_at_random(&ids, runs, 2, &random));
    first[ids.items[0] == 0 ? 0 : 1 + ids.items[0] - MOST_WORDS]++;
  }
  for (int i = 0; i < 3; i++) assert_true(first[i] > N / 3 - 130 && first[i] < N / 3 + 130); /* five deviations */
  cq_u32_array_free(&ids);
}

/* --- alignment --- */

static uint32_t numbers[] = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19};

static void expect_tuples(const size_t *sizes, size_t n, uint64_t seed) {
  cq_document_set sets[MOST_LANGUAGES];
  size_t fewest = SIZE_MAX, n_languages = 0;
  cq_u32_array tuples = {0}, again = {0};
  for (size_t i = 0; i < n; i++) {
    sets[i] = (cq_document_set){sizes[i] ? numbers : NULL, sizes[i]};
    if (sizes[i] == 0) continue;
    if (sizes[i] < fewest) fewest = sizes[i];
    n_languages++;
  }
  if (n_languages < 2) fewest = 0;
  assert_true(cq_align_documents(&tuples, sets, n, &(cq_random){seed}));
  assert_true(cq_align_documents(&again, sets, n, &(cq_random){seed}));
  assert_int_equal(tuples.n, fewest * n);
  assert_int_equal(again.n, tuples.n);
  if (tuples.n) assert_memory_equal(tuples.items, again.items, tuples.n * sizeof *tuples.items);
  for (size_t i = 0; i < n; i++) {
    bool seen[10] = {false};
    for (size_t t = 0; t < fewest; t++) {
      const uint32_t d = tuples.items[t * n + i];
      if (sizes[i] == 0) {
        assert_int_equal(d, CQ_NO_DOCUMENT);
        continue;
      }
      assert_true(d >= 10 && d < 10 + sizes[i]);
      assert_false(seen[d - 10]); /* drawn without replacement */
      seen[d - 10] = true;
    }
  }
  cq_u32_array_free(&tuples), cq_u32_array_free(&again);
}

static void tuples_are_of_distinct_documents(void **state) {
  (void)state;
  cq_random random = cq_random_seeded(1, 2);
  for (uint64_t round = 0; round < 400; round++) {
    const size_t n = 1 + cq_random_below(&random, MOST_LANGUAGES);
    size_t sizes[MOST_LANGUAGES];
    for (size_t i = 0; i < n; i++) sizes[i] = cq_random_below(&random, 11);
    expect_tuples(sizes, n, round);
  }
  expect_tuples((size_t[]){4, 0, 6}, 3, 1); /* a language without documents is left out */
  expect_tuples((size_t[]){0, 5, 0}, 3, 1); /* one language alone gives nothing */
  expect_tuples((size_t[]){0, 0}, 2, 1);
  expect_tuples((size_t[]){3}, 1, 1);
  expect_tuples(NULL, 0, 1);
}

static void tuples_are_appended_and_drawn_anew(void **state) {
  (void)state;
  const cq_document_set sets[] = {{numbers, 2}, {numbers, 10}};
  const uint32_t before = 99;
  cq_u32_array tuples = {0};
  cq_random random = {1};
  bool other = false, drawn[10] = {false};
  assert_true(cq_u32_array_append(&tuples, &before, 1));
  for (size_t round = 0; round < 100; round++) assert_true(cq_align_documents(&tuples, sets, 2, &random));
  assert_int_equal(tuples.n, 1 + 100 * 4);
  assert_int_equal(tuples.items[0], 99);
  for (size_t t = 0; t < 200; t++) {
    drawn[tuples.items[1 + 2 * t + 1] - 10] = true;
    if (t >= 2) other |= tuples.items[1 + 2 * t + 1] != tuples.items[2 * t - 2];
  }
  assert_true(other);
  tuples.n = 0;
  const cq_document_set longer_first[] = {sets[1], sets[0]};
  for (size_t round = 0; round < 100; round++) assert_true(cq_align_documents(&tuples, longer_first, 2, &random));
  memset(drawn, 0, sizeof drawn);
  for (size_t t = 0; t < 200; t++) drawn[tuples.items[2 * t] - 10] = true;
  for (int d = 0; d < 10; d++) assert_true(drawn[d]); /* of the longer list every document has its turn */
  cq_u32_array_free(&tuples);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  const size_t lengths[] = {9, 20};
  const cq_document_set sets[] = {{numbers, 4}, {numbers, 7}};
  cq_word_run runs[2];
  runs_of(runs, lengths, 2);
  for (long n = 1;; n++) {
    cq_u32_array shuffled = {0}, mixed = {0}, tuples = {0};
    cq_random random = {1};
    cq_alloc_fail_at(n);
    const bool ok = cq_shuffle_by_length(&shuffled, runs, 2) && cq_shuffle_at_random(&mixed, runs, 2, &random) &&
                    cq_align_documents(&tuples, sets, 2, &random);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(ok, !failed);
    cq_u32_array_free(&shuffled), cq_u32_array_free(&mixed), cq_u32_array_free(&tuples);
    if (!failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(worked_examples),
      cmocka_unit_test(empty_documents_are_left_out),
      cmocka_unit_test(every_word_once_for_random_lengths),
      cmocka_unit_test(languages_take_turns_by_their_lengths),
      cmocka_unit_test(at_random_every_word_once_and_by_the_seed),
      cmocka_unit_test(at_random_is_even),
      cmocka_unit_test(tuples_are_of_distinct_documents),
      cmocka_unit_test(tuples_are_appended_and_drawn_anew),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, number_words, NULL);
}
