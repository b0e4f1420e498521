/* Filters as SQL of PostgreSQL: what a user writes is bound, and none of it is in the statement. What the SQL finds is
 * tested by tests/postgresql/test_filters.sh. */
#include "base/memory.h"
#include "calque/index.h"
#include "postgresql/postgresql_select.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static cq_status select_text(cq_builder *sql, cq_pg_values *values, const char *text, cq_error *error) {
  cq_filter filter;
  cq_status status = cq_filter_parse(&filter, cq_slice_of(text), error);
  if (status) return status;
  status = cq_pg_select(sql, values, &filter, error);
  cq_filter_free(&filter);
  return status;
}

static void nothing_of_a_user_is_in_the_statement(void **state) {
  (void)state;
  static const char *const filters[] = {
      "zebra = zebra",
      "\"zebra'; --\" = \"zebra' OR true\"",
      "id = zebra and lang in [zebra, \"zebra\\\"\"] or not has zebra.zebra",
      "title > zebra and (url <= 'zebra' or zebra != zebra)",
  };
  static const size_t n_values[] = {2, 2, 4, 4};
  for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
    cq_builder sql = {0};
    cq_pg_values values = {0};
    cq_error error;
    assert_int_equal(select_text(&sql, &values, filters[i], &error), CQ_OK);
    assert_null(strstr(sql.data, "zebra"));
    assert_int_equal(values.n, n_values[i]);
    for (size_t v = 1; v <= values.n; v++) { /* each is used */
      char number[32];
      snprintf(number, sizeof number, "$%zu::", v);
      assert_non_null(strstr(sql.data, number));
    }
    cq_builder_free(&sql);
    cq_pg_values_free(&values);
  }
}

static void a_path_is_an_array_of_its_members(void **state) {
  (void)state;
  static const unsigned char path[] = {0, 0, 0, 1, 0, 0, 0, 0, 0,   0, 0, 25, 0, 0,   0,  2,
                                       0, 0, 0, 1, 0, 0, 0, 1, 'a', 0, 0, 0,  2, 'b', 'c'};
  cq_builder sql = {0};
  cq_pg_values values = {0};
  cq_error error;
  assert_int_equal(select_text(&sql, &values, "has a.bc", &error), CQ_OK);
  assert_int_equal(values.n, 1);
  assert_int_equal(values.items[0].n, sizeof path);
  assert_memory_equal(values.items[0].data, path, sizeof path);
  cq_builder_free(&sql);
  cq_pg_values_free(&values);
}

static void too_many_values_are_refused(void **state) {
  (void)state;
  cq_pg_values values = {0};
  cq_error error = {0};
  size_t number = 0;
  for (size_t i = 0; i < CQ_PG_MAX_VALUES; i++)
    assert_int_equal(cq_pg_add_value(&number, &values, "x", 1, &error), CQ_OK);
  assert_int_equal(number, CQ_PG_MAX_VALUES);
  assert_int_equal(cq_pg_add_value(&number, &values, "x", 1, &error), CQ_ERR_LIMIT);
  assert_non_null(strstr(error.message, "more than 1280 values"));
  cq_pg_values_free(&values);
}

static void memory_that_fails_is_told(void **state) {
  (void)state;
  for (long n = 1;; n++) {
    cq_builder sql = {0};
    cq_pg_values values = {0};
    cq_error error;
    cq_alloc_fail_at(n);
    const cq_status status = select_text(&sql, &values, "a.b = 1 and (c in [x, y] or lang = de)", &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    cq_builder_free(&sql);
    cq_pg_values_free(&values);
    if (!failed) break;
  }
}

static void addresses_are_known_by_their_scheme(void **state) {
  (void)state;
  assert_true(cq_index_is_address("postgresql:///news"));
  assert_true(cq_index_is_address("postgres://me@host/news"));
  assert_false(cq_index_is_address("postgresql.index"));
  assert_false(cq_index_is_address("postgresql:/news"));
  assert_false(cq_index_is_address(""));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_of_a_user_is_in_the_statement), cmocka_unit_test(a_path_is_an_array_of_its_members),
      cmocka_unit_test(too_many_values_are_refused),           cmocka_unit_test(memory_that_fails_is_told),
      cmocka_unit_test(addresses_are_known_by_their_scheme),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
