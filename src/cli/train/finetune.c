/* calque finetune: a sentence encoder from labelled, scored or like pairs. The work is cq_finetune's; what all trainings
 * share is in training.c. */
#include "cli/train/training.h"

#include <stdlib.h>

struct args {
  cli_training_args training; /* first: its options are shared */
  cq_finetune_options o;
  cli_list labelled, scored, pairs;
};

static void defaults(void *options) {
  struct args *args = options;
  args->o = cq_finetune_default_options();
  cli_training_defaults(&args->training, &args->o.run);
}

#define AT(field) .offset = offsetof(struct args, field)
static const cq_option options[] = {
    CLI_MODEL(struct args, o.model),
    {.name = "nli",
     .type = CQ_OPTION_TEXTS,
     .count_offset = offsetof(struct args, labelled.n),
     .argument = "[LABEL=]TSV[:WEIGHT]",
     AT(labelled),
     .help =
         "pairs and what they are to each other: sentence, sentence, label, in any words; of several files of a kind "
         "one of weight 2 is drawn from twice as often (which means --balanced among them)"},
    {.name = "scored",
     .type = CQ_OPTION_TEXTS,
     .count_offset = offsetof(struct args, scored.n),
     .argument = "[LABEL=]TSV[:WEIGHT]",
     AT(scored),
     .help = "pairs and how alike they are: sentence, sentence, score"},
    {.name = "pairs",
     .type = CQ_OPTION_TEXTS,
     .count_offset = offsetof(struct args, pairs.n),
     .argument = "[LABEL=]TSV[:WEIGHT]",
     AT(pairs),
     .help = "pairs that mean the same, or question and answer; a third column holds what the first must not be taken "
             "for; a greater --batch makes this harder, and better, and takes memory (--accumulate does neither)"},
    {.name = "greatest-score",
     .type = CQ_OPTION_NUMBER,
     .argument = "X",
     AT(o.greatest_score),
     .help = "what stands for a cosine of 1 in --scored; 0 stands for 0"},
    {.name = "temperature",
     .type = CQ_OPTION_NUMBER,
     .argument = "X",
     AT(o.temperature),
     .help = "cosines of --pairs are divided by it before the softmax"},
    {.name = "both-ways",
     .type = CQ_OPTION_FLAG,
     AT(o.both_ways),
     .help = "the second of --pairs is to find the first, too"},
};
#undef AT

static int run(const cli_call *call) {
  const struct args *args = call->options;
  cq_finetune_options o = args->o;
  cq_training_data *labelled = NULL, *scored = NULL, *pairs = NULL;
  cli_training t;
  int code = cli_training_begin(&t, call);
  if (code == CLI_OK && args->labelled.n + args->scored.n + args->pairs.n == 0)
    code = cli_usage(call->path, "there is nothing to learn from: --nli, --scored, --pairs");
  if (code == CLI_OK) code = cli_training_data(&labelled, call, "nli", &args->labelled);
  if (code == CLI_OK) code = cli_training_data(&scored, call, "scored", &args->scored);
  if (code == CLI_OK) code = cli_training_data(&pairs, call, "pairs", &args->pairs);
  if (code == CLI_OK) {
    cq_error error = {0};
    cq_training_result result = {0};
    o.labelled = labelled, o.n_labelled = args->labelled.n;
    o.scored = scored, o.n_scored = args->scored.n;
    o.ranked = pairs, o.n_ranked = args->pairs.n;
    o.run = t.o;
    const cq_status status = cq_finetune(&result, &o, t.ctx, &error);
    code = cli_training_done(&t, status, &result, &error);
  }
  cli_training_end(&t);
  free(labelled);
  free(scored);
  free(pairs);
  return code;
}

const cli_command cli_finetune = {
    .name = "finetune",
    .summary = "make a sentence encoder of a model, from judged or like pairs",
    .description =
        "Trains a model on pairs of sentences: their labels (natural-language inference), their scores, or that the "
        "two "
        "belong together, which is told from all others in the batch. Labels, then scores in a second run, are the "
        "recipe of SBERT (Reimers & Gurevych 2019); pairs are today's usual one. Kinds may be mixed. The result is a "
        "sentence encoder, a teacher for 'calque distill' for example. Ctrl-C stops after a checkpoint; --resume goes "
        "on to exactly the model that an uninterrupted run would have given.",
    .example = "calque finetune --model body --nli nli.tsv.gz --output body-nli\n"
               "calque finetune --model body-nli --scored sts-train.tsv --sts sts-dev.tsv --epochs 4 \\\n"
               "    --output body-nli-sts",
    CLI_OPTIONS(struct args, options),
    CLI_TRAINING_OPTIONS,
    .defaults = defaults,
    .run = run,
};
