/* One training step of encoders and decoders with a shared space of sentence vectors, on translations between two
 * languages or on text in one language.
 *
 *   a sentence and its translation ──▶ encoders ──▶ vectors ──┬─▶ distance of the two, contrast with others
 *                                                             ├─▶ discriminator: the vector's language
 *                                                             └─▶ + noise ──▶ decoders ──▶ -log p of the sentences
 *
 * With two optimizers, a step updates the encoders by the losses between vectors, then everything by -log p of newly
 * computed vectors.
 *
 * A decoder reads the vectors of its own language, of the other's, or of both in turn. Any encoder or decoder may be
 * frozen; a frozen decoder is not run. Each language's sentences are computed in shards (train/shards.h), so that the
 * result does not depend on the number of threads. */
#ifndef LAB_AUTOENCODE_AUTOENCODER_STEP_H
#define LAB_AUTOENCODE_AUTOENCODER_STEP_H

#include "base/context.h"
#include "cache/checkpoint.h"
#include "lab/autoencode/decoder.h"
#include "lab/autoencode/discriminator.h"
#include "model/encoder.h"
#include "nn/optimizer.h"
#include "train/exchange.h"

typedef enum cq_contrast {
  CQ_CONTRAST_PAIRS,    /* distances: cq_space_pairs */
  CQ_CONTRAST_IN_BATCH, /* the softmax over all translations of the batch: cq_space_in_batch */
} cq_contrast;

typedef enum cq_feed { CQ_FEED_OWN, CQ_FEED_OTHER, CQ_FEED_BOTH } cq_feed; /* whose vectors a decoder reads */

typedef struct cq_autoencoder_side {
  cq_encoder *encoder;
  cq_decoder *decoder; /* NULL: none */
  bool encoder_frozen, decoder_frozen;
} cq_autoencoder_side;

typedef struct cq_autoencoder_options {
  int n_shards;
  uint64_t seed;
  cq_feed feed;
  double reconstruction, contrast, distance; /* weights of the losses; 0: none. distance: mean squared distance */
  double distillation;                       /* of mean squared distances from a batch's targets */
  double adversary;                          /* weight of the encoders' loss against a discriminator; 0: none */
  cq_contrast contrast_by;
  double margin;      /* of CQ_CONTRAST_PAIRS */
  double temperature; /* of CQ_CONTRAST_IN_BATCH: cosines are divided by it */
  double noise; /* standard deviation, times sqrt(dim), of the noise on each element of the decoders' input vectors */
  double word_dropout;         /* of decoders' inputs: see cq_decoder_batch */
  double encoder_word_dropout; /* share of the trained encoders' input tokens that become <unk> */
  cq_adversary adversary_by;
  int64_t discriminator_hidden; /* dimensions of its hidden layer; its weights have no decay */
  double discriminator_rate;    /* its learning rate, relative to the optimizer's */
  double label_smoothing;       /* its label smoothing: see cq_discriminator_options */
  bool two_optimizers;  /* one for the losses between vectors, one for -log p: see above. The second decays weights */
  double contrast_rate; /* with two optimizers: the first one's learning rate, relative to the optimizer's */
  bool shared_latent;   /* the encoders share the first one's last Dense module: see lab/autoencode/shared_layer.h.
                         * Either all encoders are trained, or none (then nothing is shared here) */
  cq_optimizer_options optimizer;
  const cq_exchange *exchange; /* with other processes; NULL: none */
} cq_autoencoder_options;

typedef struct cq_autoencoder_trainer cq_autoencoder_trainer;

/* A side is a language; its contents are borrowed. All vectors must have the same dimension, the decoders' latent_dim,
 * and a decoder must have its encoder's vocabulary. Every encoder's final states must match the decoders' initial ones
 * (lab/autoencode/states.h); noise requires decoders that use only vectors; frozen encoders must be packed. params,
 * initially {0}, receives the trained parameters and owns their values: the caller frees it, after the models. Errors:
 * CQ_ERR_ARGUMENT, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_autoencoder_trainer_new(cq_autoencoder_trainer **out, cq_params *params,
                                                 const cq_autoencoder_side *sides, int n_sides, cq_context *ctx,
                                                 const cq_autoencoder_options *options, cq_error *error);
void cq_autoencoder_trainer_free(cq_autoencoder_trainer *t);

typedef struct cq_autoencoder_batch {
  int side[2];                  /* the sides of the two columns; the second -1: text in one language, which its own
                                 * decoder writes from its own vectors, whatever the feed */
  const cq_slice *sentences[2]; /* [n] each: a sentence and its translation */
  size_t n;
  const float *targets; /* [n, dim] a teacher's vectors, the targets for both columns in `distillation`; NULL: none */
} cq_autoencoder_batch;

typedef struct cq_autoencoder_report {
  double nll[2];             /* of each language's decoder, a token; 0 without one */
  double contrast, distance; /* unweighted */
  double distillation[2];    /* of each language; unweighted */
  cq_discriminator_report discriminator;
  double gradient_norm;
  double space_gradient_norm; /* of the first of two updates; 0 if there is one */
  uint64_t n_tokens;
} cq_autoencoder_report;

/* Updates everything that is trained; languages outside the batch only by momentum and decay. Errors: CQ_ERR_ARGUMENT
 * for an empty batch, or if nothing in it is trained; CQ_ERR_LIMIT if a loss is not finite (nothing is updated) or the
 * gradient is not (the models are then unusable); CQ_ERR_MEMORY. If the second of two updates fails, the first one is
 * kept. */
CQ_MUST_USE cq_status cq_autoencoder_step(cq_autoencoder_trainer *t, const cq_autoencoder_batch *batch,
                                          cq_autoencoder_report *report, cq_error *error);
uint64_t cq_autoencoder_updates(const cq_autoencoder_trainer *t);
/* Brings all parameters to the current step and packs them, for evaluating and saving. */
CQ_MUST_USE cq_status cq_autoencoder_settle(cq_autoencoder_trainer *t, cq_error *error);

/* The trainer's whole state, without frozen parts, as sections of a checkpoint, and back. Errors of restoring:
 * CQ_ERR_FORMAT for another model's checkpoint. */
CQ_MUST_USE cq_status cq_autoencoder_trainer_save(cq_autoencoder_trainer *t, cq_checkpoint_writer *w, cq_error *error);
CQ_MUST_USE cq_status cq_autoencoder_trainer_restore(cq_autoencoder_trainer *t, const cq_checkpoint *c,
                                                     cq_error *error);

#endif
