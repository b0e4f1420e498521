/* Filters as SQL. Metadata is a JSON object: json_each returns a member's value, or a list's elements. */
#include "store/document_store.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

/* Strings of digits count as numbers, since tables contain only text. */
#define AS_NUMBER                                                                                                      \
  "(CASE WHEN %s IN ('integer', 'real') THEN %s WHEN %s GLOB '*[0-9]*' AND NOT %s GLOB '*[^-+.0-9eE]*' THEN "          \
  "CAST(%s AS REAL) END)"

static cq_status add_value(cq_sql *sql, cq_sql_value value, cq_error *error) {
  if (!cq_reserve((void **)&sql->values, &sql->capacity, sql->n_values + 1, sizeof *sql->values))
    return cq_fail_memory(error, "filter");
  sql->values[sql->n_values++] = value;
  return CQ_OK;
}

static cq_status add_text(cq_sql *sql, cq_slice text, cq_error *error) {
  return add_value(sql, (cq_sql_value){.text = text}, error);
}

/* A column of the table; NULL: a metadata member. */
static const char *column_of(cq_slice field) {
  static const char *const columns[][2] = {
      {"id", "id"}, {"language", "language"}, {"lang", "language"}, {"title", "title"}, {"url", "url"}};
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
    if (cq_slice_equal(field, cq_slice_of(columns[i][0]))) return columns[i][1];
  return NULL;
}

/* Writes a.b as $."a"."b", or as $."a.b" if that is a name. SQLite's JSON paths have no escapes, so a field with a
 * quotation mark or a control character is never found. */
static cq_status add_path(cq_sql *sql, cq_slice field, bool is_name, cq_error *error) {
  cq_builder path = {0};
  cq_builder_text(&path, "$.\"");
  for (size_t i = 0; i < field.n; i++) {
    if (field.data[i] == '.' && !is_name)
      cq_builder_text(&path, "\".\"");
    else
      cq_builder_char(&path, field.data[i] == '"' || (unsigned char)field.data[i] < ' ' ? ' ' : field.data[i]);
  }
  cq_builder_char(&path, '"');
  char *copy = path.failed ? NULL : cq_arena_strndup(&sql->arena, path.data, path.n);
  const size_t n = path.n;
  cq_builder_free(&path);
  return copy ? add_text(sql, (cq_slice){copy, n}, error) : cq_fail_memory(error, "filter");
}

/* Compares `value` by the operator `sign`; type: an SQL expression for the value's JSON type. */
static cq_status add_comparison(cq_sql *sql, const char *value, const char *type, const char *sign,
                                const cq_filter_value *with, cq_error *error) {
  switch (with->type) {
  case CQ_FILTER_NUMBER:
    cq_builder_printf(&sql->text, AS_NUMBER " %s ?", type, value, value, value, value, sign);
    return add_value(sql, (cq_sql_value){.number = with->number, .is_number = true}, error);
  case CQ_FILTER_TRUE:
  case CQ_FILTER_FALSE: /* also the text of that word: tables have only text */
    cq_builder_printf(&sql->text, "(CASE %s WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE %s END) %s ?", type,
                      value, sign);
    return add_text(sql, with->text, error);
  default: cq_builder_printf(&sql->text, "CAST(%s AS TEXT) %s ?", value, sign); return add_text(sql, with->text, error);
  }
}

/* The codes in the table, found by jumping from one to the next in the index of languages, that match one of the
 * values. */
static cq_status add_languages(cq_sql *sql, const cq_filter_node *node, cq_error *error) {
  cq_status status = CQ_OK;
  cq_builder_text(&sql->text, "language IN (" CQ_FILTER_LANGUAGES);
  for (size_t i = 0; !status && i < node->n_values; i++) {
    cq_slice ranges[CQ_LANGUAGE_CODES];
    size_t n;
    status = cq_filter_ranges(ranges, &n, &sql->arena, node->values[i].text, error);
    for (size_t k = 0; !status && k < n; k++) {
      cq_builder_text(&sql->text, i || k ? " OR " : "");
      cq_builder_text(&sql->text, "substr(" CQ_FILTER_LANGUAGE_CODE ", 1, length(?)) = ?");
      status = add_text(sql, ranges[k], error);
      if (!status) status = add_text(sql, ranges[k], error);
    }
  }
  cq_builder_char(&sql->text, ')');
  return status;
}

static cq_status add_condition(cq_sql *sql, const cq_filter_node *node, cq_error *error) {
  static const char *const signs[] = {[CQ_FILTER_IN] = "=",
                                      [CQ_FILTER_LESS] = "<",
                                      [CQ_FILTER_LESS_EQUAL] = "<=",
                                      [CQ_FILTER_MORE] = ">",
                                      [CQ_FILTER_MORE_EQUAL] = ">="};
  const char *column = column_of(node->field);
  cq_status status = CQ_OK;
  if (node->kind == CQ_FILTER_HAS && column) {
    cq_builder_printf(&sql->text, "%s <> ''", column);
    return CQ_OK;
  }
  if (node->kind == CQ_FILTER_IN && column && !strcmp(column, "language")) return add_languages(sql, node, error);
  if (!column) {
    const bool has_dot = memchr(node->field.data, '.', node->field.n);
    cq_builder_text(&sql->text, has_dot
                                    ? "EXISTS (SELECT 1 FROM json_each(metadata, iif(json_type(metadata, ?) IS NULL, "
                                      "?, ?)) AS m WHERE "
                                    : "EXISTS (SELECT 1 FROM json_each(metadata, ?) AS m WHERE ");
    if (has_dot) status = add_path(sql, node->field, true, error);
    if (!status) status = add_path(sql, node->field, false, error);
    if (has_dot && !status) status = add_path(sql, node->field, true, error);
  }
  cq_builder_char(&sql->text, '(');
  if (node->kind == CQ_FILTER_HAS) cq_builder_text(&sql->text, "m.type <> 'null'");
  for (size_t i = 0; !status && i < node->n_values; i++) {
    if (i) cq_builder_text(&sql->text, " OR ");
    status = add_comparison(sql, column ? column : "m.value", column ? "'text'" : "m.type", signs[node->kind],
                            &node->values[i], error);
  }
  cq_builder_text(&sql->text, column ? ")" : "))");
  return status;
}

static cq_status add_node(cq_sql *sql, const cq_filter_node *node, cq_error *error) {
  if (node->kind > CQ_FILTER_NOT) return add_condition(sql, node, error);
  cq_builder_text(&sql->text, node->kind == CQ_FILTER_NOT ? "NOT (" : "(");
  cq_status status = add_node(sql, node->left, error);
  if (!status && node->kind != CQ_FILTER_NOT) {
    cq_builder_text(&sql->text, node->kind == CQ_FILTER_AND ? " AND " : " OR ");
    status = add_node(sql, node->right, error);
  }
  cq_builder_char(&sql->text, ')');
  return status;
}

cq_status cq_filter_sql(cq_sql *out, const cq_filter *filter, cq_error *error) {
  *out = (cq_sql){0};
  cq_status status = CQ_OK;
  if (filter->root)
    status = add_node(out, filter->root, error);
  else
    cq_builder_char(&out->text, '1');
  if (!status && out->text.failed) status = cq_fail_memory(error, "filter");
  if (status) cq_sql_free(out);
  return status;
}

void cq_sql_free(cq_sql *sql) {
  cq_builder_free(&sql->text);
  cq_free(sql->values);
  cq_arena_free(&sql->arena);
  *sql = (cq_sql){0};
}
