/* sentence-transformers' WhitespaceTokenizer: words between white space, looked up unchanged, then without the
 * punctuation around them, then in lower case; stop words and unknown words are dropped.
 *
 *   whitespacetokenizer_config.json   {"vocab": [word, ...], "stop_words": [...], "do_lower_case": false} */
#ifndef MODEL_WHITESPACE_H
#define MODEL_WHITESPACE_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/slice.h"
#include "calque/status.h"
#include "token/tokenizer.h"

typedef struct cq_whitespace cq_whitespace;

CQ_MUST_USE cq_status cq_whitespace_open(cq_whitespace **out, const char *directory, cq_error *error);
void cq_whitespace_free(cq_whitespace *w);
CQ_MUST_USE cq_status cq_whitespace_save(const cq_whitespace *w, const char *directory, cq_error *error);
cq_identity cq_whitespace_identity(const cq_whitespace *w); /* of words, their order, and the switches */
int64_t cq_whitespace_size(const cq_whitespace *w);
CQ_MUST_USE cq_status cq_whitespace_encode(cq_ids *out, const cq_whitespace *w, cq_slice text, cq_error *error);

#endif
