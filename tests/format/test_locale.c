/* What is written and read does not follow the locale of the process. */
#include "support/comma.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "format/json.h"
#include "lab/retrieval/trec.h"
#include "lab/words/word_vectors.h"

static void skip_without_comma(void) {
  if (!take_comma()) skip();
  char text[8];
  snprintf(text, sizeof text, "%.1f", 0.5);
  assert_string_equal(text, "0,5"); /* or this proves nothing */
}

static void check_file(const char *path, const char *expected) {
  size_t n;
  unsigned char *got = read_bytes(&n, path);
  assert_int_equal(n, strlen(expected));
  assert_memory_equal(got, expected, n);
  free(got);
}

static void numbers_have_a_point(void **state) {
  (void)state;
  char text[32], *end;
  cq_builder b = {0};
  cq_arena arena = {0};
  cq_error error = {0};
  double value;
  skip_without_comma();
  assert_int_equal(cq_snprintf(text, sizeof text, "%g", 2.5), 3);
  assert_string_equal(text, "2.5");
  assert_int_equal(cq_snprintf(text, 2, "%g", 2.5), 3);
  assert_string_equal(text, "2");
  assert_true(cq_strtod("2.5,", &end) == 2.5 && *end == ',');
  assert_true(cq_slice_number(&value, cq_slice_of("1.5")) && value == 1.5);
  assert_false(cq_slice_number(&value, cq_slice_of("1,5")));
  cq_builder_printf(&b, "%s %.2f", "ä", 0.25);
  assert_string_equal(b.data, "ä 0.25");
  assert_string_equal(cq_arena_printf(&arena, "%.2f", 0.25), "0.25");
  assert_int_equal(cq_fail(&error, CQ_ERR_ARGUMENT, "mu is %g", -0.5), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "mu is -0.5");
  snprintf(text, sizeof text, "%.1f", 0.5);
  assert_string_equal(text, "0,5"); /* the process keeps its own */
  json_t *number = json_real(0.1);
  cq_builder_clear(&b);
  cq_json_append(&b, number, 0);
  assert_string_equal(b.data, "0.1");
  json_decref(number);
  cq_builder_free(&b);
  cq_arena_free(&arena);
  give_comma_back();
}

static void runs_come_back(void **state) {
  (void)state;
  const char *path = test_path("run");
  cq_run run;
  cq_error error = {0};
  skip_without_comma();
  cq_text_writer out;
  assert_int_equal(cq_text_writer_open(&out, path, NULL), CQ_OK);
  assert_int_equal(cq_run_put(&out, cq_slice_of("7"), cq_slice_of("d"), 1, -12.0625, "tag", NULL), CQ_OK);
  assert_int_equal(cq_text_writer_commit(&out, NULL), CQ_OK);
  check_file(path, "7 Q0 d 1 -12.0625 tag\n");
  assert_int_equal(cq_run_read(&run, path, false, &error), CQ_OK);
  assert_true(run.n == 1 && run.items[0].score == -12.0625);
  cq_run_free(&run);
  give_comma_back();
}

static void vectors_come_back(void **state) {
  (void)state;
  const char *path = test_path("vectors");
  float data[] = {0.5f, -1.25f};
  cq_word_vectors v = {.data = data, .dim = 2}, back;
  cq_error error = {0};
  skip_without_comma();
  assert_int_equal(cq_intern_put(&v.words, cq_slice_of("boat")), 0);
  assert_int_equal(cq_word_vectors_write(&v, path, &error), CQ_OK);
  check_file(path, "1 2\nboat 0.5 -1.25\n");
  assert_int_equal(cq_word_vectors_read(&back, path, &error), CQ_OK);
  assert_memory_equal(back.data, data, sizeof data);
  cq_word_vectors_free(&back);
  cq_intern_free(&v.words);
  give_comma_back();
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_have_a_point), cmocka_unit_test(runs_come_back),
                                     cmocka_unit_test(vectors_come_back)};
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
