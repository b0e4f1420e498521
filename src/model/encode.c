/* Running an encoder: ids (token_ids.c) -> blocks of whole sequences -> vectors.
 *
 * Sequences are divided, in order, into blocks of about BLOCK_TOKENS tokens, or fewer if threads would be idle. One
 * worker runs a block through all modules: the stack has no barriers, and a sentence's arithmetic is the same in every
 * block. */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "model/encoder.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_TOKENS     256
#define MIN_BLOCK_TOKENS 64 /* fewer are not worth a second thread, which would mostly read the weights */

static void free_worker(void *object) {
  cq_worker *w = object;
  cq_workspace_free(&w->workspace);
  cq_free(w);
}

/* Workers are kept with the context between calls: a call that finds enough of them allocates nothing. */
static const cq_spare_kind worker_kind = {free_worker};

/* NULL: out of memory. */
static cq_worker *take_worker(cq_context *ctx, const cq_encoder *encoder) {
  cq_worker *w = cq_context_take(ctx, &worker_kind);
  if (!w) w = cq_alloc_zeroed(sizeof *w);
  if (w) w->kernels = encoder->kernels;
  return w;
}

static void put_worker(cq_context *ctx, cq_worker *w) {
  if (w) cq_context_put(ctx, &worker_kind, w, sizeof *w + cq_workspace_bytes(&w->workspace));
}

/* One call's state, in the calling thread's workspace. The first round's items are runs of sentences to tokenize, the
 * second round's are blocks to compute. */
typedef struct encoding {
  const cq_encoder *encoder;
  cq_encode_options options;
  const cq_slice *sentences;
  const cq_slice *queries; /* the sentences are these queries' passages; NULL: they are sentences, or pairs in one */
  size_t query_step;       /* 1; 0: all have the same query */
  size_t n;
  cq_context *ctx;
  /* the calling thread's worker, worker 0; other workers are taken for each item */
  cq_worker *worker;
  cq_text_memory *text;
  cq_slice prompt;
  int32_t n_prompt; /* tokens pooling leaves out; 0: none */

  cq_ids *ids; /* one per run of sentences; the first run's are text->ids */
  int64_t *lengths;
  int32_t *second; /* cq_batch's; NULL: no pairs */
  bool *truncated;

  const int32_t *flat;
  int64_t *starts;      /* [n + 1] into flat */
  size_t *block_starts; /* [n_blocks + 1] sentences */
  size_t n_blocks;
  float *out;
  cq_tensor states; /* data NULL: not wanted */
  int64_t dim;
  size_t n_token_modules; /* a vector for each token, of these modules; 0: for each sentence */
} encoding;

enum { RUN = 64 }; /* sentences tokenized in one go */

static cq_status tokenize_run(void *context, size_t item, int worker, cq_error *error) {
  encoding *e = context;
  cq_text_memory *m = worker ? cq_text_memory_take(e->ctx) : e->text;
  cq_status status = m ? CQ_OK : cq_fail_memory(error, "token ids");
  const size_t last = (item + 1) * RUN < e->n ? (item + 1) * RUN : e->n;
  for (size_t s = item * RUN; !status && s < last; s++) {
    cq_slice text = e->sentences[s];
    const size_t before = e->ids[item].n;
    if (e->second) {
      cq_slice pair[] = {e->queries ? e->queries[s * e->query_step] : text, text};
      if (!e->queries) status = cq_pair_split(pair, text, error);
      if (!status)
        status = cq_encoder_tokenize_pair(&e->ids[item], &e->second[s], e->encoder, m->tokens, pair, &e->truncated[s],
                                          error);
    } else {
      status = cq_prepend_prompt(&text, m, e->prompt, error);
      if (!status) status = cq_encoder_tokenize(&e->ids[item], e->encoder, m->tokens, text, &e->truncated[s], error);
    }
    e->lengths[s] = (int64_t)(e->ids[item].n - before);
  }
  if (worker) cq_text_memory_put(e->ctx, m);
  return status;
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
                          .second = e->second ? e->second + first : NULL,
                          .final = e->states.data ? cq_tensor_rows(e->states, (int64_t)first, (int64_t)n) : e->states};
  cq_tensor y;
  const size_t n_modules = e->n_token_modules ? e->n_token_modules : e->encoder->n_modules;
  const cq_status status = cq_encoder_forward_some(worker, e->encoder, n_modules, &batch, &y, NULL, error);
  if (status) return status;
  float *rows = e->out + (e->n_token_modules ? e->starts[first] : (int64_t)first) * e->dim;
  const size_t n_rows = e->n_token_modules ? (size_t)starts[n] : n;
  for (size_t s = 0; s < n_rows; s++)
    worker->kernels->scale(rows + (int64_t)s * e->dim, cq_f32(cq_tensor_rows(y, (int64_t)s, 1)), 1.0f, e->dim);
  if (e->options.normalize) worker->kernels->normalize(rows, NULL, rows, (int64_t)n, e->dim);
  return CQ_OK;
}

static cq_status run_block(void *context, size_t item, int worker, cq_error *error) {
  encoding *e = context;
  cq_worker *w = worker ? take_worker(e->ctx, e->encoder) : e->worker;
  cq_status status;
  if (w) {
    const cq_mark mark = cq_workspace_mark(&w->workspace);
    status = encode_block(e, w, item, error);
    cq_workspace_release(&w->workspace, mark);
  } else {
    status = cq_fail_memory(error, "batch");
  }
  if (worker) put_worker(e->ctx, w);
  return status;
}

/* A small number of blocks is a multiple of the threads; otherwise, all would wait for one thread's last block. */
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
  int32_t *flat = cq_workspace_take(&e->worker->workspace, (size_t)e->starts[e->n] * sizeof *flat);
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
    if (e->options.strict) {
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

/* Arrays by sentence, run and block. */
static cq_status take_arrays(encoding *e, size_t n_runs, cq_error *error) {
  cq_workspace *w = &e->worker->workspace;
  e->ids = cq_workspace_take(w, n_runs * sizeof *e->ids);
  e->lengths = cq_workspace_take(w, e->n * sizeof *e->lengths);
  e->truncated = cq_workspace_take(w, e->n * sizeof *e->truncated);
  if (e->encoder->of_pairs && e->sentences && !(e->second = cq_workspace_take(w, e->n * sizeof *e->second)))
    return cq_fail_memory(error, "encoding");
  e->starts = cq_workspace_take(w, (e->n + 1) * sizeof *e->starts);
  e->block_starts = cq_workspace_take(w, (e->n + 1) * sizeof *e->block_starts);
  if (!e->ids || !e->lengths || !e->truncated || !e->starts || !e->block_starts)
    return cq_fail_memory(error, "encoding");
  memset(e->ids, 0, n_runs * sizeof *e->ids);
  return CQ_OK;
}

static cq_status encode_sentences(encoding *e, cq_encode_stats *stats, cq_error *error) {
  const size_t n_runs = (e->n + RUN - 1) / RUN;
  cq_status status = take_arrays(e, n_runs, error);
  if (status) return status;
  e->ids[0] = e->text->ids, e->ids[0].n = 0;
  status = cq_context_try(e->ctx, n_runs, tokenize_run, e, error);
  if (!status) status = make_blocks(e, n_runs, error);
  e->text->ids = e->ids[0];
  for (size_t r = 1; r < n_runs; r++) cq_free(e->ids[r].ids);
  if (!status) status = count_truncated(e, stats, error);
  return status ? status : cq_context_try(e->ctx, e->n_blocks, run_block, e, error);
}

int cq_encoder_encode_dim(const cq_encoder *encoder, const cq_encode_options *options) {
  const int full = cq_encoder_full_dim(encoder), kept = options ? options->truncate_dim : 0;
  return kept <= 0 ? cq_encoder_dim(encoder) : kept < full ? kept : full; /* more is refused by encoding */
}

static cq_status begin_encoding(encoding *e, const cq_encode_options *options, cq_error *error) {
  cq_status status = cq_encoder_take_options(&e->options, e->encoder, options, error);
  if (!status && e->sentences) status = cq_check_sentences(e->sentences, e->n, error);
  if (status) return status;
  e->dim = cq_encoder_encode_dim(e->encoder, &e->options);
  e->worker = take_worker(e->ctx, e->encoder);
  e->text = cq_text_memory_take(e->ctx);
  if (!e->worker || !e->text) return cq_fail_memory(error, "encoding");
  return cq_encoder_prompt(&e->prompt, &e->n_prompt, e->encoder, &e->options, e->text, error);
}

static void end_encoding(encoding *e) {
  if (e->worker) cq_workspace_release(&e->worker->workspace, (cq_mark){0, 0});
  put_worker(e->ctx, e->worker);
  cq_text_memory_put(e->ctx, e->text);
}

cq_status cq_encoder_encode_states(float *out, cq_tensor states, cq_encode_stats *stats, const cq_encoder *encoder,
                                   const cq_slice *sentences, size_t n, const cq_encode_options *options,
                                   cq_context *ctx, cq_error *error) {
  encoding e = {.encoder = encoder, .sentences = sentences, .n = n, .ctx = ctx, .out = out, .states = states};
  cq_status status = begin_encoding(&e, options, error);
  if (!status && n > 0) status = encode_sentences(&e, stats, error);
  end_encoding(&e);
  cq_encoder_tell_decomposed(encoder);
  return status;
}

cq_status cq_encoder_encode_pairs(float *out, cq_encode_stats *stats, const cq_encoder *encoder,
                                  const cq_slice *queries, size_t query_step, const cq_slice *passages, size_t n,
                                  cq_context *ctx, cq_error *error) {
  encoding e = {.encoder = encoder,
                .sentences = passages,
                .queries = queries,
                .query_step = query_step,
                .n = n,
                .ctx = ctx,
                .out = out};
  cq_status status = n > 0 ? begin_encoding(&e, NULL, error) : CQ_OK;
  if (!status && n > 0) status = encode_sentences(&e, stats, error);
  end_encoding(&e);
  return status;
}

/* ---- ids instead of text ---- */

static cq_status check_ids(const encoding *e, const int32_t *ids, const size_t *starts, cq_error *error) {
  const cq_module *text = cq_encoder_text_module(e->encoder);
  const int64_t n_ids = cq_tokenizer_describe(text->tokenizer)->vocab_size;
  const size_t max = (size_t)e->encoder->max_seq_length, min = text->add_special || e->n_prompt ? 1 : 0;
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < e->n; i++) {
    const size_t length = starts[i + 1] - starts[i];
    if (length < min + (size_t)e->n_prompt)
      status = cq_fail(error, CQ_ERR_ARGUMENT, "sequence %zu has %zu tokens, expected at least %zu", i + 1, length,
                       min + (size_t)e->n_prompt);
    else if (max && length > max)
      status = cq_fail(error, CQ_ERR_LIMIT, "sequence %zu has %zu tokens, the model takes %zu", i + 1, length, max);
    for (size_t t = starts[i]; !status && t < starts[i + 1]; t++) {
      if (ids[t] < 0 || ids[t] >= n_ids)
        status = cq_fail(error, CQ_ERR_ARGUMENT, "token %zu of sequence %zu is %d, expected 0 to %lld",
                         t - starts[i] + 1, i + 1, (int)ids[t], (long long)n_ids - 1);
    }
    if (status && error) error->line = i + 1;
  }
  return status;
}

static cq_status encode_ids(encoding *e, const int32_t *ids, const size_t *starts, const cq_encode_options *options,
                            cq_error *error) {
  static const int32_t none; /* the texts may all be without tokens */
  cq_status status = begin_encoding(e, options, error);
  if (e->n_token_modules) e->dim = cq_encoder_token_dim(e->encoder);
  if (!status && e->n > 0) status = check_ids(e, ids, starts, error);
  if (!status && e->n > 0) status = take_arrays(e, 1, error);
  if (!status && e->n > 0) {
    for (size_t s = 0; s <= e->n; s++) e->starts[s] = (int64_t)(starts[s] - starts[0]);
    e->flat = (ids ? ids : &none) + starts[0];
    divide_blocks(e);
    status = cq_context_try(e->ctx, e->n_blocks, run_block, e, error);
  }
  end_encoding(e);
  return status;
}

cq_status cq_encoder_encode_ids(float *out, const cq_encoder *encoder, const int32_t *ids, const size_t *starts,
                                size_t n, const cq_encode_options *options, cq_context *ctx, cq_error *error) {
  encoding e = {.encoder = encoder, .n = n, .ctx = ctx, .out = out};
  return encode_ids(&e, ids, starts, options, error);
}

static size_t count_token_modules(const cq_encoder *encoder) {
  size_t n = 0;
  while (n < encoder->n_modules && !encoder->modules[n]->output_is_sentence) n++;
  return n;
}

int cq_encoder_token_dim(const cq_encoder *encoder) {
  const size_t n = count_token_modules(encoder);
  return n ? (int)encoder->modules[n - 1]->output_dim : 0;
}

cq_status cq_encoder_token_vectors(float *out, const cq_encoder *encoder, const int32_t *ids, const size_t *starts,
                                   size_t n, cq_context *ctx, cq_error *error) {
  encoding e = {.encoder = encoder, .n = n, .ctx = ctx, .out = out};
  if (!(e.n_token_modules = count_token_modules(encoder)))
    return cq_fail(error, CQ_ERR_UNSUPPORTED, "the model has no vectors of single tokens");
  return encode_ids(&e, ids, starts, NULL, error);
}

cq_status cq_check_vectors(const float *vectors, size_t dim, const cq_slice *texts, size_t n, cq_error *error) {
  for (size_t i = 0; i < n * dim; i++)
    if (!isfinite(vectors[i]))
      return cq_fail(error, CQ_ERR_ARGUMENT, "the model gives a vector with a number that is not finite for '%.*s'",
                     (int)cq_min(texts[i / dim].n, (size_t)200), texts[i / dim].data);
  return CQ_OK;
}

void cq_encoder_tell_truncated(const cq_encoder *e, uint64_t n_truncated, uint64_t n) {
  char text[160];
  if (n_truncated == 0 || !e->notice) return;
  snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64 " sentences were longer than %d tokens and were truncated",
           n_truncated, n, cq_encoder_max_seq_length(e));
  e->notice(e->notice_context, text);
}

void cq_encoder_tell_decomposed(const cq_encoder *e) {
  if (e->decomposed && atomic_compare_exchange_strong(e->decomposed, &(int){CQ_FORM_SEEN}, CQ_FORM_TOLD))
    e->notice(e->notice_context,
              "decomposed text (Unicode NFD, common on a Mac) has other vectors than composed text in this model; "
              "the option 'compose' makes them equal (an index takes it when it is made)");
}
