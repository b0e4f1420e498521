/* calque autoencode train | translate | encode | plot | search | ablate: autoencoders with one vector space. */
#include "lab/cli/autoencode_command.h"
#include "cli/encode/encode_command.h"
#include "cli/frame/input_sentences.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- translate --- */

struct translate_args {
  size_t size;
  const char *model, *from, *to;
  int column, batch, threads;
  bool skip_bad;
};

#define ARGS struct translate_args
static const cq_option translate_options[] = {
    {CQ_TEXT(ARGS, "model", model, CHANGES, "DIR", "what `calque autoencode train` has written"), .letter = 'm',
     .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXT(ARGS, "from", from, CHANGES, "CODE", "the language of the sentences"), .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXT(ARGS, "to", to, CHANGES, "CODE",
             "the language to write; the source language itself shows what a vector keeps of a sentence"),
     .flags = CQ_OPTION_REQUIRED},
    {CQ_INT(ARGS, "tsv", column, CHANGES, 0, 0, 64, "COLUMN", "take this tab-separated column of each line, from 1"),
     .otherwise = "the whole line"},
    CLI_SKIP_BAD(ARGS, skip_bad),
    CLI_BATCH(ARGS, batch),
    CLI_THREADS(ARGS, threads),
};
#undef ARGS

static int translate_chunk(cq_encode_stats *stats, const cli_sentences *in, const cq_autoencoder *model,
                           const cli_call *call, cq_context *ctx) {
  const struct translate_args *args = call->options;
  char **out = calloc(in->n, sizeof *out);
  cq_error error = {0};
  if (!out) return cli_fail("out of memory");
  int code = CLI_OK;
  if (cq_autoencoder_translate(out, stats, model, args->from, args->to, in->slices, in->n, call->library, ctx, &error))
    code = cli_sentences_fail(in, &error);
  for (size_t i = 0; i < in->n; i++) {
    size_t n = 0; /* blanks, for which a decoder would invent text */
    while (n < in->slices[i].n && strchr(" \t\r\v\f", in->slices[i].data[n])) n++;
    if (code == CLI_OK) puts(n == in->slices[i].n ? "" : out[i]);
    cq_free(out[i]);
  }
  free(out);
  return code;
}

static int run_translate(const cli_call *call) {
  const struct translate_args *args = call->options;
  cq_error error = {0};
  cq_autoencoder *model = NULL;
  cq_context *ctx = NULL;
  cq_encode_stats stats = {0};
  cli_sentences in = {.paths = call->arguments,
                      .n_paths = call->n_arguments,
                      .columns = {args->column},
                      .n_columns = 1,
                      .rows = (size_t)args->batch,
                      .skip_bad = args->skip_bad};
  int code = cli_open_context(&ctx, args->threads);
  if (code == CLI_OK && cq_autoencoder_open(&model, args->model, &error)) code = cli_fail_error(&error);
  while (code == CLI_OK) {
    if (cli_sentences_next(&in, &error)) code = cli_fail_error(&error);
    if (code != CLI_OK || in.n == 0) break;
    code = translate_chunk(&stats, &in, model, call, ctx);
  }
  if (code == CLI_OK && stats.n_truncated)
    cli_note("%" PRIu64 " of %" PRIu64 " sentences were longer than the encoder reads and were truncated",
             stats.n_truncated, stats.n_sentences);
  if (code == CLI_OK && in.n_skipped) cli_note("%" PRIu64 " lines were skipped", in.n_skipped);
  cli_sentences_close(&in);
  cq_autoencoder_free(model);
  cq_context_free(ctx);
  return code;
}

static const cli_command autoencode_translate = {
    .name = "translate",
    .summary = "translate sentences",
    CLI_ARGUMENTS("[FILE...]", 0, -1),
    .description =
        "Translates sentences, one per line, from files or standard input. Each is encoded into one vector, which is "
        "all that the decoder of the other language gets, unless it was trained to start from the encoder's states.",
    .example = "echo \"Le chat dort.\" | calque autoencode translate --model fr-it --from fr --to it",
    CLI_GROUP(&cq_group_translate),
    CLI_OPTIONS(struct translate_args, translate_options),
    .run = run_translate,
};

/* --- encode --- */

/* Each language of an autoencoder has its own model, so one must be named. */
static const cq_option encode_options[] = {
    CLI_MODEL(cli_encode_args, model),
    {CQ_TEXT(cli_encode_args, "language", language, CHANGES, "CODE", "the language of the sentences"), .letter = 'l',
     .flags = CQ_OPTION_REQUIRED},
    CLI_ENCODE_OPTIONS,
};

static const cli_command autoencode_encode = {
    .name = "encode",
    .summary = "turn sentences of one language into vectors",
    .arguments = "[FILE...]",
    .max_arguments = -1,
    .description = "Does what `calque encode` does, with a language's encoder. That encoder is also a model by itself, "
                   "MODEL/encoder-CODE, for every other command.",
    .example = "calque autoencode encode --model fr-it --language fr -o french.npy french.txt",
    CLI_OPTIONS(cli_encode_args, encode_options),
    .groups = cli_encode_groups,
    .run = cli_encode_run,
};

static const cli_command *const children[] = {&cli_autoencode_train,
                                              &autoencode_encode,
                                              &autoencode_translate,
                                              &cli_autoencode_plot,
                                              &cli_autoencode_search,
                                              &cli_autoencode_ablate,
                                              NULL};

const cli_command cli_autoencode = {
    .name = "autoencode",
    .summary = "autoencoders that share one vector space and translate: train, translate, encode, plot, search, "
               "ablate",
    .description = "Each language has an LSTM encoder and decoder; all share one space of sentence vectors, so that "
                   "any decoder can translate what any encoder has read. MODEL/encoder-XX is a sentence encoder for "
                   "every other command.",
    .example = "calque autoencode train fr-it fr,it=train.tsv.gz --dev fr,it=dev.tsv.gz",
    .children = children,
};
