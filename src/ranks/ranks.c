/* Several processes that train together: starts MPI through its plugin, or uses a caller's transport. */
#include "ranks/ranks.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/plugin.h"
#include "ranks/mpi_plugin.h"

#include <stdatomic.h>
#include <stdlib.h>

struct cq_ranks {
  const cq_mpi_plugin *plugin;
  cq_messages messages;
  char host[CQ_MPI_HOST];
};

/* MPI is started once in a process, and never again. */
static atomic_bool was_started;

bool cq_ranks_are_started(void) {
  const char *n = getenv("OMPI_COMM_WORLD_SIZE");
  return n && strtol(n, NULL, 10) > 1;
}

cq_status cq_ranks_open(cq_ranks **out, cq_error *error) {
  char message[512] = "";
  *out = NULL;
  cq_ranks *r = cq_alloc_zeroed(sizeof *r);
  if (!r) return cq_fail_memory(error, "ranks");
  cq_transport *t = &r->messages.transport;
  const void *table;
  cq_status status =
      cq_plugin_load(&table, "mpi", CQ_MPI_PLUGIN_VERSION, "several ranks need calque's plugin for Open MPI", error);
  r->plugin = table;
  if (!status && atomic_exchange(&was_started, true))
    status = cq_fail(error, CQ_ERR_ARGUMENT, "Open MPI was started in this process already");
  if (!status && r->plugin->start(&t->rank, &t->n_ranks, r->host, message, sizeof message))
    status = cq_fail(error, CQ_ERR_IO, "Open MPI: %s", message);
  if (status) {
    cq_free(r);
    return status;
  }
  t->send = r->plugin->send, t->receive = r->plugin->receive, t->interrupt = r->plugin->interrupt;
  *out = r;
  return CQ_OK;
}

cq_status cq_ranks_over(cq_ranks **out, const cq_transport *transport, cq_error *error) {
  *out = cq_alloc_zeroed(sizeof **out);
  if (!*out) return cq_fail_memory(error, "ranks");
  (*out)->messages.transport = *transport;
  return CQ_OK;
}

void cq_ranks_close(cq_ranks *ranks) {
  if (!ranks) return;
  if (ranks->plugin) ranks->plugin->finish();
  cq_free(ranks);
}

int cq_ranks_rank(const cq_ranks *ranks) {
  return ranks ? ranks->messages.transport.rank : 0;
}

int cq_ranks_count(const cq_ranks *ranks) {
  return ranks ? ranks->messages.transport.n_ranks : 1;
}

const char *cq_ranks_host(const cq_ranks *ranks) {
  return ranks->host;
}

uint64_t cq_ranks_bytes(const cq_ranks *ranks) {
  return ranks ? ranks->messages.n_sent + ranks->messages.n_received : 0;
}

void cq_ranks_end_all(cq_ranks *ranks, int code) {
  ranks->plugin->end_all(code);
}

cq_messages *cq_ranks_messages(cq_ranks *ranks) {
  return ranks ? &ranks->messages : NULL;
}

cq_status cq_ranks_sum(cq_ranks *ranks, double *values, size_t n, cq_error *error) {
  return ranks ? cq_messages_sum(&ranks->messages, values, n, error) : CQ_OK;
}

cq_status cq_ranks_broadcast(cq_ranks *ranks, void *bytes, size_t n, cq_error *error) {
  return ranks ? cq_messages_broadcast(&ranks->messages, bytes, n, error) : CQ_OK;
}

cq_status cq_ranks_meet(cq_ranks *ranks, bool *any, cq_error *error) {
  double n = any && *any ? 1 : 0;
  const cq_status status = ranks ? cq_messages_sum(&ranks->messages, &n, 1, error) : CQ_OK;
  if (any) *any = n > 0;
  return status;
}
