/* Splits text into the words for BLEU and METEOR, like sacreBLEU's tokenizers. */
#ifndef LAB_MEASURES_MT_TOKENS_H
#define LAB_MEASURES_MT_TOKENS_H

#include "base/intern.h"
#include "base/slice.h"
#include "base/u32_array.h"
#include "calque/lab/mt.h"

typedef struct cq_mt_tokenizer {
  cq_mt_tokens tokens;
  bool lowercase;
  cq_intern words; /* all that were met */
  /* scratch: a step's input and output characters; the lower-case text; a word */
  struct cq_mt_codes {
    uint32_t *items;
    size_t n, capacity;
  } from, to;
  cq_builder text, word;
} cq_mt_tokenizer;

void cq_mt_tokenizer_free(cq_mt_tokenizer *t);
/* Appends the numbers of a text's words; false: out of memory. */
bool cq_mt_tokenize(cq_u32_array *out, cq_mt_tokenizer *t, cq_slice text);

bool cq_mt_is_space(uint32_t c);               /* what Python's str.split() splits at */
extern const char *const cq_mt_tokens_names[]; /* in options and signatures */
/* CQ_ERR_ARGUMENT if there are no hypotheses or no references. */
CQ_MUST_USE cq_status cq_mt_check(const cq_mt_texts *texts, const char *measure, cq_error *error);

#endif
