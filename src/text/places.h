/* Maps the bytes of a normal form back to the text, to show which words matched. */
#ifndef TEXT_PLACES_H
#define TEXT_PLACES_H

#include "base/slice.h"
#include "text/analyzer.h"

/* The text in pieces (letters with their marks) whose concatenated normal forms are the text's. */
typedef struct cq_piece {
  size_t text, normal; /* where it begins */
} cq_piece;

typedef struct cq_places {
  cq_piece *pieces; /* [n + 1] the last one is the end */
  size_t n, capacity;
  bool is_same; /* the normal form has the text's bytes, except for their case: no pieces */
  cq_builder normal, scratch;
} cq_places;

/* normal: cq_language_normal_form of the text. False: out of memory. */
bool cq_places_set(cq_places *places, cq_slice text, cq_slice normal, unsigned rules);
/* The bytes of the text that produced these bytes of its normal form. */
cq_span cq_places_find(const cq_places *places, size_t begin, size_t end);
void cq_places_free(cq_places *places);

#endif
