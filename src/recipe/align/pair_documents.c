/* Which documents of two sides belong together. See alignment.h. */
#include "base/error.h"
#include "base/map.h"
#include "base/memory.h"
#include "recipe/align/alignment.h"

#include <ctype.h>
#include <string.h>

/* An id without the parts that are its language's code: "de/intro.de.html" becomes "//intro..html", lowercase. False: it
 * has no letter, and a number may be anything's, as those of pages in two wikis. */
static bool put_key(cq_builder *out, const cq_align_document *d) {
  const size_t n_code = strcspn(d->language, "-_");
  bool has_letter = false;
  cq_builder_clear(out);
  for (const char *at = d->id; *at;) {
    const size_t n = strcspn(at, "/._-");
    if (n != n_code || strncasecmp(at, d->language, n) != 0)
      for (size_t i = 0; i < n; i++) {
        cq_builder_char(out, (char)tolower((unsigned char)at[i]));
        has_letter |= (at[i] < '0' || at[i] > '9') && at[i] != '#';
      }
    at += n;
    if (*at) cq_builder_char(out, *at++);
  }
  return has_letter;
}

/* other[i] of each source document i; SIZE_MAX: none yet. */
static cq_status pair_by_name(size_t *other, bool *taken, const cq_align_documents sides[2], cq_error *error) {
  cq_map keys = {0};
  cq_builder key = {0};
  cq_status status = CQ_OK;
  for (size_t j = 0; !status && j < sides[1].n; j++) {
    if (!put_key(&key, &sides[1].items[j])) continue;
    cq_map_entry *entry = key.failed ? NULL : cq_map_at(&keys, cq_built(&key));
    if (!entry)
      status = cq_fail_memory(error, "names of documents");
    else
      entry->value = entry->value == CQ_MAP_NONE ? j : SIZE_MAX - 1; /* a name that two have says nothing */
  }
  for (size_t i = 0; !status && i < sides[0].n; i++) {
    if (!put_key(&key, &sides[0].items[i])) continue;
    if (key.failed) status = cq_fail_memory(error, "names of documents");
    const uint64_t j = status ? CQ_MAP_NONE : cq_map_get(&keys, cq_built(&key));
    if (j < sides[1].n && !taken[j]) other[i] = j, taken[j] = true;
  }
  cq_map_free(&keys);
  cq_builder_free(&key);
  return status;
}

/* The mean vectors of the documents that have no partner yet: [n, dim], and their numbers. */
static cq_status free_means(float **vectors, uint32_t **numbers, size_t *n, const cq_align_documents *side,
                            const size_t *other, const bool *taken, size_t dim, cq_error *error) {
  *n = 0;
  *vectors = cq_alloc_array(side->n, dim * sizeof **vectors), *numbers = cq_alloc_array(side->n, sizeof **numbers);
  if (!*vectors || !*numbers) return cq_fail_memory(error, "documents");
  for (size_t i = 0; i < side->n; i++) {
    if (other ? other[i] != SIZE_MAX : taken[i]) continue;
    memcpy(*vectors + *n * dim, side->items[i].mean, dim * sizeof **vectors);
    (*numbers)[(*n)++] = (uint32_t)i;
  }
  return CQ_OK;
}

static cq_status pair_by_mean(size_t *other, bool *taken, const cq_align_documents sides[2], size_t dim,
                              cq_context *ctx, cq_error *error) {
  float *vectors[2] = {NULL, NULL};
  uint32_t *numbers[2] = {NULL, NULL};
  size_t n[2] = {0}, n_pairs = 0;
  cq_neighbors of_x = {0}, of_y = {0};
  cq_mined_pair *pairs = NULL;
  cq_status status = free_means(&vectors[0], &numbers[0], &n[0], &sides[0], other, NULL, dim, error);
  if (!status) status = free_means(&vectors[1], &numbers[1], &n[1], &sides[1], NULL, taken, dim, error);
  if (!status && n[0] && n[1]) {
    status = cq_nearest(&of_x, &of_y, vectors[0], n[0], vectors[1], n[1], dim, NULL, ctx, error);
    if (!status) status = cq_margin_pairs(&pairs, &n_pairs, &of_x, &of_y, NULL, error);
  }
  for (size_t k = 0; !status && k < n_pairs; k++) {
    other[numbers[0][pairs[k].source]] = numbers[1][pairs[k].target];
    taken[numbers[1][pairs[k].target]] = true;
  }
  cq_neighbors_free(&of_x), cq_neighbors_free(&of_y);
  cq_free(pairs);
  for (int side = 0; side < 2; side++) cq_free(vectors[side]), cq_free(numbers[side]);
  return status;
}

cq_status cq_align_pair_documents(cq_aligned **out, size_t *n, cq_alignment *a, size_t dim, cq_context *ctx,
                                  cq_error *error) {
  const cq_align_documents *sides = a->sides;
  size_t *other = cq_alloc_array(sides[0].n, sizeof *other);
  bool *taken = cq_alloc_array_zeroed(sides[1].n, sizeof *taken);
  cq_aligned *pairs = cq_alloc_array_zeroed(cq_min(sides[0].n, sides[1].n), sizeof *pairs);
  cq_status status = other && taken && pairs ? CQ_OK : cq_fail_memory(error, "documents");
  *out = NULL, *n = 0;
  for (size_t i = 0; !status && i < sides[0].n; i++) other[i] = SIZE_MAX;
  if (!status && sides[0].n == 1 && sides[1].n == 1)
    other[0] = 0;
  else if (!status) {
    status = pair_by_name(other, taken, sides, error);
    if (!status) status = pair_by_mean(other, taken, sides, dim, ctx, error);
  }
  for (size_t i = 0; !status && i < sides[0].n; i++)
    if (other[i] != SIZE_MAX) pairs[(*n)++] = (cq_aligned){.documents = {i, other[i]}};
  if (!status) *out = pairs, pairs = NULL;
  cq_free(other), cq_free(taken), cq_free(pairs);
  return status;
}
