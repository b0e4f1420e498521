/* calque manual: writes the pages and completions from man.c and shells.c to a directory or standard output. */
#include "cli/manual/manual.h"

#include "cli/frame/output.h"
#include "cli/frame/report.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 4096 };

static const struct manual_format {
  const char *name, *file, *help;
  int (*write)(FILE *out, const cli_command *program); /* NULL: a file for each command */
} formats[] = {
    {"man", NULL, "manual pages of section 1, one for each command: calque.1, calque-model-new.1 ...", NULL},
    {"bash", "calque", "completions, for share/bash-completion/completions", cli_bash_completion},
    {"zsh", "_calque", "completions, for a directory of $fpath", cli_zsh_completion},
    {"fish", "calque.fish", "completions, for share/fish/vendor_completions.d", cli_fish_completion},
};
enum { N_FORMATS = sizeof formats / sizeof *formats };

/* --- files --- */

static const char *directory; /* NULL: standard output */
static const cli_command *program;

/* Writes DIRECTORY/NAME: the output of `write` for the page or, if it is NULL, for the program. */
static int write_file(const char *name, const cli_page *page, const struct manual_format *format) {
  char path[PATH_BYTES];
  cli_output file;
  cq_error error = {0};
  if (!directory) return page ? cli_man_page(stdout, page) : format->write(stdout, program);
  if (snprintf(path, sizeof path, "%s/%s", directory, name) >= PATH_BYTES)
    return cli_fail("%s: the path is too long", directory);
  if (cli_output_open(&file, path, &error)) return cli_fail_error(&error);
  const int code = page ? cli_man_page(file.stream, page) : format->write(file.stream, program);
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
  program = call->program;
  directory = call->n_arguments > 1 ? call->arguments[1] : NULL;
  if (directory && mkdir(directory, 0777) != 0 && errno != EEXIST)
    return cli_fail("%s: cannot make the directory: %s", directory, strerror(errno));
  if (formats[i].write) return write_file(formats[i].file, NULL, &formats[i]);
  return cli_visit_pages(NULL, program, program->name, NULL, write_man_page);
}

static bool list_manual_format(cli_list_item *out, size_t i) {
  if (i < N_FORMATS) *out = (cli_list_item){formats[i].name, "", formats[i].help};
  return i < N_FORMATS;
}

const cli_command cli_manual = {
    .name = "manual",
    .summary = "man pages and completions for bash, zsh and fish",
    CLI_ARGUMENTS("FORMAT [DIRECTORY]", 1, 2),
    .description =
        "Writes the manual of all commands into files of DIRECTORY or, without one, to standard output. 'make "
        "install' has put them where man and the shells look for them. The date is today's, or that of "
        "SOURCE_DATE_EPOCH in the environment.",
    .list_title = "Formats",
    .list = list_manual_format,
    .example = "calque manual man ~/.local/share/man/man1\n"
               "source <(calque manual bash)",
    .run = run_manual,
};
