/* A language of an autoencoder before training. */
#ifndef LAB_AUTOENCODE_FRESH_AUTOENCODER_H
#define LAB_AUTOENCODE_FRESH_AUTOENCODER_H

#include "lab/autoencode/autoencoder.h"
#include "lab/autoencode/groups.h"

/* Makes a vocabulary from the language's text in the data, and an encoder and a decoder with the options' sizes, except
 * for latent_dim. scratch: a directory that is made and removed. On failure, *out has the partial result, to be
 * released with cq_autoencoder_release. Errors: CQ_ERR_ARGUMENT when the text does not give a vocabulary, CQ_ERR_IO,
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_language_new(cq_language *out, const char *code, const cq_autoencode_data *data, int language,
                                      int latent_dim, const char *scratch, const cq_autoencode_options *options,
                                      cq_context *ctx, cq_error *error);

#endif
