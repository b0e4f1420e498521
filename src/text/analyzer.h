/* Text to terms. An analyzer holds the rules and is shared; an analysis applies them in one thread, with a
 * vocabulary of its own: terms are numbers there.
 *
 *   text ──▶ chunks between ASCII blanks ──▶ met before? ── yes ──▶ the same numbers as then
 *                                                   └─ no ──▶ NFKC, lower case ──▶ words ──▶ not a stop word ──▶ stem ──▶ numbers
 *
 * No word reaches across an ASCII blank, so that what a chunk gives depends on nothing else; and most chunks of a
 * text have been met before (Zipf), so that the slow part runs once for each different one. */
#ifndef TEXT_ANALYZER_H
#define TEXT_ANALYZER_H

#include "base/intern.h"
#include "calque/analysis.h"

typedef struct cq_analyzer cq_analyzer;
typedef struct cq_analysis cq_analysis;

extern const cq_option_group cq_group_analysis;

/* stop_words: [n_stop_words] another analyzer's, as cq_analyzer_stop_words has them. Errors: cq_analyze's. */
CQ_MUST_USE cq_status cq_analyzer_open(cq_analyzer **out, const cq_analysis_options *options, cq_error *error);
CQ_MUST_USE cq_status cq_analyzer_open_with(cq_analyzer **out, const char *language, bool stems,
                                            const cq_slice *stop_words, size_t n_stop_words, cq_error *error);
void cq_analyzer_free(cq_analyzer *analyzer);

const char *cq_analyzer_language(const cq_analyzer *analyzer); /* in lower case, without a region; "" for none */
bool cq_analyzer_stems(const cq_analyzer *analyzer);
/* As they are compared: in normal form; of several words, with one blank between them. */
const cq_intern *cq_analyzer_stop_words(const cq_analyzer *analyzer);

/* The analyzer must outlive it. Errors: CQ_ERR_MEMORY; CQ_ERR_UNSUPPORTED when ICU's data is missing. */
CQ_MUST_USE cq_status cq_analysis_open(cq_analysis **out, const cq_analyzer *analyzer, cq_error *error);
void cq_analysis_free(cq_analysis *analysis);

/* From now on, before any text, each word of a script without spaces is followed by its combinations with its
 * neighbors, of two words to max_words: names that ICU's dictionary does not have are cut apart, and whole among these.
 * A joined word is not stemmed apart. */
void cq_analysis_join(cq_analysis *analysis, size_t max_words);
/* Whether a term first occurred as a joined word, and its first and last terms. */
bool cq_analysis_is_joined(const cq_analysis *analysis, uint32_t id, uint32_t *first, uint32_t *last);

/* The terms of a text as numbers into cq_analysis_terms: *ids[*n], valid until the next call. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_analysis_run(const uint32_t **ids, size_t *n, cq_analysis *analysis, cq_slice text,
                                      cq_error *error);
/* The same with the position of each term's word in the text: *spans[*n]. Joined words are left out. Slower. */
typedef struct cq_span {
  size_t begin, end;
} cq_span;
CQ_MUST_USE cq_status cq_analysis_run_spans(const uint32_t **ids, const cq_span **spans, size_t *n,
                                            cq_analysis *analysis, cq_slice text, cq_error *error);
const cq_intern *cq_analysis_terms(const cq_analysis *analysis);

#endif
