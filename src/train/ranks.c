#include "train/ranks.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/plugin.h"
#include "tensor/kernels.h"
#include "train/mpi_plugin.h"

#include <stdatomic.h>
#include <stdlib.h>

struct cq_ranks {
  const cq_mpi_plugin *plugin;
  cq_tree_exchange *exchange;
  int rank, n;
  char host[CQ_MPI_HOST];
};

/* MPI is started once in a process, and never again. */
static atomic_bool was_started;

bool cq_ranks_are_started(void) {
  const char *n = getenv("OMPI_COMM_WORLD_SIZE");
  return n && strtol(n, NULL, 10) > 1;
}

static cq_status load_mpi(const cq_mpi_plugin **out, cq_error *error) {
  const void *table;
  cq_error reason = {0};
  if (cq_plugin_open(&table, "libcalque_mpi.so", CQ_MPI_PLUGIN_SYMBOL, &reason))
    return cq_fail(error, CQ_ERR_UNSUPPORTED, "several ranks need calque's plugin for Open MPI: %s", reason.message);
  *out = table;
  if ((*out)->version == CQ_MPI_PLUGIN_VERSION) return CQ_OK;
  return cq_fail(error, CQ_ERR_UNSUPPORTED, "calque's plugin for Open MPI is of version %d, not %d", (*out)->version,
                 CQ_MPI_PLUGIN_VERSION);
}

cq_status cq_ranks_open(cq_ranks **out, cq_error *error) {
  char message[512] = "";
  *out = NULL;
  cq_ranks *r = cq_alloc_zeroed(sizeof *r);
  if (!r) return cq_fail_memory(error, "ranks");
  cq_status status = load_mpi(&r->plugin, error);
  if (!status && atomic_exchange(&was_started, true))
    status = cq_fail(error, CQ_ERR_ARGUMENT, "Open MPI was started in this process already");
  if (!status && r->plugin->start(&r->rank, &r->n, r->host, message, sizeof message))
    status = cq_fail(error, CQ_ERR_IO, "Open MPI: %s", message);
  const cq_transport transport = {.rank = r->rank,
                                  .n_ranks = r->n,
                                  .send = r->plugin ? r->plugin->send : NULL,
                                  .receive = r->plugin ? r->plugin->receive : NULL};
  if (!status) status = cq_tree_exchange_new(&r->exchange, &transport, cq_kernels_best(), error);
  if (status)
    cq_free(r);
  else
    *out = r;
  return status;
}

void cq_ranks_close(cq_ranks *ranks) {
  if (!ranks) return;
  ranks->plugin->finish();
  cq_tree_exchange_free(ranks->exchange);
  cq_free(ranks);
}

int cq_ranks_rank(const cq_ranks *ranks) {
  return ranks ? ranks->rank : 0;
}

int cq_ranks_count(const cq_ranks *ranks) {
  return ranks ? ranks->n : 1;
}

const char *cq_ranks_host(const cq_ranks *ranks) {
  return ranks->host;
}

uint64_t cq_ranks_bytes(const cq_ranks *ranks) {
  return ranks ? cq_tree_exchange_bytes(ranks->exchange) : 0;
}

void cq_ranks_end_all(cq_ranks *ranks, int code) {
  ranks->plugin->end_all(code);
}

const cq_exchange *cq_ranks_exchange(const cq_ranks *ranks) {
  return ranks ? cq_tree_exchange_of(ranks->exchange) : &cq_exchange_local;
}

cq_status cq_ranks_broadcast(cq_ranks *ranks, void *bytes, size_t n, cq_error *error) {
  return ranks ? cq_tree_exchange_broadcast(ranks->exchange, bytes, n, error) : CQ_OK;
}

cq_status cq_ranks_meet(cq_ranks *ranks, bool *any, cq_error *error) {
  const cq_exchange *e = cq_ranks_exchange(ranks);
  double n = any && *any ? 1 : 0;
  const cq_status status = e->sum_scalars(e->context, &n, 1, error);
  if (any) *any = n > 0;
  return status;
}
