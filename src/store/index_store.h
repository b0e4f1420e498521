/* A search index on disk: documents, their passages, the passages' vectors and words, and the model that made the
 * vectors. A record is a passage; a document has one or more consecutive records.
 *
 *   DIR/manifest.json    the valid size of each other file, and its generation
 *   DIR/documents-F      SQLite: one row per document (document_store.h)
 *   DIR/passages-F       a cq_index_passage per record
 *   DIR/vectors-F        dim f32 per record
 *   DIR/checks-F         per record: of its vector and its passage, XXH3, 64 bits each
 *   DIR/words-W          a lexical index of consecutive records (lexical/segment.h); several files
 *   DIR/hubness-H        a cq_index_hub per record, if the index has hubness
 *   DIR/queries-H        dim f32 per query: the queries that hubness is computed with
 *   DIR/deleted-G        one bit per record, least significant first; no file for generation 0
 *   DIR/approximate-A    an approximate index (ANN) of the first records' vectors, optional
 *   DIR/lock             held by the writing process
 *
 * documents, passages, vectors, checks and hubness only grow, and only the part that the manifest counts is valid. A
 * change is appended, synced, and becomes visible when the manifest is replaced: a process killed at any moment leaves
 * the index in its old or its new state. Readers need no lock: a snapshot is the state of one manifest, and does not
 * change until its last user releases it. Compaction writes the next generation of all files, without deleted records.
 *
 * Checks are verified: those of deletions when the index is opened; of vectors, passages and documents when they are
 * used (the caller decides when); of an approximate index before it is opened. A mismatch is CQ_ERR_FORMAT, and the
 * message names file and record. docs/formats.md describes the bytes.
 *
 * Any number of threads may hold snapshots, read them and refresh; the functions that write are for one thread at a
 * time. */
#ifndef STORE_INDEX_STORE_H
#define STORE_INDEX_STORE_H

#include "base/arena.h"
#include "calque/context.h"
#include "calque/document.h"

#include <limits.h>

typedef struct cq_index_store cq_index_store;
typedef struct cq_index_snapshot cq_index_snapshot;

/* A record: bytes [begin, end) of the text of the document whose first record is `first`. */
typedef struct cq_index_passage {
  uint32_t first, begin, end, unused;
} cq_index_passage;

/* How near a record is to queries in general (hubness): the mean cosine of its k nearest queries. */
typedef struct cq_index_hub {
  float mean;
  uint32_t check; /* of it, the lower half, numbered by the record */
} cq_index_hub;

/* A part of the lexical index: words-NUMBER has the next n records. */
typedef struct cq_index_words {
  int64_t number, n;
} cq_index_words;

/* A document to be added. */
typedef struct cq_index_addition {
  const cq_document *document;
  const cq_index_passage *passages; /* [n_passages], at least one; `first` is ignored */
  size_t n_passages;
} cq_index_addition;

typedef struct cq_index_info {
  const char *model;       /* the name it was made with */
  const char *fingerprint; /* cq_encoder_fingerprint's */
  const char *identity;    /* of the index, random */
  int64_t files;           /* generation of the files that have the records */
  int64_t dim;
  int64_t n;                   /* records, deleted ones included */
  int64_t n_live;              /* those that are not */
  int64_t n_documents;         /* likewise */
  int64_t n_approximate;       /* how many records, from the first on, are in the approximate index; 0: none */
  int64_t approximate;         /* its generation */
  const cq_index_words *words; /* [n_words]; later records are in no lexical index */
  size_t n_words;
  bool tasks;           /* documents and queries are each encoded with the model's own prompt and modules */
  int64_t n_queries, k; /* the parameters of the records' hubness; n_queries 0: the index has no hubness */
} cq_index_info;

/* Makes an empty index; tasks: documents and queries are encoded by separate prompts or modules. Errors:
 * CQ_ERR_ARGUMENT when the directory exists; CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_index_store_create(const char *directory, const char *model, const char *fingerprint,
                                            int64_t dim, bool tasks, cq_error *error);
/* Opens an index. Errors: CQ_ERR_IO; CQ_ERR_FORMAT for a manifest of another version, an invalid one, or files shorter
 * than it states; CQ_ERR_ARGUMENT if `writing` is set while another process is writing. */
CQ_MUST_USE cq_status cq_index_store_open(cq_index_store **out, const char *directory, bool writing, cq_error *error);
void cq_index_store_close(cq_index_store *store); /* snapshots that are held stay */

/* --- reading --- */

/* The newest snapshot, to be released. */
cq_index_snapshot *cq_index_store_hold(cq_index_store *store);
void cq_index_snapshot_release(cq_index_snapshot *snapshot);
/* Looks for commits of other processes; *changed: whether there is a newer snapshot. A store that is open for writing
 * always has the newest. Errors: CQ_ERR_ARGUMENT if another index has replaced this one; those of opening. On an error
 * the store does not change. */
CQ_MUST_USE cq_status cq_index_store_refresh(cq_index_store *store, bool *changed, cq_error *error);

cq_index_info cq_index_snapshot_info(const cq_index_snapshot *snapshot);
const float *cq_index_snapshot_vectors(const cq_index_snapshot *snapshot); /* [n, dim], mapped */
/* [n] the vectors' lengths, initially 0: searches fill in and use them. Lengths of unchanged records carry over to the
 * next snapshot. */
_Atomic double *cq_index_snapshot_lengths(const cq_index_snapshot *snapshot);
const cq_index_hub *cq_index_snapshot_hubness(const cq_index_snapshot *snapshot); /* [n], mapped; NULL: it has none */
cq_index_passage cq_index_snapshot_passage(const cq_index_snapshot *snapshot, int64_t record);
bool cq_index_snapshot_is_live(const cq_index_snapshot *snapshot, int64_t record);
/* The document with this first record, in the arena. Errors: CQ_ERR_FORMAT when it is damaged; CQ_ERR_IO,
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_index_snapshot_document(cq_document *out, cq_arena *arena, const cq_index_snapshot *snapshot,
                                                 int64_t first, cq_error *error);
/* Calls `visit` with the borrowed documents whose first records are in [from, to), including deleted ones, in ascending
 * order; stops at its first error. Faster than reading them one by one. */
CQ_MUST_USE cq_status cq_index_snapshot_visit(const cq_index_snapshot *snapshot, int64_t from, int64_t to,
                                              cq_status (*visit)(void *context, int64_t first,
                                                                 const cq_document *document, cq_error *error),
                                              void *context, cq_error *error);
/* The first record of the live document with this id; -1: none. */
CQ_MUST_USE cq_status cq_index_snapshot_find(int64_t *first, const cq_index_snapshot *snapshot, cq_slice id,
                                             cq_error *error);
/* The live records that match a filter (store/document_filter.h), one bit each, [(n + 7) / 8]; the caller releases them
 * with cq_free. Errors: CQ_ERR_ARGUMENT for text that is not a filter; as above. */
CQ_MUST_USE cq_status cq_index_snapshot_select(unsigned char **out, int64_t *n_selected, cq_index_snapshot *snapshot,
                                               const char *filter, cq_error *error);
/* Calls `found` with the language code of each live document, and 1 document; codes ascend. */
CQ_MUST_USE cq_status cq_index_snapshot_languages(const cq_index_snapshot *snapshot,
                                                  void (*found)(void *context, cq_slice language, size_t n),
                                                  void *context, cq_error *error);

/* Whether a record's vector, passage and hubness are undamaged; verified once. */
bool cq_index_snapshot_is_sound(const cq_index_snapshot *snapshot, int64_t record);
/* CQ_ERR_FORMAT for a malformed record. */
CQ_MUST_USE cq_status cq_index_snapshot_fail(const cq_index_snapshot *snapshot, int64_t record, cq_error *error);
/* Verifies all vectors, passages and documents. Errors: CQ_ERR_FORMAT for the first damaged one. */
CQ_MUST_USE cq_status cq_index_snapshot_verify(const cq_index_snapshot *snapshot, cq_context *ctx, cq_error *error);

/* The paths of a generation's approximate index and of a part of the lexical index. Errors: CQ_ERR_ARGUMENT for a path
 * that is too long. */
CQ_MUST_USE cq_status cq_index_store_approximate(char path[PATH_MAX], const cq_index_store *store, int64_t generation,
                                                 cq_error *error);
CQ_MUST_USE cq_status cq_index_store_words(char path[PATH_MAX], const cq_index_store *store, int64_t number,
                                           cq_error *error);
/* Verifies a snapshot's approximate index, at that path, against its check. Errors: CQ_ERR_IO if it no longer exists,
 * CQ_ERR_FORMAT if it is damaged. */
CQ_MUST_USE cq_status cq_index_snapshot_verify_approximate(const cq_index_snapshot *snapshot, const char *path,
                                                           cq_error *error);

/* The same for the queries of hubness, if there are any. */
CQ_MUST_USE cq_status cq_index_store_verify_queries(const cq_index_store *store, const cq_index_snapshot *snapshot,
                                                    cq_error *error);

/* --- writing: CQ_ERR_ARGUMENT if the store is not open for writing --- */

CQ_MUST_USE cq_status cq_index_store_check_writing(const cq_index_store *store, cq_error *error);

/* Appends documents and the vectors of their passages to the committed ones; a live document with the same id must be
 * deleted first. Searches find new documents only after the commit; a failed call changes nothing. Errors:
 * CQ_ERR_ARGUMENT for an id that is empty or appears twice before a commit; CQ_ERR_IO (a full disk), CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_index_store_append(cq_index_store *store, const cq_index_addition *additions, size_t n,
                                            const float *vectors, cq_error *error);
/* Deletes the documents with these ids; *n_removed is the number that existed. */
CQ_MUST_USE cq_status cq_index_store_remove(cq_index_store *store, const cq_slice *ids, size_t n, size_t *n_removed,
                                            cq_error *error);
/* From the next commit on, uses the next generation's approximate index, which covers the current records; or none. */
CQ_MUST_USE cq_status cq_index_store_set_approximate(cq_index_store *store, bool is_there, cq_error *error);

/* From the next commit on, uses hubness by these queries [n, dim] and the k nearest of them. `means` has the values of
 * all records, committed or not; n 0: no hubness. A failed call changes nothing. */
CQ_MUST_USE cq_status cq_index_store_set_hubness(cq_index_store *store, const float *queries, int64_t n, int64_t k,
                                                 const float *means, cq_error *error);
/* The queries of hubness, [n_queries, dim], with n_queries and k as set; *out NULL and n_queries 0: none. The caller
 * frees them with cq_free. Errors: CQ_ERR_FORMAT for damaged queries; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_index_store_queries(float **out, int64_t *n_queries, int64_t *k, const cq_index_store *store,
                                             cq_error *error);
/* The number of records with hubness, committed or not; and appending the hubness of the next n records. */
int64_t cq_index_store_n_hubs(const cq_index_store *store);
CQ_MUST_USE cq_status cq_index_store_add_hubs(cq_index_store *store, const float *means, int64_t n, cq_error *error);
/* Vectors of records, committed or not: out [n, dim]. Errors: CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_index_store_vectors(float *out, const cq_index_store *store, int64_t from, int64_t n,
                                             cq_error *error);

/* The records that will count after the next commit. */
int64_t cq_index_store_n(const cq_index_store *store);
/* Calls `visit` with the documents of records [from, to), including uncommitted ones. */
CQ_MUST_USE cq_status cq_index_store_visit(const cq_index_store *store, int64_t from, int64_t to,
                                           cq_status (*visit)(void *context, int64_t first, const cq_document *document,
                                                              cq_error *error),
                                           void *context, cq_error *error);
/* The passages of these records, committed or not. Errors: CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_index_store_passages(cq_index_passage *out, const cq_index_store *store, int64_t from,
                                              int64_t n, cq_error *error);
/* Sets the parts of the lexical index from the next commit on; their files must exist. Files no longer named are
 * removed after the commit. */
CQ_MUST_USE cq_status cq_index_store_set_words(cq_index_store *store, const cq_index_words *words, size_t n,
                                               cq_error *error);
/* The segments that will be valid after the next commit, borrowed until set_words. */
void cq_index_store_get_words(const cq_index_words **words, size_t *n, const cq_index_store *store);
/* A number that no part has. */
int64_t cq_index_store_next_words(const cq_index_store *store);

/* Commits the changes atomically, in a new snapshot. A failed call changes nothing. Errors: CQ_ERR_ARGUMENT if some
 * records have hubness and others do not. */
CQ_MUST_USE cq_status cq_index_store_commit(cq_index_store *store, cq_error *error);
/* Rewrites all files without deleted records, and commits. The parts of the lexical index [n] must cover the remaining
 * records, in order. There must be no pending changes. The approximate index is dropped. A failed call changes
 * nothing. */
CQ_MUST_USE cq_status cq_index_store_compact(cq_index_store *store, const cq_index_words *words, size_t n,
                                             cq_error *error);
/* CQ_ERR_ARGUMENT for uncommitted changes. */
CQ_MUST_USE cq_status cq_index_store_check_committed(const cq_index_store *store, cq_error *error);

#endif
