/* A line chart:
 *
 *              title
 *        1 +----------------+
 *          |      ___       |  legend
 *    label |  ___/   \      |
 *        0 +----------------+
 *          0     label      1
 */
#include "calque/chart.h"

#include "base/error.h"
#include "base/number.h"
#include "base/slice.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 640, HEIGHT = 480, LEFT = 64, RIGHT = 24, TOP = 48, BOTTOM = 56, N_TICKS = 5, N_COLOURS = 8 };

/* Okabe & Ito's colours, which people of every colour vision can tell apart. */
static const char *const colours[N_COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                               "#e69f00", "#56b4e9", "#000000", "#f0e442"};

static void add_text(cq_builder *b, const char *text) {
  for (; *text; text++) {
    switch (*text) {
    case '<': cq_builder_text(b, "&lt;"); break;
    case '>': cq_builder_text(b, "&gt;"); break;
    case '&': cq_builder_text(b, "&amp;"); break;
    default: cq_builder_char(b, *text);
    }
  }
}

/* A line of text; anchor "start", "middle" or "end". */
static void label(cq_builder *b, double x, double y, const char *anchor, const char *more, const char *text) {
  cq_builder_printf(b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>", x, y, anchor, more);
  add_text(b, text);
  cq_builder_text(b, "</text>\n");
}

static double place_x(const cq_chart *c, double x) {
  return LEFT + (x - c->x[0]) / (c->x[1] - c->x[0]) * (WIDTH - LEFT - RIGHT);
}

static double place_y(const cq_chart *c, double y) {
  return HEIGHT - BOTTOM - (y - c->y[0]) / (c->y[1] - c->y[0]) * (HEIGHT - TOP - BOTTOM);
}

static void add_axes(cq_builder *b, const cq_chart *c) {
  for (int i = 0; i <= N_TICKS; i++) {
    const double share = (double)i / N_TICKS;
    const double x = c->x[0] + share * (c->x[1] - c->x[0]), y = c->y[0] + share * (c->y[1] - c->y[0]);
    char text[32];
    cq_builder_printf(b, "<path d=\"M%.1f %d V%d M%d %.1f H%d\" stroke=\"#ddd\" fill=\"none\"/>\n", place_x(c, x), TOP,
                      HEIGHT - BOTTOM, LEFT, place_y(c, y), WIDTH - RIGHT);
    cq_snprintf(text, sizeof text, "%.4g", x);
    label(b, place_x(c, x), HEIGHT - BOTTOM + 18, "middle", "", text);
    cq_snprintf(text, sizeof text, "%.4g", y);
    label(b, LEFT - 8, place_y(c, y) + 4, "end", "", text);
  }
  label(b, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 14, "middle", "", c->x_label);
  char turned[64];
  const double middle = (TOP + HEIGHT - BOTTOM) / 2.0;
  cq_snprintf(turned, sizeof turned, " transform=\"rotate(-90 16 %.1f)\"", middle);
  label(b, 16, middle, "middle", turned, c->y_label);
  label(b, WIDTH / 2.0, 26, "middle", " font-size=\"16\"", c->title);
}

static bool inside(const cq_chart *c, double x, double y) {
  return isfinite(x) && isfinite(y) && x >= c->x[0] && x <= c->x[1] && y >= c->y[0] && y <= c->y[1];
}

static void add_series(cq_builder *b, const cq_chart *c, size_t index) {
  const cq_chart_series *s = &c->series[index];
  const char *colour = colours[index % N_COLOURS];
  bool drawing = false;
  cq_builder_printf(b, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" d=\"", colour);
  for (size_t i = 0; i < s->n; i++) {
    const bool in = inside(c, s->x[i], s->y[i]);
    if (in) cq_builder_printf(b, "%c%.1f %.1f ", drawing ? 'L' : 'M', place_x(c, s->x[i]), place_y(c, s->y[i]));
    drawing = in;
  }
  cq_builder_text(b, "\"/>\n");
  const double y = HEIGHT - BOTTOM - 16 - 20 * (double)(c->n_series - 1 - index);
  cq_builder_printf(b, "<path d=\"M%d %.1f h24\" stroke=\"%s\" stroke-width=\"2\"/>\n", LEFT + 16, y - 4, colour);
  label(b, LEFT + 48, y, "start", "", s->name);
}

cq_status cq_chart_svg(char **out, const cq_chart *chart, cq_error *error) {
  cq_builder b = {0};
  *out = NULL;
  if (!(chart->x[0] < chart->x[1]) || !(chart->y[0] < chart->y[1]))
    return cq_fail(error, CQ_ERR_ARGUMENT, "a chart's axis has no extent");
  cq_builder_printf(&b,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
                    "font-size=\"12\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
                    WIDTH, HEIGHT);
  add_axes(&b, chart);
  for (size_t i = 0; i < chart->n_series; i++) add_series(&b, chart, i);
  cq_builder_text(&b, "</svg>\n");
  *out = b.failed ? NULL : strdup(b.data);
  cq_builder_free(&b);
  return *out ? CQ_OK : cq_fail_memory(error, "a chart");
}
