/* A map from sentence to row for each model, with the rows' vectors. */
#include "recipe/evaluate/encoded_once.h"

#include "base/error.h"
#include "base/map.h"
#include "base/memory.h"
#include "model/encoder.h"
#include "recipe/evaluate/evaluate.h"

#include <assert.h>
#include <string.h>

enum { MAX_MODELS = 2, MAX_SENTENCES = 100000 }; /* 150 MB a model of 384 dimensions */
enum { CHUNK = 4096 };                           /* sentences handed to the encoder at once */

typedef struct known {
  const cq_encoder *encoder; /* NULL: free */
  size_t dim;
  cq_map rows;
  float *vectors; /* [rows.n, dim] */
  size_t capacity;
} known;

struct cq_eval_memory {
  known models[MAX_MODELS];
};

cq_status cq_eval_memory_new(cq_eval_memory **out, cq_error *error) {
  *out = cq_alloc_zeroed(sizeof **out);
  return *out ? CQ_OK : cq_fail_memory(error, "vectors of several files");
}

void cq_eval_memory_free(cq_eval_memory *memory) {
  if (!memory) return;
  for (size_t i = 0; i < MAX_MODELS; i++) {
    cq_map_free(&memory->models[i].rows);
    cq_free(memory->models[i].vectors);
  }
  cq_free(memory);
}

/* NULL: there is no memory for vectors, or no place in it for another model. */
static known *known_of(cq_eval_memory *memory, const cq_encoder *encoder, size_t dim) {
  for (size_t i = 0; memory && i < MAX_MODELS; i++) {
    known *k = &memory->models[i];
    if (!k->encoder) *k = (known){.encoder = encoder, .dim = dim};
    if (k->encoder == encoder && k->dim == dim) return k;
  }
  return NULL;
}

static cq_status add(known *k, cq_slice sentence, const float *vector, cq_error *error) {
  if (k->rows.n >= MAX_SENTENCES || cq_map_get(&k->rows, sentence) != CQ_MAP_NONE) return CQ_OK;
  const size_t row = k->rows.n;
  if (!cq_reserve((void **)&k->vectors, &k->capacity, row + 1, k->dim * sizeof *k->vectors) ||
      !cq_map_put(&k->rows, sentence, row))
    return cq_fail_memory(error, "vectors of several files");
  memcpy(k->vectors + row * k->dim, vector, k->dim * sizeof *vector);
  return CQ_OK;
}

size_t cq_eval_dim(const cq_encoder *encoder, const cq_eval_options *options) {
  const cq_encode_options encode = {.size = sizeof encode, .truncate_dim = options ? options->truncate_dim : 0};
  return (size_t)cq_encoder_encode_dim(encoder, &encode);
}

cq_status cq_encode_column(float **out, const cq_encoder *encoder, cq_context *ctx, const cq_slice *sentences, size_t n,
                           const cq_eval_options *eval_options, cq_error *error) {
  cq_status status = CQ_OK;
  size_t dim = cq_eval_dim(encoder, eval_options);
  cq_encode_options options = cq_encode_default_options();
  if (eval_options) options.prompt = eval_options->prompt, options.truncate_dim = eval_options->truncate_dim;
  cq_encode_stats stats = {0};
  float *vectors = cq_alloc_array(n, dim * sizeof *vectors);
  if (!vectors) return cq_fail_memory(error, "the vectors of a file");
  for (size_t start = 0; start < n && status == CQ_OK; start += CHUNK) {
    size_t count = n - start < CHUNK ? n - start : CHUNK;
    status = cq_encoder_encode(vectors + start * dim, &stats, encoder, sentences + start, count, &options, ctx, error);
  }
  /* A run's dev set, without options, may have a model that diverges: its figures are NaN. */
  if (!status && eval_options) status = cq_check_vectors(vectors, dim, sentences, n, error);
  if (status != CQ_OK) {
    cq_free(vectors);
    return status;
  }
  /* Without options, this is a run's dev set, which is evaluated again and again. */
  if (eval_options) cq_encoder_tell_truncated(encoder, stats.n_truncated, stats.n_sentences);
  *out = vectors;
  return CQ_OK;
}

cq_status cq_encode_first_column(float **out, const cq_encoder *encoder, cq_context *ctx, const cq_slice *sentences,
                                 size_t n, const cq_eval_options *options, cq_error *error) {
  const size_t dim = cq_eval_dim(encoder, options);
  known *k = known_of(options ? options->memory : NULL, encoder, dim);
  if (!k) return cq_encode_column(out, encoder, ctx, sentences, n, options, error);
  cq_slice *lacking = cq_alloc_array(n, sizeof *lacking);
  size_t *places = cq_alloc_array(n, sizeof *places), n_lacking = 0;
  float *vectors = cq_alloc_array(n, dim * sizeof *vectors), *encoded = NULL;
  cq_status status = lacking && places && vectors ? CQ_OK : cq_fail_memory(error, "the vectors of a file");
  for (size_t i = 0; !status && i < n; i++) {
    const uint64_t row = cq_map_get(&k->rows, sentences[i]);
    if (row != CQ_MAP_NONE) {
      assert(k->vectors);
      memcpy(vectors + i * dim, k->vectors + row * dim, dim * sizeof *vectors);
    } else {
      lacking[n_lacking] = sentences[i], places[n_lacking++] = i;
    }
  }
  if (!status && n_lacking) status = cq_encode_column(&encoded, encoder, ctx, lacking, n_lacking, options, error);
  for (size_t i = 0; !status && i < n_lacking; i++) {
    memcpy(vectors + places[i] * dim, encoded + i * dim, dim * sizeof *vectors);
    status = add(k, lacking[i], encoded + i * dim, error);
  }
  cq_free(encoded);
  cq_free(places);
  cq_free(lacking);
  if (status)
    cq_free(vectors);
  else
    *out = vectors;
  return status;
}
