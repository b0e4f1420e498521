/* An alignment as a page to read: the two texts side by side, gaps and unsure pairs marked, without anything from
 * elsewhere. */
#ifndef RECIPE_ALIGN_PAGE_H
#define RECIPE_ALIGN_PAGE_H

#include "base/slice.h"
#include "calque/align.h"

extern const char cq_align_page_begin[], cq_align_page_end[];
/* Appends a pair of documents. */
void cq_align_put_page(cq_builder *out, const cq_alignment *a, size_t document);

#endif
