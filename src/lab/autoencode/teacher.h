/* A teacher's vectors for the sentences on which autoencoders are trained, the targets for all languages. */
#ifndef LAB_AUTOENCODE_TEACHER_H
#define LAB_AUTOENCODE_TEACHER_H

#include "lab/autoencode/groups.h"
#include "recipe/encode/cached_encoder.h"

typedef struct cq_autoencode_teacher {
  cq_cached_encoder encoder;
  int language;   /* of the sentences it is requested */
  bool is_ready;  /* its vectors are there */
  float *targets; /* [batch_pairs, dim] */
} cq_autoencode_teacher;

/* Opens the options' teacher. codes [n_codes]: of all languages. Errors: CQ_ERR_ARGUMENT when its vectors do not have
 * latent_dim dimensions or there is no text in its language; those of opening a model. */
CQ_MUST_USE cq_status cq_autoencode_teacher_open(cq_autoencode_teacher *out, const cq_autoencode_options *options,
                                                 const cq_autoencode_data *data, const char *const *codes,
                                                 size_t n_codes, int64_t latent_dim, cq_error *error);
/* Encodes every sentence of its language in the data. */
CQ_MUST_USE cq_status cq_autoencode_teacher_prepare(cq_autoencode_teacher *t, const cq_autoencode_data *data,
                                                    cq_context *ctx, cq_error *error);
void cq_autoencode_teacher_close(cq_autoencode_teacher *t); /* legal on {0} */
/* Sets a batch's targets, if one side is in the teacher's language. */
void cq_autoencode_teacher_set(cq_autoencoder_batch *batch, cq_autoencode_teacher *t);

#endif
