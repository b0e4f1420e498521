/* An axis: maps numbers to positions, and places its labels. */
#ifndef LAB_PLOT_AXIS_H
#define LAB_PLOT_AXIS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cq_axis {
  double low, high;   /* numbers at its ends */
  double begin, end;  /* their places in the drawing */
  double step;        /* between ticks: 1, 2 or 5 times a power of ten */
  double first, last; /* ticks are at first * step, (first + 1) * step, ..., last * step */
} cq_axis;

/* The round step that divides a range into n_ticks intervals or slightly fewer. */
double cq_axis_step(double extent, int n_ticks);
/* From low to high; low < high, both finite with a finite difference. */
cq_axis cq_axis_make(double low, double high, double begin, double end, int n_ticks);
double cq_axis_place(const cq_axis *axis, double number);
bool cq_axis_holds(const cq_axis *axis, double number); /* false for NaN */
/* The number at a tick, with enough digits to distinguish it from the next. */
void cq_axis_number(char *out, size_t size, const cq_axis *axis, double tick);

/* Extends a range to include values. A range starts from {INFINITY, -INFINITY}. */
void cq_range_add(double range[2], const double *values, size_t n); /* what is not finite is passed over */
/* Extends a range to multiples of half the step, and to 0 if that at most doubles it. An empty range gets a width. */
void cq_range_round(double range[2], int n_ticks);
/* Out by a share of the extent. */
void cq_range_pad(double range[2], double share);

#endif
