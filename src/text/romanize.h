/* Romanizes words with ICU's transliterators: "warsw", "te lang pu" without its blanks.
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

/* Appends the text's transliteration in the small letters a to z. Characters for which ICU has no Latin letters stay;
 * marks and punctuation are removed. */
void cq_romanize(cq_builder *out, cq_romanizer *romanizer, cq_slice text);

#endif
