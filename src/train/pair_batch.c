#include "train/pair_batch.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

static cq_status make_room(cq_half *h, size_t n, int64_t dim, int64_t states_width, cq_error *error) {
  if (n <= h->capacity) return CQ_OK;
  cq_free(h->starts);
  cq_free(h->vectors);
  cq_free(h->gradient);
  cq_free(h->states);
  h->starts = cq_alloc_array(n + 1, sizeof *h->starts);
  h->vectors = cq_alloc_array(n, (size_t)dim * sizeof *h->vectors);
  h->gradient = cq_alloc_array(n, (size_t)dim * sizeof *h->gradient);
  h->states = cq_alloc_array(2 * n, (size_t)states_width * sizeof *h->states);
  h->capacity = h->starts && h->vectors && h->gradient && h->states ? n : 0;
  return h->capacity ? CQ_OK : cq_fail_memory(error, "batch");
}

cq_status cq_half_fill(cq_half *h, const cq_encoder *encoder, const cq_slice *sentences, size_t n, int64_t states_width,
                       cq_error *error) {
  const size_t n_states = n * (size_t)states_width;
  cq_status status = make_room(h, n, cq_encoder_dim(encoder), states_width, error);
  if (status) return status;
  memset(h->states + n_states, 0, n_states * sizeof *h->states);
  h->ids.n = 0;
  h->starts[0] = 0;
  h->n = n;
  for (size_t i = 0; !status && i < n; i++) {
    bool truncated;
    status = cq_encoder_tokenize(&h->ids, encoder, sentences[i], &truncated, error);
    h->starts[i + 1] = (int64_t)h->ids.n;
  }
  return status;
}

void cq_half_empty(cq_half *h) {
  h->n = h->ids.n = 0;
}

size_t cq_half_end_of_shard(const cq_half *h, int k, int n_shards, size_t first) {
  if (k + 1 == n_shards) return h->n;
  while (first < h->n && h->starts[first] < (int64_t)h->ids.n * (k + 1) / n_shards) first++;
  return first;
}

void cq_half_free(cq_half *h) {
  cq_free(h->ids.ids);
  cq_free(h->starts);
  cq_free(h->vectors);
  cq_free(h->gradient);
  cq_free(h->states);
  *h = (cq_half){0};
}
