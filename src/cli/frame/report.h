/* Output of commands: errors and notices on standard error, tables on standard output, a progress line. */
#ifndef CLI_FRAME_REPORT_H
#define CLI_FRAME_REPORT_H

#include "base/slice.h"
#include "cli/frame/command.h"

#include <stdio.h>

/* ---- standard error ---- */

/* "calque: MESSAGE" and where to find help; returns CLI_USAGE. */
int cli_usage(const char *path, const char *format, ...) CQ_PRINTF(2, 3);
/* "calque: MESSAGE"; returns CLI_FAILED. */
int cli_fail(const char *format, ...) CQ_PRINTF(1, 2);
int cli_fail_error(const cq_error *error);
#ifdef __clang_analyzer__ /* the analyzer sees one source file at a time: these never return CLI_OK */
#define cli_usage(path, ...)                                                                                           \
  __extension__({                                                                                                      \
    (void)(cli_usage)(path, __VA_ARGS__);                                                                              \
    CLI_USAGE;                                                                                                         \
  })
#define cli_fail(...)                                                                                                  \
  __extension__({                                                                                                      \
    (void)(cli_fail)(__VA_ARGS__);                                                                                     \
    CLI_FAILED;                                                                                                        \
  })
#define cli_fail_error(error)                                                                                          \
  __extension__({                                                                                                      \
    (void)(cli_fail_error)(error);                                                                                     \
    CLI_FAILED;                                                                                                        \
  })
#endif
/* Prefixes all later errors with this process's rank. wait_ms: if several ranks have an error, one prints it and ends
 * the others while they wait. */
void cli_report_origin(const char *origin, int wait_ms);
/* A remark: "calque: MESSAGE". */
void cli_note(const char *format, ...) CQ_PRINTF(1, 2);
/* --quiet: from here on, no notices and no progress; errors are still printed. */
void cli_be_quiet(void);
bool cli_is_quiet(void);
/* The same as a cq_notice_fn. */
void cli_notice(void *context, const char *text);

/* ---- standard output ---- */

/* Flushes standard output; a failed write (a full disk, a closed pipe) is reported and turns CLI_OK into CLI_FAILED. */
int cli_finish_output(int code);
/* Flushes standard output; false on failure, which is reported when the program ends. */
bool cli_flush_output(void);
/* Text from elsewhere (cq_print_text) as a column of a line: tabs within become blanks. */
void cli_field(FILE *stream, cq_slice text);
/* Writes `before`, then text as a JSON string, including quotes. */
void cli_json_text(FILE *stream, const char *before, cq_slice text);
/* The same for a number, with n_decimals, or nine digits if that is 0. null if it is not finite. */
void cli_json_number(FILE *stream, const char *before, double x, int n_decimals);

/* How a table is printed: aligned for reading, as CSV (RFC 4180), as a table of Markdown (GitHub's), or of LaTeX. */
typedef enum cli_table_format { CLI_TABLE_TEXT, CLI_TABLE_CSV, CLI_TABLE_MARKDOWN, CLI_TABLE_LATEX } cli_table_format;
/* The format that the options request; CLI_USAGE if they request two. */
int cli_tables_format(cli_table_format *out, const cli_call *call, const cli_tables *options);

/* A table of text cells. Only the first column is left-aligned. */
typedef struct cli_table {
  size_t n_columns, n_cells, capacity;
  char **cells; /* row by row; the first row is the heading */
  bool failed;  /* out of memory */
} cli_table;
void cli_table_cell(cli_table *table, const char *format, ...) CQ_PRINTF(2, 3);
void cli_table_print(const cli_table *table, FILE *stream, cli_table_format format);
void cli_table_free(cli_table *table);

/* ---- progress ---- */

/* A line that is redrawn in place on a terminal, and printed from time to time elsewhere. */
typedef struct cli_progress {
  bool terminal;
  bool drawn;       /* the terminal's last line holds it */
  double last_s;    /* when it was drawn */
  double started_s; /* when the program began to draw */
  double watched_s; /* cli_progress_watch: the time of its first call, and the work done before it */
  uint64_t watched_from;
} cli_progress;
cli_progress cli_progress_start(void);
/* done of n_all items (n_all 0: unknown), their name, and a remark or NULL. `now` draws regardless of the time. */
void cli_progress_draw(cli_progress *p, const char *what, uint64_t done, uint64_t n_all, const char *remark, bool now);
void cli_progress_clear(cli_progress *p);
/* The same as a callback on a cli_progress: the completed share of a task, and the time left. Never stops. */
bool cli_progress_watch(void *progress, const char *what, uint64_t done, uint64_t n_all);
double cli_now_s(void);
/* "59s", "1:02:03" */
void cli_duration(char out[24], double seconds);

#endif
