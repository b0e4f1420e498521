/* The steps of a tokenizer_class. Most classes build their own, from tokenizer_config.json and defaults, whatever a
 * tokenizer.json says, and the model was trained with the resulting ids:
 *
 *   Bert, MPNet, Funnel    BertNormalizer: do_lower_case (true), strip_accents, tokenize_chinese_chars (true)
 *   Herbert                BertNormalizer that keeps case and accents
 *   Roberta                ByteLevel: add_prefix_space (false)
 *   XLMRoberta, Camembert  the SentencePiece model's rules, words at blanks: add_prefix_space (true)
 *   T5                     the same with a prefix always
 *   Albert                 the same after do_lower_case (true) and keep_accents (false)
 *   DebertaV2              no rules but NFC: do_lower_case (false), split_by_punct (false), add_prefix_space (true)
 *   Llama                  blanks only: legacy (false), add_prefix_space (true)
 *   Gemma                  words with the blank before them
 *
 * Source: transformers 5. */
#include "token/tokenizer_files.h"

#include "base/error.h"

#include <string.h>

static const char *const blank = "\xE2\x96\x81"; /* U+2581 */

/* --- special tokens --- */

const char *const cq_named_tokens[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                       "pad_token", "cls_token", "mask_token"};
/* By cq_named_token. */
static const char *const bert[] = {NULL, NULL, "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
static const char *const mpnet[] = {"<s>", "</s>", "[UNK]", "</s>", "<pad>", "<s>", "<mask>"};
static const char *const funnel[] = {"<s>", "</s>", "<unk>", "<sep>", "<pad>", "<cls>", "<mask>"};
static const char *const roberta[] = {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"};
static const char *const herbert[] = {NULL, NULL, "<unk>", "</s>", "<pad>", "<s>", "<mask>"};
static const char *const t5[] = {NULL, "</s>", "<unk>", NULL, "<pad>", NULL, NULL};
static const char *const albert[] = {"[CLS]", "[SEP]", "<unk>", "[SEP]", "<pad>", "[CLS]", "[MASK]"};
static const char *const deberta[] = {"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"};
static const char *const llama[] = {"<s>", "</s>", "<unk>", NULL, NULL, NULL, NULL};
static const char *const gemma[] = {"<bos>", "<eos>", "<unk>", NULL, "<pad>", NULL, "<mask>"};
static const char *const none[CQ_N_NAMED];
static const struct {
  cq_class_kind first, last;
  const char *model; /* the kind that it makes of a vocabulary */
  const char *const *names;
  int before, after; /* the tokens around a text; -1: none, or as the switches say */
} specials[] = {
    {CQ_CLASS_BERT, CQ_CLASS_DPR, "WordPiece", bert, CQ_CLS, CQ_SEP},
    {CQ_CLASS_MPNET, CQ_CLASS_MPNET, "WordPiece", mpnet, CQ_CLS, CQ_SEP},
    {CQ_CLASS_FUNNEL, CQ_CLASS_FUNNEL, "WordPiece", funnel, CQ_CLS, CQ_SEP},
    {CQ_CLASS_JAPANESE, CQ_CLASS_JAPANESE, "WordPiece", bert, CQ_CLS, CQ_SEP},
    {CQ_CLASS_ROBERTA, CQ_CLASS_ROBERTA, "BPE", roberta, CQ_CLS, CQ_SEP},
    {CQ_CLASS_HERBERT, CQ_CLASS_HERBERT, "BPE", herbert, CQ_CLS, CQ_SEP},
    {CQ_CLASS_XLMR, CQ_CLASS_CAMEMBERT, "Unigram", roberta, CQ_BOS, CQ_EOS},
    {CQ_CLASS_T5, CQ_CLASS_T5, "Unigram", t5, -1, CQ_EOS},
    {CQ_CLASS_ALBERT, CQ_CLASS_ALBERT, "Unigram", albert, CQ_CLS, CQ_SEP},
    {CQ_CLASS_DEBERTA_V2, CQ_CLASS_DEBERTA_V2, "Unigram", deberta, CQ_CLS, CQ_SEP},
    {CQ_CLASS_LLAMA, CQ_CLASS_LLAMA, "BPE", llama, -1, -1},
    {CQ_CLASS_GEMMA, CQ_CLASS_GEMMA, "BPE", gemma, -1, -1},
    {CQ_CLASS_NONE, CQ_CLASS_NONE, "", none, -1, -1},
};

static size_t row_of(cq_class_kind kind) {
  size_t i = 0;
  while (specials[i].first != CQ_CLASS_NONE && (kind < specials[i].first || kind > specials[i].last)) i++;
  return i;
}

const char *cq_class_token(const json_t *config, cq_class_kind kind, cq_named_token which) {
  return cq_special_text(config, cq_named_tokens[which], specials[row_of(kind)].names[which]);
}

/* --- normalizers and pre-tokenizers --- */

static bool is_on(const json_t *config, const char *key, bool fallback) {
  const json_t *value = json_object_get(config, key);
  return json_is_boolean(value) ? json_is_true(value) : fallback;
}

static json_t *bert_normalizer_json(const json_t *config, cq_class_kind kind) {
  const bool keeps = kind == CQ_CLASS_HERBERT;
  const json_t *c = keeps ? NULL : config, *strips = json_object_get(c, "strip_accents");
  return json_pack("{s:s, s:b, s:b, s:o, s:b}", "type", "BertNormalizer", "clean_text",
                   is_on(kind == CQ_CLASS_FUNNEL ? c : NULL, "clean_text", true), "handle_chinese_chars",
                   is_on(c, "tokenize_chinese_chars", true), "strip_accents",
                   keeps                     ? json_false()
                   : json_is_boolean(strips) ? json_boolean(json_is_true(strips))
                                             : json_null(),
                   "lowercase", !keeps && (kind == CQ_CLASS_DPR || is_on(c, "do_lower_case", true)));
}

/* The first step of a type; NULL: there is none. */
static json_t *find_step(json_t *steps, const char *wanted) {
  const char *type = json_string_value(json_object_get(steps, "type"));
  if (type && !strcmp(type, wanted)) return steps;
  for (int k = 0; k < 2; k++) {
    const json_t *list = json_object_get(steps, k ? "pretokenizers" : "normalizers");
    for (size_t i = 0; i < json_array_size(list); i++) {
      json_t *found = find_step(json_array_get(list, i), wanted);
      if (found) return found;
    }
  }
  return NULL;
}

static json_t *step_json(const char *type) {
  return json_pack("{s:s}", "type", type);
}

json_t *cq_metaspace_json(const char *scheme, bool splits) {
  return json_pack("{s:s, s:s, s:b, s:s, s:b}", "type", "Metaspace", "replacement", blank, "add_prefix_space",
                   strcmp(scheme, "never") != 0, "prepend_scheme", scheme, "split", splits);
}

static json_t *albert_normalizer_json(const json_t *config, json_t *rules) {
  const bool folds = !is_on(config, "keep_accents", false);
  json_t *steps = json_array();
  cq_json_push(&steps, cq_replace_json("String", "``", "\""));
  cq_json_push(&steps, cq_replace_json("String", "''", "\""));
  if (folds) cq_json_push(&steps, step_json("NFKD"));
  if (folds) cq_json_push(&steps, step_json("StripAccents"));
  if (is_on(config, "do_lower_case", true)) cq_json_push(&steps, step_json("Lowercase"));
  if (rules) cq_json_push(&steps, cq_json_copy(rules));
  return json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", steps);
}

static json_t *deberta_normalizer_json(const json_t *config) {
  json_t *steps = json_array();
  if (is_on(config, "do_lower_case", false)) cq_json_push(&steps, step_json("Lowercase"));
  cq_json_push(&steps, cq_replace_json("Regex", "\\s{2,}|[\\n\\r\\t]", " "));
  cq_json_push(&steps, step_json("NFC"));
  cq_json_push(&steps, json_pack("{s:s, s:b, s:b}", "type", "Strip", "strip_left", 0, "strip_right", 1));
  return json_pack("{s:s, s:o}", "type", "Sequence", "normalizers", steps);
}

static json_t *splitter_json(const json_t *config, cq_class_kind kind) {
  const bool prefix = is_on(config, "add_prefix_space", true) || kind == CQ_CLASS_T5;
  json_t *steps = json_array();
  if (kind != CQ_CLASS_DEBERTA_V2) cq_json_push(&steps, step_json("WhitespaceSplit"));
  if (kind == CQ_CLASS_DEBERTA_V2 && is_on(config, "split_by_punct", false))
    cq_json_push(&steps, json_pack("{s:s, s:s}", "type", "Punctuation", "behavior", "Isolated"));
  const char *without = kind == CQ_CLASS_DEBERTA_V2 ? "first" : "never";
  cq_json_push(&steps, cq_metaspace_json(prefix ? "always" : without, true));
  return json_pack("{s:s, s:o}", "type", "Sequence", "pretokenizers", steps);
}

json_t *cq_class_steps_json(const json_t *config, cq_class_kind kind, json_t *rules) {
  json_t *normalizer = json_null(), *splitter = NULL;
  if (kind <= CQ_CLASS_FUNNEL || kind == CQ_CLASS_HERBERT) {
    normalizer = bert_normalizer_json(config, kind);
    splitter = step_json("BertPreTokenizer");
  } else if (kind == CQ_CLASS_ROBERTA) {
    splitter = json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space",
                         is_on(config, "add_prefix_space", false), "trim_offsets", 1, "use_regex", 1);
  } else if (kind == CQ_CLASS_LLAMA) {
    const bool always = is_on(config, "legacy", false), never = !is_on(config, "add_prefix_space", true);
    splitter = cq_metaspace_json(never ? "never" : always ? "always" : "first", false);
  } else if (kind == CQ_CLASS_GEMMA) {
    normalizer = cq_replace_json("String", " ", blank);
    splitter = json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "String", " ", "behavior",
                         "MergedWithPrevious", "invert", 0);
  } else {
    if (kind == CQ_CLASS_ALBERT)
      normalizer = albert_normalizer_json(config, rules);
    else if (kind == CQ_CLASS_DEBERTA_V2)
      normalizer = deberta_normalizer_json(config);
    else if (rules)
      normalizer = cq_json_copy(rules);
    splitter = splitter_json(config, kind);
  }
  return json_pack("{s:o, s:o}", "normalizer", normalizer, "pre_tokenizer", splitter);
}

/* --- beside a tokenizer.json --- */

/* Whether a class is for the document's kind of model. */
static bool is_for_model(const cq_tokenizer *t, json_t *document, cq_class_kind kind) {
  const json_t *model = json_object_get(document, "model");
  const char *type = json_string_value(json_object_get(model, "type"));
  if (!type && (t->model.scores || json_is_array(json_object_get(model, "vocab")))) type = "Unigram";
  if (!type) type = json_object_get(model, "merges") ? "BPE" : "WordPiece"; /* old files leave it out */
  const bool bytes = find_step(json_object_get(document, "pre_tokenizer"), "ByteLevel") != NULL;
  return !strcmp(type, specials[row_of(kind)].model) && !(kind == CQ_CLASS_LLAMA && bytes);
}

cq_status cq_tokenizer_apply_class(json_t *document, const cq_tokenizer *t, cq_naming *naming, cq_error *error) {
  json_t *old = json_object_get(document, "normalizer"), *rules = find_step(old, "Precompiled");
  if (naming->kind == CQ_CLASS_NONE || !is_for_model(t, document, naming->kind)) {
    naming->kind = CQ_CLASS_NONE;
    return CQ_OK;
  }
  naming->makes_ends = naming->kind != CQ_CLASS_LLAMA && naming->kind != CQ_CLASS_GEMMA;
  json_t *steps = cq_class_steps_json(naming->config, naming->kind, rules);
  if (cq_is_typed_text_normalizer(old)) json_object_del(steps, "normalizer");
  bool failed = !steps || json_object_update(document, steps);
  if (json_is_object(json_object_get(naming->config, "added_tokens_decoder"))) /* which replaces the list */
    failed |= json_object_set_new(document, "added_tokens", json_array());
  json_decref(steps);
  return failed ? cq_fail_memory(error, "tokenizer.json") : CQ_OK;
}

/* --- the tokens around a text --- */

/* A: the text, B: a second one, with what follows it of second_type; < and >: the tokens around them, if there are
 * any. */
static json_t *template_json(const char *pattern, const char *const names[2], int second_type) {
  json_t *list = json_array();
  int type = 0;
  for (; *pattern; pattern++) {
    const bool is_text = *pattern == 'A' || *pattern == 'B';
    const char *name = is_text ? (*pattern == 'A' ? "A" : "B") : names[*pattern == '>'];
    if (*pattern == 'B') type = second_type;
    if (name)
      cq_json_push(&list,
                   json_pack("{s:{s:s, s:i}}", is_text ? "Sequence" : "SpecialToken", "id", name, "type_id", type));
  }
  return list;
}

cq_status cq_class_put_ends(json_t *document, const cq_tokenizer *t, const json_t *config, cq_class_kind kind,
                            const char *path, cq_error *error) {
  const size_t row = row_of(kind);
  const bool decides = kind == CQ_CLASS_LLAMA || kind == CQ_CLASS_GEMMA || kind == CQ_CLASS_NONE;
  int ends[] = {specials[row].before, specials[row].after};
  const char *names[2] = {NULL, NULL};
  int64_t ids[2] = {0, 2};
  if (decides && is_on(config, "add_bos_token", false)) ends[0] = CQ_BOS;
  if (decides && is_on(config, "add_eos_token", false)) ends[1] = CQ_EOS;
  for (int i = 0; i < 2; i++) {
    if (ends[i] < 0) continue;
    names[i] = cq_special_text(config, cq_named_tokens[ends[i]], specials[row].names[ends[i]]);
    if (!names[i]) continue;
    const json_t *known = cq_find_added_json(json_object_get(document, "added_tokens"), names[i]);
    const int64_t id =
        known ? json_integer_value(json_object_get(known, "id")) : cq_vocab_id(&t->vocab, cq_slice_of(names[i]));
    if (id < 0)
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "the %s '%s' is not in the vocabulary", cq_named_tokens[ends[i]],
                          names[i]);
    if (kind != CQ_CLASS_HERBERT) ids[i] = id; /* whose class has the ids 0 and 2 whatever it names */
  }
  json_t *tokens = json_object();
  for (int i = 0; i < 2; i++)
    if (names[i])
      cq_json_set(&tokens, names[i],
                  json_pack("{s:s, s:[I], s:[s]}", "id", names[i], "ids", (json_int_t)ids[i], "tokens", names[i]));
  const bool twice = kind == CQ_CLASS_MPNET || kind == CQ_CLASS_ROBERTA || specials[row].before == CQ_BOS;
  json_t *post =
      json_pack("{s:s, s:o, s:o, s:o}", "type", "TemplateProcessing", "single", template_json("<A>", names, 0), "pair",
                template_json(twice ? "<A>>B>" : "<A>B>", names, !twice && names[0]), "special_tokens", tokens);
  return json_object_set_new(document, "post_processor", post) ? cq_fail_memory(error, path) : CQ_OK;
}
