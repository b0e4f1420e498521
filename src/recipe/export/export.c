/* Exports a model: the files of each format, in a directory that appears whole or not at all.
 *
 *   DIRECTORY/onnx/model.onnx, model_fp16.onnx, model_quantized.onnx   the names that transformers.js and optimum expect
 *   DIRECTORY/config.json, tokenizer.json, tokenizer_config.json, special_tokens_map.json
 *
 *   DIRECTORY/model-f32.gguf, model-f16.gguf, model-q8_0.gguf          each with its tokenizer */
#include "calque/export.h"

#include "base/error.h"
#include "base/file.h"
#include "base/options.h"
#include "format/json.h"
#include "model/transformer_module.h"
#include "recipe/export/gguf.h"
#include "recipe/export/onnx_model.h"

enum { MAX_PATH = 4096, N_PRECISIONS = 3 };

static const char *const formats[] = {"onnx", "gguf", NULL};
static const char *const precisions[] = {"f32", "f16", "int8", NULL};

#define O cq_export_options
static const cq_option option_rows[] = {
    {CQ_CHOICE(O, "to", to, CHANGES, CQ_EXPORT_ONNX, formats, "FORMAT",
               "onnx (onnxruntime, fastembed, transformers.js) or gguf (llama.cpp, Ollama)")},
    {CQ_CHOICES(
         O, "precision", precisions, CHANGES, precisions, "TYPE,...",
         "f32, f16 (weights of half the size), int8 (a quarter; ONNX multiplies 8-bit numbers); a file for each"),
     .otherwise = "f32"},
};
#undef O

const cq_option_group cq_group_export = {.name = "export", CQ_ROWS(cq_export_options, option_rows)};

/* ---- files beside the ONNX files ---- */

/* A static model is named as model2vec's are, which transformers.js opens with any model's class. */
static cq_status write_config(const cq_encoder *e, const char *directory, cq_error *error) {
  const cq_module *m = cq_encoder_text_module(e);
  const int32_t pad = cq_tokenizer_describe(m->tokenizer)->pad_id;
  json_t *config = cq_is_transformer(m)
                       ? cq_json_copy(((const cq_transformer *)m)->config)
                       : json_pack("{s:s, s:I, s:b}", "model_type", "model2vec", "hidden_size",
                                   (json_int_t)m->output_dim, "normalize", cq_encoder_is_normalized(e));
  if (!json_is_integer(json_object_get(config, "pad_token_id")))
    cq_json_set(&config, "pad_token_id", json_integer(pad < 0 ? 0 : pad));
  return cq_json_save(config, directory, "config.json", error);
}

/* What calque does around tokenizer.json, and other libraries do not. */
static cq_status adapt_tokenizer(const cq_module *m, const char *directory, cq_error *error) {
  char path[MAX_PATH];
  json_t *json;
  if (m->add_special && !m->lowercase) return CQ_OK;
  cq_status status = cq_json_open(&json, path, sizeof path, directory, "tokenizer.json", error);
  if (status) return status;
  if (!m->add_special) cq_json_set(&json, "post_processor", json_null());
  if (m->lowercase) {
    json_t *steps = json_pack("[{s:s}]", "type", "Lowercase");
    if (json_is_object(json_object_get(json, "normalizer")))
      cq_json_push(&steps, cq_json_copy(json_object_get(json, "normalizer")));
    cq_json_set(&json, "normalizer", json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", steps));
  }
  return cq_json_save(json, directory, "tokenizer.json", error);
}

/* fastembed wants a length and a token for padding; a model without a limit gets a length that no text has. */
static cq_status complete_tokenizer_config(const cq_module *m, const char *directory, cq_error *error) {
  char path[MAX_PATH];
  json_t *json;
  cq_slice piece;
  cq_piece_kind kind;
  cq_status status = cq_json_open(&json, path, sizeof path, directory, "tokenizer_config.json", error);
  if (status) return status;
  const int32_t pad = cq_tokenizer_describe(m->tokenizer)->pad_id;
  if (!json_object_get(json, "model_max_length")) cq_json_set(&json, "model_max_length", json_integer(1 << 20));
  if (!json_object_get(json, "pad_token") && cq_tokenizer_piece(&piece, &kind, m->tokenizer, pad < 0 ? 0 : pad))
    cq_json_set(&json, "pad_token", json_stringn(piece.data, piece.n));
  return cq_json_save(json, directory, "tokenizer_config.json", error);
}

static cq_status write_beside(const cq_encoder *e, const char *directory, cq_error *error) {
  const cq_module *m = cq_encoder_text_module(e);
  cq_status status = write_config(e, directory, error);
  if (!status) status = cq_tokenizer_save(m->tokenizer, directory, e->max_seq_length, error);
  if (!status) status = adapt_tokenizer(m, directory, error);
  return status ? status : complete_tokenizer_config(m, directory, error);
}

/* ---- the export ---- */

static cq_status write_files(const cq_encoder *e, const cq_export_options *o, const char *directory, cq_error *error) {
  static const char *const names[][N_PRECISIONS] = {
      {"onnx/model.onnx", "onnx/model_fp16.onnx", "onnx/model_quantized.onnx"},
      {"model-f32.gguf", "model-f16.gguf", "model-q8_0.gguf"}};
  char path[MAX_PATH];
  const unsigned wanted = o->precisions ? o->precisions : 1u << CQ_EXPORT_F32;
  cq_status status = CQ_OK;
  if (o->to == CQ_EXPORT_ONNX && !(status = cq_path_join(path, sizeof path, directory, "onnx", error)))
    status = cq_directory_make(path, error);
  for (unsigned p = 0; !status && p < N_PRECISIONS; p++) {
    if (!(wanted >> p & 1)) continue;
    status = cq_path_join(path, sizeof path, directory, names[o->to][p], error);
    if (!status) status = (o->to == CQ_EXPORT_ONNX ? cq_onnx_write : cq_gguf_write)(e, p, path, error);
  }
  return status || o->to != CQ_EXPORT_ONNX ? status : write_beside(e, directory, error);
}

cq_status cq_export(const char *directory, const char *model, const cq_export_options *options, cq_error *error) {
  cq_export_options o;
  cq_encoder_options opening = cq_encoder_default_options();
  cq_encoder *encoder = NULL;
  cq_directory_writer w = {0};
  cq_status status = cq_options_take(&o, &cq_group_export, options, error);
  if (status) return status;
  if (cq_file_exists(directory)) return cq_fail_file(error, CQ_ERR_ARGUMENT, directory, "already exists");
  opening.precision = CQ_PRECISION_F32;
  status = cq_encoder_open(&encoder, model, &opening, error);
  if (!status) status = cq_directory_writer_open(&w, directory, false, error);
  if (!status) status = write_files(encoder, &o, w.temporary, error);
  if (!status) status = cq_directory_writer_commit(&w, error);
  cq_directory_writer_abort(&w);
  cq_encoder_free(encoder);
  return status;
}
