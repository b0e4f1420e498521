/* How well a model's vocabulary covers text, by script and language: unknown pieces, bytes, and pieces per letter. */
#ifndef RECIPE_INDEX_COVERAGE_H
#define RECIPE_INDEX_COVERAGE_H

#include "base/slice.h"
#include "calque/encoder.h"

#define CQ_UNCOVERED "the model's vocabulary does not cover "

/* The texts of a script and a language. Only letters of the script count, and pieces that have some. */
typedef struct cq_coverage_group {
  int script;
  char language[16];
  uint64_t n_texts, n_letters;
  uint64_t n_pieces, n_unknown, n_bytes; /* unknown ones and bytes are pieces, too */
} cq_coverage_group;

typedef struct cq_coverage {
  cq_coverage_group *groups;
  size_t n, capacity;
  cq_token_ids ids; /* of the last text, in windows if it is long */
} cq_coverage;

/* Adds a text; language: of its document, or empty. It is identified if it is empty, or has another script than the
 * text. Errors: those of cq_encoder_token_ids. */
CQ_MUST_USE cq_status cq_coverage_add(cq_coverage *coverage, const cq_encoder *encoder, cq_slice language,
                                      cq_slice text, cq_context *ctx, cq_error *error);
double cq_coverage_unknown(const cq_coverage_group *group); /* share of the pieces */
double cq_coverage_bytes(const cq_coverage_group *group);
double cq_coverage_per_letter(const cq_coverage_group *group);
bool cq_coverage_is_enough(const cq_coverage_group *group); /* true also for very little text */
/* By script and number of texts. */
void cq_coverage_sort(cq_coverage *coverage);
/* Appends the next script with languages that are not covered, "Hangul (ko): 1.8 pieces per letter", from group *at on,
 * of sorted ones. False: there are no more. */
bool cq_coverage_next(cq_builder *out, size_t *at, const cq_coverage *coverage);
void cq_coverage_free(cq_coverage *coverage);

#endif
