/* Sums over ranks along a binary tree of messages, in the order that one process would add. See tree_exchange.h. */
#include "train/tree_exchange.h"

#include "base/error.h"
#include "base/memory.h"
#include "format/half.h"
#include "tensor/levels.h"
#include "train/sum_thread.h"

#include <string.h>

enum { CHUNK = 1 << 20 }; /* floats: enough to use the network well, few enough that most sums begin early */

struct cq_tree_exchange {
  cq_exchange exchange;
  cq_messages *messages;
  const cq_kernels *kernels;
  cq_sum_thread *thread;
  float *chunk;     /* [CHUNK] */
  uint16_t *halves; /* [CHUNK] if gradients are sent as bf16; NULL: as f32 */
  unsigned char *rows;
  size_t rows_capacity;
};

/* --- floats in messages, as f32 or bf16 --- */

static cq_status send_floats(cq_tree_exchange *x, int to, const float *values, size_t n, bool narrow, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t at = 0, part; !status && at < n; at += part) {
    part = cq_min(n - at, CHUNK);
    for (size_t i = 0; narrow && i < part; i++) x->halves[i] = cq_bf16_of(values[at + i]);
    status = narrow ? cq_messages_send(x->messages, to, x->halves, part * sizeof *x->halves, error)
                    : cq_messages_send(x->messages, to, values + at, part * sizeof *values, error);
  }
  return status;
}

static cq_status receive_floats(cq_tree_exchange *x, int from, float *values, size_t n, bool narrow, cq_error *error) {
  cq_status status = CQ_OK;
  for (size_t at = 0, part; !status && at < n; at += part) {
    part = cq_min(n - at, CHUNK);
    if (!narrow) {
      status = cq_messages_receive(x->messages, from, values + at, part * sizeof *values, error);
    } else {
      status = cq_messages_receive(x->messages, from, x->halves, part * sizeof *x->halves, error);
      for (size_t i = 0; !status && i < part; i++) values[at + i] = cq_bf16_to_f32(x->halves[i]);
    }
  }
  return status;
}

/* Rounds values to bf16, as the other ranks will receive them. */
static void round_floats(float *values, size_t n) {
  for (size_t i = 0; i < n; i++) values[i] = cq_bf16_to_f32(cq_bf16_of(values[i]));
}

/* --- sums of numbers --- */

typedef struct floats {
  cq_tree_exchange *exchange;
  float *values;
  size_t n;
  bool narrow;
} floats;

static cq_status add_floats(void *context, int rank, cq_error *error) {
  const floats *f = context;
  cq_tree_exchange *x = f->exchange;
  cq_status status = CQ_OK;
  for (size_t at = 0, n; !status && at < f->n; at += n) {
    n = cq_min(f->n - at, CHUNK);
    status = receive_floats(x, rank, x->chunk, n, f->narrow, error);
    if (!status) x->kernels->add(f->values + at, x->chunk, (int64_t)n);
  }
  return status;
}

static cq_status give_floats(void *context, int rank, cq_error *error) {
  const floats *f = context;
  return send_floats(f->exchange, rank, f->values, f->n, f->narrow, error);
}

static cq_status take_floats(void *context, int rank, cq_error *error) {
  const floats *f = context;
  return receive_floats(f->exchange, rank, f->values, f->n, f->narrow, error);
}

static cq_status sum_floats(cq_tree_exchange *x, float *values, int64_t n, bool narrow, cq_error *error) {
  floats f = {x, values, (size_t)n, narrow};
  cq_status status = cq_messages_up(x->messages, add_floats, give_floats, &f, error);
  if (!status && narrow && x->exchange.rank == 0) round_floats(values, f.n);
  return status ? status : cq_messages_down(x->messages, take_floats, give_floats, &f, error);
}

static cq_status sum_dense(void *context, float *values, int64_t n, cq_error *error) {
  cq_tree_exchange *x = context;
  const cq_status status = cq_sum_thread_finish(x->thread, error);
  return status ? status : sum_floats(x, values, n, false, error);
}

static cq_status sum_scalars(void *context, double *values, size_t n, cq_error *error) {
  cq_tree_exchange *x = context;
  const cq_status status = cq_sum_thread_finish(x->thread, error);
  return status ? status : cq_messages_sum(x->messages, values, n, error);
}

/* Runs in its own thread. */
static cq_status sum_gradients(void *context, float *values, int64_t n, cq_error *error) {
  cq_tree_exchange *x = context;
  return sum_floats(x, values, n, x->halves, error);
}

static void begin_dense(void *context, float *values, int64_t n) {
  cq_sum_thread_begin(((cq_tree_exchange *)context)->thread, values, n);
}

static cq_status finish_dense(void *context, cq_error *error) {
  return cq_sum_thread_finish(((cq_tree_exchange *)context)->thread, error);
}

static void abandon(void *context) {
  cq_tree_exchange *x = context;
  x->messages->transport.interrupt(x->messages->transport.context);
  const cq_status ignored = cq_sum_thread_finish(x->thread, NULL); /* the step's failure is reported */
  (void)ignored;
}

/* --- sums of rows ---
 *
 *   length of the rest (uint64)
 *   of each table: number of rows (uint64), their numbers (int32 each), the rows (f32, or bf16) */

static bool make_room(cq_tree_exchange *x, size_t n) {
  if (n <= x->rows_capacity) return true;
  cq_free(x->rows);
  x->rows = cq_alloc(n);
  x->rows_capacity = x->rows ? n : 0;
  return x->rows;
}

typedef struct table_rows {
  cq_tree_exchange *exchange;
  cq_gradients *gradients;
} table_rows;

static cq_status give_rows(void *context, int rank, cq_error *error) {
  cq_tree_exchange *x = ((table_rows *)context)->exchange;
  const cq_gradients *g = ((table_rows *)context)->gradients;
  cq_messages *m = x->messages;
  uint64_t n_bytes = 0;
  for (int i = 0; i < g->n_tables; i++) {
    const cq_table_gradient *t = &g->tables[i];
    n_bytes += sizeof n_bytes + t->n * (sizeof(int32_t) + (size_t)t->dim * sizeof(float));
  }
  cq_status status = cq_messages_send(m, rank, &n_bytes, sizeof n_bytes, error);
  for (int i = 0; !status && i < g->n_tables; i++) {
    const cq_table_gradient *t = &g->tables[i];
    const uint64_t n = t->n;
    status = cq_messages_send(m, rank, &n, sizeof n, error);
    if (!status) status = cq_messages_send(m, rank, t->row_of, t->n * sizeof *t->row_of, error);
    if (!status) status = send_floats(x, rank, t->rows, t->n * (size_t)t->dim, x->halves, error);
  }
  return status;
}

/* Adds another rank's rows, in its order of first touch; rows that are new here keep their bits, even -0. */
static cq_status receive_rows(cq_tree_exchange *x, int rank, cq_gradients *g, bool are_first, cq_error *error) {
  uint64_t n_bytes = 0;
  cq_status status = cq_messages_receive(x->messages, rank, &n_bytes, sizeof n_bytes, error);
  if (!status && !make_room(x, (size_t)n_bytes)) return cq_fail_memory(error, "the gradients of another rank");
  size_t at = 0;
  for (int i = 0; !status && i < g->n_tables; i++) {
    const int64_t dim = g->tables[i].dim;
    uint64_t n = 0;
    status = cq_messages_receive(x->messages, rank, &n, sizeof n, error);
    at += sizeof n;
    const size_t row = sizeof(int32_t) + (size_t)dim * sizeof(float);
    if (!status && (at > n_bytes || n > (n_bytes - at) / row))
      status = cq_fail(error, CQ_ERR_IO, "rank %d sends rows of another model", rank);
    if (status) break;
    int32_t *numbers = (int32_t *)(void *)x->rows;
    float *rows = (float *)(void *)(numbers + n);
    status = cq_messages_receive(x->messages, rank, numbers, (size_t)n * sizeof *numbers, error);
    if (!status) status = receive_floats(x, rank, rows, (size_t)n * (size_t)dim, x->halves, error);
    at += (size_t)n * row;
    const cq_param place = {.table = true, .offset = i};
    for (size_t k = 0; !status && k < n; k++) {
      int32_t slot;
      status = cq_gradient_slots(&slot, g, &place, &numbers[k], 1, error);
      if (status) break;
      float *row_here = g->tables[i].rows + slot * dim;
      if (are_first)
        memcpy(row_here, rows + (int64_t)k * dim, (size_t)dim * sizeof *rows);
      else
        x->kernels->add(row_here, rows + (int64_t)k * dim, dim);
    }
  }
  return status;
}

static cq_status add_rows(void *context, int rank, cq_error *error) {
  const table_rows *r = context;
  return receive_rows(r->exchange, rank, r->gradients, false, error);
}

/* In place of what is here. */
static cq_status take_rows(void *context, int rank, cq_error *error) {
  const table_rows *r = context;
  for (int i = 0; i < r->gradients->n_tables; i++) {
    cq_table_gradient *t = &r->gradients->tables[i];
    for (size_t s = 0; s < t->n; s++) t->slot_of[t->row_of[s]] = 0;
    t->n = 0;
  }
  return receive_rows(r->exchange, rank, r->gradients, true, error);
}

static cq_status sum_rows(void *context, cq_gradients *gradients, cq_error *error) {
  cq_tree_exchange *x = context;
  table_rows r = {x, gradients};
  cq_status status = cq_sum_thread_finish(x->thread, error);
  if (!status) status = cq_messages_up(x->messages, add_rows, give_rows, &r, error);
  for (int i = 0; !status && x->halves && x->exchange.rank == 0 && i < gradients->n_tables; i++)
    round_floats(gradients->tables[i].rows, gradients->tables[i].n * (size_t)gradients->tables[i].dim);
  return status ? status : cq_messages_down(x->messages, take_rows, give_rows, &r, error);
}

/* --- parts --- */

static cq_status share(void *context, void *bytes, const size_t *ends, cq_error *error) {
  cq_tree_exchange *x = context;
  const cq_status status = cq_sum_thread_finish(x->thread, error);
  return status ? status : cq_messages_share(x->messages, bytes, ends, error);
}

static cq_status collect(void *context, void *bytes, const size_t *ends, cq_error *error) {
  cq_tree_exchange *x = context;
  const cq_status status = cq_sum_thread_finish(x->thread, error);
  return status ? status : cq_messages_collect(x->messages, bytes, ends, error);
}

/* --- making --- */

cq_status cq_tree_exchange_new(cq_tree_exchange **out, cq_messages *messages, bool narrow, const cq_kernels *kernels,
                               cq_error *error) {
  *out = NULL;
  cq_tree_exchange *x = cq_alloc_zeroed(sizeof *x);
  if (!x) return cq_fail_memory(error, "an exchange");
  *x = (cq_tree_exchange){.exchange = {.rank = messages->transport.rank,
                                       .n_ranks = messages->transport.n_ranks,
                                       .sum_dense = sum_dense,
                                       .sum_rows = sum_rows,
                                       .sum_scalars = sum_scalars,
                                       .chunk = CHUNK,
                                       .begin_dense = begin_dense,
                                       .finish_dense = finish_dense,
                                       .abandon = abandon,
                                       .share = share,
                                       .collect = collect,
                                       .context = x},
                          .messages = messages,
                          .kernels = kernels,
                          .chunk = cq_alloc_array(CHUNK, sizeof *x->chunk),
                          .halves = narrow ? cq_alloc_array(CHUNK, sizeof *x->halves) : NULL};
  cq_status status = x->chunk && (x->halves || !narrow) ? CQ_OK : cq_fail_memory(error, "an exchange");
  if (!status) status = cq_sum_thread_new(&x->thread, sum_gradients, x, error);
  if (status)
    cq_tree_exchange_free(x);
  else
    *out = x;
  return status;
}

void cq_tree_exchange_free(cq_tree_exchange *x) {
  if (!x) return;
  cq_sum_thread_free(x->thread);
  cq_free(x->chunk);
  cq_free(x->halves);
  cq_free(x->rows);
  cq_free(x);
}

const cq_exchange *cq_tree_exchange_of(const cq_tree_exchange *x) {
  return &x->exchange;
}
