/* What the autoencoders' trainer holds, for those who make it and for its step. */
#ifndef TRAIN_AUTOENCODER_TRAINER_H
#define TRAIN_AUTOENCODER_TRAINER_H

#include "train/autoencoder.h"
#include "train/pair_batch.h"
#include "train/shared_layer.h"

/* A shard of one half of the batch: a run of its sentences. Its activations stay from the encoders' forward to their
 * backward, so it has a lane of its own. */
typedef struct cq_autoencoder_shard {
  int half;
  size_t first, n; /* sentences */
  cq_lane lane;
  cq_batch batch;
  int64_t *starts;
  uint64_t *keys; /* [n] of whoever reads the sentences at present */
  int32_t *read;  /* [tokens] what an encoder is shown of them */
  cq_tape tape;
  double loss;      /* of the decoder, summed over tokens */
  cq_mark laid_out; /* of the workspace, before any activations */
  cq_status status;
  cq_error error;
} cq_autoencoder_shard;

struct cq_autoencoder_trainer {
  cq_autoencoder_side *sides;
  int n_sides;
  cq_autoencoder_options o;
  cq_context *ctx;
  const cq_kernels *kernels;
  cq_params *params;      /* of all that is not frozen */
  cq_shared_layer shared; /* {0}: none */
  cq_optimizer optimizer;
  cq_discriminator *discriminator; /* NULL: none */
  /* Of two optimisers, the one of the losses between vectors; its params NULL: the other does all. */
  cq_params of_encoders; /* the first of params */
  cq_optimizer between;
  cq_gradients *between_gradients; /* [n_shards] views of the gradients' first */
  cq_autoencoder_shard *shards;    /* [2 n_shards] */
  cq_gradients *gradients;    /* [n_shards]: of the k-th shards of both languages, which work at the same time where the
                              languages share no parameter */
  cq_half halves[2];          /* the second without sentences when the batch is of one language */
  cq_autoencoder_batch batch; /* at hand */
  cq_reader reader;           /* what encoders are at present */
  int64_t dim;
  int64_t states_width; /* of what any encoder hands over of a sentence; 0: no decoder is trained on it */
  uint64_t n_batches;
};

static inline bool trains_encoder(const cq_autoencoder_side *side) {
  return !side->encoder_frozen;
}

static inline bool trains_decoder(const cq_autoencoder_trainer *t, const cq_autoencoder_side *side) {
  return side->decoder && !side->decoder_frozen && t->o.reconstruction > 0;
}

/* Whose sentences a half of the batch holds. */
static inline const cq_autoencoder_side *side_of(const cq_autoencoder_trainer *t, int which) {
  return &t->sides[t->batch.side[which]];
}

/* What a hidden word is to an encoder; below 0: it knows none. */
static inline int32_t unknown_of(const cq_autoencoder_side *side) {
  return cq_tokenizer_describe(cq_encoder_text_module(side->encoder)->tokenizer)->unk_id;
}

static inline int n_halves(const cq_autoencoder_trainer *t) {
  return t->batch.side[1] < 0 ? 1 : 2;
}

/* Packs what was updated; all: frozen decoders too. training: for that too, else for writing. */
CQ_MUST_USE cq_status cq_autoencoder_pack_encoders(cq_autoencoder_trainer *t, cq_error *error);
CQ_MUST_USE cq_status cq_autoencoder_pack_decoders(cq_autoencoder_trainer *t, bool all, bool training, cq_error *error);
CQ_MUST_USE cq_status cq_autoencoder_pack(cq_autoencoder_trainer *t, bool all, cq_error *error);

#endif
