/* The tokenizer.json document:
 *
 *   { "added_tokens": [{id, content, special, lstrip, ...}], "normalizer": {type, ...}, "pre_tokenizer": {type, ...},
 *     "model": {type, vocab, ...}, "post_processor": {type, ...}, "decoder", "truncation", "padding" }
 *
 * The decoder and padding are ignored, because neither is needed. Truncation is only reported: the caller chooses the
 * length. */
#include "token/tokenizer_files.h"

#include "base/error.h"
#include "base/memory.h"
#include "token/large_json.h"

#include <stdlib.h>
#include <string.h>

static const cq_model_kind *const model_kinds[] = {&cq_wordpiece_kind, &cq_unigram_kind, &cq_bpe_kind,
                                                   &cq_word_level_kind};

int64_t cq_id_limit(size_t n_pieces) {
  return (int64_t)n_pieces * 2 + 65536;
}

/* {"piece": id, ...}: every id once. */
cq_status cq_vocab_parse(cq_tokenizer *t, const json_t *vocab, const char *path, cq_error *error) {
  const char *piece;
  json_t *value;
  if (!json_is_object(vocab)) return cq_fail_file(error, CQ_ERR_FORMAT, path, "expected an object of pieces and ids");
  const json_int_t limit = cq_id_limit(json_object_size(vocab));
  json_object_foreach((json_t *)vocab, piece, value) {
    if (!json_is_integer(value))
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "model.vocab: '%s' has no integer id", piece);
    json_int_t id = json_integer_value(value);
    if (id < 0 || id >= limit)
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "model.vocab: '%s' has the id %lld of %zu pieces", piece,
                          (long long)id, json_object_size(vocab));
    cq_vocab_result result = cq_vocab_put(&t->vocab, cq_slice_of(piece), (int32_t)id);
    if (result == CQ_VOCAB_MEMORY) return cq_fail_memory(error, "vocabulary");
    if (result == CQ_VOCAB_TAKEN) {
      cq_slice other = cq_vocab_piece(&t->vocab, (int32_t)id);
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "model.vocab: '%s' and '%.*s' have the same id %lld", piece,
                          (int)other.n, other.data, (long long)id);
    }
  }
  return CQ_OK;
}

/* --- the fast way: the vocabulary as it is read --- */

typedef struct vocab_reading {
  cq_tokenizer *t;
  int64_t limit; /* of ids */
} vocab_reading;

static cq_status begin_vocab(void *context, size_t n, bool scored) {
  vocab_reading *reading = context;
  cq_tokenizer *t = reading->t;
  reading->limit = cq_id_limit(n);
  if (scored && !(t->model.scores = cq_alloc_array(n ? n : 1, sizeof *t->model.scores))) return CQ_ERR_MEMORY;
  return cq_vocab_reserve(&t->vocab, n) ? CQ_OK : CQ_ERR_MEMORY;
}

/* Leaves errors to cq_vocab_parse and Unigram's parse_vocab. Ids may come in any order. */
static cq_status put_piece(void *context, const char *text, size_t n, int64_t id, double score) {
  const vocab_reading *reading = context;
  cq_tokenizer *t = reading->t;
  const cq_slice piece = {text, n};
  if (id < 0 || id >= reading->limit) return CQ_ERR_FORMAT;
  if (t->model.scores)
    t->model.scores[id] = score;
  else if (memchr(text, 0, n))
    return CQ_ERR_FORMAT;
  const cq_vocab_result result = cq_vocab_put_later(&t->vocab, piece, (int32_t)id);
  return result == CQ_VOCAB_OK ? CQ_OK : result == CQ_VOCAB_TAKEN ? CQ_ERR_FORMAT : CQ_ERR_MEMORY;
}

/* If an object repeats a key, the last value counts, and the ids of the others are missing. */
static bool each_piece_once(const cq_vocab *vocab) {
  size_t n = 0, n_found = 0;
  for (size_t i = 0; i < vocab->n; i++) n += vocab->pieces[i].present && vocab->pieces[i].n > 0;
  for (size_t i = 0; i < vocab->index.n_nodes; i++) n_found += vocab->index.values[i] >= 0;
  return n == n_found;
}

cq_status cq_tokenizer_read_json(json_t **out, cq_tokenizer *t, cq_slice text, const char *path, cq_error *error) {
  vocab_reading reading = {.t = t};
  const cq_vocab_sink sink = {&reading, begin_vocab, put_piece};
  *out = NULL;
  cq_status status = text.n <= CQ_MAX_FILE_READ ? cq_large_json_read(out, text.data, text.n, &sink) : CQ_ERR_LIMIT;
  if (!status && !cq_vocab_index(&t->vocab)) status = CQ_ERR_MEMORY;
  if (!status && (t->model.scores || each_piece_once(&t->vocab))) return CQ_OK;
  json_decref(*out);
  *out = NULL;
  cq_vocab_free(&t->vocab);
  cq_free(t->model.scores);
  t->model.scores = NULL;
  return status == CQ_ERR_MEMORY ? cq_fail_memory(error, "vocabulary") : cq_json_read(out, path, error);
}

static cq_status parse_model(cq_tokenizer *t, const json_t *model, const char *path, cq_error *error) {
  if (!json_is_object(model)) return cq_fail_file(error, CQ_ERR_FORMAT, path, "model: expected an object");
  const json_t *vocab = json_object_get(model, "vocab");
  const char *type = json_string_value(json_object_get(model, "type"));
  /* Old files leave the type out. */
  if (!type && json_object_get(model, "merges")) type = "BPE";
  if (!type && json_is_array(vocab)) type = "Unigram";
  if (!type && json_object_get(model, "max_input_chars_per_word")) type = "WordPiece";
  if (!type) return cq_fail_file(error, CQ_ERR_FORMAT, path, "model: no 'type'");
  for (size_t k = 0; k < sizeof model_kinds / sizeof *model_kinds; k++) {
    if (strcmp(type, model_kinds[k]->name) != 0) continue;
    t->model.kind = model_kinds[k];
    if (json_is_object(vocab)) {
      cq_status status = cq_vocab_parse(t, vocab, path, error);
      if (status) return status;
    } else if (t->vocab.n == 0 && !json_is_array(vocab)) {
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "model: no 'vocab'");
    }
    return model_kinds[k]->parse(t, model, path, error);
  }
  return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "model: '%s' is not supported", type);
}

/* --- special tokens around a sentence --- */

typedef struct template_ids {
  int32_t *ids;
  size_t n, capacity;
} template_ids;

static cq_status put_id(template_ids *list, const json_t *value, const cq_tokenizer *t, const char *path,
                        cq_error *error) {
  if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) >= (json_int_t)t->vocab.n)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "post_processor: a special token's id is not in the vocabulary");
  if (!cq_reserve((void **)&list->ids, &list->capacity, list->n + 1, sizeof *list->ids))
    return cq_fail_memory(error, "special tokens");
  list->ids[list->n++] = (int32_t)json_integer_value(value);
  return CQ_OK;
}

static cq_status parse_template(template_ids around[2], const cq_tokenizer *t, const json_t *json, const char *path,
                                cq_error *error) {
  const json_t *single = json_object_get(json, "single"), *specials = json_object_get(json, "special_tokens");
  if (!json_is_array(single))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "post_processor: TemplateProcessing needs an array 'single'");
  bool after = false;
  for (size_t i = 0; i < json_array_size(single); i++) {
    const json_t *item = json_array_get(single, i), *special = json_object_get(item, "SpecialToken");
    if (json_object_get(item, "Sequence")) {
      if (after) return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "post_processor: a template with the text twice");
      after = true;
      continue;
    }
    const char *name = json_string_value(json_object_get(special, "id"));
    const json_t *ids = name ? json_object_get(json_object_get(specials, name), "ids") : NULL;
    if (!json_is_array(ids))
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "post_processor: the template's '%s' is not in special_tokens",
                          name ? name : "?");
    for (size_t k = 0; k < json_array_size(ids); k++) {
      cq_status status = put_id(&around[after], json_array_get(ids, k), t, path, error);
      if (status) return status;
    }
  }
  if (!after) return cq_fail_file(error, CQ_ERR_FORMAT, path, "post_processor: a template without the text");
  return CQ_OK;
}

static cq_status parse_post(template_ids around[2], const cq_tokenizer *t, const json_t *json, int depth,
                            const char *path, cq_error *error) {
  if (!json || json_is_null(json)) return CQ_OK;
  const char *type = json_string_value(json_object_get(json, "type"));
  if (!type || depth > 8)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "post_processor: expected an object with a 'type'");
  if (!strcmp(type, "TemplateProcessing")) return parse_template(around, t, json, path, error);
  if (!strcmp(type, "BertProcessing") || !strcmp(type, "RobertaProcessing")) {
    const json_t *cls = json_array_get(json_object_get(json, "cls"), 1),
                 *sep = json_array_get(json_object_get(json, "sep"), 1);
    cq_status status = put_id(&around[0], cls, t, path, error);
    return status ? status : put_id(&around[1], sep, t, path, error);
  }
  if (!strcmp(type, "ByteLevel")) return CQ_OK; /* offsets only */
  if (!strcmp(type, "Sequence")) {
    const json_t *list = json_object_get(json, "processors");
    for (size_t i = 0; i < json_array_size(list); i++) {
      cq_status status = parse_post(around, t, json_array_get(list, i), depth + 1, path, error);
      if (status) return status;
    }
    return CQ_OK;
  }
  return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "post_processor: '%s' is not supported", type);
}

static cq_status keep_ids(int32_t **out, size_t *n, cq_tokenizer *t, const template_ids *list, cq_error *error) {
  *out = cq_arena_array(&t->arena, list->n ? list->n : 1, sizeof **out);
  if (!*out) return cq_fail_memory(error, "special tokens");
  if (list->n) memcpy(*out, list->ids, list->n * sizeof **out);
  *n = list->n;
  return CQ_OK;
}

static cq_status parse_truncation(cq_tokenizer *t, const json_t *truncation, const char *path, cq_error *error) {
  const char *direction = "Right";
  if (!truncation || json_is_null(truncation)) return CQ_OK;
  if (!json_is_object(truncation)) return cq_fail_file(error, CQ_ERR_FORMAT, path, "truncation: expected an object");
  cq_status status = cq_json_get_int(&t->info.truncation, truncation, "max_length", 0, INT64_MAX, path, error);
  if (!status) status = cq_json_get_string(&direction, truncation, "direction", path, error);
  t->info.truncates_start = !status && strcmp(direction, "Left") == 0;
  return status;
}

static bool is_lowercase(const json_t *step) {
  const char *type = json_string_value(json_object_get(step, "type"));
  return type && !strcmp(type, "Lowercase");
}

/* A normalizer that lower-cases first, unless one of its steps does so. As sentence-transformers, it looks neither into
 * nested sequences nor into a BertNormalizer. */
static json_t *lower_first(const json_t *normalizer) {
  const json_t *steps = json_object_get(normalizer, "normalizers");
  bool lowers = is_lowercase(normalizer);
  for (size_t i = 0; i < json_array_size(steps); i++) lowers |= is_lowercase(json_array_get(steps, i));
  if (lowers) return cq_json_copy(normalizer);
  json_t *list = json_pack("[{s:s}]", "type", "Lowercase");
  for (size_t i = 0; i < json_array_size(steps); i++) cq_json_push(&list, cq_json_copy(json_array_get(steps, i)));
  if (!steps && json_is_object(normalizer)) cq_json_push(&list, cq_json_copy(normalizer));
  return json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", list);
}

cq_status cq_tokenizer_assemble(cq_tokenizer *t, const json_t *document, const char *path, cq_error *error) {
  if (!json_is_object(document)) return cq_fail_file(error, CQ_ERR_FORMAT, path, "expected an object");
  cq_place normalizer = {path, "normalizer"}, pre_tokenizer = {path, "pre_tokenizer"};
  const json_t *steps = json_object_get(document, "normalizer");
  json_t *lowered = t->lowercase_first ? lower_first(steps) : NULL;
  if (t->lowercase_first && !lowered) return cq_fail_memory(error, "normalizer");
  cq_status status = cq_normalizers_parse(&t->normalizers, &t->arena, lowered ? lowered : steps, &normalizer, error);
  json_decref(lowered);
  if (status) return status;
  status = cq_pre_tokenizers_parse(&t->pre_tokenizers, &t->arena, json_object_get(document, "pre_tokenizer"),
                                   &pre_tokenizer, error);
  if (!status) status = parse_model(t, json_object_get(document, "model"), path, error);
  t->n_model_pieces = t->vocab.n;
  if (!status) status = cq_added_parse(t, json_object_get(document, "added_tokens"), path, error);
  if (!status) status = parse_truncation(t, json_object_get(document, "truncation"), path, error);
  if (status) return status;
  for (size_t i = 0; i < t->n_model_pieces; i++) { /* added tokens may leave out some */
    if (!t->vocab.pieces[i].present)
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "the vocabulary has %zu ids, but none of them is %zu", t->vocab.n,
                          i);
  }
  template_ids around[2] = {{0}, {0}};
  status = parse_post(around, t, json_object_get(document, "post_processor"), 0, path, error);
  if (!status) status = keep_ids(&t->before, &t->n_before, t, &around[0], error);
  if (!status) status = keep_ids(&t->after, &t->n_after, t, &around[1], error);
  cq_free(around[0].ids);
  cq_free(around[1].ids);
  return status;
}

/* --- what other files add to the added tokens --- */

/* Puts a token into a document's list of added tokens and takes ownership of it; replaces a token with the same id. */
static cq_status put_added(json_t *list, json_t *token, cq_error *error) {
  for (size_t i = 0; token && i < json_array_size(list); i++)
    if (json_equal(json_object_get(json_array_get(list, i), "id"), json_object_get(token, "id")))
      return json_array_set_new(list, i, token) ? cq_fail_memory(error, "added tokens") : CQ_OK;
  return json_array_append_new(list, token) ? cq_fail_memory(error, "added tokens") : CQ_OK;
}

json_t *cq_added_token_json(int64_t id, cq_slice content, bool special, bool lstrip, bool normalized) {
  return json_pack("{s:I, s:o, s:b, s:b, s:b, s:b, s:b}", "id", (json_int_t)id, "content",
                   json_stringn(content.data, content.n), "single_word", 0, "lstrip", lstrip, "rstrip", 0, "normalized",
                   normalized, "special", special);
}

const json_t *cq_find_added_json(const json_t *list, const char *content) {
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *other = json_string_value(json_object_get(json_array_get(list, i), "content"));
    if (other && !strcmp(other, content)) return json_array_get(list, i);
  }
  return NULL;
}

/* Special tokens by their texts ("x" or {"content": "x", ...}): they keep the vocabulary's ids, or get the next ones. */
static cq_status put_specials(json_t *list, const cq_tokenizer *t, const json_t *tokens, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t i = 0; i < json_array_size(tokens) && !status; i++) {
    const json_t *token = json_array_get(tokens, i), *known;
    const char *text = json_string_value(json_is_object(token) ? json_object_get(token, "content") : token);
    if (!text || !*text) continue;
    int64_t id = cq_vocab_id(&t->vocab, cq_slice_of(text)), next = (int64_t)t->vocab.n;
    for (size_t k = 0; k < json_array_size(list); k++) {
      const json_int_t other = json_integer_value(json_object_get(json_array_get(list, k), "id"));
      if (other >= next) next = other + 1;
    }
    if ((known = cq_find_added_json(list, text))) id = json_integer_value(json_object_get(known, "id"));
    status = put_added(list,
                       cq_added_token_json(id < 0 ? next : id, cq_slice_of(text), true,
                                           json_is_true(json_object_get(token, "lstrip")), false),
                       error);
  }
  return status;
}

cq_status cq_tokenizer_assemble_document(cq_tokenizer *t, const json_t *config, const json_t *const *naming,
                                         const char *path, cq_error *error) {
  static const char *const more[] = {"additional_special_tokens", "extra_special_tokens"};
  json_t *list = json_object_get(t->document, "added_tokens"), *value;
  json_t *decoder = json_object_get(config, "added_tokens_decoder");
  const char *key;
  cq_status status = CQ_OK;
  json_object_foreach(t->legacy_added, key, value) {
    if (!json_is_integer(value))
      return cq_fail_file(error, CQ_ERR_FORMAT, "added_tokens.json", "'%s' has no integer id", key);
    if (cq_find_added_json(list, key)) continue;
    status =
        put_added(list, cq_added_token_json(json_integer_value(value), cq_slice_of(key), false, false, true), error);
    if (status) return status;
  }
  for (size_t i = 0; naming && i < 4; i++) {
    status = put_specials(list, t, json_object_get(naming[i / 2], more[i % 2]), error);
    if (status) return status;
  }
  json_object_foreach(decoder, key, value) {
    char *end;
    long id = strtol(key, &end, 10);
    if (!json_is_object(value) || !*key || *end)
      return cq_fail_file(error, CQ_ERR_FORMAT, "tokenizer_config.json",
                          "added_tokens_decoder: '%s' is not an id and its token", key);
    json_t *token = cq_json_copy(value);
    cq_json_set(&token, "id", json_integer(id));
    status = put_added(list, token, error);
    if (status) return status;
  }
  return cq_tokenizer_assemble(t, t->document, path, error);
}
