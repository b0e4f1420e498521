/* Multilingual knowledge distillation: a student learns to give a sentence and its translations the teacher's vector
 * of the source. Source: Reimers & Gurevych 2020, section 2, equation 1:
 *   mean over the batch of (M(s) - M'(s))^2 + (M(s) - M'(t))^2.
 *
 *   cq_distill_options o = cq_distill_default_options();
 *   o.teacher = "all-MiniLM-L6-v2", o.student = "student-dir", o.output = "multilingual";
 *   o.train = sets, o.n_train = 2, o.dev = dev, o.n_dev = 2;
 *   cq_distill(&o, pool, NULL, &err);
 *
 * A run is exact: at one SIMD level it gives the same bits for any number of threads, and killed at any moment it
 * goes on from its last checkpoint to the same final model. */
#ifndef CALQUE_DISTILL_H
#define CALQUE_DISTILL_H

#include "calque/pool.h"
#include "calque/schedule.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Parallel text: .tsv or .tsv.gz of two or more columns, the first in a language the teacher knows. */
typedef struct cq_distill_data {
  const char *path;
  const char *label; /* name in reports; NULL: from the path */
  double weight; /* train: how often this set is drawn from, relative to the others; any other than 1 means balanced */
} cq_distill_data;

typedef enum cq_dim_match {
  CQ_DIM_EQUAL,   /* student and teacher must have one dimension (else CQ_ERR_ARGUMENT) */
  CQ_DIM_PROJECT, /* a learned Dense module is appended to the student */
  CQ_DIM_TRUNCATE /* the teacher's first dimensions are the target */
} cq_dim_match;
typedef enum cq_best_by { CQ_BEST_TRANSLATION, CQ_BEST_MSE, CQ_BEST_STS, CQ_BEST_LAST } cq_best_by;

/* One line of news from a run, for a progress bar or a log. */
typedef struct cq_distill_progress {
  const char *phase;      /* "data", "teacher", "train", "evaluate" */
  uint64_t step, n_steps; /* or items done and in all, outside "train" */
  double epoch, loss, learning_rate, gradient_norm;
  double sentences_per_second, seconds_left;
  const char *text; /* a table or remark to show as it is; NULL when there is none */
} cq_distill_progress;
/* Return false to stop the run after a checkpoint (CQ_ERR_STOPPED). */
typedef bool (*cq_distill_progress_fn)(void *context, const cq_distill_progress *progress);

typedef struct cq_distill_options {
  const char *teacher, *student; /* directories or cached names */
  const char *output;            /* directory of the final model; work in progress lives in OUTPUT.work beside it */
  const cq_distill_data *train, *dev,
      *sts; /* dev: parallel text for mse and translation; sts: sentence, sentence, gold */
  size_t n_train, n_dev, n_sts;
  bool resume;        /* go on from OUTPUT.work when it is there; false: that is CQ_ERR_ARGUMENT */
  bool replace;       /* overwrite an existing output directory */
  bool skip_bad;      /* count malformed lines and go on */
  int max_characters; /* drop sentences longer than this many characters; 0: no limit */
  int max_seq_length; /* tokens; 0: the student's */
  int max_sentences;  /* entries read from each training file; 0: all */
  bool no_shuffle;    /* batches in file order (for comparisons) */
  bool balanced;      /* draw from all sets alike by weight, small ones repeating; false: one shuffle of all entries */
  int batch_pairs;    /* entries in a batch, each a source and one translation */
  int accumulate;     /* batches summed before an update */
  double epochs;      /* passes over the data; ignored when steps > 0 */
  uint64_t steps;
  double learning_rate, embedding_learning_rate; /* the latter for word embeddings; 0: the same */
  double weight_decay, adam_beta1, adam_beta2, adam_eps;
  double clip_norm;    /* 0: no clipping */
  double warmup_steps; /* below 1: a share of all steps */
  cq_schedule schedule;
  double dropout; /* below 0: what the student's config says */
  cq_dim_match dim_match;
  int evaluate_every;   /* steps; 0: only at the end */
  int checkpoint_every; /* steps */
  cq_best_by best_by;   /* which figure decides the model that is kept */
  int n_shards;         /* gradients are summed over this fixed number of shards, whatever the number of threads */
  uint64_t seed;
  const char *cache_directory; /* teacher vectors; NULL: $XDG_CACHE_HOME/calque or ~/.cache/calque */
  const char *log_path;        /* JSON lines; NULL: log.jsonl in the work directory, in the end beside the model */
  cq_distill_progress_fn progress;
  void *progress_context;
} cq_distill_options;
CQ_API cq_distill_options cq_distill_default_options(void);

typedef struct cq_distill_result {
  uint64_t steps, best_step;
  double final_loss; /* a running mean over the last steps; 0 when none was left to do */
  double
      best_score; /* mean accuracy, minus the mean MSE, or mean correlation, as best_by says; NaN: the last was kept */
} cq_distill_result;

/* Runs to the end. Errors: CQ_ERR_ARGUMENT, CQ_ERR_FORMAT (file and line), CQ_ERR_IO, CQ_ERR_STOPPED, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_distill(const cq_distill_options *options, cq_pool *pool, cq_distill_result *result,
                                        cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
