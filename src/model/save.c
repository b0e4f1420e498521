/* Writing a model directory in sentence-transformers' layout (see directory.c), and telling what is in an encoder. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "format/json.h"
#include "model/encoder.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PATH 4096

/* --- saving --- */

/* Where a module goes: a Transformer's files lie in the root, where every other tool looks for them. */
static void module_path(char *out, size_t size, const cq_encoder *e, size_t index) {
  if (index == 0 && e->modules[0]->type == &cq_transformer_type)
    out[0] = '\0';
  else
    snprintf(out, size, "%zu_%s", index, e->modules[index]->type->name);
}

static cq_status write_json(json_t *json, const char *directory, const char *name, cq_error *error) {
  char path[MAX_PATH];
  cq_status status = json ? cq_path_join(path, sizeof path, directory, name, error) : cq_fail_memory(error, name);
  if (!status) status = cq_json_write(json, path, error);
  json_decref(json);
  return status;
}

static cq_status write_modules(const cq_encoder *e, const char *directory, cq_error *error) {
  json_t *list = json_array();
  cq_status status = list ? CQ_OK : cq_fail_memory(error, "modules.json");
  for (size_t i = 0; !status && i < e->n_modules; i++) {
    const cq_module *m = e->modules[i];
    char name[64], number[24], path[MAX_PATH];
    module_path(name, sizeof name, e, i);
    snprintf(number, sizeof number, "%zu", i);
    json_t *item = json_pack("{s:I, s:s, s:s, s:s}", "idx", (json_int_t)i, "name", number, "path", name, "type",
                             m->type->type_name);
    if (!item || json_array_append_new(list, item)) {
      status = cq_fail_memory(error, "modules.json");
      break;
    }
    if (name[0])
      status = cq_path_join(path, sizeof path, directory, name, error);
    else
      snprintf(path, sizeof path, "%s", directory);
    if (!status) status = cq_directory_make(path, error);
    if (!status) status = m->type->save(m, path, error);
    if (!status && i == 0 && name[0] == '\0')
      status = write_json(
          json_pack("{s:I, s:b}", "max_seq_length", (json_int_t)e->max_seq_length, "do_lower_case", m->lowercase), path,
          "sentence_bert_config.json", error);
  }
  if (status) {
    json_decref(list);
    return status;
  }
  return write_json(list, directory, "modules.json", error);
}

static json_t *text_or_null(const char *text) {
  return text ? json_string(text) : json_null();
}

static cq_status write_model_config(const cq_encoder *e, const char *directory, cq_error *error) {
  json_t *prompts = e->prompts ? json_deep_copy(e->prompts) : json_object();
  return write_json(json_pack("{s:{s:s}, s:o, s:o, s:o}", "__version__", "calque", CQ_VERSION, "prompts", prompts,
                              "default_prompt_name", text_or_null(e->default_prompt_name), "similarity_fn_name",
                              text_or_null(e->similarity)),
                    directory, "config_sentence_transformers.json", error);
}

cq_status cq_encoder_save(const cq_encoder *e, const char *directory, bool replace, const char *card, cq_error *error) {
  cq_directory_writer w = {0};
  char path[MAX_PATH];
  cq_status status = cq_directory_writer_open(&w, directory, replace, error);
  if (status) return status;
  if (!(status = write_modules(e, w.temporary, error))) status = write_model_config(e, w.temporary, error);
  if (!status && card && !(status = cq_path_join(path, sizeof path, w.temporary, "README.md", error)))
    status = cq_file_write(path, card, strlen(card), error);
  if (!status) status = cq_directory_writer_commit(&w, error);
  cq_directory_writer_abort(&w);
  return status;
}

/* --- telling --- */

int cq_encoder_dim(const cq_encoder *e) {
  return (int)e->modules[e->n_modules - 1]->output_dim;
}

int cq_encoder_max_seq_length(const cq_encoder *e) {
  return e->max_seq_length;
}

int64_t cq_encoder_n_parameters(const cq_encoder *e) {
  int64_t n = 0;
  for (size_t i = 0; i < e->params.n; i++) n += cq_param_floats(e->params.items[i]);
  return n;
}

const char *cq_simd_level(void) {
  return cq_kernels_best()->name;
}

static cq_status describe_modules(json_t **out, const cq_encoder *e, cq_error *error) {
  json_t *list = json_array();
  cq_status status = list ? CQ_OK : cq_fail_memory(error, "a description");
  for (size_t i = 0; !status && i < e->n_modules; i++) {
    const cq_module *m = e->modules[i];
    int64_t n = 0;
    for (size_t p = 0; p < m->n_params; p++) n += cq_param_floats(&m->params[p]);
    json_t *item = json_pack("{s:s, s:I, s:I}", "type", m->type->name, "output_dim", (json_int_t)m->output_dim,
                             "parameters", (json_int_t)n);
    if (!item || json_array_append_new(list, item))
      status = cq_fail_memory(error, "a description");
    else
      status = m->type->describe(m, item, error);
  }
  if (status)
    json_decref(list);
  else
    *out = list;
  return status;
}

static json_t *describe_tokenizer(const cq_module *m) {
  if (!m->tokenizer) return json_null();
  const cq_tokenizer_info *t = cq_tokenizer_describe(m->tokenizer);
  return json_pack("{s:s, s:I, s:b, s:i, s:i, s:i, s:i, s:i, s:b}", "type", t->type, "vocab_size",
                   (json_int_t)t->vocab_size, "lowercase", t->lowercase || m->lowercase, "pad", t->pad_id, "unk",
                   t->unk_id, "cls", t->cls_id, "sep", t->sep_id, "mask", t->mask_id, "special_tokens_added",
                   m->add_special);
}

/* Everything that bears on the vectors, apart from vocabulary and weights. */
static cq_status describe(json_t **out, const cq_encoder *e, cq_error *error) {
  json_t *modules;
  cq_status status = describe_modules(&modules, e, error);
  if (status) return status;
  *out = json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o}", "dim", (json_int_t)cq_encoder_dim(e), "max_seq_length",
                   (json_int_t)e->max_seq_length, "parameters", (json_int_t)cq_encoder_n_parameters(e), "modules",
                   modules, "tokenizer", describe_tokenizer(e->modules[0]), "prompts",
                   e->prompts ? json_deep_copy(e->prompts) : json_object(), "default_prompt_name",
                   text_or_null(e->default_prompt_name), "similarity", text_or_null(e->similarity));
  return *out ? CQ_OK : cq_fail_memory(error, "a description");
}

cq_status cq_encoder_describe(char **out_json, const cq_encoder *e, cq_error *error) {
  json_t *object;
  cq_status status = describe(&object, e, error);
  if (status) return status;
  bool ok = json_object_set_new(object, "directory", text_or_null(e->directory)) == 0 &&
            json_object_set_new(object, "simd", json_string(cq_simd_level())) == 0;
  *out_json = ok ? json_dumps(object, JSON_INDENT(2)) : NULL;
  json_decref(object);
  return *out_json ? CQ_OK : cq_fail_memory(error, "a description");
}

/* --- identity --- */

/* A 128-bit hash of a long run of bytes: eight lanes of 64 bits, each fed every eighth word, so that the
 * multiplications overlap; the lanes are mixed at the end. It tells models apart, it does not resist forgery. */
typedef struct hasher {
  uint64_t lane[8];
  uint64_t n_bytes;
} hasher;

#define PRIME UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

static void hash_block(hasher *h, const unsigned char block[64]) {
  uint64_t word[8];
  memcpy(word, block, sizeof word);
  for (int i = 0; i < 8; i++) {
    uint64_t x = (h->lane[i] ^ word[i]) * PRIME;
    h->lane[i] = x << 29 | x >> 35;
  }
}

/* Each call is hashed as a unit: its last block is filled with zeros and its length counts. */
static void hash_bytes(hasher *h, const void *bytes, size_t n) {
  const unsigned char *p = bytes;
  size_t left = n;
  for (; left >= 64; p += 64, left -= 64) hash_block(h, p);
  unsigned char last[64] = {0};
  if (left > 0) memcpy(last, p, left);
  hash_block(h, last);
  h->n_bytes = mix(h->n_bytes + n + PRIME);
}

static uint64_t hash_end(const hasher *h, uint64_t seed) {
  uint64_t x = mix(seed ^ h->n_bytes);
  for (int i = 0; i < 8; i++) x = mix((x ^ h->lane[i]) * PRIME + seed);
  return x;
}

cq_status cq_encoder_fingerprint(char out[33], const cq_encoder *e, cq_error *error) {
  json_t *object;
  hasher h = {0};
  for (int i = 0; i < 8; i++) h.lane[i] = mix((uint64_t)i + 1);
  cq_status status = describe(&object, e, error);
  if (status) return status;
  char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
  json_decref(object);
  if (!text) return cq_fail_memory(error, "a description");
  hash_bytes(&h, text, strlen(text));
  free(text);
  const cq_tokenizer *tokenizer = e->modules[0]->tokenizer;
  int64_t vocab_size = tokenizer ? cq_tokenizer_describe(tokenizer)->vocab_size : 0;
  for (int64_t id = 0; id < vocab_size; id++) {
    cq_slice piece = {"", 0};
    cq_piece_kind kind = CQ_PIECE_OTHER;
    if (!cq_tokenizer_piece(&piece, &kind, tokenizer, (int32_t)id)) continue;
    hash_bytes(&h, &(char){(char)kind}, 1);
    hash_bytes(&h, piece.data, piece.n);
  }
  for (size_t i = 0; i < e->params.n; i++) {
    const cq_param *p = e->params.items[i];
    hash_bytes(&h, p->name, strlen(p->name));
    hash_bytes(&h, p->value, (size_t)cq_param_floats(p) * sizeof(float));
  }
  snprintf(out, 33, "%016llx%016llx", (unsigned long long)hash_end(&h, 1), (unsigned long long)hash_end(&h, 2));
  return CQ_OK;
}
