/* Router (Asym in older files): several lists of modules; the task selects one.
 *
 *   router_config.json | config.json
 *     {"types":      {"query_0_StaticEmbedding": "sentence_transformers...."},   modules, each in its own folder
 *      "structure":  {"query": ["query_0_StaticEmbedding", ...], "document": [...]},
 *      "parameters": {"default_route": "document", "allow_empty_key": true,
 *                     "route_mappings": {"('query', 'text')": "query", ...}}}
 *
 * An encoder is opened for one task: the modules of its route replace the router. */
#ifndef MODEL_ROUTER_H
#define MODEL_ROUTER_H

#include "calque/status.h"

#include <jansson.h>
#include <stdbool.h>

bool cq_is_router(const char *type);

/* The modules of a task's route, in the format of modules.json: [{"path", "type"}], paths from the router's folder.
 *   task   NULL: the router's default
 *   route  receives its name, which lives as long as the list
 * The route is chosen as in sentence-transformers: route_mappings for the task and text, then the route with the task's
 * name; without a task, the default route or else the first. Errors: CQ_ERR_IO, CQ_ERR_FORMAT; CQ_ERR_ARGUMENT for a
 * task that has no route (the error names the existing ones). */
CQ_MUST_USE cq_status cq_router_open(json_t **out, const char **route, const char *directory, const char *task,
                                     cq_error *error);

/* The name of a task's prompt: "query" for queries; "document", "passage" or "corpus" for documents; otherwise, and for
 * other tasks, jina-embeddings-v3's name ("retrieval.query"). NULL: none. */
const char *cq_task_prompt(const json_t *prompts, const char *task);

#endif
