/* Pairs of sentences in memory: sources, each with its translations, in one or more weighted sets.
 *
 *   file: source TAB target [TAB target ...]   ->   entry: source, its translations in all lines of the file
 *
 * or, for other tasks, with a third column for each pair (a label, a score, a hard negative):
 *
 *   file: source TAB target TAB third          ->   entry: source, its targets in all lines, each with its third
 *   plain file: sentence                       ->   entry: the sentence, with itself as its only translation
 *
 * A source that is in several sets is stored, and later encoded by the teacher, once. */
#ifndef TRAIN_PARALLEL_H
#define TRAIN_PARALLEL_H

#include "base/hash.h"
#include "base/map.h"
#include "base/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stdint.h>

/* One source and its translations, which are contiguous in `targets`. */
typedef struct cq_entry {
  uint32_t source;
  uint32_t first_target, n_targets;
} cq_entry;

typedef struct cq_parallel_set {
  const char *path, *label; /* in the arena */
  bool is_named;            /* the label was given, not made of the path */
  double weight;
  uint32_t first_entry, n_entries;
  uint32_t n_pairs;                /* translations of all entries */
  bool plain;                      /* sentences without translations */
  uint64_t n_lines, n_bad, n_long; /* lines read; malformed ones skipped; pairs over the length limit */
  uint64_t n_unlabeled, n_headers; /* lines left out: labels that are missing, names of columns */
} cq_parallel_set;

typedef struct cq_parallel {
  cq_arena text;
  cq_map source_ids;
  cq_slice *sources, *targets;
  cq_slice *thirds; /* [n_targets]; data NULL: none */
  size_t n_sources, source_capacity, n_targets, target_capacity, third_capacity;
  cq_entry *entries;
  size_t n_entries, entry_capacity;
  cq_parallel_set *sets;
  size_t n_sets, set_capacity;
} cq_parallel;

/* The meaning of a line's third column. */
typedef enum cq_third {
  CQ_THIRD_TARGET,   /* another translation, as all that follow */
  CQ_THIRD_LABEL,    /* any text (cq_tsv_label); later columns are ignored */
  CQ_THIRD_SCORE,    /* a number from 0 to max_score; later columns are ignored */
  CQ_THIRD_NEGATIVE, /* optional: a sentence that must not be near the source (hard negative) */
} cq_third;

typedef struct cq_parallel_options {
  bool skip_bad;       /* count malformed lines and continue */
  int max_characters;  /* leave out pairs with a longer side; 0: no limit */
  int64_t max_entries; /* sources read from a file; 0: all */
  cq_third third;
  double max_score;
  int only_column; /* text in one language: a line's first or second column, which is its own translation; 0: pairs */
  bool plain;      /* the same, with one sentence per line: a line with a tab is malformed */
} cq_parallel_options;

/* Adds a file as a set. label NULL: made from the path ("en-de/train-anki").
 * Errors: CQ_ERR_FORMAT with file and line (too few columns, an empty column, no score, not UTF-8), CQ_ERR_FORMAT when
 * the file has no usable lines, CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_parallel_add(cq_parallel *data, const char *path, const char *label, double weight,
                                      const cq_parallel_options *options, cq_error *error);
void cq_parallel_free(cq_parallel *data);
uint64_t cq_parallel_pairs(const cq_parallel *data);
/* Whether a target is the source itself, from a plain file. */
static inline bool cq_parallel_is_plain(const cq_parallel *data, uint32_t source, uint32_t target) {
  return data->targets[target].data == data->sources[source].data;
}
/* A hash of all of a set's sources, targets and thirds, in order. */
cq_identity cq_parallel_identity(const cq_parallel *data, const cq_parallel_set *set);

enum { CQ_PARALLEL_SUMMARY = 1024 }; /* bytes */
/* One line on the entries read and left out of a set; a long label is truncated. */
void cq_parallel_summary(char out[CQ_PARALLEL_SUMMARY], const cq_parallel_set *set);

/* The label made from a path: its last two components without ".tsv", ".gz". */
CQ_MUST_USE cq_status cq_parallel_label(char *out, size_t out_size, const char *path, cq_error *error);

#endif
