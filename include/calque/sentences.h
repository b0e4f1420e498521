/** @file Splits text into sentences.
 *
 *      cq_sentence_splitter_open(&s, &err);
 *      cq_sentence_splitter_run(&found, &n, s, text, "de", &err);
 *      // text.data + found[i].begin ... found[i].end, i < n
 *      cq_sentence_splitter_free(s);
 *
 * Between two sentences there are only blanks: a text is its sentences and the blanks of the text between them. A blank
 * line ends a sentence, and so does the end of a line, unless the line was wrapped there.
 *
 * @threads A handle belongs to one thread at a time. */
#ifndef CALQUE_SENTENCES_H
#define CALQUE_SENTENCES_H

#include "calque/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_sentence {
  size_t begin, end; /**< bytes of the text, without blanks at both ends */
} cq_sentence;

typedef struct cq_sentence_splitter cq_sentence_splitter;

/** @errors CQ_ERR_MEMORY; CQ_ERR_UNSUPPORTED when ICU's data is missing. */
CQ_API CQ_MUST_USE cq_status cq_sentence_splitter_open(cq_sentence_splitter **out, cq_error *error);
CQ_API void cq_sentence_splitter_free(cq_sentence_splitter *sentences);

/** The sentences of a text, in order: `*out` [n], borrowed until the next call. Time and memory are linear in its length.
 * @param language a code, with or without a region; NULL: identified by the first 64 KiB (calque/language.h). One
 *                 that cq_sentence_splitter_knows() does not, or "", gets Unicode's rules for all languages (UAX 29)
 * @errors CQ_ERR_FORMAT for a text that is not UTF-8, with the byte; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_sentence_splitter_run(const cq_sentence **out, size_t *n,
                                                      cq_sentence_splitter *sentences, cq_slice text,
                                                      const char *language, cq_error *error);

/** Whether there are rules for a language's abbreviations, numbers and beginnings of sentences. */
CQ_API bool cq_sentence_splitter_knows(const char *language);

#ifdef __cplusplus
}
#endif
#endif
