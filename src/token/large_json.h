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

/* Both give CQ_OK, CQ_ERR_MEMORY, or CQ_ERR_FORMAT for what they do not take. */
typedef struct cq_vocab_sink {
  void *context;
  /* Before the first piece. scored: pieces come as an array, ids counting from 0, with scores; else with ids alone. */
  cq_status (*begin)(void *context, size_t n, bool scored);
  cq_status (*piece)(void *context, const char *text, size_t n, int64_t id, double score);
} cq_vocab_sink;

/* *rest: the document without model.vocab, whose pieces the sink has been given in the file's order. CQ_ERR_MEMORY, or
 * CQ_ERR_FORMAT when the text is not JSON, the vocabulary not of the form that belongs to the model's type, or one of a
 * few things is in it that simdjson and Jansson see differently: it is Jansson's then to say what is wrong, if
 * anything. In either case *rest is NULL, and what the sink was given is to be forgotten. */
CQ_MUST_USE cq_status cq_large_json_read(json_t **rest, const char *text, size_t n, const cq_vocab_sink *sink);

#ifdef __cplusplus
}
#endif
#endif
