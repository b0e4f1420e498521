/* A command's page of section 1, in the roff that man(7) describes.
 *
 * roff fills the text, so source lines may end between any two words. Characters with a meaning in roff are escaped: a
 * backslash, a literal hyphen, and a period or an apostrophe at the beginning of a line. */
#include "base/number.h"
#include "cli/manual/manual.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { WIDTH = 76 }; /* of source lines */

int cli_visit_pages(FILE *out, const cli_command *command, const char *path, const cli_page *parent, cli_visit visit) {
  cli_page page = {.command = command, .path = path, .parent = parent};
  int code = command->children ? CLI_OK : cli_values_new(&page.values, command);
  if (code == CLI_OK) code = visit(out, &page);
  for (size_t i = 0; code == CLI_OK && command->children && command->children[i]; i++) {
    char below[128];
    snprintf(below, sizeof below, "%s %s", path, command->children[i]->name);
    code = cli_visit_pages(out, command->children[i], below, &page, visit);
  }
  cli_values_free(&page.values);
  return code;
}

bool cli_is_listed(const cli_command *command, const char *argument) {
  const size_t n = argument ? strspn(argument, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") : 0;
  if (n == 0 || !command->list) return false;
  const char *last = strrchr(command->list_title, ' '); /* FORMAT, File formats */
  return !strncasecmp(argument, last ? last + 1 : command->list_title, n);
}

/* A word of the source. */
typedef struct roff_word {
  char text[512];
  size_t n;
} roff_word;

static void append_roff(roff_word *word, const char *text, size_t n) {
  for (size_t i = 0; i < n && word->n + 2 < sizeof word->text; i++) {
    if (text[i] == '-' || text[i] == '\\') word->text[word->n++] = '\\';
    word->text[word->n++] = text[i] == '\\' ? 'e' : text[i];
  }
  word->text[word->n] = '\0';
}

static void append_command(roff_word *word, const char *text) {
  word->n += (size_t)snprintf(word->text + word->n, sizeof word->text - word->n, "%s", text);
}

/* The name of an option in the word is bold. */
static roff_word word_of(const char *text, size_t n) {
  roff_word word = {.n = 0};
  const size_t before = strspn(text, "('\"");
  size_t name = 0;
  if (n > 400) n = 400; /* no text has such words */
  if (before + 2 < n && text[before] == '-' && text[before + 1] == '-')
    for (name = 2; before + name < n && (isalnum((unsigned char)text[before + name]) || text[before + name] == '-');)
      name++;
  if (name > 2) {
    append_roff(&word, text, before);
    append_command(&word, "\\fB");
    append_roff(&word, text + before, name);
    append_command(&word, "\\fR");
    text += before + name, n -= before + name;
  }
  append_roff(&word, text, n);
  return word;
}

static void write_escaped(FILE *out, const char *text, size_t n) {
  for (size_t i = 0; i < n; i++) {
    roff_word word = {.n = 0};
    append_roff(&word, text + i, 1);
    fputs(word.text, out);
  }
}

/* Writes a text in source lines; the first line already has `column` characters. Two newlines are a paragraph, one a
 * break. */
static void write_text(FILE *out, const char *text, size_t column) {
  while (*text) {
    if (*text == '\n') {
      fputs(text[1] == '\n' ? "\n.PP" : "\n.br", out);
      text += strspn(text, "\n");
      column = WIDTH;
    }
    const size_t n = strcspn(text, " \n");
    const roff_word word = word_of(text, n);
    if (n && column) fputc(column + 1 + word.n > WIDTH ? '\n' : ' ', out);
    column = column + 1 + word.n > WIDTH || !column ? word.n : column + 1 + word.n;
    if (column == word.n && (*text == '.' || *text == '\'')) fputs("\\&", out);
    fputs(word.text, out);
    text += n;
    text += *text == ' ';
  }
  fputc('\n', out);
}

/* "calque model new" as a page's name: calque\-model\-new */
static void write_name(FILE *out, const char *path) {
  for (; *path; path++)
    if (*path == ' ' || *path == '-')
      fputs("\\-", out);
    else
      fputc(*path, out);
}

/* Words of a usage line: names in italics, brackets and dots unchanged. */
static void write_arguments(FILE *out, const char *text) {
  bool italic = false;
  for (; *text; text++) {
    const bool letter = isalpha((unsigned char)*text);
    if (letter != italic) fputs(letter ? "\\fI" : "\\fR", out);
    italic = letter;
    if (*text == ' ')
      fputs(" ", out);
    else
      write_escaped(out, text, 1);
  }
  fputs(italic ? "\\fR\n" : "\\&\n", out); /* dots at its end do not end a sentence */
}

static void write_synopsis(FILE *out, const cli_page *page) {
  const cq_option *row;
  fputs(".SH SYNOPSIS\n.B ", out);
  write_text(out, page->path, 0);
  if (page->command->children) {
    fputs("\\fICOMMAND\\fR [\\fIOPTION\\fR...]\n", out);
    if (!page->parent) fputs(".br\n.B calque \\-\\-version\n", out);
    return;
  }
  for (size_t i = 0; (row = cli_page_option(page, i)); i++) {
    if (!(row->flags & CQ_OPTION_REQUIRED)) continue;
    fputs("\\fB\\-\\-", out);
    write_escaped(out, row->name, strlen(row->name));
    fputs("\\fR ", out);
    write_arguments(out, row->argument);
  }
  fputs("[\\fIOPTION\\fR...]\\&\n", out);
  if (page->command->arguments) write_arguments(out, page->command->arguments);
}

static void write_man_options(FILE *out, const cli_page *page) {
  const cq_option *row;
  fputs(".SH OPTIONS\n", out);
  for (size_t i = 0; (row = cli_page_option(page, i)); i++) {
    fputs(".TP\n", out);
    if (row->letter) fprintf(out, "\\fB\\-%c\\fR, ", row->letter);
    fputs("\\fB\\-\\-", out);
    write_escaped(out, row->name, strlen(row->name));
    fputs(row->argument ? "\\fR " : "\\fR\n", out);
    if (row->argument) write_arguments(out, row->argument);
    char *text = cli_option_text(row, page->values.options, true);
    write_text(out, text ? text : row->help, 0);
    free(text);
  }
  fputs(".TP\n\\fB\\-\\-quiet\\fR\nprint nothing but errors\n", out);
  fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nshow a shorter text than this\n", out);
}

static void write_list(FILE *out, const cli_command *command) {
  cli_list_item item;
  fputs(".SH ", out);
  for (const char *c = command->list_title; *c; c++) fputc(toupper((unsigned char)*c), out);
  fputc('\n', out);
  for (size_t i = 0; command->list(&item, i); i++) {
    fprintf(out, ".TP\n\\fB%s\\fR%s", item.name, *item.arguments ? " " : "");
    write_arguments(out, item.arguments);
    write_text(out, item.text, 0);
  }
}

static void write_children(FILE *out, const cli_page *page) {
  fputs(".SH COMMANDS\n", out);
  for (const cli_command *const *child = page->command->children; *child; child++) {
    if (*child == page->command->lab) fputs(".SS Research methods (the lab)\n", out);
    fputs(".TP\n.BR ", out);
    write_name(out, page->path);
    fprintf(out, "\\-%s (1)\n", (*child)->name);
    write_text(out, (*child)->summary, 0);
  }
}

static void write_example(FILE *out, const char *text) {
  fputs(".SH EXAMPLES\n.EX\n", out);
  while (*text) {
    const size_t n = strcspn(text, "\n");
    if (*text == '.' || *text == '\'') fputs("\\&", out);
    write_escaped(out, text, n);
    text += n;
    if (*text) fputc(*text++, out);
  }
  fputs("\n.EE\n", out);
}

/* Sections common to all commands. */
static void write_common(FILE *out, bool is_program) {
  static const char *const codes[][2] = {
      {"0", "All went well."},
      {"1", "Something failed; standard error says what, and where. Files that were to be written are as they were."},
      {"2", "An option or argument was wrong; nothing was done."},
      {"3",
       "Training made nothing better, or broke the model: the best one is written, which may be that of the start."},
  };
  static const char *const variables[][2] = {
      {"CALQUE_SIMD",
       "The highest level of SIMD instructions to compute with: avx512, avx2, neon, portable or reference. "
       "Without it, the highest that the processor has."},
      {"CALQUE_SAMPLE", "Where the sample corpus of calque demo is, if not next to the program."},
      {"CALQUE_MODELS", "Where calque's own models are, if not in share/calque/models next to the library."},
      {"HF_HUB_CACHE, HF_HOME",
       "Where models are looked for by name: in the directory HF_HUB_CACHE, else in hub below "
       "HF_HOME, else in huggingface/hub below XDG_CACHE_HOME or ~/.cache. calque model get fetches them there."},
      {"HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE, https_proxy",
       "Of calque model get and put: the account's token (else the file that hf auth login leaves), another hub, "
       "1 to fetch nothing, and a proxy."},
      {"XDG_CACHE_HOME",
       "Vectors that were computed are kept in calque below this directory; without it, below ~/.cache."},
      {"TMPDIR", "Where temporary files go; without it, to /tmp."},
  };
  fputs(".SH EXIT STATUS\n", out);
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    fprintf(out, ".TP\n.B %s\n", codes[i][0]);
    write_text(out, codes[i][1], 0);
  }
  fputs(".SH ENVIRONMENT\n", out);
  if (!is_program)
    fputs(".BR calque (1)\nsays what CALQUE_SIMD, CALQUE_SAMPLE, CALQUE_MODELS, HF_HUB_CACHE,\nHF_HOME, XDG_CACHE_HOME "
          "and TMPDIR "
          "mean.\n",
          out);
  for (size_t i = 0; is_program && i < sizeof variables / sizeof *variables; i++) {
    fprintf(out, ".TP\n.B %s\n", variables[i][0]);
    write_text(out, variables[i][1], 0);
  }
}

/* A command's group, and the other commands in the group; for a group, its commands are listed above. */
static void write_see_also(FILE *out, const cli_page *page) {
  fputs(".SH SEE ALSO\n", out);
  if (!page->parent) {
    write_text(out, "The headers calque/*.h say how programs in C use the library.", 0);
    return;
  }
  fputs(".BR calque (1)", out);
  if (page->parent->parent) {
    fputs(",\n.BR ", out);
    write_name(out, page->parent->path);
    fputs(" (1)", out);
    for (const cli_command *const *next = page->parent->command->children; *next; next++) {
      if (*next == page->command) continue;
      fputs(",\n.BR ", out);
      write_name(out, page->parent->path);
      fprintf(out, "\\-%s (1)", (*next)->name);
    }
  }
  fputc('\n', out);
}

/* The day of SOURCE_DATE_EPOCH, for reproducible packages; otherwise today. */
static void page_date(char *out, size_t size) {
  const char *epoch = getenv("SOURCE_DATE_EPOCH");
  uint64_t seconds;
  const time_t now = epoch && cq_parse_count(&seconds, epoch) ? (time_t)seconds : time(NULL);
  struct tm day;
  out[0] = '\0';
  if (gmtime_r(&now, &day)) strftime(out, size, "%Y-%m-%d", &day);
}

int cli_man_page(FILE *out, const cli_page *page) {
  const cli_command *command = page->command;
  char date[32];
  page_date(date, sizeof date);
  fputs(".TH \"", out);
  for (const char *c = page->path; *c; c++) fputc(*c == ' ' ? '-' : toupper((unsigned char)*c), out);
  fprintf(out, "\" \"1\" \"%s\" \"calque %s\" \"calque\"\n.ad l\n.nh\n.SH NAME\n", date, cq_version());
  write_name(out, page->path);
  fputs(" \\-", out);
  write_text(out, command->summary, strlen(page->path) + 8);
  write_synopsis(out, page);
  fputs(".SH DESCRIPTION\n", out);
  write_text(out, command->description ? command->description : command->summary, 0);
  if (command->list) write_list(out, command);
  if (command->children)
    write_children(out, page);
  else
    write_man_options(out, page);
  write_common(out, !page->parent);
  if (command->example) write_example(out, command->example);
  write_see_also(out, page);
  return CLI_OK;
}
