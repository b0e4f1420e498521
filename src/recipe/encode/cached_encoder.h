/* An encoder that encodes each text only once: vectors are kept on disk by model and text. */
#ifndef RECIPE_ENCODE_CACHED_ENCODER_H
#define RECIPE_ENCODE_CACHED_ENCODER_H

#include "cache/vector_store.h"
#include "calque/encoder.h"
#include "calque/ranks.h"

typedef struct cq_cached_encoder {
  cq_encoder *encoder;
  cq_vector_store *store;
  int64_t dim;
  const float *vectors; /* [n_records, dim] once mapped */
  cq_notice_fn notice;
  void *notice_context;
  uint64_t n_damaged; /* damaged vectors, reported by the notice */
  cq_ranks *ranks;    /* ranks that encode together (shared_encoder.h), this being rank 0; NULL: only this process */
} cq_cached_encoder;

/* CACHE/NAME; CACHE is by default $XDG_CACHE_HOME/calque or ~/.cache/calque. Errors: CQ_ERR_ARGUMENT if there is
 * neither a cache nor a home directory, or the path is too long. */
CQ_MUST_USE cq_status cq_cache_path(char *out, size_t n, const char *cache, const char *name, cq_error *error);

/* cache NULL: $XDG_CACHE_HOME/calque or ~/.cache/calque. Errors: those of opening a model and the store;
 * CQ_ERR_ARGUMENT if there is neither a cache nor a home directory. */
CQ_MUST_USE cq_status cq_cached_encoder_open(cq_cached_encoder *out, const char *model,
                                             const cq_encoder_options *options, const char *cache, cq_error *error);
/* A teacher, which may be a reranker. In a training with bf16 products it has them too, if it is not quantized. */
CQ_MUST_USE cq_status cq_cached_teacher_open(cq_cached_encoder *out, const char *model, bool bf16,
                                             const cq_encoder_options *options, const char *cache, cq_error *error);
void cq_cached_encoder_close(cq_cached_encoder *t);

/* Ensures that each text has an undamaged vector: damaged ones are computed again, with a notice. progress receives the
 * number of missing vectors done so far, and may stop. */
typedef bool (*cq_cached_progress)(void *context, uint64_t done, uint64_t n);
CQ_MUST_USE cq_status cq_cached_encoder_prepare(cq_cached_encoder *t, const cq_slice *texts, size_t n, cq_context *ctx,
                                                cq_cached_progress progress, void *context, cq_error *error);

/* Once everything is prepared: maps the vectors, then returns a text's vector, [dim], or its row among them. */
CQ_MUST_USE cq_status cq_cached_encoder_map(cq_cached_encoder *t, cq_error *error);
int64_t cq_cached_encoder_record(const cq_cached_encoder *t, cq_slice text);
/* Frees the model once it is no longer needed; the vectors stay. */
void cq_cached_encoder_dismiss(cq_cached_encoder *t);
const float *cq_cached_encoder_vector(const cq_cached_encoder *t, cq_slice text);

#endif
