/** @file Parallel text from the Hugging Face hub: fetches a data set's Parquet files into the cache and writes them as
 * rows.
 *
 *      cq_dataset_options o = cq_dataset_default_options();
 *      o.config = "de-en", o.output = "de-en.tsv.gz";
 *      cq_corpus_counts counts;
 *      cq_dataset_get(&counts, "Helsinki-NLP/opus-100", &o, &err);       // counts.n_written pairs
 *
 * The directory and name of the files contain the config and the split, as in `de-en/train-00000-of-00001.parquet`. If
 * the repository has no such files, the hub's converted ones (`refs/convert/parquet`) are used. For environment
 * variables, see calque/hub.h.
 *
 * @threads Calls are independent of one another; progress is called on the calling thread. */
#ifndef CALQUE_DATASET_H
#define CALQUE_DATASET_H

#include "calque/corpus.h"
#include "calque/hub.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_dataset_options {
  size_t size;
  const char *config; /**< NULL: the only one */
  const char *split;
  const char *const *columns; /**< as in cq_corpus_convert_options */
  size_t n_columns;
  const char *output;
  bool skip_bad;
  cq_corpus_progress_fn progress; /**< of rows, after the download */
  void *progress_context;
  cq_hub_progress_fn hub_progress;
  void *hub_progress_context;
  const char *const *languages; /**< as in cq_corpus_convert_options */
  size_t n_languages;
} cq_dataset_options;
CQ_DEFAULT_OPTIONS(cq_dataset_options, cq_dataset_default_options, dataset) /**< group "dataset" */

/** Fetches `ORG/NAME`, or `ORG/NAME@REVISION` for another revision than main. @errors Those of cq_hub_get() and
 * cq_corpus_convert(); CQ_ERR_ARGUMENT for an unknown split or config, or no config if there are several; the
 * message lists them. */
CQ_API CQ_MUST_USE cq_status cq_dataset_get(cq_corpus_counts *counts, const char *repository,
                                            const cq_dataset_options *options, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
