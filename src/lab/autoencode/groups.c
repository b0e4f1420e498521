/* Text grouped by its languages, from which batches are drawn. See groups.h. */
#include "lab/autoencode/groups.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

#include <string.h>

/* --- loading --- */

int cq_name_index(const char *const *names, size_t n, const char *name) {
  for (size_t i = 0; name && i < n; i++)
    if (!strcmp(names[i], name)) return (int)i;
  return -1;
}

static cq_status text_group_of(cq_text_group **out, cq_text_groups *groups, int a, int b, cq_error *error) {
  for (size_t i = 0; i < groups->n; i++) {
    *out = &groups->items[i];
    if ((*out)->language[0] == a && (*out)->language[1] == b) return CQ_OK;
  }
  if (!cq_reserve((void **)&groups->items, &groups->capacity, groups->n + 1, sizeof *groups->items))
    return cq_fail_memory(error, "groups of text");
  *out = &groups->items[groups->n++];
  **out = (cq_text_group){.language = {a, b}};
  return CQ_OK;
}

static cq_status add_text_file(cq_text_groups *groups, const cq_autoencode_text *text, const cq_autoencode_options *o,
                               const char *const *codes, size_t n_codes, char summary[CQ_PARALLEL_SUMMARY],
                               cq_error *error) {
  const int first = cq_name_index(codes, n_codes, text->languages[0]),
            second = cq_name_index(codes, n_codes, text->languages[1]);
  cq_text_group *group = NULL;
  const cq_parallel_options options = {.skip_bad = o->skip_bad,
                                       .max_characters = o->max_characters,
                                       .only_column = first < 0    ? 2
                                                      : second < 0 ? 1
                                                                   : 0};
  cq_status status = text_group_of(&group, groups, first < 0 ? second : first, first < 0 ? -1 : second, error);
  if (!status) status = cq_parallel_add(&group->text, text->path, NULL, 1, &options, error);
  if (!status) cq_parallel_summary(summary, &group->text.sets[group->text.n_sets - 1]);
  return status;
}

cq_status cq_autoencode_data_load(cq_autoencode_data *out, const cq_autoencode_options *o, const char *const *codes,
                                  size_t n_codes, cq_autoencode_told told, void *context, cq_error *error) {
  char summary[CQ_PARALLEL_SUMMARY];
  cq_status status = CQ_OK;
  *out = (cq_autoencode_data){0};
  for (size_t i = 0; !status && i < o->n_train + o->n_dev; i++) {
    const bool is_dev = i >= o->n_train;
    const cq_autoencode_text *text = is_dev ? &o->dev[i - o->n_train] : &o->train[i];
    status = add_text_file(is_dev ? &out->dev : &out->train, text, o, codes, n_codes, summary, error);
    if (!status) status = told(context, i + 1, summary, error);
  }
  /* Call only after the last group was added, because a sampler points into its group. */
  for (cq_text_group *g = out->train.items; !status && g < out->train.items + out->train.n; g++)
    status = cq_sampler_new(&g->sampler, &g->text, CQ_SAMPLE_SHUFFLED, o->seed, error);
  const size_t n = (size_t)o->batch_pairs;
  out->drawn = cq_alloc_array_zeroed(out->train.n, sizeof *out->drawn);
  out->pairs = cq_alloc_array(n, sizeof *out->pairs);
  for (int s = 0; s < 2; s++) out->sentences[s] = cq_alloc_array(n, sizeof *out->sentences[s]);
  if (!status && (!out->drawn || !out->pairs || !out->sentences[0] || !out->sentences[1]))
    status = cq_fail_memory(error, "batch");
  return status;
}

void cq_autoencode_data_free(cq_autoencode_data *data) {
  cq_text_groups *const of[] = {&data->train, &data->dev};
  for (int k = 0; k < 2; k++) {
    for (size_t i = 0; i < of[k]->n; i++) {
      cq_sampler_free(&of[k]->items[i].sampler);
      cq_parallel_free(&of[k]->items[i].text);
    }
    cq_free(of[k]->items);
  }
  cq_free(data->drawn);
  cq_free(data->pairs);
  for (int s = 0; s < 2; s++) cq_free(data->sentences[s]);
  *data = (cq_autoencode_data){0};
}

/* --- drawing --- */

uint64_t cq_autoencode_data_pairs(const cq_autoencode_data *data) {
  uint64_t n = 0;
  for (size_t i = 0; i < data->train.n; i++)
    if (data->train.items[i].in_use) n += cq_parallel_pairs(&data->train.items[i].text);
  return n;
}

static cq_text_group *draw_group(cq_autoencode_data *data, uint64_t seed, uint64_t step) {
  cq_random random = cq_random_seeded(seed ^ cq_mix(0x67726f7570), step);
  uint64_t at = cq_random_below(&random, cq_autoencode_data_pairs(data));
  cq_text_group *g = data->train.items;
  for (; !g->in_use || at >= cq_parallel_pairs(&g->text); g++)
    if (g->in_use) at -= cq_parallel_pairs(&g->text);
  return g;
}

void cq_autoencode_data_draw(cq_autoencoder_batch *out, cq_autoencode_data *data, uint64_t seed, uint64_t step,
                             size_t n) {
  cq_text_group *g = draw_group(data, seed, step);
  cq_sampler_draw(data->pairs, &g->sampler, data->drawn[g - data->train.items]++, n);
  for (size_t i = 0; i < n; i++) {
    data->sentences[0][i] = g->text.sources[data->pairs[i].source];
    data->sentences[1][i] = g->text.targets[data->pairs[i].target];
  }
  *out = (cq_autoencoder_batch){
      .side = {g->language[0], g->language[1]}, .sentences = {data->sentences[0], data->sentences[1]}, .n = n};
}

bool cq_language_text_next(void *context, cq_slice *sentence) {
  cq_language_text *c = context;
  for (; c->group < c->data->train.n; c->group++, c->side = 0) {
    const cq_text_group *g = &c->data->train.items[c->group];
    for (; c->side < 2; c->side++, c->at = 0) {
      if (g->language[c->side] != c->language || c->at == (c->side ? g->text.n_targets : g->text.n_sources)) continue;
      *sentence = (c->side ? g->text.targets : g->text.sources)[c->at++];
      return true;
    }
  }
  return false;
}
