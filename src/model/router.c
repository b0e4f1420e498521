/* Router: finds the modules that replace it for a task. See router.h. */
#include "model/router.h"

#include "base/error.h"
#include "base/file.h"
#include "format/json.h"

#include <stdio.h>
#include <string.h>

#define MAX_PATH 4096

bool cq_is_router(const char *type) {
  const char *last = strrchr(type, '.');
  return last && strncmp(type, "sentence_transformers.", 22) == 0 &&
         (strcmp(last, ".Router") == 0 || strcmp(last, ".Asym") == 0);
}

static cq_status read_config(json_t **out, char path[MAX_PATH], const char *directory, cq_error *error) {
  static const char *const names[] = {"router_config.json", "config.json"};
  cq_status status = CQ_OK;
  for (int i = 0; !status && i < 2; i++) {
    status = cq_path_join(path, MAX_PATH, directory, names[i], error);
    if (!status && (i == 1 || cq_file_exists(path))) break;
  }
  if (!status) status = cq_json_read(out, path, error);
  if (status) return status;
  static const char *const parts[] = {"types", "structure"};
  for (int i = 0; i < 2; i++) {
    const json_t *part = json_object_get(*out, parts[i]);
    if (!json_is_object(part) || json_object_size(part) == 0)
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "'%s' is not an object with members", parts[i]);
  }
  return CQ_OK;
}

/* 'query' or None, as Python writes it. */
static void write_key(char *out, size_t size, const char *task, bool with_text) {
  snprintf(out, size, task ? "('%s', %s)" : "(%s, %s)", task ? task : "None", with_text ? "'text'" : "None");
}

static const char *find_mapping(const json_t *mappings, const char *task) {
  for (int i = task ? 0 : 2; i < 4; i++) {
    char key[256];
    write_key(key, sizeof key, i < 2 ? task : NULL, i % 2 == 0);
    const char *route = json_string_value(json_object_get(mappings, key));
    if (route) return route;
  }
  return NULL;
}

static cq_status no_route(const char *path, const char *task, const json_t *structure, cq_error *error) {
  char names[512] = "";
  const char *name;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)structure, name, value) cq_list_name(names, sizeof names, name);
  return task ? cq_fail_file(error, CQ_ERR_ARGUMENT, path, "no route for the task '%s', there are %s", task, names)
              : cq_fail_file(error, CQ_ERR_ARGUMENT, path, "no route without a task, there are %s", names);
}

static cq_status choose_route(const char **route, const json_t *config, const char *path, const char *task,
                              cq_error *error) {
  const json_t *structure = json_object_get(config, "structure"), *parameters = json_object_get(config, "parameters");
  bool allow_empty = true;
  const char *chosen = find_mapping(json_object_get(parameters, "route_mappings"), task), *standard = NULL;
  if (!chosen && task && json_object_get(structure, task)) chosen = task;
  if (!chosen && json_object_get(structure, "text")) chosen = "text"; /* the default if the task has no route */
  if (!chosen && !task) {
    cq_status status = cq_json_get_string(&standard, parameters, "default_route", path, error);
    if (!status) status = cq_json_get_bool(&allow_empty, parameters, "allow_empty_key", path, error);
    if (status) return status;
    chosen = standard;
    if (!chosen && allow_empty) chosen = json_object_iter_key(json_object_iter((json_t *)(uintptr_t)structure));
  }
  if (!chosen) return no_route(path, task, structure, error);
  if (!json_is_array(json_object_get(structure, chosen)) || json_array_size(json_object_get(structure, chosen)) == 0)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "the route '%s' is not a list of modules", chosen);
  *route = chosen;
  return CQ_OK;
}

cq_status cq_router_open(json_t **out, const char **route, const char *directory, const char *task, cq_error *error) {
  char path[MAX_PATH];
  json_t *config = NULL, *list = NULL;
  const json_t *item;
  size_t i;
  cq_status status = read_config(&config, path, directory, error);
  if (!status) status = choose_route(route, config, path, task, error);
  if (status) goto done;
  list = json_array();
  json_array_foreach(json_object_get(json_object_get(config, "structure"), *route), i, item) {
    const char *id = json_string_value(item);
    const char *type = id ? json_string_value(json_object_get(json_object_get(config, "types"), id)) : NULL;
    if (!type) {
      status = cq_fail_file(error, CQ_ERR_FORMAT, path, "module %zu of the route '%s' has no type", i, *route);
      goto done;
    }
    cq_json_push(&list, json_pack("{s:s, s:s}", "path", id, "type", type));
  }
  /* The JSON list owns the name: it is an extra member of the list's first module. */
  json_t *first = list ? json_array_get(list, 0) : NULL;
  if (!first || json_object_set_new(first, "route", json_string(*route))) {
    status = cq_fail_memory(error, "modules of a route");
    goto done;
  }
  *route = json_string_value(json_object_get(first, "route"));
done:
  json_decref(config);
  if (status)
    json_decref(list);
  else
    *out = list;
  return status;
}

const char *cq_task_prompt(const json_t *prompts, const char *task) {
  static const char *const of_queries[] = {"query", "retrieval.query", NULL};
  static const char *const of_documents[] = {"document", "passage", "corpus", "retrieval.passage", NULL};
  const char *const of_task[] = {task, NULL};
  const char *const *names = !strcmp(task, "query") ? of_queries : !strcmp(task, "document") ? of_documents : of_task;
  for (; *names; names++)
    if (json_object_get(prompts, *names))
      return json_object_iter_key(json_object_iter_at((json_t *)(uintptr_t)prompts, *names));
  return NULL;
}
