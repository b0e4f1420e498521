/* What is done to text before its words are counted, indexed or embedded.
 *
 *   normal form     NFKC, lower case, digits of all scripts as 0 to 9; joiners and marks stay, so that Hindi and Bangla words stay
 *                   whole
 *   words           between the word boundaries of Unicode (UAX 29); where a script has no spaces (Chinese, Japanese, Thai, Lao,
 *                   Khmer, Burmese) by ICU's dictionaries
 *   stop words      left out, when a file of them is given, before stems are taken. What stands between blanks there is
 *                   taken as text is: don't is a word, 'll is ll. If it is several (celui-ci, no-one), these are left
 *                   out where they follow one another and no blank is between them
 *   stems           Snowball's, for the languages that have a stemmer
 *
 * By language, besides: Arabic loses tatweel and vowel signs, and forms of alif, ya and ta marbuta that are written
 * indifferently become one; French, Italian and Catalan words end at an apostrophe (l'eau is two words); Turkish and
 * Azerbaijani I becomes dotless. */
#ifndef CALQUE_ANALYSIS_H
#define CALQUE_ANALYSIS_H

#include "calque/slice.h"
#include "calque/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A language is BCP 47's code of 2 or 3 letters, the shortest there is: "en", not "eng". Upper and lower case are one,
 * and a script or a region behind it is left out: "pt-BR" is "pt". A language without rules here is fine; what is no
 * code, as "english", is an error. */
typedef struct cq_analysis_options {
  const char *language;   /* a code as "de"; NULL: none, so no stems */
  const char *stop_words; /* a file; # and | begin a remark; NULL: none */
  bool no_stems;          /* though the language has a stemmer */
} cq_analysis_options;

/* The terms of a text, in order: *out[n], released with cq_free().
 * Errors: CQ_ERR_ARGUMENT for what is no code of a language; CQ_ERR_FORMAT for a file of stop words that
 * is no text, or a stop word of more than 16 words; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_analyze(cq_slice **out, size_t *n, cq_slice text, const cq_analysis_options *options,
                                        cq_error *error);

/* The same for many texts: what each different word gives is worked out once. A handle belongs to one thread. */
typedef struct cq_terms cq_terms;
CQ_API CQ_MUST_USE cq_status cq_terms_open(cq_terms **out, const cq_analysis_options *options, cq_error *error);
CQ_API void cq_terms_free(cq_terms *terms);
/* *out[n], borrowed until the next call. Errors: CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_terms_of(const cq_slice **out, size_t *n, cq_terms *terms, cq_slice text,
                                         cq_error *error);

/* Whether a language has a stemmer. */
CQ_API bool cq_has_stemmer(const char *language);

#ifdef __cplusplus
}
#endif
#endif
