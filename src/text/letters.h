/* A sentence reduced to its letters and digits. */
#ifndef TEXT_LETTERS_H
#define TEXT_LETTERS_H

#include "base/slice.h"

/* Appends the letters and numbers of a text in compatibility form (NFKC), case-folded, with their marks if `marks` is
 * set. A failed allocation sets out->failed. */
void cq_text_letters(cq_builder *out, cq_slice text, bool marks);

#endif
