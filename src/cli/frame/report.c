/* Messages, tables, JSON text and the progress line of all commands. See report.h. */
#include "cli/frame/report.h"

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* ---- standard error ---- */

static bool quiet;
static char origin[320]; /* of errors, among several processes */
static int errors_wait_ms;

void cli_be_quiet(void) {
  quiet = true;
}

bool cli_is_quiet(void) {
  return quiet;
}

void cli_report_origin(const char *text, int wait_ms) {
  snprintf(origin, sizeof origin, "%s", text);
  errors_wait_ms = wait_ms;
}

/* In one write, so that lines of several processes are not interleaved. */
static void say_line(const char *begin, const char *format, va_list list) {
  char line[16384];
  va_list again;
  if (errors_wait_ms && begin[0])
    nanosleep(&(struct timespec){.tv_sec = errors_wait_ms / 1000, .tv_nsec = errors_wait_ms % 1000 * 1000000L}, NULL);
  fflush(stdout); /* so that the two streams stay in order on a terminal */
  const size_t n_begin = (size_t)snprintf(line, sizeof line, "calque: %s", begin);
  va_copy(again, list);
  const int n_text = vsnprintf(line + n_begin, sizeof line - n_begin, format, again);
  va_end(again);
  if (n_text >= 0 && n_begin + (size_t)n_text < sizeof line) {
    line[n_begin + (size_t)n_text] = '\n';
    cq_print_text(stderr, (cq_slice){line, n_begin + (size_t)n_text + 1});
    return;
  }
  char *text = n_text < 0 ? NULL : malloc((size_t)n_text + 1);
  fprintf(stderr, "calque: %s", begin);
  if (text && vsnprintf(text, (size_t)n_text + 1, format, list) == n_text)
    cq_print_text(stderr, (cq_slice){text, (size_t)n_text});
  fputc('\n', stderr);
  free(text);
}

int(cli_usage)(const char *path, const char *format, ...) {
  va_list list;
  va_start(list, format);
  say_line(origin, format, list);
  va_end(list);
  fprintf(stderr, "Try '%s --help'.\n", path);
  return CLI_USAGE;
}

int(cli_fail)(const char *format, ...) {
  va_list list;
  va_start(list, format);
  say_line(origin, format, list);
  va_end(list);
  return CLI_FAILED;
}

int(cli_fail_error)(const cq_error *error) {
  return cli_fail("%s", error->message);
}

void cli_note(const char *format, ...) {
  va_list list;
  if (quiet) return;
  va_start(list, format);
  say_line("", format, list);
  va_end(list);
}

void cli_notice(void *context, const char *text) {
  static _Atomic uint64_t last; /* a folder's documents and the queries to its index may give the same notice */
  uint64_t hash = 0xCBF29CE484222325u;
  (void)context;
  for (const char *c = text; *c; c++) hash = (hash ^ (unsigned char)*c) * 0x100000001B3u; /* FNV-1a */
  if (atomic_exchange(&last, hash) != hash) cli_note("%s", text);
}

/* ---- standard output ---- */

static int why_not_written; /* errno of the first flush that failed */

bool cli_flush_output(void) {
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return true;
  if (!why_not_written) why_not_written = errno;
  return false;
}

int cli_finish_output(int code) {
  if (cli_flush_output()) return code;
  if (why_not_written == EPIPE) return CLI_FAILED; /* the reader has seen enough */
  if (code == CLI_OK || code == CLI_FAILED)
    return cli_fail("<stdout>: cannot write: %s",
                    why_not_written ? strerror(why_not_written) : "an earlier write failed");
  return code;
}

void cli_field(FILE *stream, cq_slice text) {
  while (text.n) {
    size_t n = 0;
    while (n < text.n && text.data[n] != '\t' && text.data[n] != '\n' && text.data[n] != '\r') n++;
    cq_print_text(stream, (cq_slice){text.data, n});
    if (n < text.n) putc(' ', stream), n++;
    text.data += n, text.n -= n;
  }
}

void cli_json_text(FILE *stream, const char *before, cq_slice text) {
  cq_builder b = {0};
  cq_builder_text(&b, before);
  cq_json_string(&b, text.data, text.n, "\t\x7f");
  cq_print_text(stream, (cq_slice){b.data, b.n});
  cq_builder_free(&b);
}

void cli_json_number(FILE *stream, const char *before, double x, int n_decimals) {
  fprintf(stream, !isfinite(x) ? "%snull" : n_decimals ? "%s%.*f" : "%s%.*g", before, n_decimals ? n_decimals : 9, x);
}

void cli_table_cell(cli_table *table, const char *format, ...) {
  va_list list;
  char *cell = NULL;
  va_start(list, format);
  if (vasprintf(&cell, format, list) < 0) cell = NULL;
  va_end(list);
  if (cell && cq_reserve((void **)&table->cells, &table->capacity, table->n_cells + 1, sizeof *table->cells))
    table->cells[table->n_cells++] = cell;
  else
    free(cell), table->failed = true;
}

/* Characters, not bytes: good enough for labels, wrong only for double-width ones. */
static int width_of(const char *text) {
  return (int)cq_utf8_length(text, strlen(text));
}

static void print_csv_cell(const char *cell, FILE *stream) {
  if (!strpbrk(cell, ",\"\r\n")) {
    cq_print_text(stream, cq_slice_of(cell));
    return;
  }
  putc('"', stream);
  for (; *cell; cell++) {
    if (*cell == '"') putc('"', stream);
    putc(*cell, stream);
  }
  putc('"', stream);
}

static const char *in_markdown(char c) {
  static const char special[] = "\\|*_`<>[]#~$", *const escaped[] = {"\\\\", "\\|", "\\*", "\\_", "\\`", "&lt;",
                                                                     "&gt;", "\\[", "\\]", "\\#", "\\~", "\\$"};
  const char *at = c ? strchr(special, c) : NULL;
  return c == '&' ? "&amp;" : at ? escaped[at - special] : NULL;
}

static const char *in_latex(char c) {
  switch (c) {
  case '\\': return "\\textbackslash{}";
  case '~': return "\\textasciitilde{}";
  case '^': return "\\textasciicircum{}";
  case '<': return "\\textless{}";
  case '>': return "\\textgreater{}";
  case '|': return "\\textbar{}";
  case '"': return "{\\char34}";
  case '#': return "\\#";
  case '$': return "\\$";
  case '%': return "\\%";
  case '&': return "\\&";
  case '_': return "\\_";
  case '{': return "\\{";
  case '}': return "\\}";
  default: return NULL;
  }
}

/* A minus sign, which is not a hyphen in LaTeX. */
static bool is_minus(const char *cell, size_t i) {
  return cell[i] == '-' && cell[i + 1] >= '0' && cell[i + 1] <= '9' &&
         (i == 0 || cell[i - 1] == ' ' || cell[i - 1] == '[');
}

/* Without the blanks that align text; a control character becomes one. */
static void print_markup_cell(const char *cell, FILE *stream, const char *(*escape)(char)) {
  size_t n = strlen(cell), begin = 0;
  while (n > 0 && cell[n - 1] == ' ') n--;
  for (size_t i = 0; i <= n; i++) {
    const char *instead = i == n                                    ? ""
                          : (unsigned char)cell[i] < ' '            ? " "
                          : escape == in_latex && is_minus(cell, i) ? "$-$"
                                                                    : escape(cell[i]);
    if (!instead) continue;
    cq_print_text(stream, (cq_slice){cell + begin, i - begin});
    fputs(instead, stream);
    begin = i + 1;
  }
}

static void print_text_cell(const cli_table *table, size_t i, FILE *stream) {
  const size_t column = i % table->n_columns;
  int width = 0;
  for (size_t j = column; j < table->n_cells; j += table->n_columns)
    if (width_of(table->cells[j]) > width) width = width_of(table->cells[j]);
  const int blanks = width - width_of(table->cells[i]);
  if (column) fprintf(stream, "  %*s", blanks, "");
  cq_print_text(stream, cq_slice_of(table->cells[i]));
  if (column == 0) fprintf(stream, "%*s", blanks, "");
}

const char *const cli_table_formats[] = {"text", "csv", "markdown", "latex", NULL};

int cli_tables_format(cli_table_format *out, const cli_call *call, const cli_tables *options) {
  *out = options->csv ? CLI_TABLE_CSV : (cli_table_format)options->format;
  if (options->json + options->csv + (options->format != CLI_TABLE_TEXT) <= 1) return CLI_OK;
  return cli_usage(call->path, "--json, --csv and --table exclude each other");
}

/* What surrounds cells and rows, by format. */
static const struct markup {
  const char *first, *between, *last;
} markups[] = {{"", "", "\n"}, {"", ",", "\n"}, {"| ", " | ", " |\n"}, {"  ", " & ", " \\\\\n"}};

void cli_table_print(const cli_table *table, FILE *stream, cli_table_format format) {
  const size_t columns = table->n_columns;
  if (format == CLI_TABLE_LATEX) {
    fputs("% \\usepackage{booktabs}\n\\begin{tabular}{@{}l", stream);
    for (size_t c = 1; c < columns; c++) putc('r', stream);
    fputs("@{}}\n  \\toprule\n", stream);
  }
  for (size_t i = 0; i < table->n_cells; i++) {
    const size_t column = i % columns;
    fputs(column ? markups[format].between : markups[format].first, stream);
    switch (format) {
    case CLI_TABLE_TEXT: print_text_cell(table, i, stream); break;
    case CLI_TABLE_CSV: print_csv_cell(table->cells[i], stream); break;
    case CLI_TABLE_MARKDOWN: print_markup_cell(table->cells[i], stream, in_markdown); break;
    case CLI_TABLE_LATEX:
      /* After a row's end, "[" begins an argument, and "*" is one. */
      if (column == 0 && (*table->cells[i] == '[' || *table->cells[i] == '*')) fputs("{}", stream);
      print_markup_cell(table->cells[i], stream, in_latex);
      break;
    }
    if (column + 1 == columns) fputs(markups[format].last, stream);
    if (i + 1 == columns && format == CLI_TABLE_MARKDOWN)
      for (size_t c = 0; c < columns; c++)
        fputs(c == 0 ? "| :--- |" : c + 1 == columns ? " ---: |\n" : " ---: |", stream);
    if (i + 1 == columns && format == CLI_TABLE_LATEX) fputs("  \\midrule\n", stream);
  }
  if (format == CLI_TABLE_LATEX) fputs("  \\bottomrule\n\\end{tabular}\n", stream);
}

void cli_table_free(cli_table *table) {
  for (size_t i = 0; i < table->n_cells; i++) free(table->cells[i]);
  cq_free(table->cells);
  *table = (cli_table){0};
}

/* ---- progress ---- */

double cli_now_s(void) {
  return cq_seconds(CLOCK_MONOTONIC);
}

void cli_duration(char out[24], double seconds) {
  long s = seconds < 0 || !isfinite(seconds) ? 0 : seconds > 1e8 ? 100000000 : lround(seconds);
  if (s < 60)
    snprintf(out, 24, "%lds", s);
  else if (s < 3600)
    snprintf(out, 24, "%ld:%02ld", s / 60, s % 60);
  else
    snprintf(out, 24, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
}

cli_progress cli_progress_start(void) {
  double now = cli_now_s();
  return (cli_progress){.terminal = isatty(STDERR_FILENO) != 0, .last_s = now, .started_s = now};
}

void cli_progress_clear(cli_progress *p) {
  if (p->drawn) fputs("\r\033[K", stderr);
  p->drawn = false;
}

bool cli_progress_watch(void *progress, const char *what, uint64_t done, uint64_t n_all) {
  cli_progress *p = progress;
  char remark[64] = "", left[24];
  if (done == n_all) {
    cli_progress_clear(p);
    *p = cli_progress_start();
    return true;
  }
  if (p->watched_s == 0)
    p->watched_s = cli_now_s(), p->watched_from = done; /* excludes the work that a resumed run found done */
  if (done > p->watched_from) {
    cli_duration(left, (cli_now_s() - p->watched_s) / (double)(done - p->watched_from) * (double)(n_all - done));
    snprintf(remark, sizeof remark, "%s left", left);
  }
  cli_progress_draw(p, what, done, n_all, remark, false);
  return true;
}

/* The terminal's width in columns: when a longer line is redrawn, its beginning would stay on the screen. */
static size_t terminal_width(void) {
  struct winsize size;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void cli_progress_draw(cli_progress *p, const char *what, uint64_t done, uint64_t n_all, const char *remark, bool now) {
  enum { MAX_CELLS = 24, MIN_CELLS = 4 };
  char counts[64], bar[MAX_CELLS + 4] = "", line[512];
  double time_s = cli_now_s();
  if (quiet) return;
  /* In a log, lines become less frequent: every 10 s at first, every 5 min after some hours. */
  double interval_s = p->terminal ? 0.1 : fmin(fmax((time_s - p->started_s) / 20, 10), 300);
  if (!now && time_s - p->last_s < interval_s) return;
  p->last_s = time_s;
  if (n_all)
    snprintf(counts, sizeof counts, "%" PRIu64 "/%" PRIu64, done, n_all);
  else
    snprintf(counts, sizeof counts, "%" PRIu64, done);
  if (!remark) remark = "";
  const char *gap = remark[0] ? "  " : "";
  if (!p->terminal) {
    fprintf(stderr, "%s %s%s%s\n", what, counts, gap, remark);
    return;
  }
  size_t width = terminal_width() - 1, rest = strlen(what) + strlen(counts) + strlen(remark) + 6;
  if (n_all && rest + MIN_CELLS <= width) {
    size_t cells = width - rest < MAX_CELLS ? width - rest : MAX_CELLS;
    size_t full = done >= n_all ? cells : (size_t)((double)done / (double)n_all * (double)cells);
    memset(bar, '-', cells + 2);
    memset(bar + 1, '#', full);
    bar[0] = '[', bar[cells + 1] = ']', bar[cells + 2] = ' ';
  }
  snprintf(line, sizeof line, "%s %s%s%s%s", what, bar, counts, gap, remark);
  if (strlen(line) > width && width < sizeof line) line[width] = '\0';
  fprintf(stderr, "\r\033[K%s", line);
  p->drawn = true;
  fflush(stderr);
}
