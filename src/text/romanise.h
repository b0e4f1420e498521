/* Words in Latin letters, as ICU's transliterators have them: "warsw", "te lang pu" without its blanks.
 *
 *   cq_romaniser *r;
 *   cq_romaniser_open(&r, error);
 *   cq_romanise(&out, r, text);      // appends; out.failed when out of memory
 *   cq_romaniser_free(r); */
#ifndef TEXT_ROMANISE_H
#define TEXT_ROMANISE_H

#include "base/slice.h"
#include "calque/status.h"

typedef struct cq_romaniser cq_romaniser;

/* One thread's. Errors: CQ_ERR_MEMORY; CQ_ERR_UNSUPPORTED when ICU's data is missing. */
CQ_MUST_USE cq_status cq_romaniser_open(cq_romaniser **out, cq_error *error);
void cq_romaniser_free(cq_romaniser *romaniser);

/* Appends the small letters a to z that a text is written with in Latin script; other characters that ICU has no
 * Latin letters for stay, marks and punctuation do not. */
void cq_romanise(cq_builder *out, cq_romaniser *romaniser, cq_slice text);

#endif
