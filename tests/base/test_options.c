/* Options by name: lists, commas, groups within a group with defaults of their own, JSON, and every allocation failing. */
#include "support/files.h"

#include "base/memory.h"
#include "base/options.h"

typedef struct inner {
  size_t size;
  int width;
  double rate;
  void *notice;
} inner;
static const cq_option inner_rows[] = {
    {CQ_INT(inner, "width", width, CHANGES, 5, 1, 100, "N", "")},
    {CQ_NUMBER(inner, "rate", rate, CHANGES, 0.5, 0, 1, "X", ""), .flags = CQ_OPTION_BELOW_MAX},
};
static const cq_option_group inner_group = {
    .name = "inner", CQ_ROWS(inner, inner_rows), CQ_FIELDS(CQ_FIELD(inner, notice))};

typedef struct outer {
  size_t size;
  const char *file;
  const char *const *columns;
  size_t n_columns;
  const int *numbers;
  size_t n_numbers;
  bool fast;
  const inner *inner;
  void (*progress)(void *context);
  void *progress_context;
} outer;
static const cq_option outer_rows[] = {
    {CQ_TEXT(outer, "file", file, CHANGES, "FILE", ""), .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXTS(outer, "columns", columns, n_columns, CHANGES, "A,B", ""),
     .flags = CQ_OPTION_COMMAS | CQ_OPTION_REQUIRED},
    {CQ_INTS(outer, "numbers", numbers, n_numbers, CHANGES, 1, 10, "N", "")},
    {CQ_FLAG(outer, "fast", fast, CHANGES, "")},
};
static void wide(void *options) {
  ((inner *)options)->width = 25;
}
static const cq_option_part outer_parts[] = {
    {.group = &inner_group, .offset = offsetof(outer, inner), .defaults = wide}};
static const cq_option_group outer_group = {.name = "outer",
                                            CQ_ROWS(outer, outer_rows),
                                            .parts = outer_parts,
                                            .n_parts = 1,
                                            CQ_FIELDS(CQ_CALLBACK(outer, progress))};

static void set(cq_options *o, const char *name, const char *value) {
  cq_error error = {0};
  if (cq_options_set(o, name, value, &error)) fail_msg("%s", error.message);
}

static void refuses(cq_options *o, const char *name, const char *value, const char *message) {
  cq_error error = {0};
  assert_int_equal(cq_options_set(o, name, value, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, message);
}

static void lists_grow(void **state) {
  (void)state;
  cq_options *o;
  char *value;
  assert_int_equal(cq_options_new(&o, &outer_group, NULL), CQ_OK);
  const outer *s = cq_options_struct(o);
  set(o, "columns", "en,de");
  set(o, "columns", "fr");
  set(o, "numbers", "3");
  set(o, "numbers", "10");
  assert_int_equal(s->n_columns, 3);
  assert_string_equal(s->columns[1], "de");
  assert_string_equal(s->columns[2], "fr");
  assert_int_equal(s->n_numbers, 2);
  assert_int_equal(s->numbers[1], 10);
  refuses(o, "numbers", "11", "numbers is 11, expected 1 to 10");
  refuses(o, "numbers", "many", "numbers is 'many', expected a whole number");
  refuses(o, "colums", "x", "unknown option colums, did you mean columns");
  assert_int_equal(cq_options_get(&value, o, "numbers", 1, NULL), CQ_OK);
  assert_string_equal(value, "10");
  cq_free(value);
  assert_int_equal(cq_options_get(&value, o, "numbers", 2, NULL), CQ_OK);
  assert_null(value);
  cq_options_free(o);
}

static void a_group_within_has_defaults_of_its_own(void **state) {
  (void)state;
  cq_options *o;
  inner taken, mine = {.size = sizeof mine, .width = 7};
  outer s = {.size = sizeof s};
  cq_error error = {0};
  assert_int_equal(cq_options_new(&o, &outer_group, NULL), CQ_OK);
  const outer *by_name = cq_options_struct(o);
  assert_int_equal(by_name->inner->width, 25);
  assert_true(by_name->inner->rate == 0.5);
  cq_options_free(o);
  assert_int_equal(cq_options_take_part(&taken, outer_parts, &s, &error), CQ_OK);
  assert_int_equal(taken.width, 25);
  s.inner = &mine;
  assert_int_equal(cq_options_take_part(&taken, outer_parts, &s, &error), CQ_OK);
  assert_int_equal(taken.width, 7);
  assert_true(taken.rate == 0);
  mine.width = 0;
  assert_int_equal(cq_options_take_part(&taken, outer_parts, &s, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "width is 0, expected 1 to 100");
}

static void what_is_required_is_asked_for(void **state) {
  (void)state;
  const char *columns[] = {"en"};
  const int numbers[] = {1, 0};
  outer s = {.size = sizeof s, .columns = columns, .n_columns = 1}, taken;
  cq_error error = {0};
  assert_int_equal(cq_options_take(&taken, &outer_group, &s, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "file is missing");
  s.file = "x", s.n_columns = 0;
  assert_int_equal(cq_options_take(&taken, &outer_group, &s, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "columns is missing");
  s.n_columns = 1, s.numbers = numbers, s.n_numbers = 2;
  assert_int_equal(cq_options_take(&taken, &outer_group, &s, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "numbers is 0, expected 1 to 10");
  s.n_numbers = 1;
  assert_int_equal(cq_options_take(&taken, &outer_group, &s, &error), CQ_OK);
  assert_string_equal(taken.file, "x");
}

static void fields_without_a_row_have_names(void **state) {
  (void)state;
  cq_options *o;
  assert_int_equal(cq_options_new(&o, &outer_group, NULL), CQ_OK);
  outer *s = cq_options_struct(o);
  assert_ptr_equal(cq_options_field(o, "progress"), &s->progress);
  assert_ptr_equal(cq_options_field(o, "progress_context"), &s->progress_context);
  assert_ptr_equal(cq_options_field(o, "notice"), &s->inner->notice);
  assert_null(cq_options_field(o, "file"));
  assert_null(cq_options_field(o, "notices"));
  cq_options_free(o);
}

static void all_values_are_json(void **state) {
  (void)state;
  cq_options *o;
  char *text;
  assert_int_equal(cq_options_new(&o, &outer_group, NULL), CQ_OK);
  assert_int_equal(cq_options_json(&text, o, NULL), CQ_OK);
  assert_string_equal(
      text, "{\"file\": null, \"columns\": [], \"numbers\": [], \"fast\": false, \"width\": 25, \"rate\": 0.5}");
  cq_free(text);
  set(o, "file", "a\"b\\\n");
  set(o, "columns", "en,de");
  set(o, "numbers", "3");
  set(o, "numbers", "4");
  set(o, "fast", "yes");
  set(o, "rate", "0.1");
  assert_int_equal(cq_options_json(&text, o, NULL), CQ_OK);
  assert_string_equal(text, "{\"file\": \"a\\\"b\\\\\\u000a\", \"columns\": [\"en\", \"de\"], \"numbers\": [3, 4], "
                            "\"fast\": true, \"width\": 25, \"rate\": 0.1}");
  cq_free(text);
  cq_options_free(o);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  for (long n = 1;; n++) {
    cq_options *o;
    char *text = NULL;
    cq_alloc_fail_at(n);
    cq_status status = cq_options_new(&o, &outer_group, NULL);
    if (!status) status = cq_options_set(o, "columns", "en,de", NULL);
    if (!status) status = cq_options_set(o, "numbers", "3", NULL);
    if (!status) status = cq_options_json(&text, o, NULL);
    cq_alloc_fail_at(0);
    assert_true(status ? status == CQ_ERR_MEMORY && !text : text != NULL);
    cq_free(text);
    cq_options_free(o);
    if (!status) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lists_grow),
      cmocka_unit_test(a_group_within_has_defaults_of_its_own),
      cmocka_unit_test(what_is_required_is_asked_for),
      cmocka_unit_test(fields_without_a_row_have_names),
      cmocka_unit_test(all_values_are_json),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
