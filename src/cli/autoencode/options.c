#include "cli/autoencode/autoencode.h"
#include "cli/frame/stop.h"

#include <stdlib.h>
#include <string.h>

enum { TRANSLATING, AS_DESCRIBED };
static const char *const recipes[] = {"translating", "as-described", NULL};
static const char *const vocabularies[] = {"pieces", "words", NULL}; /* in cq_autoencode_vocabulary's order */
static const char *const poolings[] = {"last", "max", "mean", NULL}; /* in cq_autoencode_pooling's order */
static const char *const contrasts[] = {"pairs", "in-batch", NULL};  /* in cq_autoencode_contrast's */
static const char *const feeds[] = {"own", "other", "both", NULL};   /* in cq_autoencode_feed's */
static const char *const latents[] = {"both", "state", "every-step", "encoder-states", "encoder-states-every-step",
                                      NULL};
static const char *const measures[] = {"bleu", "chrf", "meteor", NULL}; /* in cq_autoencode_measure's */
enum { LATENT_BOTH, LATENT_STATE, LATENT_EVERY_STEP, LATENT_STATES, LATENT_STATES_EVERY_STEP };

void cli_autoencode_defaults(void *options) {
  cli_autoencode_args *args = options;
  args->o = cq_autoencode_translating();
}

#define INT_OPTION(title, field, low, text)                                                                            \
  {                                                                                                                    \
    .name = title, .type = CQ_OPTION_INT, .argument = "N", .offset = offsetof(cli_autoencode_args, field), .min = low, \
    .max = 1 << 16, .help = text                                                                                       \
  }
#define NUMBER_OPTION(title, field, most, text)                                                                        \
  {                                                                                                                    \
    .name = title, .type = CQ_OPTION_NUMBER, .argument = "X", .offset = offsetof(cli_autoencode_args, field),          \
    .max = most, .help = text                                                                                          \
  }
#define CHOICE_OPTION(title, field, names, text)                                                                       \
  {                                                                                                                    \
    .name = title, .type = CQ_OPTION_CHOICE, .argument = "HOW", .offset = offsetof(cli_autoencode_args, field),        \
    .choices = names, .help = text                                                                                     \
  }

#define ANSWER_OPTION(title, field, text)                                                                              \
  {                                                                                                                    \
    .name = title, .type = CQ_OPTION_YES_NO, .argument = "yes|no", .offset = offsetof(cli_autoencode_args, field),     \
    .help = text                                                                                                       \
  }

const cq_option cli_autoencode_options[CLI_AUTOENCODE_N_OPTIONS] = {
    {.name = "languages",
     .letter = 'l',
     .type = CQ_OPTION_TEXT,
     .argument = "A,B",
     .offset = offsetof(cli_autoencode_args, languages),
     .otherwise = "each file's own",
     .help = "codes of the first and second column of files that do not say it themselves"},
    {.name = "dev",
     .type = CQ_OPTION_TEXTS,
     .count_offset = offsetof(cli_autoencode_args, dev.n),
     .argument = "FILE",
     .offset = offsetof(cli_autoencode_args, dev),
     .otherwise = "none",
     .help = "pairs that are translated both ways after each epoch of decoders; the best model is kept; may "
             "be given again and again"},
    CHOICE_OPTION("best-by", o.best_by, measures, "what makes a model on --dev the best"),
    {.name = "join",
     .type = CQ_OPTION_TEXT,
     .argument = "DIR",
     .offset = offsetof(cli_autoencode_args, o.joined),
     .otherwise = "none",
     .help = "a model whose space the new languages enter; its languages stay as they are"},
    CHOICE_OPTION("recipe", recipe, recipes, "what the options below are where they are not given"),
    CHOICE_OPTION("vocabulary", o.vocabulary, vocabularies, "what a language is written in"),
    INT_OPTION("vocab-size", o.vocab_size, 8, "pieces or, at most, words of each language"),
    INT_OPTION("embedding", o.embedding_dim, 1, "numbers for a piece"),
    INT_OPTION("hidden", o.hidden_dim, 1, "of an LSTM's layer and direction"),
    INT_OPTION("latent", o.latent_dim, 1, "of a sentence's vector"),
    INT_OPTION("layers", o.n_layers, 1, "of each LSTM"),
    ANSWER_OPTION("bidirectional", o.bidirectional, "encoders read both ways"),
    CHOICE_OPTION("pooling", o.pooling, poolings, "how a vector comes from the words' states"),
    ANSWER_OPTION("relu", o.relu, "a ReLU after the linear layer that gives the vector"),
    ANSWER_OPTION("unit-length", o.unit_length, "vectors are scaled to length one"),
    ANSWER_OPTION("shared-latent", o.shared_latent, "the layer that gives the vector is one for all languages"),
    CHOICE_OPTION(
        "latent-as", latent, latents,
        "what decoders take the vector for: state, the state they begin with; every-step, a part of each input; "
        "both; encoder-states: they begin where the encoder, which reads one way then, has ended instead"),
    ANSWER_OPTION("words-hidden", o.words_hidden, "decoders do not see the words they have written"),
    NUMBER_OPTION("encoder-dropout", o.encoder_dropout, 0.99, "between layers of encoders, where they have several"),
    NUMBER_OPTION("decoder-dropout", o.decoder_dropout, 0.99, "before, between and after layers of decoders"),
    INT_OPTION("max-tokens", o.max_tokens, 3, "longer sentences are cut"),
    {.name = "max-characters",
     .type = CQ_OPTION_INT,
     .argument = "N",
     .offset = offsetof(cli_autoencode_args, o.max_characters),
     .max = 1 << 20,
     .help = "pairs with a longer side are left out; 0: none"},
    NUMBER_OPTION("alpha", o.contrast, 1e6, "weight of the contrastive loss"),
    NUMBER_OPTION("beta", o.reconstruction, 1e6, "weight of -log p of the sentences, of both languages' sum"),
    NUMBER_OPTION("distance", o.distance, 1e6, "weight of the squared distance of translations"),
    CHOICE_OPTION("contrast", o.contrast_by, contrasts,
                  "what a sentence's vector is told from: one other's translation, by a margin, or all of the batch, "
                  "by a softmax"),
    NUMBER_OPTION("margin", o.margin, 1e6, "of --contrast pairs"),
    NUMBER_OPTION("temperature", o.temperature, 1e6, "of --contrast in-batch"),
    {.name = "teacher",
     .type = CQ_OPTION_TEXT,
     .argument = "MODEL",
     .offset = offsetof(cli_autoencode_args, o.teacher),
     .otherwise = "none",
     .help = "a model of --latent dimensions whose vectors the sentences and their translations are drawn to"},
    {.name = "teacher-language",
     .type = CQ_OPTION_TEXT,
     .argument = "CODE",
     .offset = offsetof(cli_autoencode_args, o.teacher_language),
     .otherwise = "none",
     .help = "the language that it reads"},
    NUMBER_OPTION("distillation", o.distillation, 1e6, "weight of the squared distance from the teacher's vectors"),
    NUMBER_OPTION("adversary", o.adversary, 1e6,
                  "weight of what encoders of two languages learn from a discriminator that tells them apart"),
    CHOICE_OPTION("feed", o.feed, feeds, "whose vectors decoders learn to read"),
    NUMBER_OPTION("noise", o.noise, 1e6, "length of what is added to the vectors that decoders learn to read"),
    NUMBER_OPTION("word-dropout", o.word_dropout, 0.99, "share of the words that decoders read that are hidden"),
    NUMBER_OPTION("encoder-word-dropout", o.encoder_word_dropout, 0.99,
                  "share of the words that encoders read, in training, that are hidden"),
    NUMBER_OPTION("together", o.together_epochs, 1e6,
                  "epochs of everything at once, first; 0 when only stages are given"),
    NUMBER_OPTION("encoder-epochs", o.encoder_epochs, 1e6, "then epochs of encoders alone"),
    NUMBER_OPTION("decoder-epochs", o.decoder_epochs, 1e6, "at last epochs of decoders, on frozen encoders"),
    {.name = "patience",
     .type = CQ_OPTION_INT,
     .argument = "N",
     .offset = offsetof(cli_autoencode_args, o.patience),
     .max = 1 << 16,
     .otherwise = "never",
     .help = "end a stage after this many epochs of decoders without a better --dev"},
    INT_OPTION("batch", o.batch_pairs, 1, "pairs of a batch"),
    NUMBER_OPTION("lr", o.learning_rate, 1, "learning rate at its peak"),
    ANSWER_OPTION("two-optimizers", o.two_optimizers,
                  "in --together, the losses between vectors have an optimiser of their own"),
    NUMBER_OPTION("contrast-rate", o.contrast_rate, 1e6,
                  "with --two-optimizers, the learning rate of the losses between vectors, relative to --lr"),
    NUMBER_OPTION("weight-decay", o.weight_decay, 1, "of AdamW"),
    NUMBER_OPTION("clip-norm", o.clip_norm, 1e6, "longest gradient; 0: any"),
    CHOICE_OPTION("schedule", o.schedule, cq_schedule_names, "how the rate falls in a stage"),
    NUMBER_OPTION("warmup", o.warmup, 1, "share of a stage's steps in which the rate rises"),
    {.name = "seed",
     .type = CQ_OPTION_COUNT,
     .argument = "N",
     .offset = offsetof(cli_autoencode_args, o.seed),
     .help = "of all that is random"},
    {.name = "resume",
     .type = CQ_OPTION_FLAG,
     .offset = offsetof(cli_autoencode_args, o.resume),
     .help = "go on from where an interrupted run was"},
    INT_OPTION("checkpoint-every", o.checkpoint_every, 1, "steps after which all that --resume needs is saved"),
    {.name = "replace",
     .type = CQ_OPTION_FLAG,
     .offset = offsetof(cli_autoencode_args, o.replace),
     .help = "overwrite what exists"},
    CLI_SKIP_BAD(cli_autoencode_args, o.skip_bad),
    CLI_THREADS(cli_autoencode_args, threads),
};

/* The recipe's values, but what was given. */
static cq_autoencode_options chosen_options(const cli_call *call) {
  const cli_autoencode_args *args = call->options;
  cli_autoencode_args chosen = {.o = args->recipe == AS_DESCRIBED ? cq_autoencode_as_described()
                                                                  : cq_autoencode_translating()};
  static const size_t sizes[] = {
      [CQ_OPTION_FLAG] = sizeof(bool),      [CQ_OPTION_INT] = sizeof(int),     [CQ_OPTION_COUNT] = sizeof(uint64_t),
      [CQ_OPTION_NUMBER] = sizeof(double),  [CQ_OPTION_TEXT] = sizeof(char *), [CQ_OPTION_CHOICE] = sizeof(int),
      [CQ_OPTION_TEXTS] = sizeof(cli_list), [CQ_OPTION_YES_NO] = sizeof(bool)};
  for (size_t i = 0; i < CLI_AUTOENCODE_N_OPTIONS; i++) {
    const cq_option *o = &cli_autoencode_options[i];
    if (cli_given(call, o->name)) memcpy((char *)&chosen + o->offset, (const char *)args + o->offset, sizes[o->type]);
  }
  if (!cli_given(call, "together") && args->o.encoder_epochs + args->o.decoder_epochs > 0) chosen.o.together_epochs = 0;
  if (cli_given(call, "latent-as")) {
    chosen.o.latent_as_state = chosen.latent == LATENT_BOTH || chosen.latent == LATENT_STATE;
    chosen.o.latent_at_every_step = chosen.latent != LATENT_STATE && chosen.latent != LATENT_STATES;
    chosen.o.states_from_encoder = chosen.latent == LATENT_STATES || chosen.latent == LATENT_STATES_EVERY_STEP;
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
  const char *end = cli_label_end(argument);
  const bool own = end && !memchr(argument, '/', (size_t)(end - argument));
  if (!own && !languages)
    return cli_usage(path, "'%s' does not say its languages, and there is no --languages: fr,it=%s", argument,
                     argument);
  *codes = own ? strndup(argument, (size_t)(end - argument)) : strdup(languages);
  if (!*codes) return cli_fail("out of memory");
  out->path = own ? end + 1 : argument;
  if (!read_codes(out->languages, *codes))
    return cli_usage(path, "'%s' is no languages of columns: fr,it or fr or ,it", own ? argument : languages);
  return CLI_OK;
}

int cli_two_codes(const char *out[2], char codes[CLI_CODES], const char *command_path, const char *text) {
  if (snprintf(codes, CLI_CODES, "%s", text) >= CLI_CODES || !read_codes(out, codes) || !out[0] || !out[1])
    return cli_usage(command_path, "--languages is '%s', expected two codes as fr,it", text);
  return CLI_OK;
}

static int read_texts(cli_autoencode_run *r, const cli_call *call) {
  const cli_autoencode_args *args = call->options;
  const size_t n_train = call->n_arguments - 1;
  r->n_texts = n_train + args->dev.n;
  r->texts = calloc(r->n_texts, sizeof *r->texts);
  r->codes = calloc(r->n_texts, sizeof *r->codes);
  if (!r->texts || !r->codes) return cli_fail("out of memory");
  int code = CLI_OK;
  for (size_t i = 0; code == CLI_OK && i < r->n_texts; i++)
    code = read_text(&r->texts[i], &r->codes[i], i < n_train ? call->arguments[1 + i] : args->dev.items[i - n_train],
                     args->languages, call->path);
  r->o.train = r->texts, r->o.n_train = n_train;
  r->o.dev = r->texts + n_train, r->o.n_dev = args->dev.n;
  return code;
}

int cli_autoencode_begin(cli_autoencode_run *r, const cli_call *call) {
  const cli_autoencode_args *args = call->options;
  *r = (cli_autoencode_run){.o = chosen_options(call), .progress = cli_progress_start()};
  r->o.progress = show, r->o.progress_context = &r->progress;
  r->o.output = call->arguments[0];
  int code = read_texts(r, call);
  if (code == CLI_OK) code = cli_open_context(&r->ctx, args->threads);
  if (code == CLI_OK) cli_stop_catch();
  return code;
}

int cli_autoencode_failed(cli_autoencode_run *r, const cli_call *call, cq_status status, const cq_error *error) {
  cli_progress_clear(&r->progress);
  if (!status) return CLI_OK;
  const int code = cli_fail_error(error);
  if (status == CQ_ERR_STOPPED) cli_stop_tell_resume(call, r->o.resume);
  return code;
}

void cli_autoencode_end(cli_autoencode_run *r) {
  cq_context_free(r->ctx);
  for (size_t i = 0; r->codes && i < r->n_texts; i++) free(r->codes[i]);
  free(r->codes);
  free(r->texts);
}
