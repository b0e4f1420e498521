/* JSON's strings and numbers, appended to a builder. What holds them, braces and commas, the caller writes. */
#ifndef BASE_JSON_WRITER_H
#define BASE_JSON_WRITER_H

#include "base/slice.h"

/* A string with its quotes. Malformed UTF-8 becomes U+FFFD. Control characters are \u00xx, except those in `shorts`,
 * some of "\n\r\t"; DEL is written as it is unless it is in `shorts`, too. */
void cq_json_string(cq_builder *b, const char *text, size_t n, const char *shorts);
/* The same with "\n": the service's answers. */
void cq_json_text(cq_builder *b, const char *text, size_t n);
/* A number that reads as the same float; null for one that JSON has no number for. */
void cq_json_float(cq_builder *b, float x);
/* "[x,y,...]" */
void cq_json_floats(cq_builder *b, const float *x, size_t n);

#endif
