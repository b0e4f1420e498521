/* Texts in memory to a segment: cut into batches, which any thread inverts. */
#include "base/error.h"
#include "base/memory.h"
#include "lexical/growing.h"
#include "lexical/invert.h"

enum { BATCH_TEXTS = 4096, BATCH_BYTES = 1 << 20 };

typedef struct inverting {
  const cq_slice *texts, *languages;
  size_t n, n_batches;
  cq_inverter *inverter;
  cq_batch **batches;
  uint32_t *begins; /* [n_batches + 1] */
} inverting;

/* How many texts a batch takes from `begin` on. */
static size_t batch_length(const inverting *v, size_t begin) {
  size_t n = 0, n_bytes = 0;
  while (begin + n < v->n && n < BATCH_TEXTS && n_bytes < BATCH_BYTES) n_bytes += v->texts[begin + n++].n;
  return n;
}

static cq_status cut_batches(inverting *v, cq_error *error) {
  for (size_t at = 0; at < v->n; at += batch_length(v, at)) v->n_batches++;
  v->batches = cq_alloc_array_zeroed(v->n_batches, sizeof *v->batches);
  v->begins = cq_alloc_array_zeroed(v->n_batches + 1, sizeof *v->begins);
  if (!v->batches || !v->begins) return cq_fail_memory(error, "documents");
  for (size_t b = 0; b < v->n_batches; b++) {
    v->begins[b + 1] = v->begins[b] + (uint32_t)batch_length(v, v->begins[b]);
    v->batches[b] = cq_alloc_zeroed(sizeof **v->batches);
    if (!v->batches[b]) return cq_fail_memory(error, "documents");
    v->batches[b]->first = v->begins[b];
  }
  return CQ_OK;
}

static cq_status invert_batch(void *context, size_t b, int worker, cq_error *error) {
  inverting *v = context;
  const uint32_t begin = v->begins[b];
  return cq_batch_invert_texts(v->batches[b], v->inverter, worker, v->texts + begin,
                               v->languages ? v->languages + begin : NULL, v->begins[b + 1] - begin, error);
}

cq_status cq_lexical_segment_of_texts(const char *path, const cq_analyzer *analyzer, const cq_slice *texts,
                                      const cq_slice *languages, size_t n, cq_context *ctx, cq_error *error) {
  inverting v = {.texts = texts, .languages = languages, .n = n};
  if (n > CQ_MAX_SEGMENT_TEXTS)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%zu texts in a segment, expected at most %d", n, CQ_MAX_SEGMENT_TEXTS);
  cq_status status = cut_batches(&v, error);
  if (!status) status = cq_inverter_open(&v.inverter, analyzer, cq_context_n_threads(ctx), error);
  if (!status) status = cq_context_try(ctx, v.n_batches, invert_batch, &v, error);
  if (!status) status = cq_inverter_write(path, v.inverter, v.batches, v.n_batches, ctx, error);
  for (size_t b = 0; v.batches && b < v.n_batches; b++) cq_batch_free(v.batches[b]);
  cq_inverter_free(v.inverter);
  cq_free(v.batches);
  cq_free(v.begins);
  return status;
}
