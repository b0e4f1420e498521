/* Shared by bf16 products: the definitions for narrow.inc.h, the transposed product, and attention. A file that
 * includes this defines PRODUCTS_TABLE, PRODUCTS_NAME and
 *
 *   n_dot(s, a, b)         as narrow.inc.h requires it
 *   bf16_store(to, x)      LANES elements
 *   bf16_run(low, high)    2 LANES elements, those of low first
 *   bf16_pair(even, odd)   2 LANES elements, alternating between the two */

#define PRODUCTS_PRECISION         CQ_PRECISION_BF16
#define PRODUCTS_TRANSPOSED        bf16_product_transposed
#define PRODUCTS_TRANSPOSED_BYTES  bf16_transposed_bytes
#define PRODUCTS_ATTENTION         bf16_attention
#define PRODUCTS_ATTENTION_SCRATCH bf16_attention_scratch

#include "tensor/cpu/math.inc.h"
#include "tensor/cpu/tiles.inc.h"

enum { GROUP = 2, COLUMN_TERMS = 0 };
typedef uint16_t narrow, narrow_b;
typedef vf sums;
typedef struct row_term {
  float unused; /* bf16 needs no terms */
} row_term, column_terms;

INLINE vf n_value(sums s, const row_term *row, const column_terms *columns, vf start) {
  (void)row, (void)columns;
  return s + start;
}

INLINE void n_convert_row(narrow *to, row_term *term, const float *from, int64_t k) {
  term->unused = 0;
  for (int64_t i = 0; i < round_up(k, LANES * GROUP); i += LANES)
    bf16_store(to + i, i < k ? v_load_n(from + i, k - i) : v_set(0.0f));
}

INLINE float n_column(column_terms *columns, int64_t lane, const float *b, int64_t stride, int64_t k) {
  (void)columns, (void)lane, (void)b, (void)stride, (void)k;
  return 1;
}

INLINE narrow_b n_element(float x, column_terms *columns, int64_t lane) {
  (void)columns, (void)lane;
  return cq_bf16_of(x);
}

INLINE vf n_run(const float *b, int64_t n, float factor, column_terms *columns, int64_t lane) {
  (void)factor, (void)columns, (void)lane;
  return bf16_run(v_load_n(b, n), n > LANES ? v_load_n(b + LANES, n - LANES) : v_set(0.0f));
}

/* Packs rows that are contiguous in memory: interleaves two of them, element by element. */
INLINE void pack_rows(narrow_b *packed, const float *b, int64_t stride, int64_t k, int64_t columns) {
  for (int64_t p = 0; p < k; p += GROUP)
    for (int64_t i = 0; i < columns; i += LANES, packed += GROUP * LANES) {
      const float *row = b + p * stride + i;
      const vf even = v_load_n(row, columns - i), odd = p + 1 < k ? v_load_n(row + stride, columns - i) : v_set(0.0f);
      const vf both = bf16_pair(even, odd);
      memcpy(packed, &both, sizeof both);
    }
}

#define PACK_ROWS pack_rows
#include "tensor/cpu/narrow.inc.h"
#include "tensor/cpu/softmax.inc.h"

/* ---- transposed ---- */

static size_t bf16_transposed_bytes(int64_t m, int64_t n, int64_t k) {
  return narrow_left_bytes(m, k) + narrow_packed_bytes(k, n);
}

/* Columns of A [k, m] as rows: LANES of them, LANES elements at a time, transposed in registers. */
INLINE void convert_columns(narrow *to, const float *a, int64_t a_stride, int64_t m, int64_t k) {
  const int64_t row = narrow_row(k);
  for (int64_t i = 0; i < m; i += LANES)
    for (int64_t p = 0; p < row; p += LANES) {
      vf block[LANES];
      for (int64_t r = 0; r < LANES; r++)
        block[r] = p + r < k ? v_load_n(a + (p + r) * a_stride + i, m - i) : v_set(0.0f);
      v_transpose(block);
      for (int64_t c = 0; c < at_most(m - i, LANES); c++) bf16_store(to + (i + c) * row + p, block[c]);
    }
}

static void bf16_product_transposed(float *c, int64_t c_stride, const float *a, int64_t a_stride, const float *b,
                                    int64_t b_stride, int64_t m, int64_t n, int64_t k, void *scratch) {
  const int64_t row = narrow_row(k);
  void *packed = scratch;
  narrow *left = (narrow *)(void *)((char *)scratch + narrow_packed_bytes(k, n));
  const row_term *terms = (const row_term *)(void *)(left + m * row); /* of no row there is anything to say */
  convert_columns(left, a, a_stride, m, k);
  narrow_pack(packed, b, b_stride, 1, k, n);
  MULTIPLY(c, c_stride, left, row, terms, packed, m, n, k, &(cq_epilogue){.accumulate = true});
}

/* ---- attention ---- */

/* The forward pass of attention.inc.h with both products in bf16: per head K is packed transposed and V untransposed,
 * then for up to TILE_ROWS rows of Q: S = Q K^T, softmax in f32, O = S V, and O is divided by the row's sum. */

INLINE int64_t bf16_floats(int64_t elements) {
  return round_up(elements, 2 * LANES) / 2;
}

static int64_t bf16_attention_scratch(int64_t n_tokens, int64_t dim) {
  const int64_t wide = round_up(n_tokens, LANES);
  return bf16_floats((int64_t)narrow_packed_bytes(dim, n_tokens) / 2) +
         bf16_floats((int64_t)narrow_packed_bytes(n_tokens, dim) / 2) + TILE_ROWS * wide +
         bf16_floats(TILE_ROWS * narrow_row(dim)) + bf16_floats(TILE_ROWS * narrow_row(n_tokens)) + 5 * 16; /* 5 runs */
}

static void bf16_attention(float *out, const float *q, const float *k, const float *v, const cq_attention_shape *s,
                           float *scratch) {
  const cq_epilogue none = {0};
  const int64_t n_tokens = s->n_tokens, dim = s->head_dim, wide = round_up(n_tokens, LANES);
  narrow_b *packed_k = (narrow_b *)take(&scratch, bf16_floats((int64_t)narrow_packed_bytes(dim, n_tokens) / 2));
  narrow_b *packed_v = (narrow_b *)take(&scratch, bf16_floats((int64_t)narrow_packed_bytes(n_tokens, dim) / 2));
  float *scores = take(&scratch, TILE_ROWS * wide);
  narrow *queries = (narrow *)take(&scratch, bf16_floats(TILE_ROWS * narrow_row(dim)));
  narrow *shares = (narrow *)take(&scratch, bf16_floats(TILE_ROWS * narrow_row(n_tokens)));
  row_term terms[TILE_ROWS]; /* of no row there is anything to say */
  const row_split rows = split_rows(n_tokens);
  for (int64_t head = 0; head < s->n_heads; head++) {
    const int64_t column = head * dim, kv = cq_attention_kv_column(s, head);
    if (cq_attention_first_of_kv(s, head)) {
      narrow_pack(packed_k, k + kv, 1, s->stride, dim, n_tokens);
      narrow_pack(packed_v, v + kv, s->stride, 1, n_tokens, dim);
    }
    for (int64_t part = 0, i = 0; part < rows.parts; part++) {
      const int64_t height = rows.height + (part < rows.taller);
      for (int64_t r = 0; r < height; r++)
        n_convert_row(queries + r * narrow_row(dim), terms + r, q + (i + r) * s->stride + column, dim);
      narrow_multiply(scores, wide, queries, narrow_row(dim), terms, packed_k, height, n_tokens, dim, &none);
      float sum[TILE_SUMS], shift[TILE_SUMS];
      softmax_tile(sum, shift, s, scores, wide, head, i, height, 0, n_tokens);
      for (int64_t r = 0; r < height; r++)
        n_convert_row(shares + r * narrow_row(n_tokens), terms + r, scores + r * wide, n_tokens);
      float *out_tile = out + i * s->out_stride + column;
      narrow_multiply(out_tile, s->out_stride, shares, narrow_row(n_tokens), terms, packed_v, height, dim, n_tokens,
                      &none);
      divide_tile(out_tile, s->out_stride, sum, height, dim);
      i += height;
    }
  }
}

#include "tensor/cpu/narrow_table.inc.h"
