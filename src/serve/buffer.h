/* Bytes that grow: what is read from a client, and what is answered. A failed append sets `failed`, which stays set:
 * append freely, check once at the end. Start from {0}. */
#ifndef SERVE_BUFFER_H
#define SERVE_BUFFER_H

#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct serve_buffer {
  char *data;
  size_t n, capacity;
  bool failed;
} serve_buffer;

void serve_buffer_free(serve_buffer *b);
void serve_put(serve_buffer *b, const char *bytes, size_t n);
void serve_put_text(serve_buffer *b, const char *text);
void serve_putf(serve_buffer *b, const char *format, ...) CQ_PRINTF(2, 3);
/* A JSON string with its quotes. What is not UTF-8 becomes U+FFFD. */
void serve_put_json(serve_buffer *b, const char *text, size_t n);
/* A number that reads as the same float; what JSON has no number for is null. */
void serve_put_float(serve_buffer *b, float x);
/* "[x, y, ...]" */
void serve_put_vector(serve_buffer *b, const float *x, size_t n);
void serve_put_base64(serve_buffer *b, const void *bytes, size_t n);

#endif
