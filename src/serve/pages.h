/* The files of the page, which the build embeds in the program (cmake/embed.cmake makes the table from web/). */
#ifndef SERVE_PAGES_H
#define SERVE_PAGES_H

#include <stddef.h>

typedef struct serve_page_bytes {
  const char *etag;
  const unsigned char *data;
  size_t n;
} serve_page_bytes;

typedef struct serve_page {
  const char *path; /* "/app.js"; "/" for index.html */
  const char *content_type;
  serve_page_bytes plain, gzipped;
} serve_page;

extern const serve_page serve_pages[]; /* ends with a row without a path */

#endif
