/* The internals of an open index that reading and writing share. */
#ifndef STORE_INDEX_WRITER_H
#define STORE_INDEX_WRITER_H

#include "store/index_snapshot.h"

/* The growing files of a generation, open for writing. */
typedef struct cq_index_files {
  int passages, vectors, checks; /* descriptors; -1: closed */
  cq_document_store *documents;
} cq_index_files;

struct cq_index_store {
  char *directory;
  pthread_mutex_t mutex; /* of what follows */
  cq_index_snapshot *newest;
  pthread_mutex_t refreshing; /* held by the thread that checks for a newer one */
  /* Writing, by one thread at a time. */
  int lock; /* a descriptor; -1: only reading */
  cq_index_files files;
  unsigned char *deleted; /* [(n + 7) / 8] of the valid records, including uncommitted deletions */
  bool changed;           /* it differs from the newest snapshot's */
  int64_t n_new;          /* records after those that count */
  int64_t n_documents;    /* as in the next manifest, like all that follows */
  int64_t next_approximate, n_approximate;
  uint64_t approximate_check;
  cq_index_words *words;
  size_t n_words, words_capacity;
  int64_t last_words;
  bool changed_words;
  int hubs; /* a descriptor of hubness-H; -1: none */
  int64_t hubness, n_queries, k, n_hubs;
  uint64_t queries_check;
};

void cq_index_files_init(cq_index_files *files);
CQ_MUST_USE cq_status cq_index_files_open(cq_index_files *out, const char *directory, int64_t generation,
                                          cq_error *error);
/* The change is on disk when it returns. */
CQ_MUST_USE cq_status cq_index_files_sync(const cq_index_files *files, const char *directory, cq_error *error);
void cq_index_files_close(cq_index_files *files);
/* Writes records after the first n: their passages and vectors [n_new, dim], with checks of both. */
CQ_MUST_USE cq_status cq_index_files_write(const cq_index_files *files, int64_t n, const cq_index_passage *passages,
                                           const float *vectors, size_t n_new, int64_t dim, const char *directory,
                                           cq_error *error);

/* --- hubness: index_hubness.c --- */

/* fresh: an empty file. */
CQ_MUST_USE cq_status cq_index_hubs_open(int *out, const cq_index_store *s, int64_t generation, bool fresh,
                                         cq_error *error);
CQ_MUST_USE cq_status cq_index_hubs_write(int file, const cq_index_store *s, int64_t first, const float *means,
                                          int64_t n, cq_error *error);
CQ_MUST_USE cq_status cq_index_hubs_sync(int file, const cq_index_store *s, int64_t generation, cq_error *error);
CQ_MUST_USE cq_status cq_index_prepare_hubness(cq_index_store *s, cq_error *error);
/* Before a commit: syncs the part of the hubness that the manifest counts. */
CQ_MUST_USE cq_status cq_index_commit_hubness(cq_index_manifest *next, const cq_index_store *s, cq_error *error);
/* Writes the valid hubness queries as another generation. */
CQ_MUST_USE cq_status cq_index_copy_queries(const cq_index_store *s, int64_t generation, cq_error *error);

/* --- */

/* Reserves room for n parts of the lexical index, so that adopting them cannot fail. */
CQ_MUST_USE cq_status cq_index_store_reserve_words(cq_index_store *s, size_t n, cq_error *error);
/* Adopts the newest snapshot's state, and truncates data left by a killed process. */
CQ_MUST_USE cq_status cq_index_prepare_writing(cq_index_store *s, cq_error *error);
/* Removes files that the newest manifest does not name, and the unfinished files of killed processes. */
void cq_index_remove_left(const cq_index_store *s);
/* --- index_newest.c --- */

/* The snapshot of the manifest on disk; *out NULL: it is the same as `before`. */
CQ_MUST_USE cq_status cq_index_read_newest(cq_index_snapshot **out, const char *directory,
                                           const cq_index_snapshot *before, cq_error *error);
/* Makes it the newest snapshot. */
void cq_index_publish(cq_index_store *s, cq_index_snapshot *newest);

#endif
