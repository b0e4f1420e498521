/* Shared by the commands that train an encoder: progress and the end of a run. */
#ifndef CLI_TRAIN_TRAINING_COMMAND_H
#define CLI_TRAIN_TRAINING_COMMAND_H

#include "cli/frame/command.h"
#include "cli/frame/report.h"

/* The command's own options for training; the others are the library's. */
typedef struct cli_training_args {
  size_t size;
  int threads;
  bool json;
} cli_training_args;
enum { CLI_TRAINING_N_OPTIONS = 2 };
extern const cq_option cli_training_options[CLI_TRAINING_N_OPTIONS];
#define CLI_TRAINING_OPTIONS                                                                                           \
  .options = cli_training_options, .n_options = CLI_TRAINING_N_OPTIONS, .options_size = sizeof(cli_training_args)

/* A call under way. */
typedef struct cli_training {
  const cli_call *call;
  const cq_training_options *run;
  cq_context *ctx;
  cq_ranks *ranks; /* NULL: this process alone */
  cli_progress line;
  char phase[24];
  bool stop_told;
} cli_training;

/* Checks the options, sets up progress messages, and opens the context. run: the call's own struct. Returns an exit
 * code; call cli_training_end even after an error. */
int cli_training_begin(cli_training *t, const cli_call *call, const cq_training_options *run);
/* The exit code for the library's status; prints the result, or the error and how to resume. */
int cli_training_done(cli_training *t, cq_status status, const cq_training_result *result, const cq_error *error);
/* The exit code after a successful run; reports a model that has collapsed or is no better than before. */
int cli_training_verdict(const cq_training_result *result);
void cli_training_end(cli_training *t);

#endif
