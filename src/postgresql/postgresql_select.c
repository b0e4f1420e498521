/* The same conditions as in document_select.c for SQLite. */
#include "postgresql/postgresql_select.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

/* Text that is a number is compared as one, since tables contain only text: in decimal, as written. */
#define TEXT_AS_NUMBER                                                                                                 \
  "(CASE WHEN %s ~ '^[-+.0-9eE]*$' AND %s ~ '[0-9]' THEN coalesce(substring(%s from "                                  \
  "'^[-+]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][-+]?[0-9]{1,3}(?![0-9]))?')::numeric, 0) END)"
#define JSON_TEXT "(m.value #>> '{}')"

cq_status cq_pg_add_value(size_t *number, cq_pg_values *values, const void *data, size_t n, cq_error *error) {
  if (values->n == CQ_PG_MAX_VALUES)
    return cq_fail(error, CQ_ERR_LIMIT, "filter: more than %d values", CQ_PG_MAX_VALUES);
  char *copy = cq_arena_strndup(&values->arena, data ? data : "", n);
  if (!copy || !cq_reserve((void **)&values->items, &values->capacity, values->n + 1, sizeof *values->items))
    return cq_fail_memory(error, "filter");
  values->items[values->n++] = (cq_pg_value){copy, n};
  *number = values->n;
  return CQ_OK;
}

void cq_pg_values_free(cq_pg_values *values) {
  cq_free(values->items);
  cq_arena_free(&values->arena);
  *values = (cq_pg_values){0};
}

static const char *column_of(cq_slice field) {
  static const char *const columns[][2] = {
      {"id", "d.id"}, {"language", "d.language"}, {"lang", "d.language"}, {"title", "d.title"}, {"url", "d.url"}};
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
    if (cq_slice_equal(field, cq_slice_of(columns[i][0]))) return columns[i][1];
  return NULL;
}

/* a.b as the array {a, b}. */
static cq_status add_path(size_t *number, cq_pg_values *values, cq_slice field, cq_error *error) {
  cq_builder path = {0};
  size_t n = 1;
  for (size_t i = 0; i < field.n; i++) n += field.data[i] == '.';
  cq_pg_put_array(&path, CQ_PG_TEXT, n);
  for (size_t from = 0, to; from <= field.n; from = to + 1) {
    for (to = from; to < field.n && field.data[to] != '.'; to++) continue;
    cq_pg_put_field(&path, field.data + from, to - from);
  }
  const cq_status status =
      path.failed ? cq_fail_memory(error, "filter") : cq_pg_add_value(number, values, path.data, path.n, error);
  cq_builder_free(&path);
  return status;
}

static cq_status add_comparison(cq_builder *sql, cq_pg_values *values, const char *column, const char *sign,
                                const cq_filter_value *with, cq_error *error) {
  const char *text = column ? column : JSON_TEXT;
  size_t number;
  const cq_status status = cq_pg_add_value(&number, values, with->text.data, with->text.n, error);
  if (status) return status;
  if (with->type == CQ_FILTER_NUMBER) {
    if (!column) cq_builder_text(sql, "CASE jsonb_typeof(m.value) WHEN 'number' THEN " JSON_TEXT "::numeric ELSE ");
    cq_builder_printf(sql, TEXT_AS_NUMBER "%s %s $%zu::text::numeric", text, text, text, column ? "" : " END", sign,
                      number);
  } else {
    cq_builder_printf(sql, "%s COLLATE \"C\" %s $%zu::text", text, sign, number);
  }
  return CQ_OK;
}

static cq_status add_languages(cq_builder *sql, cq_pg_values *values, const cq_filter_node *node, cq_error *error) {
  cq_status status = CQ_OK;
  cq_builder_text(sql, "d.language IN (" CQ_FILTER_LANGUAGES);
  for (size_t i = 0; !status && i < node->n_values; i++) {
    cq_slice ranges[CQ_LANGUAGE_CODES];
    size_t n, number = 0;
    status = cq_filter_ranges(ranges, &n, &values->arena, node->values[i].text, error);
    for (size_t k = 0; !status && k < n; k++) {
      status = cq_pg_add_value(&number, values, ranges[k].data, ranges[k].n, error);
      cq_builder_printf(sql, "%sleft(" CQ_FILTER_LANGUAGE_CODE ", length($%zu::text)) = $%zu::text",
                        i || k ? " OR " : "", number, number);
    }
  }
  cq_builder_char(sql, ')');
  return status;
}

static cq_status add_condition(cq_builder *sql, cq_pg_values *values, const cq_filter_node *node, cq_error *error) {
  static const char *const signs[] = {[CQ_FILTER_IN] = "=",
                                      [CQ_FILTER_LESS] = "<",
                                      [CQ_FILTER_LESS_EQUAL] = "<=",
                                      [CQ_FILTER_MORE] = ">",
                                      [CQ_FILTER_MORE_EQUAL] = ">="};
  const char *column = column_of(node->field);
  size_t path = 0;
  char value[160];
  cq_status status = CQ_OK;
  if (node->kind == CQ_FILTER_HAS && column) {
    cq_builder_printf(sql, "%s <> ''", column);
    return CQ_OK;
  }
  if (node->kind == CQ_FILTER_IN && column && !strcmp(column, "d.language"))
    return add_languages(sql, values, node, error);
  if (!column) {
    status = add_path(&path, values, node->field, error);
    snprintf(value, sizeof value,
             "coalesce(d.metadata -> array_to_string($%zu::text[], '.'), d.metadata #> $%zu::text[])", path, path);
    cq_builder_printf(sql,
                      "EXISTS (SELECT 1 FROM jsonb_array_elements(CASE jsonb_typeof(%s) WHEN 'array' THEN %s ELSE "
                      "jsonb_build_array(%s) END) AS m(value) WHERE ",
                      value, value, value);
  }
  cq_builder_char(sql, '(');
  if (node->kind == CQ_FILTER_HAS) cq_builder_text(sql, "jsonb_typeof(m.value) <> 'null'");
  for (size_t i = 0; !status && i < node->n_values; i++) {
    if (i) cq_builder_text(sql, " OR ");
    status = add_comparison(sql, values, column, signs[node->kind], &node->values[i], error);
  }
  cq_builder_text(sql, column ? ")" : "))");
  return status;
}

static cq_status add_node(cq_builder *sql, cq_pg_values *values, const cq_filter_node *node, cq_error *error) {
  if (node->kind > CQ_FILTER_NOT) return add_condition(sql, values, node, error);
  cq_builder_text(sql, node->kind == CQ_FILTER_NOT ? "NOT (" : "(");
  cq_status status = add_node(sql, values, node->left, error);
  if (!status && node->kind != CQ_FILTER_NOT) {
    cq_builder_text(sql, node->kind == CQ_FILTER_AND ? " AND " : " OR ");
    status = add_node(sql, values, node->right, error);
  }
  cq_builder_char(sql, ')');
  return status;
}

cq_status cq_pg_select(cq_builder *sql, cq_pg_values *values, const cq_filter *filter, cq_error *error) {
  if (!filter->root) {
    cq_builder_text(sql, "true");
    return CQ_OK;
  }
  const cq_status status = add_node(sql, values, filter->root, error);
  return status || !sql->failed ? status : cq_fail_memory(error, "filter");
}
