/** @file Language identification: finds the language of a text by its letters.
 *
 *      cq_language_guess guess = cq_language_identify(text);
 *      printf("%s %.2f\n", guess.code, guess.probability);   // "de 0.99"; "und 0.00" for "12:30"
 *
 * A text's script is the one with the most bytes among its letters; other scripts are ignored. If only one known
 * language has that script (Greek, Hebrew, Thai), it is the result. Otherwise, a logistic regression on n-grams of 1 to
 * 5 characters and on words decides; its weights are built into the library. A text in an unknown language is
 * identified as the most similar known one.
 *
 * The known languages:
 *
 *     ach af am an ar as ast az ba be bg bn bo br brx bs ca cak ccp ce chr ckb cs cy da de diq dsb dv dz ee
 *     el en eo es et eu fa ff fi fo fr fur fy ga gd gl gn gsw gu ha he hi hr hsb ht hu hy ia id ig ii io is
 *     it iu ja jv ka kab kgp kk kl km kn ko kok krc ks ksh ku ky lb lij lmo lo lt lv mi mk ml mn mni mr ms mt
 *     my mzn nb nds ne nl nn nqo nr nso ny oc om or os pa pl ps pt qu rm ro rsk ru rw sah sat sc sd se shi si
 *     sk skr sl smn so son sq sr ss st sv sw szl ta te tet tg th ti tk tl tly tn to tr trs ts tt ug uk ur uz
 *     vai ve vi wo xh yi yo yrl yue zgh zh zu
 *
 * Each has one script. Serbian (sr) is Cyrillic: in Latin letters it is identified as Croatian (hr) or Bosnian (bs).
 * Kurmanji (ku), Azerbaijani, and Uzbek are Latin; Kazakh, Kyrgyz, Tatar, and Mongolian are Cyrillic. Norwegian is
 * Bokmål (nb) or Nynorsk (nn). Chinese (zh), simplified or traditional, is one language; Cantonese is yue. Close
 * languages are confused: Bosnian with Croatian, Malay with Indonesian, Nynorsk with Bokmål, Zulu with Xhosa.
 *
 * @threads Any number. Time is linear in the text's length; there are no allocations, and the result is
 * deterministic. */
#ifndef CALQUE_LANGUAGE_H
#define CALQUE_LANGUAGE_H

#include "calque/slice.h"
#include "calque/status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_language_guess {
  const char *code;   /**< BCP 47, as "de"; "und": undetermined */
  double probability; /**< among the known languages; 0 for "und" */
} cq_language_guess;

/** The language of a text. "und" for a text without letters, in a script of no known language, or whose best language
 * has a probability below 0.5. Bytes that are not UTF-8 separate words. */
CQ_API cq_language_guess cq_language_identify(cq_slice text);

/** The codes of the known languages, in alphabetical order; NULL for an index past the last one. */
CQ_API const char *cq_language_known(size_t index);

#ifdef __cplusplus
}
#endif
#endif
