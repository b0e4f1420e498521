/* Jansson with an allocator that survives exhaustion, and a writer whose numbers read back as the same double. */
#include "format/json.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/number.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

/* Jansson's parser does not survive a failed allocation: it loses characters, or an assertion fails within an escape.
 * So each call has a reserve. When the allocator fails, memory comes from the reserve, the text ends after the current
 * piece, and the result is dropped. A character needs less than CHARACTER_BYTES; a string being read is copied to at
 * most twice its size. */
enum { PIECE = 1024, CHARACTER_BYTES = 256 };

typedef struct reserve {
  char *bytes;
  size_t n, used;
  bool is_tapped;
} reserve;

static _Thread_local reserve *of_this_call;

static void *tap(reserve *r, size_t n) {
  const size_t rounded = (n + 15) / 16 * 16;
  r->is_tapped = true;
  if (rounded > r->n - r->used) return NULL;
  r->used += rounded;
  return r->bytes + (r->used - rounded);
}

static void *json_alloc(size_t n) {
  void *p = cq_alloc_small(n);
  return p || !of_this_call ? p : tap(of_this_call, n);
}

static void json_release(void *p) {
  const reserve *r = of_this_call;
  if (r && r->n && (char *)p >= r->bytes && (char *)p < r->bytes + r->n) return;
  cq_free(p);
}

/* For the whole process; Jansson objects of the program that uses the library still come from malloc. */
__attribute__((constructor)) static void use_own_allocator(void) {
  json_set_alloc_funcs(json_alloc, json_release);
}

static void drop_json(json_t **json) {
  json_decref(*json);
  *json = NULL;
}

/* ---- reading ---- */

static size_t next_piece(void *buffer, size_t n, void *context) {
  cq_slice *rest = context;
  if (of_this_call->is_tapped) return 0;
  n = cq_min(cq_min(n, PIECE), rest->n);
  if (n) memcpy(buffer, rest->data, n);
  rest->data += n, rest->n -= n;
  return n;
}

static cq_status load_once(json_t **out, cq_slice text, size_t flags, json_error_t *problem) {
  reserve r = {0};
  *out = NULL;
  const size_t of_piece = (cq_min(text.n, PIECE) + 4) * CHARACTER_BYTES;
  if (!cq_checked_mul(&r.n, text.n, 4) || !cq_checked_add(&r.n, r.n, of_piece) || !(r.bytes = cq_alloc_small(r.n)))
    return CQ_ERR_MEMORY;
  of_this_call = &r;
  *out = json_load_callback(next_piece, &text, flags, problem);
  const bool no_memory = r.is_tapped || (!*out && json_error_code(problem) == json_error_out_of_memory);
  if (no_memory) drop_json(out);
  of_this_call = NULL;
  cq_free(r.bytes);
  return no_memory ? CQ_ERR_MEMORY : *out ? CQ_OK : CQ_ERR_FORMAT;
}

static cq_status load_mended(json_t **out, cq_slice text, size_t flags, bool as_text, json_error_t *problem) {
  cq_builder mended = {0};
  cq_json_mend(&mended, text, as_text);
  const cq_status status =
      mended.failed ? CQ_ERR_MEMORY : load_once(out, (cq_slice){mended.data, mended.n}, flags, problem);
  cq_builder_free(&mended);
  return status;
}

cq_status cq_json_load(json_t **out, cq_slice text, size_t flags, json_error_t *problem) {
  const size_t of_jansson = flags & ~(size_t)CQ_JSON_LENIENT;
  cq_status status = load_once(out, text, of_jansson, problem);
  if (status == CQ_ERR_FORMAT && (flags & CQ_JSON_LENIENT) &&
      (json_error_code(problem) == json_error_numeric_overflow || strstr(problem->text, "Unicode")))
    status = load_mended(out, text, of_jansson, true, problem);
  if (status == CQ_ERR_FORMAT && json_error_code(problem) == json_error_null_character)
    snprintf(problem->text, sizeof problem->text - 1, "a NUL character (\\u0000) in a string");
  return status;
}

/* Python's NaN, Infinity, and -Infinity become strings, which no reader of a number takes. */
static void quote_python_numbers(cq_builder *out, cq_slice text) {
  static const char *const words[] = {"NaN", "Infinity", "-Infinity"};
  bool in_string = false;
  for (size_t i = 0, n; i < text.n; i += n) {
    const char *at = text.data + i;
    n = 0;
    for (size_t w = 0; !in_string && !n && w < sizeof words / sizeof *words; w++)
      if (text.n - i >= strlen(words[w]) && memcmp(at, words[w], strlen(words[w])) == 0) n = strlen(words[w]);
    if (n) {
      cq_builder_char(out, '"');
      cq_builder_bytes(out, at, n);
      cq_builder_char(out, '"');
      continue;
    }
    n = in_string && *at == '\\' && i + 1 < text.n ? 2 : 1;
    in_string ^= *at == '"';
    cq_builder_bytes(out, at, n);
  }
}

/* Python writes integers of any size: tokenizers have a maximum length of 10^30. */
cq_status cq_json_parse(json_t **out, cq_slice text, const char *path, cq_error *error) {
  json_error_t problem;
  cq_status status = cq_json_load(out, text, JSON_ALLOW_NUL, &problem);
  if (status == CQ_ERR_FORMAT &&
      (strstr(problem.text, "too big") || json_error_code(&problem) == json_error_invalid_syntax)) {
    cq_builder quoted = {0};
    quote_python_numbers(&quoted, text);
    status = quoted.failed ? CQ_ERR_MEMORY
                           : load_mended(out, (cq_slice){quoted.data, quoted.n}, JSON_ALLOW_NUL, false, &problem);
    cq_builder_free(&quoted);
  }
  if (status == CQ_ERR_MEMORY) return cq_fail_memory(error, path);
  if (status == CQ_OK) return CQ_OK;
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

cq_status cq_json_open(json_t **out, char *path, size_t size, const char *directory, const char *name,
                       cq_error *error) {
  *out = NULL;
  cq_status status = cq_path_join(path, size, directory, name, error);
  if (!status) status = cq_json_read(out, path, error);
  if (status || json_is_object(*out)) return status;
  drop_json(out);
  return cq_fail_file(error, CQ_ERR_FORMAT, path, "expected an object");
}

/* ---- making ---- */

void cq_json_set(json_t **object, const char *key, json_t *value) {
  if (!*object)
    json_decref(value);
  else if (json_object_set_new(*object, key, value) != 0) /* which has released it */
    drop_json(object);
}

void cq_json_push(json_t **list, json_t *value) {
  if (!*list)
    json_decref(value);
  else if (json_array_append_new(*list, value) != 0)
    drop_json(list);
}

void cq_json_update(json_t **object, json_t *more) {
  if (!*object || !more || json_object_update(*object, more)) drop_json(object);
  json_decref(more);
}

static json_t *whole_copy(json_t *copy, const json_t *json) {
  if (copy && !json_equal(copy, json)) drop_json(&copy);
  return copy;
}

json_t *cq_json_copy(const json_t *json) {
  return whole_copy(json_copy((json_t *)(uintptr_t)json), json);
}

json_t *cq_json_deep_copy(const json_t *json) {
  return whole_copy(json_deep_copy(json), json);
}

/* ---- writing ---- */

char *cq_json_dump(const json_t *json, size_t flags) {
  reserve r = {0}; /* empty: only to notice a failed allocation */
  of_this_call = &r;
  char *text = json_dumps(json, flags);
  of_this_call = NULL;
  if (!r.is_tapped) return text;
  cq_free(text);
  return NULL;
}

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

/* indent < 0: everything on one line. */
static void append_break(cq_builder *b, int indent, int depth) {
  if (indent < 0) return;
  cq_builder_char(b, '\n');
  for (int i = 0; i < indent * depth; i++) cq_builder_char(b, ' ');
}

/* Jansson limits the depth of parsed documents, and our code limits that of others. */
static void append_value(cq_builder *b, const json_t *value, int indent, int depth) { // NOLINT(misc-no-recursion)
  switch (json_typeof(value)) {
  case JSON_NULL: cq_builder_text(b, "null"); return;
  case JSON_TRUE: cq_builder_text(b, "true"); return;
  case JSON_FALSE: cq_builder_text(b, "false"); return;
  case JSON_INTEGER: cq_builder_printf(b, "%lld", (long long)json_integer_value(value)); return;
  case JSON_REAL: append_real(b, json_real_value(value)); return;
  case JSON_STRING: cq_json_string(b, json_string_value(value), json_string_length(value), "\n\r\t\x7f"); return;
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
    json_t *object = (json_t *)(uintptr_t)value; /* Jansson's iterator is not const-correct, but changes nothing */
    cq_builder_char(b, '{');
    for (void *i = json_object_iter(object); i; i = json_object_iter_next(object, i)) {
      cq_builder_text(b, between);
      between = indent < 0 ? ", " : ",";
      append_break(b, indent, depth + 1);
      cq_json_string(b, json_object_iter_key(i), strlen(json_object_iter_key(i)), "\n\r\t\x7f");
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

bool cq_json_has(const json_t *object, const char *key) {
  return json_member(object, key) != NULL;
}

cq_status cq_json_get_int(int64_t *out, const json_t *object, const char *key, int64_t min, int64_t max,
                          const char *path, cq_error *error) {
  const json_t *value = json_member(object, key);
  if (!value) return CQ_OK;
  bool whole = json_is_real(value) && json_real_value(value) == floor(json_real_value(value));
  if (!json_is_integer(value) && !whole) return wrong_type(value, key, "an integer", path, error);
  /* A whole real number is an integer that was written as 1e30 or 512.0; the limit 2^53 keeps the cast exact. */
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
