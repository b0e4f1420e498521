/* Files of lines that are worked through in ranges of bytes, by several ranks, or by one at several times: whoever goes
 * on after a crash takes up what is not done.
 *
 *   cq_divided *d;
 *   cq_divided_open(&d, &options, &err);                    // all ranks: counts the lines, finds what is done
 *   while (cq_divided_next(&range, d)) {                    // the ranges of this rank
 *     cq_lines_open_part(&lines, range.path, range.begin, range.end, range.lines_before, &err);
 *     ... writes a row for each good line into range.output from byte range.at on ...
 *     cq_divided_done(d, &err);
 *   }
 *   cq_divided_finish(d, header, &err);                     // all ranks: only now the output appears at its place
 *   cq_divided_close(d);
 *
 * The unfinished output is in the directory OUTPUT.unfinished, beside a file for each rank, which says what it has
 * done. It is resumed if the lines, the identity and the sizes of rows are the same, by any number of ranks; else
 * all is begun anew. All ranks must see the input and this directory.
 *
 * Threads: a cq_divided belongs to one thread at a time. */
#ifndef CALQUE_EXTRA_DIVIDED_H
#define CALQUE_EXTRA_DIVIDED_H

#include "calque/ranks.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_divided cq_divided;

typedef struct cq_divided_options {
  const char *const *paths; /* [n_paths] plain files */
  size_t n_paths;
  int column;    /* lines without this tab-separated column, from 1, are bad; 0: any line is good */
  bool skip_bad; /* bad lines, which are not UTF-8 or lack the column, are counted; else the first is an error */
  const char *output;
  const char *identity; /* whatever else decides the result, as lines */
  size_t header_bytes,
      row_bytes; /* of the output; row_bytes 0: rows are of any length, there is no header, and each range
                                     is written to a file of its own */
  double
      save_every_s; /* seconds between two times that a rank says what it has done; 0: one, below 0: after each range */
  cq_ranks *ranks;  /* NULL: this process alone */
} cq_divided_options;

/* Strings as long as the cq_divided lives, paths as long as the options'. */
typedef struct cq_divided_range {
  const char *path; /* of the lines */
  uint64_t begin, end, lines_before;
  uint64_t first_row, n_rows;
  const char *output; /* where its rows are to be written */
  uint64_t at;
} cq_divided_range;

/* Counts the lines, each rank some ranges. Errors: CQ_ERR_FORMAT with the line for bad ones, and for a file without a
 * line; CQ_ERR_UNSUPPORTED for what cannot be divided; CQ_ERR_ARGUMENT where the output is there and no regular file,
 * or another process is at work on it; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_divided_open(cq_divided **out, const cq_divided_options *options, cq_error *error);
CQ_API void cq_divided_close(cq_divided *d); /* what is done stays, for the next time */

CQ_API uint64_t cq_divided_n_rows(const cq_divided *d); /* of all files */
CQ_API uint64_t cq_divided_n_skipped(const cq_divided *d);
CQ_API uint64_t cq_divided_n_done(const cq_divided *d); /* rows that were there when it was opened */
CQ_API const char *cq_divided_directory(const cq_divided *d);

/* The i-th range of this rank's share of all, done or not; false: it has fewer. For what looks at all lines first. */
CQ_API bool cq_divided_share(cq_divided_range *out, cq_divided *d, size_t i);

/* The next range that is to be done by this rank; false: there are no more. */
CQ_API bool cq_divided_next(cq_divided_range *out, cq_divided *d);
/* The range that was given last is written: closed, or flushed by stdio. Errors: CQ_ERR_IO. */
CQ_API CQ_MUST_USE cq_status cq_divided_done(cq_divided *d, cq_error *error);
/* Waits for all ranks, puts the header [header_bytes] before the rows, the output at its place. Errors: CQ_ERR_IO. */
CQ_API CQ_MUST_USE cq_status cq_divided_finish(cq_divided *d, const void *header, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
