/* METEOR's alignment of two sentences: who is matched with whom, in as few chunks as possible. */
#ifndef LAB_MEASURES_METEOR_ALIGN_H
#define LAB_MEASURES_METEOR_ALIGN_H

#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CQ_METEOR_MAX_WORDS = 10000 }; /* of a sentence */

/* A word by numbers. Equal words have equal stems, and words that can match at all are of one group. */
typedef struct cq_meteor_word {
  uint32_t word, stem, group;
} cq_meteor_word;

/* Whether words of two stems of one group share a set of synonyms. */
typedef bool (*cq_meteor_synonyms_fn)(const void *context, uint32_t stem_a, uint32_t stem_b);

typedef struct cq_meteor_alignment {
  size_t n_exact, n_stem, n_synonym, n_chunks;
  bool approximate; /* not every state was followed: fewer chunks may be possible */
} cq_meteor_alignment;

/* Among all one-to-one alignments, those with the most exact matches, of them those with the most matches by stem, of them
 * those with the most by synonyms; of them one with the fewest chunks. At most CQ_METEOR_MAX_WORDS a side.
 *   synonyms   NULL: groups are stems
 * Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_meteor_align(cq_meteor_alignment *out, const cq_meteor_word *hypothesis, size_t n_hypothesis,
                                      const cq_meteor_word *reference, size_t n_reference,
                                      cq_meteor_synonyms_fn synonyms, const void *context, cq_error *error);

#endif
