/* Products of narrow numbers: the tile of product.inc.h with GROUP elements along k packed into 32 bits.
 *
 *   A           rows of `narrow`, k padded with zeros to whole vectors; the rows' terms follow after all rows
 *   packed B    panels of PANEL columns; the last one has the remaining columns, rounded up to whole vectors. A panel
 *               is the terms of its columns, then [k / GROUP][columns][GROUP] of `narrow_b`
 *
 * A step loads a row of the panel (GROUP rows of B), broadcasts 32 bits of each of A's rows, and adds GROUP products to
 * each sum. A file that includes this defines:
 *
 *   GROUP, narrow, narrow_b, sums          types; sums is a vector of LANES sums
 *   row_term, column_terms, COLUMN_TERMS   data kept per row of A, and per LANES columns of B; COLUMN_TERMS: 0 or 1
 *   n_dot(s, a, b)                         s + the products of a, 32 bits broadcast, with a vector of B
 *   n_value(s, row, columns, bias)         elements of C
 *   n_convert_row(to, term, from, k)       a row of A, in whole vectors
 *   n_column(columns, lane, b, stride, k)  makes a column's terms; returns the factor for its elements
 *   n_element(x, columns, lane)            an element of B times that factor; may add to its column's terms
 *   n_run(b, n, factor, columns, lane)     LANES * GROUP contiguous elements of a column (zeros from n on) as LANES
 *                                          times 32 bits, in the same way
 *   PACK_ROWS(to, b, stride, k, columns)   optional: a faster way for adjacent columns
 *   AMX_DOT(sum, a, b)                     optional: products by AMX (amx.inc.h) */

INLINE int64_t narrow_row(int64_t k) {
  return round_up(k, LANES * GROUP);
}
INLINE int64_t groups_of(int64_t k) {
  return (k + GROUP - 1) / GROUP;
}
/* Bytes of a panel of n vectors of columns. */
INLINE size_t panel_bytes(int64_t k, int64_t vectors) {
  return (size_t)vectors *
         (COLUMN_TERMS * sizeof(column_terms) + (size_t)(groups_of(k) * GROUP * LANES) * sizeof(narrow_b));
}

/* ---- tiles ---- */

typedef struct narrow_arguments {
  float *c;
  const narrow *a;
  const row_term *terms;
  const column_terms *columns;
  const narrow_b *b;
  const float *bias; /* NULL: none */
  int64_t c_stride, a_stride, groups;
  int64_t last; /* columns of the last vector that exist */
  bool accumulate;
} narrow_arguments;

/* C [rows, vectors * LANES] = A B + bias or C + A B. */
INLINE void narrow_tile(const narrow_arguments *t, int rows, int vectors) {
  sums acc[TILE_ROWS][TILE_VECTORS];
  const int64_t last = t->last, c_stride = t->c_stride, a_stride = t->a_stride;
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
      acc[r][v] = (sums){0};
      __builtin_prefetch(t->c + r * c_stride + v * LANES, 1);
    }
  }
  const narrow *a = t->a;
  const narrow_b *b = t->b;
  for (int64_t p = t->groups; p > 0; p--) {
    sums row[TILE_VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) memcpy(&row[v], b + v * LANES * GROUP, sizeof row[v]);
#pragma GCC unroll 8
    for (int r = 0; r < rows; r++) {
      float bits; /* any 32 */
      memcpy(&bits, a + r * a_stride, sizeof bits);
      const sums x = (sums)v_set(bits);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; v++) acc[r][v] = n_dot(acc[r][v], x, row[v]);
    }
    a += GROUP;
    b += vectors * LANES * GROUP;
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
      const int64_t n = v == vectors - 1 ? last : LANES;
      float *to = t->c + r * c_stride + v * LANES;
      const vf start = t->accumulate ? v_load_n(to, n) : t->bias ? v_load_n(t->bias + v * LANES, n) : v_set(0.0f);
      v_store_n(to, n_value(acc[r][v], t->terms + r, t->columns + v, start), n);
    }
  }
}

typedef void (*narrow_function)(const narrow_arguments *);
#define NARROW_TILE(p, r, v)                                                                                           \
  static void narrow_##r##_##v(const narrow_arguments *t) {                                                            \
    narrow_tile(t, r, v);                                                                                              \
  }
#define NARROW_NAME(p, r, v) narrow_##r##_##v,
#define NARROW_DEFINE_ROW(r) TILE_WIDTHS(NARROW_TILE, unused, r)
TILE_HEIGHTS(NARROW_DEFINE_ROW)
#define NARROW_ROW(r) {TILE_WIDTHS(NARROW_NAME, unused, r)},
static const narrow_function narrow_tiles[TILE_ROWS][TILE_VECTORS] = {TILE_HEIGHTS(NARROW_ROW)};

/* ---- packing ---- */

static size_t narrow_packed_bytes(int64_t k, int64_t n) {
  return panel_bytes(k, 1) * (size_t)((n + LANES - 1) / LANES);
}

/* Packs columns whose elements are not contiguous, one by one; all zeros if there are no elements. */
INLINE void pack_apart(narrow_b *to, column_terms *terms, const float *b, int64_t k_stride, int64_t n_stride, int64_t k,
                       int64_t columns) {
  const int64_t width = round_up(columns, LANES);
  memset(to, 0, (size_t)(groups_of(k) * GROUP * width) * sizeof *to);
  for (int64_t i = 0; i < columns; i++) {
    const float *from = b + i * n_stride, factor = n_column(terms + i / LANES, i % LANES, from, k_stride, k);
    for (int64_t p = 0; p < k; p++)
      to[(p / GROUP * width + i) * GROUP + p % GROUP] =
          n_element(from[p * k_stride] * factor, terms + i / LANES, i % LANES);
  }
}

/* Packs columns that are contiguous in memory: LANES of them, LANES groups of elements, transposed in registers. */
INLINE void pack_lying(narrow_b *to, column_terms *terms, const float *b, int64_t n_stride, int64_t k,
                       int64_t columns) {
  const int64_t width = round_up(columns, LANES), groups = groups_of(k);
  for (int64_t i = 0; i < columns; i += LANES) {
    column_terms *own = terms + i / LANES;
    const int64_t n = at_most(columns - i, LANES);
    float factor[LANES] = {0};
    for (int64_t c = 0; c < n; c++) factor[c] = n_column(own, c, b + (i + c) * n_stride, 1, k);
    for (int64_t p = 0; p < groups; p += LANES) {
      vf block[LANES];
      for (int64_t c = 0; c < LANES; c++) {
        const int64_t first = p * GROUP;
        block[c] = c < n ? n_run(b + (i + c) * n_stride + first, k - first, factor[c], own, c) : v_set(0.0f);
      }
      v_transpose(block);
      for (int64_t d = 0; d < at_most(groups - p, LANES); d++)
        memcpy(to + ((p + d) * width + i) * GROUP, &block[d], sizeof block[d]);
    }
  }
}

static void narrow_pack(void *packed, const float *b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n) {
  unsigned char *panel = packed;
  for (int64_t j = 0; j < n; j += PANEL) {
    const int64_t columns = at_most(n - j, PANEL), vectors = (columns + LANES - 1) / LANES;
    column_terms *terms = (column_terms *)(void *)panel;
    narrow_b *to = (narrow_b *)(void *)(terms + COLUMN_TERMS * vectors);
    for (int64_t v = 0; v < COLUMN_TERMS * vectors; v++) terms[v] = (column_terms){0};
    if (k_stride == 1) pack_lying(to, terms, b + j * n_stride, n_stride, k, columns);
#ifdef PACK_ROWS
    else if (n_stride == 1)
      PACK_ROWS(to, b + j, k_stride, k, columns);
#endif
    else
      pack_apart(to, terms, b + j * n_stride, k_stride, n_stride, k, columns);
    panel += panel_bytes(k, vectors);
  }
}

static size_t narrow_left_bytes(int64_t m, int64_t k) {
  return (size_t)m * ((size_t)narrow_row(k) * sizeof(narrow) + sizeof(row_term));
}

static void narrow_convert(void *left, const float *a, int64_t a_stride, int64_t m, int64_t k) {
  narrow *to = left;
  row_term *terms = (row_term *)(void *)(to + m * narrow_row(k));
  for (int64_t i = 0; i < m; i++) n_convert_row(to + i * narrow_row(k), terms + i, a + i * a_stride, k);
}

/* ---- products ---- */

/* C [m, n] = A B + bias or C + A B, then finish() with the activation and `before`. a: rows of a_stride. */
INLINE void narrow_multiply(float *c, int64_t c_stride, const narrow *a, int64_t a_stride, const row_term *row_terms,
                            const void *packed, int64_t m, int64_t n, int64_t k, const cq_epilogue *e) {
  const row_split rows = split_rows(m);
  const unsigned char *panel = packed;
  const bool finishes = !e->accumulate && (e->activation != CQ_IDENTITY || e->before);
  for (int64_t j = 0; j < n; j += PANEL) {
    const int64_t columns = at_most(n - j, PANEL), vectors = (columns + LANES - 1) / LANES;
    const column_terms *terms = (const column_terms *)(const void *)panel;
    narrow_arguments t = {.c = c + j,
                          .a = a,
                          .terms = row_terms,
                          .columns = terms,
                          .b = (const narrow_b *)(const void *)(terms + COLUMN_TERMS * vectors),
                          .bias = e->bias && !e->accumulate ? e->bias + j : NULL,
                          .c_stride = c_stride,
                          .a_stride = a_stride,
                          .groups = groups_of(k),
                          .last = columns - (vectors - 1) * LANES,
                          .accumulate = e->accumulate};
    for (int64_t i = 0; i < rows.parts; i++) {
      const int64_t height = rows.height + (i < rows.taller);
      narrow_tiles[height - 1][vectors - 1](&t);
      float *before = e->before ? e->before + (t.c - c) : NULL;
      if (finishes) FOR_ACTIVATION(e->activation, finish, t.c, before, c_stride, height, columns)
      t.c += height * c_stride;
      t.a += height * a_stride;
      t.terms += height;
    }
    panel += panel_bytes(k, vectors);
  }
}

#ifdef AMX_DOT
#include "tensor/cpu/amx.inc.h"
#define MULTIPLY amx_multiply
#else
#define MULTIPLY narrow_multiply
#endif

static void narrow_product(float *c, int64_t c_stride, const void *left, int64_t a_stride, const void *packed,
                           int64_t m, int64_t n, int64_t k, const cq_epilogue *epilogue) {
  const cq_epilogue none = {0};
  const narrow *a = left;
  (void)a_stride;
  MULTIPLY(c, c_stride, a, narrow_row(k), (const row_term *)(const void *)(a + m * narrow_row(k)), packed, m, n, k,
           epilogue ? epilogue : &none);
}
