/* Transliteration: words of two languages (names, loans, cognates) that are spelled alike under a correspondence of
 * letters. It is learned from lists of words, some of which are transliterations of each other; which ones is unknown.
 *
 *   a pair (e, h) of words from the two lists of one group is
 *     a match, with probability `share`:  a sequence of steps, each with one letter of e and one of h, one letter of
 *                                          either, or (at the end) two and one            p11 p10 p01 p21 p12
 *     noise, otherwise:                   letters of e and of h by frequency, independent of each other
 *
 * EM by the forward-backward algorithm over the steps. Three measures avoid bad local optima: it begins with the most
 * salient words of each group, among which matches are frequent, and gradually adds more; matches are limited to one
 * for every two words of the longer list; and identical or similar Latin letters correspond from the start, by prior
 * counts. Source: Ristad & Yianilos 1998 (the joint model of edits), Sajjad et al. 2012 (a mixture with noise that
 * mines transliterations without examples). */
#ifndef LAB_CLIR_COGNATES_H
#define LAB_CLIR_COGNATES_H

#include "base/context.h"
#include "base/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct cq_cognates cq_cognates;

/* Takes the words of both languages, which get their numbers here, and counts their letters. Only the first 24 letters
 * of a word are used. Errors: CQ_ERR_UNSUPPORTED for more than 1,000 different letters; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_cognates_open(cq_cognates **out, const cq_slice *sources, uint32_t n_sources,
                                       const cq_slice *targets, uint32_t n_targets, cq_error *error);
void cq_cognates_free(cq_cognates *cognates);

/* Words of both languages on one topic, the most salient first. */
typedef struct cq_cognate_group {
  const uint32_t *sources, *targets;
  size_t n_sources, n_targets;
} cq_cognate_group;

/* Starts over and learns: for each number n of the schedule, ten iterations on the n most salient words of each group.
 * Without a schedule, only the similarity of letters is used. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_cognates_learn(cq_cognates *cognates, const cq_cognate_group *groups, size_t n_groups,
                                        const int *schedule, size_t n_schedule, cq_context *ctx, cq_error *error);
/* Continues from the learned state: four iterations on all pairs of words in the groups (among the 200 most salient)
 * whose letters may correspond, and one with steps of two letters. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_cognates_finish(cq_cognates *cognates, const cq_cognate_group *groups, size_t n_groups,
                                         cq_context *ctx, cq_error *error);
/* How much better words of a group match than words of different groups, in words: about 0 if nothing was learned. Uses
 * the 30 most salient words. */
CQ_MUST_USE cq_status cq_cognates_contrast(double *contrast, const cq_cognates *cognates,
                                           const cq_cognate_group *groups, size_t n_groups, cq_context *ctx,
                                           cq_error *error);

/* log p(match) - log p(noise) of a pair. */
double cq_cognates_score(const cq_cognates *cognates, uint32_t source, uint32_t target);

/* A source word's expected letters in the other language, and a target word's letters, as unit vectors over the target
 * letters: near each other if a match is possible. [n, cq_cognates_n_letters]; words of less than three letters have
 * zeros. */
int cq_cognates_n_letters(const cq_cognates *cognates);
CQ_MUST_USE cq_status cq_cognates_expected(float *out, const cq_cognates *cognates, cq_error *error);
void cq_cognates_letters(float *out, const cq_cognates *cognates);

#endif
