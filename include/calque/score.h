/** @file Scores parallel text: the probability that a row's two sides are translations of each other, and the reason
 * why they may not be.
 *
 *      cq_score_options o = cq_score_default_options();
 *      o.inputs = files, o.n_inputs = 1, o.model = CQ_DEFAULT_MODEL;
 *      cq_row_scores *s;
 *      cq_score(&s, &o, ctx, &err);
 *      cq_score_row row = cq_row_scores_row(s, 0);            // row.probability, row.reason
 *      cq_row_scores_write(s, "scored.tsv.gz", false, &err);
 *      cq_row_scores_free(s);
 *
 * No gold standard is needed: cosines are compared with those of shifted rows of the same file, lengths, languages and
 * word order with those of most rows. A small network weighs this evidence; how frequent each fault is, is estimated from
 * the file (expectation maximization: Saerens et al. 2002). A file of few rows says little about itself: then the usual
 * values are assumed, with a notice.
 *
 * @threads Calls are independent of one another; a cq_row_scores may be read by any number of threads at once. */
#ifndef CALQUE_SCORE_H
#define CALQUE_SCORE_H

#include "calque/context.h"
#include "calque/options.h"
#include "calque/precision.h"
#include "calque/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What is most likely wrong with a row. */
typedef enum cq_score_reason {
  CQ_SCORE_TRANSLATION,  /**< nothing: the sides are translations of each other */
  CQ_SCORE_UNRELATED,    /**< they have different meanings */
  CQ_SCORE_TRUNCATED,    /**< a side lacks a part of the other */
  CQ_SCORE_LANGUAGE,     /**< a side is in another language than that column */
  CQ_SCORE_NUMBERS,      /**< numbers differ */
  CQ_SCORE_NAMES,        /**< names differ */
  CQ_SCORE_UNTRANSLATED, /**< a part of a side is in the other side's language */
  CQ_SCORE_ORDER,        /**< words are in no order */
  CQ_SCORE_COPY,         /**< both sides are the same */
  CQ_SCORE_REPEATED,     /**< a text that has many different other sides */
  CQ_SCORE_EMPTY,        /**< a side is empty */
  CQ_N_SCORE_REASONS
} cq_score_reason;
/** "translation", "unrelated", "truncated", "language" ...; NULL for other numbers. */
CQ_API const char *cq_score_reason_name(cq_score_reason reason);

/** Receives the number of texts encoded, of n_all; return false to stop (CQ_ERR_STOPPED). */
typedef bool (*cq_score_progress_fn)(void *context, const char *what, uint64_t done, uint64_t n_all);

typedef struct cq_score_options {
  size_t size;
  const char *const *inputs; /**< one after the other, as for cq_corpus_filter(); rows are held in memory */
  size_t n_inputs;
  const char *model;
  const char *cache_directory;  /**< cache of the text's vectors; NULL: $XDG_CACHE_HOME/calque or ~/.cache/calque */
  cq_precision precision;       /**< of the model */
  bool compose;                 /**< as in cq_encoder_options */
  const char *const *languages; /**< codes of the two columns; none: the languages of most rows */
  size_t n_languages;
  /** Keep the rows with the highest probabilities, as many as have this mean; 0: all rows */
  double min_precision;
  bool skip_bad;
  cq_notice_fn notice;
  void *notice_context;
  cq_score_progress_fn progress;
  void *progress_context;
} cq_score_options;
CQ_DEFAULT_OPTIONS(cq_score_options, cq_score_default_options, score) /**< group "score" */

typedef struct cq_row_scores cq_row_scores;

typedef struct cq_score_row {
  double probability; /**< that the sides are translations */
  cq_score_reason reason;
  bool is_kept;            /**< by min_precision */
  uint32_t run;            /**< the run of shifted rows that has it, from 1; 0: none */
  const cq_slice *columns; /**< [n_columns] borrowed */
  size_t n_columns;
  const double *evidence; /**< by the names of cq_score_evidence_name(); borrowed */
} cq_score_row;
CQ_API const char *cq_score_evidence_name(size_t index); /**< NULL past the last one */

/** Rows whose sources are translated by the targets of other rows, `shift` rows later. */
typedef struct cq_score_run {
  size_t first, n; /**< rows */
  int shift;
} cq_score_run;

/** Scores the first two columns of all rows.
 * @errors Those of reading files (file and line), opening the model, and encoding; CQ_ERR_ARGUMENT for files without
 * rows or languages that are not identified; CQ_ERR_STOPPED (vectors are kept in the cache); CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_score(cq_row_scores **out, const cq_score_options *options, cq_context *ctx,
                                      cq_error *error);
CQ_API void cq_row_scores_free(cq_row_scores *scoring);
CQ_API size_t cq_row_scores_n(const cq_row_scores *scoring);
CQ_API cq_score_row cq_row_scores_row(const cq_row_scores *scoring, size_t i);
CQ_API const cq_score_run *cq_row_scores_runs(size_t *n, const cq_row_scores *scoring); /**< borrowed */
/** The estimated share of a reason among all rows. */
CQ_API double cq_row_scores_share(const cq_row_scores *scoring, cq_score_reason reason);

/** Writes the kept rows in their order: probability, reason, row, in the format that the file's name ends in, as
 * cq_corpus_filter(); NULL or "-": standard output. The file is written atomically.
 * @param json  a JSON object per row instead: line, score, reason, columns, evidence
 * @errors CQ_ERR_ARGUMENT for an ending that is not written; CQ_ERR_IO; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_row_scores_write(const cq_row_scores *scoring, const char *path, bool json,
                                                 cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
