/* Charts: places worked out by hand, text escaped, gaps, errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "calque/chart.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const double x[] = {0, 0.5, 1, 2, 0.5, 1}, y[] = {1, 0.5, 0, 0, NAN, 1};

static void points_lie_where_they_should(void **state) {
  (void)state;
  const cq_chart_series series = {"a < b", x, y, 6};
  const cq_chart chart = {"P & R", "recall", "precision", {0, 1}, {0, 1}, &series, 1};
  char *svg;
  assert_int_equal(cq_chart_svg(&svg, &chart, NULL), CQ_OK);
  /* The plot's corners are (64, 48) and (616, 424). What lies outside or is no number breaks the line. */
  assert_non_null(strstr(svg, "d=\"M64.0 48.0 L340.0 236.0 L616.0 424.0 M616.0 48.0 \""));
  assert_non_null(strstr(svg, ">a &lt; b</text>"));
  assert_non_null(strstr(svg, ">P &amp; R</text>"));
  assert_null(strstr(svg, "nan"));
  assert_string_equal(svg + strlen(svg) - 7, "</svg>\n");
  free(svg);
}

static void errors_are_told(void **state) {
  (void)state;
  const cq_chart flat = {"", "", "", {1, 1}, {0, 1}, NULL, 0};
  char *svg;
  assert_int_equal(cq_chart_svg(&svg, &flat, NULL), CQ_ERR_ARGUMENT);
  assert_null(svg);
  const cq_chart chart = {"", "", "", {0, 1}, {0, 1}, NULL, 0};
  cq_alloc_fail_at(1);
  assert_int_equal(cq_chart_svg(&svg, &chart, NULL), CQ_ERR_MEMORY);
  cq_alloc_fail_at(0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(points_lie_where_they_should), cmocka_unit_test(errors_are_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
