/* libsentencepiece's encoder (C++) behind C, as the yardstick of our own. */
#ifndef SUPPORT_SENTENCEPIECE_H
#define SUPPORT_SENTENCEPIECE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Encodes a text with a model; returns the number of ids (the first `capacity` of them are stored), or -1. */
long sentencepiece_encode(int32_t *ids, size_t capacity, const char *model, size_t n_bytes, const char *text, size_t n);

#ifdef __cplusplus
}
#endif
#endif
