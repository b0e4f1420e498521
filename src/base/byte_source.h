/* A source of bytes for reading lines: a file, decompressed, or anything else. */
#ifndef BASE_BYTE_SOURCE_H
#define BASE_BYTE_SOURCE_H

#include "base/input.h"
#include "calque/lines.h"
#include "calque/status.h"

#include <stddef.h>

typedef struct cq_byte_source {
  /* Up to n bytes, *got of them; 0 at the end. */
  cq_status (*read)(size_t *got, void *context, void *bytes, size_t n, cq_error *error);
  void (*close)(void *context);
  const char *path; /* what errors call it; lives as long as the context */
  void *context;
} cq_byte_source;

/* A file's bytes; the input is closed with it. */
cq_byte_source cq_input_source(cq_input *input);

/* Reads a source's lines. Closing them, or a failure here, closes the source, too. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_lines_of(cq_lines **out, const cq_byte_source *source, cq_error *error);
/* The source begins within a file, after this many lines: a byte-order mark at its start is text. */
void cq_lines_begin_inside(cq_lines *lines, uint64_t lines_before);

#endif
