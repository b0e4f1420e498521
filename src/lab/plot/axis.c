/* An axis: maps numbers to positions, and chooses the round numbers that it shows. See axis.h. */
#include "lab/plot/axis.h"

#include "base/number.h"

#include <math.h>

double cq_axis_step(double extent, int n_ticks) {
  const double min_step = extent / n_ticks, power = pow(10, floor(log10(min_step)));
  static const double round[] = {1, 2, 5};
  for (size_t i = 0; i < sizeof round / sizeof *round; i++)
    if (round[i] * power >= min_step * (1 - 1e-9)) return round[i] * power;
  return 10 * power;
}

cq_axis cq_axis_make(double low, double high, double begin, double end, int n_ticks) {
  const double step = cq_axis_step(high - low, n_ticks);
  return (cq_axis){.low = low,
                   .high = high,
                   .begin = begin,
                   .end = end,
                   .step = step,
                   .first = ceil(low / step - 1e-9),
                   .last = floor(high / step + 1e-9)};
}

double cq_axis_place(const cq_axis *axis, double number) {
  return axis->begin + (number - axis->low) / (axis->high - axis->low) * (axis->end - axis->begin);
}

bool cq_axis_holds(const cq_axis *axis, double number) {
  const double slack = 1e-9 * (axis->high - axis->low); /* ends are rounded: 3 * 0.1 > 0.3 */
  return number >= axis->low - slack && number <= axis->high + slack;
}

void cq_axis_number(char *out, size_t size, const cq_axis *axis, double tick) {
  const double number = tick == 0 ? 0 : tick * axis->step; /* no "-0" */
  const double max = fmax(fabs(axis->low), fabs(axis->high));
  const int of_step = (int)floor(log10(axis->step) + 1e-9), of_all = (int)floor(log10(max));
  if (max >= 1e7 || max < 1e-3)
    cq_snprintf(out, size, "%.*g", of_all - of_step + 1, number);
  else
    cq_snprintf(out, size, "%.*f", of_step < 0 ? -of_step : 0, number);
}

void cq_range_add(double range[2], const double *values, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!isfinite(values[i])) continue;
    range[0] = fmin(range[0], values[i]);
    range[1] = fmax(range[1], values[i]);
  }
}

static void give_extent(double range[2]) {
  if (range[0] > range[1]) range[0] = 0, range[1] = 1;
  if (range[0] < range[1]) return;
  const double half = range[0] != 0 ? fabs(range[0]) / 2 : 0.5;
  range[0] -= half, range[1] += half;
}

void cq_range_round(double range[2], int n_ticks) {
  give_extent(range);
  if (range[0] > 0 && range[0] < range[1] / 2) range[0] = 0;
  if (range[1] < 0 && range[1] > range[0] / 2) range[1] = 0;
  const double step = cq_axis_step(range[1] - range[0], n_ticks) / 2;
  range[0] = floor(range[0] / step + 1e-9) * step;
  range[1] = ceil(range[1] / step - 1e-9) * step;
}

void cq_range_pad(double range[2], double share) {
  give_extent(range);
  const double more = share * (range[1] - range[0]);
  range[0] -= more, range[1] += more;
}
