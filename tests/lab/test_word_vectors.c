/* Word vectors as text: what is written comes back, and malformed lines are named. */
#include "support/files.h"

#include "base/memory.h"
#include "lab/words/word_vectors.h"

#include <math.h>

static const char *const words[] = {"the", "नदी", "of", "don't", "2.5", "\xC2\xA0", "|"};
enum { N_WORDS = sizeof words / sizeof *words, DIM = 5 };

static void make(cq_word_vectors *v) {
  static const float odd[] = {0,    -0.0f,    1e-45f,   1.17549435e-38f, 3e38f, -3.40282347e38f,
                              0.1f, 1.0f / 3, 16777216, -1e-10f};
  *v = (cq_word_vectors){.dim = DIM, .data = cq_alloc_array((size_t)N_WORDS * DIM, sizeof *v->data)};
  assert_non_null(v->data);
  for (uint32_t i = 0; i < N_WORDS; i++) assert_int_equal(cq_intern_put(&v->words, cq_slice_of(words[i])), i);
  for (size_t i = 0; i < (size_t)N_WORDS * DIM; i++)
    v->data[i] = i < sizeof odd / sizeof *odd ? odd[i] : sinf((float)i) * powf(10, (float)(i % 30) - 15);
}

static void what_is_written_comes_back(void **state) {
  (void)state;
  const char *path = test_path("round.vec");
  cq_word_vectors v, again;
  cq_error error = {0};
  make(&v);
  assert_int_equal(cq_word_vectors_write(&v, path, &error), CQ_OK);
  assert_int_equal(count_files("round"), 1);
  if (cq_word_vectors_read(&again, path, &error)) fail_msg("%s", error.message);
  assert_int_equal(again.dim, DIM);
  assert_int_equal(again.words.n, N_WORDS);
  for (uint32_t i = 0; i < N_WORDS; i++) assert_int_equal(cq_intern_find(&again.words, cq_slice_of(words[i])), i);
  assert_memory_equal(again.data, v.data, sizeof *v.data * N_WORDS * DIM);
  cq_word_vectors_free(&again);
  cq_word_vectors_free(&v);
  assert_true(!v.data && v.words.n == 0 && v.dim == 0);

  v = (cq_word_vectors){.dim = 3}; /* none */
  assert_int_equal(cq_word_vectors_write(&v, path, &error), CQ_OK);
  assert_int_equal(cq_word_vectors_read(&again, path, &error), CQ_OK);
  assert_true(again.words.n == 0 && again.dim == 3);
  cq_word_vectors_free(&again);
}

static void others_files_are_read(void **state) {
  (void)state;
  cq_word_vectors v;
  cq_error error = {0};
  write_text(test_path("w.vec"), "\xEF\xBB\xBF 3  2 \r\nthe 1 -2.5 \r\n of  +1e-3  .5\nx 0 3e38");
  if (cq_word_vectors_read(&v, test_path("w.vec"), &error)) fail_msg("%s", error.message);
  static const float expected[] = {1, -2.5f, 1e-3f, 0.5f, 0, 3e38f};
  assert_int_equal(v.words.n, 3);
  assert_int_equal(v.dim, 2);
  assert_memory_equal(v.data, expected, sizeof expected);
  assert_int_equal(cq_intern_find(&v.words, cq_slice_of("of")), 1);
  cq_word_vectors_free(&v);
}

static void malformed_lines_are_named(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t line;
    const char *message;
  } cases[] = {
      {"", 1, "expected how many words and dimensions"},
      {"\n1 2\n", 1, "expected how many"},
      {"the 1 2\n", 1, "expected how many"},
      {"2\n", 1, "expected how many"},
      {"1 2 3\n", 1, "expected how many"},
      {"-1 2\n", 1, "expected how many"},
      {"1.5 2\n", 1, "expected how many"},
      {"1 0\n", 1, "expected how many"},
      {"1 1.5\n", 1, "expected how many"},
      {"1 65537\n", 1, "expected how many"},
      {"4294967295 2\n", 1, "expected how many"},
      {"1e300 2\n", 1, "expected how many"},
      {"1\t2\n", 1, "expected how many"},
      {"2 2\nthe 1 2\n", 2, "1 words, expected 2"},
      {"4294967294 65536\n", 1, "0 words, expected 4294967294"},
      {"1 2\nthe 1 2\nof 1 2\n", 3, "more than 1 words"},
      {"0 2\nthe 1 2\n", 2, "more than 0 words"},
      {"1 2\nthe 1 2\n\n", 3, "more than 1 words"},
      {"2 2\nthe 1 2\nof 1\n", 3, "column 3 is '', expected a number"},
      {"2 2\nthe 1 2\nof\n", 3, "column 2 is ''"},
      {"2 2\nthe 1 2\n\n", 3, "column 2 is ''"},
      {"2 2\nthe 1 2 3\nof 1 2\n", 2, "more than a word and 2 numbers"},
      {"1 2\nthe 1 x\n", 2, "column 3 is 'x'"},
      {"1 2\nthe nan 1\n", 2, "column 2 is 'nan'"},
      {"1 2\nthe 1 -inf\n", 2, "column 3 is '-inf'"},
      {"1 2\nthe 1 1e39\n", 2, "column 3 is '1e39'"},
      {"1 2\nthe 1 3.4028236e38\n", 2, "column 3 is '3.4028236e38'"},
      {"1 2\nthe 1 1e999\n", 2, "column 3 is '1e999'"},
      {"1 2\nthe 0x1 1\n", 2, "column 2 is '0x1'"},
      {"1 2\nthe 1,5 1\n", 2, "column 2 is '1,5'"},
      {"1 2\nthe\t1\t2\n", 2, "column 2 is ''"},
      {"1 1\nthe 0000000000000000000000000000000000000000x\n", 2,
       "column 2 is '0000000000000000000000000000000000000000',"},
      {"3 2\nthe 1 2\nof 1 2\nthe 1 2\n", 4, "the word 'the' appears twice"},
      {"1 2\nth\xFF 1 2\n", 2, "not UTF-8"},
  };
  int failures = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_word_vectors v;
    cq_error error = {0};
    write_text(test_path("e.vec"), cases[i].text);
    const cq_status status = cq_word_vectors_read(&v, test_path("e.vec"), &error);
    if (status != CQ_ERR_FORMAT || error.line != cases[i].line || !strstr(error.message, cases[i].message))
      failures++, print_error("%s: status %d, line %llu: %s\n", cases[i].text, status, (unsigned long long)error.line,
                              error.message);
    cq_word_vectors_free(&v);
  }
  assert_int_equal(failures, 0);
  cq_word_vectors v;
  assert_int_equal(cq_word_vectors_read(&v, test_path("nowhere"), NULL), CQ_ERR_IO);
  cq_word_vectors_free(&v);
  make(&v);
  assert_int_equal(cq_word_vectors_write(&v, test_path("no/where.vec"), NULL), CQ_ERR_IO);
  cq_word_vectors_free(&v);
}

static void failed_allocations_are_reported(void **state) {
  (void)state;
  const char *path = test_path("m.vec");
  cq_word_vectors v, again;
  make(&v);
  for (int reading = 0; reading < 2; reading++) {
    for (long n = 1;; n++) {
      cq_error error = {0};
      again = (cq_word_vectors){0};
      cq_alloc_fail_at(n);
      const cq_status status =
          reading ? cq_word_vectors_read(&again, path, &error) : cq_word_vectors_write(&v, path, &error);
      const bool failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
      assert_int_equal(count_files("m.vec"), reading || !failed);
      cq_word_vectors_free(&again);
      if (!failed) {
        assert_true(n > (reading ? 7 : 2));
        break;
      }
    }
  }
  cq_word_vectors_free(&v);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_comes_back),
      cmocka_unit_test(others_files_are_read),
      cmocka_unit_test(malformed_lines_are_named),
      cmocka_unit_test(failed_allocations_are_reported),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
