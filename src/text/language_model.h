/* The language identification model: the file language.model, which is built into the library.
 * scripts/make-language-model writes it.
 *
 *   8 bytes "CQLANG1\n", uint32 number of scripts; then for each script, at a multiple of 4 bytes
 *
 *   header       cq_language_script
 *   codes        [n_languages][8]              padded with zeros
 *   bias         [n_languages] float
 *   starts       [2^bits + 1] uint32           n-grams whose hash begins with these bits
 *   tags         [n_ngrams] uint16             the hash's last 16 bits
 *   weights      [n_ngrams][n_languages] int8
 *
 * The score of a language is  bias + scale * (sum of the weights of the text's n-grams) / sqrt(number of them)  over
 * the n-grams that the model has; the probabilities are the softmax of the scores. Numbers are little-endian. */
#ifndef TEXT_LANGUAGE_MODEL_H
#define TEXT_LANGUAGE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CQ_LANGUAGE_MAGIC "CQLANG1\n"

enum { CQ_LANGUAGE_CODE = 8, CQ_LANGUAGES_MAX = 64 };

typedef struct cq_language_script {
  uint32_t script; /* of text/script.h */
  uint32_t n_languages;
  uint32_t n_ngrams; /* 0: there is one language */
  uint32_t bits;
  float scale;
} cq_language_script;

/* A script's part, borrowed. */
typedef struct cq_language_view {
  cq_language_script head;
  const char (*codes)[CQ_LANGUAGE_CODE];
  const float *bias;
  const uint32_t *starts;
  const uint16_t *tags;
  const int8_t *weights;
} cq_language_view;

/* The part of the built-in model with this index; false: there are no more. */
bool cq_language_view_at(cq_language_view *out, size_t index);

/* A row of weights; NULL: the model does not have that n-gram. */
static inline const int8_t *cq_language_weights(const cq_language_view *v, uint32_t hash) {
  const uint32_t bucket = (uint32_t)((uint64_t)hash << v->head.bits >> 32);
  for (uint32_t i = v->starts[bucket]; i < v->starts[bucket + 1]; i++)
    if (v->tags[i] == (uint16_t)hash) return v->weights + (size_t)i * v->head.n_languages;
  return NULL;
}

#endif
