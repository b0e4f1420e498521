/* Attention, head by head, with the tiles of the products. Names as in ref/ref_attention.c.
 *
 * Forward, per head: K is packed transposed (its tokens become columns), V untransposed. Then for each tile of up to
 * TILE_ROWS rows of Q: S = Q K^T over all columns, softmax in place, O = S V, and O is divided by the row's sum. A
 * tile's scores (6 x 128 x 4 bytes = 3 KiB) stay in the L1 cache; a head's K and V (32 KiB for 128 tokens of dimension
 * 32) fit into L1 or L2.
 *
 * Backward, per head and block of BLOCK_ROWS rows of Q: S and dO V^T over all columns, from them D and dS in place,
 * then dQ = dS K    dK += dS^T Q    dV += D^T dO
 *
 * Only columns of S that some row of the tile or block attends to are computed: `low` (on a panel's edge) to `high`.
 *
 * Columns of S past n_tokens come from zeros in the packed K and are never read later. */

enum { BLOCK_ROWS = 48 };

static int64_t attention_scratch(int64_t n_tokens, int64_t head_dim) {
  const int64_t wide = round_up(n_tokens, LANES), deep = round_up(head_dim, LANES);
  const int64_t block = n_tokens < BLOCK_ROWS ? n_tokens : BLOCK_ROWS;
  return 2 * head_dim * wide + 3 * n_tokens * deep + 2 * block * wide + 7 * 16; /* 7 runs */
}

/* The keys that rows [i, i + height) see. */
typedef struct column_range {
  int64_t low, high, padded; /* low is on a panel's edge; padded is high, rounded up like the packed K */
} column_range;

INLINE column_range columns_seen(const cq_attention_shape *s, int64_t i, int64_t height) {
  const int64_t high = cq_attention_end(s, i + height - 1);
  return (column_range){cq_attention_first(s, i) / PANEL * PANEL, high,
                        at_most(round_up(high, PANEL), round_up(s->n_tokens, LANES))};
}

/* C [height, dim] = A B with B [n_tokens, dim] packed; only the rows of B that are attended to count. A's columns keep
 * their positions. */
INLINE void multiply_seen(float *c, int64_t c_stride, const float *a, int64_t a_stride, const float *packed,
                          int64_t height, int64_t dim, int64_t n_tokens, column_range seen) {
  for (int64_t j = 0; j < dim; j += PANEL) {
    const int64_t columns = at_most(dim - j, PANEL);
    multiply(c + j, c_stride, a + seen.low, a_stride, false,
             packed + j * n_tokens + seen.low * round_up(columns, LANES), 0, height, columns, seen.high - seen.low,
             NULL, false);
  }
}

static void attention(float *out, float *log_sum, const float *q, const float *k, const float *v,
                      const cq_attention_shape *s, float *scratch) {
  const int64_t n_tokens = s->n_tokens, dim = s->head_dim, wide = round_up(n_tokens, LANES);
  float *packed_k = take(&scratch, dim * wide);
  float *packed_v = take(&scratch, n_tokens * round_up(dim, LANES));
  float *scores = take(&scratch, at_most(n_tokens, TILE_ROWS) * wide);
  const row_split rows = split_rows(n_tokens);
  for (int64_t head = 0; head < s->n_heads; head++) {
    const int64_t column = head * dim, kv = cq_attention_kv_column(s, head);
    if (cq_attention_first_of_kv(s, head)) {
      pack(packed_k, k + kv, 1, s->stride, dim, n_tokens);
      pack(packed_v, v + kv, s->stride, 1, n_tokens, dim);
    }
    for (int64_t part = 0, i = 0; part < rows.parts; part++) {
      const int64_t height = rows.height + (part < rows.taller);
      const column_range seen = columns_seen(s, i, height);
      multiply(scores + seen.low, wide, q + i * s->stride + column, s->stride, false, packed_k + seen.low * dim,
               dim * PANEL, height, seen.padded - seen.low, dim, NULL, false);
      float sum[TILE_SUMS] = {0}, shift[TILE_SUMS] = {0};
      softmax_tile(sum, shift, s, scores, wide, head, i, height, seen.low, seen.high);
      float *out_tile = out + i * s->out_stride + column;
      multiply_seen(out_tile, s->out_stride, scores, wide, packed_v, height, dim, n_tokens, seen);
      divide_tile(out_tile, s->out_stride, sum, height, dim);
      if (log_sum)
        for (int64_t r = 0; r < height; r += LANES)
          v_store_n(log_sum + head * n_tokens + i + r, v_fnma(v_load(shift + r), v_set(ln_2), v_log(v_load(sum + r))),
                    height - r);
      i += height;
    }
  }
}

/* From the scores and dD = dO V^T of one row: D replaces the scores, and scale dS replaces dD. */
INLINE void softmax_backward(const score_row *row, float *d_row, float *dbias, float scale, float along, bool drops) {
  for (int64_t j = 0; j < row->n_tokens; j += LANES) {
    vf p = exponential_at(row, j), dropped = p, dp = v_load(d_row + j);
    if (drops) {
      dropped = kept_at(row, j, p);
      dp = kept_at(row, j, dp);
    }
    vf ds = p * (dp - v_set(along));
    if (dbias) v_store_n(dbias + j, v_load_n(dbias + j, row->n_tokens - j) + ds, row->n_tokens - j);
    v_store(row->scores + j, dropped);
    v_store(d_row + j, ds * v_set(scale));
  }
}

/* Zeros for gradients that are added to in parts. */
INLINE void clear_columns(float *d, int64_t stride, int64_t rows, int64_t dim) {
  for (int64_t i = 0; i < rows; i++) memset(d + i * stride, 0, (size_t)dim * sizeof *d);
}

static void attention_backward(float *dq, float *dk, float *dv, float *dbias, const float *dout, const float *out,
                               const float *log_sum, const float *q, const float *k, const float *v,
                               const cq_attention_shape *s, float *scratch) {
  const int64_t n_tokens = s->n_tokens, dim = s->head_dim;
  const int64_t wide = round_up(n_tokens, LANES), deep = round_up(dim, LANES);
  const int64_t block = at_most(n_tokens, BLOCK_ROWS);
  const bool drops = s->dropout.rate > 0, masked = s->window > 0 || s->causal;
  float *turned_k = take(&scratch, dim * wide), *turned_v = take(&scratch, dim * wide);
  float *packed_k = take(&scratch, n_tokens * deep), *packed_q = take(&scratch, n_tokens * deep);
  float *packed_dout = take(&scratch, n_tokens * deep);
  float *scores = take(&scratch, block * wide), *ds = take(&scratch, block * wide);
  for (int64_t head = 0; head < s->n_heads; head++) {
    const int64_t column = head * dim, kv = cq_attention_kv_column(s, head);
    const bool first_of_kv = cq_attention_first_of_kv(s, head);
    if (first_of_kv) {
      pack(turned_k, k + kv, 1, s->stride, dim, n_tokens);
      pack(turned_v, v + kv, 1, s->stride, dim, n_tokens);
      pack(packed_k, k + kv, s->stride, 1, n_tokens, dim);
    }
    if (masked && first_of_kv) {
      clear_columns(dk + kv, s->stride, n_tokens, dim);
      clear_columns(dv + kv, s->stride, n_tokens, dim);
    }
    for (int64_t i = 0; i < n_tokens; i += block) {
      const int64_t height = at_most(n_tokens - i, block);
      const float *q_rows = q + i * s->stride + column, *dout_rows = dout + i * s->out_stride + column;
      const column_range seen = columns_seen(s, i, height);
      const int64_t low = seen.low, columns = seen.padded - low;
      const bool adds = i > 0 || !first_of_kv || masked;
      multiply(scores + low, wide, q_rows, s->stride, false, turned_k + low * dim, dim * PANEL, height, columns, dim,
               NULL, false);
      multiply(ds + low, wide, dout_rows, s->out_stride, false, turned_v + low * dim, dim * PANEL, height, columns, dim,
               NULL, false);
      for (int64_t r = 0; r < height; r++) {
        score_row row = score_row_at(s, scores + r * wide, head, i + r, low, seen.high);
        row.shift = -(log_sum[head * n_tokens + i + r] * log2_e);
        const float along = dot(dout_rows + r * s->out_stride, out + (i + r) * s->out_stride + column, dim);
        float *dbias_row = dbias ? dbias + (head * n_tokens + i + r) * n_tokens + low : NULL;
        if (drops)
          softmax_backward(&row, ds + r * wide + low, dbias_row, s->scale, along, true);
        else
          softmax_backward(&row, ds + r * wide + low, dbias_row, s->scale, along, false);
      }
      pack(packed_q, q_rows, s->stride, 1, height, dim);
      pack(packed_dout, dout_rows, s->out_stride, 1, height, dim);
      multiply_seen(dq + i * s->stride + column, s->stride, ds, wide, packed_k, height, dim, n_tokens, seen);
      multiply(dk + low * s->stride + kv, s->stride, ds + low, wide, true, packed_q, height * PANEL, seen.high - low,
               dim, height, NULL, adds);
      multiply(dv + low * s->stride + kv, s->stride, scores + low, wide, true, packed_dout, height * PANEL,
               seen.high - low, dim, height, NULL, adds);
    }
  }
}
