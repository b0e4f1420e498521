/* Help texts, made from the declarations in command.h. */
#include "cli/frame/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 96, LEFT = 30 };

/* Prints words from `column` on, broken before WIDTH and indented by `indent`; ends the line. Newlines in the text
 * stay. */
static void print_wrapped(const char *text, int column, int indent) {
  int at = column;
  bool blank = false; /* a space is due before the next word */
  while (*text) {
    size_t n = strcspn(text, " \n");
    if (*text == '\n' || (n && at > indent && at + (int)blank + (int)n > WIDTH)) {
      printf("\n%*s", indent, "");
      at = indent, blank = false;
      if (*text == '\n') text++;
      continue;
    }
    if (n) {
      at += printf("%s%.*s", blank ? " " : "", (int)n, text);
      blank = false, text += n;
    } else {
      blank = true, text++;
    }
  }
  putchar('\n');
}

/* The default as text, "" when there is none worth showing. */
static void default_of(char *out, size_t size, const cq_option *row, const cq_options *values) {
  char *value = NULL;
  out[0] = '\0';
  if (row->otherwise) {
    snprintf(out, size, "%s", row->otherwise);
  } else if (row->type != CQ_OPTION_FLAG && !cq_options_get(&value, values, row->name, 0, NULL) && value) {
    snprintf(out, size, "%s", value);
    cq_free(value);
  }
}

/* What is explained at the left, the explanation beside or, when that is too long, under it. */
static void print_entry(const char *left, const char *text) {
  if (strlen(left) + 2 > LEFT)
    printf("%s\n%*s", left, LEFT, "");
  else
    printf("%-*s", LEFT, left);
  print_wrapped(text, LEFT, LEFT);
}

static void option_help(const cq_option *o, const cq_options *values) {
  static const char *const answers[] = {"no", "yes", NULL};
  char left[128], text[1024], standard[128];
  size_t n;
  snprintf(left, sizeof left, "  %c%c%c --%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
           o->letter ? ',' : ' ', o->name, o->argument ? " " : "", o->argument ? o->argument : "");
  n = (size_t)snprintf(text, sizeof text, "%s", o->help);
  const char *const *choices = o->type == CQ_OPTION_YES_NO ? answers : o->choices;
  const bool several = cq_option_is_several(o) && !(o->flags & CQ_OPTION_COMMAS);
  for (size_t i = 0; choices && choices[i] && n < sizeof text; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? ", " : ": ", choices[i]);
  default_of(standard, sizeof standard, o, values);
  if (n < sizeof text && o->flags & CQ_OPTION_REQUIRED)
    snprintf(text + n, sizeof text - n, several ? " (required; may be repeated)" : " (required)");
  else if (n < sizeof text && several)
    snprintf(text + n, sizeof text - n, " (may be repeated)");
  else if (n < sizeof text && standard[0])
    snprintf(text + n, sizeof text - n, " (default: %s)", standard);
  print_entry(left, text);
}

static void children_help(const cli_command *const *children) {
  printf("\nCommands:\n");
  for (; *children; children++) {
    printf("  %-14s", (*children)->name);
    print_wrapped((*children)->summary, 16, 16);
  }
}

static void list_help(const cli_command *command) {
  cli_list_item item;
  printf("\n%s:\n", command->list_title);
  for (size_t i = 0; command->list(&item, i); i++) {
    char left[128];
    snprintf(left, sizeof left, "  %s %s", item.name, item.arguments);
    print_entry(left, item.text);
  }
}

static void usage(const cli_command *command, const char *path, const cli_values *values) {
  char text[1024];
  const int column = printf("Usage: %s", path);
  const cq_options *from;
  const cq_option *row;
  size_t n = 0;
  text[0] = '\0';
  for (size_t i = 0; (row = cli_values_row(&from, values, command, i)) && n < sizeof text; i++)
    if (row->flags & CQ_OPTION_REQUIRED)
      n += (size_t)snprintf(text + n, sizeof text - n, " --%s %s", row->name, row->argument);
  if (n < sizeof text)
    snprintf(text + n, sizeof text - n, " [OPTION...]%s%s", command->arguments ? " " : "",
             command->arguments ? command->arguments : "");
  print_wrapped(text, column, 4);
  putchar('\n');
}

static void options_help(const cli_command *command, const cli_values *values) {
  const cq_options *from;
  const cq_option *row;
  if (command->list) list_help(command);
  printf("\nOptions:\n");
  for (size_t i = 0; (row = cli_values_row(&from, values, command, i)); i++) option_help(row, from);
  printf("%-*s%s\n", LEFT, "  -h, --help", "show this text");
}

void cli_help(const cli_command *command, const char *path) {
  cli_values values = {0};
  if (command->children)
    printf("Usage: %s COMMAND [OPTION...]\n\n", path);
  else if (cli_values_new(&values, command) == CLI_OK)
    usage(command, path, &values);
  print_wrapped(command->description ? command->description : command->summary, 0, 0);
  if (command->children)
    children_help(command->children);
  else
    options_help(command, &values);
  cli_values_free(&values);
  if (command->example) {
    printf("\nExample:\n  ");
    for (const char *p = command->example; *p; p++) {
      putchar(*p);
      if (*p == '\n' && p[1]) printf("  ");
    }
    putchar('\n');
  }
  if (command->children) printf("\n'%s COMMAND --help' says more about each.\n", path);
}
