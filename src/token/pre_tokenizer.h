/* Pre-tokenizers: split normalized text into words. */
#ifndef TOKEN_PRE_TOKENIZER_H
#define TOKEN_PRE_TOKENIZER_H

#include "token/steps.h"

typedef struct cq_word {
  size_t start, n;
  bool at_start; /* begins where the sentence begins */
} cq_word;

typedef struct cq_words {
  cq_builder text;
  cq_word *words;
  size_t n, capacity;
  bool is_stopped; /* a regular expression took too long */
} cq_words;

bool cq_words_put(cq_words *words, size_t start, size_t n, bool at_start);
static inline cq_slice cq_words_text(const cq_words *words, const cq_word *word) {
  return (cq_slice){words->text.data + word->start, word->n};
}

typedef struct cq_pre_tokenizer cq_pre_tokenizer;
struct cq_pre_tokenizer {
  /* Fills out from in; when `rewrites` is false, out's words refer to in's text. */
  bool (*run)(cq_words *out, const cq_words *in, const cq_pre_tokenizer *step);
  bool rewrites;
  bool flags[4];
  int behavior, scheme;
  cq_slice text;
  struct cq_regex *regex;
  struct cq_japanese *japanese;
};
typedef struct cq_pre_tokenizers {
  cq_pre_tokenizer *steps;
  size_t n, capacity;
  bool byte_level, metaspace, japanese; /* has one of them */
} cq_pre_tokenizers;
cq_status cq_pre_tokenizers_parse(cq_pre_tokenizers *out, cq_arena *arena, const json_t *json, const cq_place *place,
                                  cq_error *error);
void cq_pre_tokenizers_free(cq_pre_tokenizers *pre_tokenizers);
/* Splits words[0]; *out is the one of the two with the result. Errors: as for normalizers, and CQ_ERR_STOPPED for a
 * regular expression that takes too long. */
CQ_MUST_USE cq_status cq_pre_tokenizers_run(cq_words **out, cq_words words[2], const cq_pre_tokenizers *pre_tokenizers);

/* The regular expression by which our own tokenizers split: punctuation or a symbol, with a U+2581 before it. */
#define CQ_SPLIT_PUNCTUATION "\xE2\x96\x81?(?!\xE2\x96\x81)[\\p{P}\\p{S}]"

/* The byte that a character represents, or -1. */
int cq_byte_level_byte(uint32_t c);

/* --- Split (split.c): text is divided at the matches of a string or of a regular expression, and a behavior decides
 * what happens to the matches. Splits at a class of characters (Punctuation, Digits) work the same way. --- */

typedef enum cq_split_behavior {
  CQ_SPLIT_REMOVED,
  CQ_SPLIT_ISOLATED,
  CQ_SPLIT_MERGED_WITH_PREVIOUS,
  CQ_SPLIT_MERGED_WITH_NEXT,
  CQ_SPLIT_CONTIGUOUS,
} cq_split_behavior;

/* Reads `behavior` where it stands. */
CQ_MUST_USE cq_status cq_split_parse_behavior(int *out, const cq_step_parser *p);

CQ_MUST_USE cq_status cq_split_parse(cq_pre_tokenizer *step, const cq_step_parser *p);
/* Splits each word at the characters of a class. */
bool cq_split_by_class(cq_words *out, const cq_words *in, bool (*is_delimiter)(uint32_t c), int behavior);
/* Appends bytes [start, end) of a word as a new word, if there are any. */
bool cq_split_put(cq_words *out, const cq_word *word, size_t start, size_t end);

/* --- MeCab (japanese.c), which only calque's own documents have --- */

typedef struct cq_japanese cq_japanese;
CQ_MUST_USE cq_status cq_japanese_parse(cq_pre_tokenizer *step, const cq_step_parser *p);
bool cq_japanese_run(cq_words *out, const cq_words *in, const cq_pre_tokenizer *step);
void cq_japanese_free(cq_japanese *japanese);

#endif
