/* An entry of a bilingual dictionary: headwords and translations; each combination is a row.
 *
 *   cq_entry_begin(&e);
 *   cq_entry_add_heads(&e, "color /ˈkʌlə/, color /ˈkʌlɚ/ <n>");      // color | color
 *   cq_entry_add_translations(&e, "Farbe <fem>, Farbton {m}");        // Farbe | Farbton
 *   cq_entry_next(&row, &e);                                          // color, Farbe; then color, Farbton; ...
 *
 * Notes in any brackets are left out. */
#ifndef CORPUS_ENTRY_H
#define CORPUS_ENTRY_H

#include "corpus/format.h"

typedef struct cq_words_list {
  cq_builder text;
  size_t *ends; /* [n] in text */
  size_t n, capacity;
} cq_words_list;

typedef struct cq_dictionary_entry {
  cq_words_list heads, translations;
  cq_builder scratch;
  size_t next;
  bool failed; /* out of memory */
} cq_dictionary_entry;

void cq_entry_begin(cq_dictionary_entry *e);
/* Variants, each followed by its pronunciation between slashes. Only a comma after a pronunciation separates them,
 * since headwords may contain commas. */
void cq_entry_add_heads(cq_dictionary_entry *e, cq_slice text);
/* Splits at commas and semicolons of any script outside brackets. Returns the number of translations. */
size_t cq_entry_add_translations(cq_dictionary_entry *e, cq_slice text);
/* Either as a whole. */
void cq_entry_add_head(cq_dictionary_entry *e, cq_slice text);
void cq_entry_add_translation(cq_dictionary_entry *e, cq_slice text);
/* The next row, valid until the entry changes; false when there is none. swapped: the translation comes first. */
bool cq_entry_next(cq_row *out, cq_dictionary_entry *e, bool swapped);
void cq_entry_free(cq_dictionary_entry *e);

/* Parses --columns for dictionary formats: none, 1,2 or 2,1. */
CQ_MUST_USE cq_status cq_entry_order(bool *swapped, const cq_corpus_convert_options *o, cq_error *error);

#endif
