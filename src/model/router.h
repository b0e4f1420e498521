/* Router (Asym in older files): several lists of modules, of which a task takes one.
 *
 *   router_config.json | config.json
 *     {"types":      {"query_0_StaticEmbedding": "sentence_transformers...."},   modules, each in a folder of that name
 *      "structure":  {"query": ["query_0_StaticEmbedding", ...], "document": [...]},
 *      "parameters": {"default_route": "document", "allow_empty_key": true,
 *                     "route_mappings": {"('query', 'text')": "query", ...}}}
 *
 * An encoder is opened for one task: the modules of its route stand where the router stood. */
#ifndef MODEL_ROUTER_H
#define MODEL_ROUTER_H

#include "calque/status.h"

#include <jansson.h>
#include <stdbool.h>

bool cq_is_router(const char *type);

/* The modules of a task's route as modules.json would list them: [{"path", "type"}], paths from the router's folder.
 *   task   NULL: what the router takes by default
 *   route  receives its name, which lives as long as the list
 * Which route a task has is sentence-transformers' rule: route_mappings for the task and text, then the route of the
 * task's name; without a task the default, else the first. Errors: CQ_ERR_IO, CQ_ERR_FORMAT; CQ_ERR_ARGUMENT for a task
 * that has no route (the error names the existing ones). */
CQ_MUST_USE cq_status cq_router_open(json_t **out, const char **route, const char *directory, const char *task,
                                     cq_error *error);

/* Which of the prompts a task has: "query" for queries; "document", "passage" or "corpus" for documents; else, and for
 * other tasks, that of the name which jina-embeddings-v3 has for them ("retrieval.query"). NULL: none. */
const char *cq_task_prompt(const json_t *prompts, const char *task);

#endif
