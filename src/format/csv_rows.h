/* Rows of CSV (RFC 4180, by libcsv), line by line:
 *
 *   cq_csv_init(&csv, path, &err), csv_set_delim(&csv.parser, ';');
 *   while (!(status = cq_csv_line(&line, &csv, lines, &err)) && line.data) {
 *     cq_csv_clear(&csv), csv.first = csv.number;
 *     if (!(status = cq_csv_parse(&csv, lines, line, &err))) use(cq_csv_field(&csv.row, csv.end, 0));
 *   }
 *   cq_csv_free(&csv);
 *
 * A quoted field may span lines. When such a row turns out to be malformed, reading resumes at its second line. */
#ifndef FORMAT_CSV_ROWS_H
#define FORMAT_CSV_ROWS_H

#include "base/slice.h"
#include "calque/lines.h"

#include <csv.h>

enum { CQ_CSV_COLUMNS = 256 };

typedef struct cq_csv {
  struct csv_parser parser;
  cq_builder kept;            /* lines of the row after its first one, which are read again if it is malformed */
  size_t next_kept;           /* what is read next of them */
  uint64_t number;            /* of the last line */
  uint64_t first;             /* line of the row, for errors */
  cq_builder row;             /* the fields one after another */
  size_t end[CQ_CSV_COLUMNS]; /* of each field in it */
  size_t n;                   /* fields of the row; those after CQ_CSV_COLUMNS are counted only */
  bool is_complete;
} cq_csv;

CQ_MUST_USE cq_status cq_csv_init(cq_csv *out, const char *path, cq_error *error);
void cq_csv_free(cq_csv *csv);
void cq_csv_clear(cq_csv *csv); /* the row */
/* The next line; out->data NULL at the end. */
CQ_MUST_USE cq_status cq_csv_line(cq_slice *out, cq_csv *csv, cq_lines *lines, cq_error *error);
/* The line is to be read again. */
void cq_csv_keep(cq_csv *csv, cq_slice line);
/* Adds a line's fields to the row. */
CQ_MUST_USE cq_status cq_csv_parse_line(cq_csv *csv, cq_slice line, const char *path, cq_error *error);
/* Parses a row that begins with this line; after an error, the next row begins at the line after it. Errors:
 * CQ_ERR_FORMAT with the row's line; CQ_ERR_LIMIT, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_csv_parse(cq_csv *csv, cq_lines *lines, cq_slice line, cq_error *error);
void cq_csv_add(cq_csv *csv, const void *bytes, size_t n); /* a field */
cq_slice cq_csv_field(const cq_builder *row, const size_t *end, size_t i);

#endif
