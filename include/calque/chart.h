/* A small line chart as SVG: what a figure of this field needs and no more.
 *
 *   cq_chart chart = {.title = "de-en", .x_label = "recall", .y_label = "precision", .x = {0, 1}, .y = {0, 1}};
 *   chart.series = &(cq_chart_series){"margin", recall, precision, n}, chart.n_series = 1;
 *   cq_chart_svg(&svg, &chart, &err);                            // free(svg)
 */
#ifndef CALQUE_CHART_H
#define CALQUE_CHART_H

#include "calque/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_chart_series {
  const char *name;    /* in the legend */
  const double *x, *y; /* [n]; a point that is not finite breaks the line */
  size_t n;
} cq_chart_series;

typedef struct cq_chart {
  const char *title, *x_label, *y_label;
  double x[2], y[2]; /* the axes' ends; what lies outside is not drawn */
  const cq_chart_series *series;
  size_t n_series; /* up to 8 are told apart by colour */
} cq_chart;

/* The chart as a document of its own, 640 by 480. out: release with free().
 * Errors: CQ_ERR_ARGUMENT for an axis without extent, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_chart_svg(char **out, const cq_chart *chart, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
