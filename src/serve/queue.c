/* The queue's admission, batches and deadlines, and the thread that encodes. */
#include "serve/queue.h"

#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A run of a work's sequences in a batch. */
typedef struct piece {
  serve_work *work;
  size_t first, n, out; /* first and n: its sequences; out: the position of its vectors in the batch */
  bool is_encoded;
  cq_status status;
  cq_error error;
} piece;

/* The dispatcher's memory, kept from batch to batch. */
typedef struct batch {
  piece *pieces;
  size_t n_pieces, pieces_capacity;
  int32_t *ids;
  size_t n_ids, ids_capacity;
  size_t *starts; /* [n_sequences + 1] */
  size_t n_sequences, starts_capacity;
  float *vectors;
  size_t vectors_capacity;
} batch;

typedef struct works {
  serve_work *first, *last;
} works;

struct serve_queue {
  serve_queue_options options;
  cq_context *ctx;
  pthread_t dispatcher;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  works waiting; /* with sequences not sent yet */
  bool is_ending;
  serve_queue_stats stats;
  batch batch; /* owned by the dispatcher; serve_queue_expire also looks at its pieces' work */
};

static void append_work(works *list, serve_work *w) {
  w->next = NULL;
  *(list->last ? &list->last->next : &list->first) = w;
  list->last = w;
}

/* ---- admission ---- */

bool serve_queue_submit(serve_queue *q, serve_work *w, double *retry_s) {
  const size_t n_tokens = serve_work_n_tokens(w);
  assert(w->ids.n > 0 && w->vectors);
  pthread_mutex_lock(&q->mutex);
  const size_t waiting = q->stats.n_waiting_tokens;
  const bool is_admitted =
      w->is_exempt || waiting == 0 || (waiting <= q->options.max_tokens && n_tokens <= q->options.max_tokens - waiting);
  if (is_admitted) {
    w->n_users++;
    append_work(&q->waiting, w);
    q->stats.n_waiting++;
    q->stats.n_waiting_tokens += n_tokens;
    pthread_cond_signal(&q->changed);
  } else {
    const double rate = q->stats.tokens_per_s > 1 ? q->stats.tokens_per_s : 1000;
    *retry_s = (double)(waiting + n_tokens - q->options.max_tokens) / rate;
  }
  pthread_mutex_unlock(&q->mutex);
  return is_admitted;
}

/* Ends a work item, with the mutex held: it no longer counts. The caller calls done() without the mutex. */
static void end_work(serve_queue *q, serve_work *w, serve_outcome outcome) {
  assert(!w->is_over);
  w->is_over = true;
  w->outcome = outcome;
  q->stats.n_waiting--;
  q->stats.n_waiting_tokens -= serve_work_n_tokens(w);
}

static bool is_in_batch(const serve_queue *q, const serve_work *w) {
  return w->n_sent > w->n_back && q->batch.n_pieces > 0;
}

void serve_queue_expire(serve_queue *q, uint64_t now_ms) {
  serve_work *over = NULL;
  pthread_mutex_lock(&q->mutex);
  /* The current batch's requests get a reply now; their vectors will be dropped. */
  for (size_t i = 0; i < q->batch.n_pieces; i++) {
    serve_work *w = q->batch.pieces[i].work;
    if (w->is_over || w->deadline_ms > now_ms || w->n_sent < w->ids.n) continue;
    end_work(q, w, SERVE_EXPIRED);
    __atomic_add_fetch(&w->n_users, 1, __ATOMIC_ACQ_REL); /* until done() is called, below */
    w->next = over, over = w;
  }
  works kept = {0};
  for (serve_work *w = q->waiting.first, *next; w; w = next) {
    next = w->next;
    if (w->deadline_ms > now_ms) {
      append_work(&kept, w);
      continue;
    }
    end_work(q, w, SERVE_EXPIRED);
    if (is_in_batch(q, w)) __atomic_add_fetch(&w->n_users, 1, __ATOMIC_ACQ_REL); /* the batch still has it */
    w->next = over, over = w;
  }
  q->waiting = kept;
  pthread_mutex_unlock(&q->mutex);
  while (over) {
    serve_work *w = over;
    over = w->next;
    w->done(w->context);
    serve_work_free(w);
  }
}

void serve_queue_read_stats(serve_queue_stats *out, serve_queue *q) {
  pthread_mutex_lock(&q->mutex);
  *out = q->stats;
  pthread_mutex_unlock(&q->mutex);
}

/* ---- batches ---- */

static bool is_alike(const serve_work *a, const serve_work *b) {
  if (a->model != b->model) return false;
  if (!a->prompt_name || !b->prompt_name) return a->prompt_name == b->prompt_name;
  return !strcmp(a->prompt_name, b->prompt_name);
}

/* Takes sequences of w, at least one, until the batch has `share` more tokens. False: out of memory. */
static bool take_share(batch *b, serve_work *w, size_t share) {
  const size_t *starts = w->ids.starts;
  size_t end = w->n_sent + 1;
  while (end < w->ids.n && starts[end + 1] - starts[w->n_sent] <= share) end++;
  const size_t n = end - w->n_sent, n_ids = starts[end] - starts[w->n_sent];
  if (!cq_reserve((void **)&b->pieces, &b->pieces_capacity, b->n_pieces + 1, sizeof *b->pieces) ||
      !cq_reserve((void **)&b->ids, &b->ids_capacity, b->n_ids + n_ids, sizeof *b->ids) ||
      !cq_reserve((void **)&b->starts, &b->starts_capacity, b->n_sequences + n + 1, sizeof *b->starts))
    return false;
  b->pieces[b->n_pieces++] = (piece){.work = w, .first = w->n_sent, .n = n, .out = b->n_sequences};
  if (n_ids) memcpy(b->ids + b->n_ids, w->ids.ids + starts[w->n_sent], n_ids * sizeof *b->ids);
  b->starts[0] = 0;
  for (size_t s = w->n_sent; s < end; s++) b->starts[++b->n_sequences] = b->n_ids + (starts[s + 1] - starts[w->n_sent]);
  b->n_ids += n_ids;
  w->n_sent = end;
  return true;
}

/* With the mutex held: makes a batch from the front of the queue; the rest of a work item goes to the end of the
 * queue. */
static void make_batch(serve_queue *q) {
  batch *b = &q->batch;
  size_t n_waiting = 0;
  b->n_pieces = b->n_ids = b->n_sequences = 0;
  for (const serve_work *w = q->waiting.first; w; w = w->next) n_waiting++;
  const size_t share = q->options.batch_tokens / n_waiting;
  works left = {0}, kept = {0};
  const serve_work *model = q->waiting.first;
  for (serve_work *w = q->waiting.first, *next; w; w = next) {
    next = w->next, w->next = NULL;
    const bool is_taken = is_alike(model, w) && b->n_ids < q->options.batch_tokens && take_share(b, w, share);
    if (!is_taken || w->n_sent < w->ids.n) append_work(is_taken ? &left : &kept, w); /* others are the batch's now */
  }
  for (serve_work *w = left.first, *next; w; w = next) next = w->next, append_work(&kept, w);
  q->waiting = kept;
}

/* JSON has no NaN: clients would get nulls, or numbers that are none in base64. */
static void check_piece(piece *p, const float *vectors, size_t dim) {
  for (size_t i = 0; !p->status && i < p->n * dim; i++)
    if (!isfinite(vectors[i]))
      p->status = cq_fail(&p->error, CQ_ERR_UNAVAILABLE, "the model gives a vector with a number that is not finite");
}

/* Encodes the whole batch at once or, if that fails, piece by piece, so that a bad request fails alone. */
static void encode_batch(serve_queue *q) {
  batch *b = &q->batch;
  const serve_model *model = b->pieces[0].work->model;
  cq_encode_options o = cq_encode_default_options();
  cq_error error = {0};
  o.prompt_name = b->pieces[0].work->prompt_name;
  cq_status status = CQ_ERR_MEMORY;
  if (b->n_sequences <= SIZE_MAX / model->dim &&
      cq_reserve((void **)&b->vectors, &b->vectors_capacity, b->n_sequences * model->dim, sizeof *b->vectors))
    status = cq_encoder_encode_ids(b->vectors, model->encoder, b->ids, b->starts, b->n_sequences, &o, q->ctx, &error);
  else
    snprintf(error.message, sizeof error.message, "out of memory for vectors");
  for (size_t i = 0; i < b->n_pieces; i++) {
    piece *p = &b->pieces[i];
    p->status = status, p->error = error;
    if (status && b->n_pieces > 1 && b->vectors_capacity >= b->n_sequences * model->dim)
      p->status = cq_encoder_encode_ids(b->vectors + p->out * model->dim, model->encoder, b->ids, b->starts + p->out,
                                        p->n, &o, q->ctx, &p->error);
    if (!p->status) check_piece(p, b->vectors + p->out * model->dim, model->dim);
  }
}

/* Copies a piece's vectors to its work item. True: it is now complete. */
static bool give_back(serve_queue *q, const piece *p) {
  serve_work *w = p->work;
  const size_t dim = w->model->dim;
  w->n_back += p->n;
  if (w->is_over) return false;
  if (p->status) {
    w->error = p->error;
    end_work(q, w, SERVE_FAILED);
    return true;
  }
  memcpy(w->vectors + p->first * dim, q->batch.vectors + p->out * dim, p->n * dim * sizeof(float));
  if (w->n_back < w->ids.n) return false;
  end_work(q, w, SERVE_ENCODED);
  return true;
}

/* Removes a failed work item that still has waiting sequences. */
static void take_out(serve_queue *q, const serve_work *gone) {
  works kept = {0};
  for (serve_work *w = q->waiting.first, *next; w; w = next) {
    next = w->next;
    if (w != gone) append_work(&kept, w);
  }
  q->waiting = kept;
}

static void finish_batch(serve_queue *q, uint64_t took_us) {
  batch *b = &q->batch;
  pthread_mutex_lock(&q->mutex);
  const double rate = (double)b->n_ids / ((double)took_us * 1e-6 + 1e-6);
  q->stats.tokens_per_s = q->stats.tokens_per_s > 0 ? 0.8 * q->stats.tokens_per_s + 0.2 * rate : rate;
  q->stats.n_batches++;
  q->stats.n_batch_sequences += b->n_sequences;
  q->stats.n_batch_tokens += b->n_ids;
  for (size_t i = 0; i < b->n_pieces; i++) {
    piece *p = &b->pieces[i];
    const bool had_more = p->work->n_sent < p->work->ids.n;
    const bool was_over = p->work->is_over;
    p->is_encoded = give_back(q, p);
    if (p->is_encoded && had_more) take_out(q, p->work);
    if (!p->is_encoded && !was_over) p->work = NULL; /* the rest of it waits: the queue's still */
  }
  const size_t n_pieces = b->n_pieces;
  b->n_pieces = 0; /* nothing for serve_queue_expire to look at */
  pthread_mutex_unlock(&q->mutex);
  for (size_t i = 0; i < n_pieces; i++) {
    serve_work *w = b->pieces[i].work;
    if (!w) continue;
    if (b->pieces[i].is_encoded) {
      if (w->outcome == SERVE_ENCODED) serve_work_join_windows(w);
      w->done(w->context);
    }
    serve_work_free(w);
  }
}

static void *dispatch_batches(void *context) {
  serve_queue *q = context;
  for (;;) {
    serve_queue_expire(q, cq_now_ms());
    pthread_mutex_lock(&q->mutex);
    while (!q->waiting.first && !q->is_ending) pthread_cond_wait(&q->changed, &q->mutex);
    const bool is_over = !q->waiting.first;
    if (!is_over) make_batch(q);
    /* If there is no memory for any batch, the first work item of the queue fails. */
    serve_work *failed = NULL;
    if (!is_over && q->batch.n_pieces == 0) {
      failed = q->waiting.first;
      assert(failed); /* there is one: sequences that no batch took stay in the queue */
      take_out(q, failed);
      snprintf(failed->error.message, sizeof failed->error.message, "out of memory for a batch");
      failed->error.status = CQ_ERR_MEMORY;
      end_work(q, failed, SERVE_FAILED);
    }
    pthread_mutex_unlock(&q->mutex);
    if (is_over) return NULL;
    if (failed) {
      failed->done(failed->context);
      serve_work_free(failed);
      continue;
    }
    const uint64_t begun = cq_now_us();
    encode_batch(q);
    finish_batch(q, cq_now_us() - begun);
  }
}

/* ---- opening ---- */

cq_status serve_queue_open(serve_queue **out, const serve_queue_options *options, cq_context *ctx, cq_error *error) {
  serve_queue *q = calloc(1, sizeof *q);
  if (q) {
    q->options = *options;
    q->ctx = ctx;
    pthread_mutex_init(&q->mutex, NULL);
    pthread_cond_init(&q->changed, NULL);
    if (pthread_create(&q->dispatcher, NULL, dispatch_batches, q) == 0) {
      *out = q;
      return CQ_OK;
    }
    free(q);
  }
  return cq_fail(error, CQ_ERR_MEMORY, "the thread that encodes cannot be started");
}

void serve_queue_free(serve_queue *q) {
  if (!q) return;
  pthread_mutex_lock(&q->mutex);
  q->is_ending = true;
  pthread_cond_signal(&q->changed);
  pthread_mutex_unlock(&q->mutex);
  pthread_join(q->dispatcher, NULL);
  pthread_cond_destroy(&q->changed);
  pthread_mutex_destroy(&q->mutex);
  cq_free(q->batch.pieces);
  cq_free(q->batch.ids);
  cq_free(q->batch.starts);
  cq_free(q->batch.vectors);
  free(q);
}
