/* Shared by 8-bit products, and their table by narrow.inc.h:
 *
 *   a = scale (q - zero), q in [0, 255]      per row; the range covers the row's min, its max, and 0
 *   b = scale q,          q in [-127, 127]   per column
 *   c = scale_a scale_b (sum of q_a q_b - zero sum of q_b)
 *
 * Integer sums are exact: all levels give the same sums. A file that includes this defines PRODUCTS_TABLE,
 * PRODUCTS_NAME, GROUP, narrow, narrow_b, n_dot and
 *
 *   LEFT_ZERO(z)             subtracted from the sums: z, or 0 if A's elements are already q - zero
 *   n_store(to, q, zero)     LANES elements of A, clamped to [0, 255] after adding zero
 *   n_store_b(to, q)         LANES elements of B */

#define PRODUCTS_PRECISION CQ_PRECISION_INT8

#include "tensor/cpu/math.inc.h"
#include "tensor/cpu/tiles.inc.h"

typedef vi sums;
typedef struct row_term {
  float scale; /* NaN: some element of the row is not finite */
  int32_t zero;
} row_term;
typedef struct column_terms {
  float scale[LANES];
  int32_t sum[LANES];
} column_terms;
enum { COLUMN_TERMS = 1 };

INLINE vf n_value(sums s, const row_term *row, const column_terms *columns, vf start) {
  vi sum;
  memcpy(&sum, columns->sum, sizeof sum);
  return v_fma(v_to_float(s - LEFT_ZERO(row->zero) * sum), v_set(row->scale) * v_load(columns->scale), start);
}

INLINE void n_convert_row(narrow *to, row_term *term, const float *from, int64_t k) {
  vf high = v_set(0.0f), low = high, check = high;
  for (int64_t i = 0; i < k; i += LANES) {
    const vf x = v_load_n(from + i, k - i);
    high = v_max_of(x, high), low = v_max_of(-x, low), check += x * 0.0f;
  }
  const float top = v_reduce_max(high), bottom = v_reduce_max(low), range = top + bottom;
  const bool finite = v_sum(check) == 0 && range < INFINITY;
  const float inverse = finite && range > CQ_INT8_MIN_RANGE ? 255.0f / range : 0.0f;
  const int32_t zero = finite ? (int32_t)rintf(bottom * inverse) : 0;
  *term = (row_term){finite ? range / 255.0f : NAN, zero};
  for (int64_t i = 0; i < round_up(k, LANES * GROUP); i += LANES) {
    vi q = finite && i < k ? v_to_int(v_load_n(from + i, k - i) * inverse) : (vi){0};
    n_store(to + i, q, zero);
  }
}

INLINE float n_column(column_terms *columns, int64_t lane, const float *b, int64_t stride, int64_t k) {
  float max = 0;
  bool finite = true;
  if (stride == 1) {
    vf high = v_set(0.0f), check = high;
    for (int64_t p = 0; p < k; p += LANES) {
      const vf x = v_load_n(b + p, k - p);
      high = v_max_of(v_abs(x), high), check += x * 0.0f;
    }
    max = v_reduce_max(high), finite = v_sum(check) == 0;
  } else {
    for (int64_t p = 0; p < k; p++) {
      max = fabsf(b[p * stride]) > max ? fabsf(b[p * stride]) : max;
      finite = finite && b[p * stride] * 0.0f == 0;
    }
  }
  const cq_int8_scale scale = cq_int8_scale_of(max, finite);
  columns->scale[lane] = scale.scale;
  return scale.inverse;
}

INLINE narrow_b n_element(float x, column_terms *columns, int64_t lane) {
  const int32_t q = cq_int8_element(x);
  columns->sum[lane] += q;
  return (narrow_b)q;
}

INLINE vf n_run(const float *b, int64_t n, float factor, column_terms *columns, int64_t lane) {
  narrow_b run[LANES * GROUP];
  vi sum = {0};
  vf all;
  for (int64_t p = 0; p < LANES * GROUP; p += LANES) {
    const vf x = p < n ? v_load_n(b + p, n - p) * factor : v_set(0.0f);
    const vi q = v_to_int(v_max(v_min(x, 127.0f), -127.0f));
    const vi element = factor > 0 ? q : (vi){0};
    sum += element;
    n_store_b(run + p, element);
  }
  for (int64_t i = 0; i < LANES; i++) columns->sum[lane] += sum[i];
  memcpy(&all, run, sizeof all);
  return all;
}

#include "tensor/cpu/narrow.inc.h"
#include "tensor/cpu/narrow_table.inc.h"
