/* Products by AMX of the operands that narrow.inc.h packed and converted: a register holds 16 rows of 64 bytes, and one
 * instruction multiplies two registers.
 *
 *   C [32, 32]     registers 0 1        A [32, 16 GROUP]    4        B [16 GROUP, 32]    6 7
 *                            2 3                            5
 *
 * A row of A's registers is 64 bytes of a row of A, which narrow.inc.h padded with zeros. A row of B's registers is
 * GROUP elements of each of 16 columns, in the layout of a panel. If the last groups of a panel do not fill a register,
 * they are copied, since the bytes after them may be NaN. AMX_DOT(sum, a, b) is the instruction, with register numbers.
 *
 * AMX_HEADER, if defined, has the instructions as C functions, for tests on processors without AMX. */

#include <immintrin.h>
#ifdef AMX_HEADER
#include AMX_HEADER
#endif

enum { AMX_ROWS = 16, AMX_GROUPS = 16, AMX_BLOCK = 2 * AMX_ROWS };

typedef struct amx_configuration {
  uint8_t palette, start, unused[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
} amx_configuration;

/* For blocks of n rows of C, up to AMX_BLOCK. */
INLINE void amx_configure(int64_t rows) {
  const uint8_t top = (uint8_t)at_most(rows, AMX_ROWS), bottom = (uint8_t)(rows - top);
  const uint8_t heights[8] = {top, top, bottom, bottom, top, bottom, AMX_GROUPS, AMX_GROUPS};
  amx_configuration configuration = {.palette = 1};
  for (int i = 0; i < 8; i++) configuration.rows[i] = heights[i], configuration.row_bytes[i] = heights[i] ? 64 : 0;
  _tile_loadconfig(&configuration);
}

/* The sums of a block: up to two column vectors of a panel that is `width` columns wide. */
INLINE void amx_sums(sums out[AMX_BLOCK][2], const narrow *a, int64_t a_stride, const narrow_b *b, int64_t width,
                     int64_t groups, bool bottom, bool second) {
  narrow_b rest[2][AMX_GROUPS][LANES * GROUP];
  const size_t a_bytes = (size_t)a_stride * sizeof *a;
  _tile_zero(0);
  if (second) _tile_zero(1);
  if (bottom) _tile_zero(2);
  if (bottom && second) _tile_zero(3);
  for (int64_t p = 0; p < groups; p += AMX_GROUPS) {
    const narrow_b *from = b + p * width * GROUP;
    size_t b_bytes = (size_t)(width * GROUP) * sizeof *b;
    int64_t next = LANES * GROUP; /* elements to the second vector */
    if (groups - p < AMX_GROUPS) {
      memset(rest, 0, sizeof rest);
      for (int64_t i = 0; i < groups - p; i++)
        for (int v = 0; v < 1 + second; v++)
          memcpy(rest[v][i], from + (i * width + v * LANES) * GROUP, sizeof rest[v][i]);
      from = rest[0][0], b_bytes = sizeof rest[0][0], next = AMX_GROUPS * LANES * GROUP;
      __asm__ volatile("" ::: "memory"); /* gcc 12's intrinsics do not declare that they read memory */
    }
    _tile_loadd(4, a + p * GROUP, a_bytes);
    _tile_loadd(6, from, b_bytes);
    AMX_DOT(0, 4, 6);
    if (second) {
      _tile_loadd(7, from + next, b_bytes);
      AMX_DOT(1, 4, 7);
    }
    if (bottom) {
      _tile_loadd(5, a + AMX_ROWS * a_stride + p * GROUP, a_bytes);
      AMX_DOT(2, 5, 6);
      if (second) AMX_DOT(3, 5, 7);
    }
  }
  _tile_stored(0, out[0], sizeof out[0]);
  if (second) _tile_stored(1, &out[0][1], sizeof out[0]);
  if (bottom) _tile_stored(2, out[AMX_ROWS], sizeof out[0]);
  if (bottom && second) _tile_stored(3, &out[AMX_ROWS][1], sizeof out[0]);
}

/* Rows [first, first + rows) of narrow_multiply, in blocks of AMX_BLOCK rows, or in one block if there are fewer. */
INLINE void amx_rows(float *c, int64_t c_stride, const narrow *a, int64_t a_stride, const row_term *row_terms,
                     const void *packed, int64_t first, int64_t rows, int64_t n, int64_t k, const cq_epilogue *e) {
  const unsigned char *panel = packed;
  const bool finishes = !e->accumulate && (e->activation != CQ_IDENTITY || e->before);
  const float *bias = e->accumulate ? NULL : e->bias;
  amx_configure(at_most(rows, AMX_BLOCK));
  for (int64_t j = 0; j < n; j += PANEL) {
    const int64_t columns = at_most(n - j, PANEL), vectors = (columns + LANES - 1) / LANES;
    const column_terms *terms = (const column_terms *)(const void *)panel;
    const narrow_b *b = (const narrow_b *)(const void *)(terms + COLUMN_TERMS * vectors);
    for (int64_t i = first; i < first + rows; i += AMX_BLOCK) {
      const int64_t height = at_most(first + rows - i, AMX_BLOCK);
      for (int64_t v = 0; v < vectors; v += 2) {
        sums acc[AMX_BLOCK][2];
        const int64_t wide = at_most(vectors - v, 2);
        amx_sums(acc, a + i * a_stride, a_stride, b + v * LANES * GROUP, vectors * LANES, groups_of(k),
                 height > AMX_ROWS, wide == 2);
        for (int64_t r = 0; r < height; r++)
          for (int64_t w = 0; w < wide; w++) {
            const int64_t column = (v + w) * LANES, left = columns - column;
            float *to = c + (i + r) * c_stride + j + column;
            const vf start = e->accumulate ? v_load_n(to, left)
                             : bias        ? v_load_n(bias + j + column, left)
                                           : v_set(0.0f);
            v_store_n(to, n_value(acc[r][w], row_terms + i + r, terms + COLUMN_TERMS * (v + w), start), left);
          }
      }
      float *block = c + i * c_stride + j, *before = e->before ? e->before + i * c_stride + j : NULL;
      if (finishes) FOR_ACTIVATION(e->activation, finish, block, before, c_stride, height, columns)
    }
    panel += panel_bytes(k, vectors);
  }
}

/* As narrow_multiply. */
static void amx_multiply(float *c, int64_t c_stride, const narrow *a, int64_t a_stride, const row_term *row_terms,
                         const void *packed, int64_t m, int64_t n, int64_t k, const cq_epilogue *e) {
  const int64_t whole = m / AMX_BLOCK * AMX_BLOCK;
  if (whole) amx_rows(c, c_stride, a, a_stride, row_terms, packed, 0, whole, n, k, e);
  if (m > whole) amx_rows(c, c_stride, a, a_stride, row_terms, packed, whole, m - whole, n, k, e);
  _tile_release();
}
