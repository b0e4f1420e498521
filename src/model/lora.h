/* LoRA adapters (Hu et al. 2021), one per task, stored in the model's own file, as in jina-embeddings-v3.
 *
 *   config.json     "lora_adaptations": ["retrieval.query", "retrieval.passage", ...], "lora_rank": 4, "lora_alpha": 1
 *   X.weight        X.parametrizations.weight.original  [rows, cols]
 *   for each task   X.parametrizations.weight.0.lora_A  linear [n_tasks, rank, cols], tables [n_tasks, rows, rank]
 *                   X.parametrizations.weight.0.lora_B  linear [n_tasks, rows, rank], tables [n_tasks, rank, cols]
 *
 * A model is opened for one task: its weights are the originals + lora_alpha / lora_rank times the product. */
#ifndef MODEL_LORA_H
#define MODEL_LORA_H

#include "model/module.h"

#include <jansson.h>

#define CQ_LORA_ORIGINAL ".parametrizations.weight.original"

typedef struct cq_lora {
  int64_t n_tasks, rank; /* n_tasks 0: the model has none */
  int64_t task;          /* -1: the weights are the original's */
  float scale;
} cq_lora;

/* Reads config.json. task: a name in the list; "query" and "document" mean retrieval.query and retrieval.passage, or no
 * adapter if the list lacks these; NULL: no adapter. Errors: CQ_ERR_FORMAT; CQ_ERR_ARGUMENT for any other task that is
 * not listed. */
CQ_MUST_USE cq_status cq_lora_read(cq_lora *out, const json_t *config, const char *task, const char *path,
                                   cq_error *error);

/* Adds the task's product to a weight found under one of these names. Without a task, or without an original weight of
 * such a name, the weight does not change. Errors: CQ_ERR_FORMAT for factors that are missing or have another shape. */
CQ_MUST_USE cq_status cq_lora_add(cq_param *p, cq_weights *w, const char *const *names, const cq_lora *lora,
                                  bool is_table, cq_arena *arena, cq_error *error);

/* Changes config.json to that of a model with one task's weights merged, in transformers' format: jina_embeddings_v3,
 * without adapters. */
CQ_MUST_USE cq_status cq_lora_strip_config(json_t *config, cq_error *error);

#endif
