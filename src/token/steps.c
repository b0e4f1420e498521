/* Shared by normalizers and pre-tokenizers: parsing a step or a Sequence of steps, and the error of a failed step. */
#include "token/steps.h"

#include "base/error.h"

#include <string.h>

enum { MAX_DEPTH = 8 }; /* of Sequences in one another */

cq_status cq_steps_parse(void *out, const cq_step_parser *p, const char *list_key, cq_step_parse_fn parse) {
  const char *type = json_string_value(json_object_get(p->json, "type"));
  if (!p->json || json_is_null(p->json)) return CQ_OK;
  if (!type || p->depth > MAX_DEPTH)
    return cq_fail_file(p->error, CQ_ERR_FORMAT, p->place->path, "%s: expected an object with a 'type'",
                        p->place->where);
  if (strcmp(type, "Sequence") != 0) return parse(out, type, p);
  const json_t *list = json_object_get(p->json, list_key);
  if (!json_is_array(list))
    return cq_fail_file(p->error, CQ_ERR_FORMAT, p->place->path, "%s: Sequence needs an array '%s'", p->place->where,
                        list_key);
  cq_status status = CQ_OK;
  for (size_t i = 0; i < json_array_size(list) && !status; i++) {
    cq_step_parser step = *p;
    step.json = json_array_get(list, i);
    step.depth++;
    status = cq_steps_parse(out, &step, list_key, parse);
  }
  return status;
}

cq_status cq_step_text(cq_slice *out, const cq_step_parser *p, const char *text, size_t n) {
  char *copy = cq_arena_strndup(p->arena, text, n);
  if (!copy) return cq_fail_memory(p->error, p->place->where);
  *out = (cq_slice){copy, n};
  return CQ_OK;
}

cq_status cq_step_bool(bool *out, const cq_step_parser *p, const char *key) {
  return cq_json_get_bool(out, p->json, key, p->place->path, p->error);
}

cq_status cq_step_choice(int *out, const cq_step_parser *p, const char *key, const char *const *names, int n_names) {
  const char *name = NULL;
  cq_status status = cq_json_get_string(&name, p->json, key, p->place->path, p->error);
  if (status || !name) return status;
  for (int i = 0; i < n_names; i++) {
    if (!strcmp(name, names[i])) {
      *out = i;
      return CQ_OK;
    }
  }
  return cq_fail_file(p->error, CQ_ERR_UNSUPPORTED, p->place->path, "%s: %s '%s' is not supported", p->place->where,
                      key, name);
}

cq_status cq_fail_encoding(cq_error *error, cq_status status, size_t n) {
  if (status == CQ_ERR_STOPPED)
    return cq_fail(error, CQ_ERR_LIMIT,
                   "the regular expression that the tokenizer splits by takes too long with a text of %zu bytes", n);
  return status == CQ_ERR_LIMIT
             ? cq_fail(error, CQ_ERR_LIMIT,
                       "the tokenizer makes more than %zu bytes of a text of %zu: its rules are not to be trusted",
                       cq_normal_limit(n), n)
             : cq_fail_memory(error, "token ids");
}
