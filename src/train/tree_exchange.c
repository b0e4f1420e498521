#include "train/tree_exchange.h"

#include "base/error.h"
#include "base/memory.h"

#include <string.h>

enum { CHUNK = 1 << 20 }; /* floats that are received and added at once */

struct cq_tree_exchange {
  cq_exchange exchange;
  cq_transport transport;
  const cq_kernels *kernels;
  float *chunk; /* [CHUNK] */
  unsigned char *rows;
  size_t rows_capacity;
  uint64_t n_bytes;
};

/* --- messages --- */

static cq_status send_bytes(cq_tree_exchange *x, int to, const void *bytes, size_t n, cq_error *error) {
  char message[256] = "";
  x->n_bytes += n;
  if (!n || !x->transport.send(x->transport.context, to, bytes, n, message, sizeof message)) return CQ_OK;
  return cq_fail(error, CQ_ERR_IO, "rank %d cannot send to rank %d: %s", x->exchange.rank, to, message);
}

static cq_status receive_bytes(cq_tree_exchange *x, int from, void *bytes, size_t n, cq_error *error) {
  char message[256] = "";
  x->n_bytes += n;
  if (!n || !x->transport.receive(x->transport.context, from, bytes, n, message, sizeof message)) return CQ_OK;
  return cq_fail(error, CQ_ERR_IO, "rank %d cannot receive from rank %d: %s", x->exchange.rank, from, message);
}

/* The rank that this one sends its sum to, and how far it is away; rank 0 has none: -1. */
static int parent_of(const cq_exchange *e, int *step) {
  for (*step = 1; *step < e->n_ranks; *step *= 2)
    if (e->rank % (2 * *step) == *step) return e->rank - *step;
  return -1;
}

typedef cq_status (*rank_fn)(cq_tree_exchange *x, int rank, void *what, cq_error *error);

/* Takes from those that send to this rank, in the order of the tree, then gives to its own parent. */
static cq_status pass_up(cq_tree_exchange *x, rank_fn take, rank_fn give, void *what, cq_error *error) {
  int step;
  const int parent = parent_of(&x->exchange, &step);
  cq_status status = CQ_OK;
  for (int s = 1; !status && s < step && x->exchange.rank + s < x->exchange.n_ranks; s *= 2)
    status = take(x, x->exchange.rank + s, what, error);
  return status || parent < 0 ? status : give(x, parent, what, error);
}

/* The other way round: from the parent, then to those that sent. */
static cq_status pass_down(cq_tree_exchange *x, rank_fn take, rank_fn give, void *what, cq_error *error) {
  int step;
  const int parent = parent_of(&x->exchange, &step);
  cq_status status = parent < 0 ? CQ_OK : take(x, parent, what, error);
  for (int s = step / 2; !status && s > 0; s /= 2)
    if (x->exchange.rank + s < x->exchange.n_ranks) status = give(x, x->exchange.rank + s, what, error);
  return status;
}

/* --- bytes, as they are --- */

typedef struct span {
  void *bytes;
  size_t n; /* of the elements, where there are some */
} span;

static cq_status give_span(cq_tree_exchange *x, int rank, void *what, cq_error *error) {
  const span *s = what;
  return send_bytes(x, rank, s->bytes, s->n, error);
}

static cq_status take_span(cq_tree_exchange *x, int rank, void *what, cq_error *error) {
  const span *s = what;
  return receive_bytes(x, rank, s->bytes, s->n, error);
}

cq_status cq_tree_exchange_broadcast(cq_tree_exchange *x, void *bytes, size_t n, cq_error *error) {
  return pass_down(x, take_span, give_span, &(span){bytes, n}, error);
}

/* --- sums of numbers --- */

static cq_status add_floats(cq_tree_exchange *x, int rank, void *what, cq_error *error) {
  const span *s = what;
  float *values = s->bytes;
  cq_status status = CQ_OK;
  for (size_t left = s->n / sizeof *values; !status && left > 0;) {
    const size_t n = cq_min(left, CHUNK);
    status = receive_bytes(x, rank, x->chunk, n * sizeof *values, error);
    if (!status) x->kernels->add(values, x->chunk, (int64_t)n);
    values += n, left -= n;
  }
  return status;
}

static cq_status add_doubles(cq_tree_exchange *x, int rank, void *what, cq_error *error) {
  const span *s = what;
  double *values = s->bytes, *received = (double *)(void *)x->chunk;
  cq_status status = CQ_OK;
  for (size_t left = s->n / sizeof *values; !status && left > 0;) {
    const size_t n = cq_min(left, CHUNK / 2);
    status = receive_bytes(x, rank, received, n * sizeof *values, error);
    for (size_t i = 0; !status && i < n; i++) values[i] += received[i];
    values += n, left -= n;
  }
  return status;
}

/* In the chunks that add_floats and add_doubles receive: both have as many bytes. */
static cq_status give_chunks(cq_tree_exchange *x, int rank, void *what, cq_error *error) {
  const span *s = what;
  const char *bytes = s->bytes;
  cq_status status = CQ_OK;
  for (size_t left = s->n; !status && left > 0;) {
    const size_t n = cq_min(left, CHUNK * sizeof(float));
    status = send_bytes(x, rank, bytes, n, error);
    bytes += n, left -= n;
  }
  return status;
}

static cq_status sum_dense(void *context, float *values, int64_t n, cq_error *error) {
  span s = {values, (size_t)n * sizeof *values};
  const cq_status status = pass_up(context, add_floats, give_chunks, &s, error);
  return status ? status : cq_tree_exchange_broadcast(context, s.bytes, s.n, error);
}

static cq_status sum_scalars(void *context, double *values, size_t n, cq_error *error) {
  span s = {values, n * sizeof *values};
  const cq_status status = pass_up(context, add_doubles, give_chunks, &s, error);
  return status ? status : cq_tree_exchange_broadcast(context, s.bytes, s.n, error);
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

static cq_status give_rows(cq_tree_exchange *x, int rank, void *what, cq_error *error) {
  const cq_gradients *g = what;
  uint64_t n_bytes = 0;
  for (int i = 0; i < g->n_tables; i++) {
    const cq_table_gradient *t = &g->tables[i];
    n_bytes += sizeof n_bytes + t->n * (sizeof(int32_t) + (size_t)t->dim * sizeof(float));
  }
  cq_status status = send_bytes(x, rank, &n_bytes, sizeof n_bytes, error);
  for (int i = 0; !status && i < g->n_tables; i++) {
    const cq_table_gradient *t = &g->tables[i];
    const uint64_t n = t->n;
    status = send_bytes(x, rank, &n, sizeof n, error);
    if (!status) status = send_bytes(x, rank, t->row_of, t->n * sizeof *t->row_of, error);
    if (!status) status = send_bytes(x, rank, t->rows, t->n * (size_t)t->dim * sizeof *t->rows, error);
  }
  return status;
}

/* Adds another rank's rows, in its order of first touch; where there are none here, they keep their bits, of -0 as well. */
static cq_status receive_rows(cq_tree_exchange *x, int rank, cq_gradients *g, bool are_first, cq_error *error) {
  uint64_t n_bytes = 0;
  cq_status status = receive_bytes(x, rank, &n_bytes, sizeof n_bytes, error);
  if (!status && !make_room(x, (size_t)n_bytes)) return cq_fail_memory(error, "the gradients of another rank");
  size_t at = 0;
  for (int i = 0; !status && i < g->n_tables; i++) {
    const int64_t dim = g->tables[i].dim;
    uint64_t n = 0;
    status = receive_bytes(x, rank, &n, sizeof n, error);
    at += sizeof n;
    const size_t row = sizeof(int32_t) + (size_t)dim * sizeof(float);
    if (!status && (at > n_bytes || n > (n_bytes - at) / row))
      status = cq_fail(error, CQ_ERR_IO, "rank %d sends rows of another model", rank);
    if (status) break;
    int32_t *numbers = (int32_t *)(void *)x->rows;
    float *rows = (float *)(void *)(numbers + n);
    status = receive_bytes(x, rank, numbers, (size_t)n * sizeof *numbers, error);
    if (!status) status = receive_bytes(x, rank, rows, (size_t)n * (size_t)dim * sizeof *rows, error);
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

static cq_status add_rows(cq_tree_exchange *x, int rank, void *what, cq_error *error) {
  return receive_rows(x, rank, what, false, error);
}

/* In place of what is here. */
static cq_status take_rows(cq_tree_exchange *x, int rank, void *what, cq_error *error) {
  cq_gradients *g = what;
  for (int i = 0; i < g->n_tables; i++) {
    cq_table_gradient *t = &g->tables[i];
    for (size_t s = 0; s < t->n; s++) t->slot_of[t->row_of[s]] = 0;
    t->n = 0;
  }
  return receive_rows(x, rank, g, true, error);
}

static cq_status sum_rows(void *context, cq_gradients *gradients, cq_error *error) {
  const cq_status status = pass_up(context, add_rows, give_rows, gradients, error);
  return status ? status : pass_down(context, take_rows, give_rows, gradients, error);
}

/* --- making --- */

cq_status cq_tree_exchange_new(cq_tree_exchange **out, const cq_transport *transport, const cq_kernels *kernels,
                               cq_error *error) {
  *out = NULL;
  if (transport->n_ranks < 1 || transport->rank < 0 || transport->rank >= transport->n_ranks)
    return cq_fail(error, CQ_ERR_ARGUMENT, "rank %d of %d", transport->rank, transport->n_ranks);
  cq_tree_exchange *x = cq_alloc_zeroed(sizeof *x);
  float *chunk = x ? cq_alloc_array(CHUNK, sizeof *chunk) : NULL;
  if (!chunk) {
    cq_free(x);
    return cq_fail_memory(error, "an exchange");
  }
  *x = (cq_tree_exchange){.exchange = {.rank = transport->rank,
                                       .n_ranks = transport->n_ranks,
                                       .sum_dense = sum_dense,
                                       .sum_rows = sum_rows,
                                       .sum_scalars = sum_scalars,
                                       .context = x},
                          .transport = *transport,
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

uint64_t cq_tree_exchange_bytes(const cq_tree_exchange *x) {
  return x->n_bytes;
}
