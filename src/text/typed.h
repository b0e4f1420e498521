/* Text as people type it, and as files carry it: what a model should not mind. */
#ifndef TEXT_TYPED_H
#define TEXT_TYPED_H

#include "base/slice.h"

typedef enum cq_typing {
  CQ_TYPED_LOWER,       /* lower case */
  CQ_TYPED_UPPER,       /* upper case, sharp s as SS */
  CQ_TYPED_ACCENTS,     /* without accents: marks U+0300 to U+036F; vowel signs of other scripts stay */
  CQ_TYPED_PUNCTUATION, /* without the marks at its end */
  CQ_TYPED_NFD,         /* decomposed, as names of files are on a Mac */
  CQ_TYPED_HYPHEN,      /* soft hyphens in words of six letters or more, as in PDF files */
} cq_typing;
extern const char *const cq_typing_names[]; /* "lower", "upper", ..., NULL */
enum { CQ_TYPED_BY_PEOPLE = 4 };            /* the first of them, which training can augment text with */

/* Appends well-formed text, written so. */
void cq_text_typed(cq_builder *out, cq_slice text, cq_typing how);

#endif
