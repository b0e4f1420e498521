/* The manual: everything generated from the tables of commands, except --help. */
#ifndef CLI_MANUAL_MANUAL_H
#define CLI_MANUAL_MANUAL_H

#include "cli/frame/command.h"

#include <stdio.h>

/* A command as the manual sees it. */
typedef struct cli_page {
  const cli_command *command;
  const char *path; /* "calque model new" */
  const struct cli_page *parent;
  cli_values values; /* a group has none */
} cli_page;

/* Calls visit for `page` and all commands below it, until it returns something other than CLI_OK. */
typedef int (*cli_visit)(FILE *out, const cli_page *page);
int cli_visit_pages(FILE *out, const cli_command *command, const char *path, const cli_page *parent, cli_visit visit);

/* The i-th option of a page; NULL beyond the last one, and for a group. */
static inline const cq_option *cli_page_option(const cli_page *page, size_t i) {
  return page->values.options ? cq_options_row(page->values.options, i) : NULL;
}

/* Whether `argument`, of an option or of the command, is one of the items in the command's list. */
bool cli_is_listed(const cli_command *command, const char *argument);

int cli_man_page(FILE *out, const cli_page *page);
int cli_bash_completion(FILE *out, const cli_command *program);
int cli_zsh_completion(FILE *out, const cli_command *program);
int cli_fish_completion(FILE *out, const cli_command *program);

#endif
