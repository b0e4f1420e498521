#include "nn/rotary.h"

#include <math.h>

void cq_rotary_table(float *table, const cq_rotary *rotary, int64_t n) {
  const int64_t half = rotary->half;
  for (int64_t t = 0; t < n; t++) {
    float *row = table + t * 2 * half;
    for (int64_t i = 0; i < half; i++) {
      const float angle = (float)t * rotary->inverse[i]; /* in f32, as the models were trained */
      row[i] = cosf(angle) * rotary->factor;
      row[half + i] = sinf(angle) * rotary->factor;
    }
  }
}

void cq_rotary_turn(float *heads, const float *table, int64_t n_heads, int64_t half) {
  const float *cosines = table, *sines = table + half;
  for (int64_t h = 0; h < n_heads; h++) {
    float *a = heads + h * 2 * half, *b = a + half;
    for (int64_t i = 0; i < half; i++) {
      const float x = a[i], y = b[i];
      a[i] = x * cosines[i] - y * sines[i];
      b[i] = y * cosines[i] + x * sines[i];
    }
  }
}
