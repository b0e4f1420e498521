/* Embedding models of decoders' shape, which a Transformer module opens by config.json's model_type: Llama, Mistral,
 * Qwen2, Qwen3 and Gemma 3. They run; training them is not supported. */
#ifndef MODEL_LLAMA_H
#define MODEL_LLAMA_H

#include "model/module.h"

enum { CQ_N_LLAMA = 5 };
const char *cq_llama_name(size_t i); /* model_type i of CQ_N_LLAMA */
/* Whether a model_type is one of these. */
bool cq_llama_knows(const char *model_type);
/* config is taken over. Otherwise as a module type's open. */
CQ_MUST_USE cq_status cq_llama_open(cq_module **out, const cq_module_source *source, json_t *config, const char *path,
                                    cq_error *error);

/* The configuration's sizes and ids of special tokens, after another vocabulary was put into the module. Errors:
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_llama_adopt_vocabulary(cq_module *module, cq_error *error);

#endif
