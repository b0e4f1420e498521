/** @file Lexical indexes of TREC collections, and runs over topics.
 *
 *      cq_analysis_options german = cq_analysis_default_options();
 *      german.language = "de", german.stop_words = "de.txt";
 *      cq_lexical_build_options o = cq_lexical_build_default_options();
 *      o.analysis = &german;
 *      const char *files[] = {"docs.trec.gz"};
 *      cq_lexical_build("news.lexical", files, 1, &o, ctx, &err);
 *      cq_lexical_open(&index, "news.lexical", &err);                         // calque/lexical.h
 *
 * @threads Building calls are independent of one another if each has its own directory. */
#ifndef CALQUE_LAB_LEXICAL_H
#define CALQUE_LAB_LEXICAL_H

#include "calque/lexical.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_lexical_build_options {
  size_t size;
  /** Index only these tags (TREC) or members (JSON); none: everything in TREC; title, text and contents in JSON */
  const char *const *fields;
  size_t n_fields;
  uint64_t segment_documents; /**< documents per segment; 0: half a gigabyte of text */
  const cq_analysis_options *analysis;
  void (*progress)(void *context, uint64_t n_documents);
  void *progress_context;
} cq_lexical_build_options;
/** Group "lexical-build". */
CQ_DEFAULT_OPTIONS(cq_lexical_build_options, cq_lexical_build_default_options, lexical_build)

/** Builds an index of the documents of files and directories: TREC, TSV or JSON lines, recognized by content, plain or
 * compressed. The index is written atomically. A document without terms counts as empty. @errors CQ_ERR_ARGUMENT when
 * the directory exists; CQ_ERR_FORMAT with the line for a malformed document, or one with a missing or repeated id;
 * CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_lexical_build(const char *directory, const char *const *paths, size_t n_paths,
                                              const cq_lexical_build_options *options, cq_context *ctx,
                                              cq_error *error);

/** Searches for every topic of a file and writes a TREC run: topic, Q0, document, rank, score, tag. A topic that finds
 * nothing has no lines.
 * @param run     the file to write; NULL or "-": standard output
 * @param topics  TREC's (`<top>`), TSV or JSON lines
 * @param fields  letters of the query's fields: t title, d description, n narrative; NULL: "t"
 * @errors Those of reading topics, of searching and of writing; CQ_ERR_ARGUMENT for an empty tag or one with blanks. */
CQ_API CQ_MUST_USE cq_status cq_lexical_run(const char *run, const cq_lexical *index, const char *topics,
                                            const char *fields, const cq_lexical_options *options, const char *tag,
                                            cq_context *ctx, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
