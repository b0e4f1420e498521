/* Describes an encoder: its sizes, its description, its identity. */
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "format/json.h"
#include "model/model_language.h"
#include "model/router.h"

#include <stdlib.h>
#include <string.h>

int cq_encoder_dim(const cq_encoder *e) {
  const int dim = cq_encoder_full_dim(e);
  return e->truncate_dim > 0 && e->truncate_dim < dim ? (int)e->truncate_dim : dim;
}

bool cq_encoder_has_tasks(const cq_encoder *e) {
  static const char *const tasks[] = {"query", "document"};
  bool found = e->has_routes;
  for (int i = 0; i < 2; i++) {
    const char *name = cq_task_prompt(e->prompts, tasks[i]);
    found = found || (name && *json_string_value(json_object_get(e->prompts, name)));
  }
  return found;
}

int cq_encoder_max_seq_length(const cq_encoder *e) {
  return e->max_seq_length;
}

int64_t cq_encoder_n_parameters(const cq_encoder *e) {
  int64_t n = 0;
  for (size_t i = 0; i < e->params.n; i++) n += cq_param_floats(e->params.items[i]);
  return n;
}

bool cq_encoder_token(cq_slice *text, bool *special, const cq_encoder *encoder, int32_t id) {
  const cq_tokenizer *tokenizer = cq_encoder_text_module(encoder)->tokenizer;
  cq_piece_kind kind;
  if (!tokenizer || !cq_tokenizer_piece(text, &kind, tokenizer, id)) return false;
  if (special) *special = kind == CQ_PIECE_SPECIAL;
  return true;
}

cq_status cq_encoder_decode(char **out, const cq_encoder *encoder, const int32_t *ids, size_t n, cq_error *error) {
  const cq_tokenizer *tokenizer = cq_encoder_text_module(encoder)->tokenizer;
  const int64_t n_ids = cq_encoder_vocab_size(encoder);
  cq_builder text = {0};
  if (!tokenizer) return cq_fail(error, CQ_ERR_UNSUPPORTED, "the model has no tokenizer that joins pieces");
  for (size_t i = 0; i < n; i++)
    if (ids[i] < 0 || ids[i] >= n_ids)
      return cq_fail(error, CQ_ERR_ARGUMENT, "token %zu is %d, expected 0 to %lld", i, (int)ids[i],
                     (long long)n_ids - 1);
  cq_tokenizer_text(&text, tokenizer, ids, n);
  *out = text.failed ? NULL : cq_strndup(cq_built(&text).data, text.n);
  cq_builder_free(&text);
  return *out ? CQ_OK : cq_fail_memory(error, "decoded text");
}

const char *cq_encoder_task_prompt(const cq_encoder *encoder, const char *task) {
  return cq_task_prompt(encoder->prompts, task);
}

int64_t cq_encoder_vocab_size(const cq_encoder *encoder) {
  const cq_module *text = cq_encoder_text_module(encoder);
  return text->tokenizer ? cq_tokenizer_describe(text->tokenizer)->vocab_size
                         : cq_encoder_word_table(NULL, encoder)->rows;
}

const char *cq_simd_level(void) {
  return cq_kernels_best()->name;
}

static json_t *describe_modules(const cq_encoder *e) {
  json_t *list = json_array();
  for (size_t i = 0; i < e->n_modules; i++) {
    const cq_module *m = e->modules[i];
    int64_t n = 0;
    for (size_t p = 0; p < m->n_params; p++) n += cq_param_floats(&m->params[p]);
    json_t *item = json_pack("{s:s, s:I, s:I}", "type", m->type->name, "output_dim", (json_int_t)m->output_dim,
                             "parameters", (json_int_t)n);
    if (m->type->describe) m->type->describe(m, &item);
    cq_json_push(&list, item);
  }
  return list;
}

static json_t *describe_tokenizer(const cq_module *m) {
  if (!m->tokenizer) return json_null();
  const cq_tokenizer_info *t = cq_tokenizer_describe(m->tokenizer);
  return json_pack("{s:s, s:I, s:b, s:i, s:i, s:i, s:i, s:i, s:b}", "type", t->type, "vocab_size",
                   (json_int_t)t->vocab_size, "lowercase", t->lowercase || m->lowercase, "pad", t->pad_id, "unk",
                   t->unk_id, "cls", t->cls_id, "sep", t->sep_id, "mask", t->mask_id, "special_tokens_added",
                   m->add_special);
}

/* Everything that affects the vectors, apart from vocabulary and weights. NULL: out of memory. */
static json_t *describe_encoder(const cq_encoder *e) {
  json_t *out =
      json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:s?, s:s?}", "dim", (json_int_t)cq_encoder_dim(e), "max_seq_length",
                (json_int_t)e->max_seq_length, "parameters", (json_int_t)cq_encoder_n_parameters(e), "modules",
                describe_modules(e), "tokenizer", describe_tokenizer(e->modules[0]), "prompts",
                e->prompts ? cq_json_deep_copy(e->prompts) : json_object(), "default_prompt_name",
                e->default_prompt_name, "similarity", e->similarity);
  if (e->task_prompt_name) cq_json_set(&out, "task_prompt_name", json_string(e->task_prompt_name));
  if (e->truncate_dim) cq_json_set(&out, "truncate_dim", json_integer(e->truncate_dim));
  if (e->compose) cq_json_set(&out, "compose", json_true());
  return out;
}

cq_status cq_encoder_describe(char **out_json, const cq_encoder *e, cq_error *error) {
  json_t *languages = NULL;
  const cq_status status = e->directory && !e->language ? cq_language_list(&languages, e->directory, error) : CQ_OK;
  if (status) return status;
  json_t *object = describe_encoder(e);
  if (languages) cq_json_set(&object, "languages", languages);
  if (e->has_routes) cq_json_set(&object, "has_routes", json_true());
  if (e->language) cq_json_set(&object, "body", json_string(e->directory));
  cq_json_set(&object, "directory", json_pack("s?", e->language ? e->language : e->directory));
  cq_json_set(&object, "simd", json_string(cq_simd_level()));
  cq_json_set(&object, "precision", json_string(cq_precision_name(e->precision)));
  char *text = object ? cq_json_dump(object, JSON_INDENT(2)) : NULL;
  *out_json = text ? cq_strdup(text) : NULL;
  cq_free(text);
  json_decref(object);
  return *out_json ? CQ_OK : cq_fail_memory(error, "a description");
}

/* --- identity --- */

static void include_bytes(cq_identity *id, const void *bytes, size_t n) {
  *id = cq_hash128_add(*id, bytes, n);
}

/* Normalizers, pre-tokenizers and merges are identified by how they split this text, since listing them would depend on
 * the file format. Case, accents, compatibility forms, digits, punctuation, spaces, scripts with and without them, a
 * long word. */
static const char probe[] =
    "The Quick  brown\tfox's 1,234.50 na\xC3\xAFve caf\x65\xCC\x81 re-entered; \xEF\xAC\x81ve \xE2\x85\xA7 \xC2\xBD! "
    "\xC3\x9C"
    "bergr\xC3\xB6\xC3\x9F"
    "entr\xC3\xA4ger \xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82, "
    "\xE4\xBD\xA0\xE5\xA5\xBD\xE3\x80\x82 \xE0\xA4\xA8\xE0\xA4\xAE\xE0\xA4\xB8\xE0\xA5\x8D\xE0\xA4\xA4\xE0\xA5\x87 "
    "\xD9\x85\xD8\xB1\xD8\xAD\xD8\xA8\xD8\xA7 internationalisation UPPER lower MiXeD x_y @z #1 \xF0\x9F\x98\x80";

static cq_status include_tokenizer(cq_identity *id, const cq_module *text, cq_error *error) {
  const cq_tokenizer *tokenizer = text->tokenizer;
  if (!tokenizer) return CQ_OK;
  for (int64_t i = 0; i < cq_tokenizer_describe(tokenizer)->vocab_size; i++) {
    cq_slice piece = {"", 0};
    cq_piece_kind kind = CQ_PIECE_OTHER;
    if (!cq_tokenizer_piece(&piece, &kind, tokenizer, (int32_t)i)) continue;
    include_bytes(id, &(char){(char)kind}, 1);
    include_bytes(id, piece.data, piece.n);
  }
  cq_ids ids = {0};
  bool truncated;
  cq_status status =
      cq_tokenizer_encode(&ids, tokenizer, NULL, cq_slice_of(probe), text->add_special, 0, &truncated, error);
  if (!status) include_bytes(id, ids.ids, ids.n * sizeof *ids.ids);
  cq_free(ids.ids);
  return status;
}

cq_status cq_encoder_fingerprint(char out[33], const cq_encoder *e, cq_error *error) {
  cq_identity id = {0};
  json_t *object = describe_encoder(e);
  char *text = object ? cq_json_dump(object, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
  json_decref(object);
  if (!text) return cq_fail_memory(error, "a description");
  include_bytes(&id, text, strlen(text));
  cq_free(text);
  cq_status status = include_tokenizer(&id, e->modules[0], error);
  for (size_t i = 0; !status && i < e->params.n; i++) {
    const cq_param *p = e->params.items[i];
    float *made;
    const float *value = cq_param_f32(&made, p);
    if (!value) return cq_fail_memory(error, "weights in f32");
    include_bytes(&id, p->name, strlen(p->name));
    include_bytes(&id, value, (size_t)cq_param_floats(p) * sizeof(float));
    cq_free(made);
  }
  if (!status) cq_identity_hex(out, id);
  return status;
}
