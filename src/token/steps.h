/* Shared by normalizers and pre-tokenizers: both are a step, or a Sequence of steps, and each type of step is a table
 * row. Parses their JSON and limits their output. */
#ifndef TOKEN_STEPS_H
#define TOKEN_STEPS_H

#include "base/arena.h"
#include "base/slice.h"
#include "calque/status.h"
#include "format/json.h"

enum { CQ_MAX_STEPS = 256 }; /* normalizers, and pre-tokenizers, of a tokenizer */

/* The maximum output in bytes for a text of n bytes; only hostile rules produce more. Unicode's normal forms turn a
 * byte into at most 11. */
static inline size_t cq_normal_limit(size_t n) {
  return n > SIZE_MAX / 128 ? SIZE_MAX : 64 * n + (64 << 10);
}
/* The error for a step's status on a text of n bytes; CQ_ERR_STOPPED becomes CQ_ERR_LIMIT. */
CQ_MUST_USE cq_status cq_fail_encoding(cq_error *error, cq_status status, size_t n);

/* Where a component stands, for error messages. */
typedef struct cq_place {
  const char *path;  /* file */
  const char *where; /* "normalizer", "pre_tokenizer" */
} cq_place;

/* One step's JSON, and what parsing it needs. */
typedef struct cq_step_parser {
  cq_arena *arena; /* the step's strings go there */
  const json_t *json;
  const cq_place *place;
  cq_error *error;
  int depth; /* of Sequences around it */
} cq_step_parser;
typedef cq_status (*cq_step_parse_fn)(void *out, const char *type, const cq_step_parser *step);
/* Calls parse for each step of a component in order; list_key: the key of a Sequence's steps. No JSON or null: no
 * steps. */
cq_status cq_steps_parse(void *out, const cq_step_parser *component, const char *list_key, cq_step_parse_fn parse);
cq_status cq_step_text(cq_slice *out, const cq_step_parser *step, const char *text, size_t n); /* a copy */
cq_status cq_step_bool(bool *out, const cq_step_parser *step, const char *key);
/* Reads a choice from a list of names under a key; a missing key leaves *out unchanged. */
CQ_MUST_USE cq_status cq_step_choice(int *out, const cq_step_parser *p, const char *key, const char *const *names,
                                     int n_names);

#endif
