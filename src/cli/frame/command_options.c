/* From argv to a command's structs. Accepted: --name VALUE, --name=VALUE, -n VALUE, -nVALUE, flags without a value, and
 * "--", after which everything is an argument. Nothing is guessed: an unknown name, a malformed value, or a repeated
 * single-valued option is an error that states what was expected. */
#include "cli/frame/command.h"
#include "cli/frame/report.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const cq_option cli_threads_options[1] = {CLI_THREADS(cli_threads_args, threads)};

/* --- a command's values --- */

typedef struct whole {
  size_t size;
  void *library, *own;
} whole;

int cli_values_new(cli_values *out, const cli_command *command) {
  cq_error error = {0};
  *out = (cli_values){.whole = {.name = command->name, .size = sizeof(whole), .parts = out->parts},
                      .own = {.name = "own",
                              .size = command->options_size + sizeof(size_t), /* even of a command without any */
                              .row_size = sizeof *command->options,
                              .rows = command->options,
                              .n_rows = command->n_options,
                              .parts = out->parts_of_own}};
  for (const cq_option_part *g = command->groups; g && g->group; g++)
    if (g->offset != CLI_LIBRARY) {
      assert(out->own.n_parts < CLI_MAX_GROUPS);
      out->parts_of_own[out->own.n_parts++] = *g;
    } else {
      out->parts[0] = *g, out->parts[0].offset = offsetof(whole, library);
      out->whole.n_parts = 1;
    }
  out->parts[out->whole.n_parts++] = (cq_option_part){.group = &out->own, .offset = offsetof(whole, own)};
  if (cq_options_new(&out->options, &out->whole, &error)) return cli_fail_error(&error);
  const whole *structs = cq_options_struct(out->options);
  out->of_library = structs->library, out->of_command = structs->own;
  return CLI_OK;
}

void cli_values_free(cli_values *values) {
  cq_options_free(values->options);
}

/* --- argv --- */

/* The state of parsing. */
typedef struct parsing {
  const char *path;
  cq_options *options;
} parsing;

static const char *parsing_row_name(const void *context, size_t i) {
  return cq_options_row(((const parsing *)context)->options, i)->name;
}

/* The index of the option with a name or letter; *n receives the number of options. */
static size_t find_option(size_t *n, const parsing *p, const char *name, size_t n_name, char letter) {
  size_t found = SIZE_MAX;
  const cq_option *row;
  for (*n = 0; (row = cq_options_row(p->options, *n)); ++*n)
    if (found == SIZE_MAX &&
        (name ? strlen(row->name) == n_name && !memcmp(row->name, name, n_name) : row->letter == letter))
      found = *n;
  return found;
}

/* Whether every word of an option's name is a word of the given name: "batch" is in "batch-size". */
static bool is_word_of_option(const char *name, const char *given) {
  while (*name) {
    const size_t n = strcspn(name, "-");
    const char *at = given;
    while (*at && (strncmp(at, name, n) != 0 || !strchr("-_", at[n]))) { /* strchr finds the end, too */
      at += strcspn(at, "-_");
      at += *at != '\0';
    }
    if (!*at) return false;
    name += n;
    name += *name != '\0';
  }
  return true;
}

/* The option with the longest such name that begins with the same word, or NULL. */
static const char *option_within(const parsing *p, size_t n, const char *given) {
  const char *best = NULL;
  for (size_t i = 0; i < n; i++) {
    const char *name = parsing_row_name(p, i);
    const bool same_start = !strncmp(name, given, strcspn(name, "-"));
    if (same_start && is_word_of_option(name, given) && (!best || strlen(name) > strlen(best))) best = name;
  }
  return best;
}

static int unknown_option(const parsing *p, const char *name, size_t n_name, size_t n) {
  char word[64];
  snprintf(word, sizeof word, "%.*s", (int)(n_name < 63 ? n_name : 63), name);
  const char *near = cq_nearest_name(word, parsing_row_name, p, n);
  if (!near) near = option_within(p, n, word);
  if (near) return cli_usage(p->path, "unknown option --%s, did you mean --%s?", word, near);
  return cli_usage(p->path, "unknown option --%s", word);
}

static int set_option(const parsing *p, const cq_option *row, const char *value) {
  cq_error error = {0};
  if (row->type != CQ_OPTION_FLAG && !cq_option_is_several(row) && cq_options_is_set(p->options, row->name))
    return cli_usage(p->path, "--%s is given twice", row->name);
  if (cq_options_set(p->options, row->name, value, &error)) return cli_usage(p->path, "--%s", error.message);
  return CLI_OK;
}

/* Parses the option at argv[*i], and its value if that is a separate argument. */
static int parse_option(const parsing *p, int *i, int argc, char **argv) {
  const char *word = argv[*i], *value = NULL;
  const bool is_long = word[1] == '-';
  const size_t n_name = is_long ? strcspn(word + 2, "=") : 1;
  size_t n;
  const size_t index = find_option(&n, p, is_long ? word + 2 : NULL, n_name, word[1]);
  if (index == SIZE_MAX)
    return is_long ? unknown_option(p, word + 2, n_name, n) : cli_usage(p->path, "unknown option -%c", word[1]);
  const cq_option *row = cq_options_row(p->options, index);
  if (is_long && word[2 + n_name] == '=') value = word + 3 + n_name;
  if (!is_long && word[2] != '\0') value = word + 2;
  if (value && row->type == CQ_OPTION_FLAG)
    return is_long ? cli_usage(p->path, "--%s takes no value", row->name)
                   : cli_usage(p->path, "-%c takes no value, got '%s'", word[1], value);
  if (row->type == CQ_OPTION_FLAG) value = "yes";
  if (!value) {
    if (*i + 1 == argc) return cli_usage(p->path, "--%s needs a value: %s", row->name, row->argument);
    value = argv[++*i];
  }
  return set_option(p, row, value);
}

static int check_required(const parsing *p) {
  const cq_option *row;
  for (size_t i = 0; (row = cq_options_row(p->options, i)); i++)
    if (row->flags & CQ_OPTION_REQUIRED && !cq_options_is_set(p->options, row->name))
      return cli_usage(p->path, "--%s %s is missing", row->name, row->argument);
  return CLI_OK;
}

int cli_options_parse(const cli_command *command, const char *path, cli_values *values, int argc, char **argv,
                      const char **arguments, size_t *n_arguments, bool *help) {
  const parsing p = {path, values->options};
  bool options_over = false;
  int code = CLI_OK;
  *n_arguments = 0, *help = false;
  for (int i = 0; code == CLI_OK && i < argc; i++) {
    const char *word = argv[i];
    if (options_over || word[0] != '-' || word[1] == '\0') {
      arguments[(*n_arguments)++] = word;
    } else if (!strcmp(word, "--")) {
      options_over = true;
    } else if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
      *help = true;
      return CLI_OK;
    } else if (!strcmp(word, "--quiet")) {
      cli_be_quiet();
    } else {
      code = parse_option(&p, &i, argc, argv);
    }
  }
  if (code == CLI_OK) code = check_required(&p);
  if (code) return code;
  const int max = command->max_arguments;
  if (*n_arguments < (size_t)command->min_arguments)
    return cli_usage(path, "%s: expected %s", *n_arguments ? "an argument is missing" : "no argument is given",
                     command->arguments);
  if (max >= 0 && *n_arguments > (size_t)max) return cli_usage(path, "unexpected argument '%s'", arguments[max]);
  return CLI_OK;
}

bool cli_given(const cli_call *call, const char *name) {
  return cq_options_is_set(call->values->options, name);
}

int cli_check_options(const cli_call *call) {
  cq_error error = {0};
  return cq_options_check(call->values->options, &error) ? cli_usage(call->path, "%s", error.message) : CLI_OK;
}
