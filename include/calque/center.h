/** @file Takes out of a multilingual model's vectors what they say about the language instead of the meaning, so that a
 * sentence is as near to its translation as to a paraphrase. Nothing is trained; parallel text is enough, some hundred
 * pairs a language.
 *
 *      const char *const files[] = {"en-de.tsv", "en-ko.tsv", "en-sw.tsv"};
 *      cq_center_options o = cq_center_default_options();
 *      o.pair_files = files, o.n_pair_files = 3;
 *      cq_center("neutral-dir", "multilingual-e5-small", &result, &o, NULL, &err);
 *
 * @threads Several calls may work at once, each with its own directory. */
#ifndef CALQUE_CENTER_H
#define CALQUE_CENTER_H

#include "calque/context.h"
#include "calque/options.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_center_options {
  size_t size;
  const char *const *pair_files; /**< one per language: a sentence and its translation on each line (TSV) */
  size_t n_pair_files;           /**< 1 or more */
  int max_pairs;                 /**< of each file, drawn from all of it */
  int axes;                      /**< languages differ along these; no more than there are files */
  double mean;                   /**< share of the sentences' mean to take out, 0 to 1 */
  bool skip_bad;                 /**< leave malformed lines out */
  bool replace;                  /**< overwrite an existing directory */
} cq_center_options;
CQ_DEFAULT_OPTIONS(cq_center_options, cq_center_default_options, center) /**< group "center" */

/** Mean cosines of the translations in the pairs that were held out, a tenth. */
typedef struct cq_center_cosines {
  double same_meaning;   /**< with the sentence that each translates */
  double same_language;  /**< with other translations in its language */
  double other_language; /**< with translations in other languages; NaN if there are none */
} cq_center_cosines;

typedef struct cq_center_result {
  uint64_t n_pairs, n_bad;
  cq_center_cosines before, after;
} cq_center_result;

/** Writes `model`, a directory or cached name, with a Dense and a Normalize module after its own, to `directory`,
 * atomically; weights are stored in f32. The map: the mean differences between sentences and translations span the axes
 * along which languages differ, and these are projected out (Xie et al. 2022, LSAR); what else differs between
 * translations is scaled down by its variance (Hatch et al. 2006, WCCN); and a share of the mean is subtracted.
 * @param result  may be NULL
 * @errors CQ_ERR_ARGUMENT (an existing directory, a file without ten pairs); CQ_ERR_UNSUPPORTED for a quantized model;
 * CQ_ERR_FORMAT for a line without two columns; those of opening, encoding and writing. */
CQ_API CQ_MUST_USE cq_status cq_center(const char *directory, const char *model, cq_center_result *result,
                                       const cq_center_options *options, cq_context *ctx, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
