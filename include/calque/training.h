/** @file Training an encoder: options, progress and results common to calque/distill.h and calque/finetune.h.
 *
 * A run is exact: at one SIMD level, it gives the same bits for any number of threads; if it is killed at any moment,
 * it resumes from its last checkpoint and ends with the same model. Only the number of steps of cq_extend() follows the
 * clock, unless it is given.
 *
 * @threads A run's callbacks are called on its own thread. A directory belongs to one run at a time, over all threads
 * and processes; a second one is CQ_ERR_ARGUMENT. */
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

/** A .tsv or .tsv.gz file for training or evaluation. */
typedef struct cq_training_data {
  const char *path;
  const char *label; /**< name in reports; NULL: from the path */
  double weight;     /**< training: share of all sets, relative to the others; a weight other than 1 implies balanced */
} cq_training_data;

/** The held-out measure that selects the model to keep. AUTO: translation with dev, else STS with sts, else the last
 * model. TRANSLATION with a teacher: the lowest mean squared error among accuracies within a standard error of the
 * highest; never an accuracy below the initial one. */
typedef enum cq_best_by { CQ_BEST_AUTO, CQ_BEST_TRANSLATION, CQ_BEST_MSE, CQ_BEST_STS, CQ_BEST_LAST } cq_best_by;

/** The precision of products in training, forward and backward, and of a teacher's. Weights, gradients, sums, the
 * optimizer and saved models are f32 in both. */
typedef enum cq_training_precision {
  CQ_TRAINING_F32,
  CQ_TRAINING_BF16, /**< f32, with a notice, if the processor has no such products */
} cq_training_precision;

/** One line of news from a run, for a progress bar or a log. */
typedef struct cq_training_progress {
  const char *phase;      /**< "data", "teacher", "negatives", "train", "evaluate"; "choice" (cq_extend()) */
  uint64_t step, n_steps; /**< outside "train": items done, and all */
  double epoch, loss, learning_rate, gradient_norm;
  double sentences_per_second, seconds_left;
  const char *text; /**< a table or remark to print unchanged; NULL: none */
} cq_training_progress;
/** Return false to stop the run after a checkpoint (CQ_ERR_STOPPED). */
typedef bool (*cq_training_progress_fn)(void *context, const cq_training_progress *progress);

typedef struct cq_training_options {
  size_t size;
  const char *output;                /**< directory of the final model; work in progress is in OUTPUT.work */
  const cq_training_data *dev, *sts; /**< dev: pairs, for accuracy and MSE; sts: sentence, sentence, gold */
  size_t n_dev, n_sts;
  bool resume;        /**< resume from OUTPUT.work if it exists; false: an existing one is CQ_ERR_ARGUMENT */
  bool replace;       /**< overwrite an existing output directory */
  bool skip_bad;      /**< skip and count malformed lines */
  int max_characters; /**< drop sentences longer than this many characters; 0: no limit */
  int max_seq_length; /**< tokens; 0: the model's */
  int max_sentences;  /**< entries read from each training file; 0: all */
  bool no_shuffle;    /**< batches in file order (for comparisons) */
  bool balanced;      /**< draw sets by weight, repeating small ones; false: shuffle all entries */
  int batch_pairs;    /**< entries in a batch, each a pair of sentences */
  int accumulate;     /**< batches summed before an update */
  double epochs;      /**< passes over the data; ignored when steps > 0 */
  uint64_t steps;
  double learning_rate, embedding_learning_rate; /**< the latter for word embeddings; 0: the same */
  double weight_decay, adam_beta1, adam_beta2, adam_eps;
  double clip_norm;    /**< 0: no clipping */
  double warmup_steps; /**< below 1: a share of all steps */
  cq_schedule schedule;
  double dropout; /**< below 0: what the model's config says */
  cq_training_precision precision;
  int evaluate_every;   /**< steps; 0: only at the end; -1: every tenth of all steps */
  int checkpoint_every; /**< steps; as evaluate_every */
  cq_best_by best_by;
  int n_shards; /**< gradients are summed over this many shards, with any number of threads */
  uint64_t seed;
  const char *log_path; /**< JSON lines; NULL: log.jsonl in the work directory, later next to the model */
  cq_training_progress_fn progress;
  void *progress_context;
  /** Stochastic weight averaging: the mean of the weights at the last evaluations, this many (every evaluate_every
   * steps and at the end, even without dev and sts), is a candidate for the best model, like the weights themselves;
   * with LAST, it is the model. 0, 1: no averaging */
  int average;
  bool freeze_body; /**< train only the vocabulary's embeddings; the rest does not change */
  cq_ranks *ranks;  /**< ranks that train together (calque/ranks.h); NULL: only this process */
  /** The precision of gradients between ranks. BF16: half the bytes, rounded at each rank, so that the model depends on
   * the number of ranks */
  cq_training_precision exchange;
  /** Shards the word embeddings and their optimizer state over the ranks, which exchange the rows that a batch needs:
   * saves memory for large vocabularies. Temporarily, an evaluation gathers all rows on all ranks, and a checkpoint all
   * state on rank 0. The model has the same bits */
  bool shard_tables;
} cq_training_options;
/** Five epochs of batches of 64, AdamW at 2e-5 after a warm-up of a tenth of the steps: group "training". */
CQ_DEFAULT_OPTIONS(cq_training_options, cq_training_default_options, training)

/** The result of a run. The initial model is also evaluated on held-out data, and is kept if no later one is better:
 * with dev or sts, a run cannot make a model worse by best_by. */
typedef struct cq_training_result {
  uint64_t steps;     /**< steps done */
  uint64_t best_step; /**< step of the written model; 0: none was better than the initial one */
  double final_loss;  /**< running mean over the last steps; 0: no steps were left */
  /** Mean accuracy, minus the mean MSE, or mean correlation, by best_by; NaN: the last model was kept */
  double best_score;
  /** The run was stopped with the best model so far, because the vectors of a dev set hardly differed in two
   * evaluations, or a loss, gradient or weight was not finite */
  bool collapsed;
  uint64_t averaged; /**< evaluations averaged in the model, the last one at best_step; 0: no averaging */
} cq_training_result;

#ifdef __cplusplus
}
#endif
#endif
