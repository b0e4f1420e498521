/* Normalizers: rewrite the text between added tokens. */
#ifndef TOKEN_NORMALIZER_H
#define TOKEN_NORMALIZER_H

#include "token/charsmap.h"
#include "token/steps.h"

typedef struct cq_normalizer cq_normalizer;
struct cq_normalizer {
  bool (*run)(cq_builder *out, const cq_normalizer *step, cq_slice text); /* false: out of memory */
  bool flags[4];
  int form;          /* a cq_normal_form */
  int min_chars;     /* of a run that is replaced */
  cq_slice from, to; /* in the tokenizer's arena */
  cq_charsmap *charsmap;
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
/* Appends the normalized text; other is scratch. CQ_ERR_MEMORY, or CQ_ERR_LIMIT for more than cq_normal_limit bytes. */
CQ_MUST_USE cq_status cq_normalizers_run(cq_builder *out, cq_builder other[2], const cq_normalizers *normalizers,
                                         cq_slice text);

#endif
