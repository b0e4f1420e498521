/* A batch is a flat array of tokens: sequence s is tokens [starts[s], starts[s + 1]). There is no padding. */
#ifndef NN_BATCH_H
#define NN_BATCH_H

#include "base/random.h"
#include "tensor/tensor.h"

typedef struct cq_batch {
  const int32_t *ids;    /* [n_tokens] */
  const int64_t *starts; /* [n_seqs + 1], starts[0] = 0 */
  int64_t n_seqs;
  const int32_t *skip; /* [n_seqs] number of leading tokens (of a prompt) that pooling leaves out; NULL: none */
  /* [n_seqs] number of leading tokens of type 0: all others of a pair of texts have type 1; NULL: all have type 0 */
  const int32_t *second;
  const uint64_t *keys; /* [n_seqs] one dropout key per sequence; NULL: not training, no dropout */
  /* An encoder's final states and their gradient: lab/autoencode/states.h. data NULL: not needed. */
  cq_tensor final, dfinal;
} cq_batch;

static inline int64_t cq_batch_tokens(const cq_batch *b) {
  return b->starts[b->n_seqs];
}
static inline int64_t cq_batch_length(const cq_batch *b, int64_t s) {
  return b->starts[s + 1] - b->starts[s];
}

/* The key of one of a sequence's dropout sites: `site` must be unique within the model. */
static inline uint64_t cq_dropout_key(uint64_t sequence_key, uint32_t site) {
  return cq_mix(sequence_key + (site + 1) * UINT64_C(0x9e3779b97f4a7c15));
}

#endif
