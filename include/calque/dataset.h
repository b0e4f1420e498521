/* Parallel text of the Hugging Face hub: a data set's Parquet files, fetched into the cache and written as rows.
 *
 *   cq_dataset_options o = cq_dataset_default_options();
 *   o.config = "de-en", o.output = "de-en.tsv.gz";
 *   cq_corpus_counts counts;
 *   cq_dataset_get(&counts, "Helsinki-NLP/opus-100", &o, &err);       // counts.n_written pairs
 *
 * The files are those of the repository whose directory and name say the config and the split, as in
 * de-en/train-00000-of-00001.parquet; a repository without such files is looked for in what the hub has converted
 * (refs/convert/parquet). The environment is that of calque/hub.h.
 *
 * Threads: calls are independent of one another; progress is told on the calling thread. */
#ifndef CALQUE_DATASET_H
#define CALQUE_DATASET_H

#include "calque/corpus.h"
#include "calque/hub.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_dataset_options { /* group "dataset" */
  size_t size;
  const char *config; /* NULL: the only one */
  const char *split;
  const char *const *columns; /* as of cq_corpus_convert_options */
  size_t n_columns;
  const char *output;
  bool skip_bad;
  cq_corpus_progress_fn progress; /* of rows, then; of what is fetched, before: */
  void *progress_context;
  cq_hub_progress_fn hub_progress;
  void *hub_progress_context;
} cq_dataset_options;
CQ_DEFAULT_OPTIONS(cq_dataset_options, cq_dataset_default_options, dataset)

/* repository is "ORG/NAME", with "@" and a revision if not main. Errors: those of cq_hub_get and cq_corpus_convert;
 * CQ_ERR_ARGUMENT where there are several configs, or none of that name, or no such split: it names those that there
 * are. */
CQ_API CQ_MUST_USE cq_status cq_dataset_get(cq_corpus_counts *counts, const char *repository,
                                            const cq_dataset_options *options, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
