/* sentence-transformers' WhitespaceTokenizer: words between blanks, without stop words. See whitespace.h. */
#include "model/whitespace.h"

#include "base/error.h"
#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "format/json.h"
#include "text/unicode.h"

#include <string.h>

#define FILE_NAME "whitespacetokenizer_config.json"
#define STOP_WORD (UINT64_MAX - 1) /* its value in the map; ids are below */

struct cq_whitespace {
  json_t *config; /* owns the words */
  cq_map words;
  int64_t size;
  bool lowercase;
};

/* --- opening and saving --- */

static cq_status read_words(cq_whitespace *w, const char *key, bool stop, const char *path, cq_error *error) {
  const json_t *list = json_object_get(w->config, key), *item;
  size_t i;
  if (!json_is_array(list)) return cq_fail_file(error, CQ_ERR_FORMAT, path, "'%s' is not a list", key);
  json_array_foreach(list, i, item) {
    if (!json_is_string(item))
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "entry %zu of '%s' is not a string", i, key);
    cq_slice word = {json_string_value(item), json_string_length(item)};
    if (!cq_map_put_borrowed(&w->words, word, stop ? STOP_WORD : i)) return cq_fail_memory(error, "a vocabulary");
  }
  if (!stop) w->size = (int64_t)json_array_size(list);
  return CQ_OK;
}

cq_status cq_whitespace_open(cq_whitespace **out, const char *directory, cq_error *error) {
  char path[4096];
  cq_whitespace *w = cq_alloc_zeroed(sizeof *w);
  if (!w) return cq_fail_memory(error, "a tokenizer");
  cq_status status = cq_json_open(&w->config, path, sizeof path, directory, FILE_NAME, error);
  /* Stop words are looked up before the vocabulary, so they take precedence. */
  if (!status) status = read_words(w, "vocab", false, path, error);
  if (!status) status = read_words(w, "stop_words", true, path, error);
  if (!status) status = cq_json_get_bool(&w->lowercase, w->config, "do_lower_case", path, error);
  if (status)
    cq_whitespace_free(w);
  else
    *out = w;
  return status;
}

void cq_whitespace_free(cq_whitespace *w) {
  if (!w) return;
  cq_map_free(&w->words);
  json_decref(w->config);
  cq_free(w);
}

cq_identity cq_whitespace_identity(const cq_whitespace *w) {
  cq_builder text = {0};
  cq_json_append(&text, w->config, -1);
  const cq_identity sum = cq_hash128(text.data, text.n);
  cq_builder_free(&text);
  return sum;
}

cq_status cq_whitespace_save(const cq_whitespace *w, const char *directory, cq_error *error) {
  return cq_json_save(json_incref(w->config), directory, FILE_NAME, error);
}

int64_t cq_whitespace_size(const cq_whitespace *w) {
  return w->size;
}

/* --- splitting --- */

/* Python's str.split() splits at these. */
static bool is_space(uint32_t c) {
  return (c >= 0x1c && c <= 0x1f) || cq_char_is_whitespace(c);
}

static bool is_ascii_punctuation(char c) {
  return c != '\0' && strchr("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", c) != NULL;
}

static cq_slice without_punctuation(cq_slice word) {
  while (word.n > 0 && is_ascii_punctuation(word.data[0])) word.data++, word.n--;
  while (word.n > 0 && is_ascii_punctuation(word.data[word.n - 1])) word.n--;
  return word;
}

/* The word's id; CQ_MAP_NONE when it is dropped. */
static uint64_t look_up_word(const cq_whitespace *w, cq_slice word, cq_builder *lower) {
  uint64_t id = cq_map_get(&w->words, word);
  if (id == CQ_MAP_NONE) {
    word = without_punctuation(word);
    id = word.n > 0 ? cq_map_get(&w->words, word) : CQ_MAP_NONE;
  }
  if (id == CQ_MAP_NONE) {
    cq_builder_clear(lower);
    cq_text_lower_in_context(lower, word);
    id = cq_map_get(&w->words, (cq_slice){lower->data ? lower->data : "", lower->n});
  }
  return id == STOP_WORD ? CQ_MAP_NONE : id;
}

cq_status cq_whitespace_encode(cq_ids *out, const cq_whitespace *w, cq_slice text, cq_error *error) {
  cq_builder whole = {0}, lower = {0};
  bool failed = false;
  if (w->lowercase) {
    cq_text_lower_in_context(&whole, text);
    text = (cq_slice){whole.data ? whole.data : "", whole.n};
  }
  for (size_t at = 0; at < text.n && !failed;) {
    uint32_t c;
    size_t start = at, length = 0;
    while (at < text.n && (length = cq_utf8_decode(&c, text.data + at, text.n - at), !is_space(c))) at += length;
    if (at == start) {
      at += length;
      continue;
    }
    uint64_t id = look_up_word(w, (cq_slice){text.data + start, at - start}, &lower);
    if (id == CQ_MAP_NONE) continue;
    failed = !cq_reserve((void **)&out->ids, &out->capacity, out->n + 1, sizeof *out->ids);
    if (!failed) out->ids[out->n++] = (int32_t)id;
  }
  failed = failed || whole.failed || lower.failed;
  cq_builder_free(&whole);
  cq_builder_free(&lower);
  return failed ? cq_fail_memory(error, "token ids") : CQ_OK;
}
