/* calque finetune. cq_finetune does the work and defines the options; training_command.c is shared by all trainings. */
#include "cli/train/training_command.h"

static int run_finetune(const cli_call *call) {
  const cq_finetune_options *o = call->library;
  cli_training t;
  int code = cli_training_begin(&t, call, o->run);
  if (code == CLI_OK) {
    cq_error error = {0};
    cq_training_result result = {0};
    const cq_status status = cq_finetune(&result, o, t.ctx, &error);
    code = cli_training_done(&t, status, &result, &error);
  }
  cli_training_end(&t);
  return code;
}

const cli_command cli_finetune = {
    .name = "finetune",
    .summary = "fine-tune a sentence encoder: contrastive, cosine similarity or softmax (NLI) loss",
    .description = "Trains a bi-encoder on pairs of sentences, for example to make a teacher for 'calque "
                   "distill'. The kind of data decides the loss: --pairs of sentences that belong together, "
                   "contrastive over in-batch negatives (InfoNCE; MultipleNegativesRankingLoss in "
                   "sentence-transformers); --scored pairs, cosine similarity; --nli, labeled pairs, "
                   "softmax. Kinds may be mixed. SBERT (Reimers & Gurevych 2019) is trained by --nli and "
                   "then, in a second run, by --scored; today --pairs is usual. Ctrl-C stops after a "
                   "checkpoint; --resume continues to exactly the model that an uninterrupted run gives.",
    .example = "calque finetune --model bert --pairs questions-answers.tsv.gz --batch 64 --output encoder\n"
               "calque finetune --model bert --nli nli.tsv.gz --output bert-nli\n"
               "calque finetune --model bert-nli --scored sts-train.tsv --sts sts-dev.tsv --epochs 4 \\\n"
               "    --output bert-nli-sts",
    CLI_GROUP(&cq_group_finetune),
    CLI_TRAINING_OPTIONS,
    .takes_ranks = true,
    .run = run_finetune,
};
