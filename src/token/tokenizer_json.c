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
    cq_vocab_result result = cq_vocab_put(&t->vocab, &t->vocab.index, cq_slice_of(piece), (int32_t)id);
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
  const cq_vocab_result result = cq_vocab_put(&t->vocab, NULL, piece, (int32_t)id);
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

/* --- what other files add to the added tokens --- */

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

/* A document's added tokens while it is completed. */
typedef struct token_list {
  const cq_tokenizer *t;
  json_t *list, *texts; /* texts: those in the list, as keys */
  const json_t *older;  /* added_tokens.json; NULL: none */
  json_int_t next;      /* the next free id */
} token_list;

static cq_status note_token(token_list *l, const json_t *token, cq_error *error) {
  const char *text = json_string_value(json_object_get(token, "content"));
  const json_int_t id = json_integer_value(json_object_get(token, "id"));
  if (id >= l->next) l->next = id + 1;
  return !token || (text && json_object_set_new(l->texts, text, json_true())) ? cq_fail_memory(error, "added tokens")
                                                                              : CQ_OK;
}

/* Takes ownership of the token. */
static cq_status append_token(token_list *l, json_t *token, cq_error *error) {
  const cq_status status = note_token(l, token, error);
  return json_array_append_new(l->list, token) && !status ? cq_fail_memory(error, "added tokens") : status;
}

/* The tokens of config's added_tokens_decoder replace those with the same ids. */
static cq_status put_decoder(token_list *l, const json_t *decoder, cq_error *error) {
  char id[24], *end;
  const char *key;
  json_t *token, *replaced = json_object();
  cq_status status = replaced ? CQ_OK : cq_fail_memory(error, "added tokens");
  for (size_t i = 0; i < json_array_size(l->list) && !status; i++) {
    token = json_array_get(l->list, i);
    snprintf(id, sizeof id, "%lld", (long long)json_integer_value(json_object_get(token, "id")));
    json_t *other = json_object_get(decoder, id);
    if (json_is_object(other)) {
      json_t *copy = cq_json_copy(other);
      cq_json_set(&copy, "id", json_incref(json_object_get(token, "id")));
      cq_json_set(&replaced, id, json_true());
      status = json_array_set_new(l->list, i, copy) || !replaced ? cq_fail_memory(error, "added tokens") : CQ_OK;
    }
    if (!status) status = note_token(l, json_array_get(l->list, i), error);
  }
  json_object_foreach((json_t *)(uintptr_t)decoder, key, token) {
    const long number = strtol(key, &end, 10);
    if (!status && (!json_is_object(token) || !*key || *end))
      status = cq_fail_file(error, CQ_ERR_FORMAT, "tokenizer_config.json",
                            "added_tokens_decoder: '%s' is not an id and its token", key);
    if (status || json_object_get(replaced, key)) continue;
    json_t *copy = cq_json_copy(token);
    cq_json_set(&copy, "id", json_integer(number));
    status = append_token(l, copy, error);
  }
  json_decref(replaced);
  return status;
}

/* Adds a token ("x" or {"content": "x", ...}) that the list lacks, with the id of added_tokens.json, of the vocabulary,
 * or the next one. */
static cq_status put_token(token_list *l, const json_t *token, bool special, cq_error *error) {
  const char *text = json_string_value(json_is_object(token) ? json_object_get(token, "content") : token);
  if (!text || !*text || json_object_get(l->texts, text)) return CQ_OK;
  const json_t *numbered = json_object_get(l->older, text);
  json_int_t id = numbered ? json_integer_value(numbered) : cq_vocab_id(&l->t->vocab, cq_slice_of(text));
  special |= json_is_true(json_object_get(token, "special"));
  json_t *entry = cq_added_token_json(id < 0 ? l->next : id, cq_slice_of(text), special, false, !special);
  if (!numbered && json_is_object(token)) {
    if (entry && json_object_update(entry, (json_t *)(uintptr_t)token)) cq_json_set(&entry, "content", NULL);
    cq_json_set(&entry, "special", json_boolean(special));
  }
  return append_token(l, entry, error);
}

/* An object of special_tokens_map.json is a special token. */
static json_t *mapped_token(json_t *value) {
  json_t *token = json_is_object(value) ? cq_json_copy(value) : json_incref(value);
  if (json_is_object(value)) cq_json_set(&token, "special", json_true());
  return token;
}

json_t *cq_naming_json(const json_t *config, const json_t *specials) {
  static const char extra[] = "extra_special_tokens", older[] = "additional_special_tokens";
  json_t *out = config ? cq_json_copy(config) : json_object(), *value;
  const json_t *list = json_object_get(out, extra);
  const char *key;
  if (!json_array_size(list) && !json_object_size(list) && json_is_array(json_object_get(out, older)))
    cq_json_set(&out, extra, json_incref(json_object_get(out, older)));
  if (json_is_object(json_object_get(out, "added_tokens_decoder"))) return out;
  json_object_foreach((json_t *)(uintptr_t)specials, key, value) {
    const bool is_extra = !strcmp(key, extra), is_older = !strcmp(key, older);
    if (is_older && json_object_get(out, extra)) continue;
    list = json_object_get(out, extra);
    json_t *tokens = is_extra && json_is_array(list) && json_is_array(value) ? cq_json_copy(list)
                     : json_is_array(value)                                  ? json_array()
                     : is_extra                                              ? json_incref(value)
                                                                             : mapped_token(value);
    for (size_t i = 0; i < json_array_size(value); i++) cq_json_push(&tokens, mapped_token(json_array_get(value, i)));
    cq_json_set(&out, is_older ? extra : key, tokens);
  }
  return out;
}

static cq_status put_named(token_list *l, const json_t *config, cq_class_kind kind, cq_error *error) {
  const json_t *extra = json_object_get(config, "extra_special_tokens");
  const char *key;
  json_t *value;
  cq_status status = CQ_OK;
  for (cq_named_token i = 0; i < CQ_N_NAMED && !status; i++) {
    const char *text = cq_class_token(config, kind, i);
    const json_t *token = json_object_get(config, cq_named_tokens[i]);
    if (!text || (!token && json_object_get(l->older, text))) continue;
    json_t *own = json_is_object(token)
                      ? json_incref((json_t *)(uintptr_t)token)
                      : json_pack("{s:s, s:b}", "content", text, "lstrip",
                                  i == CQ_MASK && (kind == CQ_CLASS_MPNET || kind == CQ_CLASS_CAMEMBERT));
    status = own ? put_token(l, own, true, error) : cq_fail_memory(error, "added tokens");
    json_decref(own);
  }
  json_object_foreach((json_t *)(uintptr_t)config, key, value) {
    const size_t n = strlen(key);
    if (!status && n > 6 && !strcmp(key + n - 6, "_token")) status = put_token(l, value, true, error);
  }
  for (size_t i = 0; i < json_array_size(extra) && !status; i++) {
    value = json_array_get(extra, i);
    status = put_token(l, value, json_is_string(value), error);
  }
  json_object_foreach(json_is_object(extra) ? (json_t *)(uintptr_t)extra : NULL, key, value) {
    if (!status) status = put_token(l, value, true, error);
  }
  return status;
}

cq_status cq_tokenizer_put_named(json_t *document, const cq_tokenizer *t, const cq_naming *naming, const char *path,
                                 cq_error *error) {
  const json_t *config = naming->config, *decoder = json_object_get(config, "added_tokens_decoder");
  const json_t *old = json_object_get(document, "added_tokens");
  const char *key;
  json_t *value;
  if ((!old || json_is_null(old)) && json_object_set_new(document, "added_tokens", json_array()))
    return cq_fail_memory(error, "added tokens");
  token_list l = {t, json_object_get(document, "added_tokens"), json_object(),
                  json_is_object(decoder) ? NULL : naming->older, (json_int_t)t->vocab.n};
  cq_status status = l.texts ? put_decoder(&l, decoder, error) : cq_fail_memory(error, "added tokens");
  json_object_foreach((json_t *)(uintptr_t)l.older, key, value) {
    if (!status && !json_is_integer(value))
      status = cq_fail_file(error, CQ_ERR_FORMAT, "added_tokens.json", "'%s' has no integer id", key);
    if (json_integer_value(value) >= l.next) l.next = json_integer_value(value) + 1;
  }
  const bool are_pieces = t->document != NULL; /* a vocabulary without them is an error, a tokenizer.json is not */
  if (!status && naming->makes_ends && are_pieces)
    status = cq_class_put_ends(document, t, config, naming->kind, path, error);
  if (!status) status = put_named(&l, config, naming->kind, error);
  json_object_foreach((json_t *)(uintptr_t)l.older, key, value) {
    if (status || json_object_get(l.texts, key)) continue;
    status =
        append_token(&l, cq_added_token_json(json_integer_value(value), cq_slice_of(key), false, false, true), error);
  }
  if (!status && naming->makes_ends && !are_pieces)
    status = cq_class_put_ends(document, t, config, naming->kind, path, error);
  json_decref(l.texts);
  return status;
}

/* --- special tokens around a sentence --- */

/* What is put around one text, and around two. */
typedef struct ends {
  cq_special_ids single[2], pair[3];
  int32_t second_type;
} ends;

static cq_status put_id(cq_special_ids *list, const json_t *value, const cq_tokenizer *t, const char *path,
                        cq_error *error) {
  if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) >= (json_int_t)t->vocab.n)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "post_processor: a special token's id is not in the vocabulary");
  if (!cq_reserve((void **)&list->ids, &list->capacity, list->n + 1, sizeof *list->ids))
    return cq_fail_memory(error, "special tokens");
  list->ids[list->n++] = (int32_t)json_integer_value(value);
  return CQ_OK;
}

/* A template's special tokens, divided by its texts. *last_type: token type of the last text. */
static cq_status parse_pieces(cq_special_ids *parts, size_t n_texts, int32_t *last_type, const cq_tokenizer *t,
                              const json_t *list, const json_t *specials, const char *path, cq_error *error) {
  size_t part = 0;
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *item = json_array_get(list, i), *special = json_object_get(item, "SpecialToken"),
                 *text = json_object_get(item, "Sequence");
    if (text) {
      if (part++ == n_texts)
        return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "post_processor: a template with the text twice");
      *last_type = (int32_t)json_integer_value(json_object_get(text, "type_id"));
      continue;
    }
    const char *name = json_string_value(json_object_get(special, "id"));
    const json_t *ids = name ? json_object_get(json_object_get(specials, name), "ids") : NULL;
    if (!json_is_array(ids))
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "post_processor: the template's '%s' is not in special_tokens",
                          name ? name : "?");
    for (size_t k = 0; k < json_array_size(ids); k++) {
      cq_status status = put_id(&parts[part], json_array_get(ids, k), t, path, error);
      if (status) return status;
    }
  }
  if (part < n_texts) return cq_fail_file(error, CQ_ERR_FORMAT, path, "post_processor: a template without the text");
  return CQ_OK;
}

/* Only rerankers need the template of pairs, so an unusual one is no error here. */
static cq_status parse_template(ends *e, const cq_tokenizer *t, const json_t *json, const char *path, cq_error *error) {
  const json_t *single = json_object_get(json, "single"), *specials = json_object_get(json, "special_tokens");
  int32_t type;
  if (!json_is_array(single))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "post_processor: TemplateProcessing needs an array 'single'");
  cq_status status = parse_pieces(e->single, 1, &type, t, single, specials, path, error);
  if (status) return status;
  status = parse_pieces(e->pair, 2, &type, t, json_object_get(json, "pair"), specials, path, NULL);
  if (status == CQ_ERR_MEMORY) return cq_fail_memory(error, "special tokens");
  e->second_type = !status && (type == 0 || type == 1) ? type : -1;
  return CQ_OK;
}

static cq_status parse_post(ends *e, const cq_tokenizer *t, const json_t *json, int depth, const char *path,
                            cq_error *error) {
  if (!json || json_is_null(json)) return CQ_OK;
  const char *type = json_string_value(json_object_get(json, "type"));
  if (!type || depth > 8)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "post_processor: expected an object with a 'type'");
  if (!strcmp(type, "TemplateProcessing")) return parse_template(e, t, json, path, error);
  const bool is_roberta = !strcmp(type, "RobertaProcessing");
  if (!strcmp(type, "BertProcessing") || is_roberta) {
    const json_t *cls = json_array_get(json_object_get(json, "cls"), 1),
                 *sep = json_array_get(json_object_get(json, "sep"), 1);
    cq_status status = put_id(&e->single[0], cls, t, path, error);
    if (!status) status = put_id(&e->single[1], sep, t, path, error);
    if (!status) status = put_id(&e->pair[0], cls, t, path, error);
    for (int i = 0; !status && i < 2 + is_roberta; i++)
      status = put_id(&e->pair[i < 1 + is_roberta ? 1 : 2], sep, t, path, error);
    e->second_type = !is_roberta;
    return status;
  }
  if (!strcmp(type, "ByteLevel")) return CQ_OK; /* offsets only */
  if (!strcmp(type, "Sequence")) {
    const json_t *list = json_object_get(json, "processors");
    for (size_t i = 0; i < json_array_size(list); i++) {
      cq_status status = parse_post(e, t, json_array_get(list, i), depth + 1, path, error);
      if (status) return status;
    }
    return CQ_OK;
  }
  return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "post_processor: '%s' is not supported", type);
}

static cq_status keep_ids(int32_t **out, size_t *n, cq_tokenizer *t, const cq_special_ids *list, cq_error *error) {
  *out = cq_arena_array(&t->arena, list->n ? list->n : 1, sizeof **out);
  if (!*out) return cq_fail_memory(error, "special tokens");
  if (list->n) memcpy(*out, list->ids, list->n * sizeof **out);
  *n = list->n;
  return CQ_OK;
}

static cq_status keep_ends(cq_tokenizer *t, const json_t *post, const char *path, cq_error *error) {
  ends e = {.second_type = -1};
  cq_status status = parse_post(&e, t, post, 0, path, error);
  if (!status) status = keep_ids(&t->before, &t->n_before, t, &e.single[0], error);
  if (!status) status = keep_ids(&t->after, &t->n_after, t, &e.single[1], error);
  for (int i = 0; !status && i < 3; i++) status = keep_ids(&t->pair[i].ids, &t->pair[i].n, t, &e.pair[i], error);
  t->second_type = e.second_type;
  for (int i = 0; i < 2; i++) cq_free(e.single[i].ids);
  for (int i = 0; i < 3; i++) cq_free(e.pair[i].ids);
  return status;
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

cq_status cq_tokenizer_assemble(cq_tokenizer *t, json_t *document, const cq_naming *naming, const char *path,
                                cq_error *error) {
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
  if (!status && naming) status = cq_tokenizer_put_named(document, t, naming, path, error);
  t->added_list = json_incref(json_object_get(document, "added_tokens"));
  if (!status) status = cq_added_parse(t, json_object_get(document, "added_tokens"), path, error);
  if (!status) status = parse_truncation(t, json_object_get(document, "truncation"), path, error);
  if (status) return status;
  for (size_t i = 0; i < t->n_model_pieces; i++) { /* added tokens may leave out some */
    if (!t->vocab.pieces[i].present)
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "the vocabulary has %zu ids, but none of them is %zu", t->vocab.n,
                          i);
  }
  return keep_ends(t, json_object_get(document, "post_processor"), path, error);
}
