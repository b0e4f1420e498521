/* Language identification: the languages that a text may be in, and the languages that tags name. See identify.h. */
#include "calque/language.h"

#include "text/identify.h"
#include "text/language_codes.h"
#include "text/language_model.h"
#include "text/ngrams.h"
#include "text/script.h"

#include <math.h>
#include <string.h>

#define LEAST_PROBABILITY 0.5

static const cq_language_guess undetermined = {"und", 0};

static bool find_script(cq_language_view *out, int script) {
  *out = (cq_language_view){0};
  while (cq_language_next(out))
    if ((int)out->head.script == script) return true;
  return false;
}

/* Sums the weights by language; returns the number of n-grams that the model has. */
static size_t add_weights(int64_t sums[CQ_LANGUAGES_MAX], const cq_language_view *v, cq_slice text) {
  cq_ngram_words words = {.text = text, .script = (int)v->head.script};
  uint32_t hashes[CQ_NGRAM_HASHES];
  size_t n_found = 0;
  while (cq_ngram_next(&words)) {
    const size_t n_hashes = cq_ngram_hashes(hashes, &words);
    for (size_t i = 0; i < n_hashes; i++) __builtin_prefetch(cq_language_start(v, hashes[i]));
    for (size_t i = 0; i < n_hashes; i++) __builtin_prefetch(v->ngrams + *cq_language_start(v, hashes[i]));
    for (size_t i = 0; i < n_hashes; i++) {
      const cq_language_weight *weights;
      const size_t n = cq_language_weights(&weights, v, hashes[i]);
      for (size_t k = 0; k < n; k++) sums[weights[k].language] += weights[k].weight;
      n_found += n > 0;
    }
  }
  return n_found;
}

cq_language_guess cq_language_identify(cq_slice text) {
  cq_language_view v;
  int64_t sums[CQ_LANGUAGES_MAX] = {0};
  double scores[CQ_LANGUAGES_MAX], total = 0;
  size_t best = 0;
  const int script = cq_ngram_script(text);
  if (script == CQ_SCRIPT_NONE || !find_script(&v, script)) return undetermined;
  if (v.head.n_languages == 1) return (cq_language_guess){v.codes[0], 1};
  const size_t n = add_weights(sums, &v, text);
  const double scale = (double)v.head.scale / sqrt(n ? (double)n : 1);
  for (size_t l = 0; l < v.head.n_languages; l++) {
    scores[l] = (double)v.bias[l] + scale * (double)sums[l];
    if (scores[l] > scores[best]) best = l;
  }
  for (size_t l = 0; l < v.head.n_languages; l++)
    if (scores[l] > scores[best] - 20) total += exp(scores[l] - scores[best]);
  return 1 / total < LEAST_PROBABILITY ? undetermined : (cq_language_guess){v.codes[best], 1 / total};
}

/* Finds each next code by comparing all of them: there are few, so no sorted order is kept. */
const char *cq_language_known(size_t index) {
  const char *last = "";
  for (;; index--) {
    const char *next = NULL;
    cq_language_view v = {0};
    while (cq_language_next(&v))
      for (size_t l = 0; l < v.head.n_languages; l++)
        if (strcmp(v.codes[l], last) > 0 && (!next || strcmp(v.codes[l], next) < 0)) next = v.codes[l];
    if (!next || !index) return next;
    last = next;
  }
}

const char *cq_language_known_as(const char *tag) {
  char codes[CQ_LANGUAGE_CODES][CQ_LANGUAGE_LETTERS];
  size_t n;
  if (!cq_language_codes(codes, &n, tag, strlen(tag))) return NULL;
  const char *code = !strcmp(codes[0], "no") ? "nb" : !strcmp(codes[0], "fil") ? "tl" : codes[0];
  cq_language_view v = {0};
  while (cq_language_next(&v))
    for (size_t l = 0; l < v.head.n_languages; l++)
      if (!strcmp(v.codes[l], code)) return v.codes[l];
  return NULL;
}
