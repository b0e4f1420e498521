/* The interface to FAISS: a table of functions in a separate library (src/faiss/), which is loaded when first needed.
 * Exact search needs neither libfaiss nor its dependencies.
 *
 * Functions that may fail return 0, or 1 with a reason in message [message_size]. Vectors are rows of length 1. */
#ifndef SEARCH_FAISS_PLUGIN_H
#define SEARCH_FAISS_PLUGIN_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CQ_FAISS_PLUGIN_VERSION = 2, CQ_FAISS_MAX_TRAINING_ROWS = 1 << 18 };

typedef struct cq_faiss_plugin {
  int version; /* CQ_FAISS_PLUGIN_VERSION */
  /* Makes an empty index for n vectors of dim numbers, as a graph (HNSW) or as lists (IVF), with 8 bits per number. */
  int (*make)(void **out, int graph, size_t n, size_t dim, char *message, size_t message_size);
  /* On at most CQ_FAISS_MAX_TRAINING_ROWS. */
  int (*train)(void *index, const float *vectors, size_t n, int n_threads, char *message, size_t message_size);
  int (*add)(void *index, const float *vectors, size_t n, int n_threads, char *message, size_t message_size);
  int (*write)(FILE *to, const void *index, char *message, size_t message_size);
  int (*read)(void **out, FILE *from, size_t *n, size_t *dim, char *message, size_t message_size);
  /* The approximately k nearest rows of each query: rows [n_queries, k], -1 if missing. effort: lists probed or
   * candidates kept; 0: chosen automatically. Any number of threads may search at once. */
  int (*search)(int64_t *rows, const void *index, const float *queries, size_t n_queries, size_t k, size_t effort,
                int n_threads, char *message, size_t message_size);
  void (*free)(void *index);
} cq_faiss_plugin;

#ifdef __cplusplus
}
#endif
#endif
