/** @file Mining parallel sentences (bitext mining): scores pairs of nearest neighbors by margin, chooses pairs, and
 * tunes a threshold on labeled data.
 *
 *      cq_neighbors of_x, of_y;                                        // calque/nearest.h
 *      cq_nearest(&of_x, &of_y, x, n_x, y, n_y, dim, NULL, ctx, &err);
 *      cq_mined_pair *pairs;
 *      size_t n;
 *      cq_margin_pairs(&pairs, &n, &of_x, &of_y, NULL, &err);           // best first
 *      cq_free(pairs);
 *
 * cq_mine() does all of it on two files. @source Artetxe & Schwenk 2019, sections 3 and 4.
 *
 * @threads Calls are independent of one another; a cq_mining may be read by any number of threads at once. */
#ifndef CALQUE_MINE_H
#define CALQUE_MINE_H

#include "calque/eval.h"
#include "calque/nearest.h"
#include "calque/precision.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a pair is scored from its cosine a, and b, the mean cosine of its two rows to their k nearest neighbors. */
typedef enum cq_margin {
  CQ_MARGIN_RATIO,    /**< a / b (equation 2); b is at least 0.05; 0 where b is 0 */
  CQ_MARGIN_DISTANCE, /**< a - b */
  CQ_MARGIN_ABSOLUTE, /**< a: plain cosine */
} cq_margin;

/** Which pairs are candidates. */
typedef enum cq_retrieval {
  CQ_RETRIEVE_FORWARD,   /**< each source's best target */
  CQ_RETRIEVE_BACKWARD,  /**< each target's best source */
  CQ_RETRIEVE_INTERSECT, /**< pairs that are each other's best */
  CQ_RETRIEVE_MAX,       /**< both sides' best, taken greedily by score; no row is in two pairs */
} cq_retrieval;

typedef struct cq_mined_pair {
  uint32_t source, target; /**< rows */
  double score, cosine;
} cq_mined_pair;

typedef struct cq_margin_options {
  size_t size;
  cq_margin margin;
  cq_retrieval retrieval;
  size_t n_candidates; /**< forward and backward: top candidates of each row */
  double threshold;    /**< minimum score */
  double min_cosine;   /**< minimum cosine, applied after all pairs are chosen */
} cq_margin_options;
/** Ratio, max, 1, none, none: group "margin". */
CQ_DEFAULT_OPTIONS(cq_margin_options, cq_margin_default_options, margin)

/** Scores candidates from both sides' neighbors and chooses pairs, best first (then by source, then by target).
 * @param out      released with cq_free(); NULL when there are none
 * @param options  NULL for the defaults
 * @errors CQ_ERR_ARGUMENT when the neighbors come from different searches; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_margin_pairs(cq_mined_pair **out, size_t *n, const cq_neighbors *of_source,
                                             const cq_neighbors *of_target, const cq_margin_options *options,
                                             cq_error *error);

/** Pairs within one matrix (cq_nearest_within()): paraphrases. A pair is returned once, with its lower row as the
 * source; forward and backward give each row's best, max is greedy with no row in two pairs. @errors As above. */
CQ_API CQ_MUST_USE cq_status cq_margin_pairs_within(cq_mined_pair **out, size_t *n, const cq_neighbors *neighbors,
                                                    const cq_margin_options *options, cq_error *error);

/** Pairs within one side's text, best first: cq_margin_pairs_within() with the same options, but CQ_RETRIEVE_MAX
 * instead of CQ_RETRIEVE_FORWARD and CQ_RETRIEVE_BACKWARD, so that no row is in two pairs. */
typedef struct cq_decoys {
  const cq_mined_pair *pairs; /**< [n] */
  size_t n, n_rows;           /**< n_rows: of the side */
} cq_decoys;

/** Estimates, without a gold standard, for each pair the share of translations among the pairs with at least its score.
 * Pairs within a text are not translations, and score like false pairs between texts (target-decoy estimate: Elias &
 * Gygi 2007; src/search/precision.c has the formula). The estimate is too low for a text with many paraphrases.
 * @param precision  [n] from 0 to 1, never increasing
 * @param pairs      [n] from cq_margin_pairs, best first
 * @param decoys     for source and target */
CQ_API void cq_margin_precision(double *precision, const cq_mined_pair *pairs, size_t n, const cq_decoys decoys[2]);

/** @name On files */

/** Pairs to drop even with high scores. */
enum {
  CQ_DROP_COPIES = 1,  /**< the same letters on both sides */
  CQ_DROP_NUMBERS = 2, /**< digits of one side that the other lacks */
  CQ_DROP_LINKS = 4,   /**< a URL or an address on one side only, or little else on either side */
};

/** Receives the progress of a stage, "encode" or "search"; return false to stop (CQ_ERR_STOPPED). */
typedef bool (*cq_mine_progress_fn)(void *context, const char *what, uint64_t done, uint64_t n_all);

typedef struct cq_mine_options {
  size_t size;
  /** With a model, text files: each line is a sentence, or an id, a tab and a sentence; plain or compressed. Without
   * one, vectors: .npy, or raw f32 numbers. target NULL: pairs within source. */
  const char *source, *target;
  const char *model;           /**< NULL: source and target hold vectors */
  const char *cache_directory; /**< cache of the text's vectors; NULL: $XDG_CACHE_HOME/calque or ~/.cache/calque */
  size_t raw_dim;              /**< dimension of vectors in files of raw f32 numbers; otherwise 0 */
  size_t k;                    /**< neighbors that a margin is taken over */
  cq_first_pass first_pass;
  const cq_margin_options *margin; /**< NULL: the defaults */
  const char *gold;                /**< lines of source and target id: the threshold with maximum F1 on these is used */
  unsigned drop;                   /**< CQ_DROP_*: filters after scoring, of text only */
  bool skip_bad;                   /**< count malformed lines, and continue */
  cq_notice_fn notice;
  void *notice_context;
  cq_mine_progress_fn progress;
  void *progress_context;
  cq_precision precision; /**< of the model */
  /** Leaves out the pairs after which the estimated precision (cq_margin_precision()) is lower; 0: none. It takes two
   * more searches, one within each side. At 0, these are only for the report, and are skipped if they take more than 2
   * x 10^10 cosines. With a classifier, the precision is the mean probability, which needs no search */
  double min_precision;
  /** Divide encoding and searching (calque/ranks.h): rank 0 reads the files and has the pairs; the others only open the
   * model. NULL: only this process */
  cq_ranks *ranks;
  /** A classifier scores pairs by the probability that they are translations, instead of the margin: a logistic
   * regression on margin, cosine, lengths, digits, and how well the tokens of the two sentences match by the model's
   * token embeddings. Pairs are still chosen by margin; thresholds and min_precision apply to the probability, which is
   * calibrated for corpora of similar size and share of translations as the training data. For text in two files only.
   * @source Sanchez-Cartagena et al. 2018 (Bicleaner), with other features. */
  const char *learn_from;      /**< gold, as above: mined pairs that it contains are positive examples, all others
                                * negative */
  const char *classifier;      /**< a saved one, trained with the same margin */
  const char *save_classifier; /**< where to save the trained one (docs/formats.md) */
  unsigned leave_out;          /**< features not to use: bits, in the order of `calque mine --help` */
  bool compose;                /**< as in cq_encoder_options */
  /** Approximate nearest neighbors (IVF), for tens of millions of rows: a notice says the share of a sample of pairs
   * that is found. Cosines are exact */
  bool approximate;
  size_t effort; /**< lists that are searched for each row; 0: as many as 99 % of a sample of pairs need */
} cq_mine_options;
CQ_DEFAULT_OPTIONS(cq_mine_options, cq_mine_default_options, mine) /**< group "mine" */

typedef struct cq_mining cq_mining;
typedef enum cq_side { CQ_SOURCE, CQ_TARGET } cq_side;

/** Mines two files. Rows are distinct sentences: a repeated one counts once.
 * @errors Those of opening models and reading files (file and line); CQ_ERR_ARGUMENT for vectors of different
 * dimensions or with numbers that are not finite, an unknown id in gold (file and line), gold with none or all of the
 * mined pairs (learn_from), a classifier trained with another margin; CQ_ERR_FORMAT for a file that is not a
 * classifier; CQ_ERR_IO; CQ_ERR_STOPPED (vectors are kept in the cache). */
CQ_API CQ_MUST_USE cq_status cq_mine(cq_mining **out, const cq_mine_options *options, cq_context *ctx, cq_error *error);
CQ_API void cq_mining_free(cq_mining *mining);

/** The pairs, best first; borrowed. */
CQ_API const cq_mined_pair *cq_mining_pairs(size_t *n, const cq_mining *mining);
/** A row's sentence; data NULL when vectors were mined. */
CQ_API cq_slice cq_mining_sentence(const cq_mining *mining, cq_side side, uint32_t row);
/** The number of lines with a row's sentence, and the id of the i-th line; data NULL when lines have no ids. */
CQ_API size_t cq_mining_n_lines(const cq_mining *mining, cq_side side, uint32_t row);
CQ_API cq_slice cq_mining_id(const cq_mining *mining, cq_side side, uint32_t row, size_t i);
/** The point chosen on gold; all zero without gold. Borrowed. */
CQ_API const cq_f1_point *cq_mining_tuned(const cq_mining *mining);

/** How pairs are written. */
typedef enum cq_pair_format {
  CQ_PAIRS_TSV,   /**< score, source, target: ids if lines have them; row numbers for vectors */
  CQ_PAIRS_JSONL, /**< a line per pair: score, cosine, source, target, and source_id, target_id if lines have ids */
  CQ_PAIRS_TMX,   /**< a translation memory (TMX 1.4b) with the scores; only for sentences */
  CQ_PAIRS_MOSES, /**< two files whose n-th lines are translations of each other; only for sentences */
  CQ_PAIRS_XLIFF, /**< XLIFF 1.2 with the scores as notes; only for sentences */
  CQ_PAIRS_PO,    /**< a catalog of gettext with the scores as comments; only for sentences */
  CQ_PAIRS_CSV,   /**< score, source, target; only for sentences */
} cq_pair_format;

typedef struct cq_pair_writing {
  cq_pair_format format;
  bool with_text;                                /**< TSV: cosine and sentences after the three columns */
  const char *source_language, *target_language; /**< TMX, Moses, XLIFF, .po, CSV: codes */
} cq_pair_writing;

/** The format by a file's name: .jsonl, .tmx, .moses, .csv, .po, .xlf, .xliff, or TSV (.tsv, .txt, .pairs, no ending),
 * each also with .gz or .zst; path NULL: TSV. @errors CQ_ERR_ARGUMENT for all other names, such as .json and .xz. */
CQ_API CQ_MUST_USE cq_status cq_pair_format_of(cq_pair_format *out, const char *path, cq_error *error);
/** The file with a side's sentences: the path itself, except for Moses: news.en.gz and news.de.gz for news.moses.gz.
 * @errors CQ_ERR_ARGUMENT for a Moses path that does not end in .moses, for an invalid code, for equal codes, and for a
 * name longer than size. */
CQ_API CQ_MUST_USE cq_status cq_pair_path(char *out, size_t size, const char *path, cq_side side,
                                          const cq_pair_writing *how, cq_error *error);
/** Writes the pairs, compressed if the name ends in .gz or .zst; NULL or "-": standard output. Each file is written
 * atomically. @errors CQ_ERR_ARGUMENT for vectors in a format of sentences, and as for cq_pair_path(); CQ_ERR_IO;
 * CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_mining_write(const cq_mining *mining, const char *path, const cq_pair_writing *how,
                                             cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
