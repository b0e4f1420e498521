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

/* The range of a number, "; 1 to 1024"; nothing when any will do. */
static size_t append_range(char *out, size_t size, const cq_option *row) {
  const bool above = row->flags & CQ_OPTION_ABOVE_MIN, below = row->flags & CQ_OPTION_BELOW_MAX;
  const bool open = row->max == 0 || row->max >= 1e9;
  const bool is_number = (row->type >= CQ_OPTION_INT && row->type <= CQ_OPTION_NUMBER) || row->type == CQ_OPTION_INTS;
  if (!is_number || (open && row->min == 0 && !above)) return 0;
  if (open) return (size_t)snprintf(out, size, "; %s %.10g", above ? "more than" : "at least", row->min);
  if (!above && !below) return (size_t)snprintf(out, size, "; %.10g to %.10g", row->min, row->max);
  return (size_t)snprintf(out, size, "; %s %.10g and %s %.10g", above ? "more than" : "at least", row->min,
                          below ? "less than" : "at most", row->max);
}

const char *const *cli_option_choices(const cq_option *row) {
  static const char *const answers[] = {"no", "yes", NULL};
  return row->type == CQ_OPTION_YES_NO ? answers : row->choices;
}

/* Whether a help text has "(choice)" or "choice:" for each choice; a list of them would only repeat it. */
static bool explains_choices(const char *help, const char *const *choices) {
  for (; *choices; choices++) {
    const size_t n = strlen(*choices);
    const char *at = help;
    while ((at = strstr(at, *choices)) && !(at[n] == ':' || (at > help && at[-1] == '(' && at[n] == ')'))) at++;
    if (!at) return false;
  }
  return true;
}

void cli_option_text(char *out, size_t size, const cq_option *o, const cq_options *values, bool with_range) {
  const char *const *choices = o->type == CQ_OPTION_YES_NO ? NULL : o->choices; /* yes|no stands behind the name */
  const bool several = cq_option_is_several(o) && !(o->flags & CQ_OPTION_COMMAS);
  char standard[128], notes[512] = ""; /* each note begins with "; " */
  size_t n = (size_t)snprintf(out, size, "%s", o->help), n_notes = 0;
  for (size_t i = 0; choices && choices[i] && !explains_choices(o->help, choices); i++)
    n_notes += (size_t)snprintf(notes + n_notes, sizeof notes - n_notes, "%s%s", i ? ", " : "; ", choices[i]);
  if (o->flags & CQ_OPTION_REQUIRED) n_notes += (size_t)snprintf(notes + n_notes, sizeof notes - n_notes, "; required");
  if (several) n_notes += (size_t)snprintf(notes + n_notes, sizeof notes - n_notes, "; may be repeated");
  if (with_range) n_notes += append_range(notes + n_notes, sizeof notes - n_notes, o);
  default_of(standard, sizeof standard, o, values);
  if (standard[0] && (!several || o->otherwise) && !(o->flags & CQ_OPTION_REQUIRED))
    snprintf(notes + n_notes, sizeof notes - n_notes, "; default: %s", standard);
  if (n < size && notes[0]) snprintf(out + n, size - n, " (%s)", notes + 2);
}

static void option_help(const cq_option *o, const cq_options *values) {
  char left[128], text[1024];
  snprintf(left, sizeof left, "  %c%c%c --%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
           o->letter ? ',' : ' ', o->name, o->argument ? " " : "", o->argument ? o->argument : "");
  cli_option_text(text, sizeof text, o, values, false);
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

static void print_usage(const cli_command *command, const char *path, const cli_values *values) {
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
  printf("%-*s%s\n", LEFT, "      --quiet", "say nothing but errors");
  printf("%-*s%s\n", LEFT, "  -h, --help", "show this text");
}

void cli_help(const cli_command *command, const char *path) {
  cli_values values = {0};
  if (command->children)
    printf("Usage: %s COMMAND [OPTION...]\n\n", path);
  else if (cli_values_new(&values, command) == CLI_OK)
    print_usage(command, path, &values);
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
