#include "format/json.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* ---- reading ---- */

/* Python writes integers of any size (tokenizers carry a maximum length of 10^30); jansson takes 64 bits. Every integer
 * too long for that gets ".0" behind it, so that it is read as a real number. */
static bool widen_integers(cq_builder *out, cq_slice text) {
  bool in_string = false;
  for (size_t i = 0; i < text.n; i++) {
    char c = text.data[i];
    if (in_string && c == '\\' && i + 1 < text.n) {
      cq_builder_bytes(out, text.data + i++, 2);
      continue;
    }
    if (c == '"') in_string = !in_string;
    if (in_string || !(c >= '0' && c <= '9')) {
      cq_builder_char(out, c);
      continue;
    }
    size_t end = i;
    bool integer = true;
    for (; end < text.n && text.data[end] && strchr("0123456789.eE+-", text.data[end]); end++) {
      if (strchr(".eE", text.data[end])) integer = false;
    }
    cq_builder_bytes(out, text.data + i, end - i);
    if (integer && end - i > 18) cq_builder_text(out, ".0");
    i = end - 1;
  }
  return !out->failed;
}

cq_status cq_json_parse(json_t **out, cq_slice text, const char *path, cq_error *error) {
  json_error_t problem;
  *out = json_loadb(text.data, text.n, JSON_ALLOW_NUL, &problem);
  if (!*out && json_error_code(&problem) == json_error_numeric_overflow) {
    cq_builder wide = {0};
    if (widen_integers(&wide, text)) *out = json_loadb(wide.data, wide.n, JSON_ALLOW_NUL, &problem);
    bool failed = wide.failed;
    cq_builder_free(&wide);
    if (failed) return cq_fail_memory(error, path);
  }
  if (*out) return CQ_OK;
  if (json_error_code(&problem) == json_error_out_of_memory) return cq_fail_memory(error, path);
  return cq_fail_line(error, CQ_ERR_FORMAT, path, problem.line > 0 ? (uint64_t)problem.line : 1, "not JSON: %s",
                      problem.text);
}

cq_status cq_json_read(json_t **out, const char *path, cq_error *error) {
  cq_slice text;
  *out = NULL;
  cq_status status = cq_file_read(&text, path, error);
  if (status) return status;
  status = cq_json_parse(out, text, path, error);
  cq_free((void *)(uintptr_t)text.data);
  return status;
}

/* ---- writing ---- */

/* The shortest decimal that reads back as the same double. */
static void append_real(cq_builder *b, double value) {
  char text[40];
  int digits = DBL_DIG;
  do cq_snprintf(text, sizeof text, "%.*g", digits, value);
  while (cq_strtod(text, NULL) != value && ++digits <= DBL_DECIMAL_DIG);
  bool integer = true;
  for (char *p = text; *p; p++)
    if (*p == '.' || *p == 'e') integer = false;
  cq_builder_text(b, text);
  if (integer) cq_builder_text(b, ".0");
}

static void append_string(cq_builder *b, const char *text, size_t n) {
  cq_builder_char(b, '"');
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)text[i];
    switch (c) {
    case '"': cq_builder_text(b, "\\\""); break;
    case '\\': cq_builder_text(b, "\\\\"); break;
    case '\n': cq_builder_text(b, "\\n"); break;
    case '\r': cq_builder_text(b, "\\r"); break;
    case '\t': cq_builder_text(b, "\\t"); break;
    default:
      if (c < 0x20 || c == 0x7F)
        cq_builder_printf(b, "\\u%04x", c);
      else
        cq_builder_char(b, (char)c);
    }
  }
  cq_builder_char(b, '"');
}

/* indent < 0: everything on one line. */
static void append_break(cq_builder *b, int indent, int depth) {
  if (indent < 0) return;
  cq_builder_char(b, '\n');
  for (int i = 0; i < indent * depth; i++) cq_builder_char(b, ' ');
}

/* Depth is bounded by jansson's own limit for what was read and by our code for what we made. */
static void append_value(cq_builder *b, const json_t *value, int indent, int depth) { // NOLINT(misc-no-recursion)
  switch (json_typeof(value)) {
  case JSON_NULL: cq_builder_text(b, "null"); return;
  case JSON_TRUE: cq_builder_text(b, "true"); return;
  case JSON_FALSE: cq_builder_text(b, "false"); return;
  case JSON_INTEGER: cq_builder_printf(b, "%lld", (long long)json_integer_value(value)); return;
  case JSON_REAL: append_real(b, json_real_value(value)); return;
  case JSON_STRING: append_string(b, json_string_value(value), json_string_length(value)); return;
  case JSON_ARRAY:
    cq_builder_char(b, '[');
    for (size_t i = 0, n = json_array_size(value); i < n; i++) {
      if (i) cq_builder_text(b, indent < 0 ? ", " : ",");
      append_break(b, indent, depth + 1);
      append_value(b, json_array_get(value, i), indent, depth + 1);
    }
    if (json_array_size(value)) append_break(b, indent, depth);
    cq_builder_char(b, ']');
    return;
  case JSON_OBJECT: {
    const char *between = "";
    json_t *object = (json_t *)(uintptr_t)value; /* jansson's iterator takes no const, and changes nothing */
    cq_builder_char(b, '{');
    for (void *i = json_object_iter(object); i; i = json_object_iter_next(object, i)) {
      cq_builder_text(b, between);
      between = indent < 0 ? ", " : ",";
      append_break(b, indent, depth + 1);
      append_string(b, json_object_iter_key(i), strlen(json_object_iter_key(i)));
      cq_builder_text(b, ": ");
      append_value(b, json_object_iter_value(i), indent, depth + 1);
    }
    if (*between) append_break(b, indent, depth);
    cq_builder_char(b, '}');
    return;
  }
  }
}

void cq_json_append(cq_builder *out, const json_t *json, int indent) {
  append_value(out, json, indent, 0);
}

cq_status cq_json_write(const json_t *json, const char *path, cq_error *error) {
  cq_builder text = {0};
  cq_json_append(&text, json, 2);
  cq_builder_char(&text, '\n');
  cq_status status = text.failed ? cq_fail_memory(error, path) : cq_file_write(path, text.data, text.n, error);
  cq_builder_free(&text);
  return status;
}

cq_status cq_json_save(json_t *json, const char *directory, const char *name, cq_error *error) {
  char path[PATH_MAX];
  cq_status status = json ? cq_path_join(path, sizeof path, directory, name, error) : cq_fail_memory(error, name);
  if (!status) status = cq_json_write(json, path, error);
  json_decref(json);
  return status;
}

/* ---- typed members ---- */

static const char *type_name(const json_t *value) {
  switch (json_typeof(value)) {
  case JSON_OBJECT: return "an object";
  case JSON_ARRAY: return "an array";
  case JSON_STRING: return "a string";
  case JSON_INTEGER: return "an integer";
  case JSON_REAL: return "a number";
  case JSON_TRUE:
  case JSON_FALSE: return "true or false";
  case JSON_NULL: return "null";
  }
  return "something else";
}

static cq_status wrong_type(const json_t *value, const char *key, const char *expected, const char *path,
                            cq_error *error) {
  return cq_fail_file(error, CQ_ERR_FORMAT, path, "\"%s\" is %s, expected %s", key, type_name(value), expected);
}

/* The member, or NULL when it is missing or null. */
static const json_t *json_member(const json_t *object, const char *key) {
  const json_t *value = json_object_get(object, key);
  return json_is_null(value) ? NULL : value;
}

cq_status cq_json_get_int(int64_t *out, const json_t *object, const char *key, int64_t min, int64_t max,
                          const char *path, cq_error *error) {
  const json_t *value = json_member(object, key);
  if (!value) return CQ_OK;
  bool whole = json_is_real(value) && json_real_value(value) == floor(json_real_value(value));
  if (!json_is_integer(value) && !whole) return wrong_type(value, key, "an integer", path, error);
  /* A whole real number is an integer that was written as 1e30 or 512.0; 2^53 keeps the cast exact. */
  bool fits = !whole || fabs(json_real_value(value)) <= 0x1p53;
  int64_t number = !whole ? json_integer_value(value) : fits ? (int64_t)json_real_value(value) : 0;
  if (!fits || number < min || number > max)
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "\"%s\" is %.17g, expected %lld to %lld", key,
                        json_number_value(value), (long long)min, (long long)max);
  *out = number;
  return CQ_OK;
}

cq_status cq_json_get_number(double *out, const json_t *object, const char *key, const char *path, cq_error *error) {
  const json_t *value = json_member(object, key);
  if (!value) return CQ_OK;
  if (!json_is_number(value)) return wrong_type(value, key, "a number", path, error);
  *out = json_number_value(value);
  return CQ_OK;
}

cq_status cq_json_get_bool(bool *out, const json_t *object, const char *key, const char *path, cq_error *error) {
  const json_t *value = json_member(object, key);
  if (!value) return CQ_OK;
  if (!json_is_boolean(value)) return wrong_type(value, key, "true or false", path, error);
  *out = json_is_true(value);
  return CQ_OK;
}

cq_status cq_json_get_string(const char **out, const json_t *object, const char *key, const char *path,
                             cq_error *error) {
  const json_t *value = json_member(object, key);
  if (!value) return CQ_OK;
  if (!json_is_string(value)) return wrong_type(value, key, "a string", path, error);
  const char *text = json_string_value(value);
  if (strlen(text) != json_string_length(value))
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "\"%s\" holds a NUL character", key);
  *out = text;
  return CQ_OK;
}
