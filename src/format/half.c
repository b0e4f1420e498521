/* Half precision in portable integer arithmetic: no F16C, no AVX512-BF16, the same bits on every machine.
 *
 *   f32   sign 1 | exponent 8, bias 127 | fraction 23
 *   f16   sign 1 | exponent 5, bias  15 | fraction 10
 *   bf16  sign 1 | exponent 8, bias 127 | fraction  7     the upper half of an f32
 *
 * Source: IEEE 754-2019, section 3.4; rounding to nearest, ties to even, section 4.3.1. */
#include "format/safetensors.h"

#include <string.h>

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

float cq_f16_to_f32(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000u) << 16, rest = half & 0x7FFFu, bits;
  if (rest < 0x0400u) {
    /* Subnormal: 2^-14 (1 + f) - 2^-14 is exact and, unlike a product of subnormals, fast and safe from flush-to-zero.
     */
    bits = bits_of(float_of((rest << 13) + (113u << 23)) - 0x1p-14f);
  } else {
    uint32_t bias = rest >= 0x7C00u ? 224u : 112u; /* infinity and NaN go to exponent 255 */
    bits = (rest << 13) + (bias << 23);
  }
  return float_of(bits | sign);
}

uint16_t cq_f32_to_f16(float value) {
  uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000u, rest = bits & 0x7FFFFFFFu, half;
  if (rest > 0x7F800000u) {
    half = 0x7E00u | (rest >> 13 & 0x3FFu); /* NaN stays NaN, quiet, with what fits of its payload */
  } else if (rest >= 0x477FF000u) {
    half = 0x7C00u; /* 65520 and more round to infinity */
  } else if (rest >= 0x38800000u) {
    half = (rest - (112u << 23) + 0xFFFu + (rest >> 13 & 1u)) >> 13;
  } else {
    /* Subnormal: adding 0.5 puts units of 2^-24 at the fraction's end and lets the adder round. */
    half = bits_of(float_of(rest) + 0.5f) - bits_of(0.5f);
  }
  return (uint16_t)(half | sign);
}

float cq_bf16_to_f32(uint16_t bits) {
  return float_of((uint32_t)bits << 16);
}

uint16_t cq_f32_to_bf16(float value) {
  uint32_t bits = bits_of(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)(bits >> 16 | 0x40u);
  return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}
