/* Formats with one document per line: lines of text, JSON lines; also JSON lists. */
#include "base/error.h"
#include "base/memory.h"
#include "document/reader.h"
#include "format/json.h"

#include <string.h>

/* The next non-blank line; out->data is NULL at the end. */
static cq_status next_filled(cq_slice *out, cq_document_file *file, cq_error *error) {
  cq_status status;
  do status = cq_lines_next(out, file->lines, error);
  while (!status && out->data && cq_slice_trimmed(*out).n == 0);
  file->line = cq_lines_number(file->lines);
  return status;
}

/* --- lines --- */

static cq_status read_line(bool *found, void *state, cq_document_file *file, cq_error *error) {
  cq_slice line;
  (void)state;
  const cq_status status = next_filled(&line, file, error);
  *found = !status && line.data;
  if (*found) cq_builder_bytes(&file->room->role[CQ_ROLE_TEXT], line.data, line.n);
  return status;
}

const cq_document_type cq_document_type_lines = {.name = "lines", .endings = "", .resumes = true, .read = read_line};

/* --- JSON lines --- */

static const size_t READING = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | CQ_JSON_LENIENT;

static cq_status parse_document(json_t **out, const cq_document_file *file, cq_slice text, cq_error *error) {
  json_error_t problem;
  const cq_status status = cq_json_load(out, text, READING, &problem);
  if (status == CQ_ERR_MEMORY) return cq_fail_memory(error, file->path);
  return status ? cq_document_fail(file, error, "not a JSON object: %.200s (column %d)", problem.text, problem.column)
                : CQ_OK;
}

static cq_status read_json_line(bool *found, void *state, cq_document_file *file, cq_error *error) {
  cq_slice line;
  json_t *object = NULL;
  (void)state;
  cq_status status = next_filled(&line, file, error);
  *found = !status && line.data;
  if (!*found) return status;
  status = parse_document(&object, file, line, error);
  if (!status && !json_is_object(object)) status = cq_document_fail(file, error, "not a JSON object");
  if (!status) status = cq_document_take_object(file, object, true, error);
  json_decref(object);
  return status;
}

const cq_document_type cq_document_type_jsonl = {
    .name = "jsonl", .endings = " .jsonl .ndjson ", .resumes = true, .read = read_json_line};

/* --- JSON: an object, several, or a list of them, each parsed by itself --- */

typedef struct list {
  cq_slice text;
  size_t at;        /* where reading is */
  size_t first;     /* where the first value begins */
  uint64_t n_named; /* objects read that have its first name */
  size_t least;     /* indentation of objects, once it is needed */
  bool has_least;
  bool is_list;              /* begins with '[' */
  bool after_comma, is_over; /* in the list; no value is left */
  uint64_t n;                /* values so far */
  size_t n_counted;          /* bytes whose lines are counted */
  uint64_t line;             /* of the byte after them */
  uint64_t n_bad;            /* bytes looked through because of malformed documents */
} list;

enum { MAX_SCANS = 20 }; /* of a file, because of malformed documents */

static void close_list(void *state) {
  cq_free(state);
}

/* The next character that is no blank, where reading then is; 0: none. */
static char next_char(list *l) {
  while (l->at < l->text.n && cq_is_blank(l->text.data[l->at])) l->at++;
  return l->at == l->text.n ? 0 : l->text.data[l->at] ? l->text.data[l->at] : 1; /* a NUL is not the end */
}

static cq_status open_list(void **state, cq_document_file *file, cq_error *error) {
  list *l = cq_alloc_zeroed(sizeof *l);
  if (!l) return cq_fail_memory(error, file->path);
  *l = (list){.text = file->bytes, .line = 1};
  l->is_list = next_char(l) == '[';
  l->at += l->is_list;
  (void)next_char(l);
  l->first = l->at;
  *state = l;
  return CQ_OK;
}

/* The end of a string that begins at i: its closing quotation mark; n: none on the line. */
static size_t string_end(cq_slice text, size_t i) {
  for (i++; i < text.n && text.data[i] != '"' && text.data[i] != '\n'; i++) i += text.data[i] == '\\';
  return i < text.n && text.data[i] == '"' ? i : text.n;
}

/* The end of a value that begins at i; 0: a bracket or string is not closed. */
static size_t value_end(cq_slice text, size_t i) {
  size_t depth = 0;
  for (bool is_over = false; !is_over; i++) {
    const char c = text.data[i];
    if (c == '"') i = string_end(text, i);
    if (i >= text.n) return 0;
    if (c == '{' || c == '[') depth++;
    if ((c == '}' || c == ']') && depth) depth--;
    if (i + 1 == text.n && depth) return 0;
    is_over = !depth && (i + 1 == text.n || strchr("\"}]", c) || strchr(" \t\r\n,:[]{}\"", text.data[i + 1]));
  }
  return i;
}

/* Blanks before a character on its line; SIZE_MAX: something else, too. */
static size_t indentation(cq_slice text, size_t at) {
  size_t n = 0;
  while (n < at && (text.data[at - n - 1] == ' ' || text.data[at - n - 1] == '\t')) n++;
  return n == at || text.data[at - n - 1] == '\n' ? n : SIZE_MAX;
}

/* The text from a '{' to the end of the name after it; empty: there is none. */
static cq_slice first_name(cq_slice text, size_t i) {
  size_t at = cq_min(i + 1, text.n);
  while (at < text.n && cq_is_blank(text.data[at])) at++;
  const size_t end = at < text.n && text.data[at] == '"' ? string_end(text, at) : text.n;
  return (cq_slice){text.data + at, end < text.n ? end - at : 0};
}

/* The least indentation that several objects have; SIZE_MAX: there is none. */
static size_t least_indentation(cq_slice text) {
  unsigned n_at[64] = {0};
  for (size_t i = 0; i < text.n; i++) {
    const size_t here = text.data[i] == '{' && first_name(text, i).n ? indentation(text, i) : SIZE_MAX;
    if (here < 64) n_at[here]++;
  }
  for (size_t i = 0; i < 64; i++)
    if (n_at[i] > 2) return i;
  return SIZE_MAX;
}

/* Where the document after a malformed one at `from` probably begins: at a '{' that is indented like the first document,
 * or, if that is not at the beginning of a line, follows a comma or a '}' and has its first name. If that may be malformed
 * itself, since no second one is like it, the others' indentation is used, and any name. */
static size_t next_object(list *l, size_t from) {
  const cq_slice text = l->text, name = first_name(text, l->first);
  const bool is_sure = l->n_named > 1;
  if (!is_sure && !l->has_least) l->least = least_indentation(text), l->has_least = true;
  const size_t first = indentation(text, l->first);
  const size_t wanted = !is_sure && (l->least != SIZE_MAX || l->n_named == 0) ? l->least : first;
  for (int any = 0; any <= !is_sure; any++)
    for (size_t i = from + 1; i < text.n; i++) {
      if (text.data[i] != '{') continue;
      const size_t here = indentation(text, i);
      size_t before = i;
      while (before > from && cq_is_blank(text.data[before - 1])) before--;
      const char last = before > from ? text.data[before - 1] : 0;
      const bool follows = last == ',' || (last == '}' && here != SIZE_MAX);
      const cq_slice own = first_name(text, i);
      if (own.n && (wanted == SIZE_MAX ? follows && (any || cq_slice_equal(own, name)) : here == wanted)) return i;
    }
  return text.n;
}

static cq_status fail_list(list *l, size_t at, int line, const char *what, const cq_document_file *file,
                           cq_error *error) {
  for (; l->n_counted < at; l->n_counted++) l->line += l->text.data[l->n_counted] == '\n';
  return cq_fail_line(error, CQ_ERR_FORMAT, file->path, l->line + (uint64_t)line - 1, "not JSON: %.200s", what);
}

static bool is_last_bracket(const list *l) {
  return cq_slice_trimmed((cq_slice){l->text.data + l->at, l->text.n - l->at}).n == 1 && l->text.data[l->at] == ']';
}

/* Resumes at the next document after a malformed one at `from`. */
static void resume_list(list *l, size_t from) {
  l->at = next_object(l, from);
  l->after_comma = true;
  l->is_over = l->at == l->text.n || l->n_bad > MAX_SCANS * (uint64_t)l->text.n;
}

/* Reads the value at l->at, and moves past it. */
static cq_status next_value(json_t **out, list *l, cq_document_file *file, cq_error *error) {
  const size_t from = l->at, end = value_end(l->text, from);
  const size_t n = (end ? end : next_object(l, from)) - from;
  json_error_t problem;
  cq_status status = cq_json_load(out, (cq_slice){l->text.data + from, n}, READING | JSON_DECODE_ANY, &problem);
  if (status == CQ_ERR_MEMORY) return cq_fail_memory(error, file->path);
  l->at = from + n;
  const char after = next_char(l);
  const bool ends_here = end && (l->is_list ? after == ',' || is_last_bracket(l) : !after || after == '{');
  l->after_comma = l->is_list && after == ',';
  l->at += l->after_comma;
  if (!status && json_is_object(*out))
    l->n_named += cq_slice_equal(first_name(l->text, from), first_name(l->text, l->first));
  if (!status && (ends_here || json_is_object(*out))) return CQ_OK;
  if (!status) snprintf(problem.text, sizeof problem.text, "expected an object"), problem.line = 1;
  status = fail_list(l, from, problem.line, problem.text, file, error);
  l->n_bad += (end ? end : l->text.n) - from;
  if (!ends_here || next_object(l, from) < end) resume_list(l, from);
  return status;
}

static cq_status read_list(bool *found, void *state, cq_document_file *file, cq_error *error) {
  list *l = state;
  json_t *value = NULL;
  const char c = next_char(l);
  *found = false;
  if (l->is_over || (!l->is_list && !c && l->n > 0)) return CQ_OK;
  l->is_over = !c || (l->is_list && c == ']' && is_last_bracket(l));
  if (l->is_over && c && !l->after_comma) return CQ_OK;
  if (l->is_over)
    return fail_list(l, l->at, 1, c ? "expected a value after the comma" : "it ends too early", file, error);
  if (l->is_list && l->n > 0 && !l->after_comma) {
    const cq_status status = fail_list(l, l->at, 1, "expected ',' or ']'", file, error);
    l->after_comma = c == '{';
    if (c != '{') resume_list(l, l->at);
    return status;
  }
  file->line = ++l->n;
  cq_status status = next_value(&value, l, file, error);
  *found = !status;
  if (!status && !json_is_object(value))
    status = cq_fail_file(error, CQ_ERR_FORMAT, file->path, "item %llu of the list is not an object",
                          (unsigned long long)l->n);
  if (!status) status = cq_document_take_object(file, value, true, error);
  json_decref(value);
  return status;
}

const cq_document_type cq_document_type_json = {.name = "json",
                                                .endings = " .json ",
                                                .resumes = true,
                                                .most_bytes = CQ_WHOLE_FILE,
                                                .open = open_list,
                                                .read = read_list,
                                                .close = close_list};
