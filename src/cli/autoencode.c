/* calque autoencode train | translate: autoencoders around one space of sentence vectors. */
#include "command.h"
#include "report.h"
#include "sentences.h"
#include "stop.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- train --- */

enum { TRANSLATING, AS_DESCRIBED };
static const char *const recipes[] = {"translating", "as-described", NULL};
static const char *const poolings[] = {"last", "max", "mean", NULL}; /* in cq_autoencode_pooling's order */
static const char *const contrasts[] = {"pairs", "in-batch", NULL};  /* in cq_autoencode_contrast's */
static const char *const feeds[] = {"own", "other", "both", NULL};   /* in cq_autoencode_feed's */
static const char *const latents[] = {"both", "state", "every-step", NULL};
static const char *const schedules[] = {"linear", "constant", "cosine", NULL}; /* in cq_schedule's order */
enum { LATENT_BOTH, LATENT_STATE, LATENT_EVERY_STEP };

struct train_args {
  cq_autoencode_options o;
  int recipe, latent, threads;
  const char *languages;
  cli_list dev;
  bool one_way, no_relu, any_length;
};

static void train_defaults(void *options) {
  *(struct train_args *)options = (struct train_args){.o = cq_autoencode_translating()};
}

#define INT_OPTION(title, field, low, text)                                                                            \
  {                                                                                                                    \
    .name = title, .type = CLI_INT, .argument = "N", .offset = offsetof(struct train_args, field), .least = low,       \
    .greatest = 1 << 16, .help = text                                                                                  \
  }
#define NUMBER_OPTION(title, field, most, text)                                                                        \
  {                                                                                                                    \
    .name = title, .type = CLI_NUMBER, .argument = "X", .offset = offsetof(struct train_args, field),                  \
    .greatest = most, .help = text                                                                                     \
  }
#define CHOICE_OPTION(title, field, names, text)                                                                       \
  {                                                                                                                    \
    .name = title, .type = CLI_CHOICE, .argument = "HOW", .offset = offsetof(struct train_args, field),                \
    .choices = names, .help = text                                                                                     \
  }

static const cli_option train_options[] = {
    {.name = "languages",
     .letter = 'l',
     .type = CLI_TEXT,
     .argument = "A,B",
     .offset = offsetof(struct train_args, languages),
     .default_text = "each file's own",
     .help = "codes of the first and second column of files that do not say it themselves"},
    {.name = "dev",
     .type = CLI_LIST,
     .argument = "FILE",
     .offset = offsetof(struct train_args, dev),
     .default_text = "none",
     .help =
         "pairs that are translated both ways after each epoch of decoders; the model of the best BLEU is kept; may "
         "be given again and again"},
    {.name = "join",
     .type = CLI_TEXT,
     .argument = "DIR",
     .offset = offsetof(struct train_args, o.joined),
     .default_text = "none",
     .help = "a model whose space the new languages enter; its languages stay as they are"},
    CHOICE_OPTION("recipe", recipe, recipes, "what the options below are where they are not given"),
    INT_OPTION("vocab-size", o.vocab_size, 8, "pieces of each language"),
    INT_OPTION("embedding", o.embedding_dim, 1, "numbers for a piece"),
    INT_OPTION("hidden", o.hidden_dim, 1, "of an LSTM's layer and direction"),
    INT_OPTION("latent", o.latent_dim, 1, "of a sentence's vector"),
    INT_OPTION("layers", o.n_layers, 1, "of each LSTM"),
    {.name = "one-way",
     .type = CLI_FLAG,
     .offset = offsetof(struct train_args, one_way),
     .help = "encoders read forward only"},
    CHOICE_OPTION("pooling", o.pooling, poolings, "how a vector comes from the words' states"),
    {.name = "no-relu",
     .type = CLI_FLAG,
     .offset = offsetof(struct train_args, no_relu),
     .help = "nothing after the linear layer that gives the vector"},
    {.name = "any-length",
     .type = CLI_FLAG,
     .offset = offsetof(struct train_args, any_length),
     .help = "do not scale vectors to length one"},
    CHOICE_OPTION("latent-as", latent, latents, "what decoders take the vector for: first state, part of each input"),
    NUMBER_OPTION("encoder-dropout", o.encoder_dropout, 0.99, "between layers of encoders, where they have several"),
    NUMBER_OPTION("decoder-dropout", o.decoder_dropout, 0.99, "before, between and after layers of decoders"),
    INT_OPTION("max-tokens", o.max_tokens, 3, "longer sentences are cut"),
    {.name = "max-characters",
     .type = CLI_INT,
     .argument = "N",
     .offset = offsetof(struct train_args, o.max_characters),
     .greatest = 1 << 20,
     .help = "pairs with a longer side are left out; 0: none"},
    NUMBER_OPTION("alpha", o.reconstruction, 1e6, "weight of -log p of the sentences"),
    NUMBER_OPTION("beta", o.contrast, 1e6, "weight of the contrastive loss"),
    NUMBER_OPTION("distance", o.distance, 1e6, "weight of the squared distance of translations"),
    CHOICE_OPTION("contrast", o.contrast_by, contrasts,
                  "against one other sentence by a margin, or all of the batch by a softmax"),
    NUMBER_OPTION("margin", o.margin, 1e6, "of --contrast pairs"),
    NUMBER_OPTION("temperature", o.temperature, 1e6, "of --contrast in-batch"),
    CHOICE_OPTION("feed", o.feed, feeds, "whose vectors decoders learn to read"),
    NUMBER_OPTION("noise", o.noise, 1e6, "length of what is added to the vectors that decoders learn to read"),
    NUMBER_OPTION("word-dropout", o.word_dropout, 0.99, "share of the words that decoders read that are hidden"),
    NUMBER_OPTION("together", o.together_epochs, 1e6, "epochs of everything at once, first"),
    NUMBER_OPTION("encoder-epochs", o.encoder_epochs, 1e6, "then epochs of encoders alone"),
    NUMBER_OPTION("decoder-epochs", o.decoder_epochs, 1e6, "at last epochs of decoders, on frozen encoders"),
    {.name = "patience",
     .type = CLI_INT,
     .argument = "N",
     .offset = offsetof(struct train_args, o.patience),
     .greatest = 1 << 16,
     .default_text = "never",
     .help = "end a stage after this many epochs of decoders without a better BLEU on --dev"},
    INT_OPTION("batch", o.batch_pairs, 1, "pairs of a batch"),
    NUMBER_OPTION("lr", o.learning_rate, 1, "learning rate at its peak"),
    NUMBER_OPTION("weight-decay", o.weight_decay, 1, "of AdamW"),
    NUMBER_OPTION("clip-norm", o.clip_norm, 1e6, "longest gradient; 0: any"),
    CHOICE_OPTION("schedule", o.schedule, schedules, "how the rate falls in a stage"),
    NUMBER_OPTION("warmup", o.warmup, 1, "share of a stage's steps in which the rate rises"),
    {.name = "seed",
     .type = CLI_COUNT,
     .argument = "N",
     .offset = offsetof(struct train_args, o.seed),
     .help = "of all that is random"},
    {.name = "resume",
     .type = CLI_FLAG,
     .offset = offsetof(struct train_args, o.resume),
     .help = "go on from the last checkpoint in MODEL.work"},
    INT_OPTION("checkpoint-every", o.checkpoint_every, 1, "steps after which all that --resume needs is saved"),
    {.name = "replace",
     .type = CLI_FLAG,
     .offset = offsetof(struct train_args, o.replace),
     .help = "overwrite MODEL when it exists"},
    CLI_SKIP_BAD(struct train_args, o.skip_bad),
    CLI_THREADS(struct train_args, threads),
};

/* The recipe's values, but what was given. */
static cq_autoencode_options chosen_options(const cli_call *call) {
  const struct train_args *args = call->options;
  struct train_args chosen = {.o = args->recipe == AS_DESCRIBED ? cq_autoencode_as_described()
                                                                : cq_autoencode_translating()};
  static const size_t sizes[] = {
      [CLI_FLAG] = sizeof(bool),     [CLI_INT] = sizeof(int),     [CLI_COUNT] = sizeof(uint64_t),
      [CLI_NUMBER] = sizeof(double), [CLI_TEXT] = sizeof(char *), [CLI_CHOICE] = sizeof(int),
      [CLI_LIST] = sizeof(cli_list)};
  for (size_t i = 0; i < call->command->n_options; i++) {
    const cli_option *o = &call->command->options[i];
    if (call->given[i]) memcpy((char *)&chosen + o->offset, (const char *)args + o->offset, sizes[o->type]);
  }
  if (chosen.one_way) chosen.o.bidirectional = false;
  if (chosen.no_relu) chosen.o.relu = false;
  if (chosen.any_length) chosen.o.unit_length = false;
  if (cli_given(call, "latent-as")) {
    chosen.o.latent_as_state = chosen.latent != LATENT_EVERY_STEP;
    chosen.o.latent_at_every_step = chosen.latent != LATENT_STATE;
  }
  return chosen.o;
}

static bool show(void *context, const cq_autoencode_progress *p) {
  cli_progress *progress = context;
  char remark[256] = "";
  if (p->text) {
    cli_progress_clear(progress);
    cli_note("%s: %s", p->phase, p->text);
    return !cli_stop_asked();
  }
  for (size_t i = 0, at = strlen(remark); i < p->n_languages && at < 128; i++, at = strlen(remark))
    if (p->nll[i] > 0)
      snprintf(remark + at, sizeof remark - at, "%s %s %.3f", at ? "" : "-log p", p->languages[i], p->nll[i]);
  snprintf(remark + strlen(remark), sizeof remark - strlen(remark), "%scontrast %.3f  distance %.3f",
           *remark ? "  " : "", p->contrast, p->distance);
  cli_progress_draw(progress, p->phase, p->step, p->n_steps, remark, p->step == p->n_steps);
  return !cli_stop_asked();
}

/* Splits "fr,it" or "it" or ",it" in place. */
static bool read_codes(const char *out[2], char *codes) {
  char *comma = strchr(codes, ',');
  if (comma) *comma = '\0';
  out[0] = *codes ? codes : NULL;
  out[1] = comma && comma[1] ? comma + 1 : NULL;
  return (out[0] || out[1]) && (!comma || out[1]) && (!out[1] || !strchr(out[1], ','));
}

/* "[A,B=]FILE"; the codes are kept in memory of `codes`, which is freed by the caller. */
static int read_text(cq_autoencode_text *out, char **codes, const char *argument, const char *languages,
                     const char *path) {
  const size_t n = strcspn(argument, "=/");
  const bool own = argument[n] == '=' && n > 0;
  if (!own && !languages)
    return cli_usage(path, "'%s' does not say its languages, and there is no --languages: fr,it=%s", argument,
                     argument);
  *codes = own ? strndup(argument, n) : strdup(languages);
  if (!*codes) return cli_fail("out of memory");
  out->path = own ? argument + n + 1 : argument;
  if (!read_codes(out->languages, *codes))
    return cli_usage(path, "'%s' is no languages of columns: fr,it or fr or ,it", own ? argument : languages);
  return CLI_OK;
}

/* What the arguments name: first what is trained on, then dev. */
typedef struct texts {
  size_t n;
  cq_autoencode_text *items;
  char **codes;
} texts;

static int read_texts(texts *out, const cli_call *call) {
  const struct train_args *args = call->options;
  const size_t n_train = call->n_arguments - 1;
  *out = (texts){.n = n_train + args->dev.n};
  out->items = calloc(out->n, sizeof *out->items);
  out->codes = calloc(out->n, sizeof *out->codes);
  if (!out->items || !out->codes) return cli_fail("out of memory");
  int code = CLI_OK;
  for (size_t i = 0; code == CLI_OK && i < out->n; i++)
    code = read_text(&out->items[i], &out->codes[i],
                     i < n_train ? call->arguments[1 + i] : args->dev.items[i - n_train], args->languages, call->path);
  return code;
}

static void free_texts(texts *t) {
  for (size_t i = 0; t->codes && i < t->n; i++) free(t->codes[i]);
  free(t->codes);
  free(t->items);
}

static int train(const cli_call *call, const texts *in) {
  const struct train_args *args = call->options;
  cq_autoencode_options o = chosen_options(call);
  cli_progress progress = cli_progress_start();
  cq_autoencode_result result;
  cq_error error = {0};
  cq_pool *pool;
  o.output = call->arguments[0];
  o.train = in->items, o.n_train = call->n_arguments - 1;
  o.dev = in->items + o.n_train, o.n_dev = in->n - o.n_train;
  o.progress = show, o.progress_context = &progress;
  int code = cli_open_pool(&pool, args->threads);
  if (code) return code;
  cli_stop_catch();
  const cq_status status = cq_autoencode(&o, pool, &result, &error);
  cli_progress_clear(&progress);
  if (status) {
    code = cli_fail_error(&error);
    if (status == CQ_ERR_STOPPED) cli_stop_tell_resume(call, o.resume);
  } else {
    cli_note("%" PRIu64 " pairs, %" PRIu64 " steps", result.n_pairs, result.n_steps);
    if (!isnan(result.bleu)) cli_note("BLEU on dev of the model that is kept: %.2f", result.bleu);
  }
  cq_pool_free(pool);
  return code;
}

static int run_train(const cli_call *call) {
  texts in;
  int code = read_texts(&in, call);
  if (code == CLI_OK) code = train(call, &in);
  free_texts(&in);
  return code;
}

static const cli_command autoencode_train = {
    .name = "train",
    .summary = "train an encoder and a decoder of two languages around one space",
    .arguments = "MODEL PAIRS...",
    .least_arguments = 2,
    .most_arguments = -1,
    .description =
        "PAIRS are files of two columns between tabs, plain or gzipped, each with its columns' languages before it: "
        "fr,it=FILE; or, for text of one language, it=FILE, or ,it=FILE where it is the second column. Any number of "
        "languages can be trained at once. By the recipe "
        "\"translating\", whose values are the defaults below, encoders are trained until "
        "translations have one vector, then decoders on frozen encoders, each on its own language only. The recipe "
        "\"as-described\" trains everything at once, with a vector of 16 numbers: it aligns, and does not translate.",
    .example = "calque autoencode train fr-it fr,it=train.tsv.gz --dev fr,it=dev.tsv.gz",
    CLI_OPTIONS(struct train_args, train_options),
    .defaults = train_defaults,
    .run = run_train,
};

/* --- translate --- */

struct translate_args {
  const char *model, *from, *to;
  cq_translate_options o;
  int column, batch, threads;
  bool skip_bad;
};

static void translate_defaults(void *options) {
  *(struct translate_args *)options = (struct translate_args){.o = cq_translate_default_options(), .batch = 1024};
}

static const cli_option translate_options[] = {
    {.name = "model",
     .letter = 'm',
     .type = CLI_TEXT,
     .required = true,
     .argument = "DIR",
     .offset = offsetof(struct translate_args, model),
     .help = "what `calque autoencode train` has written"},
    {.name = "from",
     .type = CLI_TEXT,
     .required = true,
     .argument = "CODE",
     .offset = offsetof(struct translate_args, from),
     .help = "the language of the sentences"},
    {.name = "to",
     .type = CLI_TEXT,
     .required = true,
     .argument = "CODE",
     .offset = offsetof(struct translate_args, to),
     .help = "the language to write; the same: what is left of a sentence in its vector"},
    {.name = "beam",
     .type = CLI_INT,
     .argument = "N",
     .offset = offsetof(struct translate_args, o.beam),
     .least = 1,
     .greatest = 1000,
     .help = "beginnings kept of each translation; 1: greedy"},
    {.name = "max-tokens",
     .type = CLI_INT,
     .argument = "N",
     .offset = offsetof(struct translate_args, o.max_tokens),
     .least = 1,
     .greatest = 1 << 16,
     .help = "a translation ends there"},
    {.name = "length-penalty",
     .type = CLI_NUMBER,
     .argument = "X",
     .offset = offsetof(struct translate_args, o.length_penalty),
     .greatest = 10,
     .help = "a translation's score is its log probability / length^X"},
    {.name = "tsv",
     .type = CLI_INT,
     .argument = "COLUMN",
     .offset = offsetof(struct translate_args, column),
     .least = 1,
     .greatest = 64,
     .default_text = "the whole line",
     .help = "take this tab-separated column of each line, from 1"},
    CLI_SKIP_BAD(struct translate_args, skip_bad),
    CLI_BATCH(struct translate_args, batch),
    CLI_THREADS(struct translate_args, threads),
};

static int translate_chunk(const cli_sentences *in, const cq_autoencoder *model, const struct translate_args *args,
                           cq_pool *pool) {
  char **out = calloc(in->n, sizeof *out);
  cq_error error = {0};
  if (!out) return cli_fail("out of memory");
  int code = CLI_OK;
  if (cq_autoencoder_translate(out, model, args->from, args->to, in->slices, in->n, &args->o, pool, &error))
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
  cq_pool *pool = NULL;
  cli_sentences in = {.paths = call->arguments,
                      .n_paths = call->n_arguments,
                      .columns = {args->column},
                      .n_columns = 1,
                      .rows = (size_t)args->batch,
                      .skip_bad = args->skip_bad};
  int code = cli_open_pool(&pool, args->threads);
  if (code == CLI_OK && cq_autoencoder_open(&model, args->model, &error)) code = cli_fail_error(&error);
  while (code == CLI_OK) {
    if (cli_sentences_next(&in, &error)) code = cli_fail_error(&error);
    if (code != CLI_OK || in.n == 0) break;
    code = translate_chunk(&in, model, args, pool);
  }
  if (code == CLI_OK && in.n_skipped) cli_note("%" PRIu64 " lines were skipped", in.n_skipped);
  cli_sentences_close(&in);
  cq_autoencoder_free(model);
  cq_pool_free(pool);
  return code;
}

static const cli_command autoencode_translate = {
    .name = "translate",
    .summary = "translate sentences",
    .arguments = "[FILE...]",
    .least_arguments = 0,
    .most_arguments = -1,
    .description = "A sentence a line, from files or standard input; a translation a line. Each is encoded into one "
                   "vector, which is all that the decoder of the other language sees.",
    .example = "echo \"Le chat dort.\" | calque autoencode translate --model fr-it --from fr --to it",
    CLI_OPTIONS(struct translate_args, translate_options),
    .defaults = translate_defaults,
    .run = run_translate,
};

static const cli_command *const children[] = {&autoencode_train, &autoencode_translate, NULL};

const cli_command cli_autoencode = {
    .name = "autoencode",
    .summary = "autoencoders around one space, which translate: train, translate",
    .description = "Each language has an encoder and a decoder; all share one space of sentence vectors, so that any "
                   "decoder can write what any encoder has read. MODEL/encoder-XX are sentence encoders for every "
                   "other command.",
    .example = "calque autoencode train fr-it fr,it=train.tsv.gz --dev fr,it=dev.tsv.gz",
    .children = children,
};
