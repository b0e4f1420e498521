/* Charts, one below the other; each:
 *
 *                title
 *          -- a  -- b  o c           legend, as many rows as it needs
 *        1 +----------------+
 *          |      ___  :    |
 *    label |  ___/   \ :    |        a mark, dashed
 *        0 +----------------+
 *          0     label      1
 */
#include "calque/lab/chart.h"

#include "base/error.h"
#include "base/memory.h"
#include "lab/plot/axis.h"
#include "lab/plot/svg.h"

#include <math.h>
#include <stdlib.h>

enum { WIDTH = 640, HEIGHT = 480, RIGHT = 24, FONT = 12, ROW = 20, N_COLORS = 8 };
enum {
  LEGEND_LINE = 24,
  LEGEND_POINT = 8,
  LEGEND_GAP = 7,
  LEGEND_SPACE = 16,
  TICK_WIDTH = 100,
  TICK_HEIGHT = 36,
  MAX_TICKS = 64
};

/* Okabe & Ito's colors, which are distinguishable with any color vision; gray for yellow, which is faint on white. */
static const char *const colors[N_COLORS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                             "#e69f00", "#56b4e9", "#000000", "#999999"};

/* The layout of a chart; y from its own top. */
typedef struct layout {
  const cq_chart *c;
  int width, height;
  double left, right, top, bottom; /* sides of the frame */
  double legend;                   /* top of the legend */
  cq_axis x, y;
} layout;

/* --- layout --- */

/* The sample before a name in the legend. */
static double sample_width(const cq_chart_series *s) {
  return s->kind == CQ_CHART_POINTS ? LEGEND_POINT : LEGEND_LINE;
}

static double entry_width(const cq_chart_series *s) {
  return sample_width(s) + LEGEND_GAP + cq_svg_width(s->name, FONT) + LEGEND_SPACE;
}

/* The position of the next entry: on the next row if it does not fit into this one, unless the row is empty. */
static void next_entry(double *x, int *row, const layout *l, const cq_chart_series *s) {
  if (*x > l->left && *x + entry_width(s) - LEGEND_SPACE > l->right) *x = l->left, ++*row;
}

static int legend_rows(const layout *l) {
  double x = l->left;
  int row = 0;
  bool any = false;
  for (size_t i = 0; i < l->c->n_series; i++) {
    const cq_chart_series *s = &l->c->series[i];
    if (!s->name) continue;
    next_entry(&x, &row, l, s);
    x += entry_width(s);
    any = true;
  }
  return any ? row + 1 : 0;
}

/* An axis's ends: those given, or around the series. */
static void choose_range(double range[2], const cq_chart *c, bool vertical, int n_ticks) {
  const double *given = vertical ? c->y : c->x;
  range[0] = given[0], range[1] = given[1];
  if (range[0] != 0 || range[1] != 0) return;
  range[0] = INFINITY, range[1] = -INFINITY;
  for (size_t i = 0; i < c->n_series; i++)
    cq_range_add(range, vertical ? c->series[i].y : c->series[i].x, c->series[i].n);
  if (c->same_unit)
    cq_range_pad(range, 0.04);
  else
    cq_range_round(range, n_ticks);
}

static void widen_range(double range[2], double extent) {
  const double middle = range[0] + (range[1] - range[0]) / 2;
  range[0] = middle - extent / 2, range[1] = middle + extent / 2;
}

static bool has_extent(const double range[2]) {
  const double extent = range[1] - range[0];
  return extent > 1e-300 && isfinite(extent);
}

static int n_ticks(double length, int each) {
  const int n = (int)(length / each);
  return n < 2 ? 2 : n > MAX_TICKS ? MAX_TICKS : n;
}

/* The longest number at the ticks. */
static double numbers_width(const cq_axis *axis) {
  char text[32];
  double width = 0;
  for (int i = 0; i <= MAX_TICKS && axis->first + i <= axis->last; i++) {
    cq_axis_number(text, sizeof text, axis, axis->first + i);
    width = fmax(width, cq_svg_width(text, FONT));
  }
  return width;
}

static cq_status lay_out_chart(layout *l, const cq_chart *c, cq_error *error) {
  double x[2], y[2];
  *l = (layout){.c = c, .width = c->width ? c->width : WIDTH, .height = c->height ? c->height : HEIGHT};
  l->left = (c->y_label ? 28 : 8) + (c->no_numbers ? 8 : 40);
  l->right = l->width - RIGHT;
  l->legend = c->title ? 36 : 8;
  const int n_rows = legend_rows(l);
  if (n_rows > 1) l->height += ROW * (n_rows - 1);
  l->top = l->legend + ROW * n_rows + 8;
  l->bottom = l->height - (c->x_label ? 26 : 2) - (c->no_numbers ? 10 : 26);
  if (l->right - l->left < ROW || l->bottom - l->top < ROW)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a chart of %d by %d has no room for anything but text", l->width,
                   l->height);
  const double wide = l->right - l->left, high = l->bottom - l->top;
  const int n_x = n_ticks(wide, TICK_WIDTH), n_y = n_ticks(high, c->same_unit ? TICK_WIDTH : TICK_HEIGHT);
  choose_range(x, c, false, n_x);
  choose_range(y, c, true, n_y);
  if (!has_extent(x) || !has_extent(y)) return cq_fail(error, CQ_ERR_ARGUMENT, "a chart's axis has no extent");
  if (c->same_unit) {
    const double unit = fmax((x[1] - x[0]) / wide, (y[1] - y[0]) / high);
    widen_range(x, unit * wide);
    widen_range(y, unit * high);
  }
  l->y = cq_axis_make(y[0], y[1], l->bottom, l->top, n_y);
  if (c->y_label && !c->no_numbers) l->left = fmax(l->left, 32 + numbers_width(&l->y));
  l->x = cq_axis_make(x[0], x[1], l->left, l->right, n_x);
  return CQ_OK;
}

/* --- drawing --- */

static void add_grid(cq_builder *b, const layout *l, const cq_axis *axis) {
  const bool vertical = axis == &l->y;
  char text[32];
  for (int i = 0; i <= MAX_TICKS && axis->first + i <= axis->last; i++) {
    const double at = cq_axis_place(axis, (axis->first + i) * axis->step);
    cq_axis_number(text, sizeof text, axis, axis->first + i);
    if (vertical) {
      cq_builder_printf(b, "<path d=\"M%.1f %.1f H%.1f\" stroke=\"#e4e4e4\"/>\n", l->left, at, l->right);
      cq_svg_label(b, l->left - 7, at + 4, "end", "", text);
    } else {
      cq_builder_printf(b, "<path d=\"M%.1f %.1f V%.1f\" stroke=\"#e4e4e4\"/>\n", at, l->top, l->bottom);
      cq_svg_label(b, at, l->bottom + 17, "middle", "", text);
    }
  }
}

static void add_axes(cq_builder *b, const layout *l) {
  const cq_chart *c = l->c;
  const double middle = (l->top + l->bottom) / 2;
  if (!c->no_numbers) {
    add_grid(b, l, &l->x);
    add_grid(b, l, &l->y);
  }
  if (c->no_numbers)
    cq_builder_printf(b, "<path d=\"M%.1f %.1f V%.1f H%.1f V%.1f Z\" stroke=\"#bbb\" fill=\"none\"/>\n", l->left,
                      l->top, l->bottom, l->right, l->top);
  else
    cq_builder_printf(b, "<path d=\"M%.1f %.1f V%.1f H%.1f\" stroke=\"#888\" fill=\"none\"/>\n", l->left, l->top,
                      l->bottom, l->right);
  if (c->x_label) cq_svg_label(b, (l->left + l->right) / 2, l->height - 12, "middle", "", c->x_label);
  if (c->y_label) {
    cq_builder_printf(b, "<g transform=\"translate(18 %.1f) rotate(-90)\">", middle);
    cq_svg_label(b, 0, 0, "middle", "", c->y_label);
    cq_builder_text(b, "</g>\n");
  }
  if (c->title) cq_svg_label(b, l->width / 2.0, 24, "middle", " font-size=\"16\"", c->title);
}

static void add_mark(cq_builder *b, const layout *l, const cq_chart_mark *mark) {
  if (!cq_axis_holds(&l->x, mark->x)) return;
  const double x = cq_axis_place(&l->x, mark->x);
  if (x > l->left) /* there it is the axis that marks it */
    cq_builder_printf(b, "<path d=\"M%.1f %.1f V%.1f\" stroke=\"#888\" stroke-dasharray=\"3 3\"/>\n", x, l->top,
                      l->bottom);
  if (mark->name) cq_svg_label(b, x + 5, l->top + FONT, "start", " fill=\"#666\" font-size=\"11\"", mark->name);
}

static bool is_inside(const layout *l, const cq_chart_series *s, size_t i) {
  return cq_axis_holds(&l->x, s->x[i]) && cq_axis_holds(&l->y, s->y[i]);
}

static void add_place(cq_builder *b, const layout *l, const cq_chart_series *s, size_t i, char command) {
  cq_builder_printf(b, "%c%.1f %.1f ", command, cq_axis_place(&l->x, s->x[i]), cq_axis_place(&l->y, s->y[i]));
}

static void add_chart_line(cq_builder *b, const layout *l, const cq_chart_series *s, const char *color) {
  bool drawing = false;
  cq_builder_printf(b, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-linejoin=\"round\" d=\"", color);
  for (size_t i = 0; i < s->n; i++) {
    const bool in = is_inside(l, s, i);
    if (in) add_place(b, l, s, i, drawing ? 'L' : 'M');
    drawing = in;
  }
  cq_builder_text(b, "\"/>\n");
}

static void add_joins(cq_builder *b, const layout *l, const cq_chart_series *s) {
  cq_builder_text(b, "<path fill=\"none\" stroke=\"#999\" stroke-width=\"0.6\" d=\"");
  for (size_t i = 0; i + 1 < s->n; i += 2) {
    if (!is_inside(l, s, i) || !is_inside(l, s, i + 1)) continue;
    add_place(b, l, s, i, 'M');
    add_place(b, l, s, i + 1, 'L');
  }
  cq_builder_text(b, "\"/>\n");
}

static void add_points(cq_builder *b, const layout *l, const cq_chart_series *s, const char *color) {
  const double radius = s->kind == CQ_CHART_MARKED_LINE ? 3.5 : 2.5;
  cq_builder_printf(b, "<g fill=\"%s\" fill-opacity=\"%s\">\n", color, s->kind == CQ_CHART_POINTS ? "0.7" : "1");
  for (size_t i = 0; i < s->n; i++)
    if (is_inside(l, s, i))
      cq_builder_printf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", cq_axis_place(&l->x, s->x[i]),
                        cq_axis_place(&l->y, s->y[i]), radius);
  cq_builder_text(b, "</g>\n");
}

static void add_legend_entry(cq_builder *b, double x, double y, const cq_chart_series *s, const char *color) {
  if (s->kind != CQ_CHART_POINTS)
    cq_builder_printf(b, "<path d=\"M%.1f %.1f h%d\" stroke=\"%s\" stroke-width=\"%s\"/>\n", x, y - 4, LEGEND_LINE,
                      color, s->kind == CQ_CHART_JOINS ? "0.6" : "2");
  if (s->kind == CQ_CHART_POINTS || s->kind == CQ_CHART_MARKED_LINE)
    cq_builder_printf(b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"/>\n", x + sample_width(s) / 2, y - 4,
                      color);
  cq_svg_label(b, x + sample_width(s) + LEGEND_GAP, y, "start", "", s->name);
}

static void add_series(cq_builder *b, const layout *l) {
  double x = l->left;
  int row = 0, n_colored = 0;
  for (size_t i = 0; i < l->c->n_series; i++) {
    const cq_chart_series *s = &l->c->series[i];
    const bool joins = s->kind == CQ_CHART_JOINS;
    const char *color = joins ? "#999" : colors[(s->color > 0 ? s->color - 1 : n_colored++) % N_COLORS];
    if (joins) add_joins(b, l, s);
    if (s->kind == CQ_CHART_LINE || s->kind == CQ_CHART_MARKED_LINE) add_chart_line(b, l, s, color);
    if (s->kind == CQ_CHART_POINTS || s->kind == CQ_CHART_MARKED_LINE) add_points(b, l, s, color);
    if (!s->name) continue;
    next_entry(&x, &row, l, s);
    add_legend_entry(b, x, l->legend + ROW * row + 14, s, color);
    x += entry_width(s);
  }
}

cq_status cq_chart_svg(char **out, const cq_chart *charts, size_t n_charts, cq_error *error) {
  cq_builder b = {0};
  layout l;
  cq_status status = CQ_OK;
  int width = 0, height = 0;
  *out = NULL;
  for (size_t i = 0; i < n_charts; i++) {
    if ((status = lay_out_chart(&l, &charts[i], error))) return status;
    width = l.width > width ? l.width : width;
    height += l.height;
  }
  cq_builder_printf(&b,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
                    "font-size=\"%d\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                    width, height, FONT);
  height = 0;
  for (size_t i = 0; !status && i < n_charts; i++) {
    status = lay_out_chart(&l, &charts[i], error);
    cq_builder_printf(&b, "<g transform=\"translate(0 %d)\">\n", height);
    add_axes(&b, &l);
    for (size_t m = 0; m < charts[i].n_marks; m++) add_mark(&b, &l, &charts[i].marks[m]);
    add_series(&b, &l);
    cq_builder_text(&b, "</g>\n");
    height += l.height;
  }
  cq_builder_text(&b, "</svg>\n");
  if (!status) *out = b.failed ? NULL : cq_strdup(b.data);
  cq_builder_free(&b);
  return *out || status ? status : cq_fail_memory(error, "a chart");
}
