/* The commands' tables as pages of the manual: one for each command and each group. */
#include "cli/manual/manual.h"

#include <string.h>
#include <strings.h>

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

const cq_option *cli_page_option(const cli_page *page, size_t i) {
  return page->values.options ? cq_options_row(page->values.options, i) : NULL;
}

bool cli_is_listed(const cli_command *command, const char *argument) {
  const size_t n = argument ? strspn(argument, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") : 0;
  if (n == 0 || !command->list) return false;
  const char *last = strrchr(command->list_title, ' '); /* FORMAT, File formats */
  return !strncasecmp(argument, last ? last + 1 : command->list_title, n);
}
