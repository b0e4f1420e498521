/* Shuffles relevant documents of several languages into one text, each in proportion to its length. See shuffle.h. */
#include "lab/clir/shuffle.h"

#include "base/memory.h"

bool cq_shuffle_by_length(cq_u32_array *out, const cq_word_run *documents, size_t n) {
  size_t shortest = 0;
  for (size_t i = 0; i < n; i++)
    if (documents[i].n && (shortest == 0 || documents[i].n < shortest)) shortest = documents[i].n;
  for (size_t round = 0; round < shortest; round++)
    for (size_t i = 0; i < n; i++) {
      const size_t share = (documents[i].n + shortest - 1) / shortest, at = round * share;
      if (at < documents[i].n && !cq_u32_array_append(out, documents[i].words + at, cq_min(share, documents[i].n - at)))
        return false;
    }
  return true;
}

bool cq_shuffle_at_random(cq_u32_array *out, const cq_word_run *documents, size_t n, cq_random *random) {
  const size_t first = out->n;
  for (size_t i = 0; i < n; i++)
    if (!cq_u32_array_append(out, documents[i].words, documents[i].n)) return false;
  if (out->n > first) cq_random_shuffle(random, out->items + first, out->n - first);
  return true;
}

bool cq_align_documents(cq_u32_array *tuples, const cq_document_set *sets, size_t n, cq_random *random) {
  size_t min_n = 0, n_languages = 0;
  for (size_t i = 0; i < n; i++) {
    if (sets[i].n == 0) continue;
    if (n_languages == 0 || sets[i].n < min_n) min_n = sets[i].n;
    n_languages++;
  }
  if (n_languages < 2) return true;
  const size_t first = tuples->n;
  const uint32_t none = CQ_NO_DOCUMENT;
  for (size_t i = 0; i < min_n * n; i++)
    if (!cq_u32_array_append(tuples, &none, 1)) return false;
  bool has_min = false;
  for (size_t i = 0; i < n; i++) {
    if (sets[i].n == 0) continue;
    uint32_t *order = cq_alloc_array(sets[i].n, sizeof *order);
    if (!order) return false;
    memcpy(order, sets[i].documents, sets[i].n * sizeof *order);
    /* The first language with the fewest documents keeps its order; those of the others are drawn. */
    if (sets[i].n > min_n || has_min) cq_random_shuffle(random, order, sets[i].n);
    has_min |= sets[i].n == min_n;
    for (size_t t = 0; t < min_n; t++) tuples->items[first + t * n + i] = order[t];
    cq_free(order);
  }
  return true;
}
