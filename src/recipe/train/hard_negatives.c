/* Lists the sources that will be drawn, finds each one's nearest others, and returns candidates for each pair. */
#include "recipe/train/hard_negatives.h"

#include "base/error.h"
#include "base/memory.h"

/* The start of each drawn source's near misses, which are in the order of the sources. */
static void place_misses(cq_hard_negatives *h) {
  size_t at = 0;
  for (size_t i = 0; i < h->n; i++) {
    h->first_miss[i] = at;
    while (at < h->misses.n && h->misses.items[at].of == i) at++;
  }
  h->first_miss[h->n] = at;
}

cq_status cq_hard_negatives_list(cq_hard_negatives *out, const cq_slice *sources, size_t n_sources,
                                 const uint32_t *drawn, size_t n, size_t n_nearest, bool near_misses, uint64_t seed,
                                 cq_error *error) {
  cq_status status = CQ_OK;
  *out = (cq_hard_negatives){.n_nearest = n_nearest, .n = n, .n_texts = n};
  out->position = cq_alloc_array(n_sources, sizeof *out->position);
  out->first_miss = cq_alloc_array(n + 1, sizeof *out->first_miss);
  out->texts = cq_alloc_array(n, sizeof *out->texts);
  if (!out->position || !out->first_miss || !out->texts) return cq_fail_memory(error, "hard negatives");
  for (size_t i = 0; i < n_sources; i++) out->position[i] = UINT32_MAX;
  for (size_t i = 0; i < n; i++) out->position[drawn[i]] = (uint32_t)i, out->texts[i] = sources[drawn[i]];
  if (near_misses) status = cq_near_misses_make(&out->misses, out->texts, n, seed, error);
  if (status) return status;
  place_misses(out);
  size_t room = n;
  if (!cq_reserve((void **)&out->texts, &room, n + out->misses.n, sizeof *out->texts))
    return cq_fail_memory(error, "hard negatives");
  for (size_t i = 0; i < out->misses.n; i++) out->texts[out->n_texts++] = out->misses.items[i].text;
  return CQ_OK;
}

cq_status cq_hard_negatives_search(cq_hard_negatives *h, const cq_cached_encoder *teacher,
                                   cq_nearest_progress_fn progress, void *progress_context, cq_context *ctx,
                                   cq_error *error) {
  cq_nearest_options o = cq_nearest_default_options();
  h->of = teacher;
  if (!h->n_nearest) return CQ_OK;
  h->records = cq_alloc_array(h->n, sizeof *h->records);
  if (!h->records) return cq_fail_memory(error, "hard negatives");
  for (size_t i = 0; i < h->n; i++) {
    const int64_t record = cq_cached_encoder_record(teacher, h->texts[i]);
    if (record > UINT32_MAX) return cq_fail(error, CQ_ERR_LIMIT, "the cache holds more than 2^32 vectors");
    h->records[i] = (uint32_t)record;
  }
  o.k = h->n_nearest, o.first_pass = CQ_FIRST_INT8, o.x_rows = h->records;
  o.progress = progress, o.progress_context = progress_context;
  return cq_nearest_within(&h->nearest, teacher->vectors, h->n, (size_t)teacher->dim, &o, ctx, error);
}

void cq_hard_negatives_free(cq_hard_negatives *h) {
  cq_neighbors_free(&h->nearest);
  cq_near_misses_free(&h->misses);
  cq_free(h->records);
  cq_free(h->first_miss);
  cq_free(h->position);
  cq_free(h->texts);
  *h = (cq_hard_negatives){0};
}

size_t cq_hard_negatives_max(const cq_hard_negatives *h) {
  return h->n_nearest + (h->misses.n ? CQ_N_MISSES : 0);
}

size_t cq_hard_negatives_of(const float **out, const cq_hard_negatives *h, uint32_t source) {
  const size_t i = h->position[source], k = h->nearest.k;
  size_t n = 0;
  for (size_t r = 0; r < k; r++)
    out[n++] = h->of->vectors + (int64_t)h->records[h->nearest.index[i * k + r]] * h->of->dim;
  for (size_t m = h->first_miss[i]; m < h->first_miss[i + 1]; m++)
    out[n++] = cq_cached_encoder_vector(h->of, h->misses.items[m].text);
  return n;
}
