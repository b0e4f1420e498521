/* The forms under which an index of many languages has a word, so that "Rents" is found by "rent", and café by cafe.
 *
 *   Häuser, of a German document ──▶ häuser   the exact form: NFKC, case folding, no invisible characters
 *                                    haus/de  the key: its stem, without accents, and the language that stemmed it
 *
 *   a query: Haus, of any language ─▶ haus    and its key in every language of the script: haus/de, haus/en, haus/fr ...
 *
 * A document in a language is found by that language's stems, whatever the query's language is. The exact form has a
 * share of the word's weight, so that a document with it comes first. The stem of the word without accents is another
 * key if it differs: été is été and ete. A word in a script of another language than the document's, or of an unknown
 * language, gets the stem of its script (language_rules.h: Latin as English). Korean nouns lose their particles.
 * Words of scripts without a stemmer (Chinese, Thai, Hebrew) and numbers have the exact form alone. */
#ifndef TEXT_WORD_FORMS_H
#define TEXT_WORD_FORMS_H

#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>

enum {
  CQ_ANY_LANGUAGE,     /* a query's */
  CQ_UNKNOWN_LANGUAGE, /* a document's */
  CQ_N_WORD_LANGUAGES = 64,
  CQ_MAX_WORD_FORMS = 1 + 2 * CQ_N_WORD_LANGUAGES
};

typedef struct cq_word_form {
  cq_slice term;
  double share; /* of the word's weight in a query */
} cq_word_form;

typedef struct cq_word_forms cq_word_forms;

/* For one thread. NULL: out of memory. */
cq_word_forms *cq_word_forms_open(void);
void cq_word_forms_free(cq_word_forms *forms);

/* The number of a document's language, below CQ_N_WORD_LANGUAGES, by its code (BCP 47, or none). */
int cq_word_language(cq_slice code);
/* The forms of a word in the normal form of language "mul", the exact one first: *out [*n], valid until the next call.
 * False: out of memory, or a stemmer that this libstemmer lacks. */
bool cq_word_forms_of(const cq_word_form **out, size_t *n, cq_word_forms *forms, cq_slice word, int language);

#endif
