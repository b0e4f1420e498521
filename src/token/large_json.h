/* A tokenizer.json read by simdjson (C++), for its speed: of the 17 megabytes that one of 250,000 pieces has, nearly
 * all is the vocabulary, which goes straight to where it belongs. What is left is a Jansson document as any other. */
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

/* Both return CQ_OK, CQ_ERR_MEMORY, or CQ_ERR_FORMAT for input that they do not accept. */
typedef struct cq_vocab_sink {
  void *context;
  /* Called before the first piece. scored: pieces come as an array with scores, ids from 0; else only with ids. */
  cq_status (*begin)(void *context, size_t n, bool scored);
  cq_status (*piece)(void *context, const char *text, size_t n, int64_t id, double score);
} cq_vocab_sink;

/* *rest: the document without model.vocab, whose pieces the sink has been given in the file's order. CQ_ERR_MEMORY, or
 * CQ_ERR_FORMAT when the text is not JSON, the vocabulary does not fit the model's type, or it has one of the few
 * constructs that simdjson and Jansson read differently: Jansson then reports what is wrong, if anything. In either
 * case *rest is NULL, and the sink's pieces must be dropped. */
CQ_MUST_USE cq_status cq_large_json_read(json_t **rest, const char *text, size_t n, const cq_vocab_sink *sink);

#ifdef __cplusplus
}
#endif
#endif
