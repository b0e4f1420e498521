/* The functions of ranks/mpi_plugin.h, by Open MPI: messages of bytes between the processes that mpirun has started. */
#include "ranks/mpi_plugin.h"

#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

enum { MAX_MESSAGE = 1 << 30, TAG = 7 }; /* bytes: MPI counts in int */

static int explain(int code, char *message, size_t size) {
  char text[MPI_MAX_ERROR_STRING];
  int n;
  if (MPI_Error_string(code, text, &n) != MPI_SUCCESS) snprintf(text, sizeof text, "MPI's error %d", code);
  snprintf(message, size, "%s", text);
  return 1;
}

static int start(int *rank, int *n_ranks, char host[CQ_MPI_HOST], char *message, size_t size) {
  char name[MPI_MAX_PROCESSOR_NAME + 1] = "";
  int n, code, provided;
  if ((code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided))) return explain(code, message, size);
  if (provided < MPI_THREAD_SERIALIZED) {
    snprintf(message, size, "it was built without threads");
    return 1;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if ((code = MPI_Comm_rank(MPI_COMM_WORLD, rank)) || (code = MPI_Comm_size(MPI_COMM_WORLD, n_ranks)) ||
      (code = MPI_Get_processor_name(name, &n)))
    return explain(code, message, size);
  snprintf(host, CQ_MPI_HOST, "%s", name);
  return 0;
}

static atomic_bool interrupted;

static void interrupt(void *context) {
  (void)context;
  atomic_store(&interrupted, true);
}

/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): it does not know that MPI_Test ends a request. */

/* Waits for a message without keeping a core busy, which other processes may need: polls at first, then sleeps between
 * polls. */
static int wait_for(MPI_Request *request, MPI_Status *status, char *message, size_t size) {
  enum { SPINS = 200, NANOSECONDS = 50000 };
  for (int i = 0, done = 0;; i++) {
    const int code = MPI_Test(request, &done, status);
    if (code) return explain(code, message, size);
    if (done) return 0;
    if (atomic_load(&interrupted)) {
      snprintf(message, size, "the run has ended");
      return 1;
    }
    if (i < SPINS)
      sched_yield();
    else
      nanosleep(&(struct timespec){.tv_nsec = NANOSECONDS}, NULL);
  }
}

static int send(void *context, int to, const void *bytes, size_t n, char *message, size_t size) {
  (void)context;
  for (const char *at = bytes; n > 0;) {
    const int part = n < MAX_MESSAGE ? (int)n : MAX_MESSAGE;
    MPI_Request request;
    MPI_Status status;
    const int code = MPI_Isend(at, part, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &request);
    if (code) return explain(code, message, size);
    if (wait_for(&request, &status, message, size)) return 1;
    at += part, n -= (size_t)part;
  }
  return 0;
}

static int receive(void *context, int from, void *bytes, size_t n, char *message, size_t size) {
  (void)context;
  for (char *at = bytes; n > 0;) {
    const int part = n < MAX_MESSAGE ? (int)n : MAX_MESSAGE;
    MPI_Request request;
    MPI_Status status;
    int got = 0, code = MPI_Irecv(at, part, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &request);
    if (code) return explain(code, message, size);
    if (wait_for(&request, &status, message, size)) return 1;
    if ((code = MPI_Get_count(&status, MPI_BYTE, &got))) return explain(code, message, size);
    if (got != part) {
      snprintf(message, size, "%d bytes came, expected %d: the ranks run different programs", got, part);
      return 1;
    }
    at += part, n -= (size_t)part;
  }
  return 0;
}

/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

static void finish(void) {
  MPI_Finalize();
}

static void end_all(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
}

extern const cq_mpi_plugin cq_mpi_plugin_table;
__attribute__((visibility("default"))) const cq_mpi_plugin cq_mpi_plugin_table = {
    .version = CQ_MPI_PLUGIN_VERSION,
    .start = start,
    .send = send,
    .receive = receive,
    .interrupt = interrupt,
    .finish = finish,
    .end_all = end_all,
};
