/** @file Reads text files line by line in constant memory, plain or compressed (gzip, xz, Zstandard, bzip2, recognized by
 * content).
 *
 *      cq_lines *lines;
 *      cq_lines_open(&lines, "corpus.tsv.gz", &err);            // "-" is standard input
 *      while ((status = cq_lines_next(&line, lines, &err)) == CQ_OK && line.data) use(line);
 *      cq_lines_close(lines);
 *
 * Every line is checked to be UTF-8; a byte-order mark at the start of the file and `\r` before `\n` are dropped.
 * In a file without any `\n`, `\r` ends the lines. A file in UTF-16 or UTF-32, by its byte order mark or (UTF-16) by
 * its first kilobyte, is decoded.
 *
 * @threads A reader belongs to one thread at a time. */
#ifndef CALQUE_LINES_H
#define CALQUE_LINES_H

#include "calque/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_lines cq_lines;

/** Opens a file. @errors CQ_ERR_IO (not found, is a directory). */
CQ_API CQ_MUST_USE cq_status cq_lines_open(cq_lines **out, const char *path, cq_error *error);
/** Opens the lines of a plain file that begin in bytes [begin, end): adjacent parts have each line exactly once.
 * lines_before: the number of lines before the part, for line numbers within the whole file. @errors As above;
 * CQ_ERR_UNSUPPORTED for a file that is compressed, not regular, or in UTF-16. */
CQ_API CQ_MUST_USE cq_status cq_lines_open_part(cq_lines **out, const char *path, uint64_t begin, uint64_t end,
                                                uint64_t lines_before, cq_error *error);
CQ_API void cq_lines_close(cq_lines *lines);

/** The next line without its newline, valid until the next call; out->data is NULL at the end of the file.
 * @errors CQ_ERR_FORMAT for invalid UTF-8 or a NUL byte (with line number; the next call reads the next line), for a
 * broken or truncated compressed stream, and for a line of more than 16 MiB (then reading ends); CQ_ERR_IO. */
CQ_API CQ_MUST_USE cq_status cq_lines_next(cq_slice *out, cq_lines *lines, cq_error *error);

/** Whether cq_lines_next() would return without waiting for input, because the next line is buffered: for programs that
 * process standard input line by line. */
CQ_API bool cq_lines_ready(const cq_lines *lines);

/** The 1-based number of the last line returned, and the path as opened (`<stdin>` for "-"). */
CQ_API uint64_t cq_lines_number(const cq_lines *lines);
CQ_API const char *cq_lines_path(const cq_lines *lines);
/** True when the last error ended the file. */
CQ_API bool cq_lines_broken(const cq_lines *lines);

/** Splits a line at tabs into at most max_columns slices of it; returns how many columns the line has. */
CQ_API size_t cq_tsv_split(cq_slice *columns, size_t max_columns, cq_slice line);

#ifdef __cplusplus
}
#endif
#endif
