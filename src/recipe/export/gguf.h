/* An encoder as a GGUF file, for llama.cpp and what is built on it.
 *
 *   "GGUF", version 3, n_tensors, n_values
 *   value   key, type, value                a string has its length in front, an array its type and length
 *   tensor  name, n_dims, dims, type, offset   the last dimension first; offsets from the start of the data
 *   data    each tensor at a multiple of 32
 *
 * All integers are little-endian, lengths have 64 bits. Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md */
#ifndef RECIPE_EXPORT_GGUF_H
#define RECIPE_EXPORT_GGUF_H

#include "base/slice.h"
#include "calque/export.h"
#include "model/encoder.h"

enum { CQ_GGUF_U8 = 0, CQ_GGUF_U32 = 4, CQ_GGUF_I32 = 5, CQ_GGUF_F32 = 6, CQ_GGUF_BOOL = 7, CQ_GGUF_STRING = 8 };

/* The values, which come before the tensors. */
typedef struct cq_gguf {
  cq_builder head;
  uint64_t n_values;
} cq_gguf;

void cq_gguf_put(cq_gguf *g, const void *bytes, size_t n);
void cq_gguf_put_string(cq_gguf *g, cq_slice text);
void cq_gguf_u32(cq_gguf *g, const char *key, uint32_t x);
void cq_gguf_f32(cq_gguf *g, const char *key, float x);
void cq_gguf_bool(cq_gguf *g, const char *key, bool x);
void cq_gguf_string(cq_gguf *g, const char *key, const char *text);
/* Its n elements follow. */
void cq_gguf_array(cq_gguf *g, const char *key, uint32_t type, uint64_t n);

/* The module's tokenizer with n ids. *reason: set to why llama.cpp has no such tokenizer. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_gguf_put_tokenizer(cq_gguf *g, const char **reason, const cq_module *module, size_t n,
                                            cq_error *error);

/* Errors: CQ_ERR_UNSUPPORTED for what the architecture "bert" cannot express, which names the module; those of
 * cq_stored_weight_write. */
CQ_MUST_USE cq_status cq_gguf_write(const cq_encoder *encoder, cq_export_precision precision, const char *path,
                                    cq_error *error);

#endif
