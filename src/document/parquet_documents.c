/* Rows of a Parquet file: columns by name, as in CSV. Numbers and booleans become JSON values in metadata; nulls,
 * lists, dates and other unreadable columns are left out, and a notice names the first unreadable one. */
#include "base/error.h"
#include "base/memory.h"
#include "document/reader.h"
#include "format/json.h"
#include "format/parquet.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

typedef struct parquet {
  cq_parquet *file;
  cq_parquet_rows *rows;
  size_t *columns; /* [n] of the file */
  int *role_of;    /* [n]; -1: metadata */
  cq_slice *values;
  size_t n;
} parquet;

static void close_parquet(void *state) {
  parquet *p = state;
  if (!p) return;
  cq_parquet_rows_close(p->rows);
  cq_parquet_close(p->file);
  cq_free(p->columns);
  cq_free(p->role_of);
  cq_free(p->values);
  cq_free(p);
}

static const char *name_of(const parquet *p, size_t i) {
  return cq_parquet_column_at(p->file, p->columns[i])->name;
}

/* Takes the readable columns; reports the first unreadable one. */
static cq_status take_columns(parquet *p, const cq_document_file *file, cq_error *error) {
  const size_t n = cq_parquet_n_columns(p->file);
  const cq_parquet_column *left_out = NULL;
  p->columns = cq_alloc_array(n + 1, sizeof *p->columns);
  p->role_of = cq_alloc_array(n + 1, sizeof *p->role_of);
  p->values = cq_alloc_array(n + 1, sizeof *p->values);
  if (!p->columns || !p->role_of || !p->values) return cq_fail_memory(error, file->path);
  for (size_t i = 0; i < n; i++) {
    const cq_parquet_column *column = cq_parquet_column_at(p->file, i);
    if (column->kind != CQ_PARQUET_OTHER)
      p->columns[p->n++] = i;
    else if (!left_out)
      left_out = column;
  }
  if (left_out)
    CQ_NOTIFY(file, "%.120s: column '%.60s' is left out: it is %s", file->path, left_out->name, left_out->what);
  return CQ_OK;
}

static cq_status find_roles(parquet *p, const cq_document_file *file, cq_error *error) {
  bool has_text = false;
  for (size_t i = 0; i < p->n; i++) p->role_of[i] = -1;
  for (int role = 0; role < CQ_ROLES; role++) {
    int best_rank = 100;
    size_t best = p->n;
    for (size_t i = 0; i < p->n; i++) {
      const int rank = cq_document_fields_rank(file->fields, (cq_document_role)role, cq_slice_of(name_of(p, i)));
      if (rank >= 0 && rank < best_rank) best = i, best_rank = rank;
    }
    if (best < p->n) p->role_of[best] = role;
    has_text |= best < p->n && (role == CQ_ROLE_TEXT || role == CQ_ROLE_TITLE);
  }
  return has_text ? CQ_OK : cq_document_fail_text(file, error, "no column is named");
}

static cq_status open_parquet(void **state, cq_document_file *file, cq_error *error) {
  parquet *p = cq_alloc_zeroed(sizeof *p);
  if (!p) return cq_fail_memory(error, file->path);
  cq_status status = cq_parquet_open(&p->file, file->path, error);
  file->line = 1;
  if (!status) status = take_columns(p, file, error);
  if (!status) status = find_roles(p, file, error);
  if (!status) status = cq_parquet_rows_open(&p->rows, p->file, p->columns, p->n, error);
  file->line = 0;
  if (status) close_parquet(p);
  *state = status ? NULL : p;
  return status;
}

/* Values that are not JSON numbers stay text. */
static json_t *json_of(cq_slice value, cq_parquet_kind kind) {
  double real;
  if (kind == CQ_PARQUET_BOOLEAN) return json_boolean(*value.data == '1');
  if (kind == CQ_PARQUET_REAL && cq_slice_number(&real, value) && isfinite(real)) return json_real(real);
  if (kind == CQ_PARQUET_INTEGER) {
    errno = 0;
    const long long whole = strtoll(value.data, NULL, 10); /* it ends with a NUL */
    if (errno == 0) return json_integer(whole);
  }
  return json_stringn(value.data, value.n);
}

static cq_status read_parquet(bool *found, void *state, cq_document_file *file, cq_error *error) {
  parquet *p = state;
  cq_status status = cq_parquet_rows_next(found, p->values, p->rows, error);
  file->is_broken = cq_parquet_rows_broken(p->rows);
  file->line += *found || status;
  if (status || !*found) return status;
  json_t *metadata = json_object();
  for (size_t i = 0; i < p->n; i++) {
    const cq_slice value = p->values[i];
    if (!value.data) continue;
    if (p->role_of[i] >= 0)
      cq_builder_bytes(&file->room->role[p->role_of[i]], value.data, value.n);
    else
      cq_json_set(&metadata, name_of(p, i), json_of(value, cq_parquet_column_at(p->file, p->columns[i])->kind));
  }
  if (!metadata) return cq_fail_memory(error, file->path);
  if (json_object_size(metadata)) cq_json_append(&file->room->metadata, metadata, -1);
  json_decref(metadata);
  return CQ_OK;
}

const cq_document_type cq_document_type_parquet = {.name = "parquet",
                                                   .endings = " .parquet ",
                                                   .is_mapped = true,
                                                   .resumes = true,
                                                   .open = open_parquet,
                                                   .read = read_parquet,
                                                   .close = close_parquet};
