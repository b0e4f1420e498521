/* Shared by all products: the tiles of C, and the work after each tile. */

enum { PANEL = TILE_VECTORS * LANES };

INLINE int64_t round_up(int64_t n, int64_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}
INLINE int64_t at_most(int64_t n, int64_t limit) {
  return n < limit ? n : limit;
}

/* The values for a level's TILE_HEIGHTS and TILE_WIDTHS. */
#define WIDTHS_2(M, p, r) M(p, r, 1) M(p, r, 2)
#define WIDTHS_4(M, p, r) WIDTHS_2(M, p, r) M(p, r, 3) M(p, r, 4)
#define HEIGHTS_4(M)      M(1) M(2) M(3) M(4)
#define HEIGHTS_5(M)      HEIGHTS_4(M) M(5)
#define HEIGHTS_6(M)      HEIGHTS_5(M) M(6)

/* Rows [first, last) of part i, when m rows are split evenly into parts of at most a tile's height. */
typedef struct row_split {
  int64_t parts, height, taller; /* the first `taller` parts have one row more */
} row_split;

INLINE row_split split_rows(int64_t m) {
  if (m <= TILE_ROWS) return (row_split){m > 0, m, 0};
  int64_t parts = (m + TILE_ROWS - 1) / TILE_ROWS;
  return (row_split){parts, m / parts, m % parts};
}

/* Finishes a tile while it is in the L1 cache: keeps the values before the activation, and applies it. */
INLINE void finish(float *c, float *before, int64_t c_stride, int64_t rows, int64_t columns, cq_activation activation) {
  for (int64_t i = 0; i < rows; i++, c += c_stride) {
    for (int64_t j = 0; j < columns; j += LANES) {
      vf x = v_load_n(c + j, columns - j);
      if (before) v_store_n(before + i * c_stride + j, x, columns - j);
      v_store_n(c + j, v_activation(x, activation), columns - j);
    }
  }
}
