/* Text of user interfaces as plain text: without what marks keys, places, or layout. */
#ifndef CORPUS_CLEAN_H
#define CORPUS_CLEAN_H

#include "base/slice.h"

/* What is removed, as bits of cq_clean's `what`; the names are those of the option, in the same order. */
typedef enum cq_cleaning {
  CQ_CLEAN_MARKUP = 1,
  CQ_CLEAN_ACCELERATORS = 2,
  CQ_CLEAN_PLACEHOLDERS = 4,
  CQ_CLEAN_ELLIPSES = 8
} cq_cleaning;
extern const char *const cq_cleanings[]; /* all names, then NULL */

/* Appends the cleaned text; memory runs out as cq_builder says. room: for work between steps, kept by the caller. */
void cq_clean(cq_builder *out, cq_slice text, unsigned what, cq_builder room[2]);

#endif
