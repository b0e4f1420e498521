/** @file A corpus from documents or rows, by one configuration: aligned, filtered, without repetitions, divided, and with
 * a report.
 *
 *      cq_corpus_build_options o = cq_corpus_build_default_options();
 *      o.config = "corpus.ini", o.output = "corpus";
 *      cq_corpus_build(&o, ctx, &err);                    // corpus/train.tsv, dev.tsv, test.tsv, report.html
 *
 * A configuration has a section for each step, with the options of the step's function by name:
 *
 *      [align]
 *      source = site/de
 *      target = site/en
 *      [filter]
 *      drop = numbers,links
 *      [dedup]
 *      near = 0.8
 *      [split]
 *      dev = 1000
 *      output = train.tmx
 *
 * The steps follow one another in the order of cq_corpus_build_config(): the first has the text, the others are left out
 * if they have no section. A line without "=" is a flag; "#" begins a comment.
 *
 * @threads Calls are independent of one another if each has its own output. */
#ifndef CALQUE_CORPUS_BUILD_H
#define CALQUE_CORPUS_BUILD_H

#include "calque/context.h"
#include "calque/mine.h"
#include "calque/options.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_corpus_build_options {
  size_t size;
  const char *config;  /**< a file */
  const char *output;  /**< a folder, made if there is none; steps that are done in it, with the same options and text,
                       * are not done again */
  cq_notice_fn notice; /**< receives what became of the rows of each step, and what the step says */
  void *notice_context;
  cq_mine_progress_fn progress;
  void *progress_context;
} cq_corpus_build_options;
CQ_DEFAULT_OPTIONS(cq_corpus_build_options, cq_corpus_build_default_options, corpus_build) /**< group "corpus-build" */

/** Builds the corpus.
 * @errors CQ_ERR_FORMAT with file and line for a malformed configuration; CQ_ERR_ARGUMENT with file and line for a
 * section or an option that there is not, and a value out of range; those of the steps' functions. */
CQ_API CQ_MUST_USE cq_status cq_corpus_build(const cq_corpus_build_options *options, cq_context *ctx, cq_error *error);

/** A configuration with all sections and options, their defaults, and what they do, as comments; released with
 * cq_free(). @errors CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_corpus_build_config(char **out, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
