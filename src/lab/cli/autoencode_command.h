/* The common part of the commands that train autoencoders: options, files with their languages, progress. */
#ifndef LAB_CLI_AUTOENCODE_COMMAND_H
#define LAB_CLI_AUTOENCODE_COMMAND_H

#include "calque/lab/autoencode.h"
#include "calque/lab/autoencode_trials.h"
#include "cli/frame/command.h"
#include "cli/frame/report.h"

typedef struct cli_autoencode_args {
  size_t size;
  int recipe, threads;
  const char *languages;
} cli_autoencode_args;

/* For commands whose struct begins with cli_autoencode_args. */
#define CLI_AUTOENCODE_OPTIONS                                                                                         \
  {CQ_CHOICE(cli_autoencode_args, "recipe", recipe, CHANGES, 0, cli_autoencode_recipes, "RECIPE",                      \
             "values of all options above that are not given")},                                                       \
      {CQ_TEXT(cli_autoencode_args, "languages", languages, CHANGES, "A,B",                                            \
               "language codes of the columns, for files without them"),                                               \
       .letter = 'l', .otherwise = "each file's own"},                                                                 \
      CLI_THREADS(cli_autoencode_args, threads)
extern const char *const cli_autoencode_recipes[], *const cli_autoencode_taken[];
#define CLI_AUTOENCODE_GROUP CLI_GROUP(&cq_group_autoencode, .left_out = cli_autoencode_taken)

enum { CLI_CODES = 256 }; /* bytes of two languages' codes */

/* The options of a call: the recipe's values, overridden by those given. */
typedef struct cli_autoencode_run {
  cq_options *options;
  cq_autoencode_options *o; /* their struct */
  cli_progress progress;
  cq_context *ctx;
  cq_ranks *ranks; /* NULL: this process is alone */
  char codes[CLI_CODES];
} cli_autoencode_run;

/* Returns an exit code; call cli_autoencode_end even after an error. */
int cli_autoencode_begin(cli_autoencode_run *out, const cli_call *call);
/* The exit code for the library's status; prints the error, and how to resume. */
int cli_autoencode_failed(cli_autoencode_run *run, const cli_call *call, cq_status status, const cq_error *error);
void cli_autoencode_end(cli_autoencode_run *run);

/* Splits "fr,it" into two codes, which are stored in `codes`. Returns CLI_OK, or CLI_USAGE after printing the error. */
int cli_two_codes(const char *out[2], char codes[CLI_CODES], const char *command_path, const char *text);

extern const cli_command cli_autoencode_train, cli_autoencode_plot, cli_autoencode_search, cli_autoencode_ablate;

#endif
