/* A batch, divided into shards, and passes over them.
 *
 *   texts ──tokenizer──▶ ids, starts ──cut──▶ n_shards ranges with similar numbers of tokens ──pass──▶ sums, gradients
 *
 * Ranges follow the sentences' order. Any free thread computes a shard, which adds to gradients that no other shard
 * uses at that time; these are summed over a fixed tree (train/update.h). So the result's bits depend only on the batch
 * and n_shards, not on threads or processes (train/exchange.h).
 *
 * A batch has one column of sentences, or two for two languages, which are computed in parallel. */
#ifndef TRAIN_SHARDS_H
#define TRAIN_SHARDS_H

#include "model/encoder.h"
#include "train/exchange.h"

enum { CQ_SHARD_SUMS = 3 };

/* --- a column of sentences --- */

/* One after another, without padding. {0} is empty; freeing it is legal. */
typedef struct cq_sequences {
  cq_slice prompt;       /* put before every sentence */
  int32_t n_prompt_skip; /* leading tokens of each that pooling leaves out */
  cq_ids ids;
  int64_t *starts; /* [n + 1] */
  int32_t *second; /* [n] cq_batch's, for an encoder of pairs; else NULL */
  float *vectors;  /* [n, dim] */
  float *gradient; /* [n, dim] of the vectors */
  float *states;   /* [n, states_width], followed by its gradient: see lab/autoencode/states.h */
  size_t n, capacity;
  int64_t dim, states_width;
  cq_builder with_prompt;
  double piece_dropout; /* dropout of the first n_dropout sentences (token/tokenizer.h) */
  size_t n_dropout;
  uint64_t dropout_key;   /* of the batch */
  cq_token_memory *token; /* made if there is dropout */
} cq_sequences;

/* Tokenizes n sentences and makes room for their vectors, and for states of a fixed width with zeroed gradients. Adds
 * to *n_truncated, which may be NULL. Errors: CQ_ERR_MEMORY, those of tokenizing. */
CQ_MUST_USE cq_status cq_sequences_fill(cq_sequences *s, const cq_encoder *encoder, const cq_slice *texts, size_t n,
                                        int64_t states_width, uint64_t *n_truncated, cq_error *error);
/* Some of the sequences as a batch, with arrays in the worker's workspace. keys: receives room for the dropout keys,
 * [n], which the caller fills in; NULL: no dropout. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_sequences_batch(cq_batch *out, uint64_t **keys, const cq_sequences *s, size_t first, size_t n,
                                         cq_worker *worker, cq_error *error);
/* The encoder's states for n sentences, or their gradient; data NULL: none. */
cq_tensor cq_sequences_states(const cq_sequences *s, size_t first, size_t n, bool gradient);
void cq_sequences_free(cq_sequences *s);

/* --- shards --- */

typedef struct cq_shard {
  int column, number; /* of the batch; of the column's shards */
  size_t first, n;    /* sentences */
  cq_worker worker;   /* one pass's results for the next, in whichever thread either runs */
  cq_batch batch;
  uint64_t *keys; /* [n] */
  cq_tape tape;
  double sums[CQ_SHARD_SUMS]; /* sums over passes: losses */
  cq_status status;
  cq_error error;
} cq_shard;

typedef struct cq_shards {
  int n, n_columns;
  int first_own, n_own; /* those that this rank computes, of each column */
  const cq_exchange *exchange;
  cq_shard *items; /* [n_columns * n] */
} cq_shards;

/* exchange NULL: cq_exchange_local. Errors: CQ_ERR_ARGUMENT for fewer than 1 shard or more than CQ_MAX_SHARDS,
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_shards_new(cq_shards *out, int n_shards, int n_columns, const cq_kernels *kernels,
                                    const cq_exchange *exchange, cq_error *error);
void cq_shards_free(cq_shards *shards); /* legal on {0} */

/* Shard k begins at the first sentence at or after k / n of the column's tokens. Sums are 0, workspaces empty. */
void cq_shards_cut(cq_shards *shards, int column, const cq_sequences *sequences);
/* The same of rows that are all alike. */
void cq_shards_cut_rows(cq_shards *shards, int column, size_t n_rows);

/* Computes a shard that has sentences; its error goes to shard->error. */
typedef cq_status (*cq_shard_pass)(void *context, cq_shard *shard, int worker);
enum { CQ_ALL_COLUMNS = -1 };
/* Runs a pass over this rank's shards. Returns the first failure in order of columns and shards. */
CQ_MUST_USE cq_status cq_shards_run(cq_shards *shards, int column, cq_shard_pass pass, void *context, cq_context *ctx,
                                    cq_error *error);
/* The shards' sums together, of all ranks. */
CQ_MUST_USE cq_status cq_shards_sum(double sums[CQ_SHARD_SUMS], const cq_shards *shards, int column, cq_error *error);

/* Zeroes the rows of other ranks' shards in rows [column's sentences, width]; does nothing with one rank. */
void cq_shards_keep_own(const cq_shards *shards, int column, float *rows, int64_t width);
/* Gives every rank all rows; each rank has computed those of its own shards. */
CQ_MUST_USE cq_status cq_shards_share(const cq_shards *shards, int column, float *rows, int64_t width, cq_error *error);

#endif
