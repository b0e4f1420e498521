/* Parquet files, in which data sets are published: columns of text, numbers and booleans, read row by row.
 *
 *   "PAR1"
 *   row group: for each column a chunk: [dictionary page] data page...     rows are read group by group
 *   ...
 *   footer: the schema and the offset of each chunk (Thrift)                 parquet_footer.c
 *   length of the footer (4 bytes), "PAR1"
 *
 *   page: header (Thrift) | levels | values, compressed                    parquet_page.c
 *     levels   is there a value? RLE and bit-packed                        parquet_runs.c
 *     values   PLAIN, dictionary, RLE, DELTA_*, BYTE_STREAM_SPLIT          parquet_values.c, parquet_delta.c
 *
 * Columns are the leaves of the schema. Their name is their path: "translation.en". Structs are supported, with nulls
 * at any level. Lists and maps (REPEATED), dates, decimals, other binary numbers, encryption, and compression other
 * than Snappy, gzip or Zstandard give an error that names them. Page checksums are verified if present.
 *
 * The file is mapped, so it may be larger than memory. A chosen column keeps one page and one dictionary.
 *
 * Source: github.com/apache/parquet-format, README.md, Encodings.md and parquet.thrift. */
#ifndef FORMAT_PARQUET_H
#define FORMAT_PARQUET_H

#include "base/slice.h"
#include "calque/status.h"

typedef struct cq_parquet cq_parquet;

typedef enum cq_parquet_kind {
  CQ_PARQUET_TEXT,
  CQ_PARQUET_INTEGER,
  CQ_PARQUET_REAL,
  CQ_PARQUET_BOOLEAN,
  CQ_PARQUET_OTHER
} cq_parquet_kind;

typedef struct cq_parquet_column {
  const char *name; /* "translation.en" */
  cq_parquet_kind kind;
  const char *what; /* of CQ_PARQUET_OTHER: "a list or map (REPEATED)" */
} cq_parquet_column;

/* Errors: CQ_ERR_IO; CQ_ERR_FORMAT, with the byte; CQ_ERR_UNSUPPORTED; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_parquet_open(cq_parquet **out, const char *path, cq_error *error);
void cq_parquet_close(cq_parquet *file);
uint64_t cq_parquet_n_rows(const cq_parquet *file);
size_t cq_parquet_n_columns(const cq_parquet *file);
const cq_parquet_column *cq_parquet_column_at(const cq_parquet *file, size_t i);
/* A column by its path, or by a unique ending of it ("en"). Errors: CQ_ERR_ARGUMENT; the message lists the columns. */
CQ_MUST_USE cq_status cq_parquet_find(size_t *out, const cq_parquet *file, const char *name, cq_error *error);

/* --- rows of some columns --- */

typedef struct cq_parquet_rows cq_parquet_rows;

/* The file must outlive its rows. Errors: CQ_ERR_UNSUPPORTED for a column of CQ_PARQUET_OTHER; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_parquet_rows_open(cq_parquet_rows **out, const cq_parquet *file, const size_t *columns,
                                           size_t n_columns, cq_error *error);
/* The next row's values [n_columns], valid until the next call; *found false: there are no more. Text is UTF-8 without
 * NUL; numbers are in decimal, booleans "1" and "0"; a null value has data NULL.
 * Errors: CQ_ERR_FORMAT and CQ_ERR_UNSUPPORTED with file, byte of the page, column, row group and row. */
CQ_MUST_USE cq_status cq_parquet_rows_next(bool *found, cq_slice *values, cq_parquet_rows *rows, cq_error *error);
/* False if the last error concerned a single text: reading may then continue with the next row. */
bool cq_parquet_rows_broken(const cq_parquet_rows *rows);
void cq_parquet_rows_close(cq_parquet_rows *rows);

#endif
