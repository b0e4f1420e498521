/* METEOR's alignment of two sentences: matches words in as few chunks as possible. */
#ifndef LAB_MEASURES_METEOR_ALIGN_H
#define LAB_MEASURES_METEOR_ALIGN_H

#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CQ_METEOR_MAX_WORDS = 10000 }; /* of a sentence */

/* A word as numbers. Equal words have equal stems, and words that can match at all are in one group. */
typedef struct cq_meteor_word {
  uint32_t word, stem, group;
} cq_meteor_word;

/* Whether words of two stems of one group share a set of synonyms. */
typedef bool (*cq_meteor_synonyms_fn)(const void *context, uint32_t stem_a, uint32_t stem_b);

typedef struct cq_meteor_alignment {
  size_t n_exact, n_stem, n_synonym, n_chunks;
  bool approximate; /* some states were dropped: fewer chunks may be possible */
} cq_meteor_alignment;

/* The best one-to-one alignment: most exact matches, then most matches by stem, then most matches by synonyms, then
 * fewest chunks. At most CQ_METEOR_MAX_WORDS per side.
 *   synonyms   NULL: groups are stems
 * Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_meteor_align(cq_meteor_alignment *out, const cq_meteor_word *hypothesis, size_t n_hypothesis,
                                      const cq_meteor_word *reference, size_t n_reference,
                                      cq_meteor_synonyms_fn synonyms, const void *context, cq_error *error);

#endif
