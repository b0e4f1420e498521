/* Conditions on documents: parses a user's text into a tree.
 *
 *   lang in [de, fr] and year >= 2020 and not (source = "wire" or draft = true)
 *
 *   condition   FIELD = VALUE, !=, <, <=, >, >=   FIELD in [VALUE, ...]   FIELD not in [...]   has FIELD
 *   and, or, not, parentheses; "and" binds closer than "or"
 *
 * A field is id, lang (or language), title, url, or a member of the metadata; dots lead into objects within them,
 * unless a member's name has the dots. A list in the metadata meets a condition if one of its elements does. A value is
 * a word, a number, true, false, or text in quotation marks ("..." or '...', with \ before a literal mark). Numbers are
 * compared as numbers, also with metadata that is a string of digits; everything else as text, bytewise. A document
 * without the field meets only "!=" and "not in".
 *
 * "=", "!=" and "in" compare languages as BCP 47's ranges (RFC 4647, 3.3.1): "de" is also de-AT, de_CH, DE, and deu and
 * ger, which are codes of the same language. */
#ifndef STORE_DOCUMENT_FILTER_H
#define STORE_DOCUMENT_FILTER_H

#include "base/arena.h"
#include "calque/slice.h"
#include "calque/status.h"
#include "text/language_codes.h"

typedef enum cq_filter_kind {
  CQ_FILTER_AND,
  CQ_FILTER_OR,
  CQ_FILTER_NOT, /* of `left` */
  CQ_FILTER_HAS,
  CQ_FILTER_IN, /* the field is one of the values; "=" has one */
  CQ_FILTER_LESS,
  CQ_FILTER_LESS_EQUAL,
  CQ_FILTER_MORE,
  CQ_FILTER_MORE_EQUAL, /* the last four take one value */
} cq_filter_kind;

typedef enum cq_filter_type { CQ_FILTER_TEXT, CQ_FILTER_NUMBER, CQ_FILTER_TRUE, CQ_FILTER_FALSE } cq_filter_type;

typedef struct cq_filter_value {
  cq_filter_type type;
  cq_slice text; /* as it was written, without quotation marks */
  double number;
} cq_filter_value;

typedef struct cq_filter_node {
  cq_filter_kind kind;
  struct cq_filter_node *left, *right;
  cq_slice field;
  cq_filter_value *values;
  size_t n_values;
} cq_filter_node;

typedef struct cq_filter {
  cq_filter_node *root; /* NULL: every document */
  cq_arena arena;
} cq_filter;

/* Errors: CQ_ERR_ARGUMENT with the position (in bytes, from 1) and what was expected, or for more than 64 levels, 200
 * conditions or 1,000 values; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_filter_parse(cq_filter *out, cq_slice text, cq_error *error);
void cq_filter_free(cq_filter *filter);

/* The beginnings of the tags that a language matches: lower case, hyphens, one at the end. "deu-AT" gives "de-at-",
 * "deu-at-" and "ger-at-". Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_filter_ranges(cq_slice out[CQ_LANGUAGE_CODES], size_t *n, cq_arena *arena, cq_slice language,
                                       cq_error *error);

/* SQL that SQLite and PostgreSQL understand: selects from the table's different codes those for which a condition on
 * CQ_FILTER_LANGUAGE_CODE holds. */
#define CQ_FILTER_LANGUAGES                                                                                            \
  "WITH RECURSIVE codes(code) AS (SELECT min(language) FROM document UNION ALL SELECT (SELECT min(language) FROM "     \
  "document WHERE language > code) FROM codes WHERE code IS NOT NULL) SELECT code FROM codes WHERE "
#define CQ_FILTER_LANGUAGE_CODE "(replace(lower(trim(code)), '_', '-') || '-')"

#endif
