/* Reads a tokenizer.json with simdjson (C++), for speed: a file with 250,000 pieces has 17 MB, nearly all of it the
 * vocabulary, which is passed directly to a sink. The rest becomes an ordinary Jansson document. */
#ifndef TOKEN_LARGE_JSON_H
#define TOKEN_LARGE_JSON_H

#include "calque/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Both return CQ_OK, CQ_ERR_MEMORY, or CQ_ERR_FORMAT for unacceptable input. */
typedef struct cq_vocab_sink {
  void *context;
  /* Called before the first piece. scored: pieces are an array with scores, ids from 0 on; otherwise they have ids. */
  cq_status (*begin)(void *context, size_t n, bool scored);
  cq_status (*piece)(void *context, const char *text, size_t n, int64_t id, double score);
} cq_vocab_sink;

/* *rest: the document without model.vocab, whose pieces go to the sink in file order. Errors: CQ_ERR_MEMORY, or
 * CQ_ERR_FORMAT if the text is not JSON, the vocabulary does not match the model's type, or the text has one of the few
 * constructs that simdjson and Jansson read differently; Jansson can then report what is wrong, if anything. After an
 * error, *rest is NULL, and the sink's pieces must be dropped. */
CQ_MUST_USE cq_status cq_large_json_read(json_t **rest, const char *text, size_t n, const cq_vocab_sink *sink);

#ifdef __cplusplus
}
#endif
#endif
