/* Appends JSON strings and numbers to a builder. The caller writes the braces and commas around them. */
#ifndef BASE_JSON_WRITER_H
#define BASE_JSON_WRITER_H

#include "base/slice.h"

/* A string with its quotes. Malformed UTF-8 becomes U+FFFD. Control characters are written as \u00xx, except those in
 * `shorts`, a subset of "\n\r\t". DEL is written unchanged unless `shorts` contains it. */
void cq_json_string(cq_builder *b, const char *text, size_t n, const char *shorts);
/* The same with "\n": the service's answers. */
void cq_json_text(cq_builder *b, const char *text, size_t n);
/* `before` as it is, then such a string. */
void cq_json_member(cq_builder *b, const char *before, cq_slice text);
/* Writes a number that reads back as the same float, or null if JSON cannot represent it. */
void cq_json_float(cq_builder *b, float x);
/* "[x,y,...]" */
void cq_json_floats(cq_builder *b, const float *x, size_t n);

/* Appends JSON text as it is, except for what Jansson does not read though it is JSON: a lone surrogate becomes U+FFFD;
 * a number beyond 64 bits or a double becomes a string (as_text), or else the nearest double; unless as_text, a NUL in
 * the name of a member becomes U+FFFD, too. */
void cq_json_mend(cq_builder *b, cq_slice text, bool as_text);

#endif
