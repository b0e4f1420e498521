/* calque distill: extend a teacher to new languages. The work is cq_distill's; what all trainings share is in
 * training.c. */
#include "cli/train/training.h"

#include <stdlib.h>

static const char *const dim_matches[] = {"equal", "project", "truncate", NULL}; /* in cq_dim_match's order */

struct args {
  cli_training_args training; /* first: its options are shared */
  cq_distill_options o;
  cli_list train;
  int dim_match;
};

static void defaults(void *options) {
  struct args *args = options;
  args->o = cq_distill_default_options();
  args->dim_match = (int)args->o.dim_match;
  cli_training_defaults(&args->training, &args->o.run);
}

#define AT(field) .offset = offsetof(struct args, field)
static const cq_option options[] = {
    {.name = "teacher",
     .type = CQ_OPTION_TEXT,
     .flags = CQ_OPTION_REQUIRED,
     .argument = "MODEL",
     AT(o.teacher),
     .help = "the model that knows the first column's language: a directory, or a name in the local cache"},
    {.name = "student",
     .type = CQ_OPTION_TEXT,
     .flags = CQ_OPTION_REQUIRED,
     .argument = "MODEL",
     AT(o.student),
     .help = "the model to train, e.g. one that 'calque model new' made"},
    {.name = "train",
     .type = CQ_OPTION_TEXTS,
     .count_offset = offsetof(struct args, train.n),
     .flags = CQ_OPTION_REQUIRED,
     .argument = "[LABEL=]TSV[:WEIGHT]",
     AT(train),
     .help = "parallel text, a source and its translations on a line; a set of weight 2 is drawn from twice as often "
             "(which means --balanced)"},
    {.name = "dim-match",
     .type = CQ_OPTION_CHOICE,
     .argument = "WAY",
     AT(dim_match),
     .choices = dim_matches,
     .help = "when student and teacher differ in dimension: refuse, learn a projection, use the teacher's first ones"},
    {.name = "cache",
     .type = CQ_OPTION_TEXT,
     .argument = "DIR",
     AT(o.cache_directory),
     .otherwise = "~/.cache/calque",
     .help = "where the teacher's vectors are kept for the next run"},
};
#undef AT

static int run(const cli_call *call) {
  const struct args *args = call->options;
  cq_distill_options o = args->o;
  cli_training t;
  cq_training_data *train = NULL;
  int code = cli_training_begin(&t, call);
  if (code == CLI_OK) code = cli_training_data(&train, call, "train", &args->train);
  if (code == CLI_OK) {
    cq_error error = {0};
    cq_training_result result = {0};
    o.train = train, o.n_train = args->train.n;
    o.dim_match = (cq_dim_match)args->dim_match;
    o.run = t.o;
    const cq_status status = cq_distill(&result, &o, t.ctx, &error);
    code = cli_training_done(&t, status, &result, &error);
  }
  cli_training_end(&t);
  free(train);
  return code;
}

const cli_command cli_distill = {
    .name = "distill",
    .summary = "train a student to give translations its teacher's vectors",
    .description =
        "Extends a sentence-embedding model to new languages: the student learns to give a sentence and its "
        "translations "
        "the vector that the teacher gives the sentence (Reimers & Gurevych 2020). Ctrl-C stops after a checkpoint; "
        "--resume goes on to exactly the model that an uninterrupted run would have given.",
    .example = "calque distill --teacher all-MiniLM-L6-v2 --student student \\\n"
               "    --train de=train/en-de.tsv.gz --train ru=train/en-ru.tsv.gz:0.5 \\\n"
               "    --dev de=dev/en-de.tsv.gz --dev ru=dev/en-ru.tsv.gz --output multilingual",
    CLI_OPTIONS(struct args, options),
    CLI_TRAINING_OPTIONS,
    .defaults = defaults,
    .run = run,
};
