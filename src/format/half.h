/* Half precision in portable integer arithmetic: no F16C, no AVX512-BF16, the same bits on every machine. Conversion to
 * f32 is exact; conversion from f32 rounds to nearest even.
 *
 *   f32   sign 1 | exponent 8, bias 127 | fraction 23
 *   f16   sign 1 | exponent 5, bias  15 | fraction 10
 *   bf16  sign 1 | exponent 8, bias 127 | fraction  7     the upper half of an f32
 *
 * Source: IEEE 754-2019, section 3.4; rounding to nearest, ties to even, section 4.3.1. */
#ifndef FORMAT_HALF_H
#define FORMAT_HALF_H

#include <stdint.h>
#include <string.h>

static inline float cq_float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint32_t cq_bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static inline float cq_f16_to_f32(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16, rest = half & 0x7FFFu, bits;
  if (rest < 0x0400u) {
    /* Subnormal: 2^-14 (1 + f) - 2^-14 is exact. Unlike subnormal products, it is fast and safe from flush-to-zero. */
    bits = cq_bits_of_float(cq_float_of_bits((rest << 13) + (113u << 23)) - 0x1p-14f);
  } else {
    uint32_t bias = rest >= 0x7C00u ? 224u : 112u; /* infinity and NaN go to exponent 255 */
    bits = (rest << 13) + (bias << 23);
  }
  return cq_float_of_bits(bits | sign);
}

static inline float cq_bf16_to_f32(uint16_t bits) {
  return cq_float_of_bits((uint32_t)bits << 16);
}

uint16_t cq_f32_to_f16(float value);
uint16_t cq_f32_to_bf16(float value);

#endif
