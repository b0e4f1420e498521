/* Machine translation against reference translations: BLEU, chrF and METEOR.
 *
 *   cq_mt_texts *texts;
 *   cq_bleu_result bleu;
 *   cq_mt_read(&texts, "output.de", (const char *[]){"reference.de"}, 1, &err);
 *   cq_bleu(&bleu, NULL, texts, NULL, &err);
 *   printf("BLEU %.2f\n", bleu.score);
 *
 * All scores are from 0 to 100. BLEU and chrF are sacreBLEU's (2.6), signatures included, but for the version, which is
 * calque's. Text is taken as it is, detokenized. An empty hypothesis or reference is a sentence without words: it
 * matches nothing and its length counts. Scores are deterministic.
 *
 * Threads: calls are independent of one another; a cq_mt_texts may be read by any number of threads at once. */
#ifndef CALQUE_LAB_MT_H
#define CALQUE_LAB_MT_H

#include "calque/options.h"
#include "calque/slice.h"
#include "calque/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Hypothesis i is a translation, references[r][i] are what people wrote. UTF-8; malformed bytes never crash, and are
 * read as U+FFFD. */
typedef struct cq_mt_texts {
  const cq_slice *hypotheses;        /* [n] */
  const cq_slice *const *references; /* [n_references][n] */
  size_t n, n_references;
} cq_mt_texts;

/* Reads them from files of a sentence a line, plain or compressed; one of them may be "-". Empty lines are sentences.
 * Errors: CQ_ERR_FORMAT with file and line for invalid UTF-8, a NUL byte, and the first line that a file has more or
 * less than the hypotheses; CQ_ERR_ARGUMENT for files without a line, or no references; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_mt_read(cq_mt_texts **out, const char *hypotheses, const char *const *references,
                                        size_t n_references, cq_error *error);
CQ_API void cq_mt_free(cq_mt_texts *texts); /* of cq_mt_read */

/* How text becomes words. */
typedef enum cq_mt_tokens {
  CQ_MT_13A,  /* mteval-v13a's: ASCII punctuation apart, but within numbers; &quot; &amp; &lt; &gt; read */
  CQ_MT_INTL, /* mteval-v14's: punctuation and symbols of all scripts apart, punctuation within numbers not */
  CQ_MT_ZH,   /* every Chinese character and full-width sign by itself, the rest by v13a's rules */
  CQ_MT_CHAR, /* every character */
  CQ_MT_NONE, /* what stands between white space */
} cq_mt_tokens;

enum { CQ_MT_SIGNATURE = 160 }; /* bytes of a signature, at most */

/* --- BLEU --- */

typedef enum cq_bleu_smoothing {
  CQ_BLEU_EXP,   /* the k-th order without a match counts 1 / 2^k of one */
  CQ_BLEU_FLOOR, /* orders without a match count smooth_value, else 0.1, of one */
  CQ_BLEU_ADD_K, /* smooth_value, else 1, added to matches and n-grams from order 2 on */
  CQ_BLEU_UNSMOOTHED,
} cq_bleu_smoothing;

enum { CQ_BLEU_ORDER = 4 };

typedef struct cq_bleu_options { /* group "bleu" */
  size_t size;
  cq_mt_tokens tokens;
  bool lowercase;
  cq_bleu_smoothing smoothing;
  double smooth_value;  /* below 0: the smoothing's own */
  bool effective_order; /* only orders of which the hypotheses have n-grams: for single sentences */
} cq_bleu_options;
CQ_DEFAULT_OPTIONS(cq_bleu_options, cq_bleu_default_options, bleu) /* 13a, exp */

typedef struct cq_bleu_result {
  double score;
  double precisions[CQ_BLEU_ORDER]; /* x 100, smoothed */
  double brevity_penalty;
  size_t n_correct[CQ_BLEU_ORDER], n_total[CQ_BLEU_ORDER]; /* n-grams */
  size_t n_hypothesis_words, n_reference_words;            /* of the reference nearest in length, the shorter of two */
} cq_bleu_result;

/* BLEU of a corpus: the geometric mean of n-gram precisions to order 4, each n-gram counted at most as often as one
 * reference has it, times a penalty for being shorter than the references. 0 when nothing matches.
 *   sentences   [n] BLEU of each sentence, effective order and the same smoothing; NULL: not wanted
 *   options     NULL for the defaults
 * Errors: CQ_ERR_ARGUMENT for no sentences, no references or options out of range; CQ_ERR_MEMORY.
 * Source: Papineni et al. 2002; smoothing Chen & Cherry 2014, methods 1 to 3; details as sacreBLEU (Post 2018). */
CQ_API CQ_MUST_USE cq_status cq_bleu(cq_bleu_result *out, double *sentences, const cq_mt_texts *texts,
                                     const cq_bleu_options *options, cq_error *error);
/* "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:calque-0.1.0" */
CQ_API CQ_MUST_USE cq_status cq_bleu_signature(char out[CQ_MT_SIGNATURE], const cq_bleu_options *options,
                                               size_t n_references, cq_error *error);

/* --- chrF --- */

typedef struct cq_chrf_options { /* group "chrf" */
  size_t size;
  int char_order; /* 1 to 16 */
  int word_order; /* 0 to 16; 2: chrF++ */
  double beta;    /* > 0: recall weighs beta^2 times as much as precision */
  bool lowercase;
  bool whitespace; /* blanks are characters, too */
} cq_chrf_options;
CQ_DEFAULT_OPTIONS(cq_chrf_options, cq_chrf_default_options, chrf) /* 6, 0, 2 */

/* chrF of a corpus: F of the mean precision and the mean recall of n-grams of characters and of words, whose ASCII
 * punctuation at one end is cut off, over the orders that both sides have. Of several references each sentence is
 * measured by the one whose score is best.
 *   sentences   [n] chrF of each sentence; NULL: not wanted
 * Errors: CQ_ERR_ARGUMENT for no sentences, no references or options out of range; CQ_ERR_MEMORY.
 * Source: Popović 2015, 2017; details as sacreBLEU, without its eps smoothing. */
CQ_API CQ_MUST_USE cq_status cq_chrf(double *out, double *sentences, const cq_mt_texts *texts,
                                     const cq_chrf_options *options, cq_error *error);
/* "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:calque-0.1.0" */
CQ_API CQ_MUST_USE cq_status cq_chrf_signature(char out[CQ_MT_SIGNATURE], const cq_chrf_options *options,
                                               size_t n_references, cq_error *error);

/* --- METEOR --- */

typedef struct cq_meteor_options { /* group "meteor" */
  size_t size;
  double alpha, beta, gamma;
  cq_mt_tokens tokens;
  const char *language; /* a code as "de", whose stems match; NULL: no stems */
  const char *synonyms; /* a file; NULL: none. A line has the words of one set, between tabs; lines that are empty or
                           begin with # say nothing. A word may be in several sets, and is compared by its stem where
                           there are stems */
} cq_meteor_options;
CQ_DEFAULT_OPTIONS(cq_meteor_options, cq_meteor_default_options, meteor) /* 0.9, 3, 0.5; 13a, no stems, no synonyms */

typedef struct cq_meteor_result {
  double score;                                    /* of the corpus: from the sums of all sentences' counts */
  double mean;                                     /* of the sentences' scores, another number than `score` */
  double precision, recall, fragmentation_penalty; /* of the corpus, fractions */
  size_t n_exact, n_stem, n_synonym;               /* matched words, by how */
  size_t n_chunks, n_hypothesis_words, n_reference_words;
  size_t n_approximate; /* sentences too repetitive for the search: they may have fewer chunks than were found */
} cq_meteor_result;

/* METEOR. Words, lower case, are matched one to one with a reference's: as many as possible that are equal, then of the
 * rest as many as possible that have the same stem (calque/analysis.h), then that share a set of synonyms; and of all
 * ways to do so one with the fewest chunks, runs that follow each other on both sides. With precision P and recall R
 *
 *   score = P R / (alpha P + (1 - alpha) R) * (1 - gamma (chunks / matches)^beta)
 *
 * Of several references each sentence is measured by the one whose score is best, the first of equals.
 *   sentences   [n] METEOR of each sentence; NULL: not wanted
 * Errors: CQ_ERR_ARGUMENT for no sentences, no references, alpha or gamma outside 0 to 1, beta below 0, or a language
 * without a stemmer, or a sentence of more than 10,000 words; CQ_ERR_FORMAT with the line for a line of synonyms with
 * one word, an empty word, a blank in a word, or no UTF-8; CQ_ERR_IO, CQ_ERR_MEMORY.
 * Source: Banerjee & Lavie 2005, whose parameters are the defaults (and NLTK's); Lavie & Agarwal 2007 for their names;
 * Denkowski & Lavie 2011 for fewest chunks.
 * The corpus score is aggregated as METEOR 1.5 does. NLTK matches greedily, so that it may find more chunks. */
CQ_API CQ_MUST_USE cq_status cq_meteor(cq_meteor_result *out, double *sentences, const cq_mt_texts *texts,
                                       const cq_meteor_options *options, cq_error *error);
/* "nrefs:1|case:lc|tok:13a|stem:de|syn:no|alpha:0.9|beta:3|gamma:0.5|version:calque-0.1.0" */
CQ_API CQ_MUST_USE cq_status cq_meteor_signature(char out[CQ_MT_SIGNATURE], const cq_meteor_options *options,
                                                 size_t n_references, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
