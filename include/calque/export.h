/** @file Exporting a model to the file formats of other runtimes: ONNX and GGUF.
 *
 *      cq_export_options o = cq_export_default_options();
 *      o.precisions = 1 << CQ_EXPORT_F32 | 1 << CQ_EXPORT_INT8;
 *      cq_export("onnx-dir", "model-dir", &o, &err);
 *
 * An ONNX file computes all modules: it takes token ids and returns the sentence's vector. */
#ifndef CALQUE_EXPORT_H
#define CALQUE_EXPORT_H

#include "calque/options.h"
#include "calque/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cq_export_format {
  CQ_EXPORT_ONNX, /**< for onnxruntime, fastembed, transformers.js, optimum */
  CQ_EXPORT_GGUF, /**< for llama.cpp and Ollama */
} cq_export_format;

typedef enum cq_export_precision {
  CQ_EXPORT_F32,
  CQ_EXPORT_F16,  /**< weights in half precision; ONNX computes in f32 */
  CQ_EXPORT_INT8, /**< matrices in 8 bits. ONNX: one scale per row, products of 8-bit numbers; GGUF: Q8_0 */
} cq_export_precision;

typedef struct cq_export_options {
  size_t size;
  cq_export_format to;
  unsigned precisions; /**< 1 << CQ_EXPORT_F32 and so on, a file for each; 0: f32 */
} cq_export_options;
CQ_DEFAULT_OPTIONS(cq_export_options, cq_export_default_options, export) /**< group "export" */

/** Writes `model`, a directory or cached name, to a new directory, atomically:
 * - ONNX: onnx/model.onnx, onnx/model_fp16.onnx, onnx/model_quantized.onnx
 * - GGUF: model-f32.gguf, model-f16.gguf, model-q8_0.gguf
 * - beside ONNX files, config.json and the tokenizer's files; a static model's tokenizer.json adds no special tokens
 *
 * Inputs of the graph are input_ids, attention_mask and, for models with two token types, token_type_ids: int64 [batch,
 * sequence], padded at the end. Outputs are sentence_embedding [batch, dim] and, except for static models,
 * last_hidden_state [batch, sequence, dim].
 * @errors CQ_ERR_UNSUPPORTED for a model that the format cannot express, which names the module; CQ_ERR_LIMIT for a
 * number too large for half precision, and an ONNX file of more than 2 GB; CQ_ERR_ARGUMENT for an existing path; those
 * of opening. */
CQ_API CQ_MUST_USE cq_status cq_export(const char *directory, const char *model, const cq_export_options *options,
                                       cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
