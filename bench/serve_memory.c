/* The memory of a server over time as SVG: bench/serve.sh's table "seconds,resident_kib,anonymous_kib" on standard
 * input, a chart on standard output. */
#include <calque/lab/chart.h>

#include <stdio.h>
#include <stdlib.h>

enum { MAX_POINTS = 100000 };

int main(void) {
  static double minutes[MAX_POINTS], mib[MAX_POINTS], own[MAX_POINTS];
  size_t n = 1; /* from nothing at the start, so that what is flat looks flat */
  double seconds, kib, own_kib;
  char head[128];
  if (!fgets(head, sizeof head, stdin)) return fprintf(stderr, "serve_memory: no table\n"), EXIT_FAILURE;
  while (n < MAX_POINTS && scanf("%lf,%lf,%lf", &seconds, &kib, &own_kib) == 3)
    minutes[n] = seconds / 60, own[n] = own_kib / 1024, mib[n++] = kib / 1024;
  if (n == 1) return fprintf(stderr, "serve_memory: no lines of three numbers\n"), EXIT_FAILURE;
  const cq_chart_series series[] = {
      {.name = "resident, mapped files included", .x = minutes, .y = mib, .n = n, .kind = CQ_CHART_LINE},
      {.name = "its own (anonymous)", .x = minutes, .y = own, .n = n, .kind = CQ_CHART_LINE}};
  const cq_chart chart = {.title = "calque serve: resident memory",
                          .x_label = "minutes",
                          .y_label = "MiB",
                          .series = series,
                          .n_series = 2};
  char *svg;
  cq_error error = {0};
  if (cq_chart_svg(&svg, &chart, 1, &error)) return fprintf(stderr, "serve_memory: %s\n", error.message), EXIT_FAILURE;
  fputs(svg, stdout);
  cq_free(svg);
  return EXIT_SUCCESS;
}
