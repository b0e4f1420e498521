/* A model of autoencoders as autoencode.c trains it. */
#ifndef LAB_AUTOENCODE_AUTOENCODER_H
#define LAB_AUTOENCODE_AUTOENCODER_H

#include "base/hash.h"
#include "calque/lab/autoencode.h"
#include "lab/autoencode/decoder.h"
#include "model/encoder.h"

typedef struct cq_language {
  char *code;
  cq_encoder *encoder;
  cq_decoder *decoder;
} cq_language;

struct cq_autoencoder {
  cq_language *languages;
  size_t n;
};

/* Whether a code is valid: it becomes part of directory names and of JSON. */
bool cq_autoencoder_is_code(const char *code);

/* Frees the contents, not the struct; legal on {0}. */
void cq_autoencoder_release(cq_autoencoder *a);
/* Moves the contents of an opened model into the empty *to, and frees the rest. */
void cq_autoencoder_take(cq_autoencoder *to, cq_autoencoder *from);
/* Reserves room for n languages in total; new ones are zero. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_autoencoder_reserve(cq_autoencoder *a, size_t n, cq_error *error);

/* Whether every language can be translated into every other. Errors: CQ_ERR_ARGUMENT. */
CQ_MUST_USE cq_status cq_autoencoder_check(const cq_autoencoder *a, cq_error *error);
/* `before` with the vocabularies appended. */
cq_identity cq_autoencoder_vocabularies(cq_identity before, const cq_autoencoder *a);

/* Writes the directory, whole or not at all. */
CQ_MUST_USE cq_status cq_autoencoder_save(const cq_autoencoder *a, const char *directory, bool replace,
                                          cq_error *error);

#endif
