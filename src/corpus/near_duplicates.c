/* MinHash of rows. See near_duplicates.h. */
#include "corpus/near_duplicates.h"

#include "base/hash.h"
#include "base/random.h"
#include "base/utf8.h"

#include <math.h>

enum { SHINGLE = 4 }; /* characters */

cq_near_duplicates cq_near_duplicates_of(double similarity) {
  const double best = log(1.0 / CQ_NEAR_KEYS) / log(similarity);
  const double kept = fmin(fmax(round(best), 1), CQ_NEAR_MOST_MINIMA);
  return (cq_near_duplicates){.n_minima = (size_t)kept};
}

static size_t next_character(cq_slice text, size_t at) {
  do at++;
  while (at < text.n && ((unsigned char)text.data[at] & 0xC0) == 0x80);
  return at;
}

/* The smallest hash of the text's shingles, under each of n functions. */
static void find_minima(uint64_t *minima, size_t n, cq_slice text) {
  size_t begin = 0, end = 0;
  for (size_t k = 0; k < n; k++) minima[k] = UINT64_MAX;
  for (size_t k = 0; k < SHINGLE && end < text.n; k++) end = next_character(text, end);
  for (;;) { /* a short text is one shingle */
    const uint64_t hash = cq_hash64(text.data + begin, end - begin, 0);
    for (size_t k = 0; k < n; k++) {
      const uint64_t own = cq_mix(hash + (k + 1) * 0x9e3779b97f4a7c15u);
      if (own < minima[k]) minima[k] = own;
    }
    if (end >= text.n) break;
    begin = next_character(text, begin), end = next_character(text, end);
  }
}

bool cq_near_duplicates_see(bool *is, cq_near_duplicates *near, cq_slice text) {
  uint64_t minima[CQ_NEAR_KEYS * CQ_NEAR_MOST_MINIMA], keys[CQ_NEAR_KEYS];
  find_minima(minima, CQ_NEAR_KEYS * near->n_minima, text);
  *is = false;
  for (size_t k = 0; k < CQ_NEAR_KEYS; k++) {
    keys[k] = cq_hash64((const char *)(minima + k * near->n_minima), near->n_minima * sizeof *minima, k);
    *is |= cq_key_set_has(&near->keys, keys[k]);
  }
  for (size_t k = 0; !*is && k < CQ_NEAR_KEYS; k++) {
    bool is_new;
    if (!cq_key_set_put(&is_new, &near->keys, keys[k])) return false;
  }
  return true;
}
