/* Attention, head by head, with the products' tiles. Names as in ref/attention.c.
 *
 * Forward, per head: K is packed turned (its tokens become columns), V as it lies. Then for each tile of up to
 * TILE_ROWS rows of Q: S = Q K^T over all columns, softmax in place, O = S V, and O is divided by the row's sum. A
 * tile's scores (6 x 128 x 4 bytes = 3 KiB) stay in the first-level cache; a head's K and V (32 KiB at 128 tokens of
 * 32) next to it.
 *
 * Backward, per head and block of BLOCK_ROWS rows of Q: S and dO V^T over all columns, from them D and dS in place,
 * then dQ = dS K    dK += dS^T Q    dV += D^T dO
 *
 * Columns of S past n_tokens come from zeros in the packed K and are never read by what follows. */

enum { BLOCK_ROWS = 48 };

static int64_t attention_scratch(int64_t n_tokens, int64_t head_dim) {
  const int64_t wide = round_up(n_tokens, LANES), deep = round_up(head_dim, LANES);
  const int64_t block = n_tokens < BLOCK_ROWS ? n_tokens : BLOCK_ROWS;
  return 2 * head_dim * wide + 3 * n_tokens * deep + 2 * block * wide + 7 * 16; /* 7 runs */
}

/* A run of the scratch, its start on a cache line where the scratch is aligned at all. */
INLINE float *take(float **scratch, int64_t n) {
  float *run = *scratch;
  *scratch += round_up(n, 16);
  return run;
}

typedef struct score_row {
  const float *bias; /* [n_tokens] or NULL */
  uint32_t first;    /* the row's first element, for dropout */
  bool drops;
  cq_dropout_rule rule;
} score_row;

INLINE score_row score_row_at(const cq_attention_shape *s, int64_t head, int64_t i) {
  const int64_t first = (head * s->n_tokens + i) * s->n_tokens;
  return (score_row){.bias = s->bias ? s->bias + first : NULL,
                     .first = (uint32_t)first,
                     .drops = s->dropout.rate > 0,
                     .rule = cq_dropout_rule_of(s->dropout.rate)};
}

/* Scores, scaled and biased; lanes past n_tokens hold what they will. */
INLINE vf scores_at(const float *s_row, const score_row *row, vf factor, int64_t j, int64_t n_tokens) {
  vf x = v_load(s_row + j) * factor;
  return row->bias ? x + v_load_n(row->bias + j, n_tokens - j) : x;
}

/* exp(score - max) in place, with dropout; the maximum and the sum before dropout are returned. */
INLINE void softmax_row(float *s_row, float *max_out, float *sum_out, const cq_attention_shape *shape,
                        const score_row *row) {
  const int64_t n_tokens = shape->n_tokens;
  const vf factor = v_set(shape->scale);
  vf max = v_set(-INFINITY);
  for (int64_t j = 0; j < n_tokens; j += LANES) {
    vf x = scores_at(s_row, row, factor, j, n_tokens);
    if (n_tokens - j < LANES) x = v_fill_tail(x, n_tokens - j, -INFINITY);
    v_store(s_row + j, x);
    max = v_larger(max, x);
  }
  const float greatest = v_greatest(max);
  vf sum = v_set(0.0f);
  for (int64_t j = 0; j < n_tokens; j += LANES) {
    vf e = v_exp(v_load(s_row + j) - v_set(greatest));
    sum += e;
    if (row->drops)
      e = v_where_kept(v_dropout_bits(shape->dropout.key, row->first + (uint32_t)j), row->rule.threshold,
                       e * v_set(row->rule.factor));
    v_store(s_row + j, e);
  }
  *max_out = greatest;
  *sum_out = v_sum(sum);
}

static void attention(float *out, float *log_sum, const float *q, const float *k, const float *v,
                      const cq_attention_shape *s, float *scratch) {
  const int64_t n_tokens = s->n_tokens, dim = s->head_dim, wide = round_up(n_tokens, LANES);
  float *packed_k = take(&scratch, dim * wide);
  float *packed_v = take(&scratch, n_tokens * round_up(dim, LANES));
  float *scores = take(&scratch, at_most(n_tokens, TILE_ROWS) * wide);
  const row_split rows = split_rows(n_tokens);
  for (int64_t head = 0; head < s->n_heads; head++) {
    const int64_t column = head * dim;
    pack(packed_k, k + column, 1, s->stride, dim, n_tokens);
    pack(packed_v, v + column, s->stride, 1, n_tokens, dim);
    for (int64_t part = 0, i = 0; part < rows.parts; part++) {
      const int64_t height = rows.height + (part < rows.taller);
      float max[LANES] = {0}, sum[LANES] = {0};
      multiply(scores, wide, q + i * s->stride + column, s->stride, false, packed_k, dim * PANEL, height, wide, dim,
               NULL, false);
      for (int64_t r = 0; r < height; r++) {
        score_row row = score_row_at(s, head, i + r);
        softmax_row(scores + r * wide, &max[r], &sum[r], s, &row);
      }
      float *out_tile = out + i * s->out_stride + column;
      multiply(out_tile, s->out_stride, scores, wide, false, packed_v, n_tokens * PANEL, height, dim, n_tokens, NULL,
               false);
      for (int64_t r = 0; r < height; r++) {
        const vf share = v_set(1.0f / sum[r]);
        float *out_row = out_tile + r * s->out_stride;
        for (int64_t d = 0; d < dim; d += LANES)
          v_store_n(out_row + d, v_load_n(out_row + d, dim - d) * share, dim - d);
      }
      if (log_sum)
        for (int64_t r = 0; r < height; r += LANES)
          v_store_n(log_sum + head * n_tokens + i + r, v_load(max + r) + v_log(v_load(sum + r)), height - r);
      i += height;
    }
  }
}

/* From the scores and dD = dO V^T of one row: D in place of the scores, scale dS in place of dD. */
INLINE void softmax_row_backward(float *s_row, float *d_row, float *dbias, const cq_attention_shape *shape,
                                 const score_row *row, float log_sum, float along) {
  const int64_t n_tokens = shape->n_tokens;
  const vf factor = v_set(shape->scale);
  for (int64_t j = 0; j < n_tokens; j += LANES) {
    vf p = v_exp(scores_at(s_row, row, factor, j, n_tokens) - v_set(log_sum));
    vf dropped = p, dp = v_load(d_row + j);
    if (row->drops) {
      const vu bits = v_dropout_bits(shape->dropout.key, row->first + (uint32_t)j);
      dropped = v_where_kept(bits, row->rule.threshold, p * v_set(row->rule.factor));
      dp = v_where_kept(bits, row->rule.threshold, dp * v_set(row->rule.factor));
    }
    vf ds = p * (dp - v_set(along));
    if (dbias) v_store_n(dbias + j, v_load_n(dbias + j, n_tokens - j) + ds, n_tokens - j);
    v_store(s_row + j, dropped);
    v_store(d_row + j, ds * factor);
  }
}

static void attention_backward(float *dq, float *dk, float *dv, float *dbias, const float *dout, const float *out,
                               const float *log_sum, const float *q, const float *k, const float *v,
                               const cq_attention_shape *s, float *scratch) {
  const int64_t n_tokens = s->n_tokens, dim = s->head_dim;
  const int64_t wide = round_up(n_tokens, LANES), deep = round_up(dim, LANES);
  const int64_t block = at_most(n_tokens, BLOCK_ROWS);
  float *turned_k = take(&scratch, dim * wide), *turned_v = take(&scratch, dim * wide);
  float *packed_k = take(&scratch, n_tokens * deep), *packed_q = take(&scratch, n_tokens * deep);
  float *packed_dout = take(&scratch, n_tokens * deep);
  float *scores = take(&scratch, block * wide), *ds = take(&scratch, block * wide);
  for (int64_t head = 0; head < s->n_heads; head++) {
    const int64_t column = head * dim;
    pack(turned_k, k + column, 1, s->stride, dim, n_tokens);
    pack(turned_v, v + column, 1, s->stride, dim, n_tokens);
    pack(packed_k, k + column, s->stride, 1, n_tokens, dim);
    for (int64_t i = 0; i < n_tokens; i += block) {
      const int64_t height = at_most(n_tokens - i, block);
      const float *q_rows = q + i * s->stride + column, *dout_rows = dout + i * s->out_stride + column;
      multiply(scores, wide, q_rows, s->stride, false, turned_k, dim * PANEL, height, wide, dim, NULL, false);
      multiply(ds, wide, dout_rows, s->out_stride, false, turned_v, dim * PANEL, height, wide, dim, NULL, false);
      for (int64_t r = 0; r < height; r++) {
        const score_row row = score_row_at(s, head, i + r);
        const float along = dot(dout_rows + r * s->out_stride, out + (i + r) * s->out_stride + column, dim);
        softmax_row_backward(scores + r * wide, ds + r * wide,
                             dbias ? dbias + (head * n_tokens + i + r) * n_tokens : NULL, s, &row,
                             log_sum[head * n_tokens + i + r], along);
      }
      pack(packed_q, q_rows, s->stride, 1, height, dim);
      pack(packed_dout, dout_rows, s->out_stride, 1, height, dim);
      multiply(dq + i * s->stride + column, s->stride, ds, wide, false, packed_k, n_tokens * PANEL, height, dim,
               n_tokens, NULL, false);
      multiply(dk + column, s->stride, ds, wide, true, packed_q, height * PANEL, n_tokens, dim, height, NULL, i > 0);
      multiply(dv + column, s->stride, scores, wide, true, packed_dout, height * PANEL, n_tokens, dim, height, NULL,
               i > 0);
    }
  }
}
