/* Products: one register tile and the loops around it.
 *
 *   packed B: panels of PANEL = TILE_VECTORS * LANES columns, each [k][width] in reading order; the last panel has the
 *   remaining columns, padded with zeros to whole vectors
 *
 *            k                 PANEL                 PANEL
 *        .--------.       .-------------.       .-------------.
 *      m |   A    |   x   | b00 b01 ... | k  =  | C tile of   | up to TILE_ROWS rows, in registers over all of k
 *        '--------'       '-------------'       '-------------'
 *
 * A tile keeps rows x vectors accumulators. A step of k loads one row of the panel, broadcasts one element of each of
 * A's rows, and multiplies: with 6 rows x 64 columns on AVX-512, 24 multiply-adds for 10 loads. A panel streams from
 * the L2 cache once per tile and needs about a third of its bandwidth. An element of C is one chain of multiply-adds
 * over k that starts from its bias (or 0), whatever the tile's height: a row's result does not depend on m or on the
 * row's position.
 *
 * narrow.inc.h has the same for bf16 and 8 bits. */

/* One step of k. a_next is the distance between elements of A in adjacent rows. */
INLINE void tile_step(vf acc[TILE_ROWS][TILE_VECTORS], const float *a, int64_t a_next, const float *b, int rows,
                      int vectors) {
  vf row[TILE_VECTORS];
#pragma GCC unroll 4
  for (int v = 0; v < vectors; v++) row[v] = v_load(b + v * LANES);
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) {
    vf x = v_set(a[r * a_next]);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) acc[r][v] = v_fma(x, row[v], acc[r][v]);
  }
}

typedef struct tile_arguments {
  float *c;
  const float *a, *b, *bias; /* bias NULL: none */
  int64_t c_stride, a_stride, k;
  int64_t last; /* columns of the last vector that exist */
  bool accumulate;
} tile_arguments;

enum { PREFETCH_STEPS = 16 };

/* C [rows, vectors * LANES] = A B + bias or C + A B; transposed: A's columns are C's rows, and are k apart. */
INLINE void tile(const tile_arguments *t, int rows, int vectors, bool transposed) {
  vf acc[TILE_ROWS][TILE_VECTORS];
  float *c = t->c;
  const int64_t c_stride = t->c_stride, last = t->last;
  const bool accumulate = t->accumulate;
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
      acc[r][v] = t->bias ? v_load_n(t->bias + v * LANES, v == vectors - 1 ? last : LANES) : v_set(0.0f);
      __builtin_prefetch(c + r * c_stride + v * LANES, 1); /* here by the time the sums are done */
    }
  }
  const float *a = t->a, *b = t->b;
  const int64_t a_row = transposed ? 1 : t->a_stride, a_step = transposed ? t->a_stride : 1;
  for (int64_t p = t->k; p > 0; p--) {
    if (transposed) __builtin_prefetch(a + PREFETCH_STEPS * a_step); /* each step another line, often another page */
    tile_step(acc, a, a_row, b, rows, vectors);
    a += a_step;
    b += vectors * LANES;
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; r++) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
      const int64_t n = v == vectors - 1 ? last : LANES;
      float *to = c + r * c_stride + v * LANES;
      v_store_n(to, accumulate ? v_load_n(to, n) + acc[r][v] : acc[r][v], n);
    }
  }
}

/* A separate function for each height, width and direction of a tile, and a table of them. */
typedef void (*tile_function)(const tile_arguments *);
#define TILE(r, v)                                                                                                     \
  static void tile_##r##_##v(const tile_arguments *t) {                                                                \
    tile(t, r, v, false);                                                                                              \
  }                                                                                                                    \
  static void transposed_##r##_##v(const tile_arguments *t) {                                                          \
    tile(t, r, v, true);                                                                                               \
  }
#define TILE_NAMES(prefix, r)                                                                                          \
  { TILE_WIDTHS(TILE_NAME, prefix, r) }
#define TILE_NAME(prefix, r, v)   prefix##_##r##_##v,
#define TILE_DEFINE(prefix, r, v) TILE(r, v)

#define TILE_DEFINE_ROW(r) TILE_WIDTHS(TILE_DEFINE, unused, r)
TILE_HEIGHTS(TILE_DEFINE_ROW)
#define TILE_ROW(r)       TILE_NAMES(tile, r),
#define TRANSPOSED_ROW(r) TILE_NAMES(transposed, r),
static const tile_function tiles[2][TILE_ROWS][TILE_VECTORS] = {{TILE_HEIGHTS(TILE_ROW)},
                                                                {TILE_HEIGHTS(TRANSPOSED_ROW)}};

/* ---- packing ---- */

static int64_t packed_floats(int64_t k, int64_t n) {
  return k * round_up(n, LANES);
}

/* Packs contiguous rows of B: copies them and fills the tails. */
INLINE void pack_rows(float *packed, const float *b, int64_t k_stride, int64_t k, int64_t columns) {
  for (int64_t p = 0; p < k; p++, b += k_stride)
    for (int64_t j = 0; j < columns; j += LANES, packed += LANES) v_store(packed, v_load_n(b + j, columns - j));
}

/* Packs columns of B that are contiguous in memory: LANES x LANES blocks transposed in registers. */
INLINE void pack_columns(float *packed, const float *b, int64_t n_stride, int64_t k, int64_t columns) {
  const int64_t width = round_up(columns, LANES);
  vf block[LANES];
  for (int64_t j = 0; j < columns; j += LANES) {
    for (int64_t p = 0; p < k; p += LANES) {
      const int64_t n = at_most(columns - j, LANES), depth = at_most(k - p, LANES);
      if (n == LANES && depth == LANES) {
#pragma GCC unroll 16
        for (int i = 0; i < LANES; i++) block[i] = v_load(b + (j + i) * n_stride + p);
      } else {
        for (int i = 0; i < LANES; i++) block[i] = i < n ? v_load_n(b + (j + i) * n_stride + p, depth) : v_set(0.0f);
      }
      v_transpose(block);
      for (int64_t i = 0; i < depth; i++) v_store(packed + (p + i) * width + j, block[i]);
    }
  }
}

static void pack(float *packed, const float *b, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n) {
  for (int64_t j = 0; j < n; j += PANEL) {
    float *panel = packed + j * k;
    if (n_stride == 1)
      pack_rows(panel, b + j, k_stride, k, at_most(n - j, PANEL));
    else
      pack_columns(panel, b + j * n_stride, n_stride, k, at_most(n - j, PANEL));
  }
}

/* ---- products ---- */

/* C [m, n] = A B + bias or C += A B. panel_stride: floats from one panel of B to the next. */
static void multiply(float *c, int64_t c_stride, const float *a, int64_t a_stride, bool transposed, const float *b,
                     int64_t panel_stride, int64_t m, int64_t n, int64_t k, const float *bias, bool accumulate) {
  const row_split rows = split_rows(m);
  const int64_t a_row = transposed ? 1 : a_stride;
  for (int64_t j = 0; j < n; j += PANEL, b += panel_stride) {
    const int64_t columns = at_most(n - j, PANEL), vectors = (columns + LANES - 1) / LANES;
    tile_arguments t = {.c = c + j,
                        .a = a,
                        .b = b,
                        .bias = bias ? bias + j : NULL,
                        .c_stride = c_stride,
                        .a_stride = a_stride,
                        .k = k,
                        .last = columns - (vectors - 1) * LANES,
                        .accumulate = accumulate};
    for (int64_t i = 0; i < rows.parts; i++) {
      const int64_t height = rows.height + (i < rows.taller);
      tiles[transposed][height - 1][vectors - 1](&t);
      t.c += height * c_stride;
      t.a += height * a_row;
    }
  }
}

static void product(float *c, int64_t c_stride, const float *a, int64_t a_stride, const float *packed, int64_t m,
                    int64_t n, int64_t k, const cq_epilogue *epilogue) {
  const cq_epilogue none = {0};
  const cq_epilogue *e = epilogue ? epilogue : &none;
  if (e->accumulate || (e->activation == CQ_IDENTITY && !e->before)) {
    multiply(c, c_stride, a, a_stride, false, packed, k * PANEL, m, n, k, e->accumulate ? NULL : e->bias,
             e->accumulate);
    return;
  }
  const row_split rows = split_rows(m);
  for (int64_t j = 0; j < n; j += PANEL) {
    const int64_t columns = at_most(n - j, PANEL);
    for (int64_t i = 0, row = 0; i < rows.parts; i++) {
      const int64_t height = rows.height + (i < rows.taller);
      float *tile_c = c + row * c_stride + j, *before = e->before ? e->before + row * c_stride + j : NULL;
      multiply(tile_c, c_stride, a + row * a_stride, a_stride, false, packed + j * k, 0, height, columns, k,
               e->bias ? e->bias + j : NULL, false);
      FOR_ACTIVATION(e->activation, finish, tile_c, before, c_stride, height, columns)
      row += height;
    }
  }
}

/* k counts tokens and may be thousands, so it is split into blocks: a panel's block (128 KiB on AVX-512) stays in the
 * L2 cache while all of A passes. */
enum { TRANSPOSED_BLOCK = 512 };

static void product_transposed(float *c, int64_t c_stride, const float *a, int64_t a_stride, const float *b,
                               int64_t b_stride, int64_t m, int64_t n, int64_t k, float *scratch) {
  pack(scratch, b, b_stride, 1, k, n);
  for (int64_t p = 0; p < k; p += TRANSPOSED_BLOCK) {
    const int64_t depth = at_most(k - p, TRANSPOSED_BLOCK);
    for (int64_t j = 0; j < n; j += PANEL) {
      const int64_t columns = at_most(n - j, PANEL), width = round_up(columns, LANES);
      multiply(c + j, c_stride, a + p * a_stride, a_stride, true, scratch + j * k + p * width, 0, m, columns, depth,
               NULL, true);
    }
  }
}

static void add_columns(float *sum, const float *a, int64_t a_stride, int64_t m, int64_t n) {
  for (int64_t j = 0; j < n; j += 4 * LANES) {
    const int64_t left = n - j;
    vf s[4];
    for (int v = 0; v < 4; v++) s[v] = v_set(0.0f);
    for (int64_t i = 0; i < m; i++) {
      const float *row = a + i * a_stride + j;
      if (left >= 4 * LANES) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++) s[v] += v_load(row + v * LANES);
      } else {
        for (int v = 0; v < 4 && v * LANES < left; v++) s[v] += v_load_n(row + v * LANES, left - v * LANES);
      }
    }
    for (int v = 0; v < 4 && v * LANES < left; v++) {
      float *out = sum + j + v * LANES;
      v_store_n(out, v_load_n(out, left - v * LANES) + s[v], left - v * LANES);
    }
  }
}
