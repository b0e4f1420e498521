/* The golden tokenizers: tests/golden/token, written by reference/golden_tokenizers.py. */
#ifndef TOKEN_GOLDEN_H
#define TOKEN_GOLDEN_H

#include "support/files.h"

#include "base/memory.h"
#include "format/json.h"
#include "token/tokenizer.h"

static const char *const golden_names[] = {
    "wordpiece-uncased",
    "wordpiece-cased",
    "wordpiece-added",
    "vocab-txt-uncased",
    "vocab-txt-cased",
    "mpnet",
    "unigram-first",
    "unigram-never",
    "unigram-split",
    "unigram-whitespace",
    "sentencepiece-unigram",
    "sentencepiece-bpe",
    "sentencepiece-t5",
    "byte-level",
    "byte-level-prefix",
    "vocab-json",
    "bpe-byte-fallback",
    "bpe-fuse",
    "bpe-no-fuse",
    "words-marked",
    "words-plain",
    "words-split",
    "qwen2",
    "llama3",
    "o200k",
    "gemma",
    "funnel",
    "herbert",
    "albert",
    "camembert",
    "deberta-v2",
};
enum { N_GOLDEN = sizeof golden_names / sizeof *golden_names };

static inline const char *golden_path(const char *name) {
  char relative[128];
  assert_in_range(snprintf(relative, sizeof relative, "golden/token/%s", name), 1, sizeof relative - 1);
  return tests_file(relative);
}

static inline json_t *golden_json(const char *name) {
  json_t *json;
  cq_error error = {0};
  if (cq_json_read(&json, golden_path(name), &error)) fail_msg("%s", error.message);
  return json;
}

static inline cq_slice json_slice(const json_t *text) {
  return (cq_slice){json_string_value(text), json_string_length(text)};
}

static inline cq_tokenizer *open_tokenizer(const char *directory) {
  cq_tokenizer *t;
  cq_error error = {0};
  if (cq_tokenizer_open(&t, directory, false, &error)) fail_msg("%s", error.message);
  return t;
}

static cq_token_memory *golden_memory; /* one for all tokenizers and texts */

static inline void encode(cq_ids *ids, const cq_tokenizer *t, cq_slice text, size_t max_length, bool *cut) {
  cq_error error = {0};
  ids->n = 0;
  if (!golden_memory) golden_memory = cq_token_memory_new();
  if (cq_tokenizer_encode(ids, t, golden_memory, text, true, max_length, cut, &error)) fail_msg("%s", error.message);
}

#endif
