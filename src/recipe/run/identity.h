/* The settings and data that must not change for a run to be resumed: one line of text each, part of every checkpoint.
 *
 *   lr <TAB> 0.0005
 *   text in train.tsv <TAB> #91f0c3aa17e2b45d...     contents: only the hash counts, files may be renamed
 *
 * Fill in the lines during preparation, always in the same order; cq_run_identity_compare names the first line that
 * differs. */
#ifndef RECIPE_RUN_IDENTITY_H
#define RECIPE_RUN_IDENTITY_H

#include "base/hash.h"
#include "base/options.h"
#include "base/slice.h"
#include "calque/encoder.h"

/* {0} is empty. The comparison reports out-of-memory errors. */
typedef struct cq_run_identity {
  cq_builder lines;
  const char *free; /* an option that may have another value; NULL: none */
} cq_run_identity;

/* Adds the command, the SIMD level, and the command's options as in cq_run_identity_options. */
void cq_run_identity_begin(cq_run_identity *id, const char *command, const cq_option_group *group, const void *options);
void cq_run_identity_text(cq_run_identity *id, const char *name, const char *value); /* value NULL: not set */
void cq_run_identity_number(cq_run_identity *id, const char *name, double value);
void cq_run_identity_count(cq_run_identity *id, const char *name, uint64_t value);
/* The contents of a file or a model; for a model, use its cq_encoder_fingerprint. */
void cq_run_identity_contents(cq_run_identity *id, const char *name, cq_identity contents);
void cq_run_identity_file(cq_run_identity *id, const char *path, cq_identity contents); /* of text */
void cq_run_identity_fingerprint(cq_run_identity *id, const char *name, const char *fingerprint);
/* A model's precision and instructions; adds nothing for f32, once the only precision. */
void cq_run_identity_precision(cq_run_identity *id, const char *name, const cq_encoder *encoder);
/* Adds a line for each single-valued option that changes the result, named as on the command line. */
void cq_run_identity_options(cq_run_identity *id, const cq_option_group *group, const void *options);
void cq_run_identity_free(cq_run_identity *id);

/* Compares the identity `then` [n bytes] with this run's; work is its directory. Errors: CQ_ERR_ARGUMENT: "OUTPUT.work:
 * the run under way has lr 0.0005, not 0.001"; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_run_identity_compare(const cq_run_identity *now, const char *then, size_t n, const char *work,
                                              cq_error *error);

#endif
