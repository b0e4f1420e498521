/* PDF by poppler: what of it is in C++. */
#ifndef FORMATS_POPPLER_H
#define FORMATS_POPPLER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cq_pdf_part { CQ_PDF_TITLE, CQ_PDF_AUTHOR, CQ_PDF_PAGE } cq_pdf_part;

/* Calls put for the title and the author, which may be empty, and for each page's text, in order: in UTF-8, its lines as on
 * the page, without the lines that heads or feet of several pages have. Ends when put returns 0.
 * Returns 0, or 1 with a reason in message [message_size]. */
int cq_poppler_read(const char *bytes, size_t n,
                    int (*put)(void *context, cq_pdf_part part, const char *text, size_t n), void *context,
                    char *message, size_t message_size);

#ifdef __cplusplus
}
#endif
#endif
