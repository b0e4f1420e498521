/* The language identification model: the file language.model, which is built into the library.
 * scripts/make-language-model writes it.
 *
 *   8 bytes "CQLANG2\n", uint32 number of scripts; then each script's part, at a multiple of 4 bytes, those of many
 *   languages first:
 *
 *   header       cq_language_script
 *   codes        [n_languages][8]       padded with zeros
 *   bias         [n_languages] float    the more the more text of the language there is
 *   starts       [2^bits + 1] uint32    the first byte of the n-grams whose hash begins with these bits
 *   n-grams      [n_bytes]              the hash's last 16 bits, the number of weights; a language and an int8 for each
 *
 * A language that an n-gram does not list has the weight 0. The score of a language is  bias + scale * (sum of the
 * weights of the text's n-grams) / sqrt(number of them)  over the n-grams that the model has; the probabilities are the
 * softmax of the scores. Numbers are little-endian. */
#ifndef TEXT_LANGUAGE_MODEL_H
#define TEXT_LANGUAGE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CQ_LANGUAGE_MAGIC "CQLANG2\n"

enum { CQ_LANGUAGE_CODE = 8, CQ_LANGUAGES_MAX = 256 };

typedef struct cq_language_script {
  uint32_t script; /* of text/script.h */
  uint32_t n_languages;
  uint32_t n_bytes; /* of n-grams, padded; 0: there is one language */
  uint32_t bits;
  float scale;
} cq_language_script;

/* A language's weight of an n-gram. */
typedef struct cq_language_weight {
  uint8_t language;
  int8_t weight;
} cq_language_weight;

/* A script's part, borrowed; zeros before the first. */
typedef struct cq_language_view {
  cq_language_script head;
  const char (*codes)[CQ_LANGUAGE_CODE];
  const float *bias;
  const uint32_t *starts;
  const uint8_t *ngrams;
  size_t index;
  const char *end;
} cq_language_view;

/* The built-in model's next part; false: there are no more. */
bool cq_language_next(cq_language_view *view);

/* Where the n-grams of a hash's bucket start; those of the next one follow. */
static inline const uint32_t *cq_language_start(const cq_language_view *v, uint32_t hash) {
  return v->starts + ((uint64_t)hash << v->head.bits >> 32);
}

/* An n-gram's weights; returns how many. 0: the model does not have that n-gram. */
static inline size_t cq_language_weights(const cq_language_weight **out, const cq_language_view *v, uint32_t hash) {
  const uint32_t *start = cq_language_start(v, hash);
  const uint8_t *at = v->ngrams + start[0], *end = v->ngrams + start[1];
  for (; at < end; at += 3 + at[2] * sizeof **out)
    if (at[0] == (uint8_t)hash && at[1] == (uint8_t)(hash >> 8)) return *out = (const void *)(at + 3), at[2];
  return 0;
}

#endif
