/* The model that finds ends of sentences: the file sentence.model, which is built into the library.
 * scripts/make-sentence-model writes it.
 *
 *   8 bytes "CQSENT1\n"; float scale; float thresholds[3], by cq_sentence_class
 *   codes        [CQ_SENTENCE_LANGUAGES][8]   in alphabetical order, padded with zeros
 *   slots        [CQ_SENTENCE_SLOTS]          a feature's slot is its hash's first bits
 *
 * A place where a sentence may end is blanks, or the end of a run of marks such as 。 that no blank has to follow. Its
 * features are hashes of what is around it: the mark, the words on both sides, how they are written, their first and
 * last letters, and how many words the sentence has so far; most of them for the language, some for all languages. A
 * feature whose slot has another tag weighs nothing. The score is scale * (sum of the weights); a sentence ends where it
 * exceeds the threshold, which is 2 higher at doubtful places. */
#ifndef TEXT_SENTENCE_MODEL_H
#define TEXT_SENTENCE_MODEL_H

#include "base/slice.h"

#include <stdint.h>

#define CQ_SENTENCE_MAGIC "CQSENT1\n"

enum {
  CQ_SENTENCE_LANGUAGES = 128,
  CQ_SENTENCE_BITS = 17,
  CQ_SENTENCE_SLOTS = 1 << CQ_SENTENCE_BITS,
  CQ_SENTENCE_FEATURES = 28
};

typedef struct cq_sentence_slot {
  uint8_t tag; /* of the hash's 8 bits after them */
  int8_t weight;
} cq_sentence_slot;

typedef struct cq_sentence_model {
  char magic[8];
  float scale, thresholds[3];
  char codes[CQ_SENTENCE_LANGUAGES][8];
  cq_sentence_slot slots[CQ_SENTENCE_SLOTS];
} cq_sentence_model;

/* Whether a final mark is before a place, or the script has no blanks between words (Thai, Lao, Burmese, Khmer). */
typedef enum cq_sentence_class { CQ_SENTENCE_MARKED, CQ_SENTENCE_UNMARKED, CQ_SENTENCE_NO_BLANKS } cq_sentence_class;

/* A place where a sentence may end. */
typedef struct cq_sentence_place {
  size_t end,
      next; /* the last byte before the blanks, and the first after them; equal: there are none, and the sentence ends */
  cq_sentence_class class;
  bool is_doubtful; /* within brackets, after what may be an ordinal number or a list's, and after "z. B." */
  size_t n_features;
  uint32_t features[CQ_SENTENCE_FEATURES];
} cq_sentence_place;

/* Start from {.text, .language}. Set begin to place.next when a sentence ends. */
typedef struct cq_sentence_scan {
  cq_slice text;
  int language;    /* index of its code; -1: none */
  size_t at;       /* how far it has looked */
  size_t begin;    /* of the sentence */
  size_t counted;  /* words counted up to here */
  size_t n_words;  /* of the sentence */
  size_t n_quotes; /* '"' in it */
  bool is_quoting; /* within '"', which may have opened in a sentence before */
  int depth;       /* open brackets in it */
} cq_sentence_scan;

/* The next place that is not the text's end; false: there are no more. */
bool cq_sentence_scan_next(cq_sentence_place *out, cq_sentence_scan *scan);

static inline uint32_t cq_sentence_slot_of(uint32_t feature) {
  return feature >> (32 - CQ_SENTENCE_BITS);
}

static inline uint8_t cq_sentence_tag(uint32_t feature) {
  return (uint8_t)(feature >> (24 - CQ_SENTENCE_BITS));
}

static inline bool cq_sentence_ends(const cq_sentence_model *m, const cq_sentence_place *p) {
  int32_t sum = 0;
  for (size_t i = 0; i < p->n_features; i++) {
    const cq_sentence_slot *slot = &m->slots[cq_sentence_slot_of(p->features[i])];
    if (slot->tag == cq_sentence_tag(p->features[i])) sum += slot->weight;
  }
  return m->scale * (float)sum > m->thresholds[p->class] + (p->is_doubtful ? 2 : 0);
}

extern const cq_sentence_model cq_sentence_model_built_in __attribute__((visibility("hidden")));

/* The index of a language's code, without a region; -1: unknown. */
int cq_sentence_language(const cq_sentence_model *model, const char *language);

#endif
