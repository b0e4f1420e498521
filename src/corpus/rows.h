/* Rows of parallel text: read from tab-separated files, counted, written. The common part of the groups of options. */
#ifndef CORPUS_ROWS_H
#define CORPUS_ROWS_H

#include "base/options.h"
#include "calque/corpus.h"
#include "calque/lines.h"
#include "format/pairs.h"

enum { CQ_ROW_MAX = 256 };

typedef struct cq_row {
  cq_slice line; /* all of it, of what is read from tab-separated files */
  cq_slice columns[CQ_ROW_MAX];
  size_t n;
  const cq_pairs_unit *unit; /* of a translation memory; NULL: none */
} cq_row;

/* --- options --- */

extern const cq_option_group cq_group_corpus_convert, cq_group_corpus_dedup, cq_group_corpus_filter,
    cq_group_corpus_gloss, cq_group_corpus_inflect, cq_group_corpus_pivot, cq_group_corpus_sample,
    cq_group_corpus_stats, cq_group_corpus_transliterate;

/* Rows that several groups have. */
#define CQ_CORPUS_INPUT_ROW(owner)                                                                                     \
  {                                                                                                                    \
    CQ_TEXTS(owner, "input", inputs, n_inputs, CHANGES, "FILE",                                                        \
             "a file to read, after those before; -: standard input"),                                                 \
        .flags = CQ_OPTION_REQUIRED                                                                                    \
  }
#define CQ_CORPUS_SKIP_BAD_ROW(owner) CQ_SKIP_BAD_ROW(owner, CHANGES)
#define CQ_CORPUS_FILE_ROWS(owner)                                                                                     \
  {CQ_TEXT(owner, "output", output, KEEPS, "FILE",                                                                     \
           "write the rows here, as the name's ending says: .csv, .tmx, .xlf, .po, otherwise tab-separated; "          \
           "compressed if .gz or .zst follows"),                                                                       \
   .letter = 'o', .otherwise = "standard output"},                                                                     \
      CQ_CORPUS_SKIP_BAD_ROW(owner)
#define CQ_CORPUS_OUTPUT_ROWS(owner)                                                                                   \
  CQ_CORPUS_FILE_ROWS(owner), {                                                                                        \
    CQ_TEXTS(owner, "languages", languages, n_languages, KEEPS, "A,B,...",                                             \
             "language codes of the columns, for .tmx, .xlf, .po, and the first line of .csv"),                        \
        .letter = 'l', .flags = CQ_OPTION_COMMAS, .otherwise = "as the input names them"                               \
  }
#define CQ_CORPUS_REJECTED_ROW(owner)                                                                                  \
  {                                                                                                                    \
    CQ_TEXT(owner, "rejected", rejected, KEEPS, "FILE", "write each dropped row here: the reason, a tab, the row"),    \
        .otherwise = "none"                                                                                            \
  }
#define CQ_CORPUS_MATCH_ROW(owner, value)                                                                              \
  {                                                                                                                    \
    CQ_CHOICE(owner, "match", match, CHANGES, value, cq_corpus_matches, "HOW",                                         \
              "compare sentences byte for byte, or by their letters and digits, ignoring case")                        \
  }
/* The group of a file's option_rows; checks may be NULL. */
#define CQ_CORPUS_GROUP(label, options, checks)                                                                        \
  { .name = label, CQ_ROWS(options, option_rows), .check = checks, CQ_FIELDS(CQ_CALLBACK(options, progress)) }
extern const char *const cq_corpus_matches[]; /* names of a cq_corpus_match */

/* The output, common to all options. */
typedef struct cq_corpus_flow {
  const char *output;
  bool skip_bad;
  cq_corpus_progress_fn progress;
  void *progress_context;
  const char *const *languages; /* of the columns */
  size_t n_languages;
  /* for cq_corpus_choose: the dropped rows' file; NULL: none. The last check, of many rows at once; NULL: none */
  const char *rejected;
  double min_cosine;
  cq_corpus_cosines_fn cosines;
  void *cosines_context;
} cq_corpus_flow;
#define CQ_CORPUS_FLOW(options)                                                                                        \
  ((cq_corpus_flow){.output = (options)->output,                                                                       \
                    .skip_bad = (options)->skip_bad,                                                                   \
                    .progress = (options)->progress,                                                                   \
                    .progress_context = (options)->progress_context,                                                   \
                    .languages = (options)->languages,                                                                 \
                    .n_languages = (options)->n_languages})

/* --- counts --- */

/* reason is a literal: reasons are compared as text. */
void cq_corpus_drop(cq_corpus_counts *counts, const char *reason);
/* Adds the dropped rows of a file whose other rows are not counted, both as read and as dropped. */
void cq_corpus_add_dropped(cq_corpus_counts *counts, const cq_corpus_counts *other);
/* Counts a row read. Every CQ_CORPUS_EVERY rows, calls progress, which may stop the run; the second function calls it
 * at once, for long work between two rows. Errors: CQ_ERR_STOPPED. */
enum { CQ_CORPUS_EVERY = 8192 };
CQ_MUST_USE cq_status cq_corpus_count_row(cq_corpus_counts *counts, const cq_corpus_flow *flow, cq_error *error);
CQ_MUST_USE cq_status cq_corpus_ask(const cq_corpus_counts *counts, const cq_corpus_flow *flow, cq_error *error);

/* --- reading --- */

/* Standard input can be read only once. Errors: CQ_ERR_ARGUMENT when it appears twice. */
CQ_MUST_USE cq_status cq_corpus_check_inputs(const char *const *inputs, size_t n, const char *const *more,
                                             size_t n_more, cq_error *error);

/* The next line; out->data NULL at the end. With skip_bad, malformed ones are skipped and counted. */
CQ_MUST_USE cq_status cq_corpus_line(cq_slice *out, cq_lines *lines, const cq_corpus_flow *flow,
                                     cq_corpus_counts *counts, cq_error *error);

/* Files one after the other. */
typedef struct cq_row_reader {
  const char *const *paths;
  size_t n_paths;
  size_t min_columns; /* of a row; fewer make it malformed */
  const cq_corpus_flow *flow;
  cq_corpus_counts *counts;
  cq_lines *lines; /* from here on private */
  size_t next_path;
} cq_row_reader;

/* The next row, valid until the next call; n is 0 at the end. */
CQ_MUST_USE cq_status cq_row_reader_next(cq_row *out, cq_row_reader *rows, cq_error *error);
/* While a work's status is CQ_OK: whether there is a next row; sets *status. */
static inline bool cq_row_reader_more(cq_status *status, cq_row *out, cq_row_reader *rows, cq_error *error) {
  if (!*status) *status = cq_row_reader_next(out, rows, error);
  return !*status && out->n > 0;
}
void cq_row_reader_close(cq_row_reader *rows);

/* Visits each row of files other than the caller's inputs: dictionaries, text. Malformed lines are counted as dropped.
 * visit returns false when out of memory; the error then names `what`. */
typedef bool (*cq_row_visit)(void *context, const cq_row *row);
CQ_MUST_USE cq_status cq_corpus_visit_rows(const char *const *paths, size_t n_paths, size_t min_columns,
                                           cq_row_visit visit, void *context, const char *what,
                                           const cq_corpus_flow *flow, cq_corpus_counts *counts, cq_error *error);

/* --- writing --- */

typedef struct cq_row_writer {
  cq_pairs pairs;
  cq_corpus_counts *counts;
} cq_row_writer;

CQ_MUST_USE cq_status cq_row_writer_open(cq_row_writer *out, const cq_corpus_flow *flow, cq_corpus_counts *counts,
                                         cq_error *error);
/* Writes columns with white space trimmed and inner tabs and line breaks replaced by blanks; a row whose first side or
 * all other sides are empty is counted as dropped. A row with a line is written to a tab-separated file as it is. */
CQ_MUST_USE cq_status cq_row_writer_put(cq_row_writer *w, const cq_row *row, cq_error *error);
/* Appends what would be written; nothing for an empty row, which is counted as dropped. */
CQ_MUST_USE cq_status cq_row_writer_render(cq_builder *out, cq_row_writer *w, const cq_row *row, cq_error *error);
/* Commits unless `status`, the result of the work, is an error; always closes. Returns the first error. */
CQ_MUST_USE cq_status cq_row_writer_finish(cq_row_writer *w, cq_status status, cq_error *error);

#endif
