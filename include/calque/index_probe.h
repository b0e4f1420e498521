/** @file What may make searches of an index poor, though nothing in it is damaged: text that the model cannot read,
 * truncated or decomposed text, duplicates, hubs, an approximation that misses neighbors.
 *
 *      cq_index_report *report;
 *      cq_index_probe(&report, index, ctx, &err);
 *      for (size_t i = 0; i < report->n_findings; i++) puts(report->findings[i]);
 *      cq_index_report_free(report);
 *
 * The time is linear in the size of the index; only duplicates are looked for in all of it, the rest is measured on up
 * to 4,096 passages, spread evenly, and on 128 queries.
 *
 * @threads As cq_index_search(). A report may be read by any number. */
#ifndef CALQUE_INDEX_PROBE_H
#define CALQUE_INDEX_PROBE_H

#include "calque/index.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The sampled passages of a script and a language: the document's, or the identified one where the document has none
 * or one of another script. */
typedef struct cq_index_vocabulary {
  const char *script, *language; /**< as "Hangul", "ko"; "und": undetermined */
  size_t n_passages;
  double unknown, bytes; /**< shares of the pieces that are unknown, or bytes of a character */
  /** Pieces for each letter of the script, in composed text. Marks, digits and punctuation do not count. A vocabulary
   * that knows a language has 0.2 to 0.7, for syllables and ideographs up to 1 */
  double pieces_per_letter;
  /** False if a tenth of the pieces is unknown or bytes, or if pieces_per_letter is above 0.75 (Hangul, Han and other
   * scripts of syllables: 1.2). True for less than 60 letters */
  bool is_covered;
} cq_index_vocabulary;

/** A document that is among the ten nearest to very many queries of random words, whatever they are. */
typedef struct cq_index_often_found {
  const char *id;
  double share; /**< of the queries */
} cq_index_often_found;

typedef struct cq_index_report {
  size_t n_passages, n_sampled;
  size_t n_truncated;                      /**< of those sampled: longer than the model's maximum sequence length */
  size_t n_decomposed;                     /**< of those sampled: decomposed (NFD), with other tokens than composed */
  size_t n_duplicates;                     /**< of all passages: with the same vector as an earlier one */
  const cq_index_vocabulary *vocabularies; /**< by script, the one with more passages first */
  size_t n_vocabularies;
  const cq_index_often_found *hubs; /**< the one with the largest share first */
  size_t n_hubs;
  double recall;               /**< share of the 10 exactly nearest that the approximation finds; -1: not measured */
  const char *const *findings; /**< a sentence for each thing that is worth knowing; scripts first */
  size_t n_findings;
} cq_index_report;

/** Probes an index. One without passages has an empty report. @errors Those of opening the model and of searching;
 * CQ_ERR_UNSUPPORTED in PostgreSQL. */
CQ_API CQ_MUST_USE cq_status cq_index_probe(cq_index_report **out, const cq_index *index, cq_context *ctx,
                                            cq_error *error);
CQ_API void cq_index_report_free(cq_index_report *report);

#ifdef __cplusplus
}
#endif
#endif
