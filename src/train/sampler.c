/* Which pairs are in a batch: a pure function of the seed and the batch's number. See sampler.h. */
#include "train/sampler.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

#include <string.h>

#define NO_EPOCH UINT64_MAX

static cq_status list_pairs(cq_sampler *s, cq_error *error) {
  const cq_parallel *d = s->data;
  s->pairs = cq_alloc_array(s->n_pairs, sizeof *s->pairs);
  if (!s->pairs) return cq_fail_memory(error, "sampler");
  size_t n = 0;
  for (size_t e = 0; e < d->n_entries; e++) {
    for (uint32_t t = 0; t < d->entries[e].n_targets; t++)
      s->pairs[n++] = (cq_pair){d->entries[e].source, d->entries[e].first_target + t};
  }
  if (s->sampling == CQ_SAMPLE_IN_ORDER) return CQ_OK;
  s->order = cq_alloc_array(s->n_pairs, sizeof *s->order);
  return s->order ? CQ_OK : cq_fail_memory(error, "sampler");
}

static cq_status list_sets(cq_sampler *s, cq_error *error) {
  const size_t n = s->data->n_sets;
  s->set_drawn = cq_alloc_array_zeroed(n, sizeof *s->set_drawn);
  s->set_epoch = cq_alloc_array(n, sizeof *s->set_epoch);
  s->set_order = cq_alloc_array_zeroed(n, sizeof *s->set_order);
  if (!s->set_drawn || !s->set_epoch || !s->set_order) return cq_fail_memory(error, "sampler");
  for (size_t i = 0; i < n; i++) {
    s->set_epoch[i] = NO_EPOCH;
    s->set_order[i] = cq_alloc_array(s->data->sets[i].n_entries, sizeof **s->set_order);
    if (!s->set_order[i]) return cq_fail_memory(error, "sampler");
  }
  return CQ_OK;
}

cq_status cq_sampler_new(cq_sampler *out, const cq_parallel *data, cq_sampling sampling, uint64_t seed,
                         cq_error *error) {
  *out = (cq_sampler){
      .data = data, .sampling = sampling, .seed = seed, .n_pairs = cq_parallel_pairs(data), .order_epoch = NO_EPOCH};
  cq_status status = sampling == CQ_SAMPLE_BALANCED ? list_sets(out, error) : list_pairs(out, error);
  if (status) cq_sampler_free(out);
  return status;
}

void cq_sampler_free(cq_sampler *s) {
  for (size_t i = 0; s->set_order && i < s->data->n_sets; i++) cq_free(s->set_order[i]);
  cq_free(s->set_order);
  cq_free(s->set_epoch);
  cq_free(s->set_drawn);
  cq_free(s->order);
  cq_free(s->pairs);
  *s = (cq_sampler){0};
}

/* The random order of n items in one epoch of one set. */
static void shuffle_epoch(uint32_t *order, size_t n, uint64_t seed, uint64_t set, uint64_t epoch) {
  cq_random r = cq_random_seeded(seed ^ cq_mix(set + 1), epoch);
  for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
  cq_random_shuffle(&r, order, n);
}

static cq_pair draw_shuffled(cq_sampler *s, uint64_t number) {
  const uint64_t epoch = number / s->n_pairs;
  if (epoch != s->order_epoch) {
    shuffle_epoch(s->order, s->n_pairs, s->seed, 0, epoch);
    s->order_epoch = epoch;
  }
  return s->pairs[s->order[number % s->n_pairs]];
}

/* The set whose count is furthest below its share: deterministic, and always within one draw of the weights. */
static size_t next_set(cq_sampler *s) {
  double total = 0, furthest = 0;
  size_t chosen = 0;
  for (size_t i = 0; i < s->data->n_sets; i++) total += s->data->sets[i].weight;
  for (size_t i = 0; i < s->data->n_sets; i++) {
    const double behind = s->data->sets[i].weight / total * (double)(s->drawn + 1) - (double)s->set_drawn[i];
    if (i == 0 || behind > furthest) {
      furthest = behind;
      chosen = i;
    }
  }
  return chosen;
}

static cq_pair draw_balanced(cq_sampler *s, bool wanted) {
  const size_t i = next_set(s);
  const cq_parallel_set *set = &s->data->sets[i];
  const uint64_t number = s->set_drawn[i]++, epoch = number / set->n_entries;
  s->drawn++;
  if (!wanted) return (cq_pair){0};
  if (epoch != s->set_epoch[i]) {
    shuffle_epoch(s->set_order[i], set->n_entries, s->seed, i + 1, epoch);
    s->set_epoch[i] = epoch;
  }
  const cq_entry *entry = &s->data->entries[set->first_entry + s->set_order[i][number % set->n_entries]];
  cq_random r = cq_random_seeded(s->seed ^ cq_mix(i + 1), cq_mix(number));
  return (cq_pair){entry->source, entry->first_target + (uint32_t)cq_random_below(&r, entry->n_targets)};
}

void cq_sampler_draw(cq_pair *pairs, cq_sampler *s, uint64_t batch, size_t n) {
  const uint64_t first = batch * n;
  if (s->sampling == CQ_SAMPLE_BALANCED) {
    if (first < s->drawn) { /* back: deal again from the start */
      s->drawn = 0;
      memset(s->set_drawn, 0, s->data->n_sets * sizeof *s->set_drawn);
    }
    while (s->drawn < first) draw_balanced(s, false);
  }
  for (size_t i = 0; i < n; i++) {
    const uint64_t number = first + i;
    pairs[i] = s->sampling == CQ_SAMPLE_BALANCED   ? draw_balanced(s, true)
               : s->sampling == CQ_SAMPLE_SHUFFLED ? draw_shuffled(s, number)
                                                   : s->pairs[number % s->n_pairs];
  }
}
