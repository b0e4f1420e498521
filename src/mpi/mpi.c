#include "ranks/mpi_plugin.h"

#include <mpi.h>
#include <stdio.h>

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
  if ((code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided))) return explain(code, message, size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if ((code = MPI_Comm_rank(MPI_COMM_WORLD, rank)) || (code = MPI_Comm_size(MPI_COMM_WORLD, n_ranks)) ||
      (code = MPI_Get_processor_name(name, &n)))
    return explain(code, message, size);
  snprintf(host, CQ_MPI_HOST, "%s", name);
  return 0;
}

static int send(void *context, int to, const void *bytes, size_t n, char *message, size_t size) {
  (void)context;
  for (const char *at = bytes; n > 0;) {
    const int part = n < MAX_MESSAGE ? (int)n : MAX_MESSAGE;
    const int code = MPI_Send(at, part, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
    if (code) return explain(code, message, size);
    at += part, n -= (size_t)part;
  }
  return 0;
}

static int receive(void *context, int from, void *bytes, size_t n, char *message, size_t size) {
  (void)context;
  for (char *at = bytes; n > 0;) {
    const int part = n < MAX_MESSAGE ? (int)n : MAX_MESSAGE;
    MPI_Status status;
    int got = 0, code = MPI_Recv(at, part, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &status);
    if (!code) code = MPI_Get_count(&status, MPI_BYTE, &got);
    if (code) return explain(code, message, size);
    if (got != part) {
      snprintf(message, size, "%d bytes came, expected %d: the ranks run different programs", got, part);
      return 1;
    }
    at += part, n -= (size_t)part;
  }
  return 0;
}

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
    .finish = finish,
    .end_all = end_all,
};
