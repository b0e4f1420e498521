/* calque finetune. The work and its options are cq_finetune's; what all trainings share is in training.c. */
#include "cli/train/training.h"

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
    .summary = "fine-tune a sentence encoder on labelled, scored or matching pairs",
    .description =
        "Trains a bi-encoder on pairs of sentences: by their labels (natural language inference, softmax loss), by "
        "their "
        "scores (cosine similarity loss), or by a contrastive loss over in-batch negatives for pairs that belong "
        "together "
        "(InfoNCE; MultipleNegativesRankingLoss in sentence-transformers). Labels, then scores in a second run, are "
        "the "
        "recipe of SBERT (Reimers & Gurevych 2019); pairs are today's usual one. Kinds may be mixed. The result is a "
        "sentence encoder, a teacher for 'calque distill' for example. Ctrl-C stops after a checkpoint; --resume goes "
        "on to exactly the model that an uninterrupted run would have given.",
    .example = "calque finetune --model body --nli nli.tsv.gz --output body-nli\n"
               "calque finetune --model body-nli --scored sts-train.tsv --sts sts-dev.tsv --epochs 4 \\\n"
               "    --output body-nli-sts",
    .group = "finetune",
    CLI_TRAINING_OPTIONS,
    .run = run_finetune,
};
