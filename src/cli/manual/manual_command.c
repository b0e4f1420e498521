/* calque manual. */
#include "cli/manual/manual.h"

#include "cli/frame/output.h"
#include "cli/frame/report.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096 };

static const struct manual_format {
  const char *name, *file, *help;
  int (*write)(FILE *out); /* NULL: a file for each command */
} formats[] = {
    {"man", NULL, "manual pages of section 1, one for each command: calque.1, calque-model-new.1 ...", NULL},
    {"bash", "calque", "completions, for share/bash-completion/completions", cli_bash_completion},
    {"zsh", "_calque", "completions, for a directory of $fpath", cli_zsh_completion},
    {"fish", "calque.fish", "completions, for share/fish/vendor_completions.d", cli_fish_completion},
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

/* --- the commands' tables --- */

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

const cq_option *cli_page_option(char *text, size_t size, const cli_page *page, size_t i, bool with_range) {
  const cq_options *from;
  const cq_option *row = page->command->children ? NULL : cli_values_row(&from, &page->values, page->command, i);
  if (row) cli_option_text(text, size, row, from, with_range);
  return row;
}

bool cli_is_listed(const cli_command *command, const char *argument) {
  const size_t n = argument ? strspn(argument, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") : 0;
  if (n == 0 || !command->list) return false;
  const char *last = strrchr(command->list_title, ' '); /* FORMAT, File formats */
  return !strncasecmp(argument, last ? last + 1 : command->list_title, n);
}

/* --- files --- */

static const char *directory; /* NULL: standard output */

/* DIRECTORY/NAME with what `write` writes of the page or, without one, of the program. */
static int write_file(const char *name, const cli_page *page, const struct manual_format *format) {
  char path[PATH_BYTES];
  cli_output file;
  cq_error error = {0};
  if (!directory) return page ? cli_man_page(stdout, page) : format->write(stdout);
  if (snprintf(path, sizeof path, "%s/%s", directory, name) >= PATH_BYTES)
    return cli_fail("%s: the path is too long", directory);
  if (cli_output_open(&file, path, &error)) return cli_fail_error(&error);
  const int code = page ? cli_man_page(file.stream, page) : format->write(file.stream);
  if (code == CLI_OK) return cli_output_commit(&file, &error) ? cli_fail_error(&error) : CLI_OK;
  cli_output_abort(&file);
  return code;
}

static int write_man_page(FILE *unused, const cli_page *page) {
  char name[160];
  (void)unused;
  snprintf(name, sizeof name, "%s.1", page->path);
  for (char *at = name; (at = strchr(at, ' '));) *at = '-';
  return write_file(name, page, NULL);
}

static int run_manual(const cli_call *call) {
  size_t i = 0;
  while (i < N_FORMATS && strcmp(formats[i].name, call->arguments[0]) != 0) i++;
  if (i == N_FORMATS)
    return cli_usage(call->path, "there is no format '%s', expected man, bash, zsh or fish", call->arguments[0]);
  directory = call->n_arguments > 1 ? call->arguments[1] : NULL;
  if (directory && mkdir(directory, 0777) != 0 && errno != EEXIST)
    return cli_fail("%s: cannot make the directory: %s", directory, strerror(errno));
  if (formats[i].write) return write_file(formats[i].file, NULL, &formats[i]);
  return cli_visit_pages(NULL, &cli_program, cli_program.name, NULL, write_man_page);
}

static bool list_manual_format(cli_list_item *out, size_t i) {
  if (i < N_FORMATS) *out = (cli_list_item){formats[i].name, "", formats[i].help};
  return i < N_FORMATS;
}

const cli_command cli_manual = {
    .name = "manual",
    .summary = "man pages and completions for bash, zsh and fish",
    .arguments = "FORMAT [DIRECTORY]",
    .min_arguments = 1,
    .max_arguments = 2,
    .description =
        "Writes the manual of all commands into files of DIRECTORY or, without one, to standard output. 'make "
        "install' has put them where man and the shells look for them. Pages bear the date of the day, or of "
        "SOURCE_DATE_EPOCH in the environment.",
    .list_title = "Formats",
    .list = list_manual_format,
    .example = "calque manual man ~/.local/share/man/man1\n"
               "source <(calque manual bash)",
    .run = run_manual,
};
