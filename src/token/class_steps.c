/* The steps of a tokenizer_class, which are the same whatever a tokenizer.json says: the class builds them from
 * tokenizer_config.json and its own defaults, and the model was trained with the resulting ids.
 *
 *   Bert, MPNet, Funnel   do_lower_case (true), strip_accents (as do_lower_case), tokenize_chinese_chars (true)
 *   Albert                do_lower_case (true), keep_accents (false)
 *   DebertaV2             do_lower_case (false)
 *   Roberta               add_prefix_space (false)
 *   Llama, Gemma          add_bos_token (true), add_eos_token (false), if one of them is given
 *
 * Source: transformers 5. */
#include "token/tokenizer_files.h"

#include "base/error.h"

#include <string.h>

/* true, false, or null for a key that is missing. */
static json_t *switch_of(const json_t *config, const char *key, bool fallback, bool may_be_null) {
  const json_t *value = json_object_get(config, key);
  if (json_is_boolean(value)) return json_boolean(json_is_true(value));
  return may_be_null ? json_null() : json_boolean(fallback);
}

json_t *cq_bert_steps_json(const json_t *config, cq_class_kind kind) {
  return json_pack("{s:{s:s, s:o, s:o, s:o, s:o}, s:{s:s}}", "normalizer", "type", "BertNormalizer", "clean_text",
                   switch_of(kind == CQ_CLASS_FUNNEL ? config : NULL, "clean_text", true, false),
                   "handle_chinese_chars", switch_of(config, "tokenize_chinese_chars", true, false), "strip_accents",
                   switch_of(config, "strip_accents", false, true), "lowercase",
                   switch_of(kind == CQ_CLASS_DPR ? NULL : config, "do_lower_case", true, false), "pre_tokenizer",
                   "type", "BertPreTokenizer");
}

/* A step of a normalizer by its type; NULL: it has none. */
static json_t *find_step(json_t *normalizer, const char *wanted) {
  const char *type = json_string_value(json_object_get(normalizer, "type"));
  if (type && !strcmp(type, wanted)) return normalizer;
  const json_t *steps = json_object_get(normalizer, "normalizers");
  for (size_t i = 0; i < json_array_size(steps); i++) {
    json_t *found = find_step(json_array_get(steps, i), wanted);
    if (found) return found;
  }
  return NULL;
}

json_t *cq_albert_normalizer_json(const json_t *config, json_t *old) {
  static const char *const types[] = {"NFKD", "StripAccents", "Lowercase"};
  const bool is_in[] = {!json_is_true(json_object_get(config, "keep_accents")),
                        !json_is_true(json_object_get(config, "keep_accents")),
                        !json_is_false(json_object_get(config, "do_lower_case"))};
  json_t *steps = json_array(), *rules = find_step(old, "Precompiled");
  cq_json_push(&steps, cq_replace_json("String", "``", "\""));
  cq_json_push(&steps, cq_replace_json("String", "''", "\""));
  for (int i = 0; i < 3; i++)
    if (is_in[i]) cq_json_push(&steps, json_pack("{s:s}", "type", types[i]));
  if (rules) cq_json_push(&steps, cq_json_copy(rules));
  return json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", steps);
}

/* DebertaV2's first step, if it is in lower case. */
static json_t *deberta_normalizer_json(const json_t *config, json_t *old) {
  const bool lowers = json_is_true(json_object_get(config, "do_lower_case"));
  const json_t *steps = json_object_get(old, "normalizers");
  const char *type = json_string_value(json_object_get(json_array_get(steps, 0), "type"));
  if (lowers == (find_step(old, "Lowercase") != NULL) || (!lowers && (!type || strcmp(type, "Lowercase") != 0)))
    return old ? json_incref(old) : json_null();
  json_t *list = lowers ? json_pack("[{s:s}]", "type", "Lowercase") : json_array();
  if (lowers && json_is_object(old) && !steps) cq_json_push(&list, cq_json_copy(old));
  for (size_t i = lowers ? 0 : 1; i < json_array_size(steps); i++)
    cq_json_push(&list, cq_json_copy(json_array_get(steps, i)));
  return json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", list);
}

/* Llama's and Gemma's classes add the tokens requested by add_bos_token and add_eos_token, regardless of
 * tokenizer.json. Returns nonzero when out of memory. */
static int apply_ends(json_t *document, const json_t *config, bool gemma) {
  static const char *const switches[] = {"add_bos_token", "add_eos_token"}, *const keys[] = {"bos_token", "eos_token"},
                           *const usual[2][2] = {{"<s>", "</s>"}, {"<bos>", "<eos>"}};
  json_t *single = json_array(), *specials = json_object();
  for (int end = 0; end < 2; end++) {
    const json_t *wish = json_object_get(config, switches[end]);
    const char *text = cq_special_text(config, NULL, keys[end], usual[gemma][end]);
    const json_t *token = cq_find_added_json(json_object_get(document, "added_tokens"), text);
    const json_int_t id = token ? json_integer_value(json_object_get(token, "id")) : -1;
    if (json_is_boolean(wish) ? json_is_true(wish) : end == 0) {
      if (id < 0) { /* not one of the tokens: what the file says */
        json_decref(single);
        json_decref(specials);
        return 0;
      }
      cq_json_push(&single, json_pack("{s:{s:s, s:i}}", "SpecialToken", "id", text, "type_id", 0));
      cq_json_set(&specials, text, json_pack("{s:s, s:[I], s:[s]}", "id", text, "ids", id, "tokens", text));
    }
    if (end == 0) cq_json_push(&single, json_pack("{s:{s:s, s:i}}", "Sequence", "id", "A", "type_id", 0));
  }
  json_t *processor = json_pack("{s:s, s:o, s:[], s:o}", "type", "TemplateProcessing", "single", single, "pair",
                                "special_tokens", specials);
  return json_object_set_new(document, "post_processor", processor);
}

cq_status cq_tokenizer_apply_class(json_t *document, const json_t *config, cq_class_kind kind, cq_error *error) {
  const char *class = json_string_value(json_object_get(config, "tokenizer_class"));
  json_t *normalizer = json_object_get(document, "normalizer"), *splitter = json_object_get(document, "pre_tokenizer");
  const char *model = json_string_value(json_object_get(json_object_get(document, "model"), "type"));
  const char *splitter_type = json_string_value(json_object_get(splitter, "type"));
  const bool is_wordpiece = model ? !strcmp(model, "WordPiece") : find_step(normalizer, "BertNormalizer") != NULL;
  int failed = 0;
  if (kind >= CQ_CLASS_BERT && kind <= CQ_CLASS_FUNNEL && is_wordpiece) {
    json_t *steps = cq_bert_steps_json(config, kind);
    failed |= !steps || json_object_update(document, steps);
    json_decref(steps);
  }
  if (kind == CQ_CLASS_ALBERT)
    failed |= json_object_set_new(document, "normalizer", cq_albert_normalizer_json(config, normalizer));
  if (kind == CQ_CLASS_DEBERTA_V2)
    failed |= json_object_set_new(document, "normalizer", deberta_normalizer_json(config, normalizer));
  if (kind == CQ_CLASS_ROBERTA && splitter_type && !strcmp(splitter_type, "ByteLevel"))
    failed |= json_object_set_new(splitter, "add_prefix_space",
                                  json_boolean(json_is_true(json_object_get(config, "add_prefix_space"))));
  const bool gemma = class && !strncmp(class, "GemmaTok", 8), llama = class && !strncmp(class, "LlamaTok", 8);
  const bool says = json_is_boolean(json_object_get(config, "add_bos_token")) ||
                    json_is_boolean(json_object_get(config, "add_eos_token"));
  if ((gemma || llama) && says) failed |= apply_ends(document, config, gemma);
  return failed ? cq_fail_memory(error, "tokenizer.json") : CQ_OK;
}
