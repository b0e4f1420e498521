/* Running an encoder: text -> ids -> blocks of whole sequences -> vectors.
 *
 * Sequences are divided, in order, into blocks of about BLOCK_TOKENS tokens, fewer where threads would idle. One worker
 * takes a block through all modules: no barrier inside the stack, and a sentence's arithmetic is the same in every
 * block. */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/utf8.h"
#include "model/encoder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_TOKENS     256
#define MIN_BLOCK_TOKENS 64 /* fewer are not worth a second thread: most of their time is reading the weights */

/* ---- text to ids ---- */

cq_status cq_encoder_tokenize(cq_ids *out, const cq_encoder *encoder, cq_token_memory *memory, cq_slice sentence,
                              bool *truncated, cq_error *error) {
  const cq_module *text = cq_encoder_text_module(encoder);
  if (text->type->tokenize)
    return text->type->tokenize(out, text, memory, sentence, (size_t)encoder->max_seq_length, truncated, error);
  return cq_tokenizer_encode(out, text->tokenizer, memory, sentence, text->add_special, (size_t)encoder->max_seq_length,
                             truncated, error);
}

/* ---- encode ---- */

#define O cq_encode_options
static const cq_option option_rows[] = {
    CQ_PROMPT_ROW(O),
    {CQ_TEXT(O, "prompt-name", prompt_name, CHANGES, "NAME", "use the model's prompt of this name")},
    {CQ_FLAG(O, "normalize", normalize, CHANGES, "scale each vector to length 1"), .letter = 'n'},
    {CQ_INT(O, "truncate-dim", truncate_dim, CHANGES, 0, 0, 0, "N", "keep the first N dimensions"),
     .otherwise = "the model's"},
    {CQ_FLAG(O, "strict", strict, KEEPS,
             "fail at a sentence longer than the maximum sequence length, instead of truncating it")},
};
#undef O

static cq_status check_encode(const void *options, cq_error *error) {
  const cq_encode_options *o = options;
  if (!o->prompt || !o->prompt_name) return CQ_OK;
  return cq_fail(error, CQ_ERR_ARGUMENT, "prompt and prompt-name exclude each other");
}

const cq_option_group cq_group_encode = {
    .name = "encode", CQ_ROWS(cq_encode_options, option_rows), .check = check_encode};

/* What a thread encodes with, kept with the context from call to call: a call that finds some allocates nothing. */
typedef struct encode_memory {
  cq_worker worker;
  cq_token_memory *tokens;
  cq_builder with_prompt;
  cq_ids ids;
} encode_memory;

static void encode_memory_free(void *object) {
  encode_memory *m = object;
  cq_workspace_free(&m->worker.workspace);
  cq_token_memory_free(m->tokens);
  cq_builder_free(&m->with_prompt);
  cq_free(m->ids.ids);
  cq_free(m);
}

static const cq_spare_kind encode_memory_kind = {encode_memory_free};

/* NULL: out of memory. */
static encode_memory *take_memory(cq_context *ctx, const cq_encoder *encoder) {
  encode_memory *m = cq_context_take(ctx, &encode_memory_kind);
  if (!m && (m = cq_alloc_zeroed(sizeof *m)) && !(m->tokens = cq_token_memory_new())) cq_free(m), m = NULL;
  if (m) m->worker.kernels = encoder->kernels;
  return m;
}

static void put_memory(cq_context *ctx, encode_memory *m) {
  cq_context_put(ctx, &encode_memory_kind, m,
                 sizeof *m + cq_workspace_bytes(&m->worker.workspace) + cq_token_memory_bytes(m->tokens) +
                     m->with_prompt.capacity + m->ids.capacity * sizeof *m->ids.ids);
}

/* One call's state, in the calling thread's workspace. Items of the first round are runs of sentences to tokenize,
 * those of the second are blocks to compute. */
typedef struct encoding {
  const cq_encoder *encoder;
  const cq_encode_options *options;
  const cq_slice *sentences;
  size_t n;
  cq_context *ctx;
  encode_memory *memory; /* the calling thread's, worker 0; other workers take theirs for each item */
  cq_slice prompt;
  int32_t n_prompt; /* tokens pooling leaves out; 0: none */

  cq_ids *ids; /* one a run of sentences; the first run's are kept in memory */
  int64_t *lengths;
  bool *truncated;

  const int32_t *flat;
  int64_t *starts;      /* [n + 1] into flat */
  size_t *block_starts; /* [n_blocks + 1] sentences */
  size_t n_blocks;
  float *out;
  cq_tensor states; /* data NULL: not wanted */
  int64_t dim;

  cq_status *status; /* one an item: the first in order is reported, whichever thread met it */
  cq_error *errors;  /* one a worker */
  size_t *error_items;
} encoding;

enum { RUN = 64 }; /* sentences tokenized in one go */

static void fail_item(encoding *e, size_t item, int worker, cq_status status, const cq_error *error) {
  e->status[item] = status;
  if (item < e->error_items[worker]) {
    e->error_items[worker] = item;
    e->errors[worker] = *error;
  }
}

static cq_status first_failure(const encoding *e, size_t n_items, int n_workers, cq_error *error) {
  for (size_t i = 0; i < n_items; i++) {
    if (!e->status[i]) continue;
    for (int w = 0; w < n_workers; w++) {
      if (e->error_items[w] == i && error) *error = e->errors[w];
    }
    return e->status[i];
  }
  return CQ_OK;
}

static encode_memory *memory_of(const encoding *e, int worker) {
  return worker == 0 ? e->memory : take_memory(e->ctx, e->encoder);
}

static void done_with(const encoding *e, int worker, encode_memory *m) {
  if (worker > 0 && m) put_memory(e->ctx, m);
}

static void tokenize_run(void *context, size_t item, int worker) {
  encoding *e = context;
  encode_memory *m = memory_of(e, worker);
  cq_error error = {0};
  cq_status status = m ? CQ_OK : cq_fail_memory(&error, "token ids");
  const size_t last = (item + 1) * RUN < e->n ? (item + 1) * RUN : e->n;
  for (size_t s = item * RUN; !status && s < last; s++) {
    cq_slice text = e->sentences[s];
    if (e->prompt.n) {
      cq_builder_clear(&m->with_prompt);
      cq_builder_bytes(&m->with_prompt, e->prompt.data, e->prompt.n);
      cq_builder_bytes(&m->with_prompt, text.data, text.n);
      if (m->with_prompt.failed) {
        status = cq_fail_memory(&error, "prompt");
        break;
      }
      text = (cq_slice){m->with_prompt.data, m->with_prompt.n};
    }
    const size_t before = e->ids[item].n;
    status = cq_encoder_tokenize(&e->ids[item], e->encoder, m->tokens, text, &e->truncated[s], &error);
    e->lengths[s] = (int64_t)(e->ids[item].n - before);
  }
  done_with(e, worker, m);
  if (status) fail_item(e, item, worker, status, &error);
}

/* The vectors of a block's sentences. */
static cq_status encode_block(encoding *e, cq_worker *worker, size_t block, cq_error *error) {
  const size_t first = e->block_starts[block], n = e->block_starts[block + 1] - first;
  int64_t *starts = cq_workspace_take(&worker->workspace, (n + 1) * sizeof *starts);
  int32_t *skip = cq_workspace_take(&worker->workspace, (n + 1) * sizeof *skip);
  if (!starts || !skip) return cq_fail_memory(error, "batch");
  for (size_t s = 0; s <= n; s++) {
    starts[s] = e->starts[first + s] - e->starts[first];
    skip[s] = e->n_prompt;
  }
  const cq_batch batch = {.ids = e->flat + e->starts[first],
                          .starts = starts,
                          .n_seqs = (int64_t)n,
                          .skip = e->n_prompt ? skip : NULL,
                          .final = e->states.data ? cq_tensor_rows(e->states, (int64_t)first, (int64_t)n) : e->states};
  cq_tensor y;
  const cq_status status = cq_encoder_forward(worker, e->encoder, &batch, &y, NULL, error);
  if (status) return status;
  float *rows = e->out + (int64_t)first * e->dim;
  for (size_t s = 0; s < n; s++)
    worker->kernels->scale(rows + (int64_t)s * e->dim, cq_f32(cq_tensor_rows(y, (int64_t)s, 1)), 1.0f, e->dim);
  if (e->options->normalize) worker->kernels->normalize(rows, NULL, rows, (int64_t)n, e->dim);
  return CQ_OK;
}

static void run_block(void *context, size_t item, int worker) {
  encoding *e = context;
  encode_memory *m = memory_of(e, worker);
  cq_error error = {0};
  cq_status status;
  if (m) {
    const cq_mark mark = cq_workspace_mark(&m->worker.workspace);
    status = encode_block(e, &m->worker, item, &error);
    cq_workspace_release(&m->worker.workspace, mark);
    done_with(e, worker, m);
  } else {
    status = cq_fail_memory(&error, "batch");
  }
  if (status) fail_item(e, item, worker, status, &error);
}

/* Tokens at a sequence's start that are the prompt's: its own ids, the closing special token not counted. */
static cq_status count_prompt(int32_t *out, const cq_encoder *encoder, cq_slice prompt, cq_ids *ids,
                              cq_token_memory *memory, cq_error *error) {
  bool truncated;
  const cq_module *text = cq_encoder_text_module(encoder);
  ids->n = 0;
  cq_status status = cq_encoder_tokenize(ids, encoder, memory, prompt, &truncated, error);
  if (status) return status;
  const cq_tokenizer_info *info = cq_tokenizer_describe(text->tokenizer);
  const bool closed = ids->n && text->add_special && info->sep_id >= 0 && ids->ids[ids->n - 1] == info->sep_id;
  *out = (int32_t)(ids->n - closed);
  return CQ_OK;
}

static cq_status find_prompt(cq_slice *out, int32_t *n_left_out, const cq_encoder *encoder, const cq_encode_options *o,
                             cq_ids *ids, cq_token_memory *memory, cq_error *error) {
  const char *text = o->prompt, *name = o->prompt_name ? o->prompt_name : encoder->task_prompt_name;
  if (!name) name = encoder->default_prompt_name;
  *out = (cq_slice){"", 0};
  *n_left_out = 0;
  if (!text && name) {
    text = json_string_value(json_object_get(encoder->prompts, name));
    if (!text)
      return cq_fail(error, CQ_ERR_ARGUMENT, "the model %s has no prompt named '%s'", encoder->directory, name);
  }
  if (text) *out = cq_slice_of(text);
  return out->n && !encoder->include_prompt ? count_prompt(n_left_out, encoder, *out, ids, memory, error) : CQ_OK;
}

cq_status cq_encoder_prompt(cq_slice *out, int32_t *n_left_out, const cq_encoder *encoder, const cq_encode_options *o,
                            cq_error *error) {
  cq_ids ids = {0};
  const cq_status status = find_prompt(out, n_left_out, encoder, o, &ids, NULL, error);
  cq_free(ids.ids);
  return status;
}

static cq_status check_sentences(const cq_slice *sentences, size_t n, cq_error *error) {
  for (size_t s = 0; s < n; s++) {
    const size_t at = cq_utf8_invalid_at(sentences[s].data, sentences[s].n);
    if (at == sentences[s].n) continue;
    cq_status status = cq_fail(error, CQ_ERR_FORMAT, "sentence %zu is not UTF-8 at byte %zu", s + 1, at);
    if (error) error->line = s + 1;
    return status;
  }
  return CQ_OK;
}

/* Where blocks are few, there are as many for each thread: else all would wait for one thread's last block. */
static int64_t count_blocks(int64_t n_tokens, int64_t n_threads) {
  const int64_t n = n_tokens > BLOCK_TOKENS ? (n_tokens + BLOCK_TOKENS - 1) / BLOCK_TOKENS : 1;
  if (n >= 4 * n_threads) return n;
  const int64_t even = (n + n_threads - 1) / n_threads * n_threads, max = n_tokens / MIN_BLOCK_TOKENS;
  return even <= max ? even : n > max ? n : max;
}

static void divide_blocks(encoding *e) {
  const int64_t n_tokens = e->starts[e->n], n = count_blocks(n_tokens, cq_context_n_threads(e->ctx));
  e->n_blocks = 0;
  for (size_t s = 0; s < e->n;) {
    e->block_starts[e->n_blocks++] = s;
    const int64_t b = (int64_t)e->n_blocks;
    const int64_t end = b < n ? b * (n_tokens / n) + b * (n_tokens % n) / n : INT64_MAX;
    do s++;
    while (s < e->n && (e->starts[s] + e->starts[s + 1]) / 2 < end); /* more of the sentence lies before the end */
  }
  e->block_starts[e->n_blocks] = e->n;
}

/* Joins the runs' ids, and divides the sequences into blocks. */
static cq_status make_blocks(encoding *e, size_t n_runs, cq_error *error) {
  e->starts[0] = 0;
  for (size_t s = 0; s < e->n; s++) e->starts[s + 1] = e->starts[s] + e->lengths[s];
  int32_t *flat = cq_workspace_take(&e->memory->worker.workspace, (size_t)e->starts[e->n] * sizeof *flat);
  if (!flat) return cq_fail_memory(error, "token ids");
  for (size_t r = 0; r < n_runs; r++) {
    if (e->ids[r].n) memcpy(flat + e->starts[r * RUN], e->ids[r].ids, e->ids[r].n * sizeof *flat);
  }
  e->flat = flat;
  divide_blocks(e);
  return CQ_OK;
}

static cq_status count_truncated(const encoding *e, cq_encode_stats *stats, cq_error *error) {
  bool first = true;
  for (size_t s = 0; s < e->n; s++) {
    if (!e->truncated[s]) continue;
    if (e->options->strict) {
      cq_status status = cq_fail(error, CQ_ERR_LIMIT, "sentence %zu is longer than the model's %d tokens", s + 1,
                                 e->encoder->max_seq_length);
      if (error) error->line = s + 1;
      return status;
    }
    if (!stats) continue;
    if (first) stats->first_truncated = s;
    first = false;
    stats->n_truncated++;
  }
  if (stats) {
    stats->n_sentences += e->n;
    stats->n_tokens += (uint64_t)e->starts[e->n];
  }
  return CQ_OK;
}

cq_status cq_encoder_encode(float *out, cq_encode_stats *stats, const cq_encoder *encoder, const cq_slice *sentences,
                            size_t n, const cq_encode_options *options, cq_context *ctx, cq_error *error) {
  return cq_encoder_encode_states(out, (cq_tensor){0}, stats, encoder, sentences, n, options, ctx, error);
}

/* Arrays by sentence, run, item and worker. */
static cq_status take_arrays(encoding *e, size_t n_runs, int n_workers, cq_error *error) {
  cq_workspace *w = &e->memory->worker.workspace;
  e->ids = cq_workspace_take(w, n_runs * sizeof *e->ids);
  e->lengths = cq_workspace_take(w, e->n * sizeof *e->lengths);
  e->truncated = cq_workspace_take(w, e->n * sizeof *e->truncated);
  e->starts = cq_workspace_take(w, (e->n + 1) * sizeof *e->starts);
  e->block_starts = cq_workspace_take(w, (e->n + 1) * sizeof *e->block_starts);
  e->status = cq_workspace_take(w, e->n * sizeof *e->status);
  e->errors = cq_workspace_take(w, (size_t)n_workers * sizeof *e->errors);
  e->error_items = cq_workspace_take(w, (size_t)n_workers * sizeof *e->error_items);
  if (!e->ids || !e->lengths || !e->truncated || !e->starts || !e->block_starts || !e->status || !e->errors ||
      !e->error_items)
    return cq_fail_memory(error, "encoding");
  memset(e->ids, 0, n_runs * sizeof *e->ids);
  memset(e->status, 0, e->n * sizeof *e->status);
  for (int i = 0; i < n_workers; i++) e->error_items[i] = SIZE_MAX;
  return CQ_OK;
}

static cq_status encode_sentences(encoding *e, cq_encode_stats *stats, int n_workers, cq_error *error) {
  const size_t n_runs = (e->n + RUN - 1) / RUN;
  cq_status status = take_arrays(e, n_runs, n_workers, error);
  if (status) return status;
  e->ids[0] = e->memory->ids, e->ids[0].n = 0;
  cq_context_run(e->ctx, n_runs, tokenize_run, e);
  status = first_failure(e, n_runs, n_workers, error);
  if (!status) status = make_blocks(e, n_runs, error);
  e->memory->ids = e->ids[0];
  for (size_t r = 1; r < n_runs; r++) cq_free(e->ids[r].ids);
  if (!status) status = count_truncated(e, stats, error);
  if (status) return status;
  cq_context_run(e->ctx, e->n_blocks, run_block, e);
  return first_failure(e, e->n_blocks, n_workers, error);
}

int cq_encoder_encode_dim(const cq_encoder *encoder, const cq_encode_options *options) {
  const int full = cq_encoder_full_dim(encoder), kept = options ? options->truncate_dim : 0;
  return kept <= 0 ? cq_encoder_dim(encoder) : kept < full ? kept : full; /* more is refused by encoding */
}

/* All that a call needs but its text; a call of cq_encoder_encode without options skips them. */
static cq_status begin_encoding(encoding *e, cq_encode_options *taken, const cq_encode_options *options,
                                cq_error *error) {
  static const cq_encode_options defaults = {.size = sizeof defaults}; /* all zero */
  const cq_status status = options ? cq_options_take(taken, &cq_group_encode, options, error) : CQ_OK;
  if (status) return status;
  e->options = options ? taken : &defaults;
  const int dim = cq_encoder_full_dim(e->encoder), kept = e->options->truncate_dim;
  if (kept > dim) return cq_fail(error, CQ_ERR_ARGUMENT, "truncate-dim is %d, expected 0 to the model's %d", kept, dim);
  e->dim = cq_encoder_encode_dim(e->encoder, e->options);
  return CQ_OK;
}

static cq_status begin_prompt(encoding *e, cq_error *error) {
  e->memory = take_memory(e->ctx, e->encoder);
  if (!e->memory) return cq_fail_memory(error, "encoding");
  return find_prompt(&e->prompt, &e->n_prompt, e->encoder, e->options, &e->memory->ids, e->memory->tokens, error);
}

static void end_encoding(encoding *e) {
  if (!e->memory) return;
  cq_workspace_release(&e->memory->worker.workspace, (cq_mark){0, 0});
  put_memory(e->ctx, e->memory);
}

cq_status cq_encoder_encode_states(float *out, cq_tensor states, cq_encode_stats *stats, const cq_encoder *encoder,
                                   const cq_slice *sentences, size_t n, const cq_encode_options *options,
                                   cq_context *ctx, cq_error *error) {
  encoding e = {.encoder = encoder, .sentences = sentences, .n = n, .ctx = ctx, .out = out, .states = states};
  cq_encode_options taken;
  cq_status status = begin_encoding(&e, &taken, options, error);
  if (!status) status = check_sentences(sentences, n, error);
  if (!status) status = begin_prompt(&e, error);
  if (!status && n > 0) status = encode_sentences(&e, stats, cq_context_n_threads(ctx), error);
  end_encoding(&e);
  return status;
}

/* ---- ids that somebody has already ---- */

static cq_status fail_sequence(cq_error *error, cq_status status, size_t i) {
  if (error) error->line = i + 1;
  return status;
}

static cq_status check_ids(const encoding *e, const int32_t *ids, const size_t *starts, cq_error *error) {
  const cq_module *text = cq_encoder_text_module(e->encoder);
  const int64_t n_ids = cq_tokenizer_describe(text->tokenizer)->vocab_size;
  const size_t max = (size_t)e->encoder->max_seq_length, min = text->add_special || e->n_prompt ? 1 : 0;
  for (size_t i = 0; i < e->n; i++) {
    const size_t length = starts[i + 1] - starts[i];
    if (length < min + (size_t)e->n_prompt)
      return fail_sequence(error,
                           cq_fail(error, CQ_ERR_ARGUMENT, "sequence %zu has %zu tokens, expected at least %zu", i + 1,
                                   length, min + (size_t)e->n_prompt),
                           i);
    if (max && length > max)
      return fail_sequence(
          error, cq_fail(error, CQ_ERR_LIMIT, "sequence %zu has %zu tokens, the model takes %zu", i + 1, length, max),
          i);
    for (size_t t = starts[i]; t < starts[i + 1]; t++) {
      if (ids[t] >= 0 && ids[t] < n_ids) continue;
      return fail_sequence(error,
                           cq_fail(error, CQ_ERR_ARGUMENT, "token %zu of sequence %zu is %d, expected 0 to %lld",
                                   t - starts[i] + 1, i + 1, (int)ids[t], (long long)n_ids - 1),
                           i);
    }
  }
  return CQ_OK;
}

cq_status cq_encoder_encode_ids(float *out, const cq_encoder *encoder, const int32_t *ids, const size_t *starts,
                                size_t n, const cq_encode_options *options, cq_context *ctx, cq_error *error) {
  encoding e = {.encoder = encoder, .n = n, .ctx = ctx, .out = out};
  cq_encode_options taken;
  const int n_workers = cq_context_n_threads(ctx);
  cq_status status = begin_encoding(&e, &taken, options, error);
  if (!status) status = begin_prompt(&e, error);
  if (!status && n > 0) status = check_ids(&e, ids, starts, error);
  if (!status && n > 0) status = take_arrays(&e, 1, n_workers, error);
  if (!status && n > 0) {
    for (size_t s = 0; s <= n; s++) e.starts[s] = (int64_t)(starts[s] - starts[0]);
    e.flat = ids + starts[0];
    divide_blocks(&e);
    cq_context_run(ctx, e.n_blocks, run_block, &e);
    status = first_failure(&e, e.n_blocks, n_workers, error);
  }
  end_encoding(&e);
  return status;
}

/* A text's ids before truncation are cut into windows behind what every sequence begins with, and before what it ends
 * with. */
static cq_status append_windows(cq_token_ids *out, const cq_encoder *encoder, const cq_ids *whole, size_t n_head,
                                size_t n_tail, cq_error *error) {
  const size_t max = (size_t)encoder->max_seq_length;
  if (max && n_head + n_tail >= max) return cq_fail(error, CQ_ERR_ARGUMENT, "the prompt leaves no room for text");
  const size_t room = max ? max - n_head - n_tail : SIZE_MAX, n_before = out->n ? out->starts[out->n] : 0;
  const size_t n_inside = whole->n - n_head - n_tail, n_windows = n_inside ? (n_inside - 1) / room + 1 : 1;
  if (!cq_reserve((void **)&out->ids, &out->ids_capacity, n_before + n_inside + n_windows * (n_head + n_tail),
                  sizeof *out->ids) ||
      !cq_reserve((void **)&out->starts, &out->starts_capacity, out->n + n_windows + 1, sizeof *out->starts))
    return cq_fail_memory(error, "token ids");
  size_t at = n_before;
  out->starts[out->n] = at;
  for (size_t w = 0; w < n_windows; w++) {
    const size_t first = w * room, n = n_inside - first < room ? n_inside - first : room;
    memcpy(out->ids + at, whole->ids, n_head * sizeof *out->ids), at += n_head;
    memcpy(out->ids + at, whole->ids + n_head + first, n * sizeof *out->ids), at += n;
    memcpy(out->ids + at, whole->ids + whole->n - n_tail, n_tail * sizeof *out->ids), at += n_tail;
    out->starts[++out->n] = at;
  }
  return CQ_OK;
}

cq_status cq_token_ids_append(cq_token_ids *out, const int32_t *ids, const size_t *starts, size_t n, cq_error *error) {
  const size_t n_before = out->n ? out->starts[out->n] : 0, n_ids = starts[n] - starts[0];
  if (!cq_reserve((void **)&out->ids, &out->ids_capacity, n_before + n_ids, sizeof *out->ids) ||
      !cq_reserve((void **)&out->starts, &out->starts_capacity, out->n + n + 1, sizeof *out->starts))
    return cq_fail_memory(error, "token ids");
  if (n_ids) memcpy(out->ids + n_before, ids + starts[0], n_ids * sizeof *ids);
  for (size_t s = 0; s <= n; s++) out->starts[out->n + s] = n_before + starts[s] - starts[0];
  out->n += n;
  return CQ_OK;
}

/* memory holds the prompt with the text, if there is one. */
static cq_status append_text(cq_token_ids *out, bool *is_long, encoding *e, cq_slice text, bool windows,
                             cq_error *error) {
  encode_memory *m = e->memory;
  const cq_encoder *encoder = e->encoder;
  const cq_module *module = cq_encoder_text_module(encoder);
  int32_t n_head = 0;
  cq_status status = windows ? count_prompt(&n_head, encoder, e->prompt, &m->ids, m->tokens, error) : CQ_OK;
  if (status) return status;
  if (e->prompt.n) {
    cq_builder_clear(&m->with_prompt);
    cq_builder_bytes(&m->with_prompt, e->prompt.data, e->prompt.n);
    cq_builder_bytes(&m->with_prompt, text.data, text.n);
    if (m->with_prompt.failed) return cq_fail_memory(error, "prompt");
    text = (cq_slice){m->with_prompt.data, m->with_prompt.n};
  }
  m->ids.n = 0;
  status = cq_encoder_tokenize(&m->ids, encoder, m->tokens, text, is_long, error);
  if (status || !windows || !*is_long)
    return status ? status : cq_token_ids_append(out, m->ids.ids, (const size_t[]){0, m->ids.n}, 1, error);
  m->ids.n = 0; /* again, and all of it */
  bool ignored;
  status = module->type->tokenize ? module->type->tokenize(&m->ids, module, m->tokens, text, 0, &ignored, error)
                                  : cq_tokenizer_encode(&m->ids, module->tokenizer, m->tokens, text,
                                                        module->add_special, 0, &ignored, error);
  if (status) return status;
  const cq_tokenizer_info *info = cq_tokenizer_describe(module->tokenizer);
  const size_t n_tail =
      m->ids.n && module->add_special && info->sep_id >= 0 && m->ids.ids[m->ids.n - 1] == info->sep_id;
  return append_windows(out, encoder, &m->ids, cq_min((size_t)n_head, m->ids.n - n_tail), n_tail, error);
}

cq_status cq_encoder_token_ids(cq_token_ids *out, bool *is_long, const cq_encoder *encoder, cq_slice text,
                               cq_long_text long_text, const cq_encode_options *options, cq_context *ctx,
                               cq_error *error) {
  encoding e = {.encoder = encoder, .ctx = ctx};
  cq_encode_options taken;
  bool longer = false;
  cq_status status = begin_encoding(&e, &taken, options, error);
  if (!status) status = check_sentences(&text, 1, error);
  if (!status) status = begin_prompt(&e, error);
  if (!status) status = append_text(out, &longer, &e, text, long_text == CQ_LONG_WINDOWS, error);
  if (!status && is_long) *is_long = longer;
  end_encoding(&e);
  return status;
}

void cq_token_ids_free(cq_token_ids *ids) {
  if (!ids) return;
  cq_free(ids->ids);
  cq_free(ids->starts);
  *ids = (cq_token_ids){0};
}

bool cq_encoder_token(cq_slice *text, bool *special, const cq_encoder *encoder, int32_t id) {
  const cq_tokenizer *tokenizer = cq_encoder_text_module(encoder)->tokenizer;
  cq_piece_kind kind;
  if (!tokenizer || !cq_tokenizer_piece(text, &kind, tokenizer, id)) return false;
  if (special) *special = kind == CQ_PIECE_SPECIAL;
  return true;
}

int64_t cq_encoder_vocab_size(const cq_encoder *encoder) {
  const cq_module *text = cq_encoder_text_module(encoder);
  return text->tokenizer ? cq_tokenizer_describe(text->tokenizer)->vocab_size
                         : cq_encoder_word_table(NULL, encoder)->rows;
}

const cq_param *cq_encoder_word_table(const int32_t **row_of, const cq_encoder *encoder) {
  const cq_module *text = cq_encoder_text_module(encoder);
  if (row_of) *row_of = text->row_of;
  for (size_t i = 0; i < text->n_params; i++)
    if (text->params[i].table) return &text->params[i];
  return NULL;
}

void cq_encoder_tell_truncated(const cq_encoder *e, uint64_t n_truncated, uint64_t n) {
  char text[160];
  if (n_truncated == 0 || !e->notice) return;
  snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64 " sentences were longer than %d tokens and were truncated",
           n_truncated, n, cq_encoder_max_seq_length(e));
  e->notice(e->notice_context, text);
}
