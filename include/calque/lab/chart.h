/** @file Line and point charts as SVG.
 *
 *      cq_chart chart = {.title = "de-en", .x_label = "recall", .y_label = "precision", .x = {0, 1}, .y = {0, 1}};
 *      chart.series = &(cq_chart_series){.name = "margin", .x = recall, .y = precision, .n = n}, chart.n_series = 1;
 *      cq_chart_svg(&svg, &chart, 1, &err);                         // cq_free(svg)
 *
 * Outside the promise of a stable ABI: this header may change with any release, and calque/calque.h does not include
 * it.
 *
 * @threads All may be called by any number of threads at once. */
#ifndef CALQUE_LAB_CHART_H
#define CALQUE_LAB_CHART_H

#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cq_chart_kind {
  CQ_CHART_LINE,        /**< from point to point */
  CQ_CHART_MARKED_LINE, /**< with a dot at each point */
  CQ_CHART_POINTS,      /**< dots */
  CQ_CHART_JOINS,       /**< thin and gray, from each point with even index to the next one */
} cq_chart_kind;

typedef struct cq_chart_series {
  const char *name;    /**< in the legend; NULL: none */
  const double *x, *y; /**< [n]; a point that is not finite breaks the line */
  size_t n;
  cq_chart_kind kind;
  int color; /**< 1 to 8; 0: the next one. Joins have none */
} cq_chart_series;

/** A place on the x axis: a dashed line from bottom to top. */
typedef struct cq_chart_mark {
  double x;
  const char *name; /**< at its top; NULL: none */
} cq_chart_mark;

typedef struct cq_chart {
  const char *title, *x_label, *y_label; /**< UTF-8; NULL: none */
  double x[2], y[2];                     /**< the axes' ends, which clip the series; {0, 0}: chosen to include all of
                                          * the series */
  const cq_chart_series *series;         /**< drawn in this order */
  size_t n_series;                       /**< up to 8 have their own colors */
  const cq_chart_mark *marks;
  size_t n_marks;
  int width, height; /**< 0: 640, 480; additional legend rows increase the height */
  bool same_unit;    /**< the same scale for both axes; the longer axis shows a wider range */
  bool no_numbers;   /**< no numbers or lines on the axes: only distances are meaningful */
} cq_chart;

/** Draws charts, one below the other, as one SVG document. out: release with cq_free(). Invalid UTF-8, and characters
 * that XML does not allow, become U+FFFD.
 * @errors CQ_ERR_ARGUMENT for an axis without extent or a chart that is too small, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_chart_svg(char **out, const cq_chart *charts, size_t n_charts, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
