/* Options for training autoencoders: rows, the two recipes' defaults, and checks across options. See
 * autoencode_options.h. */
#include "lab/autoencode/autoencode_options.h"

#include "base/error.h"
#include "base/memory.h"
#include "lab/autoencode/autoencoder.h"
#include "lab/autoencode/translate_dev.h"

#include <string.h>

static const char *const vocabularies[] = {"pieces", "words", NULL};
static const char *const poolings[] = {"last", "max", "mean", NULL};
static const char *const contrasts[] = {"pairs", "in-batch", NULL};
static const char *const feeds[] = {"own", "other", "both", NULL};
static const char *const latents[] = {"both", "state", "every-step", "encoder-states", "encoder-states-every-step",
                                      NULL};

enum { MAX_SIZE = 1 << 16, MAX_EPOCHS = 1000000 };

#define O cq_autoencode_options
/* "fr,it=FILE", "it=FILE", ",it=FILE"; FILE without languages has those of --languages. */
static cq_status parse_text(void *item, const char *option, char *text, cq_error *error) {
  cq_autoencode_text *out = item;
  char *equals = cq_option_label_end(text);
  *out = (cq_autoencode_text){.path = text};
  if (!equals || memchr(text, '/', (size_t)(equals - text))) return CQ_OK;
  *equals = '\0';
  char *comma = strchr(text, ',');
  if (comma) *comma = '\0';
  out->path = equals + 1;
  out->languages[0] = *text ? text : NULL;
  out->languages[1] = comma && comma[1] ? comma + 1 : NULL;
  if ((!out->languages[0] && !out->languages[1]) || (comma && (!comma[1] || strchr(comma + 1, ','))))
    return cq_fail(error, CQ_ERR_ARGUMENT,
                   "%s '%s%s%s': expected one or two languages before '=', as fr,it or fr or ,it", option, text,
                   comma ? "," : "", comma ? comma + 1 : "");
  return CQ_OK;
}

static void print_text(struct cq_builder *out, const void *item) {
  const cq_autoencode_text *t = item;
  const char *a = t->languages[0], *c = t->languages[1];
  cq_builder_printf(out, "%s%s%s%s%s", a ? a : "", c ? "," : "", c ? c : "", a || c ? "=" : "", t->path);
}

static const cq_option_items text_items = {sizeof(cq_autoencode_text), parse_text, print_text};

static const cq_option option_rows[] = {
    {CQ_TEXT(O, "output", output, KEEPS, "DIR", "the trained model; work in progress is in DIR.work"),
     .flags = CQ_OPTION_REQUIRED},
    {CQ_ITEMS(O, &text_items, "train", train, n_train, CHANGES, "[A,B=]FILE",
              "text to train on, with its columns' languages"),
     .flags = CQ_OPTION_REQUIRED},
    {CQ_ITEMS(O, &text_items, "dev", dev, n_dev, CHANGES, "[A,B=]FILE",
              "held-out pairs, translated both ways after each epoch of decoders; the best model is kept")},
    {CQ_CHOICE(O, "best-by", best_by, CHANGES, CQ_AUTOENCODE_BLEU, cq_autoencode_measures, "MEASURE",
               "measure on --dev that decides which model is kept")},
    {CQ_TEXT(O, "join", joined, CHANGES, "DIR",
             "model whose space the new languages are trained into; its own languages stay as they are"),
     .otherwise = "none"},
    {CQ_CHOICE(O, "vocabulary", vocabulary, CHANGES, CQ_AUTOENCODE_PIECES, vocabularies, "UNITS",
               "vocabulary of a language: SentencePiece pieces or whole words")},
    {CQ_INT(O, "vocab-size", vocab_size, CHANGES, 8000, 8, 1 << 20, "N",
            "vocabulary size of each language; smaller if its text yields fewer pieces")},
    {CQ_INT(O, "embedding", embedding_dim, CHANGES, 256, 1, MAX_SIZE, "N", "dimensions of a token's embedding")},
    {CQ_INT(O, "hidden", hidden_dim, CHANGES, 320, 1, MAX_SIZE, "N",
            "hidden size of an LSTM layer, in each direction")},
    {CQ_INT(O, "latent", latent_dim, CHANGES, 512, 1, MAX_SIZE, "N", "dimensions of a sentence vector")},
    {CQ_INT(O, "layers", n_layers, CHANGES, 1, 1, 64, "N", "layers of each LSTM")},
    {CQ_YES_NO(O, "bidirectional", bidirectional, CHANGES, true, "encoders read in both directions")},
    {CQ_CHOICE(O, "pooling", pooling, CHANGES, CQ_AUTOENCODE_MAX, poolings, "HOW",
               "pooling of the token states into a vector")},
    {CQ_YES_NO(O, "relu", relu, CHANGES, false, "a ReLU after the linear layer that gives the vector")},
    {CQ_YES_NO(O, "unit-length", unit_length, CHANGES, true, "scale vectors to length 1")},
    {CQ_YES_NO(O, "shared-latent", shared_latent, CHANGES, false,
               "all languages share the linear layer that gives the vectors")},
    {CQ_CHOICE(O, "latent-as", latent_as, CHANGES, CQ_AUTOENCODE_LATENT_BOTH, latents, "HOW",
               "how decoders get the vector: as their initial state (state), as part of each input (every-step), or as "
               "both; with encoder-states they start instead from the final states of the encoder, which then reads in "
               "one direction")},
    {CQ_YES_NO(O, "words-hidden", words_hidden, CHANGES, false, "decoders do not read the words they have written")},
    {CQ_NUMBER(O, "encoder-dropout", encoder_dropout, CHANGES, 0.1, 0, 1, "P",
               "dropout between layers of encoders, where they have several"),
     .flags = CQ_OPTION_BELOW_MAX},
    {CQ_NUMBER(O, "decoder-dropout", decoder_dropout, CHANGES, 0.1, 0, 1, "P",
               "dropout before, between and after layers of decoders"),
     .flags = CQ_OPTION_BELOW_MAX},
    {CQ_INT(O, "max-tokens", max_tokens, CHANGES, 100, 3, MAX_SIZE, "N", "longer sentences are truncated")},
    {CQ_INT(O, "max-characters", max_characters, CHANGES, 250, 0, 0, "N",
            "pairs with a longer side are left out; 0: no limit")},
    {CQ_NUMBER(O, "alpha", contrast, CHANGES, 1, 0, 1e308, "X", "weight of the contrastive loss")},
    {CQ_NUMBER(O, "beta", reconstruction, CHANGES, 1, 0, 1e308, "X",
               "weight of the reconstruction loss (-log p of the sentences of both languages)")},
    {CQ_NUMBER(O, "distance", distance, CHANGES, 1, 0, 1e6, "X", "weight of the squared distance of translations")},
    {CQ_CHOICE(O, "contrast", contrast_by, CHANGES, CQ_AUTOENCODE_IN_BATCH, contrasts, "HOW",
               "contrastive loss: against one other translation, by a margin (pairs), or against all others of "
               "the batch (in-batch; InfoNCE)")},
    {CQ_NUMBER(O, "margin", margin, CHANGES, 1, 0, 1e6, "X", "margin of --contrast pairs")},
    {CQ_NUMBER(O, "temperature", temperature, CHANGES, 0.05, 0, 1e6, "X", "temperature of --contrast in-batch"),
     .flags = CQ_OPTION_ABOVE_MIN},
    {CQ_TEXT(O, "teacher", teacher, CHANGES, "MODEL",
             "model of --latent dimensions, whose vectors of a sentence are the target for the sentence and its "
             "translation (distillation)"),
     .otherwise = "none"},
    {CQ_TEXT(O, "teacher-language", teacher_language, CHANGES, "CODE", "the teacher's language"), .otherwise = "none"},
    {CQ_NUMBER(O, "distillation", distillation, CHANGES, 1, 0, 1e6, "X",
               "weight of the squared distance from the teacher's vectors")},
    {CQ_TEXT(O, "cache", cache_directory, KEEPS, "DIR", "where the teacher's vectors are kept"),
     .otherwise = "~/.cache/calque"},
    {CQ_NUMBER(O, "adversary", adversary, CHANGES, 0, 0, 1e6, "X",
               "weight of the adversarial loss: a discriminator learns to tell the languages apart, encoders to "
               "fool it")},
    {CQ_INT(O, "discriminator-hidden", discriminator_hidden, CHANGES, 256, 1, MAX_SIZE, "N",
            "hidden size of the discriminator")},
    {CQ_CHOICE(O, "feed", feed, CHANGES, CQ_AUTOENCODE_OWN, feeds, "WHOSE",
               "vectors that decoders learn to read: those of their own language, of another, or both")},
    {CQ_NUMBER(O, "noise", noise, CHANGES, 0.2, 0, 1e6, "X",
               "length of the noise added to the vectors that decoders read")},
    {CQ_NUMBER(O, "word-dropout", word_dropout, CHANGES, 0.05, 0, 1, "P",
               "share of the words read by decoders that become <unk>"),
     .flags = CQ_OPTION_BELOW_MAX},
    {CQ_NUMBER(O, "encoder-word-dropout", encoder_word_dropout, CHANGES, 0, 0, 1, "P",
               "share of the words read by encoders in training that become <unk>"),
     .flags = CQ_OPTION_BELOW_MAX},
    {CQ_NUMBER(O, "together", together_epochs, CHANGES, 12, 0, MAX_EPOCHS, "EPOCHS",
               "first stage: everything at once; 0: only the stages below")},
    {CQ_NUMBER(O, "encoder-epochs", encoder_epochs, CHANGES, 0, 0, MAX_EPOCHS, "EPOCHS",
               "second stage: encoders alone")},
    {CQ_NUMBER(O, "decoder-epochs", decoder_epochs, CHANGES, 0, 0, MAX_EPOCHS, "EPOCHS",
               "third stage: decoders on frozen encoders")},
    {CQ_INT(O, "patience", patience, CHANGES, 0, 0, 0, "EPOCHS",
            "early stopping: end a stage after this many epochs of decoders without improvement on --dev"),
     .otherwise = "never"},
    {CQ_INT(O, "batch", batch_pairs, CHANGES, 64, 1, MAX_SIZE, "PAIRS", "batch size in pairs"), .letter = 'b'},
    {CQ_NUMBER(O, "lr", learning_rate, CHANGES, 4e-3, 0, 1e300, "RATE", "peak learning rate"),
     .flags = CQ_OPTION_ABOVE_MIN},
    {CQ_YES_NO(O, "two-optimizers", two_optimizers, CHANGES, false,
               "in --together, a second optimizer for the losses between vectors")},
    {CQ_NUMBER(O, "contrast-rate", contrast_rate, CHANGES, 1, 0, 1e6, "X",
               "with --two-optimizers, the learning rate of the losses between vectors, relative to --lr")},
    {CQ_NUMBER(O, "weight-decay", weight_decay, CHANGES, 0, 0, 1, "X", "AdamW: weight decay")},
    {CQ_NUMBER(O, "clip-norm", clip_norm, CHANGES, 1, 0, 1e6, "NORM",
               "gradient clipping: maximum norm; 0: no clipping")},
    {CQ_CHOICE(O, "schedule", schedule, CHANGES, CQ_SCHEDULE_LINEAR, cq_schedule_names, "SHAPE",
               "learning rate after the warm-up of each stage")},
    {CQ_NUMBER(O, "warmup", warmup, CHANGES, 0.02, 0, 1, "SHARE",
               "warm-up: share of a stage's steps in which the learning rate rises")},
    {CQ_INT(O, "shards", n_shards, CHANGES, 2, 1, 64, "N",
            "parts that a batch is divided into: at most this many threads can compute; results depend on it")},
    {CQ_COUNT(O, "seed", seed, CHANGES, 1, 0, 0, "N", "seed of the random numbers")},
    {CQ_FLAG(O, "resume", resume, KEEPS, "continue from the last checkpoint in DIR.work")},
    {CQ_INT(O, "checkpoint-every", checkpoint_every, KEEPS, 200, 0, 0, "STEPS",
            "steps between checkpoints for --resume; 0: only at the end of a stage and when stopped")},
    {CQ_FLAG(O, "replace", replace, KEEPS, "overwrite an existing output directory")},
    CQ_SKIP_BAD_ROW(O, KEEPS),
};

static void set_as_described(void *options) {
  O *o = options;
  o->embedding_dim = 150, o->hidden_dim = 256, o->latent_dim = 16, o->n_layers = 2;
  o->bidirectional = false, o->pooling = CQ_AUTOENCODE_LAST;
  o->relu = true, o->unit_length = false, o->shared_latent = true;
  o->latent_as = CQ_AUTOENCODE_ENCODER_STATES_EVERY_STEP, o->words_hidden = true;
  o->encoder_dropout = 0.139, o->decoder_dropout = 0.102;
  o->contrast = 1.039, o->reconstruction = 1.440, o->distance = 0;
  o->contrast_by = CQ_AUTOENCODE_PAIRS, o->margin = 1.5;
  o->noise = 0, o->word_dropout = 0;
  o->together_epochs = 30, o->batch_pairs = 16, o->learning_rate = 2e-4;
}

static cq_status check_decoders(const O *o, cq_error *error) {
  const bool from_encoder = o->latent_as >= CQ_AUTOENCODE_ENCODER_STATES;
  if (from_encoder && o->bidirectional)
    return cq_fail(error, CQ_ERR_ARGUMENT,
                   "latent-as is %s, which needs an encoder that reads in one direction, but bidirectional is yes",
                   latents[o->latent_as]);
  if (o->patience > 0 && o->n_dev == 0)
    return cq_fail(error, CQ_ERR_ARGUMENT, "patience without dev: there is nothing to wait for");
  if (!(o->together_epochs + o->decoder_epochs > 0))
    return cq_fail(error, CQ_ERR_ARGUMENT, "no epochs of decoders: decoders need some");
  return CQ_OK;
}

/* Checks in advance what a stage's trainer would refuse, perhaps hours later. */
static cq_status check_loss_weights(const O *o, cq_error *error) {
  const double distillation = o->teacher ? o->distillation : 0,
               between = o->contrast + o->distance + distillation + o->adversary;
  /* Encoders can be trained alone, without learning decoders, to see the effect of the contrastive loss. */
  const bool writes = o->reconstruction > 0 || (between > 0 && o->decoder_epochs == 0);
  if (!writes || (o->encoder_epochs > 0 && !(between > 0)))
    return cq_fail(
        error, CQ_ERR_ARGUMENT,
        "losses weighted: reconstruction (beta) %g, contrast (alpha) %g, distance %g, distillation %g, adversary "
        "%g; decoders need the first above 0, encoders alone one of the others",
        o->reconstruction, o->contrast, o->distance, distillation, o->adversary);
  if (o->teacher && !o->teacher_language)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a teacher without the language that it reads");
  return CQ_OK;
}

/* Files, and what they are in. */
static cq_status check_text_file(const cq_autoencode_text *text, bool is_dev, cq_error *error) {
  const char *const *codes = text->languages;
  if (!text->path || (is_dev ? !codes[0] || !codes[1] : !codes[0] && !codes[1]))
    return cq_fail(error, CQ_ERR_ARGUMENT, "a file to %s without %s", is_dev ? "measure by" : "train on",
                   !text->path ? "a path"
                   : is_dev    ? "two languages"
                               : "a language");
  if (codes[0] && codes[1] && !strcmp(codes[0], codes[1]))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, text->path, "both languages are '%s'", codes[0]);
  for (int i = 0; i < 2; i++)
    if (codes[i] && !cq_autoencoder_is_code(codes[i]))
      return cq_fail_file(error, CQ_ERR_ARGUMENT, text->path,
                          "'%s' is not a language code: it becomes part of a directory's name", codes[i]);
  return CQ_OK;
}

static cq_status check_texts(const O *o, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < o->n_train; i++) status = check_text_file(&o->train[i], false, error);
  for (size_t i = 0; !status && i < o->n_dev; i++) status = check_text_file(&o->dev[i], true, error);
  for (size_t i = 0; !status && i < o->n_dev; i++)
    for (size_t k = 0; !status && k < i; k++)
      if (!strcmp(o->dev[i].languages[0], o->dev[k].languages[1]) &&
          !strcmp(o->dev[i].languages[1], o->dev[k].languages[0]))
        status = cq_fail_file(error, CQ_ERR_ARGUMENT, o->dev[i].path,
                              "dev has both %s,%s and %s,%s: expected one order", o->dev[k].languages[0],
                              o->dev[k].languages[1], o->dev[i].languages[0], o->dev[i].languages[1]);
  return status;
}

static cq_status check_autoencode(const void *options, cq_error *error) {
  const O *o = options;
  if (!o->output || o->n_train == 0)
    return cq_fail(error, CQ_ERR_ARGUMENT, "an output directory and a file to train on are needed");
  cq_status status = check_texts(o, error);
  if (!status) status = check_loss_weights(o, error);
  return status ? status : check_decoders(o, error);
}
#undef O

const cq_option_group cq_group_autoencode = {.name = "autoencode",
                                             CQ_ROWS(cq_autoencode_options, option_rows),
                                             .check = check_autoencode,
                                             CQ_FIELDS(CQ_CALLBACK(cq_autoencode_options, progress))};
const cq_option_group cq_group_autoencode_as_described = {.name = "autoencode-as-described",
                                                          CQ_ROWS(cq_autoencode_options, option_rows),
                                                          .check = check_autoencode,
                                                          .defaults = set_as_described};

cq_status cq_autoencode_check(const cq_autoencode_options *options, cq_error *error) {
  return cq_group_check(&cq_group_autoencode, options, error);
}

static bool describe_row(void *out, const cq_option *row, const char *value) {
  if (row->effect == CQ_CHANGES_RESULT && row->type < CQ_OPTION_TEXTS)
    cq_builder_printf(out, "%s\t%s\n", row->name, value ? value : "");
  return true;
}

void cq_autoencode_describe(cq_builder *out, const cq_autoencode_options *o) {
  for (size_t i = 0; i < o->n_train + o->n_dev; i++) {
    const cq_autoencode_text *text = i < o->n_train ? &o->train[i] : &o->dev[i - o->n_train];
    for (int s = 0; s < 2; s++) cq_builder_printf(out, "%s,", text->languages[s] ? text->languages[s] : "-");
  }
  if (!cq_options_each(&cq_group_autoencode, o, describe_row, out)) out->failed = true;
}
