/* The interface to Open MPI: a table of functions in a separate library (src/mpi/), loaded only
 * when mpirun has started several processes.
 *
 * Functions return 0, or 1 with a reason in message [size]. Calls do not overlap, except for interrupt. */
#ifndef RANKS_MPI_PLUGIN_H
#define RANKS_MPI_PLUGIN_H

#include <stddef.h>

enum { CQ_MPI_PLUGIN_VERSION = 2, CQ_MPI_HOST = 256 };

typedef struct cq_mpi_plugin {
  int version; /* CQ_MPI_PLUGIN_VERSION */
  /* Once a process. host: the name of this machine. */
  int (*start)(int *rank, int *n_ranks, char host[CQ_MPI_HOST], char *message, size_t size);
  int (*send)(void *context, int to, const void *bytes, size_t n, char *message, size_t size);
  int (*receive)(void *context, int from, void *bytes, size_t n, char *message, size_t size);
  void (*interrupt)(void *context); /* ranks/messages.h */
  void (*finish)(void);             /* waits for the other ranks */
  void (*end_all)(int code);        /* ends all ranks, including this one, with that exit code */
} cq_mpi_plugin;

#endif
