/* Rows with columns named by the first row: CSV (RFC 4180, by libcsv), and tab-separated columns.
 *
 * CSV: the separator is a comma, semicolon, tab or bar: the first with which a column of the first row is the text, or
 * that of a line "sep=;". Without a text, two languages are translations: of "en,de" or "source,target" the first is the
 * text, the second stands in the metadata. TSV: quotation marks are text, unless only they explain a row: those of Excel
 * and pandas.
 *
 * See format/csv_rows.h. */
#include "base/error.h"
#include "base/memory.h"
#include "corpus/format.h"
#include "document/reader.h"
#include "format/csv_rows.h"
#include "format/json.h"
#include "text/identify.h"

#include <string.h>
#include <strings.h>

enum { MAX_COLUMNS = CQ_CSV_COLUMNS };

typedef struct columns {
  bool is_csv;
  cq_csv csv;       /* the current row */
  cq_builder names; /* the first row */
  size_t name_end[MAX_COLUMNS];
  size_t n_names;
  int role_of[MAX_COLUMNS]; /* -1: metadata */
  bool has_text;
  bool names_language; /* the text's column does */
  bool is_pending;     /* the first row is a document */
} columns;

/* --- the next row --- */

static void split_tabs(columns *c, cq_slice line) {
  for (const char *tab; (tab = memchr(line.data, '\t', line.n));
       line.n -= (size_t)(tab + 1 - line.data), line.data = tab + 1)
    cq_csv_add(&c->csv, line.data, (size_t)(tab - line.data));
  cq_csv_add(&c->csv, line.data, line.n);
  c->csv.is_complete = true;
}

static bool has_doubled_quote(cq_slice line) {
  for (size_t i = 1; i < line.n; i++)
    if (line.data[i] == '"' && line.data[i - 1] == '"') return true;
  return false;
}

/* Whether one of the lines of the row after its first one is a row of its own without quotes. */
static bool has_row(const columns *c, size_t second) {
  size_t n_columns = 1;
  for (size_t i = second; i < c->csv.next_kept; i++) {
    if (c->csv.kept.data[i] == '\n' && n_columns == c->n_names) return true;
    n_columns = c->csv.kept.data[i] == '\n' ? 1 : n_columns + (c->csv.kept.data[i] == '\t');
  }
  return false;
}

/* Excel and pandas quote a field with a tab, a line end or a quotation mark, which they double. */
static cq_status parse_tabs(columns *c, cq_document_file *file, cq_slice line, cq_error *error) {
  cq_builder first = {0};
  split_tabs(c, line);
  const bool fits = c->csv.n == c->n_names, is_doubled = has_doubled_quote(line);
  const cq_slice last = c->csv.n <= MAX_COLUMNS ? cq_csv_field(&c->csv.row, c->csv.end, c->csv.n - 1) : line;
  if (c->n_names == 0 || !memchr(line.data, '"', line.n) || (fits && !is_doubled && (!last.n || *last.data != '"')))
    return CQ_OK;
  cq_builder_bytes(&first, line.data, line.n);
  if (first.failed) return cq_fail_memory(error, file->path);
  const size_t second = c->csv.next_kept;
  cq_csv_clear(&c->csv);
  cq_status status = cq_csv_parse(&c->csv, file->lines, line, NULL);
  const bool is_proof = !fits || is_doubled || c->csv.next_kept > second;
  if (status != CQ_ERR_MEMORY && (status || !is_proof || c->csv.n != c->n_names || has_row(c, second))) {
    c->csv.next_kept = second, c->csv.number = file->line, status = CQ_OK;
    cq_csv_clear(&c->csv);
    split_tabs(c, (cq_slice){first.data, first.n});
  }
  cq_builder_free(&first);
  return status ? cq_fail_memory(error, file->path) : CQ_OK;
}

static cq_status next_row(bool *found, columns *c, cq_document_file *file, cq_error *error) {
  cq_slice line = {0};
  cq_status status;
  *found = false;
  cq_csv_clear(&c->csv);
  if (c->csv.next_kept == c->csv.kept.n) cq_builder_clear(&c->csv.kept), c->csv.next_kept = 0;
  do status = cq_csv_line(&line, &c->csv, file->lines, error);
  while (!status && line.data && line.n == 0);
  if (status || !line.data) return status;
  file->line = c->csv.first = c->csv.number;
  status = c->is_csv ? cq_csv_parse(&c->csv, file->lines, line, error) : parse_tabs(c, file, line, error);
  if (status) return status;
  if (c->csv.row.failed) return cq_fail_memory(error, file->path);
  if (c->csv.n > MAX_COLUMNS)
    return cq_document_fail(file, error, "%zu columns, at most %d are read", c->csv.n, MAX_COLUMNS);
  *found = true;
  return CQ_OK;
}

/* --- the first row --- */

static cq_slice name_at(const columns *c, size_t i) {
  return cq_slice_trimmed(cq_csv_field(&c->names, c->name_end, i));
}

static const char *language_named(cq_slice name) {
  char tag[32];
  cq_slice_copy(tag, sizeof tag, name);
  return cq_is_code(name) ? cq_language_known_as(tag) : NULL;
}

/* The first two columns that have no role, if they are languages. */
static void find_translations(columns *c) {
  cq_slice names[2];
  size_t n = 0, text = 0;
  bool has_language = false;
  for (size_t i = 0; i < c->n_names; i++) {
    has_language |= c->role_of[i] == CQ_ROLE_LANGUAGE;
    if (c->role_of[i] >= 0 || n == 2) continue;
    if (n == 0) text = i;
    names[n++] = name_at(c, i);
  }
  if (n < 2) return;
  const char *of_text = language_named(names[0]), *other = language_named(names[1]);
  c->has_text =
      of_text ? other && of_text != other
              : cq_slice_equal(names[0], cq_slice_of("source")) && cq_slice_equal(names[1], cq_slice_of("target"));
  c->names_language = c->has_text && of_text && !has_language;
  if (c->has_text) c->role_of[text] = CQ_ROLE_TEXT;
}

static void find_roles(columns *c, const cq_document_fields *fields) {
  c->has_text = c->names_language = false;
  for (size_t i = 0; i < c->n_names; i++) c->role_of[i] = -1;
  for (int role = 0; role < CQ_ROLES; role++) {
    int best_rank = 100;
    size_t best = MAX_COLUMNS;
    for (size_t i = 0; i < c->n_names; i++) {
      const int rank = cq_document_fields_rank(fields, (cq_document_role)role, name_at(c, i));
      if (rank >= 0 && rank < best_rank) best = i, best_rank = rank;
    }
    if (best < MAX_COLUMNS) c->role_of[best] = role;
    c->has_text |= best < MAX_COLUMNS && role == CQ_ROLE_TEXT;
  }
  if (c->is_csv && !c->has_text && !fields->name[CQ_ROLE_TEXT].n) find_translations(c);
}

/* Takes the row as the names. */
static cq_status take_names(columns *c, const cq_document_file *file, cq_error *error) {
  c->n_names = c->csv.n < MAX_COLUMNS ? c->csv.n : MAX_COLUMNS;
  memcpy(c->name_end, c->csv.end, sizeof c->csv.end);
  cq_builder_clear(&c->names);
  cq_builder_bytes(&c->names, c->csv.row.data ? c->csv.row.data : "", c->csv.row.n);
  if (c->names.failed) return cq_fail_memory(error, file->path);
  find_roles(c, file->fields);
  return CQ_OK;
}

/* Looks at the first line that is not blank. A TSV file whose first name is quoted has quotes everywhere. */
static cq_status choose_separator(columns *c, cq_document_file *file, cq_error *error) {
  const char *separators = c->is_csv ? ",;\t|" : "\t";
  cq_slice line;
  cq_status status;
  do status = cq_csv_line(&line, &c->csv, file->lines, error);
  while (!status && c->is_csv && line.data && cq_slice_trimmed(line).n == 0);
  if (status || !line.data) return status;
  if (c->is_csv && line.n == 5 && !strncasecmp(line.data, "sep=", 4)) {
    csv_set_delim(&c->csv.parser, (unsigned char)line.data[4]);
    return CQ_OK;
  }
  cq_csv_keep(&c->csv, line), c->csv.number--;
  if (c->csv.kept.failed) return cq_fail_memory(error, file->path);
  if (!c->is_csv && (line.n == 0 || *line.data != '"')) return CQ_OK;
  for (; *separators && !c->has_text; separators++) {
    cq_csv_clear(&c->csv);
    csv_set_delim(&c->csv.parser, (unsigned char)*separators);
    status = cq_csv_parse_line(&c->csv, line, file->path, NULL);
    if (status == CQ_ERR_MEMORY) return cq_fail_memory(error, file->path);
    if (!status && (status = take_names(c, file, error))) return status;
  }
  c->is_csv |= c->has_text;
  if (!c->has_text) csv_set_delim(&c->csv.parser, c->is_csv ? ',' : '\t');
  return CQ_OK;
}

/* A TSV file without column names has a text, or an id and a text. */
static cq_status go_without_names(columns *c, const cq_document_file *file, cq_error *error) {
  if (c->is_csv || c->csv.n > 2 || file->fields->name[CQ_ROLE_TEXT].n) {
    char what[300] = "the columns are";
    for (size_t i = 0, n; i < c->n_names && (n = strlen(what)) < 200; i++) {
      const cq_slice name = cq_csv_field(&c->names, c->name_end, i);
      snprintf(what + n, sizeof what - n, " '%.*s'", (int)cq_min(name.n, (size_t)40), name.data);
    }
    strncat(what, "; no column is named", sizeof what - strlen(what) - 1);
    return cq_document_fail_text(file, error, what);
  }
  CQ_NOTIFY(file, "%.120s: no column is named \"text\": each row is %s", file->path,
            c->csv.n == 2 ? "an id and a text" : "a text");
  c->n_names = c->csv.n;
  c->role_of[0] = c->csv.n == 2 ? CQ_ROLE_ID : CQ_ROLE_TEXT;
  c->role_of[1] = CQ_ROLE_TEXT;
  c->is_pending = true;
  return CQ_OK;
}

static void close_columns(void *state) {
  columns *c = state;
  if (!c) return;
  cq_csv_free(&c->csv);
  cq_builder_free(&c->names);
  cq_free(c);
}

static cq_status read_names(columns *c, cq_document_file *file, cq_error *error) {
  bool found = false;
  cq_status status = choose_separator(c, file, error);
  c->n_names = 0;
  if (!status) status = next_row(&found, c, file, error);
  if (!status && found) status = take_names(c, file, error);
  if (status || !found) return status;
  for (size_t i = 0; i < c->csv.n; i++)
    for (size_t k = 0; k < i; k++)
      if (cq_slice_equal(cq_csv_field(&c->names, c->name_end, i), cq_csv_field(&c->names, c->name_end, k)) && c->is_csv)
        return cq_document_fail(file, error, "columns %zu and %zu have the same name", k + 1, i + 1);
  return c->has_text ? CQ_OK : go_without_names(c, file, error);
}

static cq_status open_columns(void **state, cq_document_file *file, bool is_csv, cq_error *error) {
  columns *c = cq_alloc_zeroed(sizeof *c);
  if (!c) return cq_fail_memory(error, file->path);
  c->is_csv = is_csv;
  cq_status status = cq_csv_init(&c->csv, file->path, error);
  if (!is_csv) csv_set_delim(&c->csv.parser, '\t');
  if (!status) status = read_names(c, file, error);
  if (status) close_columns(c);
  *state = status ? NULL : c;
  return status;
}

static cq_status open_csv(void **state, cq_document_file *file, cq_error *error) {
  return open_columns(state, file, true, error);
}

static cq_status open_tsv(void **state, cq_document_file *file, cq_error *error) {
  return open_columns(state, file, false, error);
}

/* --- a document --- */

static cq_status take_row(columns *c, cq_document_file *file, cq_error *error) {
  json_t *metadata = json_object();
  if (c->csv.n != c->n_names) {
    json_decref(metadata);
    return cq_document_fail(file, error, "%zu columns, the first row has %zu", c->csv.n, c->n_names);
  }
  for (size_t i = 0; i < c->csv.n; i++) {
    const cq_slice value = cq_csv_field(&c->csv.row, c->csv.end, i);
    if (c->names_language && c->role_of[i] == CQ_ROLE_TEXT)
      cq_builder_slice(&file->room->role[CQ_ROLE_LANGUAGE], name_at(c, i));
    if (c->role_of[i] >= 0) {
      cq_builder_bytes(&file->room->role[c->role_of[i]], value.data, value.n);
    } else if (value.n) {
      const cq_slice name = cq_csv_field(&c->names, c->name_end, i);
      char *key = cq_strndup(name.data, name.n);
      cq_json_set(&metadata, key ? key : "", key ? json_stringn(value.data, value.n) : NULL);
      cq_free(key);
    }
  }
  if (!metadata) return cq_fail_memory(error, file->path);
  if (json_object_size(metadata)) cq_json_append(&file->room->metadata, metadata, -1);
  json_decref(metadata);
  return CQ_OK;
}

static cq_status read_row(bool *found, void *state, cq_document_file *file, cq_error *error) {
  columns *c = state;
  *found = c->is_pending;
  cq_status status = CQ_OK;
  if (!c->is_pending) status = next_row(found, c, file, error);
  c->is_pending = false;
  return status || !*found ? status : take_row(c, file, error);
}

const cq_document_type cq_document_type_csv = {
    .name = "csv", .endings = " .csv ", .resumes = true, .open = open_csv, .read = read_row, .close = close_columns};
const cq_document_type cq_document_type_tsv = {.name = "tsv",
                                               .resumes = true,
                                               .endings = " .tsv .tab ",
                                               .open = open_tsv,
                                               .read = read_row,
                                               .close = close_columns};
