/* How well a group of sentences of one document translates a group of the other.
 *
 * A bead is a group of 1 to K consecutive sentences on each side, or a sentence without a translation. Groups have
 * vectors of their own. With x and y the vectors of a bead's groups, its score is
 *
 *   (cos(x, y) - chance / 2 - next / 2 + names) x length x ((a + b) / 2)^0.35
 *
 *   chance   the mean cosine of x to all sentences of the other document, and that of y
 *   next     the mean cosine of x to the sentences beside y, and that of y to those beside x: high when a group is
 *            incomplete
 *   names    a sixtieth of the weight of the words and numbers that both sides have alike (shared_words.h)
 *   length   log2(1 + r), r the ratio of the shorter group to the longer, in proportion to the documents
 *   a, b     sentences of the two groups: one bead of four scores higher than half of it, lower than two of two
 *
 * A group of more than one block (a paragraph, a heading, an item of a list) scores a fifth less for each. A sentence
 * without a translation scores 0. Sources: the margin to random groups is Thompson & Koehn's (2019, equation
 * 1), the margin to what is beside and the lengths are Liu & Zhu's (2023). The constants were chosen on the development
 * document of Text+Berg (docs/results/mining.md). */
#ifndef RECIPE_ALIGN_BEADS_H
#define RECIPE_ALIGN_BEADS_H

#include "calque/status.h"

#include <stddef.h>
#include <stdint.h>

enum { CQ_ALIGN_MAX_GROUP = 8 };

/* A document. */
typedef struct cq_align_side {
  size_t n, dim, max_group;
  float *groups;   /* [n, max_group, dim], of length 1: that of sentences i - k to i is groups[i][k], zero if i < k */
  double *begins;  /* [n + 1]: the length of the text before sentence i */
  uint32_t *words; /* those of sentence i: words[word_starts[i]] ... */
  size_t *word_starts;    /* [n + 1]; NULL: none */
  const uint32_t *blocks; /* [n] the number of a sentence's block, borrowed; NULL: none */
  float *chance;          /* [n, max_group] */
} cq_align_side;

/* The vector of the group of n sentences that ends before `end`. */
static inline float *cq_align_group(const cq_align_side *s, size_t end, size_t n) {
  return s->groups + ((end - 1) * s->max_group + n - 1) * s->dim;
}

/* Allocates groups, begins and chance. Errors: CQ_ERR_MEMORY. Release with cq_align_side_free, even after an error. */
CQ_MUST_USE cq_status cq_align_side_new(cq_align_side *out, size_t n, size_t dim, size_t max_group, cq_error *error);
void cq_align_side_free(cq_align_side *side);
/* Fills the groups of two sentences and more from the sentences' vectors: their mean, weighted by length. That stands
 * for the vector of the group's text until this is known. */
void cq_align_side_join(cq_align_side *side);
/* Sets the chance of both sides. Call it when groups have changed. */
CQ_MUST_USE cq_status cq_align_set_chance(cq_align_side sides[2], cq_error *error);

/* Scales a vector to length 1; zero stays. */
void cq_align_unit(float *x, size_t dim);

#endif
