/* One language's sentences of a batch of pairs: their tokens, cut into shards, and what is drawn at random for them.
 *
 * Dropout and noise are functions of a key. A sentence has one, of its batch, language and place; whoever reads the
 * sentence has another of it, so that what one forgets says nothing about what another does. */
#ifndef TRAIN_PAIR_BATCH_H
#define TRAIN_PAIR_BATCH_H

#include "base/random.h"
#include "model/encoder.h"

typedef enum cq_reader {
  CQ_READ_ENCODER,
  CQ_READ_ENCODER_AGAIN,    /* after a first update by the same batch */
  CQ_READ_DECODER_OF_OWN,   /* from the vectors of its own language */
  CQ_READ_DECODER_OF_OTHER, /* from the other's */
} cq_reader;

static inline uint64_t cq_sentence_key(uint64_t seed, uint64_t n_batch, int side, size_t i) {
  return cq_mix(cq_mix(seed + 1) ^ cq_mix(2 * n_batch + (uint64_t)side + 1)) + i;
}

static inline uint64_t cq_reader_key(uint64_t sentence_key, cq_reader reader) {
  return cq_mix(sentence_key ^ cq_mix((uint64_t)reader + 1));
}

/* {0} is empty, and may be freed. */
typedef struct cq_half {
  cq_ids ids;
  int64_t *starts; /* [n + 1] */
  float *vectors;  /* [n, dim] */
  float *gradient; /* [n, dim] of the vectors */
  float *states;   /* [n, states_width], and behind it its gradient: see model/states.h */
  size_t n, capacity;
  int64_t states_width;
} cq_half;

/* Tokenizes n sentences and makes room for their vectors and for states of that width, always the same, whose gradient
 * begins at 0. Errors: CQ_ERR_MEMORY, those of tokenizing. */
CQ_MUST_USE cq_status cq_half_fill(cq_half *h, const cq_encoder *encoder, const cq_slice *sentences, size_t n,
                                   int64_t states_width, cq_error *error);
/* The sentence behind the last of shard k, the shards being ranges of about as many tokens; `first` is shard k's first
 * sentence. */
size_t cq_half_end_of_shard(const cq_half *h, int k, int n_shards, size_t first);
/* What the encoder hands over of n sentences, or its gradient; data NULL: nothing. */
cq_tensor cq_half_states(const cq_half *h, size_t first, size_t n, bool gradient);
void cq_half_free(cq_half *h);

#endif
