/* The storage of an index. The interface (calque/index.h) is always the same; storage and search are one of two tables
 * of functions:
 *
 *   cq_index_files               a directory: files that only grow, and documents in SQLite (file_backend.c)
 *   cq_postgresql_plugin_table   postgresql://...: tables of a database with pgvector; the only symbol of the plugin in
 *                                src/postgresql, which contains its own copies of functions from other folders
 *
 * Code above this interface handles models, passages, vectors, the fusion of lists, and snippets; backends handle
 * transactions, lists of passages, and documents. */
#ifndef RECIPE_INDEX_BACKEND_H
#define RECIPE_INDEX_BACKEND_H

#include "calque/index_copy.h"
#include "calque/version.h"
#include "recipe/index/index.h"

/* A passage that was found. */
typedef struct cq_index_candidate {
  double score, cosine, words;
  int64_t record, first; /* the passage's number, which breaks ties; its document's first record */
  bool by_vector, by_words;
  bool covers; /* has most of the query's words: cq_hit.is_good */
} cq_index_candidate;

/* The candidates of one query, best first. */
typedef struct cq_index_candidates {
  cq_index_candidate *items;
  size_t n;
} cq_index_candidates;

struct cq_hits {
  cq_arena arena; /* has the documents */
  size_t n_queries, k, n_truncated;
  cq_hit *all; /* [n_queries, k] */
  size_t *n;   /* [n_queries] */
};

/* A search, from begin() to end(). */
typedef struct cq_index_searching {
  const cq_index *index;
  const cq_search_options *options;
  cq_context *ctx;
  const cq_slice *queries;
  const float *vectors; /* [n_queries, dim]; NULL for a ranking by words */
  size_t n_queries;
  /* begin() sets: */
  size_t n_allowed;  /* number of passages that may be returned, or an upper bound; 0: none */
  bool has_passages; /* some documents have several */
  void *state;       /* the member's, until end() */
} cq_index_searching;

typedef struct cq_index_counts {
  size_t n_documents, n_passages;
  size_t n_approximate; /* number of passages, from the first on, in the approximate index */
  size_t n_queries;     /* that hubness is of */
} cq_index_counts;

/* The settings of a new index. */
typedef struct cq_index_making {
  const char *model, *fingerprint;
  int dim;
  bool tasks;
  size_t passage_tokens, passage_overlap;
  bool is_half;  /* vectors of 16 bits, in a database */
  bool for_copy; /* copy() will fill the index; an existing index is not changed */
} cq_index_making;

/* Plugin and library share structures, so both must be from the same version of calque. */
#define CQ_INDEX_BACKEND_VERSION                                                                                       \
  (CQ_VERSION_NUMBER * 10000 + (int)(sizeof(struct cq_index) + sizeof(struct cq_index_backend)))

struct cq_index_backend {
  int version; /* CQ_INDEX_BACKEND_VERSION */
  cq_status (*create)(const char *place, const cq_index_making *making, cq_error *error);
  /* Sets directory (used in messages), model, fingerprint, dim and tasks. close() is always called. */
  cq_status (*open)(cq_index *index, const char *place, cq_error *error);
  void (*close)(cq_index *index);
  cq_status (*refresh)(cq_index *index, bool *changed, cq_error *error);
  cq_status (*check)(const cq_index *index, cq_context *ctx, cq_error *error);
  cq_index_counts (*count)(const cq_index *index);
  cq_status (*languages)(const cq_index *index, void (*found)(void *context, cq_slice language, size_t n),
                         void *context, cq_error *error); /* ascending; a code may be repeated */
  cq_status (*get)(cq_document **out, const cq_index *index, cq_slice id, cq_error *error);

  /* Changes. The caller holds index->shared->writing, except for check_writing. */
  cq_status (*check_writing)(const cq_index *index, cq_error *error);
  cq_status (*append)(cq_index *index, const cq_index_addition *additions, size_t n, const float *vectors,
                      cq_error *error);
  cq_status (*remove)(cq_index *index, const cq_slice *ids, size_t n, size_t *n_removed, cq_error *error);
  cq_status (*commit)(cq_index *index, cq_error *error);
  cq_status (*approximate)(cq_index *index, cq_approximation method, cq_context *ctx, cq_error *error);
  /* Copies a snapshot of `from`, an index of files; NULL: not supported. */
  cq_status (*copy)(cq_index *to, const cq_index *from, const cq_index_snapshot *snapshot,
                    const cq_index_copy_options *options, cq_index_copy_result *result, cq_error *error);
  const char *no_hubness, *no_compaction, *no_mirror; /* NULL: it can; else why not, and what to do instead */

  /* Searches: begin, then any of the others, then always end. Lists are best first; candidates have `first`. */
  cq_status (*begin)(cq_index_searching *s, cq_error *error);
  cq_status (*by_vectors)(cq_index_candidates *lists, cq_index_searching *s, size_t k, cq_error *error);
  cq_status (*by_words)(cq_index_candidates *lists, cq_index_searching *s, size_t k, cq_error *error);
  /* The hits for the first hits->k entries of each list, with their documents; text is the passage's text. */
  cq_status (*fill)(cq_hits *hits, const cq_index_searching *s, const cq_index_candidates *lists, cq_error *error);
  /* cq_lexical_weigh, with this index's counts. */
  cq_status (*weigh)(double *weights, const cq_index_searching *s, cq_slice query, const cq_slice *texts, size_t n,
                     cq_error *error);
  /* A list of n passages, spread evenly, and their vectors, *vectors [list length, dim]. */
  cq_status (*sample)(cq_index_candidates *list, float **vectors, cq_index_searching *s, size_t n, cq_error *error);
  void (*end)(cq_index_searching *s);
};

extern const struct cq_index_backend cq_index_files;

/* The backend for an index's location. Errors: CQ_ERR_UNSUPPORTED without the plugin. */
CQ_MUST_USE cq_status cq_index_find_backend(const struct cq_index_backend **out, const char *place, cq_error *error);

/* --- candidates.c --- */

/* The length of the lists that a hybrid ranking fuses. */
static inline size_t cq_hybrid_depth(const cq_search_options *o) {
  return o->depth > o->k ? o->depth : o->k;
}
/* Orders candidates for qsort: best first, ties by number. */
int cq_index_best_first(const void *a, const void *b);
/* Room for k in each list. */
CQ_MUST_USE cq_status cq_index_reserve_candidates(cq_index_candidates *lists, size_t n_queries, size_t k,
                                                  cq_error *error);
/* The lists, and their array. */
void cq_index_free_candidates(cq_index_candidates *lists, size_t n_queries);

#endif
