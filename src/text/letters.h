/* A sentence reduced to its letters and digits. */
#ifndef TEXT_LETTERS_H
#define TEXT_LETTERS_H

#include "base/slice.h"

/* Appends the letters and numbers of a text, and their marks if these are wanted, in compatibility form (NFKC), their
 * case folded. A failed allocation sets out->failed. */
void cq_text_letters(cq_builder *out, cq_slice text, bool marks);

#endif
