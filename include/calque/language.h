/* Language identification: which language a text is in, told from its letters.
 *
 *   cq_language_guess guess = cq_language_identify(text);
 *   printf("%s %.2f\n", guess.code, guess.probability);   // "de 0.99"; "und 0.00" for "12:30"
 *
 * A text is of the script that most of its bytes of letters are in; what is in other scripts does not count. Where only
 * one known language has that script (Greek, Hebrew, Thai), it is the answer. Else a logistic regression on n-grams of
 * 1 to 5 characters and on words decides, which lies in the library. A text in a language that is not known is taken for
 * the one most like it.
 *
 * Threads: any number. Linear in the text's length, without allocations; the same text always gives the same answer. */
#ifndef CALQUE_LANGUAGE_H
#define CALQUE_LANGUAGE_H

#include "calque/slice.h"
#include "calque/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_language_guess {
  const char *code;   /* BCP 47, as "de"; "und": undetermined */
  double probability; /* among the known languages; 0 for "und" */
} cq_language_guess;

/* "und" for a text without letters, in a script of no known language, or whose best language has less than half of the
 * probability. Bytes that are not UTF-8 divide words. */
CQ_API cq_language_guess cq_language_identify(cq_slice text);

/* The codes of the known languages, alphabetically; NULL for an index past the last one. */
CQ_API const char *cq_language_known(size_t index);

#ifdef __cplusplus
}
#endif
#endif
