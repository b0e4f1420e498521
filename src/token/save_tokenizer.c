/* Writes a tokenizer so that other libraries load the same one: its original files unchanged, tokenizer_config.json
 * with the new length, and the missing ones of tokenizer.json, special_tokens_map.json and tokenizer_config.json. */
#include "token/tokenizer_files.h"

#include "base/file.h"
#include "base/memory.h"

#include <limits.h>
#include <stdlib.h>

const cq_origin_file *cq_origin_of_file(const cq_tokenizer *t, const char *name) {
  for (size_t i = 0; i < t->n_files; i++) {
    if (!strcmp(t->files[i].name, name)) return &t->files[i];
  }
  return NULL;
}

static json_t *piece_string(const cq_tokenizer *t, int32_t id) {
  cq_slice piece = cq_vocab_piece(&t->vocab, id);
  return json_stringn(piece.data, piece.n);
}

static int by_rank(const void *a, const void *b) {
  const cq_merge_view *x = a, *y = b;
  return (x->rank > y->rank) - (x->rank < y->rank);
}

json_t *cq_merges_json(const cq_tokenizer *t, const int32_t *new_ids) {
  size_t n;
  cq_merge_view *views = cq_merges_list(t->model.merges, &n);
  json_t *list = json_array();
  if (!views || !list) {
    cq_free(views);
    json_decref(list);
    return NULL;
  }
  qsort(views, n, sizeof *views, by_rank);
  for (size_t i = 0; i < n; i++) {
    cq_slice left = cq_vocab_piece(&t->vocab, views[i].left), right = cq_vocab_piece(&t->vocab, views[i].right);
    if (!left.data || !right.data || (size_t)views[i].merged >= t->vocab.n) continue;
    if (new_ids && (new_ids[views[i].left] < 0 || new_ids[views[i].right] < 0 || new_ids[views[i].merged] < 0))
      continue;
    if (memchr(left.data, ' ', left.n) || memchr(right.data, ' ', right.n)) {
      cq_json_push(&list, json_pack("[o, o]", piece_string(t, views[i].left), piece_string(t, views[i].right)));
      continue;
    }
    cq_builder pair = {0}; /* the older form, which every reader knows */
    cq_builder_bytes(&pair, left.data, left.n);
    cq_builder_char(&pair, ' ');
    cq_builder_bytes(&pair, right.data, right.n);
    cq_json_push(&list, pair.failed ? NULL : json_stringn(pair.data, pair.n));
    cq_builder_free(&pair);
  }
  cq_free(views);
  return list;
}

json_t *cq_complete_document(const cq_tokenizer *t) {
  json_t *document = cq_json_copy(t->document), *model = cq_json_copy(json_object_get(t->document, "model"));
  bool unigram = t->model.kind == &cq_unigram_kind;
  size_t n = t->n_model_pieces;
  json_t *vocab = unigram ? json_array() : json_object();
  cq_builder key = {0}; /* zero-terminated, for Jansson before 2.14 */
  for (size_t i = 0; i < n && vocab; i++) {
    if (unigram) {
      cq_json_push(&vocab, json_pack("[o, f]", piece_string(t, (int32_t)i), t->model.scores[i]));
    } else {
      cq_slice piece = cq_vocab_piece(&t->vocab, (int32_t)i);
      cq_builder_clear(&key);
      cq_builder_bytes(&key, piece.data, piece.n);
      cq_json_set(&vocab, key.n ? key.data : "", key.failed ? NULL : json_integer((json_int_t)i));
    }
  }
  cq_builder_free(&key);
  cq_json_set(&model, "vocab", vocab);
  if (t->model.merges) cq_json_set(&model, "merges", cq_merges_json(t, NULL));
  cq_json_set(&document, "model", model);
  return document;
}

/* The names of the special tokens, for special_tokens_map.json and tokenizer_config.json. */
static json_t *special_names(const cq_tokenizer *t) {
  const cq_tokenizer_info *info = &t->info;
  const int32_t ids[CQ_N_NAMED] = {info->cls_id, info->sep_id, info->unk_id, info->sep_id,
                                   info->pad_id, info->cls_id, info->mask_id};
  json_t *names = json_object();
  for (cq_named_token i = t->model.kind == &cq_wordpiece_kind ? CQ_UNK : CQ_BOS; i < CQ_N_NAMED; i++)
    if (ids[i] >= 0) cq_json_set(&names, cq_named_tokens[i], piece_string(t, ids[i]));
  return names;
}

static json_t *new_config(const cq_tokenizer *t) {
  json_t *config = special_names(t);
  if (t->config_class) cq_json_set(&config, "tokenizer_class", json_string(t->config_class));
  if (t->model.kind == &cq_wordpiece_kind) cq_json_set(&config, "do_lower_case", json_boolean(t->info.lowercase));
  cq_json_set(&config, "clean_up_tokenization_spaces", json_false());
  const json_t *added = json_object_get(t->document, "added_tokens");
  if (!added) return config;
  json_t *decoder = json_object();
  for (size_t i = 0; i < json_array_size(added); i++) {
    json_t *token = cq_json_copy(json_array_get(added, i));
    char id[24];
    snprintf(id, sizeof id, "%lld", (long long)json_integer_value(json_object_get(token, "id")));
    json_object_del(token, "id");
    cq_json_set(&decoder, id, token);
  }
  cq_json_set(&config, "added_tokens_decoder", decoder);
  return config;
}

static cq_status save_config(const cq_tokenizer *t, const char *directory, int max_seq_length, cq_error *error) {
  const cq_origin_file *old = cq_origin_of_file(t, "tokenizer_config.json");
  json_t *config = NULL;
  if (old) {
    cq_status status = cq_json_parse(&config, old->bytes, "tokenizer_config.json", error);
    if (status) return status;
  } else {
    config = new_config(t);
  }
  /* XLM-R's class treats any model as a Unigram. */
  const char *class = json_string_value(json_object_get(config, "tokenizer_class"));
  if (t->model.merges && t->config_class && class && !strncmp(class, "XLMRoberta", 10))
    cq_json_set(&config, "tokenizer_class", json_string(t->config_class));
  if (max_seq_length > 0) cq_json_set(&config, "model_max_length", json_integer(max_seq_length));
  return cq_json_save(config, directory, "tokenizer_config.json", error);
}

cq_status cq_tokenizer_save(const cq_tokenizer *tokenizer, const char *directory, int max_seq_length, cq_error *error) {
  char path[PATH_MAX];
  cq_status status = save_config(tokenizer, directory, max_seq_length, error);
  for (size_t i = 0; i < tokenizer->n_files && !status; i++) {
    const cq_origin_file *file = &tokenizer->files[i];
    if (!strcmp(file->name, "tokenizer_config.json")) continue;
    status = cq_path_join(path, sizeof path, directory, file->name, error);
    if (!status) status = cq_file_write(path, file->bytes.data, file->bytes.n, error);
  }
  if (!status && !cq_origin_of_file(tokenizer, "special_tokens_map.json"))
    status = cq_json_save(special_names(tokenizer), directory, "special_tokens_map.json", error);
  if (!status && tokenizer->document && !tokenizer->pre_tokenizers.japanese && /* which no tokenizer.json can have */
      !cq_origin_of_file(tokenizer, "tokenizer.json"))
    status = cq_json_save(cq_complete_document(tokenizer), directory, "tokenizer.json", error);
  return status;
}
