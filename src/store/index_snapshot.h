/* What the files of an index share: the manifest, the checks, and snapshots from inside. See index_store.h. */
#ifndef STORE_INDEX_SNAPSHOT_H
#define STORE_INDEX_SNAPSHOT_H

#include "base/file.h"
#include "store/index_store.h"

#include <stdatomic.h>
#include <sys/types.h>

/* What the manifest says. */
typedef struct cq_index_manifest {
  char *model, *fingerprint;
  int format; /* 0: of calque 0.1, whose fingerprints cannot be compared and whose files have no checks; 1 */
  int64_t dim, n, n_bytes, generation;
  int64_t n_deleted_bytes;                   /* of deleted-G */
  int64_t approximate, n_approximate;        /* its generation, and how many records it covers */
  uint64_t deleted_check, approximate_check; /* of the whole files; 0: there is none */
} cq_index_manifest;

/* The checks of a record, as they lie in the file `checks`; their number is the record's. */
typedef struct cq_index_check {
  uint64_t vector, document; /* of its dim f32, and of its line with the newline */
} cq_index_check;

CQ_MUST_USE cq_status cq_index_manifest_read(cq_index_manifest *out, const char *directory, cq_error *error);
CQ_MUST_USE cq_status cq_index_manifest_save(const cq_index_manifest *m, const char *directory, cq_error *error);
CQ_MUST_USE cq_status cq_index_manifest_copy(cq_index_manifest *out, const cq_index_manifest *m, cq_error *error);
bool cq_index_manifest_equal(const cq_index_manifest *a, const cq_index_manifest *b);
void cq_index_manifest_free(cq_index_manifest *m);

struct cq_index_snapshot {
  _Atomic int n_users;
  cq_index_manifest m;
  cq_mapping documents, vectors, checks; /* checks: empty for format 0 */
  dev_t device;                          /* of the file of documents */
  ino_t inode;
  uint64_t *starts;       /* [n + 1] of the documents' lines */
  unsigned char *deleted; /* [(n + 7) / 8] */
  int64_t n_deleted;
  _Atomic unsigned char *sound;        /* [(n + 7) / 8] vectors that have been compared with their checks */
  char *vectors_path, *documents_path; /* for messages */
};

/* What a manifest counts, with one user.
 *   deleted  its list of deletions; NULL: the one on disk
 *   before   an earlier snapshot, of which is taken what stays the same; may be NULL
 * Errors: CQ_ERR_IO; CQ_ERR_FORMAT; CQ_ERR_ARGUMENT when `before` is another index's. */
CQ_MUST_USE cq_status cq_index_snapshot_open(cq_index_snapshot **out, const char *directory, const cq_index_manifest *m,
                                             const unsigned char *deleted, const cq_index_snapshot *before,
                                             cq_error *error);

/* The check of a whole file. Errors: CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_index_file_check(uint64_t *out, const char *path, cq_error *error);

/* DIR/WHAT-GENERATION */
CQ_MUST_USE cq_status cq_index_path(char out[PATH_MAX], const char *directory, const char *what, int64_t generation,
                                    cq_error *error);

static inline size_t cq_index_deleted_bytes(int64_t n) {
  return ((size_t)n + 7) / 8;
}
static inline bool cq_index_bit(const unsigned char *bits, int64_t i) {
  return bits[i / 8] >> (i % 8) & 1;
}

#endif
