/* calque extend: adds new languages to a model with one command. cq_extend does the work and makes the choices. */
#include "calque/extend.h"
#include "cli/train/training_command.h"

static int run_extend(const cli_call *call) {
  cq_extend_options *o = call->library;
  cli_training t;
  o->model = call->arguments[0];
  int code = cli_training_begin(&t, call, o->run);
  if (code == CLI_OK) {
    cq_error error = {0};
    cq_training_result result = {0};
    const cq_status status = cq_extend(&result, o, t.ctx, &error);
    code = cli_training_done(&t, status, &result, &error);
  }
  cli_training_end(&t);
  return code;
}

const cli_command cli_extend = {
    .name = "extend",
    .summary = "extend a model to new languages with one command",
    CLI_ARGUMENTS("MODEL", 1, 1),
    .description = "Makes a model that gives sentences of new languages the vectors that MODEL gives their "
                   "translations. It holds out pairs of each file, makes a student with a new vocabulary ('calque "
                   "model new'), and trains it for a given time ('calque distill'). Each choice is printed with the "
                   "option that overrides it. Work in progress is in DIR.extend and DIR.work. The model is never worse "
                   "on the held-out pairs than before training; if training did not improve it, the exit code is 3. A "
                   "reranker learns to give queries and passages of new languages its logits.",
    .example = "calque extend all-MiniLM-L6-v2 --to de=en-de.tsv.gz --to ar=en-ar.tsv.gz --time 20m -o new",
    CLI_GROUP(&cq_group_extend),
    CLI_TRAINING_OPTIONS,
    .takes_ranks = true,
    .run = run_extend,
};
