/* Normalizers: rewrite the text between added tokens. */
#ifndef TOKEN_NORMALIZER_H
#define TOKEN_NORMALIZER_H

#include "token/charsmap.h"
#include "token/steps.h"

typedef struct cq_normalizer cq_normalizer;
struct cq_normalizer {
  bool (*run)(cq_builder *out, const cq_normalizer *step, cq_slice text); /* false: out of memory */
  bool flags[4];
  int form;              /* a cq_normal_form */
  int min_chars;         /* of a run that is replaced */
  uint32_t (*ranges)[2]; /* of characters that are replaced, in the arena */
  size_t n_ranges;
  cq_slice from, to; /* in the tokenizer's arena */
  cq_charsmap *charsmap;
  struct cq_regex *regex;
};
typedef struct cq_normalizers {
  cq_normalizer *steps;
  size_t n, capacity;
} cq_normalizers;
cq_status cq_normalizers_parse(cq_normalizers *out, cq_arena *arena, const json_t *json, const cq_place *place,
                               cq_error *error);
void cq_normalizers_free(cq_normalizers *normalizers);
/* Whether the step lower-cases. */
bool cq_normalizer_lowers(const cq_normalizer *step);
/* Whether its result is in a normal form of Unicode. */
bool cq_normalizer_has_form(const cq_normalizer *step);
/* Appends the normalized text; other is scratch. CQ_ERR_MEMORY; CQ_ERR_LIMIT for more than cq_normal_limit bytes;
 * CQ_ERR_STOPPED for a regular expression that takes too long. */
CQ_MUST_USE cq_status cq_normalizers_run(cq_builder *out, cq_builder other[2], const cq_normalizers *normalizers,
                                         cq_slice text);

/* A Replace step of tokenizer.json; kind: "String" or "Regex". NULL: out of memory. */
json_t *cq_replace_json(const char *kind, const char *pattern, const char *content);
/* The normalizer of our own models, for text as people type it: invisible characters go, what is decomposed (NFD) is
 * composed, then what `old` does (NULL: nothing), then, with fold_case, case is folded. NULL: out of memory. */
json_t *cq_typed_text_normalizer(const json_t *old, bool fold_case);
bool cq_is_typed_text_normalizer(const json_t *json);
/* Appends text with its case folded so. */
void cq_fold_typed(cq_builder *out, cq_slice text);

#endif
