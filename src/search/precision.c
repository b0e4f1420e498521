/* How many of the mined pairs are translations, without a gold standard: by decoys.
 *
 *   source with source ──the same choice──▶ decoys ──┐
 *   target with target ──the same choice──▶ decoys ──┴─▶ false pairs of each score
 *
 * The nearest other sentence of its own language is no translation of a sentence, but found in the same way: pairs within
 * a text score as the false pairs between texts do. Of T(t) pairs of score t or more, D(t) are false: the decoys of score
 * t or more for each row of the side that has fewer, times the rows of the smaller side. After the target-decoy estimate
 * of false discovery rates (Elias & Gygi 2007). */
#include "calque/mine.h"

#include <math.h>

static size_t count_above(size_t from, const cq_decoys *d, double score) {
  while (from < d->n && d->pairs[from].score >= score) from++;
  return from;
}

void cq_margin_precision(double *precision, const cq_mined_pair *pairs, size_t n, const cq_decoys decoys[2]) {
  const size_t rows = decoys[0].n_rows < decoys[1].n_rows ? decoys[0].n_rows : decoys[1].n_rows;
  size_t above[2] = {0, 0};
  for (size_t i = 0; i < n; i++) {
    double of_rows = HUGE_VAL;
    for (int side = 0; side < 2; side++) {
      above[side] = count_above(above[side], &decoys[side], pairs[i].score);
      if (decoys[side].n_rows) of_rows = fmin(of_rows, (double)above[side] / (double)decoys[side].n_rows);
    }
    precision[i] = rows ? 1 - of_rows * (double)rows / (double)(i + 1) : 1;
  }
  double lowest = 0;
  for (size_t i = n; i > 0; i--) { /* a higher score is never less precise */
    if (precision[i - 1] > lowest) lowest = precision[i - 1];
    precision[i - 1] = lowest;
  }
}
