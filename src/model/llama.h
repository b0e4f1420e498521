/* Embedding models of decoders' shape, which a Transformer module opens by config.json's model_type: Llama, Mistral,
 * Qwen2, Qwen3 and Gemma 3. They run; training them is not supported. */
#ifndef MODEL_LLAMA_H
#define MODEL_LLAMA_H

#include "model/module.h"

/* Whether a model_type is one of these; all of them by number, NULL behind the last. */
bool cq_llama_knows(const char *model_type);
const char *cq_llama_name(size_t i);
/* config is taken over. Otherwise as a module type's open. */
CQ_MUST_USE cq_status cq_llama_open(cq_module **out, const cq_module_source *source, json_t *config, const char *path,
                                    cq_error *error);

#endif
