/* Splits a batch into shards with similar numbers of tokens, and runs passes over them. See shards.h. */
#include "train/shards.h"

#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

#include <string.h>

/* --- a column of sentences --- */

static cq_status make_sequence_room(cq_sequences *s, size_t n, int64_t dim, int64_t states_width, bool of_pairs,
                                    cq_error *error) {
  assert(s->capacity == 0 || (s->dim == dim && s->states_width == states_width));
  s->dim = dim, s->states_width = states_width;
  if (s->starts && n <= s->capacity) return CQ_OK;
  cq_free(s->starts);
  cq_free(s->second);
  cq_free(s->vectors);
  cq_free(s->gradient);
  cq_free(s->states);
  s->starts = cq_alloc_array(n + 1, sizeof *s->starts);
  s->second = of_pairs ? cq_alloc_array(n, sizeof *s->second) : NULL;
  s->vectors = cq_alloc_array(n, (size_t)dim * sizeof *s->vectors);
  s->gradient = cq_alloc_array(n, (size_t)dim * sizeof *s->gradient);
  s->states = cq_alloc_array(2 * n, (size_t)states_width * sizeof *s->states);
  const bool made = s->starts && (s->second || !of_pairs) && s->vectors && s->gradient && s->states;
  s->capacity = made ? n : 0;
  if (made) return CQ_OK;
  cq_free(s->starts);
  s->starts = NULL; /* the rest is made again with it */
  return cq_fail_memory(error, "batch");
}

static cq_status tokenize_sequence(cq_sequences *s, const cq_encoder *encoder, cq_slice text, size_t i,
                                   uint64_t *n_truncated, cq_error *error) {
  bool truncated = false;
  cq_slice pair[2];
  if (s->prompt.n) {
    cq_builder_clear(&s->with_prompt);
    cq_builder_bytes(&s->with_prompt, s->prompt.data, s->prompt.n);
    cq_builder_bytes(&s->with_prompt, text.data, text.n);
    if (s->with_prompt.failed) return cq_fail_memory(error, "prompt");
    text = (cq_slice){s->with_prompt.data, s->with_prompt.n};
  }
  cq_status status = s->second ? cq_pair_split(pair, text, error)
                               : cq_encoder_tokenize(&s->ids, encoder, s->token, text, &truncated, error);
  if (!status && s->second)
    status = cq_encoder_tokenize_pair(&s->ids, &s->second[i], encoder, s->token, pair, &truncated, error);
  if (n_truncated) *n_truncated += truncated;
  return status;
}

cq_status cq_sequences_fill(cq_sequences *s, const cq_encoder *encoder, const cq_slice *texts, size_t n,
                            int64_t states_width, uint64_t *n_truncated, cq_error *error) {
  const size_t width = (size_t)states_width;
  cq_status status = make_sequence_room(s, n, cq_encoder_full_dim(encoder), states_width, encoder->of_pairs, error);
  if (status) return status;
  s->ids.n = 0;
  s->starts[0] = 0;
  s->n = n;
  memset(s->states + n * width, 0, n * width * sizeof *s->states);
  if (s->piece_dropout > 0 && !s->token && !(s->token = cq_token_memory_new())) return cq_fail_memory(error, "batch");
  for (size_t i = 0; !status && i < n; i++) {
    if (s->token)
      cq_token_memory_drop_pieces(s->token, i < s->n_dropout ? s->piece_dropout : 0, cq_mix(s->dropout_key + i));
    status = tokenize_sequence(s, encoder, texts[i], i, n_truncated, error);
    s->starts[i + 1] = (int64_t)s->ids.n;
  }
  return status;
}

cq_status cq_sequences_batch(cq_batch *out, uint64_t **keys, const cq_sequences *s, size_t first, size_t n,
                             cq_worker *worker, cq_error *error) {
  int64_t *starts = cq_workspace_take(&worker->workspace, (n + 1) * sizeof *starts);
  int32_t *skip = NULL;
  if (s->n_prompt_skip) skip = cq_workspace_take(&worker->workspace, n * sizeof *skip);
  if (keys) *keys = cq_workspace_take(&worker->workspace, n * sizeof **keys);
  if (!starts || (s->n_prompt_skip && !skip) || (keys && !*keys)) return cq_fail_memory(error, "batch");
  for (size_t i = 0; i <= n; i++) starts[i] = s->starts[first + i] - s->starts[first];
  for (size_t i = 0; skip && i < n; i++) skip[i] = s->n_prompt_skip;
  *out = (cq_batch){.ids = s->ids.ids + s->starts[first],
                    .starts = starts,
                    .n_seqs = (int64_t)n,
                    .skip = skip,
                    .second = s->second ? s->second + first : NULL,
                    .keys = keys ? *keys : NULL,
                    .final = cq_sequences_states(s, first, n, false),
                    .dfinal = cq_sequences_states(s, first, n, true)};
  return CQ_OK;
}

cq_tensor cq_sequences_states(const cq_sequences *s, size_t first, size_t n, bool gradient) {
  const size_t row = (gradient ? s->n : 0) + first;
  if (s->states_width == 0) return (cq_tensor){0};
  return cq_tensor_f32(s->states + row * (size_t)s->states_width, (int64_t)n, s->states_width);
}

void cq_sequences_free(cq_sequences *s) {
  cq_token_memory_free(s->token);
  cq_free(s->ids.ids);
  cq_free(s->starts);
  cq_free(s->second);
  cq_free(s->vectors);
  cq_free(s->gradient);
  cq_free(s->states);
  cq_builder_free(&s->with_prompt);
  *s = (cq_sequences){0};
}

/* --- shards --- */

cq_status cq_shards_new(cq_shards *out, int n_shards, int n_columns, const cq_kernels *kernels,
                        const cq_exchange *exchange, cq_error *error) {
  *out = (cq_shards){.n = n_shards, .n_columns = n_columns, .exchange = exchange ? exchange : &cq_exchange_local};
  if (n_shards < 1 || n_shards > CQ_MAX_SHARDS)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%d shards, expected 1 to %d", n_shards, CQ_MAX_SHARDS);
  const size_t n = (size_t)n_shards * (size_t)n_columns;
  out->n_own = cq_exchange_shards(&out->first_own, out->exchange, n_shards);
  out->items = cq_alloc_array_zeroed(n, sizeof *out->items);
  if (!out->items) return cq_fail_memory(error, "shards");
  for (size_t i = 0; i < n; i++) {
    out->items[i].column = (int)i / n_shards, out->items[i].number = (int)i % n_shards;
    out->items[i].worker.kernels = kernels;
  }
  return CQ_OK;
}

void cq_shards_free(cq_shards *s) {
  for (int i = 0; s->items && i < s->n * s->n_columns; i++) cq_workspace_free(&s->items[i].worker.workspace);
  cq_free(s->items);
  *s = (cq_shards){0};
}

static void begin_shard(cq_shard *s, size_t first, size_t end) {
  s->first = first, s->n = end - first;
  memset(s->sums, 0, sizeof s->sums);
  cq_workspace_release(&s->worker.workspace, (cq_mark){0, 0});
}

void cq_shards_cut(cq_shards *shards, int column, const cq_sequences *q) {
  const int64_t n_tokens = (int64_t)q->ids.n, n = shards->n;
  size_t at = 0;
  for (int64_t k = 0; k < n; k++) {
    const size_t first = at;
    while (at < q->n && (k + 1 == n || q->starts[at] < n_tokens * (k + 1) / n)) at++;
    begin_shard(&shards->items[column * n + k], first, at);
  }
}

void cq_shards_cut_rows(cq_shards *shards, int column, size_t n_rows) {
  const size_t n = (size_t)shards->n;
  for (size_t k = 0; k < n; k++)
    begin_shard(&shards->items[(size_t)column * n + k], n_rows * k / n, n_rows * (k + 1) / n);
}

typedef struct running {
  cq_shards *shards;
  int column;
  cq_shard_pass pass;
  void *context;
} running;

/* This rank's i-th shard, in one column or across all. */
static cq_shard *own_shard(const cq_shards *s, int column, int i) {
  const int of = column == CQ_ALL_COLUMNS ? i / s->n_own : column;
  return &s->items[of * s->n + s->first_own + i % s->n_own];
}

static void run_shard(void *context, size_t i, int worker) {
  const running *r = context;
  cq_shard *s = own_shard(r->shards, r->column, (int)i);
  s->status = s->n ? r->pass(r->context, s, worker) : CQ_OK;
}

cq_status cq_shards_run(cq_shards *shards, int column, cq_shard_pass pass, void *context, cq_context *ctx,
                        cq_error *error) {
  running r = {shards, column, pass, context};
  const int n = shards->n_own * (column == CQ_ALL_COLUMNS ? shards->n_columns : 1);
  cq_context_run(ctx, (size_t)n, run_shard, &r);
  for (int i = 0; i < n; i++) {
    const cq_shard *s = own_shard(shards, column, i);
    if (!s->status) continue;
    if (error) *error = s->error;
    return s->status;
  }
  return CQ_OK;
}

cq_status cq_shards_sum(double sums[CQ_SHARD_SUMS], const cq_shards *shards, int column, cq_error *error) {
  double of_shard[CQ_MAX_SHARDS][CQ_SHARD_SUMS] = {0};
  for (int i = 0; i < shards->n_own; i++) {
    const cq_shard *s = own_shard(shards, column, i);
    memcpy(of_shard[s->number], s->sums, sizeof s->sums);
  }
  cq_status status =
      shards->exchange->sum_scalars(shards->exchange->context, of_shard[0], (size_t)shards->n * CQ_SHARD_SUMS, error);
  for (int i = 0; i < CQ_SHARD_SUMS; i++) {
    sums[i] = 0;
    for (int k = 0; k < shards->n; k++) sums[i] += of_shard[k][i];
  }
  return status;
}

void cq_shards_keep_own(const cq_shards *shards, int column, float *rows, int64_t width) {
  if (shards->exchange->n_ranks == 1) return;
  for (const cq_shard *s = &shards->items[column * shards->n], *end = s + shards->n; s < end; s++)
    if (s->number < shards->first_own || s->number >= shards->first_own + shards->n_own)
      memset(rows + s->first * (size_t)width, 0, s->n * (size_t)width * sizeof *rows);
}

cq_status cq_shards_share(const cq_shards *shards, int column, float *rows, int64_t width, cq_error *error) {
  const cq_shard *last = &shards->items[(column + 1) * shards->n - 1];
  cq_shards_keep_own(shards, column, rows, width);
  return shards->exchange->sum_dense(shards->exchange->context, rows, (int64_t)(last->first + last->n) * width, error);
}
