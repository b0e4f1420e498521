/* Reads a request's fields as options by name, and describes them, both from the rows of the library's groups. */
#include "serve/option_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cq_option *row_of(const serve_field *f) {
  const cq_option *row = f->group->rows;
  while (strcmp(row->name, f->row) != 0) row++;
  return row;
}

static bool is_flag(const cq_option *row) {
  return row->type == CQ_OPTION_FLAG || row->type == CQ_OPTION_YES_NO;
}

/* The allowed values of a field, for messages. */
static void say_expected(char *out, size_t size, const serve_field *f) {
  const cq_option *row = row_of(f);
  size_t n = 0;
  if (is_flag(row))
    snprintf(out, size, "true or false");
  else if (row->type == CQ_OPTION_SIZE)
    snprintf(out, size, "%ld to %ld", f->min, f->max);
  else if (row->type == CQ_OPTION_CHOICE)
    for (size_t i = 0; row->choices[i] && n < size; i++)
      n += (size_t)snprintf(out + n, size - n, i ? ", %s" : "one of %s", row->choices[i]);
}

/* The value in the row's form; NULL: invalid. */
static const char *translated(const serve_field *f, const char *value) {
  const cq_option *row = row_of(f);
  char *end;
  if (is_flag(row))
    return !strcmp(value, "true") || !strcmp(value, "1")    ? "yes"
           : !strcmp(value, "false") || !strcmp(value, "0") ? "no"
                                                            : NULL;
  if (row->type == CQ_OPTION_SIZE) {
    const long n = strtol(value, &end, 10);
    return *value && !*end && n >= f->min && n <= f->max ? value : NULL;
  }
  for (size_t i = 0; row->type == CQ_OPTION_CHOICE; i++) {
    if (!row->choices[i]) return NULL;
    if (!strcmp(row->choices[i], value)) return value;
  }
  return value;
}

static bool set_field(cq_options *out, serve_request *r, const serve_field *f, const char *value) {
  char expected[256] = "";
  cq_error error = {0};
  const bool is_text = row_of(f)->type == CQ_OPTION_TEXT || row_of(f)->type == CQ_OPTION_CHOICE;
  if (!value || (is_text && !*value)) return true;
  const char *text = translated(f, value);
  if (!text) {
    say_expected(expected, sizeof expected, f);
    serve_fail(r, SERVE_INVALID, f->name, "'%s' is '%.50s', expected %s", f->name, value, expected);
  } else if (cq_options_set(out, f->row, text, &error)) {
    serve_fail(r, error.status == CQ_ERR_MEMORY ? SERVE_INTERNAL : SERVE_INVALID, f->name, "'%s': %s", f->name,
               error.message);
  }
  return !r->code;
}

static bool set_member(cq_options *out, serve_request *r, const serve_field *f, const json_t *object) {
  const cq_option *row = row_of(f);
  bool is_true = false;
  int64_t number = 0;
  char text[24];
  const char *value = NULL;
  if (!json_object_get(object, f->name) || json_is_null(json_object_get(object, f->name)))
    return set_field(out, r, f, NULL);
  if (is_flag(row)) {
    if (!serve_get_bool(&is_true, r, object, f->name)) return false;
    value = is_true ? "true" : "false";
  } else if (row->type == CQ_OPTION_SIZE) {
    if (!serve_get_int(&number, r, object, f->name, f->min, f->max)) return false;
    snprintf(text, sizeof text, "%lld", (long long)number);
    value = text;
  } else if (!serve_get_text(&value, r, object, f->name)) {
    return false;
  }
  return set_field(out, r, f, value);
}

/* An argument by the library's name would have no effect. */
static bool is_misnamed(serve_request *r, const serve_field *f) {
  if (!strcmp(f->name, f->row) || !r->argument(r, f->row)) return false;
  serve_fail(r, SERVE_INVALID, f->row, "'%s' is not an argument: it is '%s' here", f->row, f->name);
  return true;
}

bool serve_set_fields(cq_options *out, serve_request *r, const serve_field *fields, const json_t *object) {
  for (const serve_field *f = fields; f->name; f++)
    if ((!object && is_misnamed(r, f)) ||
        !(object ? set_member(out, r, f, object) : set_field(out, r, f, r->argument(r, f->name))))
      return false;
  return true;
}

void serve_put_field_schema(cq_builder *b, const serve_field *f) {
  const cq_option *row = row_of(f);
  if (is_flag(row))
    cq_builder_text(b, "{\"type\":\"boolean\"");
  else if (row->type == CQ_OPTION_SIZE)
    cq_builder_printf(b, "{\"type\":\"integer\",\"minimum\":%ld,\"maximum\":%ld", f->min, f->max);
  else
    cq_builder_text(b, "{\"type\":\"string\"");
  for (size_t i = 0; row->type == CQ_OPTION_CHOICE && row->choices[i]; i++)
    cq_builder_printf(b, i ? ",\"%s\"" : ",\"enum\":[\"%s\"", row->choices[i]);
  if (row->type == CQ_OPTION_CHOICE) cq_builder_char(b, ']');
  if (row->type == CQ_OPTION_CHOICE && !row->otherwise)
    cq_builder_printf(b, ",\"default\":\"%s\"", row->choices[(size_t)row->number]);
  else if (is_flag(row))
    cq_builder_printf(b, ",\"default\":%s", row->number != 0 ? "true" : "false");
  else if (row->type == CQ_OPTION_SIZE && !row->otherwise)
    cq_builder_printf(b, ",\"default\":%.0f", row->number);
  cq_json_member(b, ",\"description\":", cq_slice_of(row->help));
  cq_builder_char(b, '}');
}
