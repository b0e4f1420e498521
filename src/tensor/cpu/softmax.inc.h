/* Turns rows of attention scores into probabilities, for every kind of product. */

/* Takes n floats of the scratch, on a cache line's start if the scratch itself is aligned. */
INLINE float *take(float **scratch, int64_t n) {
  float *run = *scratch;
  *scratch += round_up(n, 16);
  return run;
}

/* A row of scores being turned into probabilities, 2^(factor score + shift): factor and shift include log2 e. */
typedef struct score_row {
  float *scores; /* [n_tokens] from the first token in the window, rounded up to whole vectors */
  int64_t n_tokens;
  float factor, shift;
  uint64_t key; /* of dropout, and the row's first element there */
  uint32_t first;
  cq_dropout_rule rule;
} score_row;

static const float log2_e = 1.44269504f, ln_2 = 0.693147181f;

/* A row's scores for columns [low, high), from scores + low on; includes all columns that the row attends to. */
INLINE score_row score_row_at(const cq_attention_shape *s, float *scores, int64_t head, int64_t i, int64_t low,
                              int64_t high) {
  const int64_t first = (head * s->n_tokens + i) * s->n_tokens + low, n_tokens = high - low;
  scores += low;
  score_row row = {.scores = scores,
                   .n_tokens = n_tokens,
                   .factor = s->scale * log2_e,
                   .key = s->dropout.key,
                   .first = (uint32_t)first,
                   .rule = cq_dropout_rule_of(s->dropout.rate)};
  if (s->bias || s->scale < 0 || s->slopes || s->window > 0 ||
      s->causal) { /* the final scores are written back: the maximum is then the maximum of the exponent */
    const float *bias = s->bias ? s->bias + first : NULL;
    for (int64_t j = 0; j < n_tokens; j += LANES) {
      vf x = v_load(scores + j) * v_set(s->scale);
      v_store(scores + j, bias ? x + v_load_n(bias + j, n_tokens - j) : x);
    }
    row.factor = log2_e;
    if (s->slopes)
      for (int64_t j = 0; j < n_tokens; j++) scores[j] -= s->slopes[head] * fabsf((float)(low + j - i));
    for (int64_t j = 0; j < cq_attention_first(s, i) - low; j++) scores[j] = -INFINITY;
    for (int64_t j = cq_attention_end(s, i) - low; j < n_tokens; j++) scores[j] = -INFINITY;
  }
  return row;
}

/* The shift that makes the maximum exponent 0. */
INLINE void shift_below_zero(score_row *row) {
  vf max = v_set(-INFINITY);
  int64_t j = 0;
  for (; j + LANES <= row->n_tokens; j += LANES) max = v_max_of(max, v_load(row->scores + j));
  if (j < row->n_tokens) max = v_max_of(max, v_fill_tail(v_load(row->scores + j), row->n_tokens - j, -INFINITY));
  row->shift = -(v_reduce_max(max) * row->factor);
}

INLINE vf exponential_at(const score_row *row, int64_t j) {
  return v_exp2(v_fma(v_load(row->scores + j), v_set(row->factor), v_set(row->shift)));
}
/* x scaled where dropout keeps the element, else 0. */
INLINE vf kept_at(const score_row *row, int64_t j, vf x) {
  return v_where_kept(v_dropout_bits(row->key, row->first + (uint32_t)j), row->rule.threshold,
                      x * v_set(row->rule.factor));
}

/* Replaces the scores by exponentials, with dropout; returns the sum before dropout. */
INLINE float exponentials(const score_row *row, bool drops) {
  vf sum = v_set(0.0f);
  int64_t j = 0;
  for (; j + LANES <= row->n_tokens; j += LANES) {
    vf e = exponential_at(row, j);
    sum += e;
    v_store(row->scores + j, drops ? kept_at(row, j, e) : e);
  }
  if (j < row->n_tokens) {
    vf e = exponential_at(row, j);
    sum += v_fill_tail(e, row->n_tokens - j, 0.0f);
    v_store(row->scores + j, drops ? kept_at(row, j, e) : e);
  }
  return v_sum(sum);
}

/* One for each row of a tile, in whole vectors. */
enum { TILE_SUMS = (TILE_ROWS + LANES - 1) / LANES * LANES };

/* Turns a tile's rows of scores, from row `first` of the head on, into exponentials; sum: one per row. Each step runs
 * over all rows before the next step: one row's horizontal sum then overlaps with another row's work. */
INLINE void softmax_tile(float sum[TILE_SUMS], float shift[TILE_SUMS], const cq_attention_shape *s, float *scores,
                         int64_t wide, int64_t head, int64_t first, int64_t height, int64_t low, int64_t high) {
  score_row row[TILE_ROWS];
  for (int64_t r = 0; r < height; r++) {
    row[r] = score_row_at(s, scores + r * wide, head, first + r, low, high);
    shift_below_zero(&row[r]);
  }
  for (int64_t r = 0; r < height; r++) {
    sum[r] = s->dropout.rate > 0 ? exponentials(&row[r], true) : exponentials(&row[r], false);
    shift[r] = row[r].shift;
  }
}

/* A tile of values weighted by exponentials, divided by the sums of the exponentials. */
INLINE void divide_tile(float *out, int64_t stride, const float *sum, int64_t height, int64_t dim) {
  for (int64_t r = 0; r < height; r++, out += stride) {
    const vf share = v_set(1.0f / sum[r]);
    for (int64_t d = 0; d < dim; d += LANES) v_store_n(out + d, v_load_n(out + d, dim - d) * share, dim - d);
  }
}
