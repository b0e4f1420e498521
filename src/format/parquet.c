/* Reading Parquet: opens a file, and reads columns row by row. See parquet.h. */
#include "format/parquet.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"
#include "format/parquet_parts.h"

#include <inttypes.h>

/* --- the file --- */

cq_status cq_parquet_open(cq_parquet **out, const char *path, cq_error *error) {
  *out = NULL;
  cq_parquet *file = cq_alloc_zeroed(sizeof *file);
  if (!file) return cq_fail_memory(error, path);
  file->path = cq_strdup(path);
  cq_status status = file->path ? cq_mapping_open(&file->mapping, path, error) : cq_fail_memory(error, path);
  if (!status) status = cq_parquet_read_footer(file, error);
  if (status)
    cq_parquet_close(file);
  else
    *out = file;
  return status;
}

void cq_parquet_close(cq_parquet *file) {
  if (!file) return;
  cq_mapping_close(&file->mapping);
  cq_arena_free(&file->arena);
  cq_free(file->leaves);
  cq_free(file->chunks);
  cq_free(file->group_rows);
  cq_free(file->path);
  cq_free(file);
}

uint64_t cq_parquet_n_rows(const cq_parquet *file) {
  return file->n_rows;
}

size_t cq_parquet_n_columns(const cq_parquet *file) {
  return file->n_leaves;
}

const cq_parquet_column *cq_parquet_column_at(const cq_parquet *file, size_t i) {
  return &file->leaves[i].about;
}

/* Whether a path ends in ".NAME". */
static bool ends_in(const char *path, const char *name) {
  const size_t n = strlen(path), n_name = strlen(name);
  return n > n_name && path[n - n_name - 1] == '.' && !strcmp(path + n - n_name, name);
}

static cq_status fail_name(const cq_parquet *file, const char *name, size_t n_found, cq_error *error) {
  cq_builder names = {.limit = 400};
  for (size_t i = 0; i < file->n_leaves; i++) {
    if (i) cq_builder_text(&names, ", ");
    cq_builder_text(&names, file->leaves[i].about.name);
  }
  const cq_status status =
      cq_fail_file(error, CQ_ERR_ARGUMENT, file->path, "%s column is called '%.80s'; there are %s%s",
                   n_found ? "more than one" : "no", name, names.n ? names.data : "none", names.failed ? " ..." : "");
  cq_builder_free(&names);
  return status;
}

cq_status cq_parquet_find(size_t *out, const cq_parquet *file, const char *name, cq_error *error) {
  size_t n_paths = 0, n_ends = 0, end = 0;
  for (size_t i = 0; i < file->n_leaves; i++) {
    const char *path = file->leaves[i].about.name;
    if (!strcmp(path, name) && n_paths++ == 0) *out = i;
    if (ends_in(path, name) && n_ends++ == 0) end = i;
  }
  if (n_paths == 0) *out = end;
  return n_paths == 1 || (n_paths == 0 && n_ends == 1) ? CQ_OK : fail_name(file, name, n_paths + n_ends, error);
}

/* --- rows --- */

enum { MAX_NUMBER = 32 };

typedef struct taken {
  cq_parquet_cursor cursor;
  char number[MAX_NUMBER];
} taken;

struct cq_parquet_rows {
  const cq_parquet *file;
  taken *columns;
  size_t n_columns;
  size_t next_group;
  int64_t n_left; /* rows left in the current group */
  uint64_t row;
  bool is_broken;
};

cq_status cq_parquet_rows_open(cq_parquet_rows **out, const cq_parquet *file, const size_t *columns, size_t n_columns,
                               cq_error *error) {
  *out = NULL;
  for (size_t i = 0; i < n_columns; i++) {
    const cq_parquet_column *about = &file->leaves[columns[i]].about;
    if (about->kind == CQ_PARQUET_OTHER)
      return cq_fail_file(error, CQ_ERR_UNSUPPORTED, file->path,
                          "column '%.80s' is %s; text, numbers and booleans are read", about->name, about->what);
  }
  cq_parquet_rows *rows = cq_alloc_zeroed(sizeof *rows);
  if (rows) rows->columns = cq_alloc_array_zeroed(n_columns + 1, sizeof *rows->columns);
  if (!rows || !rows->columns) {
    cq_free(rows);
    return cq_fail_memory(error, file->path);
  }
  rows->file = file;
  rows->n_columns = n_columns;
  for (size_t i = 0; i < n_columns; i++)
    rows->columns[i].cursor = (cq_parquet_cursor){.file = file, .leaf = &file->leaves[columns[i]]};
  *out = rows;
  return CQ_OK;
}

void cq_parquet_rows_close(cq_parquet_rows *rows) {
  if (!rows) return;
  for (size_t i = 0; i < rows->n_columns; i++) cq_parquet_cursor_close(&rows->columns[i].cursor);
  cq_free(rows->columns);
  cq_free(rows);
}

bool cq_parquet_rows_broken(const cq_parquet_rows *rows) {
  return rows->is_broken;
}

/* Starts the next group that has rows; earlier groups are no longer needed. */
static cq_status start_group(cq_parquet_rows *rows, cq_error *error) {
  if (rows->next_group) cq_mapping_release_pages(&rows->file->mapping);
  rows->n_left = rows->file->group_rows[rows->next_group];
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && rows->n_left && i < rows->n_columns; i++) {
    cq_parquet_cursor *c = &rows->columns[i].cursor;
    c->group = rows->next_group;
    c->row = rows->row + 1;
    status = cq_parquet_cursor_start(c, error);
  }
  rows->next_group++;
  return status;
}

/* The shortest decimal that reads back as the same number. */
static int put_real(char *out, double x, float narrow, bool is_narrow) {
  int n = 0;
  for (int digits = is_narrow ? 6 : 15; digits <= 17; digits++) {
    n = cq_snprintf(out, MAX_NUMBER, "%.*g", digits, x);
    const double back = cq_strtod(out, NULL);
    if (is_narrow ? (float)back == narrow : back == x) break;
  }
  return n;
}

/* A value's PLAIN bytes as text. */
static cq_slice number_text(taken *t, cq_slice plain) {
  const cq_parquet_leaf *leaf = t->cursor.leaf;
  const char *p = plain.data;
  uint64_t x = leaf->type == CQ_PARQUET_BIT ? (unsigned char)*p : cq_parquet_u32(p);
  float narrow = 0;
  double wide;
  int n;
  if (plain.n == 8) x |= (uint64_t)cq_parquet_u32(p + 4) << 32;
  const uint32_t low = (uint32_t)x;
  switch (leaf->type) {
  case CQ_PARQUET_FLOAT:
    memcpy(&narrow, &low, sizeof narrow);
    n = put_real(t->number, (double)narrow, narrow, true);
    break;
  case CQ_PARQUET_DOUBLE:
    memcpy(&wide, &x, sizeof wide);
    n = put_real(t->number, wide, 0, false);
    break;
  case CQ_PARQUET_INT32:
    n = leaf->is_unsigned ? snprintf(t->number, MAX_NUMBER, "%" PRIu32, low)
                          : snprintf(t->number, MAX_NUMBER, "%" PRId32, (int32_t)low);
    break;
  default:
    n = leaf->is_unsigned || leaf->type == CQ_PARQUET_BIT ? snprintf(t->number, MAX_NUMBER, "%" PRIu64, x)
                                                          : snprintf(t->number, MAX_NUMBER, "%" PRId64, (int64_t)x);
  }
  return (cq_slice){t->number, (size_t)n};
}

static cq_status check_text(const taken *t, cq_slice text, cq_error *error) {
  const size_t bad = cq_utf8_invalid_at(text.data, text.n);
  if (bad < text.n) return cq_parquet_fail(&t->cursor, CQ_ERR_FORMAT, error, "not UTF-8 at byte %zu of the text", bad);
  const char *nul = text.n ? memchr(text.data, '\0', text.n) : NULL;
  if (nul)
    return cq_parquet_fail(&t->cursor, CQ_ERR_FORMAT, error, "a NUL at byte %zu of the text",
                           (size_t)(nul - text.data));
  return CQ_OK;
}

/* Every column advances, even if one has malformed text; returns the first such error. */
static cq_status read_row(cq_slice *values, cq_parquet_rows *rows, cq_error *error) {
  cq_status status = CQ_OK;
  rows->row++;
  rows->n_left--;
  for (size_t i = 0; i < rows->n_columns; i++) {
    taken *t = &rows->columns[i];
    t->cursor.row = rows->row;
    const cq_status broken = cq_parquet_cursor_next(&values[i], &t->cursor, error);
    if (broken) {
      rows->is_broken = true;
      return broken;
    }
    if (!values[i].data) continue;
    if (t->cursor.leaf->type != CQ_PARQUET_BYTES)
      values[i] = number_text(t, values[i]);
    else if (!status)
      status = check_text(t, values[i], error);
  }
  return status;
}

cq_status cq_parquet_rows_next(bool *found, cq_slice *values, cq_parquet_rows *rows, cq_error *error) {
  *found = false;
  while (rows->n_left == 0) {
    if (rows->next_group == rows->file->n_groups) return CQ_OK;
    const cq_status status = start_group(rows, error);
    if (status) {
      rows->is_broken = true;
      return status;
    }
  }
  const cq_status status = read_row(values, rows, error);
  *found = !status;
  return status;
}
