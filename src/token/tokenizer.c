/* A tokenizer's parts, and encoding with it. open_tokenizer.c opens one from a directory. */
#include "token/tokenizer_parts.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "text/unicode.h"

/* --- encoding --- */

struct cq_token_memory {
  cq_builder normal, other[2];
  cq_words words[2];
  cq_model_memory model;
};

void cq_token_memory_drop_pieces(cq_token_memory *m, double share, uint64_t key) {
  m->model.dropout = (cq_piece_dropout){share > 0 ? (uint64_t)(share * 0x1p53) : 0, key};
}

static void release_memory(cq_token_memory *m) {
  cq_builder_free(&m->normal);
  cq_builder_free(&m->other[0]);
  cq_builder_free(&m->other[1]);
  for (int i = 0; i < 2; i++) {
    cq_builder_free(&m->words[i].text);
    cq_free(m->words[i].words);
  }
  cq_free(m->model.scratch);
}

cq_token_memory *cq_token_memory_new(void) {
  return cq_alloc_zeroed(sizeof(cq_token_memory));
}

size_t cq_token_memory_bytes(const cq_token_memory *m) {
  size_t n = sizeof *m + m->normal.capacity + m->other[0].capacity + m->other[1].capacity;
  for (int i = 0; i < 2; i++) n += m->words[i].text.capacity + m->words[i].capacity * sizeof *m->words[i].words;
  return n + m->model.scratch_size;
}

void cq_token_memory_free(cq_token_memory *m) {
  if (!m) return;
  release_memory(m);
  cq_free(m);
}

/* Normalized text between added tokens. */
static cq_status encode_plain(cq_ids *out, const cq_tokenizer *t, cq_token_memory *w, cq_slice text, bool at_start,
                              size_t limit) {
  if (text.n == 0) return CQ_OK;
  cq_words *words = &w->words[0];
  if (words->text.capacity < words[1].text.capacity) { /* the steps of the last text handed it over */
    const cq_builder larger = words[1].text;
    words[1].text = words->text;
    words->text = larger;
  }
  words->n = 0;
  cq_builder_clear(&words->text);
  words->text.limit = 0;
  cq_builder_bytes(&words->text, text.data, text.n);
  if (words->text.failed || !cq_words_put(words, 0, text.n, at_start)) return CQ_ERR_MEMORY;
  cq_status status = cq_pre_tokenizers_run(&words, w->words, &t->pre_tokenizers);
  for (size_t i = 0; !status && i < words->n && out->n <= limit; i++)
    if (!t->model.kind->encode(out, t, cq_words_text(words, &words->words[i]), &w->model)) status = CQ_ERR_MEMORY;
  return status;
}

/* Encodes text between raw added tokens: normalizes it, then searches for the other added tokens. */
static cq_status encode_raw(cq_ids *out, const cq_tokenizer *t, cq_token_memory *w, cq_slice text, bool at_start,
                            size_t limit) {
  cq_status status = CQ_OK;
  cq_builder_clear(&w->normal);
  if (at_start && text.n && t->pre_tokenizers.metaspace) { /* a text whose first character goes has no start */
    uint32_t c;
    char first[8];
    const size_t n = cq_utf8_decode(&c, text.data, text.n);
    memcpy(first, text.data, n);
    first[n] = 'a';
    status = cq_normalizers_run(&w->normal, w->other, &t->normalizers, (cq_slice){first, n + 1});
    at_start = w->normal.n != 1 || *w->normal.data != 'a';
    cq_builder_clear(&w->normal);
  }
  if (!status) status = cq_normalizers_run(&w->normal, w->other, &t->normalizers, text);
  if (status) return status;
  cq_slice normal = {w->normal.data ? w->normal.data : "", w->normal.n};
  const cq_added_token *token;
  size_t done = 0, start, end;
  while (out->n <= limit && cq_added_find(&token, &start, &end, &t->added, true, normal, done)) {
    cq_slice before = {normal.data + done, start - done};
    status = encode_plain(out, t, w, before, at_start && done == 0, limit);
    if (!status && !cq_ids_put(out, token->id)) status = CQ_ERR_MEMORY;
    if (status) return status;
    done = end;
  }
  return encode_plain(out, t, w, (cq_slice){normal.data + done, normal.n - done}, at_start && done == 0, limit);
}

/* All of a text's ids, or slightly more than limit of them. */
static cq_status encode_pieces(cq_ids *out, const cq_tokenizer *t, cq_token_memory *w, cq_slice text, size_t limit) {
  const cq_added_token *token;
  size_t done = 0, start, end;
  while (out->n <= limit && cq_added_find(&token, &start, &end, &t->added, false, text, done)) {
    cq_slice before = {text.data + done, start - done};
    cq_status status = encode_raw(out, t, w, before, done == 0, limit);
    if (!status && !cq_ids_put(out, token->id)) status = CQ_ERR_MEMORY;
    if (status) return status;
    done = end;
  }
  return encode_raw(out, t, w, (cq_slice){text.data + done, text.n - done}, done == 0, limit);
}

static bool put_all(cq_ids *out, const int32_t *ids, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!cq_ids_put(out, ids[i])) return false;
  }
  return true;
}

/* Ids that have no row in the model's table (cq_tokenizer_limit). */
static cq_status check_rows(const cq_tokenizer *t, const cq_ids *ids, size_t first, cq_error *error) {
  for (size_t i = first; i < ids->n; i++) {
    if ((size_t)ids->ids[i] < t->vocab.n) continue;
    const cq_piece_text *p = &t->vocab.pieces[ids->ids[i]];
    return cq_fail(error, CQ_ERR_FORMAT, "the text uses the token '%.*s', whose id %d has no row in the embeddings",
                   (int)p->n, t->vocab.text.data + p->start, (int)ids->ids[i]);
  }
  return CQ_OK;
}

cq_status cq_tokenizer_encode(cq_ids *out, const cq_tokenizer *tokenizer, cq_token_memory *memory, cq_slice text,
                              bool add_special, size_t max_length, bool *truncated, cq_error *error) {
  cq_token_memory own = {0}, *w = memory ? memory : &own;
  size_t n_special = add_special ? tokenizer->n_before + tokenizer->n_after : 0, first = out->n;
  size_t limit = SIZE_MAX; /* out->n may grow to this before the text is truncated */
  bool is_truncated = false;
  cq_status status = CQ_OK;
  if (max_length) {
    size_t room = max_length > n_special ? max_length - n_special : 0;
    limit = first + (add_special ? tokenizer->n_before : 0) + room;
  }
  if (text.data == NULL) text.data = "";
  if (add_special && !put_all(out, tokenizer->before, tokenizer->n_before)) status = CQ_ERR_MEMORY;
  const bool from_start = tokenizer->info.truncates_start;
  const size_t start = out->n;
  if (!status) status = encode_pieces(out, tokenizer, w, text, from_start ? SIZE_MAX : limit);
  if (!status && out->n > limit) {
    if (from_start && limit > start)
      memmove(out->ids + start, out->ids + out->n - (limit - start), (limit - start) * sizeof *out->ids);
    out->n = limit;
    is_truncated = true;
  }
  if (!status && add_special && !put_all(out, tokenizer->after, tokenizer->n_after)) status = CQ_ERR_MEMORY;
  if (!status && max_length && out->n - first > max_length)
    out->n = first + max_length; /* less room than special tokens */
  release_memory(&own);
  if (status) {
    out->n = first;
    return cq_fail_encoding(error, status, text.n);
  }
  if (tokenizer->n_past_table && (status = check_rows(tokenizer, out, first, error))) {
    out->n = first;
    return status;
  }
  if (truncated) *truncated = is_truncated;
  return CQ_OK;
}

/* The lengths of two texts that share `room`: the longer one is truncated, or both to one half. Source: longest_first of
 * Hugging Face's tokenizers. */
static void share_room(size_t n[2], size_t room) {
  if (n[0] + n[1] <= room) return;
  const bool longer = n[1] >= n[0];
  n[!longer] = n[!longer] <= room / 2 ? n[!longer] : room / 2;
  n[longer] = room - n[!longer];
}

cq_status cq_tokenizer_encode_pair(cq_ids *out, size_t *second, const cq_tokenizer *tokenizer, cq_token_memory *memory,
                                   const cq_slice texts[2], size_t max_length, bool *truncated, cq_error *error) {
  const cq_special_ids *around = tokenizer->pair;
  const size_t n_special = around[0].n + around[1].n + around[2].n, first = out->n;
  const size_t room = max_length ? max_length - n_special : SIZE_MAX;
  const bool from_start = tokenizer->info.truncates_start;
  cq_token_memory own = {0}, *w = memory ? memory : &own;
  cq_ids pieces = {0};
  size_t n[2], kept[2], start = 0;
  cq_status status = CQ_OK;
  if (tokenizer->second_type < 0)
    return cq_fail(error, CQ_ERR_UNSUPPORTED, "the tokenizer has no template for pairs of texts");
  if (max_length && max_length < n_special + 2)
    return cq_fail(error, CQ_ERR_ARGUMENT, "the maximum sequence length %zu leaves no room for two texts", max_length);
  for (int i = 0; !status && i < 2; i++) { /* all of them: which text is longer counts even beyond the room */
    const cq_slice text = {texts[i].data ? texts[i].data : "", texts[i].n};
    const size_t before = pieces.n;
    status = encode_pieces(&pieces, tokenizer, w, text, SIZE_MAX);
    n[i] = kept[i] = pieces.n - before;
  }
  if (!status) share_room(kept, room);
  for (int i = 0; !status && i < 2; i++) {
    if (!put_all(out, around[i].ids, around[i].n)) status = CQ_ERR_MEMORY;
    if (i == 1) *second = out->n - first;
    if (!status && kept[i] && !put_all(out, pieces.ids + start + (from_start ? n[i] - kept[i] : 0), kept[i]))
      status = CQ_ERR_MEMORY;
    start += n[i];
  }
  if (!status && !put_all(out, around[2].ids, around[2].n)) status = CQ_ERR_MEMORY;
  if (!status && truncated) *truncated = kept[0] < n[0] || kept[1] < n[1];
  if (tokenizer->second_type == 0) *second = out->n - first;
  cq_free(pieces.ids);
  release_memory(&own);
  status = status                    ? cq_fail_encoding(error, status, texts[0].n + texts[1].n)
           : tokenizer->n_past_table ? check_rows(tokenizer, out, first, error)
                                     : CQ_OK;
  if (status) out->n = first;
  return status;
}

/* --- making --- */

const char *cq_special_text(const json_t *config, const char *key, const char *fallback) {
  const json_t *value = json_object_get(config, key);
  if (json_is_null(value)) return NULL;
  if (json_is_object(value)) value = json_object_get(value, "content");
  return json_is_string(value) ? json_string_value(value) : fallback;
}

static int32_t special_id(const cq_tokenizer *t, const json_t *config, const char *key, const char *const *usual) {
  const char *text = cq_special_text(config, key, NULL);
  if (text) {
    int32_t id = cq_vocab_id(&t->vocab, cq_slice_of(text));
    if (id >= 0) return id;
  }
  for (; *usual; usual++) {
    int32_t id = cq_vocab_id(&t->vocab, cq_slice_of(*usual));
    if (id >= 0) return id;
  }
  return -1;
}

cq_status cq_tokenizer_finish(cq_tokenizer *t, const json_t *config, const char *config_path, cq_error *error) {
  static const char *const pads[] = {"[PAD]", "<pad>", NULL}, *const unks[] = {"[UNK]", "<unk>", NULL};
  static const char *const clss[] = {"[CLS]", "<s>", NULL}, *const seps[] = {"[SEP]", "</s>", NULL};
  static const char *const masks[] = {"[MASK]", "<mask>", NULL};
  cq_tokenizer_info *info = &t->info;
  if (!cq_pieces_decode(t)) return cq_fail_memory(error, "vocabulary");
  info->vocab_size = (int64_t)t->vocab.n;
  info->pad_id = special_id(t, config, "pad_token", pads);
  info->unk_id = t->model.unk_id >= 0 ? t->model.unk_id : special_id(t, config, "unk_token", unks);
  info->cls_id = t->n_before ? t->before[0] : special_id(t, config, "cls_token", clss);
  info->sep_id = t->n_after ? t->after[t->n_after - 1] : special_id(t, config, "sep_token", seps);
  info->mask_id = special_id(t, config, "mask_token", masks);
  info->n_special = (int)(t->n_before + t->n_after);
  for (size_t i = 0; i < t->normalizers.n; i++) {
    if (cq_normalizer_lowers(&t->normalizers.steps[i])) info->lowercase = true;
    info->normalizes |= cq_normalizer_has_form(&t->normalizers.steps[i]);
  }
  /* Absent lengths are written as 1e30. */
  double length = 0;
  const char *side = info->truncates_start ? "left" : "right";
  cq_status status = config ? cq_json_get_number(&length, config, "model_max_length", config_path, error) : CQ_OK;
  if (!status && config) status = cq_json_get_string(&side, config, "truncation_side", config_path, error);
  if (!status && config)
    status = cq_json_get_bool(&t->added.splits_special, config, "split_special_tokens", config_path, error);
  if (status) return status;
  info->truncates_start = strcmp(side, "left") == 0;
  if (!info->truncates_start && strcmp(side, "right") != 0)
    return cq_fail_file(error, CQ_ERR_FORMAT, config_path, "truncation_side is '%s', expected left or right", side);
  info->model_max_length = length >= 1 && length <= 1e9 ? (int64_t)length : 0;
  return CQ_OK;
}

cq_status cq_tokenizer_limit(cq_tokenizer *t, int64_t n, const char *path, const char *table, cq_error *error) {
  const size_t n_ids = t->vocab.n, kept = (size_t)n;
  if (kept >= n_ids) return CQ_OK;
  size_t n_needed = n_ids - kept;
  for (size_t id = kept; id < n_ids; id++) n_needed -= !t->vocab.pieces[id].present;
  for (size_t i = 0; i < t->added.n; i++)
    n_needed -= (size_t)t->added.tokens[i].id >= kept && (size_t)t->added.tokens[i].id < n_ids;
  for (size_t i = 0; i < t->n_before; i++) n_needed += (size_t)t->before[i] >= kept;
  for (size_t i = 0; i < t->n_after; i++) n_needed += (size_t)t->after[i] >= kept;
  if (n_needed || n <= t->model.unk_id)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "the tokenizer has %zu ids, tensor '%s' has %zu rows", n_ids, table,
                        kept);
  int32_t *const roles[] = {&t->info.pad_id, &t->info.unk_id, &t->info.cls_id, &t->info.sep_id, &t->info.mask_id};
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
    if (*roles[i] >= (int32_t)kept) *roles[i] = -1;
  t->n_past_table += n_ids - kept;
  t->vocab.n = kept;
  t->n_model_pieces = cq_min(t->n_model_pieces, kept);
  t->info.vocab_size = n;
  return CQ_OK;
}

cq_tokenizer *cq_tokenizer_new(void) {
  cq_tokenizer *t = cq_alloc_zeroed(sizeof *t);
  if (t) t->model.unk_id = -1;
  return t;
}

void cq_tokenizer_free(cq_tokenizer *t) {
  if (!t) return;
  cq_vocab_free(&t->vocab);
  cq_added_free(&t->added);
  cq_normalizers_free(&t->normalizers);
  cq_pre_tokenizers_free(&t->pre_tokenizers);
  cq_free(t->model.scores);
  cq_merges_free(t->model.merges);
  json_decref(t->document);
  json_decref(t->added_list);
  cq_builder_free(&t->decoded);
  cq_free(t->decoded_ends);
  for (size_t i = 0; i < t->n_files; i++) {
    cq_free(t->files[i].name);
    if (t->files[i].mapping.data)
      cq_mapping_close(&t->files[i].mapping);
    else
      cq_free((void *)t->files[i].bytes.data);
  }
  cq_free(t->files);
  cq_arena_free(&t->arena);
  cq_free(t);
}

const cq_tokenizer_info *cq_tokenizer_describe(const cq_tokenizer *tokenizer) {
  return &tokenizer->info;
}
