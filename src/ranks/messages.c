/* Sends and receives bytes, and walks the tree of ranks: rank r sends to r - step, where step is the lowest bit of r.
 * See messages.h. */
#include "ranks/messages.h"

#include "base/error.h"
#include "base/memory.h"

/* --- from one to another --- */

cq_status cq_messages_send(cq_messages *m, int to, const void *bytes, size_t n, cq_error *error) {
  char message[256] = "";
  m->n_sent += n;
  if (!n || !m->transport.send(m->transport.context, to, bytes, n, message, sizeof message)) return CQ_OK;
  return cq_fail(error, CQ_ERR_IO, "rank %d cannot send to rank %d: %s", m->transport.rank, to, message);
}

cq_status cq_messages_receive(cq_messages *m, int from, void *bytes, size_t n, cq_error *error) {
  char message[256] = "";
  m->n_received += n;
  if (!n || !m->transport.receive(m->transport.context, from, bytes, n, message, sizeof message)) return CQ_OK;
  return cq_fail(error, CQ_ERR_IO, "rank %d cannot receive from rank %d: %s", m->transport.rank, from, message);
}

/* --- along the tree --- */

/* The rank that this one sends to, and the distance to it; -1 for rank 0. */
static int parent_of(const cq_transport *t, int *step) {
  for (*step = 1; *step < t->n_ranks; *step *= 2)
    if (t->rank % (2 * *step) == *step) return t->rank - *step;
  return -1;
}

cq_status cq_messages_up(const cq_messages *m, cq_message_fn take, cq_message_fn give, void *context, cq_error *error) {
  const cq_transport *t = &m->transport;
  int step;
  const int parent = parent_of(t, &step);
  cq_status status = CQ_OK;
  for (int s = 1; !status && s < step && t->rank + s < t->n_ranks; s *= 2) status = take(context, t->rank + s, error);
  return status || parent < 0 ? status : give(context, parent, error);
}

cq_status cq_messages_down(const cq_messages *m, cq_message_fn take, cq_message_fn give, void *context,
                           cq_error *error) {
  const cq_transport *t = &m->transport;
  int step;
  const int parent = parent_of(t, &step);
  cq_status status = parent < 0 ? CQ_OK : take(context, parent, error);
  for (int s = step / 2; !status && s > 0; s /= 2)
    if (t->rank + s < t->n_ranks) status = give(context, t->rank + s, error);
  return status;
}

typedef struct span {
  cq_messages *messages;
  void *bytes;
  size_t n;
  double *received; /* [n / 8], of a sum */
} span;

static cq_status give_span(void *context, int rank, cq_error *error) {
  const span *s = context;
  return cq_messages_send(s->messages, rank, s->bytes, s->n, error);
}

static cq_status take_span(void *context, int rank, cq_error *error) {
  const span *s = context;
  return cq_messages_receive(s->messages, rank, s->bytes, s->n, error);
}

cq_status cq_messages_broadcast(cq_messages *m, void *bytes, size_t n, cq_error *error) {
  return cq_messages_down(m, take_span, give_span, &(span){m, bytes, n, NULL}, error);
}

static cq_status add_span(void *context, int rank, cq_error *error) {
  const span *s = context;
  double *values = s->bytes;
  const cq_status status = cq_messages_receive(s->messages, rank, s->received, s->n, error);
  for (size_t i = 0; !status && i < s->n / sizeof *values; i++) values[i] += s->received[i];
  return status;
}

cq_status cq_messages_sum(cq_messages *m, double *values, size_t n, cq_error *error) {
  if (m->transport.n_ranks == 1) return CQ_OK;
  span s = {m, values, n * sizeof *values, cq_alloc_array(n, sizeof *values)};
  if (!s.received) return cq_fail_memory(error, "a sum over all ranks");
  cq_status status = cq_messages_up(m, add_span, give_span, &s, error);
  cq_free(s.received);
  return status ? status : cq_messages_broadcast(m, values, s.n, error);
}

/* --- parts --- */

static size_t part_begin(const size_t *ends, int rank) {
  return rank ? ends[rank - 1] : 0;
}

cq_status cq_messages_share(cq_messages *m, void *bytes, const size_t *ends, cq_error *error) {
  const int rank = m->transport.rank, n = m->transport.n_ranks, next = (rank + 1) % n, last = (rank + n - 1) % n;
  char *at = bytes;
  cq_status status = CQ_OK;
  for (int i = 0; !status && i < n - 1; i++) {
    const int given = (rank - i + n) % n, taken = (given - 1 + n) % n;
    const size_t give = part_begin(ends, given), take = part_begin(ends, taken);
    /* Even ranks send first, odd ones receive first: no two ranks wait for each other. */
    if (rank % 2) status = cq_messages_receive(m, last, at + take, ends[taken] - take, error);
    if (!status) status = cq_messages_send(m, next, at + give, ends[given] - give, error);
    if (!status && rank % 2 == 0) status = cq_messages_receive(m, last, at + take, ends[taken] - take, error);
  }
  return status;
}

cq_status cq_messages_collect(cq_messages *m, void *bytes, const size_t *ends, cq_error *error) {
  char *at = bytes;
  cq_status status = CQ_OK;
  if (m->transport.rank > 0) {
    const size_t begin = part_begin(ends, m->transport.rank);
    return cq_messages_send(m, 0, at + begin, ends[m->transport.rank] - begin, error);
  }
  for (int i = 1; !status && i < m->transport.n_ranks; i++)
    status = cq_messages_receive(m, i, at + ends[i - 1], ends[i] - ends[i - 1], error);
  return status;
}
