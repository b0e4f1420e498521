#include "train/pair_batch.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

static cq_status make_room(cq_half *h, size_t n, int64_t dim, cq_error *error) {
  if (h->starts && n <= h->capacity) return CQ_OK;
  cq_free(h->starts);
  cq_free(h->vectors);
  cq_free(h->gradient);
  cq_free(h->states);
  h->starts = cq_alloc_array(n + 1, sizeof *h->starts);
  h->vectors = cq_alloc_array(n, (size_t)dim * sizeof *h->vectors);
  h->gradient = cq_alloc_array(n, (size_t)dim * sizeof *h->gradient);
  h->states = cq_alloc_array(2 * n, (size_t)h->states_width * sizeof *h->states);
  h->capacity = n;
  if (h->starts && h->vectors && h->gradient && h->states) return CQ_OK;
  cq_half_free(h);
  return cq_fail_memory(error, "batch");
}

cq_status cq_half_fill(cq_half *h, const cq_encoder *encoder, const cq_slice *sentences, size_t n, int64_t states_width,
                       cq_error *error) {
  assert(h->capacity == 0 || h->states_width == states_width);
  h->states_width = states_width;
  cq_status status = make_room(h, n, cq_encoder_dim(encoder), error);
  if (status) return status;
  h->ids.n = 0;
  h->starts[0] = 0;
  h->n = n;
  memset(h->states + n * (size_t)states_width, 0, n * (size_t)states_width * sizeof *h->states);
  for (size_t i = 0; !status && i < n; i++) {
    bool truncated;
    status = cq_encoder_tokenize(&h->ids, encoder, sentences[i], &truncated, error);
    h->starts[i + 1] = (int64_t)h->ids.n;
  }
  return status;
}

size_t cq_half_end_of_shard(const cq_half *h, int k, int n_shards, size_t first) {
  if (k + 1 == n_shards) return h->n;
  while (first < h->n && h->starts[first] < (int64_t)h->ids.n * (k + 1) / n_shards) first++;
  return first;
}

cq_tensor cq_half_states(const cq_half *h, size_t first, size_t n, bool gradient) {
  const size_t row = (gradient ? h->n : 0) + first;
  if (h->states_width == 0) return (cq_tensor){0};
  return cq_tensor_f32(h->states + row * (size_t)h->states_width, (int64_t)n, h->states_width);
}

void cq_half_free(cq_half *h) {
  cq_free(h->ids.ids);
  cq_free(h->starts);
  cq_free(h->vectors);
  cq_free(h->gradient);
  cq_free(h->states);
  *h = (cq_half){0};
}
