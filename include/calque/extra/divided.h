/** @file Processing files of lines in ranges of bytes, on several ranks or in several runs: a run after a crash resumes
 * with the unfinished ranges.
 *
 *      cq_divided *d;
 *      cq_divided_open(&d, &options, &err);                    // all ranks: counts the lines, finds finished ranges
 *      while (cq_divided_next(&range, d)) {                    // the ranges of this rank
 *        cq_lines_open_part(&lines, range.path, range.begin, range.end, range.lines_before, &err);
 *        ... writes a row for each good line into range.output from byte range.at on ...
 *        cq_divided_done(d, &err);
 *      }
 *      cq_divided_finish(d, header, &err);                     // all ranks: only now the output appears
 *      cq_divided_close(d);
 *
 * The unfinished output is in the directory OUTPUT.unfinished, with a file per rank that records finished ranges. Any
 * number of ranks can resume it if the lines, the identity and the row sizes are the same; otherwise the work starts
 * again. All ranks must have access to the input and this directory.
 *
 * @threads A cq_divided belongs to one thread at a time. */
#ifndef CALQUE_EXTRA_DIVIDED_H
#define CALQUE_EXTRA_DIVIDED_H

#include "calque/ranks.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_divided cq_divided;

typedef struct cq_divided_options {
  const char *const *paths; /**< [n_paths] plain files */
  size_t n_paths;
  int column;    /**< lines without this tab-separated column, from 1, are bad; 0: any line is good */
  bool skip_bad; /**< count bad lines (not UTF-8, or without the column); otherwise, the first one is an error */
  const char *output;
  const char *identity; /**< everything else that the result depends on, as lines */
  /** Sizes in the output; row_bytes 0: rows of any length without a header, each range in its own file */
  size_t header_bytes, row_bytes;
  double save_every_s; /**< seconds between records of finished ranges; 0: one, below 0: after each range */
  cq_ranks *ranks;     /**< NULL: this process alone */
} cq_divided_options;

/** Strings are valid as long as the cq_divided, paths as long as the options'. */
typedef struct cq_divided_range {
  const char *path; /**< of the lines */
  uint64_t begin, end, lines_before;
  uint64_t first_row, n_rows;
  const char *output; /**< the file for its rows */
  uint64_t at;
} cq_divided_range;

/** Counts the lines, each rank in some ranges. @errors CQ_ERR_FORMAT with the line for bad lines, and for an empty
 * file; CQ_ERR_UNSUPPORTED for input that cannot be divided; CQ_ERR_ARGUMENT for an output that is not a regular file,
 * or that another process is writing; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_divided_open(cq_divided **out, const cq_divided_options *options, cq_error *error);
CQ_API void cq_divided_close(cq_divided *d); /**< finished ranges stay, for the next run */

CQ_API uint64_t cq_divided_n_rows(const cq_divided *d); /**< of all files */
CQ_API uint64_t cq_divided_n_skipped(const cq_divided *d);
CQ_API uint64_t cq_divided_n_done(const cq_divided *d); /**< rows that were done before it was opened */
CQ_API const char *cq_divided_directory(const cq_divided *d);

/** The i-th range of this rank's share of all ranges, done or not; false: it has fewer. For a first pass over all
 * lines. */
CQ_API bool cq_divided_share(cq_divided_range *out, cq_divided *d, size_t i);

/** This rank's next range; false: there are no more. */
CQ_API bool cq_divided_next(cq_divided_range *out, cq_divided *d);
/** Marks the last range as done; its output must be closed or flushed. @errors CQ_ERR_IO. */
CQ_API CQ_MUST_USE cq_status cq_divided_done(cq_divided *d, cq_error *error);
/** Waits for all ranks, then writes the header [header_bytes] before the rows, and moves the output into place. @errors
 * CQ_ERR_IO. */
CQ_API CQ_MUST_USE cq_status cq_divided_finish(cq_divided *d, const void *header, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
