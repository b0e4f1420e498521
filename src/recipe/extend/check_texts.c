/* Reads dictionaries and dev sets once and warns about likely mistakes: swapped columns, a dictionary given as
 * translations, dev sentences in the training data. */
#include "recipe/extend/texts.h"

#include "base/map.h"
#include "base/utf8.h"
#include "model/encoder.h"
#include "recipe/train/columns.h"
#include "text/language_rules.h"

#include <string.h>

static cq_status read_files(cq_parallel *out, const cq_extend_texts *t, const cq_training_data *files, size_t n,
                            cq_error *error) {
  const cq_parallel_options options = {.skip_bad = t->o->run->skip_bad};
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < n; i++)
    status = cq_parallel_add(out, files[i].path, files[i].label, files[i].weight, &options, error);
  return status;
}

static void tell_dictionaries(const cq_extend_texts *t, const cq_parallel *dictionaries) {
  for (size_t i = 0; i < dictionaries->n_sets; i++) {
    const cq_parallel_set *set = &dictionaries->sets[i];
    cq_extend_choose(t->news, "dictionary of %s: %u words, %u translations, %llu malformed skipped (--dictionary)",
                     set->label, set->n_entries, set->n_pairs, (unsigned long long)set->n_bad);
  }
}

/* A label with a slash is made of a path. */
static void check_codes(const cq_extend_texts *t, const cq_parallel *data) {
  for (size_t i = 0; i < data->n_sets; i++) {
    char code[CQ_LANGUAGE_CODE];
    const char *label = data->sets[i].label;
    if (!strchr(label, '/') && (i == 0 || strcmp(label, data->sets[i - 1].label) != 0) &&
        !cq_language_code(code, label))
      cq_extend_choose(t->news,
                       "%s: no code of a language, as de or hi: the model's card will not name it, and its text is not "
                       "checked for being of it",
                       label);
  }
}

/* The share of a set's sources that are a single word. Longer sources may be in a script without spaces. */
static double share_of_words(const cq_parallel *data, const cq_parallel_set *set) {
  enum { MAX_WORD = 30 };
  size_t n = 0;
  for (uint32_t e = 0; e < set->n_entries; e++) {
    const cq_slice source = data->sources[data->entries[set->first_entry + e].source];
    n += source.n <= MAX_WORD && memchr(source.data, ' ', source.n) == NULL;
  }
  return (double)n / (double)set->n_entries;
}

static void check_translations(const cq_extend_texts *t, const cq_parallel *data) {
  enum { MIN_LINES = 50 };
  for (size_t i = 0; i < data->n_sets; i++) {
    const cq_parallel_set *set = &data->sets[i];
    const double share = set->n_entries < MIN_LINES ? 0 : share_of_words(data, set);
    if (share > 0.8)
      cq_extend_choose(t->news, "%s: %.0f %% of the sources are one word: is %s a dictionary (--dictionary)?",
                       set->label, 100 * share, set->path);
  }
}

static void check_dev(const cq_extend_texts *t, const cq_parallel *dev, const cq_parallel *data) {
  size_t n = 0;
  for (size_t i = 0; i < dev->n_sources; i++) n += cq_map_get(&data->source_ids, dev->sources[i]) != CQ_MAP_NONE;
  if (2 * n > dev->n_sources)
    cq_extend_choose(t->news,
                     "%zu of the %zu sources of the dev sets are trained on: the figures will be too good (--dev)", n,
                     dev->n_sources);
}

cq_status cq_extend_check_texts(const cq_extend_texts *t, const cq_parallel *translations, cq_error *error) {
  const cq_extend_options *o = t->o;
  cq_parallel dictionaries = {0}, dev = {0};
  cq_encoder *teacher = NULL;
  cq_status status = read_files(&dictionaries, t, o->dictionaries, o->n_dictionaries, error);
  if (!status) status = read_files(&dev, t, o->run->dev, o->run->n_dev, error);
  if (!status) {
    tell_dictionaries(t, &dictionaries);
    check_codes(t, translations);
    check_translations(t, translations);
    check_dev(t, &dev, translations);
    status = cq_encoder_open_any(&teacher, o->model, NULL, error);
  }
  const cq_parallel *const all[] = {translations, &dictionaries, &dev};
  for (size_t i = 0; !status && i < sizeof all / sizeof *all; i++)
    status = cq_check_columns(all[i], cq_encoder_text_module(teacher)->tokenizer, cq_extend_notice, t->news, error);
  cq_encoder_free(teacher);
  cq_parallel_free(&dictionaries);
  cq_parallel_free(&dev);
  return status;
}
