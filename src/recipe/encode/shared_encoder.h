/* Encoding that several ranks share: rank 0 has the texts and receives the vectors; the others encode the texts that it
 * sends.
 *
 *   rank 0:  cq_shared_encode(..), cq_shared_encode(..), .., cq_shared_encode_end()
 *   others:  cq_shared_encode_serve()                      until rank 0 has called cq_shared_encode_end()
 *
 * A sentence's vector does not depend on the other sentences, so its bits are the same as with one process. */
#ifndef RECIPE_ENCODE_SHARED_ENCODER_H
#define RECIPE_ENCODE_SHARED_ENCODER_H

#include "calque/encoder.h"
#include "calque/ranks.h"

/* Like cq_encoder_encode with the defaults, over all ranks; ranks NULL: only this process. Errors: those of encoding;
 * CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_shared_encode(float *vectors, cq_encode_stats *stats, const cq_encoder *encoder,
                                       const cq_slice *texts, size_t n, cq_ranks *ranks, cq_context *ctx,
                                       cq_error *error);
CQ_MUST_USE cq_status cq_shared_encode_end(cq_ranks *ranks, cq_error *error);
/* Errors: those of encoding; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_shared_encode_serve(const cq_encoder *encoder, cq_ranks *ranks, cq_context *ctx,
                                             cq_error *error);

/* Whether all ranks have the same model in the same precision, and use the same instructions. Errors: those of
 * cq_ranks_agree and of reading the model's files. */
CQ_MUST_USE cq_status cq_shared_encoder_agree(const cq_encoder *encoder, cq_ranks *ranks, cq_error *error);

#endif
