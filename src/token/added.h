/* Added tokens: strings that are taken out of the text before any other stage. */
#ifndef TOKEN_ADDED_H
#define TOKEN_ADDED_H

#include "format/json.h"
#include "token/tokenizer.h"
#include "token/trie.h"

typedef struct cq_added_token {
  int32_t id;
  bool special, single_word, lstrip, rstrip, normalized;
} cq_added_token;

typedef struct cq_added {
  cq_added_token *tokens;
  size_t n, capacity;
  cq_trie raw, normalized; /* text -> index in tokens */
  bool first_raw[256], first_normalized[256];
  bool splits_special; /* split_special_tokens: a text's special tokens are text like any other */
} cq_added;

cq_status cq_added_parse(cq_tokenizer *t, const json_t *list, const char *path, cq_error *error);
/* The next added token in text at or after from; false if there is none. It covers [*start, *end), including stripped
 * white space. */
bool cq_added_find(const cq_added_token **token, size_t *start, size_t *end, const cq_added *added, bool normalized,
                   cq_slice text, size_t from);
void cq_added_free(cq_added *added);

#endif
