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
static void default_of(char *out, size_t size, const cli_option *o, const void *values) {
  const void *place = (const char *)values + o->offset;
  out[0] = '\0';
  if (o->default_text) {
    snprintf(out, size, "%s", o->default_text);
    return;
  }
  switch (o->type) {
  case CLI_FLAG:
  case CLI_LIST: break;
  case CLI_INT: snprintf(out, size, "%d", *(const int *)place); break;
  case CLI_COUNT: snprintf(out, size, "%llu", (unsigned long long)*(const uint64_t *)place); break;
  case CLI_NUMBER: snprintf(out, size, "%g", *(const double *)place); break;
  case CLI_TEXT:
    if (*(const char *const *)place) snprintf(out, size, "%s", *(const char *const *)place);
    break;
  case CLI_CHOICE: snprintf(out, size, "%s", o->choices[*(const int *)place]); break;
  case CLI_ANSWER: snprintf(out, size, "%s", cli_answers[*(const bool *)place]); break;
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

static void option_help(const cli_option *o, const void *values) {
  char left[128], text[1024], standard[128];
  size_t n;
  snprintf(left, sizeof left, "  %c%c%c --%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
           o->letter ? ',' : ' ', o->name, o->argument ? " " : "", o->argument ? o->argument : "");
  n = (size_t)snprintf(text, sizeof text, "%s", o->help);
  const char *const *choices = o->type == CLI_CHOICE ? o->choices : o->type == CLI_ANSWER ? cli_answers : NULL;
  for (size_t i = 0; choices && choices[i] && n < sizeof text; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i ? ", " : ": ", choices[i]);
  default_of(standard, sizeof standard, o, values);
  if (n < sizeof text && o->required)
    snprintf(text + n, sizeof text - n, o->type == CLI_LIST ? " (required; may be repeated)" : " (required)");
  else if (n < sizeof text && o->type == CLI_LIST)
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

void cli_help(const cli_command *command, const char *path) {
  if (command->children) {
    printf("Usage: %s COMMAND [OPTION...]\n\n", path);
  } else {
    char usage[1024];
    int column = printf("Usage: %s", path);
    size_t n = 0;
    usage[0] = '\0';
    for (size_t i = 0; i < cli_option_count(command) && n < sizeof usage; i++) {
      const cli_option *o = cli_option_at(command, i);
      if (o->required) n += (size_t)snprintf(usage + n, sizeof usage - n, " --%s %s", o->name, o->argument);
    }
    if (n < sizeof usage)
      snprintf(usage + n, sizeof usage - n, " [OPTION...]%s%s", command->arguments ? " " : "",
               command->arguments ? command->arguments : "");
    print_wrapped(usage, column, 4);
    putchar('\n');
  }
  print_wrapped(command->description ? command->description : command->summary, 0, 0);
  if (command->children) {
    children_help(command->children);
  } else {
    void *values = calloc(1, command->options_size + 1);
    if (command->list) list_help(command);
    printf("\nOptions:\n");
    if (values && command->defaults) command->defaults(values);
    for (size_t i = 0; values && i < cli_option_count(command); i++) option_help(cli_option_at(command, i), values);
    printf("%-*s%s\n", LEFT, "  -h, --help", "show this text");
    if (values) cli_options_free(command, values);
    free(values);
  }
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
