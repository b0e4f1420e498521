/* Token ids from text: encoding options, the prompt before a text, and truncation or windows. */
#include "base/context.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/utf8.h"
#include "model/encoder.h"
#include "text/unicode.h"

#include <string.h>

/* ---- options ---- */

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

cq_status cq_encoder_take_options(cq_encode_options *taken, const cq_encoder *encoder, const cq_encode_options *options,
                                  cq_error *error) {
  *taken = (cq_encode_options){.size = sizeof *taken}; /* the defaults, without a look at the table */
  const cq_status status = options ? cq_options_take(taken, &cq_group_encode, options, error) : CQ_OK;
  if (status) return status;
  const int dim = cq_encoder_full_dim(encoder), kept = taken->truncate_dim;
  return kept <= dim ? CQ_OK
                     : cq_fail(error, CQ_ERR_ARGUMENT, "truncate-dim is %d, expected 0 to the model's %d", kept, dim);
}

/* ---- what a thread tokenizes with ---- */

static void free_text_memory(void *object) {
  cq_text_memory *m = object;
  cq_token_memory_free(m->tokens);
  cq_builder_free(&m->with_prompt);
  cq_free(m->ids.ids);
  cq_free(m);
}

static const cq_spare_kind text_memory_kind = {free_text_memory};

cq_text_memory *cq_text_memory_take(cq_context *ctx) {
  cq_text_memory *m = cq_context_take(ctx, &text_memory_kind);
  if (!m && (m = cq_alloc_zeroed(sizeof *m)) && !(m->tokens = cq_token_memory_new())) cq_free(m), m = NULL;
  return m;
}

void cq_text_memory_put(cq_context *ctx, cq_text_memory *m) {
  if (m)
    cq_context_put(ctx, &text_memory_kind, m,
                   sizeof *m + cq_token_memory_bytes(m->tokens) + m->with_prompt.capacity +
                       m->ids.capacity * sizeof *m->ids.ids);
}

/* ---- a text and the prompt before it ---- */

cq_status cq_check_sentences(const cq_slice *sentences, size_t n, cq_error *error) {
  for (size_t s = 0; s < n; s++) {
    const size_t at = cq_utf8_invalid_at(sentences[s].data, sentences[s].n);
    if (at == sentences[s].n) continue;
    cq_status status = cq_fail(error, CQ_ERR_FORMAT, "sentence %zu is not UTF-8 at byte %zu", s + 1, at);
    if (error) error->line = s + 1;
    return status;
  }
  return CQ_OK;
}

static cq_status tokenize_as_is(cq_ids *out, const cq_encoder *encoder, cq_token_memory *memory, cq_slice text,
                                size_t max_length, bool *truncated, cq_error *error) {
  const cq_module *m = cq_encoder_text_module(encoder);
  return m->type->tokenize
             ? m->type->tokenize(out, m, memory, text, max_length, truncated, error)
             : cq_tokenizer_encode(out, m->tokenizer, memory, text, m->add_special, max_length, truncated, error);
}

/* A text that composing changes: its composed form's ids, or its own, noting whether they differ. */
static cq_status tokenize_decomposed(cq_ids *out, const cq_encoder *encoder, cq_token_memory *memory, cq_slice text,
                                     size_t max_length, bool *truncated, cq_error *error) {
  cq_builder composed = {0};
  cq_ids others = {0};
  const size_t first = out->n;
  cq_text_normal_form(&composed, text, CQ_NFC);
  const cq_slice form = {composed.data, composed.n};
  cq_status status = composed.failed ? cq_fail_memory(error, "composed text") : CQ_OK;
  if (!status)
    status = tokenize_as_is(out, encoder, memory, encoder->compose ? form : text, max_length, truncated, error);
  if (!status && !encoder->compose) {
    status = tokenize_as_is(&others, encoder, memory, form, max_length, NULL, error);
    if (others.n != out->n - first || memcmp(others.ids, out->ids + first, others.n * sizeof *others.ids) != 0)
      atomic_compare_exchange_strong(encoder->decomposed, &(int){CQ_FORM_NOT_SEEN}, CQ_FORM_SEEN);
  }
  cq_free(others.ids);
  cq_builder_free(&composed);
  return status;
}

static cq_status tokenize(cq_ids *out, const cq_encoder *encoder, cq_token_memory *memory, cq_slice text,
                          size_t max_length, bool *truncated, cq_error *error) {
  const bool is_of_interest = encoder->compose || (encoder->decomposed && *encoder->decomposed == CQ_FORM_NOT_SEEN);
  return is_of_interest && !cq_text_is_composed(text)
             ? tokenize_decomposed(out, encoder, memory, text, max_length, truncated, error)
             : tokenize_as_is(out, encoder, memory, text, max_length, truncated, error);
}

cq_status cq_encoder_tokenize(cq_ids *out, const cq_encoder *encoder, cq_token_memory *memory, cq_slice sentence,
                              bool *truncated, cq_error *error) {
  return tokenize(out, encoder, memory, sentence, (size_t)encoder->max_seq_length, truncated, error);
}

cq_status cq_pair_split(cq_slice pair[2], cq_slice text, cq_error *error) {
  const char *mark = text.n ? memchr(text.data, CQ_PAIR_MARK, text.n) : NULL;
  if (!mark)
    return cq_fail(error, CQ_ERR_FORMAT,
                   "a reranker takes a query and a passage with the character U+001F between them, not '%.*s'",
                   (int)cq_min(text.n, (size_t)100), text.data);
  const size_t n = (size_t)(mark - text.data);
  pair[0] = (cq_slice){text.data, n}, pair[1] = (cq_slice){mark + 1, text.n - n - 1};
  return CQ_OK;
}

cq_status cq_encoder_tokenize_pair(cq_ids *out, int32_t *second, const cq_encoder *encoder, cq_token_memory *memory,
                                   const cq_slice pair[2], bool *truncated, cq_error *error) {
  size_t n = 0;
  const cq_status status = cq_tokenizer_encode_pair(out, &n, cq_encoder_text_module(encoder)->tokenizer, memory, pair,
                                                    (size_t)encoder->max_seq_length, truncated, error);
  *second = (int32_t)n;
  return status;
}

/* Whether ids end with the closing special token, which follows every text. */
static bool is_closed(const cq_ids *ids, const cq_module *text) {
  const int32_t sep = text->add_special ? cq_tokenizer_describe(text->tokenizer)->sep_id : -1;
  return ids->n && sep >= 0 && ids->ids[ids->n - 1] == sep;
}

/* The number of prompt tokens at a sequence's start, without the closing special token. */
static cq_status count_prompt(int32_t *out, const cq_encoder *encoder, cq_slice prompt, cq_text_memory *m,
                              cq_error *error) {
  bool truncated;
  m->ids.n = 0;
  const cq_status status = cq_encoder_tokenize(&m->ids, encoder, m->tokens, prompt, &truncated, error);
  if (!status) *out = (int32_t)(m->ids.n - is_closed(&m->ids, cq_encoder_text_module(encoder)));
  return status;
}

cq_status cq_encoder_prompt(cq_slice *out, int32_t *n_left_out, const cq_encoder *encoder, const cq_encode_options *o,
                            cq_text_memory *memory, cq_error *error) {
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
  return out->n && !encoder->include_prompt ? count_prompt(n_left_out, encoder, *out, memory, error) : CQ_OK;
}

cq_status cq_prepend_prompt(cq_slice *text, cq_text_memory *m, cq_slice prompt, cq_error *error) {
  if (prompt.n == 0) return CQ_OK;
  cq_builder_clear(&m->with_prompt);
  cq_builder_bytes(&m->with_prompt, prompt.data, prompt.n);
  cq_builder_bytes(&m->with_prompt, text->data, text->n);
  *text = (cq_slice){m->with_prompt.data, m->with_prompt.n};
  return m->with_prompt.failed ? cq_fail_memory(error, "prompt") : CQ_OK;
}

/* ---- lists of ids ---- */

void cq_token_ids_free(cq_token_ids *ids) {
  if (!ids) return;
  cq_free(ids->ids);
  cq_free(ids->starts);
  *ids = (cq_token_ids){0};
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

/* Splits a text's untruncated ids into windows, each with a sequence's special tokens. */
static cq_status append_windows(cq_token_ids *out, const cq_encoder *encoder, cq_ids *whole, size_t n_head,
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

/* The beginning's prompt and special tokens, then as much of a text's end as there is room for. */
static cq_status append_end(cq_token_ids *out, const cq_encoder *encoder, cq_ids *whole, size_t n_head, size_t n_tail,
                            cq_error *error) {
  const size_t max = (size_t)encoder->max_seq_length;
  if (n_head + n_tail >= max) return cq_fail(error, CQ_ERR_ARGUMENT, "the prompt leaves no room for text");
  memmove(whole->ids + n_head, whole->ids + whole->n - (max - n_head), (max - n_head) * sizeof *whole->ids);
  return cq_token_ids_append(out, whole->ids, (const size_t[]){0, max}, 1, error);
}

static cq_status append_text(cq_token_ids *out, bool *is_long, const cq_encoder *encoder, cq_text_memory *m,
                             cq_slice prompt, cq_slice text, cq_long_text long_text, cq_error *error) {
  const bool is_cut = long_text == CQ_LONG_TRUNCATED; /* by the tokenizer */
  int32_t n_head = 0;
  cq_status status = !is_cut ? count_prompt(&n_head, encoder, prompt, m, error) : CQ_OK;
  if (!status) status = cq_prepend_prompt(&text, m, prompt, error);
  if (status) return status;
  m->ids.n = 0;
  status = cq_encoder_tokenize(&m->ids, encoder, m->tokens, text, is_long, error);
  if (status || is_cut || !*is_long)
    return status ? status : cq_token_ids_append(out, m->ids.ids, (const size_t[]){0, m->ids.n}, 1, error);
  m->ids.n = 0; /* again, and all of it */
  bool ignored;
  status = tokenize(&m->ids, encoder, m->tokens, text, 0, &ignored, error);
  if (status) return status;
  const size_t n_tail = is_closed(&m->ids, cq_encoder_text_module(encoder));
  return (long_text == CQ_LONG_END ? append_end : append_windows)(
      out, encoder, &m->ids, cq_min((size_t)n_head, m->ids.n - n_tail), n_tail, error);
}

cq_status cq_encoder_token_ids(cq_token_ids *out, bool *is_long, const cq_encoder *encoder, cq_slice text,
                               cq_long_text long_text, const cq_encode_options *options, cq_context *ctx,
                               cq_error *error) {
  cq_encode_options taken;
  cq_slice prompt;
  int32_t n_prompt;
  bool longer = false;
  cq_text_memory *memory = NULL;
  cq_status status = cq_encoder_take_options(&taken, encoder, options, error);
  if (!status) status = cq_check_sentences(&text, 1, error);
  if (!status && !(memory = cq_text_memory_take(ctx))) status = cq_fail_memory(error, "encoding");
  if (!status) status = cq_encoder_prompt(&prompt, &n_prompt, encoder, &taken, memory, error);
  if (!status) status = append_text(out, &longer, encoder, memory, prompt, text, long_text, error);
  if (!status && is_long) *is_long = longer;
  cq_text_memory_put(ctx, memory);
  cq_encoder_tell_decomposed(encoder);
  return status;
}
