/* Text to terms. An analyzer holds the rules and is shared; an analysis applies them in one thread. It has its own
 * vocabulary, in which terms are numbers.
 *
 *   text ──▶ chunks between blanks ──▶ known? ── yes ──▶ the same numbers again
 *                                          └─ no ──▶ NFKC, lower case ──▶ words ──▶ no stop word ──▶ stem ──▶ numbers
 *
 * No word crosses an ASCII blank, so a chunk's terms depend on the chunk alone. Most chunks of a text have been seen
 * before (Zipf), so the slow part runs only once for each different chunk. */
#ifndef TEXT_ANALYZER_H
#define TEXT_ANALYZER_H

#include "base/intern.h"
#include "calque/analysis.h"

typedef struct cq_analyzer cq_analyzer;
typedef struct cq_analysis cq_analysis;

extern const cq_option_group cq_group_analysis;

/* stop_words: [n_stop_words] those of another analyzer, from cq_analyzer_stop_words. Errors: cq_analyze's. */
CQ_MUST_USE cq_status cq_analyzer_open(cq_analyzer **out, const cq_analysis_options *options, cq_error *error);
CQ_MUST_USE cq_status cq_analyzer_open_with(cq_analyzer **out, const char *language, bool stems,
                                            const cq_slice *stop_words, size_t n_stop_words, cq_error *error);
/* For an index of many languages: each word gives its forms (word_forms.h), by the language of its text. */
CQ_MUST_USE cq_status cq_analyzer_open_forms(cq_analyzer **out, cq_error *error);
void cq_analyzer_free(cq_analyzer *analyzer);

const char *cq_analyzer_language(const cq_analyzer *analyzer); /* in lower case, without a region; "" for none */
bool cq_analyzer_stems(const cq_analyzer *analyzer);
/* The stop words in the normal form in which they are compared; a phrase has one blank between its words. */
const cq_intern *cq_analyzer_stop_words(const cq_analyzer *analyzer);

/* The analyzer must outlive it. Errors: CQ_ERR_MEMORY; CQ_ERR_UNSUPPORTED when ICU's data is missing. */
CQ_MUST_USE cq_status cq_analysis_open(cq_analysis **out, const cq_analyzer *analyzer, cq_error *error);
void cq_analysis_free(cq_analysis *analysis);

/* Call this before any text. Each word of a script without spaces is then followed by its combinations with the next
 * words, of 2 to max_words words. ICU splits names that its dictionary lacks; the combinations contain them whole. A
 * joined word is not stemmed again. */
void cq_analysis_join(cq_analysis *analysis, size_t max_words);
/* Whether a term first occurred as a joined word, and its first and last terms. */
bool cq_analysis_is_joined(const cq_analysis *analysis, uint32_t id, uint32_t *first, uint32_t *last);

/* The language of the next texts of an analysis by forms, a code or nothing; before that they are queries, in any
 * language. */
void cq_analysis_set_language(cq_analysis *analysis, cq_slice code);

/* The terms of a text as numbers into cq_analysis_terms: *ids[*n], valid until the next call. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_analysis_run(const uint32_t **ids, size_t *n, cq_analysis *analysis, cq_slice text,
                                      cq_error *error);
/* The number of words of that text. With forms, a word has several terms. */
size_t cq_analysis_n_words(const cq_analysis *analysis);
/* The terms of a query with the words that they stand for; a word's terms are adjacent. */
typedef struct cq_query_form {
  uint32_t id, word; /* word: counted from 1 */
  double share;      /* of the word's weight */
} cq_query_form;
CQ_MUST_USE cq_status cq_analysis_run_query(const cq_query_form **forms, size_t *n, cq_analysis *analysis,
                                            cq_slice text, cq_error *error);
/* The same, with the position of each term's word in the text: *spans[*n]. Leaves out joined words. Slower. */
typedef struct cq_span {
  size_t begin, end;
} cq_span;
CQ_MUST_USE cq_status cq_analysis_run_spans(const uint32_t **ids, const cq_span **spans, size_t *n,
                                            cq_analysis *analysis, cq_slice text, cq_error *error);
const cq_intern *cq_analysis_terms(const cq_analysis *analysis);

#endif
