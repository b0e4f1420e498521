/* Words in Latin letters, as ICU's transliterators have them: "warsw", "te lang pu" without its blanks.
 *
 *   cq_romanizer *r;
 *   cq_romanizer_open(&r, error);
 *   cq_romanize(&out, r, text);      // appends; out.failed when out of memory
 *   cq_romanizer_free(r); */
#ifndef TEXT_ROMANISE_H
#define TEXT_ROMANISE_H

#include "base/slice.h"
#include "calque/status.h"

typedef struct cq_romanizer cq_romanizer;

/* One thread's. Errors: CQ_ERR_MEMORY; CQ_ERR_UNSUPPORTED when ICU's data is missing. */
CQ_MUST_USE cq_status cq_romanizer_open(cq_romanizer **out, cq_error *error);
void cq_romanizer_free(cq_romanizer *romanizer);

/* Appends the small letters a to z that a text is written with in Latin script; other characters that ICU has no
 * Latin letters for stay, marks and punctuation do not. */
void cq_romanize(cq_builder *out, cq_romanizer *romanizer, cq_slice text);

#endif
