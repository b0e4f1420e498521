/* The steps of building a corpus: their options, and what became of their rows.
 *
 *   align | mine | convert ──rows──▶ score ──▶ filter ──▶ dedup ──▶ split ──▶ train, dev, test
 *
 * Each writes a file, N-NAME.tsv, and what it did, N-NAME.done; a step that finds both, made from the same text by the same
 * options, has nothing to do. */
#ifndef RECIPE_CORPUS_STEPS_H
#define RECIPE_CORPUS_STEPS_H

#include "base/hash.h"
#include "calque/align.h"
#include "calque/corpus.h"
#include "calque/corpus_build.h"
#include "calque/score.h"

enum { CQ_STEP_MAX = 8, CQ_STEP_PATH = 4096 };

typedef struct cq_building {
  const cq_corpus_build_options *o;
  cq_context *ctx;
} cq_building;

typedef struct cq_step {
  const char *name, *does;
  const cq_option_group *group;
  const char *const *set_here; /* options that the step itself sets, which a configuration has not; NULL-terminated */
  bool is_source;
  cq_status (*run)(cq_corpus_counts *counts, const cq_building *b, cq_options *options, const char *input,
                   const char *output, cq_error *error);
} cq_step;

/* In order, then one without a name. */
extern const cq_step cq_steps[];

/* What became of a step's rows. */
typedef struct cq_step_result {
  const cq_step *step; /* NULL: there is no such section */
  char rows[CQ_STEP_PATH], rejected[CQ_STEP_PATH];
  uint64_t n_read, n_written;
  struct {
    char reason[64];
    uint64_t n;
  } dropped[CQ_CORPUS_MAX_REASONS];
  size_t n_reasons;
} cq_step_result;

typedef struct cq_split_options {
  size_t size;
  uint64_t dev, test, seed;
  const char *output; /* of the training rows */
  const char *const *languages;
  size_t n_languages;
} cq_split_options;
extern const cq_option_group cq_group_corpus_split;

/* Writes the report about the steps [n]. Errors: CQ_ERR_IO, CQ_ERR_MEMORY, those of reading the rows. */
CQ_MUST_USE cq_status cq_corpus_report(const char *path, const cq_step_result *results, size_t n, cq_error *error);

#endif
