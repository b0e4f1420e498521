/* Charts: places worked out by hand, axes' numbers, text escaped, gaps, legends, errors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "calque/lab/chart.h"
#include "lab/plot/axis.h"
#include "lab/plot/svg.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double x[] = {0, 0.5, 1, 2, 0.5, 1}, y[] = {1, 0.5, 0, 0, NAN, 1};

/* A range is extended to 0 if that at most doubles it, on either side. */
static void ranges_reach_for_zero(void **state) {
  (void)state;
  static const struct {
    double low, high, rounded_low, rounded_high;
  } cases[] = {{1, 10, 0, 10}, {-10, -1, -10, 0}, {-10, -6, -10, -6}, {6, 10, 6, 10}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double range[3] = {cases[i].low, cases[i].high, 77};
    cq_range_round(range, 5);
    assert_float_equal(range[0], cases[i].rounded_low, 1e-9);
    assert_float_equal(range[1], cases[i].rounded_high, 1e-9);
    assert_float_equal(range[2], 77, 0);
  }
}

/* Every tag is closed in its turn, and no '<' or '&' is left in the text between. */
static void check_well_formed(const char *svg) {
  char open[64][16];
  int depth = 0;
  for (const char *c = svg; *c; c++) {
    if (*c == '&') assert_true(!strncmp(c, "&lt;", 4) || !strncmp(c, "&gt;", 4) || !strncmp(c, "&amp;", 5));
    assert_true((unsigned char)*c >= 0x20 || *c == '\n' || *c == '\t');
    if (*c != '<') continue;
    const char *end = strchr(c, '>');
    assert_non_null(end);
    const bool closes = c[1] == '/';
    char name[16];
    assert_int_equal(sscanf(c + 1 + closes, "%15[a-z]", name), 1);
    assert_null(memchr(c + 1, '<', (size_t)(end - c - 1)));
    if (closes) {
      assert_true(depth > 0);
      assert_string_equal(open[--depth], name);
    } else if (end[-1] != '/') {
      assert_true(depth < 64);
      memcpy(open[depth++], name, sizeof name);
    }
    c = end;
  }
  assert_int_equal(depth, 0);
  assert_null(strstr(svg, "nan"));
  assert_null(strstr(svg, "inf"));
}

static char *drawn(const cq_chart *charts, size_t n) {
  char *svg = NULL;
  cq_error error = {0};
  if (cq_chart_svg(&svg, charts, n, &error)) fail_msg("%s", error.message);
  check_well_formed(svg);
  assert_string_equal(svg + strlen(svg) - 7, "</svg>\n");
  return svg;
}

static int count(const char *text, const char *what) {
  int n = 0;
  for (const char *at = text; (at = strstr(at, what)); at += strlen(what)) n++;
  return n;
}

static void points_lie_where_they_should(void **state) {
  (void)state;
  cq_chart_series series = {.name = "a < b", .x = x, .y = y, .n = 6};
  const cq_chart chart = {.title = "P & R",
                          .x_label = "recall",
                          .y_label = "precision",
                          .x = {0, 1},
                          .y = {0, 1},
                          .series = &series,
                          .n_series = 1};
  /* The plot's corners are (68, 64) and (616, 428). What lies outside or is no number breaks the line. */
  char *svg = drawn(&chart, 1);
  assert_non_null(strstr(svg, "d=\"M68.0 64.0 L342.0 246.0 L616.0 428.0 M616.0 64.0 \""));
  assert_non_null(strstr(svg, ">a &lt; b</text>"));
  assert_non_null(strstr(svg, ">P &amp; R</text>"));
  assert_non_null(strstr(svg, ">0.2</text>"));
  assert_int_equal(count(svg, "<circle"), 0);
  cq_free(svg);

  series.kind = CQ_CHART_POINTS;
  svg = drawn(&chart, 1);
  assert_int_equal(count(svg, "<circle"), 4 + 1); /* and the legend's */
  assert_non_null(strstr(svg, "<circle cx=\"342.0\" cy=\"246.0\""));
  cq_free(svg);

  series.kind = CQ_CHART_MARKED_LINE;
  svg = drawn(&chart, 1);
  assert_int_equal(count(svg, "<circle"), 4 + 1);
  assert_non_null(strstr(svg, "L616.0 428.0 M616.0 64.0 \""));
  cq_free(svg);

  series.kind = CQ_CHART_JOINS; /* 0-1 and 4-5, of which the latter is no number; 2-3 leaves the chart */
  svg = drawn(&chart, 1);
  assert_non_null(strstr(svg, "d=\"M68.0 64.0 L342.0 246.0 \""));
  cq_free(svg);
}

static void joins_take_no_color(void **state) {
  (void)state;
  cq_chart_series series[3] = {{.name = "joins", .x = x, .y = y, .n = 4, .kind = CQ_CHART_JOINS},
                               {.name = "one", .x = x, .y = y, .n = 3},
                               {.name = "two", .x = x, .y = y, .n = 3, .color = 3}};
  const cq_chart chart = {.series = series, .n_series = 3};
  char *svg = drawn(&chart, 1);
  assert_int_equal(count(svg, "stroke=\"#0072b2\""), 2); /* the line and the legend's */
  assert_int_equal(count(svg, "stroke=\"#009e73\""), 2);
  assert_int_equal(count(svg, "stroke=\"#999\""), 2);
  assert_int_equal(count(svg, "stroke=\"#d55e00\""), 0);
  cq_free(svg);
}

/* Where the legend has no room in one row it takes another: the plot begins lower, and is as high. */
static void legends_wrap_above_the_plot(void **state) {
  (void)state;
  char long_name[61];
  memset(long_name, 'm', 60), long_name[60] = '\0';
  const cq_chart_series series[3] = {{.name = long_name, .x = x, .y = y, .n = 3},
                                     {.x = x, .y = y, .n = 3},
                                     {.name = long_name, .x = x, .y = y, .n = 3}};
  cq_chart chart = {.x = {0, 1}, .y = {0, 1}, .series = series};
  const char *const tops[] = {"M48.0 16.0 V", "M48.0 36.0 V", "M48.0 36.0 V", "M48.0 56.0 V"};
  const char *const sizes[] = {"0 0 640 480\"", "0 0 640 480\"", "0 0 640 480\"", "0 0 640 500\""};
  for (chart.n_series = 0; chart.n_series <= 3; chart.n_series++) {
    char *svg = drawn(&chart, 1);
    assert_non_null(strstr(svg, tops[chart.n_series]));
    assert_non_null(strstr(svg, sizes[chart.n_series]));
    assert_int_equal(count(svg, long_name), (chart.n_series + 1) / 2);
    cq_free(svg);
  }
}

static void axes_are_fitted(void **state) {
  (void)state;
  const double at[] = {1, 4, NAN}, high[] = {2, 8.5, INFINITY};
  const cq_chart_series series = {.x = at, .y = high, .n = 3};
  cq_chart chart = {.series = &series, .n_series = 1};
  char *svg = drawn(&chart, 1);
  assert_non_null(strstr(svg, ">0</text>")); /* 1 is near enough to 0 for 4, and 2 for 8.5 */
  assert_non_null(strstr(svg, ">8</text>"));
  cq_free(svg);

  /* One unit on both axes, 4 % of room around: 6.5 takes the 436 from top to bottom, but for that. */
  chart.same_unit = true;
  svg = drawn(&chart, 1);
  double cx[2], cy[2];
  const char *path = strstr(svg, "stroke-linejoin=\"round\" d=\"");
  assert_non_null(path);
  assert_int_equal(sscanf(path, "stroke-linejoin=\"round\" d=\"M%lf %lf L%lf %lf", &cx[0], &cy[0], &cx[1], &cy[1]), 4);
  assert_float_equal((cx[1] - cx[0]) / 3, (cy[0] - cy[1]) / 6.5, 0.1);
  assert_float_equal((cy[0] - cy[1]) / 6.5, (452 - 16) / (6.5 * 1.08), 0.1);
  assert_float_equal((cx[0] + cx[1]) / 2, (48 + 616) / 2.0, 0.1);
  cq_free(svg);

  chart.no_numbers = true;
  svg = drawn(&chart, 1);
  assert_int_equal(count(svg, "<text"), 0);
  assert_int_equal(count(svg, " Z\" stroke=\"#bbb\""), 1); /* a frame in the axes' place */
  cq_free(svg);
}

static void wide_characters_take_more_room(void **state) {
  (void)state;
  assert_float_equal(cq_svg_width("ab", 10), 12, 1e-9);
  assert_float_equal(cq_svg_width("\xE1\x83\xBF", 10), 6, 1e-9);  /* U+10FF, the last narrow one */
  assert_float_equal(cq_svg_width("\xE1\x84\x80", 10), 10, 1e-9); /* U+1100 */
}

static void numbers_at_ticks_are_round(void **state) {
  (void)state;
  static const struct {
    double low, high;
    int n;
    const char *numbers;
  } cases[] = {{0, 1, 5, "0.0 0.2 0.4 0.6 0.8 1.0 "},    {0, 0.3, 3, "0.0 0.1 0.2 0.3 "},
               {-1, 1, 4, "-1.0 -0.5 0.0 0.5 1.0 "},     {0, 4157, 5, "0 1000 2000 3000 4000 "},
               {0.013, 0.049, 4, "0.02 0.03 0.04 "},     {0, 2e7, 2, "0 1e+07 2e+07 "},
               {-3e-6, 0, 3, "-3e-06 -2e-06 -1e-06 0 "}, {3, 3.0001, 2, "3.00000 3.00005 3.00010 "}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const cq_axis axis = cq_axis_make(cases[i].low, cases[i].high, 0, 100, cases[i].n);
    char all[256] = "", one[32];
    for (double tick = axis.first; tick <= axis.last; tick++) {
      cq_axis_number(one, sizeof one, &axis, tick);
      strcat(strcat(all, one), " ");
    }
    assert_string_equal(all, cases[i].numbers);
  }
}

/* 3 * 0.1 is more than 0.3, which lies on this axis all the same. */
static void ends_belong_to_an_axis(void **state) {
  (void)state;
  const cq_axis axis = cq_axis_make(3 * 0.1, 0.6, 0, 100, 3);
  assert_true(axis.low > 0.3 && cq_axis_holds(&axis, 0.3) && cq_axis_holds(&axis, 0.6));
  assert_false(cq_axis_holds(&axis, 0.2999));
  assert_false(cq_axis_holds(&axis, 0.6001));
  assert_false(cq_axis_holds(&axis, NAN));
}

/* The plot makes room for the seven characters of 0.00150 beside the label. */
static void long_numbers_do_not_touch_the_label(void **state) {
  (void)state;
  const double high[] = {0.0012, 0.0015};
  const cq_chart_series series = {.x = x, .y = high, .n = 2};
  const cq_chart chart = {.y_label = "loss", .series = &series, .n_series = 1};
  char *svg = drawn(&chart, 1);
  assert_non_null(strstr(svg, "<text x=\"75.4\" y=\"")); /* its end: 7 before 32 + 7 * 7.2 */
  assert_non_null(strstr(svg, "<path d=\"M82.4 "));
  cq_free(svg);
}

static void ranges_are_rounded_outwards(void **state) {
  (void)state;
  static const struct {
    double values[2], low, high;
  } cases[] = {{{0.3, 8.2}, 0, 9}, {{6, 7}, 6, 7},          {{-8.2, -0.3}, -9, 0}, {{-7, -6}, -7, -6},
               {{3, 3}, 0, 4.5},   {{NAN, INFINITY}, 0, 1}, {{0, 0}, -0.5, 0.5}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double range[2] = {INFINITY, -INFINITY};
    cq_range_add(range, cases[i].values, 2);
    cq_range_round(range, 5);
    assert_float_equal(range[0], cases[i].low, 1e-9);
    assert_float_equal(range[1], cases[i].high, 1e-9);
  }

  double one[2] = {3, 3}, none[2] = {INFINITY, -INFINITY};
  cq_range_pad(one, 0.1);
  cq_range_pad(none, 0.1);
  assert_true(fabs(one[0] - 1.2) < 1e-9 && fabs(one[1] - 4.8) < 1e-9);
  assert_true(fabs(none[0] + 0.1) < 1e-9 && fabs(none[1] - 1.1) < 1e-9);
}

static void marks_and_charts_below_one_another(void **state) {
  (void)state;
  const cq_chart_mark marks[] = {{0, "first"}, {0.5, "a<b"}, {1, NULL}, {1.5, "outside"}, {NAN, "nowhere"}};
  const cq_chart charts[2] = {{.x = {0, 1}, .y = {0, 1}, .marks = marks, .n_marks = 5, .height = 200},
                              {.title = "below", .x = {0, 1}, .y = {0, 1}, .width = 700, .height = 300}};
  char *svg = drawn(charts, 2);
  assert_non_null(strstr(svg, "viewBox=\"0 0 700 500\""));
  assert_non_null(strstr(svg, "<g transform=\"translate(0 200)\">"));
  assert_int_equal(count(svg, "stroke-dasharray"), 2); /* the first lies on the axis */
  assert_non_null(strstr(svg, ">first</text>"));
  assert_non_null(strstr(svg, ">a&lt;b</text>"));
  assert_null(strstr(svg, "outside"));
  assert_null(strstr(svg, "nowhere"));
  cq_free(svg);
}

static void text_that_xml_has_not_is_replaced(void **state) {
  (void)state;
  const cq_chart chart = {.title = "a\x01z\xff\xc3\xa9\xef\xbf\xbe.", .x = {0, 1}, .y = {0, 1}};
  char *svg = drawn(&chart, 1);
  assert_non_null(strstr(svg, ">a\xef\xbf\xbdz\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd.</text>"));
  cq_free(svg);
}

static void errors_are_told(void **state) {
  (void)state;
  static const cq_chart bad[] = {{.x = {1, 1}, .y = {0, 1}},
                                 {.x = {0, 1}, .y = {1, 0}},
                                 {.x = {0, NAN}, .y = {0, 1}},
                                 {.x = {0, INFINITY}, .y = {0, 1}},
                                 {.x = {-DBL_MAX, DBL_MAX}, .y = {0, 1}},
                                 {.x = {0, 5e-324}, .y = {0, 1}},
                                 {.x = {0, 1}, .y = {0, 1}, .width = 60},
                                 {.x = {0, 1}, .y = {0, 1}, .height = 50},
                                 {.height = -1}};
  cq_error error;
  char *svg;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_int_equal(cq_chart_svg(&svg, &bad[i], 1, &error), CQ_ERR_ARGUMENT);
    assert_null(svg);
    assert_non_null(strstr(error.message, i < 6 ? "extent" : "room"));
  }
  const cq_chart chart = {.x = {0, 1}, .y = {0, 1}};
  const cq_chart both[2] = {chart, bad[0]};
  assert_int_equal(cq_chart_svg(&svg, both, 2, &error), CQ_ERR_ARGUMENT);
  assert_null(svg);
  cq_alloc_fail_at(1);
  assert_int_equal(cq_chart_svg(&svg, &chart, 1, NULL), CQ_ERR_MEMORY);
  cq_alloc_fail_at(0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(ranges_reach_for_zero),
                                     cmocka_unit_test(points_lie_where_they_should),
                                     cmocka_unit_test(joins_take_no_color),
                                     cmocka_unit_test(legends_wrap_above_the_plot),
                                     cmocka_unit_test(axes_are_fitted),
                                     cmocka_unit_test(wide_characters_take_more_room),
                                     cmocka_unit_test(numbers_at_ticks_are_round),
                                     cmocka_unit_test(ends_belong_to_an_axis),
                                     cmocka_unit_test(long_numbers_do_not_touch_the_label),
                                     cmocka_unit_test(ranges_are_rounded_outwards),
                                     cmocka_unit_test(marks_and_charts_below_one_another),
                                     cmocka_unit_test(text_that_xml_has_not_is_replaced),
                                     cmocka_unit_test(errors_are_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
