/* The table of families, and the choice by config.json's model_type. See family.h. */
#include "model/families/family.h"

#include "base/error.h"
#include "format/json.h"

#include <string.h>

/* One line per family; families with a condition come before those of the same model_type without one. */
static const cq_family *const families[] = {
    &cq_family_gte,
    &cq_family_gte_transformers,
    &cq_family_jina_v2,
    &cq_family_jina_v3,
    &cq_family_jina_v3_transformers,
    &cq_family_eurobert,
    &cq_family_modernbert,
    &cq_family_mt5,
    &cq_family_t5,
    &cq_family_xlm_roberta_xl,
    &cq_family_nomic_transformers,
    &cq_family_nomic,
    &cq_family_llama,
    &cq_family_mistral,
    &cq_family_qwen2,
    &cq_family_qwen3,
    &cq_family_gemma3,
};
enum { N_FAMILIES = sizeof families / sizeof *families };

static bool has_string(const json_t *config, const char *key, const char *value) {
  const char *found = json_string_value(json_object_get(config, key));
  return found && strcmp(found, value) == 0;
}

static bool is_when(const json_t *config, const cq_family *f) {
  if (!f->when[0]) return true;
  return f->when[1] ? has_string(config, f->when[0], f->when[1]) : cq_json_has(config, f->when[0]);
}

const cq_family *cq_family_find(const json_t *config) {
  for (size_t i = 0; i < N_FAMILIES; i++) {
    const cq_family *f = families[i];
    if (has_string(config, "model_type", f->model_type) && is_when(config, f)) return f;
  }
  return NULL;
}

/* Letters of the longest run that both have. */
static size_t common_run(const char *a, const char *b) {
  size_t best = 0;
  for (const char *from = a; *from; from++)
    for (const char *at = b; *at; at++) {
      size_t n = 0;
      while (from[n] && from[n] == at[n]) n++;
      if (n > best) best = n;
    }
  return best;
}

cq_status cq_family_unknown(const char *model_type, const char *const *others, size_t n, const char *path,
                            cq_error *error) {
  char list[512] = "";
  const char *closest = NULL;
  size_t longest = 2; /* three letters at least */
  for (size_t i = 0; i < n + N_FAMILIES; i++) {
    const char *known = i < n ? others[i] : families[i - n]->model_type;
    if (i >= n && families[i - n]->when[0]) continue; /* another's model_type */
    cq_list_name(list, sizeof list, known);
    const size_t run = common_run(model_type, known);
    if (run > longest) longest = run, closest = known;
  }
  return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "model_type '%.64s' is not supported%s%s (supported: %s)",
                      model_type, closest ? "; the closest supported one: " : "", closest ? closest : "", list);
}
