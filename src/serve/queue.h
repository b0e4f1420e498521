/* The queue of texts to encode, and its single dispatcher thread.
 *
 *   request ──ids──▶ work ──admission: a budget of tokens──▶ queue
 *   dispatcher: waiting work, up to a batch of tokens ──▶ one cq_encoder_encode_ids ──▶ vectors ──▶ done()
 *
 * Batches are not delayed until they are full: a single request is encoded at once, and requests that arrive meanwhile
 * form the next batch. Each waiting work item gets a share of a batch, so a large one does not delay small ones after
 * it. A vector's bits do not depend on the rest of its batch, since calque has no padding.
 *
 * Threads: all functions may be called by any thread. */
#ifndef SERVE_QUEUE_H
#define SERVE_QUEUE_H

#include "base/clock.h"
#include "serve/served_model.h"

#include <stdint.h>

typedef struct serve_queue serve_queue;
typedef struct serve_work serve_work;

typedef enum serve_outcome {
  SERVE_ENCODED,
  SERVE_EXPIRED, /* the deadline passed */
  SERVE_FAILED,  /* error says why */
} serve_outcome;

/* The texts of one request. Its maker fills in the first part. */
struct serve_work {
  serve_model *model; /* used by the work until it is freed */
  cq_token_ids ids;
  size_t n_texts;
  size_t *text_starts;         /* [n_texts + 1] start of each text's sequences; NULL: text i is sequence i */
  size_t n_truncated;          /* texts */
  char *prompt_name;           /* that the ids were made with; NULL: the model's */
  uint64_t deadline_ms;        /* on cq_now_ms's clock */
  bool is_exempt;              /* from admission */
  void (*done)(void *context); /* called once, by any thread, if it was admitted */
  void *context;

  serve_outcome outcome;
  cq_error error;
  float *vectors; /* [ids.n, dim], made by its maker; then [n_texts, dim], only means of windows normalized */

  /* the queue's */
  serve_work *next;
  size_t n_sent, n_back; /* number of sequences that went into batches, and that are done */
  bool is_over;          /* done() has been or is being called */
  int n_users;
};

serve_work *serve_work_new(serve_model *model); /* NULL: out of memory */
/* A work item has two owners, its request and the queue. The second to call this frees it. NULL is legal. */
void serve_work_free(serve_work *work);
size_t serve_work_n_tokens(const serve_work *work);
/* Replaces the vectors of a text's windows by their mean, weighted by numbers of tokens. */
void serve_work_join_windows(serve_work *work);

typedef struct serve_queue_options {
  size_t max_tokens;   /* that may wait */
  size_t batch_tokens; /* of one batch */
} serve_queue_options;

/* Counters for metrics. */
typedef struct serve_queue_stats {
  uint64_t n_batches, n_batch_sequences, n_batch_tokens;
  size_t n_waiting, n_waiting_tokens; /* including those being encoded */
  double tokens_per_s;                /* of late; 0: not known yet */
} serve_queue_stats;

CQ_MUST_USE cq_status serve_queue_open(serve_queue **out, const serve_queue_options *options, cq_context *ctx,
                                       cq_error *error);
/* Nothing may be waiting. */
void serve_queue_free(serve_queue *queue);

/* Admits a work item; false: *retry_s is the time until there may be room. An item that alone exceeds the budget is
 * admitted if the queue is empty. */
bool serve_queue_submit(serve_queue *queue, serve_work *work, double *retry_s);
/* Ends work past its deadline; call it regularly. */
void serve_queue_expire(serve_queue *queue, uint64_t now_ms);
void serve_queue_read_stats(serve_queue_stats *out, serve_queue *queue);

#endif
