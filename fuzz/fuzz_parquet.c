/* Any bytes as a Parquet file are an error with a place in the file, or rows of all columns that can be read: text that
 * is UTF-8, numbers that are numbers. A few bytes may say that they are millions of rows, so only some are read. */
#include "fuzz.h"

#include "base/utf8.h"
#include "format/parquet.h"

#include <string.h>

enum { MAX_COLUMNS = 16, MAX_ROWS = 64 };

static void check_value(cq_slice value, cq_parquet_kind kind) {
  double number;
  if (!value.data) return;
  CHECK(value.n > 0 || kind == CQ_PARQUET_TEXT);
  if (kind == CQ_PARQUET_TEXT)
    CHECK(cq_utf8_invalid_at(value.data, value.n) == value.n && (value.n == 0 || !memchr(value.data, 0, value.n)));
  else if (kind != CQ_PARQUET_REAL)
    CHECK(cq_slice_number(&number, value));
}

static void check_error(cq_status status, const cq_error *error, size_t n) {
  CHECK(status == CQ_ERR_FORMAT || status == CQ_ERR_UNSUPPORTED || status == CQ_ERR_LIMIT);
  CHECK(error->message[0] && error->file[0] && error->byte <= n);
}

static void read_rows(const cq_parquet *file, const size_t *columns, size_t n_columns, size_t n) {
  cq_parquet_rows *rows;
  cq_slice values[MAX_COLUMNS];
  cq_error error = {0};
  bool found = true;
  CHECK(cq_parquet_rows_open(&rows, file, columns, n_columns, &error) == CQ_OK);
  for (int row = 0; found && row < MAX_ROWS; row++) {
    const cq_status status = cq_parquet_rows_next(&found, values, rows, &error);
    if (status) check_error(status, &error, n);
    if (status && cq_parquet_rows_broken(rows)) break;
    for (size_t i = 0; found && i < n_columns; i++)
      check_value(values[i], cq_parquet_column_at(file, columns[i])->kind);
    found |= status != CQ_OK; /* of one text: the rows go on */
  }
  cq_parquet_rows_close(rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  cq_parquet *file;
  cq_error error = {0};
  size_t columns[MAX_COLUMNS], n_columns = 0;
  const cq_status status = cq_parquet_open(&file, input_file(data, n), &error);
  if (status) {
    CHECK(!file);
    check_error(status, &error, n);
    return 0;
  }
  for (size_t i = 0; i < cq_parquet_n_columns(file); i++) {
    const cq_parquet_column *column = cq_parquet_column_at(file, i);
    CHECK(column->name && !column->what == (column->kind != CQ_PARQUET_OTHER));
    if (column->kind != CQ_PARQUET_OTHER && n_columns < MAX_COLUMNS) columns[n_columns++] = i;
  }
  for (size_t i = 0; i < n_columns; i++) read_rows(file, &columns[i], 1, n); /* each by itself: one may be broken */
  read_rows(file, columns, n_columns, n);
  cq_parquet_close(file);
  return 0;
}
