/* Holds out pairs by the hash of the source, so that the choice depends only on the text, not on the order of lines or
 * files. */
#include "recipe/extend/held_out.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <stdlib.h>

typedef struct ranked {
  uint64_t hash;
  uint32_t entry;
} ranked;

static int by_hash(const void *a, const void *b) {
  const uint64_t x = ((const ranked *)a)->hash, y = ((const ranked *)b)->hash;
  return (x > y) - (x < y);
}

static int by_value(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static uint64_t hash_of(cq_slice text) {
  return cq_hash64(text.data, text.n, 0);
}

/* Holds out the entries of a set whose sources have the smallest hashes; a function of only the text. */
static cq_status hold_out_of_set(cq_held_out *out, size_t *capacity, const cq_parallel *data, size_t number,
                                 cq_error *error) {
  const cq_parallel_set *set = &data->sets[number];
  const size_t n = cq_min(set->n_entries / 20, 1000);
  ranked *order = cq_alloc_array(set->n_entries, sizeof *order);
  if (!order) return cq_fail_memory(error, "held-out pairs");
  for (uint32_t i = 0; i < set->n_entries; i++) {
    const cq_entry *entry = &data->entries[set->first_entry + i];
    order[i] = (ranked){hash_of(data->sources[entry->source]), set->first_entry + i};
  }
  qsort(order, set->n_entries, sizeof *order, by_hash);
  cq_status status = CQ_OK;
  out->last[number] = n ? order[n - 1].hash : 0;
  for (size_t i = 0; !status && i < n; i++) {
    const cq_entry *entry = &data->entries[order[i].entry];
    out->sources[entry->source] = true;
    for (uint32_t t = 0; !status && t < entry->n_targets; t++) {
      if (!cq_reserve((void **)&out->translations, capacity, out->n_translations + 1, sizeof *out->translations))
        status = cq_fail_memory(error, "held-out pairs");
      else
        out->translations[out->n_translations++] = hash_of(data->targets[entry->first_target + t]);
    }
  }
  cq_free(order);
  return status;
}

cq_status cq_hold_out(cq_held_out *out, const cq_parallel *data, cq_error *error) {
  size_t capacity = 0;
  *out = (cq_held_out){.sources = cq_alloc_array_zeroed(data->n_sources, sizeof *out->sources),
                       .last = cq_alloc_array_zeroed(data->n_sets, sizeof *out->last)};
  cq_status status = out->sources && out->last ? CQ_OK : cq_fail_memory(error, "held-out pairs");
  for (size_t i = 0; !status && i < data->n_sets; i++) status = hold_out_of_set(out, &capacity, data, i, error);
  if (!status && out->n_translations)
    qsort(out->translations, out->n_translations, sizeof *out->translations, by_value);
  return status;
}

void cq_held_out_free(cq_held_out *held) {
  cq_free(held->sources);
  cq_free(held->last);
  cq_free(held->translations);
  *held = (cq_held_out){0};
}

static bool is_held_out(const cq_held_out *held, cq_slice translation) {
  const uint64_t hash = hash_of(translation);
  return held->n_translations &&
         bsearch(&hash, held->translations, held->n_translations, sizeof hash, by_value) != NULL;
}

static void put_pair(cq_builder *out, cq_slice source, cq_slice target) {
  cq_builder_bytes(out, source.data, source.n);
  cq_builder_char(out, '\t');
  cq_builder_bytes(out, target.data, target.n);
  cq_builder_char(out, '\n');
}

cq_status cq_held_out_write(const char *train, const char *dev, size_t *n_train, size_t *n_dev, const cq_parallel *data,
                            size_t number, const cq_held_out *held, cq_error *error) {
  const cq_parallel_set *set = &data->sets[number];
  cq_builder parts[2] = {{0}};
  *n_train = *n_dev = 0;
  for (uint32_t e = set->first_entry; e < set->first_entry + set->n_entries; e++) {
    const cq_entry *entry = &data->entries[e];
    const cq_slice source = data->sources[entry->source];
    if (held->sources[entry->source]) {
      if (hash_of(source) > held->last[number]) continue; /* another set's */
      put_pair(&parts[1], source, data->targets[entry->first_target]);
      ++*n_dev;
      continue;
    }
    for (uint32_t t = 0; t < entry->n_targets; t++) {
      const cq_slice target = data->targets[entry->first_target + t];
      if (is_held_out(held, target)) continue;
      put_pair(&parts[0], source, target);
      ++*n_train;
    }
  }
  cq_status status = parts[0].failed || parts[1].failed ? cq_fail_memory(error, "held-out pairs") : CQ_OK;
  if (!status) status = cq_file_write(train, parts[0].data, parts[0].n, error);
  if (!status) status = cq_file_write(dev, parts[1].data, parts[1].n, error);
  for (int i = 0; i < 2; i++) cq_builder_free(&parts[i]);
  return status;
}
