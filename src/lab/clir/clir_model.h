/* Word vectors in several languages, as used in searching. */
#ifndef LAB_CLIR_CLIR_MODEL_H
#define LAB_CLIR_CLIR_MODEL_H

#include "lab/clir/clir_collections.h"
#include "lab/clir/translate.h"
#include "words/train_words.h"

struct cq_clir_model {
  const cq_clir *clir;
  cq_word_corpus corpus; /* the training corpus; its words are the model's */
  float *vectors;        /* [corpus.words.n, dim] */
  uint32_t *number;      /* the model's number for each collection word number; CQ_INTERN_NONE: not in the text */
  int dim;
};

/* A copy of the options: o.words and o.ranking point to the two structs next to it. */
typedef struct cq_clir_settings {
  cq_clir_options o;
  cq_words_options words;
  cq_lexical_options ranking;
} cq_clir_settings;
CQ_MUST_USE cq_status cq_clir_take(cq_clir_settings *out, const cq_clir_options *given, cq_error *error);

/* The best k documents for a topic's query within its language: *out [k], released with cq_free(). */
CQ_MUST_USE cq_status cq_clir_best_of(cq_lexical_hit **out, const cq_clir *clir, const cq_clir_side *side, size_t topic,
                                      size_t k, const cq_clir_options *options, cq_error *error);

CQ_MUST_USE cq_status cq_clir_translator(cq_translator *out, const cq_clir_model *model, const cq_clir_side *from,
                                         const cq_clir_side *to, const cq_clir_options *options, cq_error *error);
/* words are the model's; *out is released with cq_free. */
CQ_MUST_USE cq_status cq_clir_translate(cq_translation **out, size_t *n, const cq_clir_model *model,
                                        const cq_translator *translator, const uint32_t *words, size_t n_words,
                                        const cq_clir_options *options, cq_error *error);

#endif
