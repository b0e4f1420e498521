/* calque model new: make a student. The work is cq_student_new's; here are its options. */
#include "cli/frame/command.h"
#include "cli/frame/report.h"

static const char *const kinds[] = {"copy", "new-vocabulary", "transformer", "bilstm", "static", NULL};
static const char *const vocabularies[] = {"pieces", "words", NULL};
static const char *const carry_overs[] = {"shared", "mean", "align", NULL};

struct args {
  size_t size;
  cq_student_options o;
  int kind, vocabulary, carry_over, threads;
  cli_list text;
};

static void defaults(void *options) {
  struct args *args = options;
  args->o = cq_student_default_options();
  args->kind = (int)args->o.kind, args->carry_over = (int)args->o.carry_over;
}

#define AT(field) .offset = offsetof(struct args, field)
static const cq_option options[] = {
    {.name = "kind",
     .letter = 'k',
     .type = CQ_OPTION_CHOICE,
     .argument = "KIND",
     AT(kind),
     .choices = kinds,
     .help = "an existing model as it is, its body under a vocabulary trained on the text, or a fresh model"},
    {.name = "from",
     .letter = 'f',
     .type = CQ_OPTION_TEXT,
     .argument = "MODEL",
     AT(o.from),
     .help = "copy, new-vocabulary: the model to start from, a directory or a name in the local cache"},
    {.name = "text",
     .type = CQ_OPTION_TEXTS,
     .count_offset = offsetof(struct args, text.n),
     .argument = "FILE",
     AT(text),
     .help = "train the vocabulary on this text: .txt or .tsv, plain or gzipped, every column of it"},
    {.name = "vocabulary",
     .type = CQ_OPTION_CHOICE,
     .argument = "UNITS",
     AT(vocabulary),
     .choices = vocabularies,
     .help = "of parts of words, or of the most frequent whole words"},
    {.name = "vocab-size",
     .type = CQ_OPTION_INT,
     .argument = "N",
     AT(o.vocab_size),
     .min = 16,
     .max = 4000000,
     .help = "pieces or, at most, words in the vocabulary"},
    {.name = "bpe", .type = CQ_OPTION_FLAG, AT(o.vocab_bpe), .help = "pieces by byte-pair encoding instead of unigram"},
    {.name = "coverage",
     .type = CQ_OPTION_NUMBER,
     .argument = "SHARE",
     AT(o.character_coverage),
     .min = 0.5,
     .max = 1,
     .help = "share of the text's characters that pieces must have"},
    {.name = "lowercase", .type = CQ_OPTION_FLAG, AT(o.lowercase), .help = "fold case"},
    {.name = "carry-over",
     .type = CQ_OPTION_CHOICE,
     .argument = "WAY",
     AT(carry_over),
     .choices = carry_overs,
     .help = "new-vocabulary: where the vectors of new pieces come from"},
    {.name = "dim",
     .type = CQ_OPTION_INT,
     .argument = "N",
     AT(o.dim),
     .min = 1,
     .max = 65536,
     .help = "fresh kinds: width"},
    {.name = "layers",
     .type = CQ_OPTION_INT,
     .argument = "N",
     AT(o.n_layers),
     .min = 1,
     .max = 1024,
     .help = "transformer, bilstm: layers"},
    {.name = "heads",
     .type = CQ_OPTION_INT,
     .argument = "N",
     AT(o.n_heads),
     .min = 1,
     .max = 1024,
     .help = "transformer: attention heads"},
    {.name = "feed-forward",
     .type = CQ_OPTION_INT,
     .argument = "N",
     AT(o.feed_forward_dim),
     .min = 1,
     .max = 1048576,
     .help = "transformer: inner width"},
    {.name = "max-length",
     .type = CQ_OPTION_INT,
     .argument = "TOKENS",
     AT(o.max_seq_length),
     .max = 65536,
     .otherwise = "128",
     .help = "fresh kinds: longest sentence"},
    {.name = "dropout",
     .type = CQ_OPTION_NUMBER,
     .argument = "P",
     AT(o.dropout),
     .max = 0.99,
     .help = "transformer, bilstm: dropout while training"},
    {.name = "output-dim",
     .type = CQ_OPTION_INT,
     .argument = "N",
     AT(o.output_dim),
     .max = 65536,
     .otherwise = "the body's width",
     .help = "end with a linear map to N dimensions"},
    {.name = "normalize", .type = CQ_OPTION_FLAG, AT(o.normalize), .help = "fresh kinds: end with vectors of length 1"},
    CLI_SKIP_BAD(struct args, o.skip_bad),
    {.name = "seed", .type = CQ_OPTION_COUNT, .argument = "N", AT(o.seed), .help = "of the random numbers"},
    {.name = "replace", .type = CQ_OPTION_FLAG, AT(o.replace), .help = "overwrite an existing directory"},
    CLI_THREADS(struct args, threads),
};
#undef AT

static int run(const cli_call *call) {
  const struct args *args = call->options;
  cq_student_options o = args->o;
  cq_error error = {0};
  cq_context *ctx = NULL;
  o.kind = (cq_student_kind)args->kind, o.carry_over = (cq_carry_over)args->carry_over;
  o.vocab_words = args->vocabulary == 1;
  o.text_files = args->text.items, o.n_text_files = args->text.n;
  o.notice = cli_notice;
  bool based = o.kind == CQ_STUDENT_COPY || o.kind == CQ_STUDENT_NEW_VOCABULARY;
  if (based && !o.from) return cli_usage(call->path, "--kind %s needs --from MODEL", kinds[args->kind]);
  if (!based && o.from) return cli_usage(call->path, "--kind %s takes no --from", kinds[args->kind]);
  if (o.kind != CQ_STUDENT_COPY && !o.n_text_files)
    return cli_usage(call->path, "--kind %s needs --text FILE for its vocabulary", kinds[args->kind]);
  if (o.vocab_words && o.vocab_bpe) return cli_usage(call->path, "--bpe is for --vocabulary pieces");
  cq_status status = cq_context_open(&ctx, args->threads, &error);
  if (!status) status = cq_student_new(call->arguments[0], &o, ctx, &error);
  cq_context_free(ctx);
  if (status) return cli_fail_error(&error);
  cli_note("wrote %s", call->arguments[0]);
  return CLI_OK;
}

const cli_command cli_model_new = {
    .name = "new",
    .summary = "make a student for distillation",
    .arguments = "DIRECTORY",
    .min_arguments = 1,
    .max_arguments = 1,
    .description =
        "Writes a new model. A good student for new languages is the teacher's own body under a vocabulary of "
        "the languages it shall know (--kind new-vocabulary). New pieces begin where the teacher's words are "
        "that they translate; each FILE of translations is aligned by itself: a language a file is best.",
    .example = "calque model new --kind new-vocabulary --from all-MiniLM-L6-v2 --text train/en-de.tsv.gz student",
    CLI_OPTIONS(struct args, options),
    .defaults = defaults,
    .run = run,
};
