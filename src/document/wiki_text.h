/* MediaWiki's markup as plain text. */
#ifndef DOCUMENT_WIKI_TEXT_H
#define DOCUMENT_WIKI_TEXT_H

#include "base/slice.h"

/* Appends the text of a page: paragraphs and headings with an empty line between, a line per item of a list. Links become their
 * labels. Templates, tables, references, formulas, files, categories and links to other languages are dropped.
 *   dropped  names of namespaces (File, Category) whose links are no text, a newline around each */
void cq_wiki_text(cq_builder *out, cq_slice markup, cq_slice dropped);

#endif
