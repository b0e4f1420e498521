/* Text of user interfaces as plain text: without what marks keys, places, or layout. */
#ifndef CORPUS_CLEAN_H
#define CORPUS_CLEAN_H

#include "base/slice.h"

extern const char *const cq_cleanings[]; /* the names of CQ_CLEAN_ (calque/corpus.h), then NULL */

/* Appends the cleaned text, without `what` (CQ_CLEAN_); memory runs out as cq_builder says. room: for work between steps, kept by the caller. */
void cq_clean(cq_builder *out, cq_slice text, unsigned what, cq_builder room[2]);

#endif
