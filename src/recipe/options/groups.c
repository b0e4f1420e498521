/* The library's groups of options, each of which stands beside its function. */
#include "base/options.h"

#include <assert.h>
#include <string.h>

#define GROUPS(X)                                                                                                      \
  X(analysis)                                                                                                          \
  X(autoencode)                                                                                                        \
  X(autoencode_ablate)                                                                                                 \
  X(autoencode_as_described)                                                                                           \
  X(autoencode_search)                                                                                                 \
  X(bleu)                                                                                                              \
  X(chrf)                                                                                                              \
  X(clir)                                                                                                              \
  X(clir_cognates)                                                                                                     \
  X(clir_folds)                                                                                                        \
  X(clir_sources)                                                                                                      \
  X(clir_validation)                                                                                                   \
  X(cluster)                                                                                                           \
  X(compare)                                                                                                           \
  X(corpus_convert)                                                                                                    \
  X(corpus_dedup)                                                                                                      \
  X(corpus_filter)                                                                                                     \
  X(corpus_gloss)                                                                                                      \
  X(corpus_inflect)                                                                                                    \
  X(corpus_pivot)                                                                                                      \
  X(corpus_sample)                                                                                                     \
  X(corpus_stats)                                                                                                      \
  X(corpus_transliterate)                                                                                              \
  X(dataset)                                                                                                           \
  X(distill)                                                                                                           \
  X(documents)                                                                                                         \
  X(encode)                                                                                                            \
  X(encoder)                                                                                                           \
  X(eval)                                                                                                              \
  X(extend)                                                                                                            \
  X(finetune)                                                                                                          \
  X(hub)                                                                                                               \
  X(hub_put)                                                                                                           \
  X(index)                                                                                                             \
  X(index_copy)                                                                                                        \
  X(index_read)                                                                                                        \
  X(lexical)                                                                                                           \
  X(lexical_build)                                                                                                     \
  X(logistic)                                                                                                          \
  X(margin)                                                                                                            \
  X(meteor)                                                                                                            \
  X(mine)                                                                                                              \
  X(nearest)                                                                                                           \
  X(quantize)                                                                                                          \
  X(retrieval_eval)                                                                                                    \
  X(search)                                                                                                            \
  X(student)                                                                                                           \
  X(training)                                                                                                          \
  X(translate)                                                                                                         \
  X(trim)                                                                                                              \
  X(tsne)                                                                                                              \
  X(words)

#define DECLARE(name) extern const cq_option_group cq_group_##name;
GROUPS(DECLARE)

#define ROW(name) &cq_group_##name,
static const cq_option_group *const groups[] = {GROUPS(ROW) NULL};

const cq_option_group *cq_option_group_at(size_t i) {
  return i < sizeof groups / sizeof *groups ? groups[i] : NULL;
}

const cq_option_group *cq_option_group_find(const char *name) {
  const cq_option_group *const *g = groups;
  while (*g && strcmp((*g)->name, name) != 0) g++;
  return *g;
}

/* The part of a group that is called "group.part". */
static const cq_option_part *find_part(const char *name) {
  for (const cq_option_group *const *g = groups; *g; g++) {
    const size_t n = strlen((*g)->name);
    for (size_t i = 0; !strncmp((*g)->name, name, n) && name[n] == '.' && i < (*g)->n_parts; i++)
      if (!strcmp((*g)->parts[i].group->name, name + n + 1)) return &(*g)->parts[i];
  }
  return NULL;
}

void cq_options_init(void *options, size_t size, const char *group) {
  const cq_option_part *part = find_part(group);
  const cq_option_group *g = part ? part->group : cq_option_group_find(group);
  assert(g && size >= sizeof size); /* the headers name groups that there are */
  /* A program that knows fewer options than this library gets the first of them; one that knows more, zeros behind. */
  union {
    max_align_t aligned;
    char bytes[4096];
  } whole;
  assert(g->size <= sizeof whole);
  cq_options_defaults(&whole, g);
  if (part && part->defaults) part->defaults(&whole);
  memset(options, 0, size);
  memcpy(options, &whole, size < g->size ? size : g->size);
  *(size_t *)options = size;
}
