/* calque autoencode train | translate | encode | plot | search | ablate: autoencoders around one space of sentence vectors. */
#include "cli/autoencode/autoencode.h"
#include "cli/encode/sentences.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- translate --- */

struct translate_args {
  size_t size;
  const char *model, *from, *to;
  cq_translate_options o;
  int column, batch, threads;
  bool skip_bad;
};

static void translate_defaults(void *options) {
  *(struct translate_args *)options = (struct translate_args){.o = cq_translate_default_options(), .batch = 1024};
}

static const cq_option translate_options[] = {
    {.name = "model",
     .letter = 'm',
     .type = CQ_OPTION_TEXT,
     .flags = CQ_OPTION_REQUIRED,
     .argument = "DIR",
     .offset = offsetof(struct translate_args, model),
     .help = "what `calque autoencode train` has written"},
    {.name = "from",
     .type = CQ_OPTION_TEXT,
     .flags = CQ_OPTION_REQUIRED,
     .argument = "CODE",
     .offset = offsetof(struct translate_args, from),
     .help = "the language of the sentences"},
    {.name = "to",
     .type = CQ_OPTION_TEXT,
     .flags = CQ_OPTION_REQUIRED,
     .argument = "CODE",
     .offset = offsetof(struct translate_args, to),
     .help = "the language to write; the same: what is left of a sentence in its vector"},
    {.name = "beam",
     .type = CQ_OPTION_INT,
     .argument = "N",
     .offset = offsetof(struct translate_args, o.beam),
     .min = 1,
     .max = 1000,
     .help = "beginnings kept of each translation; 1: greedy"},
    {.name = "max-tokens",
     .type = CQ_OPTION_INT,
     .argument = "N",
     .offset = offsetof(struct translate_args, o.max_tokens),
     .min = 1,
     .max = 1 << 16,
     .help = "a translation ends there"},
    {.name = "length-penalty",
     .type = CQ_OPTION_NUMBER,
     .argument = "X",
     .offset = offsetof(struct translate_args, o.length_penalty),
     .max = 10,
     .help = "a translation's score is its log probability / length^X"},
    {.name = "tsv",
     .type = CQ_OPTION_INT,
     .argument = "COLUMN",
     .offset = offsetof(struct translate_args, column),
     .min = 1,
     .max = 64,
     .otherwise = "the whole line",
     .help = "take this tab-separated column of each line, from 1"},
    CLI_SKIP_BAD(struct translate_args, skip_bad),
    CLI_BATCH(struct translate_args, batch),
    CLI_THREADS(struct translate_args, threads),
};

static int translate_chunk(cq_encode_stats *stats, const cli_sentences *in, const cq_autoencoder *model,
                           const struct translate_args *args, cq_context *ctx) {
  char **out = calloc(in->n, sizeof *out);
  cq_error error = {0};
  if (!out) return cli_fail("out of memory");
  int code = CLI_OK;
  if (cq_autoencoder_translate(out, stats, model, args->from, args->to, in->slices, in->n, &args->o, ctx, &error))
    code = cli_sentences_fail(in, &error);
  for (size_t i = 0; i < in->n; i++) {
    if (code == CLI_OK) puts(out[i]);
    free(out[i]);
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
    code = translate_chunk(&stats, &in, model, args, ctx);
  }
  if (code == CLI_OK && stats.n_truncated)
    cli_note("%" PRIu64 " of %" PRIu64 " sentences are longer than the encoder reads and were cut", stats.n_truncated,
             stats.n_sentences);
  if (code == CLI_OK && in.n_skipped) cli_note("%" PRIu64 " lines were skipped", in.n_skipped);
  cli_sentences_close(&in);
  cq_autoencoder_free(model);
  cq_context_free(ctx);
  return code;
}

static const cli_command autoencode_translate = {
    .name = "translate",
    .summary = "translate sentences",
    .arguments = "[FILE...]",
    .min_arguments = 0,
    .max_arguments = -1,
    .description =
        "A sentence a line, from files or standard input; a translation a line. Each is encoded into one "
        "vector, which is all that the decoder of the other language sees, unless it was trained to begin where "
        "the encoder has ended.",
    .example = "echo \"Le chat dort.\" | calque autoencode translate --model fr-it --from fr --to it",
    CLI_OPTIONS(struct translate_args, translate_options),
    .defaults = translate_defaults,
    .run = run_translate,
};

static const cli_command *const children[] = {&cli_autoencode_train,
                                              &cli_autoencode_encode,
                                              &autoencode_translate,
                                              &cli_autoencode_plot,
                                              &cli_autoencode_search,
                                              &cli_autoencode_ablate,
                                              NULL};

const cli_command cli_autoencode = {
    .name = "autoencode",
    .summary = "autoencoders around one space, which translate: train, translate, encode, plot, search, ablate",
    .description = "Each language has an encoder and a decoder; all share one space of sentence vectors, so that any "
                   "decoder can write what any encoder has read. MODEL/encoder-XX are sentence encoders for every "
                   "other command.",
    .example = "calque autoencode train fr-it fr,it=train.tsv.gz --dev fr,it=dev.tsv.gz",
    .children = children,
};
