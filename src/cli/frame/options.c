/* From argv to a command's struct. Accepted: --name VALUE, --name=VALUE, -n VALUE, -nVALUE, flags without a value, and
 * "--", after which everything is an argument. Nothing is guessed: an unknown name, a value that is not wholly of its
 * type, or a repeated option that is not a list, is an error that says what was expected. */
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const cli_answers[] = {"no", "yes", NULL};
const char *const cli_first_passes[] = {"f32", "int8", NULL};

bool cli_parse_number(double *out, const char *text) {
  char *end;
  /* strtod also takes leading blanks, "nan", "infinity" and hexadecimal: none of them is meant by anybody here. */
  if (text[0] == '\0' || strspn(text, "0123456789+-.eE") != strlen(text)) return false;
  errno = 0;
  double value = strtod(text, &end);
  if (*end != '\0' || (errno == ERANGE && fabs(value) > 1) || !isfinite(value)) return false;
  *out = value;
  return true;
}

bool cli_parse_count(uint64_t *out, const char *text) {
  char *end;
  if (text[0] == '\0' || strspn(text, "0123456789") != strlen(text)) return false;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  if (*end != '\0' || errno == ERANGE) return false;
  *out = value;
  return true;
}

static bool parse_int(int *out, const char *text) {
  uint64_t magnitude;
  bool negative = text[0] == '-';
  if (!cli_parse_count(&magnitude, text + negative) || magnitude > INT_MAX) return false;
  *out = negative ? -(int)magnitude : (int)magnitude;
  return true;
}

static const char *choice_name(const void *context, size_t i) {
  return ((const cli_option *)context)->choices[i];
}

static int bad_range(const char *path, const cli_option *o, const char *text) {
  if (o->greatest > 0)
    return cli_usage(path, "--%s is %s, expected %.10g to %.10g", o->name, text, o->least, o->greatest);
  return cli_usage(path, "--%s is %s, expected at least %g", o->name, text, o->least);
}

static bool in_range(const cli_option *o, double value) {
  return value >= o->least && (o->greatest <= 0 || value <= o->greatest);
}

static int store_choice(int *place, const char *path, const cli_option *o, const char *text) {
  size_t n = 0;
  char names[512] = "";
  for (; o->choices[n]; n++) {
    if (!strcmp(o->choices[n], text)) {
      *place = (int)n;
      return CLI_OK;
    }
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", n ? ", " : "", o->choices[n]);
  }
  const char *near = cli_nearest(text, choice_name, o, n);
  if (near) return cli_usage(path, "--%s is '%s', did you mean '%s'? (one of %s)", o->name, text, near, names);
  return cli_usage(path, "--%s is '%s', expected one of %s", o->name, text, names);
}

static int store(const char *path, const cli_option *o, void *values, const char *text) {
  void *place = (char *)values + o->offset;
  switch (o->type) {
  case CLI_FLAG: *(bool *)place = true; return CLI_OK;
  case CLI_TEXT: *(const char **)place = text; return CLI_OK;
  case CLI_CHOICE: return store_choice(place, path, o, text);
  case CLI_ANSWER: {
    cli_option answers = *o;
    int answer = 0;
    answers.choices = cli_answers;
    const int code = store_choice(&answer, path, &answers, text);
    *(bool *)place = answer;
    return code;
  }
  case CLI_INT: {
    int value;
    if (!parse_int(&value, text)) return cli_usage(path, "--%s is '%s', expected a whole number", o->name, text);
    if (!in_range(o, value)) return bad_range(path, o, text);
    *(int *)place = value;
    return CLI_OK;
  }
  case CLI_COUNT: {
    uint64_t value;
    if (!cli_parse_count(&value, text)) return cli_usage(path, "--%s is '%s', expected a whole number", o->name, text);
    if (!in_range(o, (double)value)) return bad_range(path, o, text);
    *(uint64_t *)place = value;
    return CLI_OK;
  }
  case CLI_NUMBER: {
    double value;
    if (!cli_parse_number(&value, text)) return cli_usage(path, "--%s is '%s', expected a number", o->name, text);
    if (!in_range(o, value)) return bad_range(path, o, text);
    *(double *)place = value;
    return CLI_OK;
  }
  case CLI_LIST: {
    cli_list *list = place;
    const char **grown = realloc(list->items, (list->n + 1) * sizeof *grown);
    if (!grown) return cli_usage(path, "out of memory");
    list->items = grown;
    list->items[list->n++] = text;
    return CLI_OK;
  }
  }
  return CLI_USAGE;
}

size_t cli_option_count(const cli_command *command) {
  return command->n_options + command->n_more_options;
}

const cli_option *cli_option_at(const cli_command *command, size_t i) {
  return i < command->n_options ? &command->options[i] : &command->more_options[i - command->n_options];
}

static const char *option_name(const void *context, size_t i) {
  return cli_option_at(context, i)->name;
}

/* The option's number; that of options when there is none of the name. */
static size_t find_long(const cli_command *command, const char *name, size_t n) {
  size_t i = 0;
  for (; i < cli_option_count(command); i++) {
    const cli_option *o = cli_option_at(command, i);
    if (strlen(o->name) == n && !memcmp(o->name, name, n)) break;
  }
  return i;
}

static size_t find_letter(const cli_command *command, char letter) {
  size_t i = 0;
  while (i < cli_option_count(command) && cli_option_at(command, i)->letter != letter) i++;
  return i;
}

static int unknown_option(const cli_command *command, const char *path, const char *word, size_t n_name) {
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)(n_name < 63 ? n_name : 63), word + 2);
  const char *near = cli_nearest(name, option_name, command, cli_option_count(command));
  if (near) return cli_usage(path, "unknown option --%s, did you mean --%s?", name, near);
  return cli_usage(path, "unknown option --%s", name);
}

int cli_options_parse(const cli_command *command, const char *path, void *values, int argc, char **argv, bool *given,
                      const char **arguments, size_t *n_arguments, bool *help) {
  const size_t n_options = cli_option_count(command);
  bool options_over = false;
  *n_arguments = 0, *help = false;
  assert(n_options <= CLI_MOST_OPTIONS);
  memset(given, 0, CLI_MOST_OPTIONS * sizeof *given);
  for (int i = 0; i < argc; i++) {
    const char *word = argv[i], *value = NULL;
    if (options_over || word[0] != '-' || word[1] == '\0') {
      arguments[(*n_arguments)++] = word;
      continue;
    }
    if (!strcmp(word, "--")) {
      options_over = true;
      continue;
    }
    if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
      *help = true;
      return CLI_OK;
    }
    const bool is_long = word[1] == '-';
    const size_t n_name = is_long ? strcspn(word + 2, "=") : 1;
    const size_t index = is_long ? find_long(command, word + 2, n_name) : find_letter(command, word[1]);
    if (index == n_options)
      return is_long ? unknown_option(command, path, word, n_name) : cli_usage(path, "unknown option -%c", word[1]);
    const cli_option *o = cli_option_at(command, index);
    if (is_long && word[2 + n_name] == '=') value = word + 3 + n_name;
    if (!is_long && word[2] != '\0') value = word + 2;
    if (value && o->type == CLI_FLAG)
      return is_long ? cli_usage(path, "--%s takes no value", o->name)
                     : cli_usage(path, "-%c takes no value, got '%s'", word[1], value);
    if (!value && o->type != CLI_FLAG) {
      if (i + 1 == argc) return cli_usage(path, "--%s needs a value: %s", o->name, o->argument);
      value = argv[++i];
    }
    if (given[index] && o->type != CLI_LIST && o->type != CLI_FLAG)
      return cli_usage(path, "--%s is given twice", o->name);
    given[index] = true;
    int status = store(path, o, values, value);
    if (status) return status;
  }
  for (size_t i = 0; i < n_options; i++) {
    const cli_option *o = cli_option_at(command, i);
    if (o->required && !given[i]) return cli_usage(path, "--%s %s is missing", o->name, o->argument);
  }
  int most = command->most_arguments;
  if (*n_arguments < (size_t)command->least_arguments)
    return cli_usage(path, "%s: expected %s", *n_arguments ? "an argument is missing" : "no argument is given",
                     command->arguments);
  if (most >= 0 && *n_arguments > (size_t)most) return cli_usage(path, "unexpected argument '%s'", arguments[most]);
  return CLI_OK;
}

bool cli_given(const cli_call *call, const char *name) {
  const size_t i = find_long(call->command, name, strlen(name));
  return i < cli_option_count(call->command) && call->given[i];
}

void cli_options_free(const cli_command *command, void *values) {
  for (size_t i = 0; i < cli_option_count(command); i++) {
    const cli_option *o = cli_option_at(command, i);
    if (o->type == CLI_LIST) free(((cli_list *)(void *)((char *)values + o->offset))->items);
  }
}
