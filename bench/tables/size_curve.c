/* The curve of table 5 as SVG: lines "PAIRS ACCURACY STS STS-ACROSS" on standard input, a chart on standard output. */
#include <calque/lab/chart.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_POINTS = 32, N_CURVES = 3 };

int main(void) {
  static const char *const names[N_CURVES] = {"translation found, % (mean of three test sets)",
                                              "STS-B de, Spearman x 100", "STS-B en-de, Spearman x 100"};
  double x[MAX_POINTS], y[N_CURVES][MAX_POINTS], pairs;
  size_t n = 0;
  while (n < MAX_POINTS && scanf("%lf %lf %lf %lf", &pairs, &y[0][n], &y[1][n], &y[2][n]) == 4) x[n++] = log10(pairs);
  cq_chart_series series[N_CURVES];
  for (int i = 0; i < N_CURVES; i++)
    series[i] = (cq_chart_series){.name = names[i], .x = x, .y = y[i], .n = n, .kind = CQ_CHART_MARKED_LINE};
  const cq_chart chart = {.title = "English-German: how many pairs",
                          .x_label = "pairs, log10",
                          .y_label = "after equal steps",
                          .series = series,
                          .n_series = N_CURVES};
  char *svg;
  cq_error error = {0};
  if (n == 0) return fprintf(stderr, "size_curve: no lines of four numbers\n"), EXIT_FAILURE;
  if (cq_chart_svg(&svg, &chart, 1, &error)) return fprintf(stderr, "size_curve: %s\n", error.message), EXIT_FAILURE;
  fputs(svg, stdout);
  cq_free(svg);
  return EXIT_SUCCESS;
}
