/* What the commands that train an encoder have in common: options, files with labels and weights, news, the end. */
#ifndef CLI_TRAIN_TRAINING_H
#define CLI_TRAIN_TRAINING_H

#include "cli/frame/command.h"
#include "cli/frame/report.h"

typedef struct cli_training_args {
  size_t size;
  cq_training_options o;
  cli_list dev, sts;
  int schedule, best_by, threads;
  bool json;
} cli_training_args;

/* For commands whose struct begins with cli_training_args, and whose defaults begin with these. */
enum { CLI_TRAINING_N_OPTIONS = 33 };
extern const cq_option cli_training_options[CLI_TRAINING_N_OPTIONS];
void cli_training_defaults(cli_training_args *args, const cq_training_options *o);
#define CLI_TRAINING_OPTIONS .more_options = cli_training_options, .n_more_options = CLI_TRAINING_N_OPTIONS

/* A call under way. */
typedef struct cli_training {
  const cli_call *call;
  cq_training_options o;
  cq_context *ctx;
  cq_training_data *dev, *sts;
  cli_progress line;
  char phase[24];
  bool stop_told;
} cli_training;

/* Files of training data, "[LABEL=]TSV[:WEIGHT]", as one block to be freed. Returns an exit code. */
int cli_training_data(cq_training_data **out, const cli_call *call, const char *option, const cli_list *list);

/* Fills t->o and opens the context. Returns an exit code; to be ended by cli_training_end in any case. */
int cli_training_begin(cli_training *t, const cli_call *call);
/* What to return after the library's status: tells the result, or the error and how to go on. */
int cli_training_done(cli_training *t, cq_status status, const cq_training_result *result, const cq_error *error);
void cli_training_end(cli_training *t);

#endif
