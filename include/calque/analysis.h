/** @file Text analysis: splits text into the terms that are counted, indexed or embedded.
 *
 *      cq_analysis_options o = cq_analysis_default_options();
 *      o.language = "de";
 *      cq_analyze(&terms, &n, text, &o, &err);
 *      cq_free(terms);
 *
 * - normalization: NFKC, lower case, digits of all scripts as 0 to 9; joiners and marks are kept, so that Hindi and
 *   Bangla words stay whole
 * - words: split at the word boundaries of Unicode (UAX 29); in scripts without spaces (Chinese, Japanese, Thai, Lao,
 *   Khmer, Burmese), by ICU's dictionaries
 * - stop words: removed before stemming, if a file of them is given. Its entries are analyzed like text: `don't` is one
 *   word, `'ll` is `ll`. An entry of several words (`celui-ci`, `no-one`) is removed if they are adjacent in the text
 *   without a blank
 * - stems: Snowball's, for the languages that have a stemmer
 *
 * Rules by language: Arabic loses tatweel and vowel signs, and interchangeable spellings of alif, ya and ta marbuta
 * become one; French, Italian and Catalan words end at an apostrophe (`l'eau` is two words); Turkish and Azerbaijani I
 * becomes dotless. "mul" is text in several languages: words have the stemmer of their script (Latin as English,
 * Cyrillic as Russian, Arabic, Devanagari as Hindi, Greek, Armenian, Tamil), sharp s is ss, and words end at an
 * apostrophe.
 *
 * @threads cq_analyze() may be called by any number of threads at once; a cq_terms belongs to one thread at a time. */
#ifndef CALQUE_ANALYSIS_H
#define CALQUE_ANALYSIS_H

#include "calque/options.h"
#include "calque/slice.h"
#include "calque/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A language is the shortest BCP 47 code, of 2 or 3 letters: "en", not "eng". Case does not matter, and a script or a
 * region after it is ignored: "pt-BR" is "pt". A language without rules here is valid; "english", which is not a code,
 * is an error. */
typedef struct cq_analysis_options {
  size_t size;
  const char *language;   /**< "mul": several; NULL: none, so no stemming */
  const char *stop_words; /**< a file; `#` and `|` start a comment; NULL: none */
  bool no_stems;          /**< do not stem, even if the language has a stemmer */
} cq_analysis_options;
CQ_DEFAULT_OPTIONS(cq_analysis_options, cq_analysis_default_options, analysis) /**< group "analysis" */

/** The terms of a text, in order: `*out` [n], released with cq_free().
 * @errors CQ_ERR_ARGUMENT for an invalid language code; CQ_ERR_FORMAT for a file of stop words that is not text, or a
 * stop word of more than 16 words; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_analyze(cq_slice **out, size_t *n, cq_slice text, const cq_analysis_options *options,
                                        cq_error *error);

/** The same for many texts: each distinct word is analyzed once. */
typedef struct cq_terms cq_terms;
CQ_API CQ_MUST_USE cq_status cq_terms_open(cq_terms **out, const cq_analysis_options *options, cq_error *error);
CQ_API void cq_terms_free(cq_terms *terms);
/** The terms of a text: `*out` [n], borrowed until the next call. @errors CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_terms_of(const cq_slice **out, size_t *n, cq_terms *terms, cq_slice text,
                                         cq_error *error);

/** Whether a language has a stemmer. */
CQ_API bool cq_has_stemmer(const char *language);

#ifdef __cplusplus
}
#endif
#endif
