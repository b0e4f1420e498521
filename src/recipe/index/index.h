/* The internals of an open index, shared by opening, changing and searching it. */
#ifndef RECIPE_INDEX_INDEX_H
#define RECIPE_INDEX_INDEX_H

#include "calque/index.h"
#include "lexical/growing.h"
#include "recipe/index/coverage.h"
#include "search/approximate.h"
#include "store/index_store.h"

#include <pthread.h>
#include <stdatomic.h>

/* An approximate index in memory, shared by the searches that use it and, while it is the newest, by the index. */
typedef struct cq_index_approximation {
  cq_approximate *it;
  int64_t generation;
  int n_users; /* with the mutex */
} cq_index_approximation;

/* The lexical index of a snapshot, likewise. */
typedef struct cq_index_word_set {
  cq_lexical_set *set;
  cq_index_words *parts; /* [n_parts] that it is of */
  size_t n_parts;
  int n_users; /* with the mutex */
} cq_index_word_set;

/* Opened when a search first needs it, and shared by all searches. */
typedef struct cq_index_shared {
  pthread_mutex_t opening;                      /* held by the thread that opens an encoder or the analyzer */
  _Atomic(cq_encoder *) encoder, query_encoder; /* the index's own model; the model for queries, if different */
  _Atomic(cq_analyzer *) analyzer;
  pthread_mutex_t holding; /* guards what follows */
  cq_index_approximation *approximation;
  cq_index_word_set *words;
  bool has_no_plugin, is_told;
  pthread_mutex_t writing; /* held by the one thread that changes the index */
} cq_index_shared;

struct cq_index {
  const struct cq_index_backend *backend; /* backend.h */
  char *directory, *model, *fingerprint;
  char *query_model; /* NULL: queries are encoded by `model` */
  int64_t dim;
  bool tasks;            /* documents and queries are each encoded with the model's own prompt and modules */
  cq_index_store *store; /* of files; NULL: it is in a database */
  struct cq_index_database *database; /* database.h; NULL: it is of files */
  bool is_writing;
  cq_index_shared *shared;
  cq_precision precision;
  bool compose; /* cq_index_options' */
  size_t passage_tokens, passage_overlap;
  cq_notice_fn notice;
  void *notice_context;
  uint64_t n_truncated; /* truncated passages since the last commit; guarded by shared->writing */
  cq_coverage coverage; /* of a sample of the added passages, likewise; is_told: a commit has reported it */
  bool is_coverage_told;
  cq_ranks *ranks; /* ranks that encode documents while they are read; NULL: only this process */
};

CQ_MUST_USE cq_status cq_index_open_model(cq_encoder **out, char fingerprint[33], const char *model,
                                          const cq_encoder_options *options, cq_error *error);
/* The models and the analyzer, opened by the first caller. model NULL: the model named in the index. */
CQ_MUST_USE cq_status cq_index_need_model(const cq_encoder **out, const cq_index *index, const char *model,
                                          cq_error *error);
CQ_MUST_USE cq_status cq_index_need_query_model(const cq_encoder **out, const cq_index *index, cq_error *error);
/* The options for encoding a query or (as_document) a document with such a model. */
cq_encode_options cq_index_encoding(const cq_index *index, const cq_encoder *query_model, bool as_document);
CQ_MUST_USE cq_status cq_index_need_analyzer(const cq_analyzer **out, const cq_index *index, cq_error *error);

void cq_index_tell_truncated(const cq_index *index, uint64_t n, const char *what, const cq_encoder *encoder);

/* --- files open for a snapshot: index_held.c --- */

/* The newest snapshot and, unless `exact` is set, its approximate index (NULL: none, or unusable). */
CQ_MUST_USE cq_status cq_index_hold_newest(cq_index_snapshot **snapshot, cq_index_approximation **out,
                                           const cq_index *index, bool exact, cq_error *error);
void cq_index_release_approximation(const cq_index *index, cq_index_approximation *approximation);
/* A snapshot's lexical index. Errors: CQ_ERR_IO if a later commit has removed it; CQ_ERR_FORMAT. */
CQ_MUST_USE cq_status cq_index_hold_words(cq_index_word_set **out, const cq_index *index,
                                          const cq_index_snapshot *snapshot, cq_error *error);
/* Opens the files of these parts; segments that `shared` (may be NULL) has are not opened again. Errors: CQ_ERR_FORMAT
 * for a part with the wrong number of passages; as above. */
CQ_MUST_USE cq_status cq_index_open_parts(cq_lexical_set **out, const cq_index *index, const cq_index_words *parts,
                                          size_t n, const cq_lexical_set *shared, cq_error *error);
void cq_index_release_words(const cq_index *index, cq_index_word_set *words);
void cq_index_approximation_free(cq_index_approximation *approximation);
void cq_index_word_set_free(cq_index_word_set *words);

/* Finds the best sentence of each hit of a search, according to its options. */
struct cq_index_searching;
CQ_MUST_USE cq_status cq_index_find_best(cq_hits *hits, const struct cq_index_searching *s, cq_error *error);

/* --- computing hubness: index_hubness_queries.c --- */

/* Before a commit: computes the missing hubness of records if other records have it. */
CQ_MUST_USE cq_status cq_index_write_hubness(cq_index *index, cq_context *ctx, cq_error *error);

/* --- writing the lexical index: write_words.c --- */

/* Before a commit: indexes records that are not yet in a part, and merges parts if there are many. */
CQ_MUST_USE cq_status cq_index_write_words(cq_index *index, cq_context *ctx, cq_error *error);

#endif
