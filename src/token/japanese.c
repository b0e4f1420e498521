/* BertJapaneseTokenizer: MeCab's words, then WordPiece or single characters.
 *
 *   tokenizer_config.json ──cq_japanese_step──▶ a pre-tokenizer "MeCab" of the document ──cq_japanese_parse──▶ a step
 *   text ──NFKC──▶ MeCab's words ──lower case──▶ words without white space, or characters
 *
 * MeCab is a plugin. The dictionary is, in this order: the directory in CALQUE_MECAB_DICTIONARY; "-d DIRECTORY" of
 * mecab_kwargs' mecab_option; for ipadic, Debian's; if mecab_dic is null, the system's default. Source: transformers 5,
 * whose behavior this is. */
#include "token/tokenizer_files.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/plugin.h"
#include "base/utf8.h"
#include "text/unicode.h"
#include "token/mecab_plugin.h"

#include <stdlib.h>
#include <string.h>

enum { LOWERCASE, NORMALIZE, CHARACTERS }; /* flags */
enum { MAX_OPTIONS = 16 };

struct cq_japanese {
  const cq_mecab_plugin *mecab;
  void *dictionary;
  cq_slice *never_split; /* in the tokenizer's arena */
  size_t n_never_split;
};

/* --- the step of a tokenizer_config.json --- */

static cq_status only(const json_t *config, const char *key, const char *otherwise, const char *wanted,
                      const char *others, const char *path, cq_error *error) {
  cq_status status = cq_json_get_string(&otherwise, config, key, path, error);
  if (status || !strcmp(otherwise, wanted) || (others && !strcmp(otherwise, others))) return status;
  return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path,
                      "%s '%.64s' is not supported, only %s%s%s; choose a model that is split so", key, otherwise,
                      wanted, others ? " and " : "", others ? others : "");
}

cq_status cq_japanese_step(json_t **out, const json_t *config, const json_t *specials, cq_error *error) {
  static const char path[] = "tokenizer_config.json";
  static const char *const must[] = {"do_word_tokenize", "do_subword_tokenize"};
  const json_t *kwargs = json_object_get(config, "mecab_kwargs"), *named = json_object_get(kwargs, "mecab_dic");
  const json_t *never_split = json_object_get(config, "never_split");
  const char *dictionary = "unidic_lite", *option = "", *subwords = "wordpiece";
  bool lowercase = false, normalize = true;
  cq_status status = only(config, "word_tokenizer_type", "basic", "mecab", NULL, path, error);
  if (!status) status = only(config, "subword_tokenizer_type", subwords, "wordpiece", "character", path, error);
  if (!status) status = cq_json_get_string(&subwords, config, "subword_tokenizer_type", path, error);
  for (int i = 0; i < 2 && !status; i++) {
    bool does = true;
    status = cq_json_get_bool(&does, config, must[i], path, error);
    if (!status && !does)
      status = cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "%s is false, which is not supported", must[i]);
  }
  if (!status) status = cq_json_get_bool(&lowercase, config, "do_lower_case", path, error);
  if (!status) status = cq_json_get_bool(&normalize, kwargs, "normalize_text", path, error);
  if (!status) status = cq_json_get_string(&dictionary, kwargs, "mecab_dic", path, error);
  if (!status) status = cq_json_get_string(&option, kwargs, "mecab_option", path, error);
  if (status) return status;
  if (json_is_null(named)) dictionary = "";
  json_t *words = json_is_array(never_split) ? cq_json_copy(never_split) : json_array();
  for (size_t i = 0; i < json_array_size(specials); i++)
    cq_json_push(&words, json_incref(json_object_get(json_array_get(specials, i), "content")));
  *out = json_pack("{s:n, s:{s:s, s:b, s:b, s:b, s:s, s:s, s:o}}", "normalizer", "pre_tokenizer", "type", "MeCab",
                   "lowercase", lowercase, "normalize", normalize, "characters", !strcmp(subwords, "character"),
                   "mecab_dic", dictionary, "mecab_option", option, "never_split", words);
  return *out ? CQ_OK : cq_fail_memory(error, "tokenizer document");
}

/* --- opening --- */

/* n_contexts: of the dictionary by that name, to notice another one; 0: versions differ. */
static const struct {
  const char *name, *remedy;
  unsigned n_contexts;
} dictionaries[] = {
    {"ipadic", "install the package mecab-ipadic-utf8, or name another directory with CALQUE_MECAB_DICTIONARY", 1316},
    {"unidic_lite", "name its directory with CALQUE_MECAB_DICTIONARY (dicdir of the Python package unidic-lite)", 5981},
    {"unidic", "name its directory with CALQUE_MECAB_DICTIONARY (dicdir of the Python package unidic)", 0},
};

/* MeCab's options -d and -u, with their values, which are absolute paths: a model does not bring its own dictionary, which
 * MeCab would trust. text is changed. */
static cq_status parse_options(const char **options, int *n, bool *has_directory, char *text, const cq_step_parser *p) {
  static const char *const known[] = {"-d", "--dicdir", "-u", "--userdic"};
  bool is_value = false;
  *has_directory = false;
  for (char *at = text; *at;) {
    if (strchr(" \t\n", *at)) {
      at++;
      continue;
    }
    const char quote = *at == '"' || *at == '\'' ? *at++ : '\0';
    char *end = at;
    while (*end && (quote ? *end != quote : !strchr(" \t\n", *end))) end++;
    const bool is_last = !*end;
    *end = '\0';
    size_t k = 0, length = 0;
    for (; !is_value && k < 4; k++) { /* -d X, -dX, --dicdir X, --dicdir=X */
      length = strlen(known[k]);
      if (!strncmp(at, known[k], length) && (k % 2 == 0 || at[length] == '\0' || at[length] == '=')) break;
    }
    if (k == 4 || *n == MAX_OPTIONS)
      return cq_fail_file(p->error, CQ_ERR_UNSUPPORTED, p->place->path,
                          "mecab_option '%.64s' is not supported, only -d DIRECTORY and -u FILE", at);
    *has_directory |= !is_value && k < 2;
    const char *value = at + length + (at[length] == '=');
    is_value = !is_value && at[length] == '\0';
    if (!is_value && *value != '/')
      return cq_fail_file(p->error, CQ_ERR_UNSUPPORTED, p->place->path,
                          "mecab_option names '%.64s', expected an absolute path", value);
    options[(*n)++] = at;
    at = is_last ? end : end + 1;
  }
  return !is_value ? CQ_OK
                   : cq_fail_file(p->error, CQ_ERR_FORMAT, p->place->path,
                                  "mecab_option ends with '%s', without a value", options[*n - 1]);
}

static cq_status open_dictionary(cq_japanese *j, const char *name, const char *option, const cq_step_parser *p) {
  static const char *const usual[] = {"/var/lib/mecab/dic/ipadic-utf8", "/usr/lib/mecab/dic/ipadic",
                                      "/usr/local/lib/mecab/dic/ipadic"};
  const char *options[MAX_OPTIONS + 4], *directory = getenv("CALQUE_MECAB_DICTIONARY");
  const size_t n_known = sizeof dictionaries / sizeof *dictionaries;
  size_t k = 0;
  int n = 0;
  bool has_directory;
  unsigned n_contexts = 0;
  char message[512] = "";
  while (k < n_known && strcmp(name, dictionaries[k].name) != 0) k++;
  if (k == n_known && *name)
    return cq_fail_file(p->error, CQ_ERR_UNSUPPORTED, p->place->path,
                        "mecab_dic '%.64s' is not supported, only ipadic, unidic_lite and unidic", name);
  char *text = cq_arena_strdup(p->arena, option);
  if (!text) return cq_fail_memory(p->error, p->place->where);
  cq_status status = parse_options(options, &n, &has_directory, text, p);
  if (status) return status;
  if (directory && !*directory) directory = NULL;
  const bool is_named = !directory && has_directory;
  for (size_t i = 0; !directory && !has_directory && k == 0 && i < 3; i++)
    if (cq_is_directory(usual[i])) directory = usual[i];
  if (!directory && !is_named && k < n_known)
    return cq_fail_file(p->error, CQ_ERR_IO, p->place->path, "MeCab's dictionary %s is not found: %s", name,
                        dictionaries[k].remedy);
  if (directory) options[n++] = "-d", options[n++] = directory;
  if (directory || is_named) options[n++] = "-r", options[n++] = "/dev/null"; /* no settings of the system */
  if (j->mecab->open(&j->dictionary, &n_contexts, options, n, message, sizeof message))
    return cq_fail_file(p->error, CQ_ERR_IO, directory ? directory : p->place->path, "MeCab's dictionary: %s", message);
  const unsigned wanted = is_named || k == n_known ? 0 : dictionaries[k].n_contexts;
  if (wanted && n_contexts != wanted)
    return cq_fail_file(p->error, CQ_ERR_FORMAT, directory,
                        "is not the dictionary %s that the model names: it has %u contexts instead of %u", name,
                        n_contexts, wanted);
  return CQ_OK;
}

static cq_status take_never_split(cq_japanese *j, const json_t *list, const cq_step_parser *p) {
  j->never_split = cq_arena_array(p->arena, json_array_size(list) + 1, sizeof *j->never_split);
  if (!j->never_split) return cq_fail_memory(p->error, p->place->where);
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *word = json_array_get(list, i);
    if (!json_is_string(word)) continue;
    const cq_status status =
        cq_step_text(&j->never_split[j->n_never_split++], p, json_string_value(word), json_string_length(word));
    if (status) return status;
  }
  return CQ_OK;
}

cq_status cq_japanese_parse(cq_pre_tokenizer *step, const cq_step_parser *p) {
  const void *table;
  const char *name = "", *option = "";
  cq_status status = cq_step_bool(&step->flags[LOWERCASE], p, "lowercase");
  if (!status) status = cq_step_bool(&step->flags[NORMALIZE], p, "normalize");
  if (!status) status = cq_step_bool(&step->flags[CHARACTERS], p, "characters");
  if (!status) status = cq_json_get_string(&name, p->json, "mecab_dic", p->place->path, p->error);
  if (!status) status = cq_json_get_string(&option, p->json, "mecab_option", p->place->path, p->error);
  if (!status)
    status = cq_plugin_load(
        &table, "mecab", CQ_MECAB_PLUGIN_VERSION,
        "this model's Japanese tokenizer needs calque's plugin for MeCab (calque-mecab; libmecab-dev to build it)",
        p->error);
  if (status) return status;
  step->japanese = cq_alloc_zeroed(sizeof *step->japanese);
  if (!step->japanese) return cq_fail_memory(p->error, p->place->where);
  step->japanese->mecab = table;
  status = take_never_split(step->japanese, json_object_get(p->json, "never_split"), p);
  return status ? status : open_dictionary(step->japanese, name, option, p);
}

void cq_japanese_free(cq_japanese *j) {
  if (j && j->dictionary) j->mecab->free(j->dictionary);
  cq_free(j);
}

/* --- running --- */

typedef struct splitting {
  cq_words *out;
  const cq_pre_tokenizer *step;
  cq_slice text;
  cq_builder word, normal;
  bool failed; /* out of memory */
} splitting;

static bool put_word(cq_words *out, cq_slice text) {
  const size_t start = out->text.n;
  if (text.n == 0) return true;
  cq_builder_bytes(&out->text, text.data, text.n);
  return !out->text.failed && cq_words_put(out, start, text.n, start == 0);
}

static cq_slice built(const cq_builder *b) {
  return (cq_slice){b->data ? b->data : "", b->n};
}

/* Python's white space, which has four separators more. */
static bool is_blank(uint32_t c) {
  return cq_char_is_whitespace(c) || (c >= 0x1C && c <= 0x1F);
}

static bool is_never_split(const cq_japanese *j, cq_slice word) {
  for (size_t i = 0; i < j->n_never_split; i++)
    if (cq_slice_equal(j->never_split[i], word)) return true;
  return false;
}

static bool put_pieces(splitting *s, size_t start, size_t end) {
  cq_slice word = {s->text.data + start, end - start};
  const bool *flags = s->step->flags;
  if (flags[LOWERCASE] && !is_never_split(s->step->japanese, word)) {
    cq_builder_clear(&s->word);
    cq_text_lower_in_context(&s->word, word);
    word = built(&s->word);
  }
  if (flags[CHARACTERS]) {
    cq_builder_clear(&s->normal);
    cq_text_normal_form(&s->normal, word, CQ_NFKC);
    word = built(&s->normal);
  }
  size_t from = 0;
  for (size_t i = 0, n; i < word.n; i += n) {
    uint32_t c;
    n = cq_utf8_decode(&c, word.data + i, word.n - i);
    if (!flags[CHARACTERS] && !is_blank(c)) continue;
    const size_t first = flags[CHARACTERS] ? i : from, after = flags[CHARACTERS] ? i + n : i;
    if (!put_word(s->out, (cq_slice){word.data + first, after - first})) return false;
    from = i + n;
  }
  return !s->word.failed && !s->normal.failed && put_word(s->out, (cq_slice){word.data + from, word.n - from});
}

static bool put_mecab_word(void *context, size_t start, size_t end) {
  splitting *s = context;
  s->failed = !put_pieces(s, start, end);
  return !s->failed;
}

bool cq_japanese_run(cq_words *out, const cq_words *in, const cq_pre_tokenizer *step) {
  splitting s = {.out = out, .step = step};
  cq_builder text = {0};
  char message[256];
  for (size_t w = 0; w < in->n && !s.failed; w++) {
    s.text = cq_words_text(in, &in->words[w]);
    if (step->flags[NORMALIZE]) {
      cq_builder_clear(&text);
      cq_text_normal_form(&text, s.text, CQ_NFKC);
      s.text = built(&text);
    }
    if (text.failed || step->japanese->mecab->split(step->japanese->dictionary, s.text.data, s.text.n, put_mecab_word,
                                                    &s, message, sizeof message))
      s.failed = true;
  }
  cq_builder_free(&text);
  cq_builder_free(&s.word);
  cq_builder_free(&s.normal);
  return !s.failed;
}
