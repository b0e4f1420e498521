/* Half precision in portable integer arithmetic. See half.h. */
#include "format/half.h"

uint16_t cq_f32_to_f16(float value) {
  uint32_t bits = cq_bits_of_float(value), sign = bits >> 16 & 0x8000u, rest = bits & 0x7FFFFFFFu, half;
  if (rest > 0x7F800000u) {
    half = 0x7E00u | (rest >> 13 & 0x3FFu); /* NaN stays a quiet NaN and keeps the part of its payload that fits */
  } else if (rest >= 0x477FF000u) {
    half = 0x7C00u; /* 65520 and more round to infinity */
  } else if (rest >= 0x38800000u) {
    half = (rest - (112u << 23) + 0xFFFu + (rest >> 13 & 1u)) >> 13;
  } else {
    /* Subnormal: adding 0.5 moves units of 2^-24 to the end of the fraction, so the addition does the rounding. */
    half = cq_bits_of_float(cq_float_of_bits(rest) + 0.5f) - cq_bits_of_float(0.5f);
  }
  return (uint16_t)(half | sign);
}

uint16_t cq_f32_to_bf16(float value) {
  uint32_t bits = cq_bits_of_float(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)(bits >> 16 | 0x40u);
  return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}
