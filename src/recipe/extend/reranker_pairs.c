/* What a reranker is extended with. Each row of parallel text is a query, in the teacher's language (q) and in the new
 * one (x), and is put before passages:
 *
 *   itself | the next row, mostly of the same document | a row that shares its rarest word | a random row
 *
 *   q passage <tab> x passage <tab> x translated passage, with CQ_PAIR_MARK inside
 *
 * so that distillation gives the student's logits of both translated pairs the teacher's of the original. The second
 * and third kind are hard negatives, if they are negatives: the teacher decides.
 *
 * Sources: Hofstätter et al. 2020 (logits as targets); Reimers & Gurevych 2020 (parallel text). */
#include "recipe/extend/texts.h"

#include "base/error.h"
#include "base/file.h"
#include "base/intern.h"
#include "base/memory.h"
#include "base/random.h"
#include "model/encoder.h"

#include <string.h>

enum { N_PASSAGES = 4, MIN_WORD = 4 /* bytes */ };

typedef struct passages {
  const cq_parallel *data;
  cq_intern words;
  uint32_t *counts, *last, *before; /* [words] entries with the word, and the last of them; the last one so far */
  size_t counts_capacity, last_capacity, before_capacity;
} passages;

static cq_slice source_of(const cq_parallel *data, size_t entry) {
  return data->sources[data->entries[entry].source];
}

/* The next word, without punctuation of ASCII after it; n 0: there is none. */
static cq_slice next_word(cq_slice *rest) {
  static const char ends[] = ".,;:!?\"')";
  for (;;) {
    while (rest->n && *rest->data == ' ') rest->data++, rest->n--;
    const char *blank = rest->n ? memchr(rest->data, ' ', rest->n) : NULL;
    cq_slice word = {rest->data, blank ? (size_t)(blank - rest->data) : rest->n};
    rest->data += word.n, rest->n -= word.n;
    while (word.n && memchr(ends, word.data[word.n - 1], sizeof ends - 1)) word.n--;
    if (word.n >= MIN_WORD || !rest->n) return word.n >= MIN_WORD ? word : (cq_slice){0};
  }
}

static cq_status count_words(passages *p, cq_error *error) {
  for (uint32_t e = 0; e < p->data->n_entries; e++) {
    cq_slice rest = source_of(p->data, e);
    for (cq_slice word; (word = next_word(&rest)).n;) {
      const uint32_t known = p->words.n, w = cq_intern_put(&p->words, word);
      const size_t n = (size_t)p->words.n;
      if (w == CQ_INTERN_NONE || !cq_reserve((void **)&p->counts, &p->counts_capacity, n, sizeof *p->counts) ||
          !cq_reserve((void **)&p->last, &p->last_capacity, n, sizeof *p->last) ||
          !cq_reserve((void **)&p->before, &p->before_capacity, n, sizeof *p->before))
        return cq_fail_memory(error, "words");
      if (w == known) p->counts[w] = 0, p->before[w] = UINT32_MAX;
      p->counts[w] += w == known || p->last[w] != e;
      p->last[w] = e;
    }
  }
  return CQ_OK;
}

/* The entry, before this one if possible, that shares its rarest shared word; itself if no word is shared. */
static size_t alike(passages *p, uint32_t entry) {
  uint32_t rarest = UINT32_MAX;
  size_t found = entry;
  cq_slice rest = source_of(p->data, entry);
  for (cq_slice word; (word = next_word(&rest)).n;) {
    const uint32_t w = cq_intern_find(&p->words, word);
    const bool is_before = p->before[w] != UINT32_MAX && p->before[w] != entry;
    if (p->counts[w] > 1 && p->counts[w] < rarest) rarest = p->counts[w], found = is_before ? p->before[w] : p->last[w];
    p->before[w] = entry;
  }
  return found;
}

static void put_pair(cq_builder *out, cq_slice query, cq_slice passage, char end) {
  cq_builder_bytes(out, query.data, query.n);
  cq_builder_char(out, CQ_PAIR_MARK);
  cq_builder_bytes(out, passage.data, passage.n);
  cq_builder_char(out, end);
}

static void put_pairs(cq_builder *out, passages *p, uint32_t entry, bool is_dev, uint64_t seed) {
  const cq_parallel *d = p->data;
  cq_random random = cq_random_seeded(seed, entry);
  const size_t chosen[N_PASSAGES] = {entry, (entry + 1) % d->n_entries, alike(p, entry),
                                     (size_t)cq_random_below(&random, d->n_entries)};
  for (size_t k = 0; k < N_PASSAGES; k++) {
    const cq_slice query = source_of(d, entry), passage = source_of(d, chosen[k]);
    const cq_entry *e = &d->entries[entry];
    bool seen = false;
    for (size_t before = 0; before < k; before++) seen |= chosen[before] == chosen[k];
    for (uint32_t t = 0; !seen && t < (is_dev ? 1 : e->n_targets); t++) {
      const cq_slice translated = d->targets[e->first_target + t];
      put_pair(out, query, passage, '\t');
      put_pair(out, translated, passage, is_dev ? '\n' : '\t');
      if (!is_dev) put_pair(out, translated, d->targets[d->entries[chosen[k]].first_target], '\n');
    }
  }
}

/* Unless an earlier call has made it. */
static cq_status write_pairs(const char *path, const char *from, bool is_dev, const cq_training_options *run,
                             cq_error *error) {
  const cq_parallel_options options = {.skip_bad = run->skip_bad, .max_characters = run->max_characters};
  cq_parallel data = {0};
  passages p = {.data = &data};
  cq_builder out = {0};
  if (cq_file_exists(path)) return CQ_OK;
  cq_status status = cq_parallel_add(&data, from, NULL, 1, &options, error);
  if (!status) status = count_words(&p, error);
  for (uint32_t e = 0; !status && e < data.n_entries; e++) put_pairs(&out, &p, e, is_dev, run->seed);
  if (!status) status = out.failed ? cq_fail_memory(error, "pairs") : cq_file_write(path, out.data, out.n, error);
  cq_builder_free(&out);
  cq_intern_free(&p.words);
  cq_free(p.counts);
  cq_free(p.last);
  cq_free(p.before);
  cq_parallel_free(&data);
  return status;
}

cq_status cq_extend_texts_make_pairs(cq_extend_texts *t, cq_error *error) {
  const cq_training_options *run = t->o->run;
  const size_t n_dev = run->n_dev ? run->n_dev : t->n_dev;
  char name[64];
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < t->n + n_dev; i++) {
    const bool is_dev = i >= t->n;
    cq_training_data *out = is_dev ? &t->dev[i - t->n] : &t->train[i];
    if (is_dev && run->n_dev) *out = run->dev[i - t->n];
    snprintf(name, sizeof name, is_dev ? "dev-pairs-%zu.tsv" : "pairs-%zu.tsv", is_dev ? i - t->n + 1 : i + 1);
    status = cq_path_join(t->pair_paths[i], CQ_EXTEND_PATH, t->work, name, error);
    if (!status) status = write_pairs(t->pair_paths[i], out->path, is_dev, run, error);
    out->path = t->pair_paths[i];
  }
  t->n_dev = n_dev;
  t->n_pairs *= (size_t)2 * N_PASSAGES, t->n_sources *= N_PASSAGES, t->n_measured *= N_PASSAGES;
  cq_extend_choose(t->news,
                   "each query has %d passages: itself, the next row, one that shares its rarest word, and a "
                   "random one",
                   N_PASSAGES);
  return status;
}
