/* Where this program lies, and plugins that cannot be opened. */
#include "base/plugin.h"
#include "calque/process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_path(void **state) {
  char path[4096], directory[4096], small[8];
  (void)state;
  assert_true(cq_process_path(path, sizeof path));
  assert_int_equal(path[0], '/');
  assert_int_equal(access(path, X_OK), 0);
  assert_string_equal(strrchr(path, '/'), "/test_base_plugin");
  assert_false(cq_process_path(small, sizeof small));             /* longer than there is room for */
  assert_true(cq_library_directory(directory, sizeof directory)); /* the test is linked with the static library */
  assert_int_equal(access(directory, X_OK), 0);
  assert_false(cq_library_directory(small, sizeof small));
}

static void test_memory(void **state) {
  (void)state;
  const double bytes = cq_process_memory();
  assert_true(bytes > 1 << 16 && bytes < 1e12);
}

static void test_refusals(void **state) {
  const void *table = "";
  cq_error error = {0};
  (void)state;
  assert_int_equal(cq_plugin_load(&table, "nothing", 1, "nothing needs a plugin", &error), CQ_ERR_UNSUPPORTED);
  assert_null(table);
  assert_non_null(strstr(error.message, "nothing needs a plugin"));
  assert_non_null(strstr(error.message, "libcalque_nothing.so"));
  assert_int_equal(cq_plugin_load(&table, "nothing", 1, "nothing needs a plugin", NULL), CQ_ERR_UNSUPPORTED);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_path), cmocka_unit_test(test_memory),
                                     cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
