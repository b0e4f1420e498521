/* The library's groups of options by name, for the program and for bindings. Each is defined next to its function; C
 * code uses its symbol. */
#include "base/options.h"

#include <string.h>

#define GROUPS(X)                                                                                                      \
  X(align)                                                                                                             \
  X(analysis)                                                                                                          \
  X(cluster)                                                                                                           \
  X(corpus_build)                                                                                                      \
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
  X(export)                                                                                                            \
  X(extend)                                                                                                            \
  X(finetune)                                                                                                          \
  X(hub)                                                                                                               \
  X(hub_put)                                                                                                           \
  X(index)                                                                                                             \
  X(index_copy)                                                                                                        \
  X(index_read)                                                                                                        \
  X(lexical)                                                                                                           \
  X(logistic)                                                                                                          \
  X(margin)                                                                                                            \
  X(mine)                                                                                                              \
  X(nearest)                                                                                                           \
  X(quantize)                                                                                                          \
  X(score)                                                                                                             \
  X(search)                                                                                                            \
  X(student)                                                                                                           \
  X(training)                                                                                                          \
  X(trim)                                                                                                              \
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
