/* The program: a table of commands, and the lookup of the one to run.
 *
 * To add a command: write src/cli/SUBJECT/NAME_command.c following the pattern in command.h, declare it below, and add
 * a row to the table. Its help text, option parsing and error messages are derived from the declaration. */
#include "calque/ranks.h"
#include "cli/frame/command.h"
#include "cli/frame/report.h"
#include "cli/frame/stop.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

extern const cli_command cli_encode, cli_similarity, cli_eval, cli_model, cli_distill, cli_mine, cli_align, cli_cluster,
    cli_index, cli_search, cli_lexical, cli_words, cli_clir, cli_compare, cli_plot, cli_autoencode, cli_data, cli_demo,
    cli_finetune, cli_extend, cli_manual, cli_cache, cli_serve;

static const cli_command *const commands[] = {
    &cli_encode,  &cli_similarity, &cli_eval,   &cli_extend,  &cli_distill, &cli_finetune, &cli_mine,       &cli_align,
    &cli_cluster, &cli_index,      &cli_search, &cli_serve,   &cli_data,    &cli_model,    &cli_cache,      &cli_demo,
    &cli_manual,  &cli_lexical,    &cli_words,  &cli_compare, &cli_plot,    &cli_clir,     &cli_autoencode, NULL,
};

static const cli_command program = {
    .name = "calque",
    .summary = "multilingual sentence embeddings",
    .description = "Trains, runs and evaluates multilingual sentence-embedding models: a sentence and its translation "
                   "get the same vector. Extends an English model to new languages (knowledge distillation), "
                   "fine-tunes, finds translations (bitext mining), searches documents and measures the results.",
    .example = "calque similarity --model all-MiniLM-L6-v2 \"A dog barks.\" \"A cat sleeps.\"",
    .children = commands,
    .lab = &cli_lexical,
};

static const char *child_name(const void *context, size_t i) {
  return ((const cli_command *const *)context)[i]->name;
}

/* "encode, index add": the commands below this one that accept ranks. */
static void list_takers(FILE *out, const cli_command *command, const char *path, bool *begun) {
  if (command->takes_ranks) fprintf(out, "%s%s", *begun ? ", " : "", path), *begun = true;
  for (size_t i = 0; command->children && command->children[i]; i++) {
    char below[128];
    snprintf(below, sizeof below, "%s%s%s", path, *path ? " " : "", command->children[i]->name);
    list_takers(out, command->children[i], below, begun);
  }
}

static int refuse_ranks(const char *path) {
  char *takers = NULL;
  size_t n;
  bool begun = false;
  FILE *out = open_memstream(&takers, &n);
  if (!out) return cli_fail("out of memory");
  list_takers(out, &program, "", &begun);
  const int code =
      fclose(out)
          ? cli_fail("out of memory")
          : cli_fail("%s: mpirun has started several processes, which only these commands support: %s", path, takers);
  free(takers);
  return code;
}

/* Runs a command that is not a group, with the words after its name. */
static int run_command(const cli_command *command, const char *path, int argc, char **argv, int all_argc,
                       char **all_argv) {
  bool help = false;
  size_t n_arguments = 0;
  cli_values values = {0};
  const char **arguments = calloc((size_t)argc + 1, sizeof *arguments);
  int code = arguments ? cli_values_new(&values, command) : cli_fail("out of memory");
  if (code == CLI_OK) code = cli_options_parse(command, path, &values, argc, argv, arguments, &n_arguments, &help);
  if (code == CLI_OK && help) {
    cli_help(command, path);
  } else if (code == CLI_OK && cq_ranks_are_started() && !command->takes_ranks) {
    code = refuse_ranks(path);
  } else if (code == CLI_OK) {
    const cli_call call = {.program = &program,
                           .command = command,
                           .path = path,
                           .library = values.of_library,
                           .options = values.of_command,
                           .arguments = arguments,
                           .n_arguments = n_arguments,
                           .values = &values,
                           .argc = all_argc,
                           .argv = all_argv};
    assert(command->run); /* a command runs or has commands below it */
    code = command->run(&call);
  }
  cli_values_free(&values);
  free(arguments);
  return code;
}

static int dispatch_command(int argc, char **argv) {
  const cli_command *command = &program;
  char path[128] = "calque";
  int i = 1;
  while (command->children) {
    const char *word = i < argc ? argv[i] : NULL;
    const cli_command *const *child = command->children;
    size_t n = 0;
    if (!word) {
      cli_usage(path, "%s needs a command", path);
      return CLI_USAGE;
    }
    if (!strcmp(word, "--help") || !strcmp(word, "-h") || (command == &program && !strcmp(word, "help"))) {
      cli_help(command, path);
      return CLI_OK;
    }
    if (command == &program && !strcmp(word, "--version")) {
      printf("calque %s\n", cq_version());
      return CLI_OK;
    }
    if (word[0] == '-') return cli_usage(path, "unknown option %s before a command", word);
    while (*child && strcmp((*child)->name, word) != 0) child++, n++;
    if (!*child) {
      const char *near = cq_nearest_name(word, child_name, command->children, n);
      if (near) return cli_usage(path, "'%s' is not a command of %s, did you mean '%s'?", word, path, near);
      return cli_usage(path, "'%s' is not a command of %s", word, path);
    }
    command = *child;
    size_t used = strlen(path);
    snprintf(path + used, sizeof path - used, " %s", command->name);
    i++;
  }
  return run_command(command, path, argc - i, argv + i, argc, argv);
}

/* The library ignores an unknown CALQUE_SIMD; the program reports it. */
static bool check_simd(void) {
  static const char *const names[] = {"reference", "portable", "neon", "avx2", "avx512"};
  const char *wish = getenv("CALQUE_SIMD");
  bool known = !wish || !*wish;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) known = known || !strcmp(wish, names[i]);
  if (!known) cli_fail("CALQUE_SIMD is '%s', expected reference, portable, neon, avx2 or avx512", wish);
  return known;
}

int main(int argc, char **argv) {
  /* With these signals ignored, a closed pipe and a file over its limit are ordinary write errors. */
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  cli_stop_begin();
  return check_simd() ? cli_stop_code(cli_finish_output(dispatch_command(argc, argv))) : CLI_USAGE;
}
