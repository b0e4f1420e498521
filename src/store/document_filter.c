/* A parser for conditions on documents: a tokenizer, then recursive descent. */
#include "store/document_filter.h"

#include "base/error.h"
#include "base/slice.h"
#include "base/utf8.h"

#include <string.h>
#include <strings.h>

enum { MAX_DEPTH = 64, MAX_VALUES = 1000, MAX_CONDITIONS = 200 };

typedef struct parser {
  cq_slice text;
  size_t at; /* of the current word */
  cq_slice word;
  bool is_quoted; /* `word` was in quotation marks */
  size_t next;    /* after it */
  cq_arena *arena;
  size_t n_values, n_conditions;
  cq_error *error;
} parser;

static cq_status fail_parse(const parser *p, const char *expected) {
  if (p->at >= p->text.n) return cq_fail(p->error, CQ_ERR_ARGUMENT, "filter: it ends where %s is expected", expected);
  return cq_fail(p->error, CQ_ERR_ARGUMENT, "filter: at byte %zu: expected %s, not '%.*s'", p->at + 1, expected,
                 (int)(p->word.n > 40 ? 40 : p->word.n), p->word.data);
}

/* --- words --- */

static bool is_plain(char c) {
  return !cq_is_blank(c) && !strchr("()[],=!<>\"'", c);
}

/* The text between quotation marks, with escaped marks and backslashes resolved. */
static cq_status read_quoted(parser *p) {
  const char mark = p->text.data[p->at];
  size_t end = p->at + 1, n = 0;
  while (end < p->text.n && p->text.data[end] != mark) end += p->text.data[end] == '\\' ? 2 : 1;
  if (end >= p->text.n)
    return cq_fail(p->error, CQ_ERR_ARGUMENT, "filter: the quotation mark at byte %zu is not closed", p->at + 1);
  char *copy = cq_arena_strndup(p->arena, p->text.data + p->at + 1, end - p->at - 1);
  if (!copy) return cq_fail_memory(p->error, "filter");
  for (size_t i = p->at + 1; i < end; i++) {
    if (p->text.data[i] == '\\') i++;
    copy[n++] = p->text.data[i];
  }
  p->word = (cq_slice){copy, n};
  p->is_quoted = true;
  p->next = end + 1;
  return CQ_OK;
}

static cq_status next_word(parser *p) {
  p->at = p->next;
  while (p->at < p->text.n && cq_is_blank(p->text.data[p->at])) p->at++;
  p->is_quoted = false;
  p->word = (cq_slice){p->text.data + p->at, 0};
  p->next = p->at;
  if (p->at == p->text.n) return CQ_OK;
  const char c = p->text.data[p->at];
  if (c == '"' || c == '\'') return read_quoted(p);
  if (is_plain(c)) {
    while (p->next < p->text.n && is_plain(p->text.data[p->next])) p->next++;
  } else {
    p->next++;
    if (strchr("!<>=", c) && p->next < p->text.n && p->text.data[p->next] == '=') p->next++;
  }
  p->word.n = p->next - p->at;
  return CQ_OK;
}

static char lower_ascii(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Keywords may be in capitals, as in SQL. */
static bool is_word(const parser *p, const char *word) {
  return !p->is_quoted && p->word.n == strlen(word) && !strncasecmp(p->word.data, word, p->word.n);
}

static cq_status expect_word(parser *p, const char *word, const char *expected) {
  return is_word(p, word) ? next_word(p) : fail_parse(p, expected);
}

/* --- conditions --- */

static cq_status new_node(cq_filter_node **out, parser *p, cq_filter_kind kind, cq_filter_node *left,
                          cq_filter_node *right) {
  *out = cq_arena_alloc(p->arena, sizeof **out);
  if (!*out) return cq_fail_memory(p->error, "filter");
  **out = (cq_filter_node){.kind = kind, .left = left, .right = right};
  return CQ_OK;
}

static cq_status read_value(cq_filter_value *out, parser *p) {
  *out = (cq_filter_value){.text = p->word};
  if (!p->is_quoted && (p->word.n == 0 || !is_plain(*p->word.data))) return fail_parse(p, "a value");
  if (++p->n_values > MAX_VALUES)
    return cq_fail(p->error, CQ_ERR_ARGUMENT, "filter: at byte %zu: more than %d values", p->at + 1, MAX_VALUES);
  if (is_word(p, "true"))
    out->type = CQ_FILTER_TRUE;
  else if (is_word(p, "false"))
    out->type = CQ_FILTER_FALSE;
  else if (!p->is_quoted && cq_slice_number(&out->number, p->word))
    out->type = CQ_FILTER_NUMBER;
  return next_word(p);
}

static cq_status read_list(cq_filter_node *node, parser *p) {
  cq_filter_value values[MAX_VALUES];
  cq_status status = expect_word(p, "[", "'['");
  while (!status && !is_word(p, "]")) {
    if (node->n_values && (status = expect_word(p, ",", "',' or ']'"))) break;
    if (node->n_values == MAX_VALUES) return fail_parse(p, "no more values");
    status = read_value(&values[node->n_values], p);
    node->n_values += !status;
  }
  if (status) return status;
  if (node->n_values == 0) return fail_parse(p, "a value");
  node->values = cq_arena_array(p->arena, node->n_values, sizeof *values);
  if (!node->values) return cq_fail_memory(p->error, "filter");
  memcpy(node->values, values, node->n_values * sizeof *values);
  return next_word(p);
}

static cq_status read_field(cq_slice *out, parser *p) {
  *out = p->word;
  if (p->word.n == 0 || (!p->is_quoted && !is_plain(*p->word.data))) return fail_parse(p, "the name of a field");
  return next_word(p);
}

static cq_status read_condition(cq_filter_node **out, parser *p) {
  static const struct {
    const char *sign;
    cq_filter_kind kind;
    bool is_not;
  } signs[] = {{"=", CQ_FILTER_IN, false},         {"==", CQ_FILTER_IN, false},  {"!=", CQ_FILTER_IN, true},
               {"<", CQ_FILTER_LESS, false},       {">", CQ_FILTER_MORE, false}, {"<=", CQ_FILTER_LESS_EQUAL, false},
               {">=", CQ_FILTER_MORE_EQUAL, false}};
  cq_filter_node *node;
  bool is_not = false;
  if (++p->n_conditions > MAX_CONDITIONS)
    return cq_fail(p->error, CQ_ERR_ARGUMENT, "filter: at byte %zu: more than %d conditions", p->at + 1,
                   MAX_CONDITIONS);
  cq_status status = new_node(&node, p, CQ_FILTER_HAS, NULL, NULL);
  if (status) return status;
  if (is_word(p, "has")) {
    status = next_word(p);
    if (!status) status = read_field(&node->field, p);
    *out = node;
    return status;
  }
  status = read_field(&node->field, p);
  if (!status && is_word(p, "not")) {
    is_not = true;
    status = next_word(p);
    if (!status && !is_word(p, "in")) status = fail_parse(p, "'in'");
  }
  if (!status && is_word(p, "in")) {
    node->kind = CQ_FILTER_IN;
    status = next_word(p);
    if (!status) status = read_list(node, p);
  } else if (!status) {
    size_t i = 0;
    while (i < sizeof signs / sizeof *signs && !is_word(p, signs[i].sign)) i++;
    if (i == sizeof signs / sizeof *signs) return fail_parse(p, "=, !=, <, <=, >, >= or 'in'");
    node->kind = signs[i].kind, is_not = signs[i].is_not, node->n_values = 1;
    node->values = cq_arena_alloc(p->arena, sizeof *node->values);
    if (!node->values) return cq_fail_memory(p->error, "filter");
    status = next_word(p);
    if (!status) status = read_value(node->values, p);
  }
  *out = node;
  return status || !is_not ? status : new_node(out, p, CQ_FILTER_NOT, node, NULL);
}

static cq_status read_or(cq_filter_node **out, parser *p, int depth);

static cq_status read_factor(cq_filter_node **out, parser *p, int depth) {
  cq_filter_node *inner;
  cq_status status;
  if (depth > MAX_DEPTH)
    return cq_fail(p->error, CQ_ERR_ARGUMENT, "filter: at byte %zu: more than %d levels", p->at + 1, MAX_DEPTH);
  if (is_word(p, "not")) {
    status = next_word(p);
    if (!status) status = read_factor(&inner, p, depth + 1);
    return status ? status : new_node(out, p, CQ_FILTER_NOT, inner, NULL);
  }
  if (!is_word(p, "(")) return read_condition(out, p);
  status = next_word(p);
  if (!status) status = read_or(out, p, depth + 1);
  return status ? status : expect_word(p, ")", "')', 'and' or 'or'");
}

/* Parts joined by `word`, left-associative. */
static cq_status read_row(cq_filter_node **out, parser *p, int depth, const char *word, cq_filter_kind kind,
                          cq_status (*part)(cq_filter_node **, parser *, int)) {
  cq_status status = part(out, p, depth);
  while (!status && is_word(p, word)) {
    cq_filter_node *right;
    status = next_word(p);
    if (!status) status = part(&right, p, depth);
    if (!status) status = new_node(out, p, kind, *out, right);
  }
  return status;
}

static cq_status read_and(cq_filter_node **out, parser *p, int depth) {
  return read_row(out, p, depth, "and", CQ_FILTER_AND, read_factor);
}

static cq_status read_or(cq_filter_node **out, parser *p, int depth) {
  return read_row(out, p, depth, "or", CQ_FILTER_OR, read_and);
}

cq_status cq_filter_parse(cq_filter *out, cq_slice text, cq_error *error) {
  *out = (cq_filter){0};
  parser p = {.text = text, .arena = &out->arena, .error = error};
  const size_t invalid = cq_utf8_invalid_at(text.data, text.n);
  if (invalid < text.n) return cq_fail(error, CQ_ERR_ARGUMENT, "filter: not UTF-8 at byte %zu", invalid + 1);
  cq_status status = next_word(&p);
  if (!status && p.at < text.n) status = read_or(&out->root, &p, 0);
  if (!status && p.at < text.n) status = fail_parse(&p, "'and', 'or' or the end");
  if (status) cq_filter_free(out);
  return status;
}

void cq_filter_free(cq_filter *filter) {
  cq_arena_free(&filter->arena);
  filter->root = NULL;
}

cq_status cq_filter_ranges(cq_slice out[CQ_LANGUAGE_CODES], size_t *n, cq_arena *arena, cq_slice language,
                           cq_error *error) {
  char codes[CQ_LANGUAGE_CODES][CQ_LANGUAGE_LETTERS] = {""};
  size_t n_code;
  cq_slice code = language;
  while (code.n && code.data[0] == ' ') code.data++, code.n--;
  while (code.n && code.data[code.n - 1] == ' ') code.n--;
  *n = cq_language_codes(codes, &n_code, code.data, code.n);
  if (*n == 0) *n = 1, n_code = 0;
  for (size_t k = 0; k < *n; k++) {
    const size_t n_own = strlen(codes[k]), n_rest = code.n - n_code;
    char *copy = cq_arena_alloc(arena, n_own + n_rest + 1);
    if (!copy) return cq_fail_memory(error, "filter");
    memcpy(copy, codes[k], n_own);
    for (size_t i = 0; i < n_rest; i++)
      copy[n_own + i] = code.data[n_code + i] == '_' ? '-' : lower_ascii(code.data[n_code + i]);
    copy[n_own + n_rest] = '-';
    out[k] = (cq_slice){copy, n_own + n_rest + 1};
  }
  return CQ_OK;
}
