/* The pre-tokenizer Split: text is divided at the matches of a string or of a regular expression, and a behavior says
 * what becomes of the matches. Splits of characters of a class (Punctuation, Digits) behave the same. */
#ifndef TOKEN_SPLIT_H
#define TOKEN_SPLIT_H

#include "token/internal.h"

typedef enum cq_split_behavior {
  CQ_SPLIT_REMOVED,
  CQ_SPLIT_ISOLATED,
  CQ_SPLIT_MERGED_WITH_PREVIOUS,
  CQ_SPLIT_MERGED_WITH_NEXT,
  CQ_SPLIT_CONTIGUOUS,
} cq_split_behavior;

/* Reads `behavior` where it stands. */
CQ_MUST_USE cq_status cq_split_parse_behavior(int *out, const cq_step_parser *p);
/* One of a list of names under a key; absent leaves *out alone. */
CQ_MUST_USE cq_status cq_step_choice(int *out, const cq_step_parser *p, const char *key, const char *const *names,
                                     int n_names);

CQ_MUST_USE cq_status cq_split_parse(cq_pre_tokenizer *step, const cq_step_parser *p);
/* Splits each word at the characters of a class. */
bool cq_split_by_class(cq_words *out, const cq_words *in, bool (*is_delimiter)(uint32_t c), int behavior);
/* Puts bytes [start, end) of a word, if there are any. */
bool cq_split_put(cq_words *out, const cq_word *word, size_t start, size_t end);

#endif
