/* Precision, recall and F1 of scored candidates, and the threshold of maximum F1. */
#include "base/error.h"
#include "base/memory.h"
#include "calque/eval.h"

#include <math.h>
#include <stdlib.h>

static cq_f1_point f1_point(double threshold, size_t n_taken, size_t n_correct, size_t n_gold) {
  cq_f1_point p = {.threshold = threshold, .n_taken = n_taken, .n_correct = n_correct};
  if (n_taken) p.precision = (double)n_correct / (double)n_taken;
  if (n_gold) p.recall = (double)n_correct / (double)n_gold;
  if (n_correct) p.f1 = 2 * p.precision * p.recall / (p.precision + p.recall);
  return p;
}

void cq_f1_at(cq_f1_point *out, double threshold, const double *scores, const bool *correct, size_t n, size_t n_gold) {
  size_t n_taken = 0, n_correct = 0;
  for (size_t i = 0; i < n; i++) {
    if (!(scores[i] >= threshold)) continue;
    n_taken++;
    n_correct += correct[i];
  }
  *out = f1_point(threshold, n_taken, n_correct, n_gold);
}

typedef struct scored {
  double score;
  bool correct;
} scored;

static int highest_score_first(const void *a, const void *b) {
  const double x = ((const scored *)a)->score, y = ((const scored *)b)->score;
  return (x < y) - (x > y);
}

cq_status cq_f1_curve(cq_f1_point **out, size_t *n_points, const double *scores, const bool *correct, size_t n,
                      size_t n_gold, cq_error *error) {
  *out = NULL, *n_points = 0;
  if (n == 0) return CQ_OK;
  size_t all_correct = 0;
  for (size_t i = 0; i < n; i++) {
    if (isnan(scores[i])) return cq_fail(error, CQ_ERR_ARGUMENT, "F1: score %zu is not a number", i + 1);
    all_correct += correct[i];
  }
  if (all_correct > n_gold)
    return cq_fail(error, CQ_ERR_ARGUMENT, "F1: %zu candidates are correct, of %zu in all", all_correct, n_gold);
  scored *order = cq_alloc_array(n, sizeof *order);
  cq_f1_point *points = order ? cq_alloc_array(n, sizeof *points) : NULL;
  if (!points) {
    cq_free(order);
    return cq_fail_memory(error, "a curve");
  }
  for (size_t i = 0; i < n; i++) order[i] = (scored){scores[i], correct[i]};
  qsort(order, n, sizeof *order, highest_score_first);
  size_t n_correct = 0, count = 0;
  for (size_t i = 0; i < n; i++) {
    n_correct += order[i].correct;
    const bool last = i + 1 == n;
    if (!last && order[i + 1].score == order[i].score) continue;
    /* The middle between two adjacent numbers may round to the upper one, which is then the threshold. */
    const double middle = last ? order[i].score : order[i + 1].score + (order[i].score - order[i + 1].score) / 2;
    points[count++] =
        f1_point(!last && middle <= order[i + 1].score ? order[i].score : middle, i + 1, n_correct, n_gold);
  }
  cq_free(order);
  *out = points, *n_points = count;
  return CQ_OK;
}

void cq_f1_best(cq_f1_point *out, const cq_f1_point *curve, size_t n_points) {
  *out = (cq_f1_point){0};
  for (size_t i = 0; i < n_points; i++)
    if (i == 0 || curve[i].f1 > out->f1) *out = curve[i];
}
