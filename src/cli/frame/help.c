/* Help texts, generated from the declarations in command.h. */
#include "cli/frame/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 96, LEFT = 30 };

/* Prints words from `column` on, wrapped at WIDTH, indented by `indent`, with the text's newlines; ends the line. */
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

/* A term on the left, with its explanation to the right or, if the term is too long, below. */
static void print_entry(const char *left, const char *text) {
  if (strlen(left) + 2 > LEFT)
    printf("%s\n%*s", left, LEFT, "");
  else
    printf("%-*s", LEFT, left);
  print_wrapped(text, LEFT, LEFT);
}

/* The range of a number, "; 1 to 1024"; nothing if there are no limits. */
static void write_range(FILE *out, const cq_option *row) {
  const bool above = row->flags & CQ_OPTION_ABOVE_MIN, below = row->flags & CQ_OPTION_BELOW_MAX;
  const bool open = row->max == 0 || row->max >= 1e9;
  const bool is_number = (row->type >= CQ_OPTION_INT && row->type <= CQ_OPTION_NUMBER) || row->type == CQ_OPTION_INTS;
  if (!is_number || (open && row->min == 0 && !above)) return;
  if (open)
    fprintf(out, "; %s %.10g", above ? "more than" : "at least", row->min);
  else if (!above && !below)
    fprintf(out, "; %.10g to %.10g", row->min, row->max);
  else
    fprintf(out, "; %s %.10g and %s %.10g", above ? "more than" : "at least", row->min, below ? "less than" : "at most",
            row->max);
}

/* "; default: 64", unless there is no default worth showing. */
static void write_default(FILE *out, const cq_option *row, const cq_options *values) {
  const bool several = cq_option_is_several(row) && !(row->flags & CQ_OPTION_COMMAS);
  char *value = NULL;
  if (row->flags & CQ_OPTION_REQUIRED) return;
  if (row->otherwise) {
    if (*row->otherwise) fprintf(out, "; default: %s", row->otherwise);
  } else if (row->type != CQ_OPTION_FLAG && !several && !cq_options_get(&value, values, row->name, 0, NULL) && value) {
    if (*value) fprintf(out, "; default: %s", value);
    cq_free(value);
  }
}

const char *const *cli_option_choices(const cq_option *row) {
  static const char *const answers[] = {"no", "yes", NULL};
  return row->type == CQ_OPTION_YES_NO ? answers : row->choices;
}

/* Whether a help text has "(choice)" or "choice:" for each choice, so that a list of them would be a repetition. */
static bool explains_choices(const char *help, const char *const *choices) {
  for (; *choices; choices++) {
    const size_t n = strlen(*choices);
    const char *at = help;
    while ((at = strstr(at, *choices)) && !(at[n] == ':' || (at > help && at[-1] == '(' && at[n] == ')'))) at++;
    if (!at) return false;
  }
  return true;
}

/* Choices, range and default, each after "; ". */
static void write_notes(FILE *out, const cq_option *o, const cq_options *values, bool with_range) {
  const char *const *choices = o->type == CQ_OPTION_YES_NO ? NULL : o->choices; /* yes|no is shown after the name */
  for (size_t i = 0; choices && choices[i] && !explains_choices(o->help, choices); i++)
    fprintf(out, "%s%s", i ? ", " : "; ", choices[i]);
  if (o->flags & CQ_OPTION_REQUIRED) fputs("; required", out);
  if (cq_option_is_several(o) && !(o->flags & CQ_OPTION_COMMAS)) fputs("; may be repeated", out);
  if (with_range) write_range(out, o);
  write_default(out, o, values);
}

char *cli_option_text(const cq_option *o, const cq_options *values, bool with_range) {
  char *text = NULL, *notes = NULL;
  size_t n;
  FILE *out = open_memstream(&notes, &n);
  if (!out) return NULL;
  write_notes(out, o, values, with_range);
  if (fclose(out) == 0 && asprintf(&text, *notes ? "%s (%s)" : "%s", o->help, *notes ? notes + 2 : "") < 0) text = NULL;
  free(notes);
  return text;
}

static void option_help(const cq_option *o, const cq_options *values) {
  char left[128], *text = cli_option_text(o, values, false);
  snprintf(left, sizeof left, "  %c%c%c --%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
           o->letter ? ',' : ' ', o->name, o->argument ? " " : "", o->argument ? o->argument : "");
  print_entry(left, text ? text : o->help);
  free(text);
}

static void children_help(const cli_command *command) {
  printf("\nCommands:\n");
  for (const cli_command *const *children = command->children; *children; children++) {
    if (*children == command->lab) printf("\nResearch methods (the lab):\n");
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

static void print_usage(const cli_command *command, const char *path, const cq_options *options) {
  char *text = NULL;
  size_t n;
  const cq_option *row;
  const int column = printf("Usage: %s", path);
  FILE *out = open_memstream(&text, &n);
  for (size_t i = 0; out && (row = cq_options_row(options, i)); i++)
    if (row->flags & CQ_OPTION_REQUIRED) fprintf(out, " --%s %s", row->name, row->argument);
  if (out)
    fprintf(out, " [OPTION...]%s%s", command->arguments ? " " : "", command->arguments ? command->arguments : "");
  if (out && fclose(out) == 0) print_wrapped(text, column, 4);
  free(text);
  putchar('\n');
}

static void options_help(const cli_command *command, const cq_options *options) {
  const cq_option *row;
  if (command->list) list_help(command);
  printf("\nOptions:\n");
  for (size_t i = 0; (row = cq_options_row(options, i)); i++) option_help(row, options);
  printf("%-*s%s\n", LEFT, "      --quiet", "print nothing but errors");
  printf("%-*s%s\n", LEFT, "  -h, --help", "show this text");
}

void cli_help(const cli_command *command, const char *path) {
  cli_values values = {0};
  if (command->children)
    printf("Usage: %s COMMAND [OPTION...]\n\n", path);
  else if (cli_values_new(&values, command) == CLI_OK)
    print_usage(command, path, values.options);
  print_wrapped(command->description ? command->description : command->summary, 0, 0);
  if (command->children)
    children_help(command);
  else
    options_help(command, values.options);
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
