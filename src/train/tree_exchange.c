#include "train/tree_exchange.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

enum { CHUNK = 1 << 20 }; /* floats that are received and added at once */

struct cq_tree_exchange {
  cq_exchange exchange;
  cq_messages *messages;
  const cq_kernels *kernels;
  float *chunk; /* [CHUNK] */
  unsigned char *rows;
  size_t rows_capacity;
};

/* --- sums of numbers --- */

typedef struct floats {
  cq_tree_exchange *exchange;
  float *values;
  size_t n;
} floats;

static cq_status add_floats(void *context, int rank, cq_error *error) {
  const floats *f = context;
  cq_tree_exchange *x = f->exchange;
  cq_status status = CQ_OK;
  for (size_t at = 0, n; !status && at < f->n; at += n) {
    n = cq_min(f->n - at, CHUNK);
    status = cq_messages_receive(x->messages, rank, x->chunk, n * sizeof *x->chunk, error);
    if (!status) x->kernels->add(f->values + at, x->chunk, (int64_t)n);
  }
  return status;
}

/* In the chunks that add_floats receives. */
static cq_status give_floats(void *context, int rank, cq_error *error) {
  const floats *f = context;
  cq_status status = CQ_OK;
  for (size_t at = 0, n; !status && at < f->n; at += n) {
    n = cq_min(f->n - at, CHUNK);
    status = cq_messages_send(f->exchange->messages, rank, f->values + at, n * sizeof *f->values, error);
  }
  return status;
}

static cq_status sum_dense(void *context, float *values, int64_t n, cq_error *error) {
  cq_messages *m = ((cq_tree_exchange *)context)->messages;
  floats f = {context, values, (size_t)n};
  const cq_status status = cq_messages_up(m, add_floats, give_floats, &f, error);
  return status ? status : cq_messages_broadcast(m, values, f.n * sizeof *values, error);
}

static cq_status sum_scalars(void *context, double *values, size_t n, cq_error *error) {
  return cq_messages_sum(((cq_tree_exchange *)context)->messages, values, n, error);
}

/* --- sums of rows ---
 *
 *   length of the rest (uint64)
 *   of each table: number of rows (uint64), their numbers (int32 each), the rows (f32) */

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
  cq_messages *m = ((table_rows *)context)->exchange->messages;
  const cq_gradients *g = ((table_rows *)context)->gradients;
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
    if (!status) status = cq_messages_send(m, rank, t->rows, t->n * (size_t)t->dim * sizeof *t->rows, error);
  }
  return status;
}

/* Adds another rank's rows, in its order of first touch; where there are none here, they keep their bits, of -0 as well. */
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
    if (!status) status = cq_messages_receive(x->messages, rank, rows, (size_t)n * (size_t)dim * sizeof *rows, error);
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
  table_rows r = {context, gradients};
  const cq_messages *m = r.exchange->messages;
  const cq_status status = cq_messages_up(m, add_rows, give_rows, &r, error);
  return status ? status : cq_messages_down(m, take_rows, give_rows, &r, error);
}

/* --- making --- */

cq_status cq_tree_exchange_new(cq_tree_exchange **out, cq_messages *messages, const cq_kernels *kernels,
                               cq_error *error) {
  *out = NULL;
  cq_tree_exchange *x = cq_alloc_zeroed(sizeof *x);
  float *chunk = x ? cq_alloc_array(CHUNK, sizeof *chunk) : NULL;
  if (!chunk) {
    cq_free(x);
    return cq_fail_memory(error, "an exchange");
  }
  *x = (cq_tree_exchange){.exchange = {.rank = messages->transport.rank,
                                       .n_ranks = messages->transport.n_ranks,
                                       .sum_dense = sum_dense,
                                       .sum_rows = sum_rows,
                                       .sum_scalars = sum_scalars,
                                       .context = x},
                          .messages = messages,
                          .kernels = kernels,
                          .chunk = chunk};
  *out = x;
  return CQ_OK;
}

void cq_tree_exchange_free(cq_tree_exchange *x) {
  if (!x) return;
  cq_free(x->chunk);
  cq_free(x->rows);
  cq_free(x);
}

const cq_exchange *cq_tree_exchange_of(const cq_tree_exchange *x) {
  return &x->exchange;
}
