/* calque autoencode train. */
#include "lab/cli/autoencode_command.h"

#include <inttypes.h>
#include <math.h>

static int run_train(const cli_call *call) {
  cli_autoencode_run run;
  cq_autoencode_result result;
  cq_error error = {0};
  int code = cli_autoencode_begin(&run, call);
  if (code == CLI_OK) {
    const cq_status status = cq_autoencode(&result, run.o, run.ctx, &error);
    code = cli_autoencode_failed(&run, call, status, &error);
  }
  if (code == CLI_OK && cq_ranks_rank(run.ranks) == 0) {
    cli_note("%" PRIu64 " pairs, %" PRIu64 " steps", result.n_pairs, result.n_steps);
    if (!isnan(result.dev[CQ_AUTOENCODE_BLEU]))
      cli_note("the model that is kept, on dev: BLEU %.2f, chrF %.2f, METEOR %.2f", result.dev[CQ_AUTOENCODE_BLEU],
               result.dev[CQ_AUTOENCODE_CHRF], result.dev[CQ_AUTOENCODE_METEOR]);
  }
  cli_autoencode_end(&run);
  return code;
}

static const cq_option options[] = {CLI_AUTOENCODE_OPTIONS};

const cli_command cli_autoencode_train = {
    .name = "train",
    .summary = "train an encoder and a decoder of each language around one space",
    CLI_ARGUMENTS("MODEL PAIRS...", 2, -1),
    .description =
        "PAIRS are files of two tab-separated columns, plain or compressed, each with its languages before it: "
        "fr,it=FILE. Text in one language is it=FILE, or ,it=FILE if it is the second column. Any number of languages "
        "can be trained at once. With the recipe \"translating\", whose values are the defaults below, translations "
        "get the same vector while decoders learn to write from vectors of their own language, all at once. The recipe "
        "\"as-described\", from the literature, has vectors of 16 dimensions and decoders that start from the "
        "encoder's states: it aligns languages and does not translate. Its values: --together 30 --encoder-epochs 0 "
        "--decoder-epochs 0 --batch 16 --lr 2e-4 --embedding 150 --hidden 256 --latent 16 --layers 2 --bidirectional "
        "no --pooling last --relu yes --unit-length no --shared-latent yes --latent-as encoder-states-every-step "
        "--words-hidden yes --encoder-dropout 0.139 --decoder-dropout 0.102 --alpha 1.039 --beta 1.44 --contrast pairs "
        "--margin 1.5 --distance 0 --noise 0 --word-dropout 0.",
    .example = "calque autoencode train fr-it fr,it=train.tsv.gz --dev fr,it=dev.tsv.gz",
    CLI_AUTOENCODE_GROUP,
    CLI_OPTIONS(cli_autoencode_args, options),
    .takes_ranks = true,
    .run = run_train,
};
