/* Estimates how many of the mined pairs are translations, without a gold standard, by means of decoys.
 *
 *   source with source ──the same choice──▶ decoys ──┐
 *   target with target ──the same choice──▶ decoys ──┴─▶ false pairs of each score
 *
 * A sentence's nearest neighbor in its own language is not a translation, but is found in the same way: such pairs, the
 * decoys, score like the false pairs between texts. So, in order of descending score, a row without a pair gets a false
 * pair about as often as a row within a text gets a decoy:
 *
 *   F(s), the false pairs of score s or more:   dF = (m - T(s)) (1 + 2 D(s)/n) dD / (n - 2 D(s))
 *
 *   T  pairs of score s or more, true and false; m  the rows of the smaller side
 *   D  decoys of score s or more, of two rows each; n  the rows of their text
 *
 * The smaller estimate of the two sides counts. A row has half as many partners within a text as two rows have between
 * texts, so false pairs are twice as frequent as decoys once most rows are in pairs. At high scores, where few rows are
 * in pairs, half of the decoys are repetitions within a text. There F is m/n of the decoys, the target-decoy estimate
 * of false discovery rates (Elias & Gygi 2007). */
#include "calque/mine.h"

#include <math.h>

typedef struct side {
  const cq_decoys *decoys;
  size_t n;       /* that have been counted: D */
  double n_false; /* F */
} side;

/* Counts the decoys of that score or more. */
static void count_to(side *s, double score, double free_rows) {
  const cq_decoys *d = s->decoys;
  for (; s->n < d->n && d->pairs[s->n].score >= score; s->n++) {
    const double in_decoys = 2 * (double)s->n, n = (double)d->n_rows;
    s->n_false += free_rows * (1 + in_decoys / n) / fmax(n - in_decoys, 1);
  }
}

void cq_margin_precision(double *precision, const cq_mined_pair *pairs, size_t n, const cq_decoys decoys[2]) {
  const size_t rows = decoys[0].n_rows < decoys[1].n_rows ? decoys[0].n_rows : decoys[1].n_rows;
  const size_t max_pairs = n > rows ? n : rows; /* a row may be in several pairs, from forward and backward retrieval */
  side sides[2] = {{.decoys = &decoys[0]}, {.decoys = &decoys[1]}};
  for (size_t i = 0; i < n; i++) {
    double n_false = HUGE_VAL;
    for (int s = 0; s < 2; s++) {
      count_to(&sides[s], pairs[i].score, (double)(max_pairs - i));
      if (decoys[s].n_rows) n_false = fmin(n_false, sides[s].n_false);
    }
    precision[i] = rows ? 1 - fmin(n_false / (double)(i + 1), 1) : 1;
  }
  double lowest = 0;
  for (size_t i = n; i > 0; i--) { /* precision never falls as scores rise */
    if (precision[i - 1] > lowest) lowest = precision[i - 1];
    precision[i - 1] = lowest;
  }
}
