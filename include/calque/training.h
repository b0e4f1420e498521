/* What all trainings of an encoder have in common: the steps, what is measured on the way, and where a run keeps its
 * work. calque/distill.h and calque/finetune.h say what is learned from.
 *
 * A run is exact: at one SIMD level it gives the same bits for any number of threads, and killed at any moment it
 * resumes from its last checkpoint, to the same final model.
 *
 * Threads: a run's callbacks are called on the thread that runs it. A directory is one run's at a time, of all threads
 * and processes; another is CQ_ERR_ARGUMENT. */
#ifndef CALQUE_TRAINING_H
#define CALQUE_TRAINING_H

#include "calque/options.h"
#include "calque/ranks.h"
#include "calque/schedule.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A .tsv or .tsv.gz to train on or to measure on. */
typedef struct cq_training_data {
  const char *path;
  const char *label; /* name in reports; NULL: from the path */
  double weight; /* train: how often this set is drawn from, relative to the others; any other than 1 means balanced */
} cq_training_data;

/* Which held-out figure decides the model that is kept. AUTO: translation with dev, else STS with sts, else the last.
 * TRANSLATION, where there is a teacher: among accuracies within a standard error of the highest, the lower mean squared
 * error; and none below the accuracy at the start. */
typedef enum cq_best_by { CQ_BEST_AUTO, CQ_BEST_TRANSLATION, CQ_BEST_MSE, CQ_BEST_STS, CQ_BEST_LAST } cq_best_by;

/* In what the student multiplies while it is trained, forward and backward. Weights, gradients, sums, the optimizer and
 * what is saved are f32 in both. */
typedef enum cq_training_precision {
  CQ_TRAINING_F32,
  CQ_TRAINING_BF16, /* f32, with a notice, where the processor has no such products */
} cq_training_precision;

/* One line of news from a run, for a progress bar or a log. */
typedef struct cq_training_progress {
  const char *phase;      /* "data", "teacher", "negatives", "train", "evaluate"; of cq_extend also "choice" */
  uint64_t step, n_steps; /* or items done and in all, outside "train" */
  double epoch, loss, learning_rate, gradient_norm;
  double sentences_per_second, seconds_left;
  const char *text; /* a table or remark to show as it is; NULL when there is none */
} cq_training_progress;
/* Return false to stop the run after a checkpoint (CQ_ERR_STOPPED). */
typedef bool (*cq_training_progress_fn)(void *context, const cq_training_progress *progress);

typedef struct cq_training_options {
  size_t size;
  const char *output; /* directory of the final model; work in progress lives in OUTPUT.work beside it */
  const cq_training_data *dev,
      *sts; /* dev: pairs, for translation accuracy (and mse to a teacher); sts: sentence, sentence, gold */
  size_t n_dev, n_sts;
  bool resume;        /* continue from OUTPUT.work when it is there; false: that is CQ_ERR_ARGUMENT */
  bool replace;       /* overwrite an existing output directory */
  bool skip_bad;      /* skip and count malformed lines */
  int max_characters; /* drop sentences longer than this many characters; 0: no limit */
  int max_seq_length; /* tokens; 0: the model's */
  int max_sentences;  /* entries read from each training file; 0: all */
  bool no_shuffle;    /* batches in file order (for comparisons) */
  bool balanced;      /* draw from all sets alike by weight, small ones repeating; false: one shuffle of all entries */
  int batch_pairs;    /* entries in a batch, each a pair of sentences */
  int accumulate;     /* batches summed before an update */
  double epochs;      /* passes over the data; ignored when steps > 0 */
  uint64_t steps;
  double learning_rate, embedding_learning_rate; /* the latter for word embeddings; 0: the same */
  double weight_decay, adam_beta1, adam_beta2, adam_eps;
  double clip_norm;    /* 0: no clipping */
  double warmup_steps; /* below 1: a share of all steps */
  cq_schedule schedule;
  double dropout; /* below 0: what the model's config says */
  cq_training_precision precision;
  int evaluate_every;   /* steps; 0: only at the end; -1: a tenth of all steps */
  int checkpoint_every; /* steps; as evaluate_every */
  cq_best_by best_by;
  int n_shards; /* gradients are summed over this fixed number of shards, whatever the number of threads */
  uint64_t seed;
  const char *log_path; /* JSON lines; NULL: log.jsonl in the work directory, in the end beside the model */
  cq_training_progress_fn progress;
  void *progress_context;
  /* Stochastic weight averaging: the mean of the weights at the last evaluations, this many (every evaluate_every
   * steps, and the end, also without dev and sts) is a candidate for the best model beside the weights themselves;
   * kept by LAST, it is the model. 0, 1: none */
  int average;
  bool freeze_body; /* of the model begun from only the vocabulary's embeddings are trained; the rest keeps its bits */
  cq_ranks *ranks;  /* that train together (calque/ranks.h); NULL: this process alone */
  /* In what gradients travel between ranks. BF16: half the bytes, each rounded wherever it comes through, so that the
   * model depends on the number of ranks */
  cq_training_precision exchange;
  /* Each rank keeps a part of the word embeddings and of their optimizer's state, and gets the rows that a batch needs:
   * memory for large vocabularies. An evaluation brings all rows to all ranks, a checkpoint all state to rank 0, for as
   * long as it takes. The model has the same bits */
  bool shard_tables;
} cq_training_options;
/* Five epochs of batches of 64, AdamW at 2e-5 after a warm-up of a tenth of the steps: group "training". */
CQ_DEFAULT_OPTIONS(cq_training_options, cq_training_default_options, training)

/* What was held out is measured before the first step, too, and that model is kept if no later one is better: with dev or
 * sts a run cannot make a model worse by what best_by names. */
typedef struct cq_training_result {
  uint64_t steps;     /* done */
  uint64_t best_step; /* after which the model that was written stood; 0: none was better than the one at the start */
  double final_loss;  /* a running mean over the last steps; 0 when none was left to do */
  /* Mean accuracy, minus the mean MSE, or mean correlation, as best_by says; NaN: the last was kept */
  double best_score;
  /* The run was ended, with the best model so far: at the second evaluation at which the vectors of a dev set hardly
   * differed, or because a loss, a gradient or a weight was not finite */
  bool collapsed;
  uint64_t averaged; /* evaluations whose weights the model is the mean of, best_step the last; 0: it is no mean */
} cq_training_result;

#ifdef __cplusplus
}
#endif
#endif
