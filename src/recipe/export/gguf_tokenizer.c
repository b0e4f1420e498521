/* The tokenizer as llama.cpp reads it: the pieces of tokenizer.json by id, with a type each.
 *
 *   WordPiece  model "bert": "##x" is "x", and what begins a word has U+2581 in front; the text is in lower case
 *   Unigram    model "t5": with scores and SentencePiece's charsmap */
#include "recipe/export/gguf.h"

#include "base/base64.h"
#include "base/error.h"
#include "base/memory.h"
#include "format/json.h"
#include "token/tokenizer_files.h"

enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER_DEFINED = 4, UNUSED = 5 }; /* llama.cpp's */

typedef struct piece {
  cq_slice text; /* of the document; data NULL: none has the id */
  float score;
  int32_t type;
} piece;

static cq_status open_document(json_t **out, const cq_tokenizer *t, cq_error *error) {
  const cq_origin_file *file = cq_origin_of_file(t, "tokenizer.json");
  if (file) return cq_json_parse(out, file->bytes, "tokenizer.json", error);
  *out = cq_complete_document(t);
  return *out ? CQ_OK : cq_fail_memory(error, "tokenizer.json");
}

static void put_piece(piece *pieces, size_t n, int64_t id, const json_t *text, float score, int32_t type) {
  if (id < 0 || (uint64_t)id >= n || !json_is_string(text)) return;
  pieces[id] = (piece){{json_string_value(text), json_string_length(text)}, score, type};
}

/* Pieces of the vocabulary [n], then the added ones. */
static void read_pieces(piece *pieces, size_t n, const json_t *document) {
  const json_t *model = json_object_get(document, "model"), *vocab = json_object_get(model, "vocab"), *item;
  const json_int_t unknown = json_integer_value(json_object_get(model, "unk_id"));
  const char *text;
  json_t *id;
  size_t i;
  json_object_foreach((json_t *)(uintptr_t)vocab, text, id) {
    const int64_t at = json_integer_value(id);
    if (at >= 0 && (uint64_t)at < n) pieces[at] = (piece){cq_slice_of(text), 0, NORMAL};
  }
  json_array_foreach(vocab, i, item)
      put_piece(pieces, n, (int64_t)i, json_array_get(item, 0), (float)json_number_value(json_array_get(item, 1)),
                (json_int_t)i == unknown ? UNKNOWN : NORMAL);
  json_array_foreach(json_object_get(document, "added_tokens"), i, item) {
    const int64_t at = json_integer_value(json_object_get(item, "id"));
    if (json_is_array(vocab) && at == unknown) continue;
    put_piece(pieces, n, at, json_object_get(item, "content"), 0,
              json_is_true(json_object_get(item, "special")) ? CONTROL : USER_DEFINED);
  }
}

/* The charsmap of a normalizer, in base64; NULL: none. *other: a step that is not SentencePiece's. */
static const char *charsmap_of(const char **other, const json_t *step) {
  const char *type = json_string_value(json_object_get(step, "type")), *found = NULL;
  const json_t *item;
  size_t i;
  if (!type) return NULL;
  if (!strcmp(type, "Precompiled")) return json_string_value(json_object_get(step, "precompiled_charsmap"));
  if (strcmp(type, "Sequence") != 0) {
    const json_t *pattern = json_object_get(step, "pattern");
    const char *regex = json_string_value(json_object_get(pattern, "Regex")); /* extra blanks are removed */
    if (strcmp(type, "Replace") != 0 || !regex || strcmp(regex, " {2,}") != 0) *other = type;
  }
  json_array_foreach(json_object_get(step, "normalizers"), i, item) {
    const char *more = charsmap_of(other, item);
    if (more) found = more;
  }
  return found;
}

/* ---- keys and values ---- */

static void put_pieces(cq_gguf *g, const piece *pieces, size_t n, bool is_wordpiece) {
  cq_gguf_array(g, "tokenizer.ggml.tokens", CQ_GGUF_STRING, n);
  for (size_t i = 0; i < n; i++) {
    const piece *p = &pieces[i];
    const bool inside = is_wordpiece && p->type == NORMAL && cq_slice_begins(p->text, cq_slice_of("##"));
    cq_builder text = {0};
    if (!p->text.data) cq_builder_printf(&text, "[PAD%zu]", i);
    if (is_wordpiece && p->type == NORMAL && !inside) cq_builder_text(&text, "\xE2\x96\x81");
    cq_builder_slice(&text, inside ? (cq_slice){p->text.data + 2, p->text.n - 2} : p->text);
    cq_gguf_put_string(g, cq_built(&text));
    g->head.failed = g->head.failed || text.failed;
    cq_builder_free(&text);
  }
  cq_gguf_array(g, "tokenizer.ggml.token_type", CQ_GGUF_I32, n);
  for (size_t i = 0; i < n; i++)
    cq_gguf_put(g, &(int32_t){pieces[i].text.data ? pieces[i].type : UNUSED}, sizeof(int32_t));
  if (is_wordpiece) return;
  cq_gguf_array(g, "tokenizer.ggml.scores", CQ_GGUF_F32, n);
  for (size_t i = 0; i < n; i++)
    cq_gguf_put(g, &(float){pieces[i].text.data ? pieces[i].score : -10000}, sizeof(float));
}

static void put_ids(cq_gguf *g, const cq_tokenizer_info *info) {
  const struct {
    const char *key;
    int32_t id;
  } ids[] = {{"tokenizer.ggml.bos_token_id", info->cls_id},     {"tokenizer.ggml.eos_token_id", info->sep_id},
             {"tokenizer.ggml.unknown_token_id", info->unk_id}, {"tokenizer.ggml.seperator_token_id", info->sep_id},
             {"tokenizer.ggml.padding_token_id", info->pad_id}, {"tokenizer.ggml.mask_token_id", info->mask_id}};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
    if (ids[i].id >= 0) cq_gguf_u32(g, ids[i].key, (uint32_t)ids[i].id);
  cq_gguf_bool(g, "tokenizer.ggml.add_bos_token", true);
  cq_gguf_bool(g, "tokenizer.ggml.add_eos_token", true);
}

static cq_status put_charsmap(cq_gguf *g, const char *base64, cq_error *error) {
  cq_builder bytes = {0};
  const bool decoded = !base64 || cq_base64_decode(&bytes, cq_slice_of(base64));
  if (base64 && decoded) {
    cq_gguf_array(g, "tokenizer.ggml.precompiled_charsmap", CQ_GGUF_U8, bytes.n);
    cq_gguf_put(g, bytes.data, bytes.n);
  }
  const bool failed = bytes.failed;
  cq_builder_free(&bytes);
  return failed ? cq_fail_memory(error, "a charsmap") : decoded ? CQ_OK : cq_fail(error, CQ_ERR_FORMAT, "a charsmap");
}

cq_status cq_gguf_put_tokenizer(cq_gguf *g, const char **reason, const cq_module *module, size_t n, cq_error *error) {
  const cq_tokenizer_info *info = cq_tokenizer_describe(module->tokenizer);
  const bool is_wordpiece = !strcmp(info->type, "WordPiece"), is_unigram = !strcmp(info->type, "Unigram");
  const char *other = NULL, *charsmap = NULL;
  json_t *document = NULL;
  if (!is_wordpiece && !is_unigram) *reason = "its tokenizer is neither WordPiece nor Unigram";
  if (is_wordpiece && !info->lowercase) *reason = "its tokenizer keeps capitals, and llama.cpp's WordPiece does not";
  if (is_unigram && module->lowercase) *reason = "do_lower_case before a Unigram tokenizer";
  if (*reason) return CQ_OK;
  cq_status status = open_document(&document, module->tokenizer, error);
  if (status) return status;
  if (is_unigram) charsmap = charsmap_of(&other, json_object_get(document, "normalizer"));
  if (other) {
    *reason = "its tokenizer has steps of normalization that are not SentencePiece's";
    json_decref(document);
    return CQ_OK;
  }
  piece *pieces = cq_alloc_array_zeroed(n, sizeof *pieces);
  if (pieces) {
    read_pieces(pieces, n, document);
    cq_gguf_string(g, "tokenizer.ggml.model", is_wordpiece ? "bert" : "t5");
    cq_gguf_string(g, "tokenizer.ggml.pre", "default");
    put_pieces(g, pieces, n, is_wordpiece);
    put_ids(g, info);
    if (is_unigram) {
      cq_gguf_bool(g, "tokenizer.ggml.add_space_prefix", true);
      cq_gguf_bool(g, "tokenizer.ggml.remove_extra_whitespaces", true);
      status = put_charsmap(g, charsmap, error);
    }
  } else {
    status = cq_fail_memory(error, "pieces");
  }
  cq_free(pieces);
  json_decref(document);
  return status;
}
