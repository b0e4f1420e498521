/* Encodes only texts whose vectors are not in the cache. See cached_encoder.h. */
#include "recipe/encode/cached_encoder.h"

#include "base/error.h"
#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"
#include "model/encoder.h"
#include "recipe/encode/shared_encoder.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHUNK = 2048 }; /* texts that each rank encodes between two appends: at most these are lost in a crash */

cq_status cq_cache_path(char *out, size_t n, const char *cache, const char *name, cq_error *error) {
  const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int written;
  if (cache)
    written = snprintf(out, n, "%s/%s", cache, name);
  else if (xdg && xdg[0])
    written = snprintf(out, n, "%s/calque/%s", xdg, name);
  else if (home && home[0])
    written = snprintf(out, n, "%s/.cache/calque/%s", home, name);
  else
    return cq_fail(error, CQ_ERR_ARGUMENT, "no place to keep vectors: name a cache directory or set HOME");
  if (written < 0 || (size_t)written >= n)
    return cq_fail(error, CQ_ERR_ARGUMENT, "the cache directory's path is too long");
  return CQ_OK;
}

static cq_status open_cached(cq_cached_encoder *out, const char *model, bool of_any, const cq_encoder_options *options,
                             const char *cache, cq_error *error) {
  char fingerprint[33], name[48], directory[4096];
  *out = (cq_cached_encoder){.notice = options->notice, .notice_context = options->notice_context};
  cq_status status = of_any ? cq_encoder_open_any(&out->encoder, model, options, error)
                            : cq_encoder_open(&out->encoder, model, options, error);
  if (!status) status = cq_encoder_fingerprint(fingerprint, out->encoder, error);
  if (!status) {
    const cq_precision in_use = cq_encoder_precision(out->encoder);
    const int length = snprintf(name, sizeof name, "vectors/%s", fingerprint);
    if (in_use != CQ_PRECISION_F32)
      snprintf(name + length, sizeof name - (size_t)length, "-%s", cq_precision_name(in_use));
    status = cq_cache_path(directory, sizeof directory, cache, name, error);
  }
  if (!status) {
    out->dim = cq_encoder_dim(out->encoder);
    status = cq_vector_store_open(&out->store, directory, out->dim, out->notice, out->notice_context, error);
  }
  if (status) cq_cached_encoder_close(out);
  return status;
}

cq_status cq_cached_encoder_open(cq_cached_encoder *out, const char *model, const cq_encoder_options *options,
                                 const char *cache, cq_error *error) {
  return open_cached(out, model, false, options, cache, error);
}

cq_status cq_cached_teacher_open(cq_cached_encoder *out, const char *model, bool bf16,
                                 const cq_encoder_options *options, const char *cache, cq_error *error) {
  cq_encoder_options o = *options, quiet = *options;
  cq_encoder *own = NULL; /* to see its precision: what is slow, the fingerprint, is computed once */
  quiet.notice = NULL;
  *out = (cq_cached_encoder){0};
  const cq_status status = bf16 ? cq_encoder_open_any(&own, model, &quiet, error) : CQ_OK;
  if (own && cq_encoder_precision(own) == CQ_PRECISION_F32) o.precision = CQ_PRECISION_BF16;
  cq_encoder_free(own);
  return status ? status : open_cached(out, model, true, &o, cache, error);
}

void cq_cached_encoder_close(cq_cached_encoder *t) {
  cq_vector_store_close(t->store);
  cq_encoder_free(t->encoder);
  *t = (cq_cached_encoder){0};
}

static void note_damage(cq_cached_encoder *t) {
  char text[4400];
  const uint64_t n = cq_vector_store_n_damaged(t->store) - t->n_damaged;
  if (!n || !t->notice) return;
  snprintf(text, sizeof text, "%s is damaged: %llu vector%s; needed ones are computed again",
           cq_vector_store_path(t->store), (unsigned long long)n, n == 1 ? "" : "s");
  t->notice(t->notice_context, text);
  t->n_damaged += n;
}

/* The distinct texts that the store lacks. */
static cq_status list_missing(cq_slice **out, size_t *n_out, const cq_cached_encoder *t, const cq_slice *texts,
                              size_t n, cq_error *error) {
  cq_map seen = {0};
  size_t n_missing = 0;
  cq_status status = CQ_OK;
  cq_slice *missing = cq_alloc_array(n, sizeof *missing);
  if (!missing) return cq_fail_memory(error, "texts to encode");
  for (size_t i = 0; !status && i < n; i++) {
    if (cq_vector_store_verify(t->store, texts[i]) || cq_map_get(&seen, texts[i]) != CQ_MAP_NONE) continue;
    if (!cq_map_put_borrowed(&seen, texts[i], i)) status = cq_fail_memory(error, "texts to encode");
    missing[n_missing++] = texts[i];
  }
  cq_map_free(&seen);
  if (status)
    cq_free(missing);
  else {
    *out = missing;
    *n_out = n_missing;
  }
  return status;
}

cq_status cq_cached_encoder_prepare(cq_cached_encoder *t, const cq_slice *texts, size_t n, cq_context *ctx,
                                    cq_cached_progress progress, void *context, cq_error *error) {
  cq_slice *missing = NULL;
  size_t n_missing = 0;
  cq_status status = list_missing(&missing, &n_missing, t, texts, n, error);
  if (status) return status;
  note_damage(t);
  cq_encode_stats stats = {0};
  const size_t chunk = CHUNK * (size_t)cq_ranks_count(t->ranks);
  float *vectors = cq_alloc_array(cq_min(chunk, n_missing), (size_t)t->dim * sizeof *vectors);
  if (!vectors) status = cq_fail_memory(error, "vectors");
  for (size_t first = 0; !status && first < n_missing; first += chunk) {
    const size_t count = cq_min(n_missing - first, chunk);
    status = cq_shared_encode(vectors, &stats, t->encoder, missing + first, count, t->ranks, ctx, error);
    /* A NaN would be cached forever. */
    if (!status) status = cq_check_vectors(vectors, (size_t)t->dim, missing + first, count, error);
    if (!status) status = cq_vector_store_append(t->store, missing + first, count, vectors, error);
    if (!status && progress && !progress(context, first + count, n_missing))
      status = cq_fail(error, CQ_ERR_STOPPED, "stopped while encoding; the vectors so far are kept");
  }
  cq_encoder_tell_truncated(t->encoder, stats.n_truncated, stats.n_sentences);
  cq_free(vectors);
  cq_free(missing);
  return status;
}

cq_status cq_cached_encoder_map(cq_cached_encoder *t, cq_error *error) {
  return cq_vector_store_map(&t->vectors, t->store, error);
}

void cq_cached_encoder_dismiss(cq_cached_encoder *t) {
  cq_encoder_free(t->encoder);
  t->encoder = NULL;
}

int64_t cq_cached_encoder_record(const cq_cached_encoder *t, cq_slice text) {
  const int64_t record = cq_vector_store_find(t->store, text);
  assert(record >= 0 && t->vectors);
  return record;
}

const float *cq_cached_encoder_vector(const cq_cached_encoder *t, cq_slice text) {
  return t->vectors + cq_cached_encoder_record(t, text) * t->dim;
}
