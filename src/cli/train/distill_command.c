/* calque distill: extends a teacher to new languages. cq_distill does the work; training_command.c has the code shared
 * by all trainings. */
#include "cli/train/training_command.h"

static int run_distill(const cli_call *call) {
  const cq_distill_options *o = call->library;
  cli_training t;
  int code = cli_training_begin(&t, call, o->run);
  if (code == CLI_OK) {
    cq_error error = {0};
    cq_training_result result = {0};
    const cq_status status = cq_distill(&result, o, t.ctx, &error);
    code = cli_training_done(&t, status, &result, &error);
  }
  cli_training_end(&t);
  return code;
}

const cli_command cli_distill = {
    .name = "distill",
    .summary = "extend a model to new languages by multilingual knowledge distillation",
    .description = "Extends a sentence-embedding model to new languages by multilingual knowledge "
                   "distillation (Reimers & Gurevych 2020): a student learns to give a sentence and its "
                   "translations the vector that the teacher gives the sentence. The loss is the mean squared "
                   "error (MSE). Ctrl-C stops after a checkpoint; --resume continues to exactly the model "
                   "that an uninterrupted run gives.",
    .example = "calque distill --teacher all-MiniLM-L6-v2 --student student \\\n"
               "    --train de=train/en-de.tsv.gz --train ru=train/en-ru.tsv.gz:0.5 \\\n"
               "    --dev de=dev/en-de.tsv.gz --dev ru=dev/en-ru.tsv.gz --output multilingual",
    CLI_GROUP(&cq_group_distill),
    CLI_TRAINING_OPTIONS,
    .takes_ranks = true,
    .run = run_distill,
};
