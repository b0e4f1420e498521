/* Evaluates a training run's encoder on held-out files, which are read once. */
#ifndef RECIPE_RUN_DEV_SETS_H
#define RECIPE_RUN_DEV_SETS_H

#include "base/slice.h"
#include "calque/training.h"
#include "recipe/encode/cached_encoder.h"
#include "recipe/evaluate/evaluate.h"

#include <jansson.h>

typedef struct cq_dev_set {
  const char *label; /* in the rows' arena */
  cq_rows rows;
} cq_dev_set;

typedef struct cq_dev_sets {
  cq_dev_set *parallel, *sts;
  size_t n_parallel, n_sts;
} cq_dev_sets;

CQ_MUST_USE cq_status cq_dev_sets_read(cq_dev_sets *out, const cq_training_options *options, cq_error *error);
void cq_dev_sets_free(cq_dev_sets *sets);

/* One evaluation: a row per set, and their means. */
typedef struct cq_dev_figures {
  bool has_mse;       /* there was a teacher to compare with */
  bool of_pairs;      /* a reranker's: see translation */
  cq_mse_result *mse; /* [n_parallel] */
  /* [n_parallel]; a reranker's: Spearman's correlation with the teacher's logits of the sources, of the targets'
   * (source_to_target, mean) and of the sources' */
  cq_translation_result *translation;
  cq_sts_result *sts;                          /* [n_sts] */
  double mean_mse, mean_translation, mean_sts; /* NaN without sets */
  double student_variance, teacher_variance;   /* x 100, over all targets; NaN without parallel sets */
  /* The first set where the student's vectors, but not the teacher's, hardly differ (collapse); NULL: none. */
  const char *collapsed;
} cq_dev_figures;

/* teacher: may be NULL; only its first dimensions are used, as many as the encoder has. */
CQ_MUST_USE cq_status cq_dev_evaluate(cq_dev_figures *out, const cq_dev_sets *sets, const cq_encoder *encoder,
                                      const cq_cached_encoder *teacher, cq_context *ctx, cq_error *error);
void cq_dev_figures_free(cq_dev_figures *figures);

/* The table as text, or as Markdown for a model card, optionally with the figures before training (before NULL:
 * without); and the record as JSON, with "reranker": true for a reranker's. */
void cq_dev_table(cq_builder *out, const cq_dev_sets *sets, const cq_dev_figures *before, const cq_dev_figures *figures,
                  bool markdown);
/* One line per set: the figures before training, and now. */
void cq_dev_change(cq_builder *out, const cq_dev_sets *sets, const cq_dev_figures *before, const cq_dev_figures *now);
/* Which sets' MSE is more than 1 % higher than before training, in one line; nothing if none is. */
void cq_dev_risen(cq_builder *out, const cq_dev_sets *sets, const cq_dev_figures *before, const cq_dev_figures *now);
json_t *cq_dev_json(const cq_dev_sets *sets, const cq_dev_figures *figures);

#endif
