/* What normalizers and pre-tokenizers have in common where their JSON is parsed: a step, or a Sequence of them. */
#include "token/internal.h"

#include "base/error.h"

#include <string.h>

enum { MAX_DEPTH = 8 }; /* of Sequences in one another */

static cq_status parse_steps(void *out, const cq_step_parser *p, const char *list_key, cq_step_parse_fn parse,
                             int depth) {
  const char *type = json_string_value(json_object_get(p->json, "type"));
  if (!p->json || json_is_null(p->json)) return CQ_OK;
  if (!type || depth > MAX_DEPTH)
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
    status = parse_steps(out, &step, list_key, parse, depth + 1);
  }
  return status;
}

cq_status cq_steps_parse(void *out, const cq_step_parser *component, const char *list_key, cq_step_parse_fn parse) {
  return parse_steps(out, component, list_key, parse, 0);
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
