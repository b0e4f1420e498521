/* The internals of an index in a database, shared by opening, writing, copying and searching.
 *
 * Its tables are in a separate schema, "calque" unless the address has schema=NAME:
 *
 *   calque_index   one row: name and version of the format, the model and its fingerprint, dim, the format of vectors,
 *                  totals, the next numbers, the progress of a copy, and whether it is complete: a first copy indexes
 *                  tables and counts terms at its end
 *   document       number, id, language, title, url, text, metadata (jsonb)
 *   passage        number, document, position in it, starts and ends in its text (bytes), embedding (vector or halfvec,
 *                  of length 1)
 *   words          passage, document, length in terms, terms (bigint[]: a hash per occurrence, ascending) for the
 *                  index, and forward (bytea: the same, packed as below) for searches: a server sends arrays and rows
 *                  element by element, but bytes as a block
 *   term           hash, n_passages, n_occurrences
 *
 * A change is one transaction. Its first statement locks the row of calque_index: there is one writer at a time, and
 * numbers and counts are correct after every commit. Searches read one snapshot of the database and never wait. */
#ifndef POSTGRESQL_DATABASE_H
#define POSTGRESQL_DATABASE_H

#include "postgresql/postgresql.h"
#include "recipe/index/backend.h"

enum { CQ_DATABASE_VERSION = 2, CQ_DATABASE_MAX_FIELD = (1 << 30) - 64 /* bytes; PostgreSQL's limit is 1 GB */ };

/* A document that waits for a commit. */
typedef struct cq_database_waiting {
  cq_document *document; /* owns its texts */
  cq_index_passage *passages;
  size_t n_passages;
  float *vectors;
  bool is_dropped; /* it was removed */
} cq_database_waiting;

typedef struct cq_index_database {
  cq_pg_pool *pool;
  bool is_half;          /* embeddings are of type halfvec */
  atomic_bool has_hnsw;  /* when counts were read */
  pthread_mutex_t mutex; /* guards what follows */
  cq_index_counts counts;
  int64_t next_document; /* when counts were read: a document that replaces another one changes no count */
  /* with index->shared->writing: */
  cq_database_waiting *waiting;
  size_t n_waiting, waiting_capacity;
  cq_slice *removed; /* ids, owned */
  size_t n_removed, removed_capacity;
} cq_index_database;

/* The writes of one transaction. */
typedef struct cq_database_batch {
  const cq_index_addition *additions;
  size_t n;
  const float *vectors; /* of all passages, in order */
  const cq_slice *removed;
  size_t n_removed;
  const char *source; /* a copy: its source, and the next record to copy; NULL: no copy */
  int64_t copied_until;
} cq_database_batch;

/* The terms of a document's text as ascending hashes; *terms[*n] is valid until the next call with the same room. */
typedef struct cq_database_terms {
  int64_t *items;
  size_t capacity;
} cq_database_terms;
CQ_MUST_USE cq_status cq_database_analyze(cq_database_terms *room, size_t *n, cq_analysis *analysis, cq_slice text,
                                          cq_slice language, cq_error *error);
int64_t cq_database_hash(cq_slice term);

/* A passage's entry in the forward index: its number and its document's, 8 bytes each; its numbers of words and of
 * distinct terms, 4 bytes each; then 8 bytes per distinct term, in order of hashes: the first 48 bits of the hash, and
 * the term's count, at most 65,535. Big-endian. */
enum { CQ_DATABASE_FORWARD = 24 }; /* bytes before the terms */

/* How the counts of a term change. */
typedef struct cq_database_term_change {
  int64_t hash, n_passages, n_occurrences;
} cq_database_term_change;

/* A batch in the format for writing; the batch must outlive its sending. Start from {0}; reusable for more batches. */
typedef struct cq_database_writing {
  cq_index *index;
  cq_pg *pg;
  const cq_database_batch *batch;
  int64_t first_document, first_passage;   /* that rows were prepared for */
  int64_t locked_document, locked_passage; /* that they must have */
  bool is_whole;                           /* terms are counted already */
  int64_t next_document, next_passage;
  int64_t n_documents, n_passages, n_occurrences; /* how these change */
  cq_database_term_change *changes;
  size_t n_changes, capacity;
  cq_builder documents, passages, words; /* rows of COPY */
  cq_analysis *analysis;
  cq_database_terms terms;
  cq_builder text;
} cq_database_writing;

/* Makes rows with the database's probable next numbers; if these are wrong, the rows are made again under its lock. One
 * thread may prepare a batch while another sends one. */
CQ_MUST_USE cq_status cq_database_prepare(cq_database_writing *w, cq_index *index, const cq_database_batch *batch,
                                          int64_t next_document, int64_t next_passage, cq_error *error);
/* Runs the transaction. If it fails, nothing has changed, unless the connection was lost at its very end. */
CQ_MUST_USE cq_status cq_database_send(cq_database_writing *w, cq_error *error);
void cq_database_writing_free(cq_database_writing *w);
/* Both. */
CQ_MUST_USE cq_status cq_database_write(cq_index *index, const cq_database_batch *batch, cq_error *error);

/* The last part of a first copy: counts terms and makes the tables' indexes. Does nothing if this was already done. */
CQ_MUST_USE cq_status cq_database_make_whole(cq_index *index, cq_error *error);

/* A vector of length 1 in PostgreSQL's binary format; bytes must have room for 4 + 4 dim. Returns its size. */
size_t cq_database_put_vector(unsigned char *bytes, const float *vector, size_t dim, bool is_half);
/* Errors: CQ_ERR_FORMAT for a vector with other dimensions. */
CQ_MUST_USE cq_status cq_database_get_vector(float *out, const cq_index *index, cq_slice bytes, cq_error *error);

/* SQL: whether this schema's passages have an HNSW index (other schemas use the same name). */
#define CQ_DATABASE_HAS_HNSW                                                                                           \
  "EXISTS (SELECT FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = to_regclass('passage') "  \
  "AND c.relname = 'passage_embedding')"

/* Reads how much there is. */
CQ_MUST_USE cq_status cq_database_read_counts(cq_index *index, cq_pg *pg, cq_error *error);
/* Refuses what PostgreSQL cannot store: CQ_ERR_FORMAT for NUL characters, CQ_ERR_ARGUMENT for an id that is empty, and
 * an id or a language that is too long, CQ_ERR_LIMIT for other fields from 1 GB on. */
CQ_MUST_USE cq_status cq_database_check_document(const cq_document *document, cq_error *error);
/* Finds pgvector's version and schema; after that, the pool's connections find its operators. Errors:
 * CQ_ERR_UNSUPPORTED without it, and for one before 0.8. */
CQ_MUST_USE cq_status cq_database_find_pgvector(cq_pg *pg, cq_pg_pool *pool, cq_error *error);
/* Makes the HNSW index, always or only if it is missing, or drops it. */
CQ_MUST_USE cq_status cq_database_approximate(cq_index *index, bool is_wanted, bool only_missing, cq_error *error);
/* Makes the tables of a new index, and also their indexes, unless it is for a copy (cq_database_make_whole). */
CQ_MUST_USE cq_status cq_database_create(const char *address, const cq_index_making *making, cq_error *error);

/* --- copying: database_copy.c --- */

CQ_MUST_USE cq_status cq_database_copy(cq_index *to, const cq_index *from, const cq_index_snapshot *snapshot,
                                       const cq_index_copy_options *options, cq_index_copy_result *result,
                                       cq_error *error);

/* --- searching: database_search.c --- */

CQ_MUST_USE cq_status cq_database_begin(cq_index_searching *s, cq_error *error);
CQ_MUST_USE cq_status cq_database_by_vectors(cq_index_candidates *lists, cq_index_searching *s, size_t k,
                                             cq_error *error);
CQ_MUST_USE cq_status cq_database_by_words(cq_index_candidates *lists, cq_index_searching *s, size_t k,
                                           cq_error *error);
CQ_MUST_USE cq_status cq_database_fill(cq_hits *hits, const cq_index_searching *s, const cq_index_candidates *lists,
                                       cq_error *error);
CQ_MUST_USE cq_status cq_database_weigh(double *weights, const cq_index_searching *s, cq_slice query,
                                        const cq_slice *texts, size_t n, cq_error *error);
CQ_MUST_USE cq_status cq_database_sample(cq_index_candidates *list, float **vectors, cq_index_searching *s, size_t n,
                                         cq_error *error);
void cq_database_end(cq_index_searching *s);

#endif
