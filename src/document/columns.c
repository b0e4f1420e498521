/* Rows with columns named by the first row: CSV (RFC 4180, by libcsv), and tab-separated columns without quotes. */
#include "base/error.h"
#include "base/memory.h"
#include "document/reader.h"
#include "format/json.h"

#include <csv.h>
#include <string.h>

enum { MAX_COLUMNS = 256 };

typedef struct columns {
  bool is_csv;
  struct csv_parser parser;
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
  return (cq_slice){row->data + begin, end[i] - begin};
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

/* A quoted CSV field, and thus a row, may span several lines. */
static cq_status next_row(bool *found, columns *c, cq_document_file *file, cq_error *error) {
  cq_status status = CQ_OK;
  cq_slice line = {0};
  size_t n_bytes = 0;
  c->n = 0, c->is_complete = false, *found = false;
  cq_builder_clear(&c->row);
  do status = cq_lines_next(&line, file->lines, error);
  while (!status && line.data && line.n == 0);
  if (status || !line.data) return status;
  file->line = cq_lines_number(file->lines);
  for (bool is_first = true; !c->is_complete; is_first = false) {
    if (!is_first) status = cq_lines_next(&line, file->lines, error);
    if (status) return status;
    if (!line.data) return cq_document_fail(file, error, "a quotation mark that is not closed");
    n_bytes += line.n;
    if (c->is_csv) {
      status = parse_csv_line(c, file, line, error);
    } else {
      for (const char *tab; (tab = memchr(line.data, '\t', line.n));
           line.n -= (size_t)(tab + 1 - line.data), line.data = tab + 1)
        add_field(c, line.data, (size_t)(tab - line.data));
      add_field(c, line.data, line.n);
      c->is_complete = true;
    }
    if (status) return status;
    if (c->row.failed) return cq_fail_memory(error, file->path);
    if (n_bytes > (size_t)64 << 20)
      return cq_fail_line(error, CQ_ERR_LIMIT, file->path, file->line, "a row of more than 64 MiB");
  }
  if (c->n > MAX_COLUMNS) return cq_document_fail(file, error, "%zu columns, at most %d are read", c->n, MAX_COLUMNS);
  *found = true;
  return CQ_OK;
}

/* --- the first row --- */

static void find_roles(columns *c, const cq_document_fields *fields) {
  for (size_t i = 0; i < c->n_names; i++) c->role_of[i] = -1;
  for (int role = 0; role < CQ_ROLES; role++) {
    int best_rank = 100;
    size_t best = MAX_COLUMNS;
    for (size_t i = 0; i < c->n_names; i++) {
      const int rank = cq_document_fields_rank(fields, (cq_document_role)role, field_at(&c->names, c->name_end, i));
      if (rank >= 0 && rank < best_rank) best = i, best_rank = rank;
    }
    if (best < MAX_COLUMNS) c->role_of[best] = role;
    c->has_text |= best < MAX_COLUMNS && role == CQ_ROLE_TEXT;
  }
}

/* A TSV file without column names has a text, or an id and a text. */
static cq_status go_without_names(columns *c, const cq_document_file *file, cq_error *error) {
  if (c->is_csv || c->n > 2 || file->fields->name[CQ_ROLE_TEXT].n)
    return cq_document_fail_text(file, error, "no column is named");
  char text[200];
  snprintf(text, sizeof text, "%.120s: no column is named \"text\": each row is %s", file->path,
           c->n == 2 ? "an id and a text" : "a text");
  if (file->notice) file->notice(file->notice_context, text);
  c->n_names = c->n;
  c->role_of[0] = c->n == 2 ? CQ_ROLE_ID : CQ_ROLE_TEXT;
  c->role_of[1] = CQ_ROLE_TEXT;
  c->is_pending = true;
  return CQ_OK;
}

static void close_columns(void *state) {
  columns *c = state;
  if (!c) return;
  if (c->is_csv) csv_free(&c->parser);
  cq_builder_free(&c->row);
  cq_builder_free(&c->names);
  cq_free(c);
}

static cq_status read_names(columns *c, cq_document_file *file, cq_error *error) {
  bool found;
  cq_status status = next_row(&found, c, file, error);
  if (status || !found) return status;
  c->n_names = c->n;
  memcpy(c->name_end, c->end, sizeof c->end);
  cq_builder_bytes(&c->names, c->row.data, c->row.n);
  if (c->names.failed) return cq_fail_memory(error, file->path);
  for (size_t i = 0; i < c->n; i++)
    for (size_t k = 0; k < i; k++)
      if (cq_slice_equal(field_at(&c->names, c->name_end, i), field_at(&c->names, c->name_end, k)) && c->is_csv)
        return cq_document_fail(file, error, "columns %zu and %zu have the same name", k + 1, i + 1);
  find_roles(c, file->fields);
  return c->has_text ? CQ_OK : go_without_names(c, file, error);
}

static cq_status open_columns(void **state, cq_document_file *file, bool is_csv, cq_error *error) {
  columns *c = cq_alloc_zeroed(sizeof *c);
  if (!c) return cq_fail_memory(error, file->path);
  c->is_csv = is_csv;
  cq_status status = CQ_OK;
  if (is_csv && csv_init(&c->parser, CSV_STRICT) != 0) status = cq_fail_memory(error, file->path);
  if (is_csv) {
    csv_set_space_func(&c->parser, is_never);
    csv_set_realloc_func(&c->parser, cq_realloc_small);
    csv_set_free_func(&c->parser, cq_free);
  }
  if (!status) status = read_names(c, file, error);
  if (status)
    close_columns(c);
  else
    *state = c;
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
    .name = "csv", .endings = " .csv ", .open = open_csv, .read = read_row, .close = close_columns};
const cq_document_type cq_document_type_tsv = {.is_lines = true,
                                               .name = "tsv",
                                               .endings = " .tsv .tab ",
                                               .open = open_tsv,
                                               .read = read_row,
                                               .close = close_columns};
