/* Regular expressions over UTF-8, in the syntax of Oniguruma, which tokenizer.json uses. ICU runs them.
 *
 *   cq_regex *digits;
 *   cq_regex_open(&digits, cq_slice_of("\\p{N}{1,3}"), error);
 *   cq_regex_each(digits, text, take_match, context);   // leftmost first, none overlapping another
 *   cq_regex_free(digits);
 *
 * An open expression may be used by several threads at once. */
#ifndef TEXT_REGEX_H
#define TEXT_REGEX_H

#include "base/slice.h"
#include "calque/status.h"

typedef struct cq_regex cq_regex;

/* Errors: CQ_ERR_UNSUPPORTED for a pattern that is malformed or has no equivalent in ICU; the message names the
 * construct and its byte in the pattern. CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_regex_open(cq_regex **out, cq_slice pattern, cq_error *error);
void cq_regex_free(cq_regex *regex);

/* Calls match with each match's first byte and the one after its last, in order; false ends the search. An empty match
 * that touches the previous match is skipped.
 * Errors: CQ_ERR_MEMORY; CQ_ERR_STOPPED for a search that backtracks too much for the text's length, or if match
 * returned false. */
typedef bool (*cq_regex_match_fn)(void *context, size_t start, size_t end);
CQ_MUST_USE cq_status cq_regex_each(cq_regex *regex, cq_slice text, cq_regex_match_fn match, void *context);

/* Appends the pattern in ICU's syntax, for ICU's flags UREGEX_MULTILINE and UREGEX_UNIX_LINES. Errors as
 * cq_regex_open's. */
CQ_MUST_USE cq_status cq_regex_translate(cq_builder *out, cq_slice pattern, cq_error *error);

#endif
