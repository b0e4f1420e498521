/* A search index on disk: documents, their vectors, and which model the vectors are of.
 *
 *   DIR/manifest.json    model, fingerprint, dim; how many documents and bytes count; the generation of deleted-G
 *   DIR/documents        a line a document: id <tab> language <tab> text
 *   DIR/vectors          dim f32 a document, in the same order
 *   DIR/checks           of each document's vector and line: XXH3, 64 bits each
 *   DIR/deleted-G        a bit a document, least significant first; none for generation 0
 *   DIR/approximate-G    what helps to search the first documents' vectors, if anything does
 *   DIR/lock             held by the one process that writes
 *
 * documents, vectors and checks only grow, and only what the manifest counts is there. A change is written behind it, synced,
 * and becomes visible when the manifest is replaced: a process killed at any moment leaves the index as it was before
 * or as it is after. Readers need no lock: a snapshot is what one manifest counts, and stays as it is, its files
 * mapped, until the last user lets go of it.
 *
 * What is read is compared with its check: deletions when the index is opened, vectors and documents when they are used
 * (the caller says when), an approximation before it is opened. What does not fit is CQ_ERR_FORMAT, and the message names
 * file and document. docs/formats.md has the bytes.
 *
 * Any number of threads may hold snapshots, read them and refresh; the functions that write are for one thread at a
 * time. */
#ifndef STORE_INDEX_STORE_H
#define STORE_INDEX_STORE_H

#include "calque/context.h"
#include "calque/slice.h"
#include "calque/status.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cq_index_store cq_index_store;
typedef struct cq_index_snapshot cq_index_snapshot;

typedef struct cq_index_record {
  cq_slice id, language, text; /* language may be empty */
} cq_index_record;

typedef struct cq_index_info {
  const char *model;       /* the name it was made with */
  const char *fingerprint; /* cq_encoder_fingerprint's; NULL: calque 0.1 made it, and had other fingerprints */
  int64_t dim;
  int64_t n;             /* records, deleted ones included */
  int64_t n_live;        /* those that are not */
  int64_t n_approximate; /* the first so many have an approximation; 0: there is none */
  int64_t approximate;   /* its generation */
} cq_index_info;

/* Makes an empty index. Errors: CQ_ERR_ARGUMENT when the directory exists; CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_index_store_create(const char *directory, const char *model, const char *fingerprint,
                                            int64_t dim, cq_error *error);
/* Opens one. Errors: CQ_ERR_IO; CQ_ERR_FORMAT for a manifest that is none, or files shorter than it says;
 * CQ_ERR_ARGUMENT when another process is writing and `writing` is asked for. */
CQ_MUST_USE cq_status cq_index_store_open(cq_index_store **out, const char *directory, bool writing, cq_error *error);
void cq_index_store_close(cq_index_store *store); /* snapshots that are held stay */

/* --- reading --- */

/* The newest snapshot, to be let go of. */
cq_index_snapshot *cq_index_store_hold(cq_index_store *store);
void cq_index_snapshot_release(cq_index_snapshot *snapshot);
/* Looks for what another process has committed; *changed: whether there is a newer snapshot. A store that is open for
 * writing has the newest. Errors: CQ_ERR_ARGUMENT when another index is in its place; as opening. The store stays as
 * it is on an error. */
CQ_MUST_USE cq_status cq_index_store_refresh(cq_index_store *store, bool *changed, cq_error *error);

cq_index_info cq_index_snapshot_info(const cq_index_snapshot *snapshot);
const float *cq_index_snapshot_vectors(const cq_index_snapshot *snapshot); /* [n, dim], mapped */
cq_index_record cq_index_snapshot_record(const cq_index_snapshot *snapshot, int64_t record);
bool cq_index_snapshot_is_live(const cq_index_snapshot *snapshot, int64_t record);

/* Whether a record's vector is as it was written; compared once. Without checks (an index of calque 0.1) it is. */
bool cq_index_snapshot_is_sound(const cq_index_snapshot *snapshot, int64_t record);
/* The same of its line. */
bool cq_index_snapshot_is_sound_document(const cq_index_snapshot *snapshot, int64_t record);
/* The CQ_ERR_FORMAT of a record of which one of them is not. */
CQ_MUST_USE cq_status cq_index_snapshot_fail(const cq_index_snapshot *snapshot, int64_t record, cq_error *error);
/* Compares all vectors and lines. Errors: CQ_ERR_FORMAT for the first that is damaged. */
CQ_MUST_USE cq_status cq_index_snapshot_verify(const cq_index_snapshot *snapshot, cq_context *ctx, cq_error *error);

/* Where the approximation of a generation is. Errors: CQ_ERR_ARGUMENT for a path that is too long. */
CQ_MUST_USE cq_status cq_index_store_approximate(char path[PATH_MAX], const cq_index_store *store, int64_t generation,
                                                 cq_error *error);
/* Compares a snapshot's approximation, whose path that is, with its check. Errors: CQ_ERR_IO when it is gone,
 * CQ_ERR_FORMAT when it is damaged. */
CQ_MUST_USE cq_status cq_index_snapshot_verify_approximate(const cq_index_snapshot *snapshot, const char *path,
                                                           cq_error *error);

/* --- writing: CQ_ERR_ARGUMENT for a store that is not open for it --- */

CQ_MUST_USE cq_status cq_index_store_check_writing(const cq_index_store *store, cq_error *error);

/* Writes documents and vectors [n, dim] behind what counts; a live record of the same id is to be deleted. What is new
 * is not found before the commit; a failed call leaves all as it was. Errors: CQ_ERR_ARGUMENT for an id that is empty
 * or comes twice before a commit, or text that holds what separates fields and lines; CQ_ERR_IO (a full disk),
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_index_store_append(cq_index_store *store, const cq_index_record *records, size_t n,
                                            const float *vectors, cq_error *error);
/* Deletes the documents of these ids, of which *n_removed were there. */
CQ_MUST_USE cq_status cq_index_store_remove(cq_index_store *store, const cq_slice *ids, size_t n, size_t *n_removed,
                                            cq_error *error);
/* From the next commit on: the approximation of the next generation, for the records that count now; or none. */
CQ_MUST_USE cq_status cq_index_store_set_approximate(cq_index_store *store, bool is_there, cq_error *error);
/* Of the model, where none could be compared; kept at the next commit of changes. */
CQ_MUST_USE cq_status cq_index_store_set_fingerprint(cq_index_store *store, const char *fingerprint, cq_error *error);
/* Makes the changes count, all at once, in a new snapshot. A failed call leaves all as it was. */
CQ_MUST_USE cq_status cq_index_store_commit(cq_index_store *store, cq_error *error);

#endif
