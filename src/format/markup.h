/* The loose SGML of TREC's collections, as a sequence of tags and the text between them.
 *
 * A tag is '<', perhaps '/', a name of letters, digits and - _ : . , perhaps attributes with '=' in them, '>';
 * comments, declarations and processing instructions are skipped. Any other '<' is text, including that of an unclosed
 * comment. Tags need not be closed; <p/> counts as a closing tag. */
#ifndef FORMAT_MARKUP_H
#define FORMAT_MARKUP_H

#include "base/slice.h"

#include <stdbool.h>

typedef enum cq_markup_kind { CQ_MARKUP_END, CQ_MARKUP_OPEN, CQ_MARKUP_CLOSE, CQ_MARKUP_TEXT } cq_markup_kind;

typedef struct cq_markup {
  cq_slice rest;                /* initially all of it */
  bool has_no_end, has_no_dash; /* of >, of -->, in the rest: looked for once */
} cq_markup;

/* The next piece: a tag's name, or raw text (cq_markup_text replaces the entities in it). */
cq_markup_kind cq_markup_next(cq_slice *out, cq_markup *markup);

/* Whether two names are equal, ignoring ASCII case. */
bool cq_markup_is(cq_slice name, const char *other);

/* Appends text with its entities replaced: XML's five and numeric ones; others (such as &hyph;) become a blank. */
void cq_markup_text(cq_builder *out, cq_slice text);

#endif
