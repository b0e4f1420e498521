/** @file Evaluates machine translation against reference translations: BLEU, chrF and METEOR.
 *
 *      cq_mt_texts *texts;
 *      cq_bleu_result bleu;
 *      cq_mt_read(&texts, "output.de", (const char *[]){"reference.de"}, 1, &err);
 *      cq_bleu(&bleu, NULL, texts, NULL, &err);
 *      printf("BLEU %.2f\n", bleu.score);
 *
 * All scores are from 0 to 100. BLEU and chrF are sacreBLEU's (2.6), including signatures, but with calque's version.
 * Text must be detokenized. An empty hypothesis or reference is a sentence without words: it matches nothing, and its
 * length counts. Scores are deterministic.
 *
 * @threads Calls are independent of one another; a cq_mt_texts may be read by any number of threads at once. */
#ifndef CALQUE_LAB_MT_H
#define CALQUE_LAB_MT_H

#include "calque/options.h"
#include "calque/slice.h"
#include "calque/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Hypothesis i is a translation, `references[r][i]` are references. UTF-8; malformed bytes are read as U+FFFD. */
typedef struct cq_mt_texts {
  const cq_slice *hypotheses;        /**< [n] */
  const cq_slice *const *references; /**< [n_references][n] */
  size_t n, n_references;
} cq_mt_texts;

/** Reads texts from files, one sentence per line, plain or compressed; one of them may be "-". Empty lines are
 * sentences. @errors CQ_ERR_FORMAT with file and line for invalid UTF-8, a NUL byte, and the first extra or missing
 * line; CQ_ERR_ARGUMENT for empty files, or no references; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_mt_read(cq_mt_texts **out, const char *hypotheses, const char *const *references,
                                        size_t n_references, cq_error *error);
CQ_API void cq_mt_free(cq_mt_texts *texts); /**< of cq_mt_read */

/** How text is split into words. */
typedef enum cq_mt_tokens {
  CQ_MT_13A,  /**< mteval-v13a's: splits off ASCII punctuation, except within numbers; decodes some HTML entities */
  CQ_MT_INTL, /**< mteval-v14's: splits off punctuation and symbols of all scripts, except within numbers */
  CQ_MT_ZH,   /**< splits off every Chinese character and full-width sign; the rest by v13a's rules */
  CQ_MT_CHAR, /**< every character */
  CQ_MT_NONE, /**< white space alone */
} cq_mt_tokens;

enum { CQ_MT_SIGNATURE = 160 }; /**< bytes of a signature, at most */

/** @name BLEU */

typedef enum cq_bleu_smoothing {
  CQ_BLEU_EXP,   /**< the k-th order without a match counts as 1 / 2^k matches */
  CQ_BLEU_FLOOR, /**< orders without a match count as smooth_value matches (default 0.1) */
  CQ_BLEU_ADD_K, /**< adds smooth_value (default 1) to matches and n-grams from order 2 on */
  CQ_BLEU_UNSMOOTHED,
} cq_bleu_smoothing;

enum { CQ_BLEU_ORDER = 4 };

typedef struct cq_bleu_options {
  size_t size;
  cq_mt_tokens tokens;
  bool lowercase;
  cq_bleu_smoothing smoothing;
  double smooth_value;  /**< below 0: the smoothing's own */
  bool effective_order; /**< use only orders with n-grams in the hypotheses: for single sentences */
} cq_bleu_options;
CQ_DEFAULT_OPTIONS(cq_bleu_options, cq_bleu_default_options, bleu) /**< 13a, exp: group "bleu" */

typedef struct cq_bleu_result {
  double score;
  double precisions[CQ_BLEU_ORDER]; /**< x 100, smoothed */
  double brevity_penalty;
  size_t n_correct[CQ_BLEU_ORDER], n_total[CQ_BLEU_ORDER]; /**< n-grams */
  size_t n_hypothesis_words, n_reference_words;            /**< reference: nearest in length, then shorter */
} cq_bleu_result;

/** BLEU of a corpus: the geometric mean of n-gram precisions to order 4, each n-gram clipped to its maximum count in a
 * reference, times a penalty for being shorter than the references. 0 when nothing matches.
 * @param sentences  [n] BLEU of each sentence, with effective order and the same smoothing; NULL: not needed
 * @param options    NULL for the defaults
 * @errors CQ_ERR_ARGUMENT for no sentences, no references or options out of range; CQ_ERR_MEMORY.
 * @source Papineni et al. 2002; smoothing: Chen & Cherry 2014, methods 1 to 3; details as in sacreBLEU (Post 2018). */
CQ_API CQ_MUST_USE cq_status cq_bleu(cq_bleu_result *out, double *sentences, const cq_mt_texts *texts,
                                     const cq_bleu_options *options, cq_error *error);
/** "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:calque-0.1.0" */
CQ_API CQ_MUST_USE cq_status cq_bleu_signature(char out[CQ_MT_SIGNATURE], const cq_bleu_options *options,
                                               size_t n_references, cq_error *error);

/** @name chrF */

typedef struct cq_chrf_options {
  size_t size;
  int char_order; /**< 1 to 16 */
  int word_order; /**< 0 to 16; 2: chrF++ */
  double beta;    /**< above 0: recall has beta^2 times the weight of precision */
  bool lowercase;
  bool whitespace; /**< blanks are characters, too */
} cq_chrf_options;
CQ_DEFAULT_OPTIONS(cq_chrf_options, cq_chrf_default_options, chrf) /**< 6, 0, 2: group "chrf" */

/** chrF of a corpus: F of the mean precision and the mean recall of n-grams of characters and of words, with ASCII
 * punctuation split off at one end, over the orders that both sides have. Each sentence counts with its best reference.
 * @param sentences  [n] chrF of each sentence; NULL: not needed
 * @errors CQ_ERR_ARGUMENT for no sentences, no references or options out of range; CQ_ERR_MEMORY.
 * @source Popović 2015, 2017; details as in sacreBLEU, without its eps smoothing. */
CQ_API CQ_MUST_USE cq_status cq_chrf(double *out, double *sentences, const cq_mt_texts *texts,
                                     const cq_chrf_options *options, cq_error *error);
/** "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:calque-0.1.0" */
CQ_API CQ_MUST_USE cq_status cq_chrf_signature(char out[CQ_MT_SIGNATURE], const cq_chrf_options *options,
                                               size_t n_references, cq_error *error);

/** @name METEOR */

typedef struct cq_meteor_options {
  size_t size;
  double alpha, beta, gamma;
  cq_mt_tokens tokens;
  /** A code as "de", whose stems match; NULL, or a language without a stemmer (cq_has_stemmer()): no stems */
  const char *language;
  /** A file; NULL: none. A line is a set of words between tabs; empty lines and those that begin with `#` are ignored.
   * A word may be in several sets, and is compared by its stem if there are stems */
  const char *synonyms;
} cq_meteor_options;
/** 0.9, 3, 0.5; 13a, no stems, no synonyms: group "meteor". */
CQ_DEFAULT_OPTIONS(cq_meteor_options, cq_meteor_default_options, meteor)

typedef struct cq_meteor_result {
  double score;                                    /**< of the corpus: from summed counts */
  double mean;                                     /**< of the sentences' scores; differs from `score` */
  double precision, recall, fragmentation_penalty; /**< of the corpus, fractions */
  size_t n_exact, n_stem, n_synonym;               /**< matched words, by kind */
  size_t n_chunks, n_hypothesis_words, n_reference_words;
  size_t n_approximate; /**< sentences too repetitive for the full search: fewer chunks may be possible */
} cq_meteor_result;

/** METEOR. Lowercase words are matched one to one with a reference's: as many equal ones as possible, then as many as
 * possible with the same stem (calque/analysis.h), then with a common set of synonyms; among these, in the fewest
 * chunks, which are adjacent on both sides. With precision P and recall R
 *
 *      score = P R / (alpha P + (1 - alpha) R) * (1 - gamma (chunks / matches)^beta)
 *
 * Each sentence counts with its best reference, the first on a tie. The corpus score is aggregated as in METEOR 1.5.
 * NLTK matches greedily, so it may find more chunks.
 * @param sentences  [n] METEOR of each sentence; NULL: not needed
 * @errors CQ_ERR_ARGUMENT for no sentences, no references, alpha or gamma outside [0, 1], beta below 0, or a
 * sentence of more than 10,000 words; CQ_ERR_FORMAT with the line for synonyms with one word, an empty word, a blank in
 * a word, or invalid UTF-8; CQ_ERR_IO, CQ_ERR_MEMORY.
 * @source Banerjee & Lavie 2005, whose parameters are the defaults (and NLTK's); Lavie & Agarwal 2007 for their names;
 * Denkowski & Lavie 2011 for fewest chunks. */
CQ_API CQ_MUST_USE cq_status cq_meteor(cq_meteor_result *out, double *sentences, const cq_mt_texts *texts,
                                       const cq_meteor_options *options, cq_error *error);
/** "nrefs:1|case:lc|tok:13a|stem:de|syn:no|alpha:0.9|beta:3|gamma:0.5|version:calque-0.1.0" */
CQ_API CQ_MUST_USE cq_status cq_meteor_signature(char out[CQ_MT_SIGNATURE], const cq_meteor_options *options,
                                                 size_t n_references, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
