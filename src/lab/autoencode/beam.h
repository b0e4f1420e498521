/* Writes sentences from vectors: beam search over a decoder's tokens; a beam of one is greedy. */
#ifndef LAB_AUTOENCODE_BEAM_H
#define LAB_AUTOENCODE_BEAM_H

#include "lab/autoencode/decoder.h"

typedef struct cq_beam_options {
  int beam;              /* beginnings kept of each sentence */
  int max_tokens;        /* a sentence ends there if not before */
  double length_penalty; /* a sentence's score is its log probability / length^this */
} cq_beam_options;

/* ids [latent.rows], initially {0} or reused, receive each sentence's tokens, without <s> and </s>; latent and states
 * are as in cq_decoder_batch. A search stops when the best open hypothesis, at its current length, scores no better
 * than the best finished one; if none is finished, the best open one with max_tokens is used. A sentence's result does
 * not depend on the others. Errors: CQ_ERR_ARGUMENT, CQ_ERR_MEMORY. Source: Graves 2012, section 2.4 (beam search); Wu
 * et al. 2016, eq. 14 (normalized by length). */
CQ_MUST_USE cq_status cq_decoder_write(cq_ids *ids, cq_worker *worker, const cq_decoder *decoder, cq_tensor latent,
                                       cq_tensor states, const cq_beam_options *options, cq_error *error);

#endif
