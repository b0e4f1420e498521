/* The autoencoder trainer's internals, shared by its construction and its step. */
#ifndef LAB_AUTOENCODE_AUTOENCODER_TRAINER_H
#define LAB_AUTOENCODE_AUTOENCODER_TRAINER_H

#include "base/random.h"
#include "lab/autoencode/autoencoder_step.h"
#include "lab/autoencode/shared_layer.h"
#include "train/shards.h"
#include "train/update.h"

/* The reader of a sentence. Dropout and noise are functions of a key: a sentence's key depends on its batch, column and
 * position, and each reader derives another key from it, so that their dropout is independent. */
typedef enum cq_reader {
  CQ_READ_ENCODER,
  CQ_READ_ENCODER_AGAIN,    /* after a first update by the same batch */
  CQ_READ_DECODER_OF_OWN,   /* from the vectors of its own language */
  CQ_READ_DECODER_OF_OTHER, /* from the other's */
} cq_reader;

static inline uint64_t cq_sentence_key(uint64_t seed, uint64_t n_batch, int column, size_t i) {
  return cq_mix(cq_mix(seed + 1) ^ cq_mix(2 * n_batch + (uint64_t)column + 1)) + i;
}

static inline uint64_t cq_reader_key(uint64_t sentence_key, cq_reader reader) {
  return cq_mix(sentence_key ^ cq_mix((uint64_t)reader + 1));
}

struct cq_autoencoder_trainer {
  cq_autoencoder_side *sides;
  int n_sides;
  cq_autoencoder_options o;
  cq_context *ctx;
  const cq_kernels *kernels;
  cq_params *params;               /* of all that is not frozen */
  cq_shared_layer shared;          /* {0}: none */
  cq_discriminator *discriminator; /* NULL: none */
  cq_update
      update; /* the k-th shards of both languages, which run at the same time if the languages share no parameter, add
               * to the same gradients */
  /* With two optimizers, the update by the losses between vectors; {0}: `update` does everything. */
  cq_params of_encoders; /* the first of params */
  cq_update alignment;
  cq_shards shards;           /* of two columns */
  cq_sequences columns[2];    /* the second has no sentences if the batch is in one language */
  cq_autoencoder_batch batch; /* the current one */
  cq_reader reader;           /* the encoders' current role */
  int64_t dim;
  int64_t states_width; /* width of the states that encoders pass on for a sentence; 0: no decoder is trained on them */
  uint64_t n_batches;
};

static inline bool trains_encoder(const cq_autoencoder_side *side) {
  return !side->encoder_frozen;
}

static inline bool trains_decoder(const cq_autoencoder_trainer *t, const cq_autoencoder_side *side) {
  return side->decoder && !side->decoder_frozen && t->o.reconstruction > 0;
}

/* Whose sentences a column of the batch holds. */
static inline const cq_autoencoder_side *side_of(const cq_autoencoder_trainer *t, int column) {
  return &t->sides[t->batch.side[column]];
}

/* The token that an encoder sees instead of a hidden word; negative: none. */
static inline int32_t unknown_of(const cq_autoencoder_side *side) {
  return cq_tokenizer_describe(cq_encoder_text_module(side->encoder)->tokenizer)->unk_id;
}

static inline int n_columns(const cq_autoencoder_trainer *t) {
  return t->batch.side[1] < 0 ? 1 : 2;
}

/* Packs the trained parameters; all: also frozen decoders. training: for it and writing, else only for writing. */
CQ_MUST_USE cq_status cq_autoencoder_pack_encoders(cq_autoencoder_trainer *t, cq_error *error);
CQ_MUST_USE cq_status cq_autoencoder_pack_decoders(cq_autoencoder_trainer *t, bool all, bool training, cq_error *error);

#endif
