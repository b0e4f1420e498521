/** @file Arithmetic on existing embeddings: cosine similarity and quantization.
 *
 *      float ranges[2 * dim];
 *      cq_int8_ranges(ranges, calibration, n_calibration, dim);
 *      cq_quantize_int8(bytes, vectors, n, dim, ranges);
 *
 * All arrays are row-major.
 *
 * @threads All may be called by any number of threads at once. */
#ifndef CALQUE_EMBEDDING_H
#define CALQUE_EMBEDDING_H

#include "calque/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Cosine of two vectors, summed in double precision; 0 when either is all zero. */
CQ_API double cq_cosine(const float *a, const float *b, size_t dim);

/** Scales each of n vectors to length 1, bit-identical to the encoding option `normalize`; zero stays zero. */
CQ_API void cq_normalize(float *vectors, size_t n, size_t dim);

/** Minimum and maximum of each dimension: ranges [2, dim], minima first. n may be 0 (then all zero). */
CQ_API void cq_int8_ranges(float *ranges, const float *vectors, size_t n, size_t dim);

/** Scalar quantization as in sentence-transformers' quantize_embeddings (6.2; earlier releases rounded towards zero,
 * not down): each dimension's range is divided into 255 steps, `floor((x - min) / step)` clipped to [0, 255], minus
 * 128. Values outside the range saturate; the step of an empty range is 1. */
CQ_API void cq_quantize_int8(int8_t *out, const float *vectors, size_t n, size_t dim, const float *ranges);

/** One bit per dimension, x > 0, most significant bit first, the last byte padded with zeros: out [n, (dim + 7) /
 * 8]. */
CQ_API void cq_quantize_ubinary(uint8_t *out, const float *vectors, size_t n, size_t dim);
/** cq_quantize_ubinary() minus 128, as int8. */
CQ_API void cq_quantize_binary(int8_t *out, const float *vectors, size_t n, size_t dim);

#ifdef __cplusplus
}
#endif
#endif
