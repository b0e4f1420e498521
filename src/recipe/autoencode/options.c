#include "recipe/autoencode/options.h"

#include "base/error.h"
#include "base/memory.h"
#include "recipe/autoencode/autoencoder.h"

#include <math.h>
#include <string.h>

enum { MOST_EPOCHS = 1000000 };

cq_autoencode_options cq_autoencode_as_described(void) {
  return (cq_autoencode_options){.max_characters = 250,
                                 .vocab_size = 8000,
                                 .embedding_dim = 150,
                                 .hidden_dim = 256,
                                 .latent_dim = 16,
                                 .n_layers = 2,
                                 .pooling = CQ_AUTOENCODE_LAST,
                                 .relu = true,
                                 .shared_latent = true,
                                 .latent_at_every_step = true,
                                 .states_from_encoder = true,
                                 .words_hidden = true,
                                 .encoder_dropout = 0.139,
                                 .decoder_dropout = 0.102,
                                 .max_tokens = 100,
                                 .reconstruction = 1.440,
                                 .contrast = 1.039,
                                 .contrast_by = CQ_AUTOENCODE_PAIRS,
                                 .margin = 1.5,
                                 .temperature = 0.05,
                                 .distillation = 1,
                                 .discriminator_hidden = 256,
                                 .contrast_rate = 1,
                                 .feed = CQ_AUTOENCODE_OWN,
                                 .together_epochs = 30,
                                 .batch_pairs = 16,
                                 .learning_rate = 2e-4,
                                 .weight_decay = 0,
                                 .clip_norm = 1,
                                 .warmup = 0.02,
                                 .schedule = CQ_SCHEDULE_LINEAR,
                                 .checkpoint_every = 200,
                                 .n_shards = 2,
                                 .seed = 1};
}

cq_autoencode_options cq_autoencode_translating(void) {
  cq_autoencode_options o = cq_autoencode_as_described();
  o.latent_dim = 512;
  o.hidden_dim = 320;
  o.embedding_dim = 256;
  o.n_layers = 1;
  o.bidirectional = true;
  o.pooling = CQ_AUTOENCODE_MAX;
  o.relu = false;
  o.unit_length = true;
  o.shared_latent = false;
  o.latent_as_state = o.latent_at_every_step = true;
  o.states_from_encoder = o.words_hidden = false;
  o.encoder_dropout = 0.1;
  o.decoder_dropout = 0.1;
  o.reconstruction = 1;
  o.contrast = 1;
  o.contrast_by = CQ_AUTOENCODE_IN_BATCH;
  o.margin = 1;
  o.distance = 1;
  o.noise = 0.2;
  o.word_dropout = 0.05;
  o.together_epochs = 12;
  o.batch_pairs = 64;
  o.learning_rate = 4e-3;
  return o;
}

static cq_status check_sizes(const cq_autoencode_options *o, cq_error *error) {
  enum { MOST = 1 << 16, MOST_LAYERS = 64 };
  const struct {
    const char *name;
    int value, least, most;
  } sizes[] = {{"vocabulary", (int)o->vocabulary, CQ_AUTOENCODE_PIECES, CQ_AUTOENCODE_WORDS},
               {"vocab_size", o->vocab_size, 8, 1 << 20},
               {"embedding_dim", o->embedding_dim, 1, MOST},
               {"hidden_dim", o->hidden_dim, 1, MOST},
               {"latent_dim", o->latent_dim, 1, MOST},
               {"n_layers", o->n_layers, 1, MOST_LAYERS},
               {"max_tokens", o->max_tokens, 3, MOST},
               {"batch_pairs", o->batch_pairs, 1, MOST},
               {"discriminator_hidden", o->discriminator_hidden, 1, MOST},
               {"n_shards", o->n_shards, 1, 64},
               {"max_characters", o->max_characters, 0, INT32_MAX},
               {"patience", o->patience, 0, INT32_MAX},
               {"pooling", (int)o->pooling, CQ_AUTOENCODE_LAST, CQ_AUTOENCODE_MEAN},
               {"contrast_by", (int)o->contrast_by, CQ_AUTOENCODE_PAIRS, CQ_AUTOENCODE_IN_BATCH},
               {"feed", (int)o->feed, CQ_AUTOENCODE_OWN, CQ_AUTOENCODE_BOTH},
               {"best_by", (int)o->best_by, CQ_AUTOENCODE_BLEU, CQ_AUTOENCODE_METEOR},
               {"schedule", (int)o->schedule, CQ_SCHEDULE_LINEAR, CQ_SCHEDULE_COSINE}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (sizes[i].value < sizes[i].least || sizes[i].value > sizes[i].most)
      return cq_fail(error, CQ_ERR_ARGUMENT, "%s is %d, expected %d to %d", sizes[i].name, sizes[i].value,
                     sizes[i].least, sizes[i].most);
  if (!(o->encoder_dropout >= 0 && o->encoder_dropout < 1 && o->decoder_dropout >= 0 && o->decoder_dropout < 1 &&
        o->word_dropout >= 0 && o->word_dropout < 1 && o->encoder_word_dropout >= 0 && o->encoder_word_dropout < 1))
    return cq_fail(error, CQ_ERR_ARGUMENT, "dropout %g, %g and of words %g, %g: expected 0 or more and less than 1",
                   o->encoder_dropout, o->decoder_dropout, o->word_dropout, o->encoder_word_dropout);
  if (!o->latent_at_every_step && !o->latent_as_state && !o->states_from_encoder)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a decoder that never sees the sentence");
  if (o->states_from_encoder && (o->latent_as_state || o->bidirectional))
    return cq_fail(error, CQ_ERR_ARGUMENT, "decoders begin where the encoder ended, %s",
                   o->bidirectional ? "which then reads one way only" : "or with the vector: not with both");
  return CQ_OK;
}

/* What a stage's trainer would refuse, some of them hours later. */
static cq_status check_losses(const cq_autoencode_options *o, cq_error *error) {
  const double distillation = o->teacher ? o->distillation : 0,
               between = o->contrast + o->distance + distillation + o->adversary;
  /* Encoders can be trained alone, together with decoders that never learn: to see what contrast does by itself. */
  const bool writes = o->reconstruction > 0 || (o->reconstruction == 0 && between > 0 && o->decoder_epochs == 0);
  if (!(writes && o->contrast >= 0 && o->distance >= 0 && distillation >= 0 && o->adversary >= 0) ||
      (o->encoder_epochs > 0 && !(between > 0)))
    return cq_fail(error, CQ_ERR_ARGUMENT,
                   "losses weighted: -log p (beta) %g, contrast (alpha) %g, distance %g, distillation %g, adversary "
                   "%g; decoders need "
                   "the first above 0, encoders alone one of the others",
                   o->reconstruction, o->contrast, o->distance, distillation, o->adversary);
  if (o->teacher && !o->teacher_language)
    return cq_fail(error, CQ_ERR_ARGUMENT, "a teacher without the language that it reads");
  if (!(o->contrast_rate >= 0)) return cq_fail(error, CQ_ERR_ARGUMENT, "contrast rate %g", o->contrast_rate);
  if (!(o->temperature > 0) || !(o->margin >= 0) || !(o->noise >= 0) || !(o->weight_decay >= 0) || !(o->clip_norm >= 0))
    return cq_fail(error, CQ_ERR_ARGUMENT, "temperature %g, margin %g, noise %g, weight decay %g, clip norm %g",
                   o->temperature, o->margin, o->noise, o->weight_decay, o->clip_norm);
  return CQ_OK;
}

/* Files, and what they are in. */
static cq_status check_text(const cq_autoencode_text *text, bool is_dev, cq_error *error) {
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
                          "'%s' is no language's code: it becomes part of a directory's name", codes[i]);
  return CQ_OK;
}

cq_status cq_autoencode_check(const cq_autoencode_options *o, cq_error *error) {
  cq_status status = CQ_OK;
  if (!o->output || o->n_train == 0)
    return cq_fail(error, CQ_ERR_ARGUMENT, "an output directory and a file to train on are needed");
  for (size_t i = 0; !status && i < o->n_train; i++) status = check_text(&o->train[i], false, error);
  for (size_t i = 0; !status && i < o->n_dev; i++) status = check_text(&o->dev[i], true, error);
  for (size_t i = 0; !status && i < o->n_dev; i++)
    for (size_t k = 0; !status && k < i; k++)
      if (!strcmp(o->dev[i].languages[0], o->dev[k].languages[1]) &&
          !strcmp(o->dev[i].languages[1], o->dev[k].languages[0]))
        status = cq_fail_file(error, CQ_ERR_ARGUMENT, o->dev[i].path,
                              "dev has both %s,%s and %s,%s: expected one order", o->dev[k].languages[0],
                              o->dev[k].languages[1], o->dev[i].languages[0], o->dev[i].languages[1]);
  if (status) return status;
  if (o->patience > 0 && o->n_dev == 0)
    return cq_fail(error, CQ_ERR_ARGUMENT, "patience without dev: there is nothing to wait for");
  if (!(o->learning_rate > 0) || !(o->warmup >= 0 && o->warmup <= 1))
    return cq_fail(error, CQ_ERR_ARGUMENT, "learning rate %g, warm-up %g", o->learning_rate, o->warmup);
  const double epochs[] = {o->together_epochs, o->encoder_epochs, o->decoder_epochs};
  for (int i = 0; i < 3; i++)
    if (!(epochs[i] >= 0 && epochs[i] <= MOST_EPOCHS))
      return cq_fail(error, CQ_ERR_ARGUMENT, "%g epochs, expected 0 to %d", epochs[i], MOST_EPOCHS);
  if (!(o->together_epochs + o->decoder_epochs > 0))
    return cq_fail(error, CQ_ERR_ARGUMENT, "no epochs of decoders: decoders need some");
  status = check_losses(o, error);
  return status ? status : check_sizes(o, error);
}

void cq_autoencode_describe(cq_builder *out, const cq_autoencode_options *o) {
  for (size_t i = 0; i < o->n_train + o->n_dev; i++) {
    const cq_autoencode_text *text = i < o->n_train ? &o->train[i] : &o->dev[i - o->n_train];
    for (int s = 0; s < 2; s++) cq_builder_printf(out, "%s,", text->languages[s] ? text->languages[s] : "-");
  }
  cq_builder_printf(out, "%d %d %d %d %d %d %d %d %d %d %d %.17g %.17g %d|", o->vocab_size, o->embedding_dim,
                    o->hidden_dim, o->latent_dim, o->n_layers, o->bidirectional, (int)o->pooling, o->relu,
                    o->unit_length, o->latent_at_every_step, o->latent_as_state, o->encoder_dropout, o->decoder_dropout,
                    o->max_tokens);
  cq_builder_printf(out, "%.17g %.17g %.17g %d %.17g %.17g %d %.17g %.17g|", o->reconstruction, o->contrast,
                    o->distance, (int)o->contrast_by, o->margin, o->temperature, (int)o->feed, o->noise,
                    o->word_dropout);
  cq_builder_printf(out, "%.17g %.17g %.17g %d %.17g %.17g %.17g %.17g %d %llu %d|", o->together_epochs,
                    o->encoder_epochs, o->decoder_epochs, o->batch_pairs, o->learning_rate, o->weight_decay,
                    o->clip_norm, o->warmup, o->n_shards, (unsigned long long)o->seed, o->max_characters);
  cq_builder_printf(out, "%d %d %d %d", (int)o->schedule, o->patience, (int)o->vocabulary, (int)o->best_by);
  cq_builder_printf(out, "|%d %d %d %s %s %.17g %.17g %d %d %.17g", o->words_hidden, o->shared_latent,
                    o->states_from_encoder, o->teacher ? o->teacher : "", o->teacher ? o->teacher_language : "",
                    o->distillation, o->adversary, o->discriminator_hidden, o->two_optimizers, o->contrast_rate);
  cq_builder_printf(out, "|%.17g", o->encoder_word_dropout);
}
