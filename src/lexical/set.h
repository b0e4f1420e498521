/* A set of open segments; see growing.h for its use. */
#ifndef LEXICAL_SET_H
#define LEXICAL_SET_H

#include "lexical/growing.h"
#include "lexical/segment.h"

#include <stdatomic.h>

/* Shared by the sets that have it. */
typedef struct cq_open_segment {
  cq_segment file;
  uint32_t max_length;
  atomic_uint n_sets;
  char *path;
} cq_open_segment;

struct cq_lexical_set {
  const cq_analyzer *analyzer;
  cq_open_segment **segments;
  uint64_t *first; /* [n_segments + 1] the number of each segment's first document; last: the number of all documents */
  size_t n_segments;
  uint64_t n_occurrences, n_terms; /* n_terms: summed over the segments */
  uint32_t max_length;             /* the longest document's, in terms */
};

#define CQ_DAMAGED_POSTINGS "it is damaged: postings do not fit their check"

cq_slice cq_lexical_set_id(const cq_lexical_set *set, uint64_t document);

#endif
