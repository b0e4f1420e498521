/* Shared by the files of an index store: the manifest, the checks, and the internals of snapshots. See
 * index_store.h. */
#ifndef STORE_INDEX_SNAPSHOT_H
#define STORE_INDEX_SNAPSHOT_H

#include "base/file.h"
#include "base/hash.h"
#include "store/document_store.h"
#include "store/index_store.h"

#include <pthread.h>
#include <stdatomic.h>

/* The contents of the manifest. */
typedef struct cq_index_manifest {
  char *model, *fingerprint;
  char identity[CQ_IDENTITY_HEX];            /* of the index, whatever becomes of it */
  bool tasks;                                /* documents and queries use the model's prompts and routes for them */
  int64_t dim, n, n_documents;               /* records; documents that are not deleted */
  int64_t files;                             /* generation of vectors, passages, checks and documents */
  int64_t generation;                        /* of deleted-G */
  int64_t n_deleted_bytes;                   /* of it */
  int64_t approximate, n_approximate;        /* its generation, and how many records it covers */
  int64_t hubness, n_queries, k;             /* generation of hubness-H and queries-H; queries, 0: none; k nearest */
  uint64_t queries_check;                    /* of the whole file */
  uint64_t deleted_check, approximate_check; /* of the whole files; 0: none */
  cq_index_words *words;                     /* [n_words], in the order of their records */
  size_t n_words;
  int64_t last_words; /* the highest number of any file of words so far */
  uint64_t check;     /* of all of the above */
} cq_index_manifest;

/* A record's checks in the file `checks`, numbered by the record. */
typedef struct cq_index_check {
  uint64_t vector, passage; /* of its dim f32, and of its cq_index_passage */
} cq_index_check;

CQ_MUST_USE cq_status cq_index_manifest_read(cq_index_manifest *out, const char *directory, cq_error *error);
CQ_MUST_USE cq_status cq_index_manifest_save(cq_index_manifest *m, const char *directory, cq_error *error);
CQ_MUST_USE cq_status cq_index_manifest_copy(cq_index_manifest *out, const cq_index_manifest *m, cq_error *error);
bool cq_index_manifest_equal(const cq_index_manifest *a, const cq_index_manifest *b);
void cq_index_manifest_free(cq_index_manifest *m);

/* The identity of a new index. */
CQ_MUST_USE cq_status cq_index_new_identity(char out[CQ_IDENTITY_HEX], const char *directory, cq_error *error);

/* A filter's records, kept for the next search with that filter. */
typedef struct cq_index_selection {
  char *filter;
  unsigned char *records; /* [(n + 7) / 8], deleted ones not among them */
  int64_t n_records;
  uint64_t used; /* the count of uses at its last use */
} cq_index_selection;
enum { CQ_INDEX_N_SELECTIONS = 16 };

struct cq_index_snapshot {
  _Atomic int n_users;
  cq_index_manifest m;
  cq_mapping vectors, checks, passages_file;
  cq_mapping hubs_file;
  const cq_index_hub *hubs;         /* [n]; NULL: none */
  const cq_index_passage *passages; /* [n] */
  cq_document_store *documents;
  unsigned char *deleted; /* [(n + 7) / 8] */
  int64_t n_deleted;
  _Atomic unsigned char *sound;                   /* [(n + 7) / 8] a bit per record: it has been verified */
  _Atomic double *lengths;                        /* [n] of the vectors; 0: not known */
  char *vectors_path, *passages_path, *hubs_path; /* for messages */
  pthread_mutex_t selecting;                      /* of what follows */
  cq_index_selection selections[CQ_INDEX_N_SELECTIONS];
  uint64_t n_uses;
};

/* A snapshot of the manifest's state, with one reference.
 *   deleted  its list of deletions; NULL: the one on disk
 *   before   an earlier snapshot, whose unchanged parts are reused; may be NULL
 * Errors: CQ_ERR_IO; CQ_ERR_FORMAT; CQ_ERR_ARGUMENT if `before` belongs to another index. */
CQ_MUST_USE cq_status cq_index_snapshot_open(cq_index_snapshot **out, const char *directory, const cq_index_manifest *m,
                                             const unsigned char *deleted, const cq_index_snapshot *before,
                                             cq_error *error);

#define CQ_INDEX_MAX_QUERIES (INT64_C(1) << 24)
static inline uint32_t cq_index_check_of_hub(float mean, int64_t record) {
  return (uint32_t)cq_check64(&mean, sizeof mean, (uint64_t)record);
}

/* The check of a whole file. Errors: CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_index_file_check(uint64_t *out, const char *path, cq_error *error);

/* DIR/WHAT-GENERATION */
CQ_MUST_USE cq_status cq_index_path(char out[PATH_MAX], const char *directory, const char *what, int64_t generation,
                                    cq_error *error);

static inline size_t cq_index_bytes_of_bits(int64_t n) {
  return ((size_t)n + 7) / 8;
}
static inline bool cq_index_bit(const unsigned char *bits, int64_t i) {
  return bits[i / 8] >> (i % 8) & 1;
}
static inline void cq_index_set_bit(unsigned char *bits, int64_t i) {
  bits[i / 8] |= (unsigned char)(1u << (i % 8));
}

#endif
