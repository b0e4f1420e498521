/* A language of an autoencoder before anything is learned. */
#ifndef LAB_AUTOENCODE_FRESH_AUTOENCODER_H
#define LAB_AUTOENCODE_FRESH_AUTOENCODER_H

#include "lab/autoencode/autoencoder.h"
#include "lab/autoencode/groups.h"

/* A vocabulary of the language's text in the data, an encoder and a decoder of the options' sizes; latent_dim instead of
 * theirs. scratch: a directory to be made and removed. On failure what was made is in *out, for cq_autoencoder_release.
 * Errors: CQ_ERR_ARGUMENT when no vocabulary can be made of the text, CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_language_new(cq_language *out, const char *code, const cq_autoencode_data *data, int language,
                                      int latent_dim, const char *scratch, const cq_autoencode_options *options,
                                      cq_context *ctx, cq_error *error);

#endif
