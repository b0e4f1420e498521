/* A language's writing rules: how its text is put into normal form, and which stemmers its words use. */
#ifndef TEXT_LANGUAGE_RULES_H
#define TEXT_LANGUAGE_RULES_H

#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

enum {
  CQ_APOSTROPHE_ENDS = 1, /* words end at an apostrophe */
  CQ_DOTLESS_I = 2,
  CQ_ARABIC_FORMS = 4,
  CQ_ALIKE_FORMS = 8, /* maps letters that are often written in place of others, in several languages */
  CQ_STEM_BY_SCRIPT = 16
};

typedef struct cq_language {
  const char *code, *stemmer; /* libstemmer's name; NULL: no stemmer, or one for each script */
  unsigned rules;
  uint32_t letter; /* one of the script that the stemmer takes; 0: Latin */
} cq_language;

/* The table: languages that have a stemmer or rules. */
extern const cq_language cq_languages[];
extern const size_t cq_n_languages;

cq_language cq_language_of(const char *code);

enum { CQ_LANGUAGE_CODE = 4 }; /* bytes, with the zero */
/* Reads a BCP 47 code (language, script and region): out is the language in lower case, without the others. "" means no
 * language; false: not a code. */
bool cq_language_code(char out[CQ_LANGUAGE_CODE], const char *text);

/* The stemmer of a language's words in a script; NULL: they are not stemmed. */
const char *cq_language_stemmer(cq_language language, int script);

/* out = text in NFKC and lower case, under a language's rules; scratch is a work buffer. */
void cq_language_normal_form(cq_builder *out, cq_builder *scratch, cq_slice text, unsigned rules);

#endif
