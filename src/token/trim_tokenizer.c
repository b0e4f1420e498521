/* Removes the pieces that a text does not need; the tokenizer splits that text as before.
 *
 *   WordPiece, words   kept: the pieces that matched, also in words that became unknown: another piece can match only
 *                      where it matched before
 *   Unigram            kept: the pieces of the best segmentations: without the others, no path becomes better. The
 *                      unknown character's score depends on the lowest score of all, which stays
 *   BPE                kept: both parts and the result of each merge that was made: without the others, the same merge
 *                      still comes first at each step
 *
 * Added tokens, special ones and single bytes stay. Ids keep their order. */
#include "token/tokenizer_files.h"

#include "base/error.h"
#include "base/map.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>

/* --- what a text needs --- */

cq_status cq_tokenizer_mark(bool *needed, const cq_tokenizer *tokenizer, cq_token_memory *memory, cq_slice text,
                            bool add_special, cq_error *error) {
  cq_tokenizer tracing = *tokenizer; /* the same pieces; what they are put into differs */
  cq_model_kind kind = *tokenizer->model.kind;
  cq_ids ids = {0};
  if (kind.trace) kind.encode = kind.trace;
  tracing.model.kind = &kind;
  const cq_status status = cq_tokenizer_encode(&ids, &tracing, memory, text, add_special, 0, NULL, error);
  for (size_t i = 0; !status && i < ids.n; i++) needed[ids.ids[i]] = true;
  cq_free(ids.ids);
  return status;
}

static void keep_id(int32_t *kept, size_t n, int32_t id) {
  if (id >= 0 && (size_t)id < n) kept[id] = 1;
}

/* kept[id]: 1 or 0. */
static void choose_kept(int32_t *kept, const cq_tokenizer *t, const bool *needed) {
  const cq_model *m = &t->model;
  const size_t n = t->vocab.n;
  size_t lowest = 0;
  for (size_t id = 0; id < n; id++) kept[id] = needed[id] && t->vocab.pieces[id].present;
  for (size_t i = 0; i < t->added.n; i++) keep_id(kept, n, t->added.tokens[i].id);
  for (size_t i = 0; i < t->n_before; i++) keep_id(kept, n, t->before[i]);
  for (size_t i = 0; i < t->n_after; i++) keep_id(kept, n, t->after[i]);
  const int32_t roles[] = {t->info.pad_id, t->info.unk_id,  t->info.cls_id,
                           t->info.sep_id, t->info.mask_id, t->model.unk_id};
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) keep_id(kept, n, roles[i]);
  for (size_t b = 0; m->byte_fallback && b < 256; b++) keep_id(kept, n, m->byte_ids[b]);
  if (m->kind != &cq_unigram_kind) return;
  for (size_t id = 0; id < t->n_model_pieces; id++)
    if (m->scores[id] < m->scores[lowest]) lowest = id;
  kept[lowest] = 1;
}

/* --- the files, with new ids --- */

typedef struct renumbering {
  const cq_tokenizer *t;
  const int32_t *new_ids; /* -1: left out */
  json_t *folded;         /* the vocabulary where pieces become one; NULL: those that stay, as they are */
} renumbering;

/* Whether an id of the files stays. */
static bool is_kept(const renumbering *r, const json_t *id) {
  const json_int_t old = json_integer_value(id);
  return old >= 0 && old < (json_int_t)r->t->vocab.n && r->new_ids[old] >= 0;
}

static json_t *new_id_json(const renumbering *r, const json_t *id) {
  const json_int_t old = json_integer_value(id);
  if (!json_is_integer(id) || old < 0 || old >= (json_int_t)r->t->vocab.n) return cq_json_copy(id);
  return json_integer(r->new_ids[old]);
}

/* A copy of an object with another member. */
static json_t *with_member(const json_t *object, const char *key, json_t *value) {
  json_t *copy = cq_json_copy(object);
  cq_json_set(&copy, key, value);
  return copy;
}

static json_t *with_new_id(const renumbering *r, const json_t *object, const char *key) {
  return with_member(object, key, new_id_json(r, json_object_get(object, key)));
}

static json_t *trim_vocab(const renumbering *r, const json_t *vocab) {
  if (r->folded) return json_incref(r->folded);
  const char *piece;
  json_t *value, *out = json_is_array(vocab) ? json_array() : json_object();
  size_t i;
  if (json_is_array(vocab)) {
    json_array_foreach(vocab, i, value) if (i < r->t->vocab.n && r->new_ids[i] >= 0)
        cq_json_push(&out, json_incref(value));
    return out;
  }
  json_object_foreach((json_t *)(uintptr_t)vocab, piece, value) {
    if (is_kept(r, value)) cq_json_set(&out, piece, new_id_json(r, value));
  }
  return out;
}

static json_t *trim_model(const renumbering *r, const json_t *model) {
  json_t *out = with_member(model, "vocab", trim_vocab(r, json_object_get(model, "vocab")));
  if (r->t->model.merges) cq_json_set(&out, "merges", cq_merges_json(r->t, r->new_ids));
  if (json_is_integer(json_object_get(model, "unk_id")))
    cq_json_set(&out, "unk_id", new_id_json(r, json_object_get(model, "unk_id")));
  return out;
}

static json_t *trim_added(const renumbering *r, const json_t *list) {
  json_t *out = json_array(), *token;
  size_t i;
  json_array_foreach(list, i, token) if (is_kept(r, json_object_get(token, "id")))
      cq_json_push(&out, with_new_id(r, token, "id"));
  return out;
}

/* ["[SEP]", id] */
static json_t *trim_token_pair(const renumbering *r, const json_t *pair) {
  json_t *out = json_array();
  cq_json_push(&out, cq_json_copy(json_array_get(pair, 0)));
  cq_json_push(&out, new_id_json(r, json_array_get(pair, 1)));
  return out;
}

static json_t *trim_template_tokens(const renumbering *r, const json_t *specials) {
  const char *name;
  json_t *out = json_object(), *special, *id;
  size_t i;
  json_object_foreach((json_t *)(uintptr_t)specials, name, special) {
    json_t *ids = json_array();
    json_array_foreach(json_object_get(special, "ids"), i, id) cq_json_push(&ids, new_id_json(r, id));
    cq_json_set(&out, name, with_member(special, "ids", ids));
  }
  return out;
}

/* The assembled document is no deeper than this. */
static json_t *trim_post(const renumbering *r, const json_t *post, int depth) {
  json_t *out = cq_json_copy(post), *processors = json_array(), *processor;
  const json_t *list = json_object_get(post, "processors");
  size_t i;
  for (int k = 0; k < 2; k++) {
    const char *key = k ? "sep" : "cls";
    if (json_is_array(json_object_get(post, key)))
      cq_json_set(&out, key, trim_token_pair(r, json_object_get(post, key)));
  }
  if (json_is_object(json_object_get(post, "special_tokens")))
    cq_json_set(&out, "special_tokens", trim_template_tokens(r, json_object_get(post, "special_tokens")));
  json_array_foreach(list, i, processor)
      cq_json_push(&processors, depth < 16 ? trim_post(r, processor, depth + 1) : NULL);
  if (json_is_array(list))
    cq_json_set(&out, "processors", processors);
  else
    json_decref(processors);
  return out;
}

static cq_status whole_document(json_t **out, const cq_tokenizer *t, cq_error *error) {
  const cq_origin_file *file = cq_origin_of_file(t, "tokenizer.json");
  if (file) return cq_json_parse(out, file->bytes, file->name, error);
  *out = cq_complete_document(t);
  return *out ? CQ_OK : cq_fail_memory(error, "tokenizer.json");
}

static cq_status trim_document(json_t **out, const renumbering *r, cq_error *error) {
  json_t *whole;
  cq_status status = whole_document(&whole, r->t, error);
  *out = NULL;
  if (status) return status;
  const json_t *padding = json_object_get(whole, "padding"), *post = json_object_get(whole, "post_processor");
  *out = with_member(whole, "model", trim_model(r, json_object_get(whole, "model")));
  cq_json_set(out, "added_tokens", trim_added(r, r->t->added_list));
  if (r->folded) cq_json_set(out, "normalizer", cq_typed_text_normalizer(json_object_get(whole, "normalizer"), true));
  if (json_is_object(post)) cq_json_set(out, "post_processor", trim_post(r, post, 0));
  if (json_is_object(padding)) cq_json_set(out, "padding", with_new_id(r, padding, "pad_id"));
  json_decref(whole);
  return *out ? CQ_OK : cq_fail_memory(error, "tokenizer.json");
}

/* Other classes would replace the normalizer. */
static const char class_of_folded[] = "PreTrainedTokenizerFast";

/* tokenizer_config.json; NULL if there was none. */
static cq_status trim_config(json_t **out, const renumbering *r, cq_error *error) {
  const cq_origin_file *file = cq_origin_of_file(r->t, "tokenizer_config.json");
  const char *key;
  json_t *token, *decoder = json_object();
  *out = NULL;
  cq_status status = file ? cq_json_parse(out, file->bytes, file->name, error) : CQ_OK;
  json_object_foreach(json_object_get(*out, "added_tokens_decoder"), key, token) {
    char id[24];
    const long old = strtol(key, NULL, 10);
    if (old < 0 || old >= (long)r->t->vocab.n || r->new_ids[old] < 0) continue;
    snprintf(id, sizeof id, "%d", (int)r->new_ids[old]);
    cq_json_set(&decoder, id, json_incref(token));
  }
  if (!status && json_is_object(json_object_get(*out, "added_tokens_decoder")))
    cq_json_set(out, "added_tokens_decoder", decoder);
  else
    json_decref(decoder);
  if (r->folded && *out) cq_json_set(out, "tokenizer_class", json_string(class_of_folded));
  return status ? status : *out || !file ? CQ_OK : cq_fail_memory(error, file->name);
}

/* --- the tokenizer --- */

/* Takes bytes over. */
static cq_status put_file(cq_tokenizer *t, const char *name, cq_builder *bytes, cq_error *error) {
  char *copy = cq_strdup(name);
  if (!copy || bytes->failed || !cq_reserve((void **)&t->files, &t->file_capacity, t->n_files + 1, sizeof *t->files)) {
    cq_free(copy);
    cq_builder_free(bytes);
    return cq_fail_memory(error, name);
  }
  t->files[t->n_files++] = (cq_origin_file){copy, {bytes->data, bytes->n}, {NULL, 0}};
  return CQ_OK;
}

static cq_status put_json_file(cq_tokenizer *t, const char *name, const json_t *json, cq_error *error) {
  cq_builder text = {0};
  cq_json_append(&text, json, -1);
  return put_file(t, name, &text, error);
}

static cq_status assemble_trimmed(cq_tokenizer *out, const renumbering *r, cq_error *error) {
  const cq_origin_file *names = cq_origin_of_file(r->t, "special_tokens_map.json");
  json_t *document = NULL, *config = NULL, *specials = NULL, *merged = NULL;
  out->lowercase_first = r->t->lowercase_first;
  out->config_class = r->folded ? class_of_folded : r->t->config_class;
  out->class_kind = r->folded ? (int)CQ_CLASS_NONE : r->t->class_kind;
  cq_status status = trim_document(&document, r, error);
  if (!status) status = trim_config(&config, r, error);
  if (!status && names) status = cq_json_parse(&specials, names->bytes, names->name, error);
  if (!status) status = put_json_file(out, "tokenizer.json", document, error);
  if (!status && config) status = put_json_file(out, "tokenizer_config.json", config, error);
  if (!status && specials) status = put_json_file(out, "special_tokens_map.json", specials, error);
  if (!status && !(merged = cq_naming_json(config, specials))) status = cq_fail_memory(error, "special tokens");
  cq_naming naming = {.config = merged, .kind = (cq_class_kind)out->class_kind};
  if (!status) status = cq_tokenizer_apply_class(document, out, &naming, error);
  if (!status) status = cq_tokenizer_assemble(out, document, NULL, "tokenizer.json", error);
  if (!status) status = cq_tokenizer_finish(out, merged, "tokenizer_config.json", error);
  json_decref(merged);
  json_decref(document);
  json_decref(config);
  json_decref(specials);
  return status;
}

static cq_status make_renumbered(cq_tokenizer **out, const renumbering *r, int32_t n, cq_error *error) {
  *out = NULL;
  cq_tokenizer *t = cq_tokenizer_new();
  if (!t) return cq_fail_memory(error, "tokenizer");
  cq_status status = assemble_trimmed(t, r, error);
  if (!status && t->vocab.n != (size_t)n)
    status = cq_fail(error, CQ_ERR_UNSUPPORTED, "a %s vocabulary that lists pieces twice cannot be trimmed",
                     r->t->info.type);
  if (status)
    cq_tokenizer_free(t);
  else
    *out = t;
  return status;
}

cq_status cq_tokenizer_trim(cq_tokenizer **out, int32_t *new_ids, const cq_tokenizer *tokenizer, const bool *needed,
                            cq_error *error) {
  int32_t next = 0;
  if (tokenizer->pre_tokenizers.japanese)
    return cq_fail(error, CQ_ERR_UNSUPPORTED, "a vocabulary whose words MeCab splits cannot be trimmed");
  choose_kept(new_ids, tokenizer, needed);
  for (size_t id = 0; id < tokenizer->vocab.n; id++) new_ids[id] = new_ids[id] ? next++ : -1;
  const renumbering r = {.t = tokenizer, .new_ids = new_ids};
  return make_renumbered(out, &r, next, error);
}

/* --- one piece for those that differ in case --- */

/* A piece as folded text is split into it. */
static void fold_piece(cq_builder *out, const cq_tokenizer *t, int32_t id) {
  cq_slice text;
  cq_piece_kind kind;
  const cq_slice piece = cq_vocab_piece(&t->vocab, id);
  cq_builder_clear(out);
  if (cq_tokenizer_piece(&text, &kind, t, id) && kind == CQ_PIECE_SPECIAL)
    cq_builder_bytes(out, piece.data, piece.n);
  else
    cq_fold_typed(out, piece);
}

cq_status cq_tokenizer_fold_case(cq_tokenizer **out, int32_t *new_ids, double *weights, const cq_tokenizer *t,
                                 cq_error *error) {
  *out = NULL;
  if (t->model.kind != &cq_unigram_kind || t->vocab.n != t->n_model_pieces)
    return cq_fail(error, CQ_ERR_UNSUPPORTED, "a %s vocabulary: case can be folded in unigram ones only", t->info.type);
  cq_map ids = {0};
  cq_builder text = {0};
  double *sums = cq_alloc_array_zeroed(t->vocab.n, sizeof *sums);
  json_t *vocab = json_array();
  bool ok = sums && vocab;
  int32_t n = 0;
  for (size_t id = 0; ok && id < t->vocab.n; id++) {
    fold_piece(&text, t, (int32_t)id);
    const cq_slice key = {text.data, text.n};
    uint64_t found = text.failed ? CQ_MAP_NONE : cq_map_get(&ids, key);
    if (found == CQ_MAP_NONE) {
      ok = !text.failed && cq_map_put(&ids, key, found = (uint64_t)n++);
      cq_json_push(&vocab, json_pack("[o, f]", json_stringn(text.data, text.n), 0.0));
    }
    new_ids[id] = (int32_t)found;
    weights[id] = exp(t->model.scores[id]);
    if (ok) sums[found] += weights[id];
  }
  for (size_t id = 0; ok && id < t->vocab.n; id++) {
    const double sum = sums[new_ids[id]];
    weights[id] /= sum;
    ok = json_array_set_new(json_array_get(vocab, (size_t)new_ids[id]), 1, json_real(round(log(sum) * 1e4) / 1e4)) == 0;
  }
  const renumbering r = {.t = t, .new_ids = new_ids, .folded = vocab};
  const cq_status status = ok ? make_renumbered(out, &r, n, error) : cq_fail_memory(error, "vocabulary");
  json_decref(vocab);
  cq_map_free(&ids);
  cq_builder_free(&text);
  cq_free(sums);
  return status;
}
