/* Rows with columns named by the first row: CSV (RFC 4180, by libcsv), and tab-separated columns.
 *
 * CSV: the separator is a comma, semicolon, tab or bar: the first with which a column of the first row is the text, or
 * that of a line "sep=;". TSV: quotation marks are text, unless only they explain a row: those of Excel and pandas.
 *
 * A quoted field may span lines. When such a row turns out to be malformed, reading resumes at its second line. */
#include "base/error.h"
#include "base/memory.h"
#include "document/reader.h"
#include "format/json.h"

#include <csv.h>
#include <string.h>
#include <strings.h>

enum { MAX_COLUMNS = 256 };

typedef struct columns {
  bool is_csv;
  struct csv_parser parser;
  cq_builder kept;         /* lines of the row after its first one, which are read again if it is malformed */
  size_t next_kept;        /* what is read next of them */
  uint64_t number;         /* of the last line */
  cq_builder row;          /* the fields one after another */
  size_t end[MAX_COLUMNS]; /* of each field in it */
  size_t n;                /* fields of the current row */
  bool is_complete;
  cq_builder names; /* the first row */
  size_t name_end[MAX_COLUMNS];
  size_t n_names;
  int role_of[MAX_COLUMNS]; /* -1: metadata */
  bool has_text;
  bool is_pending; /* the first row is a document */
} columns;

static cq_slice field_at(const cq_builder *row, const size_t *end, size_t i) {
  const size_t begin = i ? end[i - 1] : 0;
  return (cq_slice){row->data ? row->data + begin : "", end[i] - begin};
}

/* --- the next row --- */

static void add_field(columns *c, const void *bytes, size_t n) {
  if (c->n < MAX_COLUMNS) {
    cq_builder_bytes(&c->row, bytes ? bytes : "", n);
    c->end[c->n] = c->row.n;
  }
  c->n++;
}

static void take_field(void *bytes, size_t n, void *context) {
  add_field(context, bytes, n);
}

static void end_row(int last, void *context) {
  (void)last;
  ((columns *)context)->is_complete = true;
}

static int is_never(unsigned char c) {
  (void)c;
  return 0;
}

static cq_status fail_csv(columns *c, const cq_document_file *file, cq_error *error) {
  const int code = csv_error(&c->parser);
  if (code == CSV_ENOMEM) return cq_fail_memory(error, file->path);
  return cq_document_fail(file, error, "a quotation mark inside a field, or after its closing quotation mark");
}

static cq_status parse_csv_line(columns *c, const cq_document_file *file, cq_slice line, cq_error *error) {
  if (csv_parse(&c->parser, line.data, line.n, take_field, end_row, c) != line.n ||
      csv_parse(&c->parser, "\n", 1, take_field, end_row, c) != 1)
    return fail_csv(c, file, error);
  return CQ_OK;
}

static void split_tabs(columns *c, cq_slice line) {
  for (const char *tab; (tab = memchr(line.data, '\t', line.n));
       line.n -= (size_t)(tab + 1 - line.data), line.data = tab + 1)
    add_field(c, line.data, (size_t)(tab - line.data));
  add_field(c, line.data, line.n);
  c->is_complete = true;
}

static void clear_row(columns *c) {
  csv_fini(&c->parser, NULL, NULL, NULL);
  c->n = 0, c->is_complete = false;
  cq_builder_clear(&c->row);
}

static cq_status next_line(cq_slice *out, columns *c, cq_document_file *file, cq_error *error) {
  if (c->next_kept < c->kept.n) {
    const char *begin = c->kept.data + c->next_kept;
    *out = (cq_slice){begin, (size_t)((const char *)memchr(begin, '\n', c->kept.n - c->next_kept) - begin)};
    c->next_kept += out->n + 1, c->number++;
    return CQ_OK;
  }
  const cq_status status = cq_lines_next(out, file->lines, error);
  c->number = cq_lines_number(file->lines);
  return status;
}

static void keep_line(columns *c, cq_slice line) {
  cq_builder_bytes(&c->kept, line.data, line.n);
  cq_builder_char(&c->kept, '\n');
}

/* Parses a row that begins with this line, with quotes; after an error, the next row begins at the line after it. */
static cq_status parse_quoted(columns *c, cq_document_file *file, cq_slice line, cq_error *error) {
  const size_t second = c->next_kept;
  size_t n_bytes = line.n;
  cq_status status = parse_csv_line(c, file, line, error);
  while (!status && !c->is_complete) {
    const bool is_new = c->next_kept == c->kept.n;
    status = next_line(&line, c, file, error);
    if (status) break;
    if (!line.data) {
      status = cq_document_fail(file, error, "a quotation mark that is not closed");
      break;
    }
    if (is_new) keep_line(c, line), c->next_kept = c->kept.n;
    n_bytes += line.n;
    if (n_bytes > (size_t)64 << 20)
      status = cq_fail_line(error, CQ_ERR_LIMIT, file->path, file->line, "a row of more than 64 MiB");
    else
      status = parse_csv_line(c, file, line, error);
  }
  if (c->row.failed || c->kept.failed) return cq_fail_memory(error, file->path);
  if (status) c->next_kept = second, c->number = file->line, clear_row(c);
  return status;
}

static bool has_doubled_quote(cq_slice line) {
  for (size_t i = 1; i < line.n; i++)
    if (line.data[i] == '"' && line.data[i - 1] == '"') return true;
  return false;
}

/* Whether one of the lines of the row after its first one is a row of its own without quotes. */
static bool has_row(const columns *c, size_t second) {
  size_t n_columns = 1;
  for (size_t i = second; i < c->next_kept; i++) {
    if (c->kept.data[i] == '\n' && n_columns == c->n_names) return true;
    n_columns = c->kept.data[i] == '\n' ? 1 : n_columns + (c->kept.data[i] == '\t');
  }
  return false;
}

/* Excel and pandas quote a field with a tab, a line end or a quotation mark, which they double. */
static cq_status parse_tabs(columns *c, cq_document_file *file, cq_slice line, cq_error *error) {
  cq_builder first = {0};
  split_tabs(c, line);
  const bool fits = c->n == c->n_names, is_doubled = has_doubled_quote(line);
  const cq_slice last = c->n <= MAX_COLUMNS ? field_at(&c->row, c->end, c->n - 1) : line;
  if (c->n_names == 0 || !memchr(line.data, '"', line.n) || (fits && !is_doubled && (!last.n || *last.data != '"')))
    return CQ_OK;
  cq_builder_bytes(&first, line.data, line.n);
  if (first.failed) return cq_fail_memory(error, file->path);
  const size_t second = c->next_kept;
  clear_row(c);
  cq_status status = parse_quoted(c, file, line, NULL);
  const bool is_proof = !fits || is_doubled || c->next_kept > second;
  if (status != CQ_ERR_MEMORY && (status || !is_proof || c->n != c->n_names || has_row(c, second))) {
    c->next_kept = second, c->number = file->line, status = CQ_OK;
    clear_row(c);
    split_tabs(c, (cq_slice){first.data, first.n});
  }
  cq_builder_free(&first);
  return status ? cq_fail_memory(error, file->path) : CQ_OK;
}

static cq_status next_row(bool *found, columns *c, cq_document_file *file, cq_error *error) {
  cq_slice line = {0};
  cq_status status;
  *found = false;
  clear_row(c);
  if (c->next_kept == c->kept.n) cq_builder_clear(&c->kept), c->next_kept = 0;
  do status = next_line(&line, c, file, error);
  while (!status && line.data && line.n == 0);
  if (status || !line.data) return status;
  file->line = c->number;
  status = c->is_csv ? parse_quoted(c, file, line, error) : parse_tabs(c, file, line, error);
  if (status) return status;
  if (c->row.failed) return cq_fail_memory(error, file->path);
  if (c->n > MAX_COLUMNS) return cq_document_fail(file, error, "%zu columns, at most %d are read", c->n, MAX_COLUMNS);
  *found = true;
  return CQ_OK;
}

/* --- the first row --- */

static void find_roles(columns *c, const cq_document_fields *fields) {
  c->has_text = false;
  for (size_t i = 0; i < c->n_names; i++) c->role_of[i] = -1;
  for (int role = 0; role < CQ_ROLES; role++) {
    int best_rank = 100;
    size_t best = MAX_COLUMNS;
    for (size_t i = 0; i < c->n_names; i++) {
      const cq_slice name = cq_slice_trimmed(field_at(&c->names, c->name_end, i));
      const int rank = cq_document_fields_rank(fields, (cq_document_role)role, name);
      if (rank >= 0 && rank < best_rank) best = i, best_rank = rank;
    }
    if (best < MAX_COLUMNS) c->role_of[best] = role;
    c->has_text |= best < MAX_COLUMNS && role == CQ_ROLE_TEXT;
  }
}

/* Takes the row as the names. */
static cq_status take_names(columns *c, const cq_document_file *file, cq_error *error) {
  c->n_names = c->n < MAX_COLUMNS ? c->n : MAX_COLUMNS;
  memcpy(c->name_end, c->end, sizeof c->end);
  cq_builder_clear(&c->names);
  cq_builder_bytes(&c->names, c->row.data ? c->row.data : "", c->row.n);
  if (c->names.failed) return cq_fail_memory(error, file->path);
  find_roles(c, file->fields);
  return CQ_OK;
}

/* Looks at the first line that is not blank. A TSV file whose first name is quoted has quotes everywhere. */
static cq_status choose_separator(columns *c, cq_document_file *file, cq_error *error) {
  const char *separators = c->is_csv ? ",;\t|" : "\t";
  cq_slice line;
  cq_status status;
  do status = next_line(&line, c, file, error);
  while (!status && c->is_csv && line.data && cq_slice_trimmed(line).n == 0);
  if (status || !line.data) return status;
  if (c->is_csv && line.n == 5 && !strncasecmp(line.data, "sep=", 4)) {
    csv_set_delim(&c->parser, (unsigned char)line.data[4]);
    return CQ_OK;
  }
  keep_line(c, line), c->number--;
  if (c->kept.failed) return cq_fail_memory(error, file->path);
  if (!c->is_csv && (line.n == 0 || *line.data != '"')) return CQ_OK;
  for (; *separators && !c->has_text; separators++) {
    clear_row(c);
    csv_set_delim(&c->parser, (unsigned char)*separators);
    status = parse_csv_line(c, file, line, NULL);
    if (status == CQ_ERR_MEMORY) return cq_fail_memory(error, file->path);
    if (!status && (status = take_names(c, file, error))) return status;
  }
  c->is_csv |= c->has_text;
  if (!c->has_text) csv_set_delim(&c->parser, c->is_csv ? ',' : '\t');
  return CQ_OK;
}

/* A TSV file without column names has a text, or an id and a text. */
static cq_status go_without_names(columns *c, const cq_document_file *file, cq_error *error) {
  if (c->is_csv || c->n > 2 || file->fields->name[CQ_ROLE_TEXT].n) {
    char what[300] = "the columns are";
    for (size_t i = 0, n; i < c->n_names && (n = strlen(what)) < 200; i++) {
      const cq_slice name = field_at(&c->names, c->name_end, i);
      snprintf(what + n, sizeof what - n, " '%.*s'", (int)cq_min(name.n, (size_t)40), name.data);
    }
    strncat(what, "; no column is named", sizeof what - strlen(what) - 1);
    return cq_document_fail_text(file, error, what);
  }
  CQ_NOTIFY(file, "%.120s: no column is named \"text\": each row is %s", file->path,
            c->n == 2 ? "an id and a text" : "a text");
  c->n_names = c->n;
  c->role_of[0] = c->n == 2 ? CQ_ROLE_ID : CQ_ROLE_TEXT;
  c->role_of[1] = CQ_ROLE_TEXT;
  c->is_pending = true;
  return CQ_OK;
}

static void close_columns(void *state) {
  columns *c = state;
  if (!c) return;
  csv_free(&c->parser);
  cq_builder_free(&c->kept);
  cq_builder_free(&c->row);
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
  for (size_t i = 0; i < c->n; i++)
    for (size_t k = 0; k < i; k++)
      if (cq_slice_equal(field_at(&c->names, c->name_end, i), field_at(&c->names, c->name_end, k)) && c->is_csv)
        return cq_document_fail(file, error, "columns %zu and %zu have the same name", k + 1, i + 1);
  return c->has_text ? CQ_OK : go_without_names(c, file, error);
}

static cq_status open_columns(void **state, cq_document_file *file, bool is_csv, cq_error *error) {
  columns *c = cq_alloc_zeroed(sizeof *c);
  if (!c) return cq_fail_memory(error, file->path);
  c->is_csv = is_csv;
  cq_status status = csv_init(&c->parser, CSV_STRICT) ? cq_fail_memory(error, file->path) : CQ_OK;
  csv_set_space_func(&c->parser, is_never);
  csv_set_realloc_func(&c->parser, cq_realloc_small);
  csv_set_free_func(&c->parser, cq_free);
  if (!is_csv) csv_set_delim(&c->parser, '\t');
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
  if (c->n != c->n_names) {
    json_decref(metadata);
    return cq_document_fail(file, error, "%zu columns, the first row has %zu", c->n, c->n_names);
  }
  for (size_t i = 0; i < c->n; i++) {
    const cq_slice value = field_at(&c->row, c->end, i);
    if (c->role_of[i] >= 0) {
      cq_builder_bytes(&file->room->role[c->role_of[i]], value.data, value.n);
    } else if (value.n) {
      const cq_slice name = field_at(&c->names, c->name_end, i);
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
