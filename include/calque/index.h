/* A search index: documents in any of a model's languages, found by meaning, by words, or by both.
 *
 *   cq_index_options o = cq_index_default_options();
 *   o.model = "multilingual", o.writing = true;
 *   cq_index_create("news.index", &o, &err), cq_index_open(&index, "news.index", &o, &err);
 *   cq_index_add(index, documents, n, ctx, &err), cq_index_commit(index, &err);
 *   cq_index_search(&hits, index, &query, 1, &options, ctx, &err);
 *   const cq_hit *best = cq_hits_of(hits, 0, &n_found);                    // best[0 .. n_found), best first
 *   cq_hits_free(hits), cq_index_free(index);
 *
 * A document that is longer than the model reads is split into passages at the boundaries of sentences; a hit names the
 * document and the passage. Documents have metadata, which a search can be limited by (filter).
 *
 * Search is exact unless an approximation is made, which pays from some millions of documents on. A change counts
 * when it is committed, all at once: a process killed at any moment leaves the index as it was before or as it is
 * after. One process has an index open for writing at a time; readers need not wait.
 *
 * In place of a directory, create and open take the address of a PostgreSQL database with pgvector:
 * postgresql://USER@HOST/DATABASE?schema=NAME, for libpq but for schema, which names the index within the database.
 * Several processes and machines may then change the index at the same time, and each sees what others have committed
 * at once. What such an index has no use for (hubness, compaction, checks, mirroring) is CQ_ERR_UNSUPPORTED. A server that
 * does not answer is CQ_ERR_UNAVAILABLE, for any function. No message has a password. Documents that wait for a commit are
 * in memory.
 *
 * Threads: all functions may be called on one index by any number of threads at once, but for cq_index_free. Those that
 * change it wait for each other. A search works on one snapshot, the newest one when it begins, and its hits keep that
 * snapshot: no commit changes what a search or its hits see. A commit is seen at once by the handle that it was made
 * with; handles of other processes see it after cq_index_refresh. */
#ifndef CALQUE_INDEX_H
#define CALQUE_INDEX_H

#include "calque/document.h"
#include "calque/encoder.h"
#include "calque/lexical.h"
#include "calque/options.h"
#include "calque/ranks.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_index cq_index;

typedef struct cq_index_options {
  size_t size;
  const char
      *model;   /* encodes documents and queries: what an index is made for. Opening: NULL: the one it was made with, by
                        its name then, opened when it is needed */
  bool writing; /* documents are added or removed; waits for nobody */
  cq_notice_fn notice; /* called by any thread that uses the index */
  void *notice_context;
  cq_precision precision;  /* of the model */
  const char *query_model; /* encodes queries, in place of the index's model: a student that lives in its space. Of
                              another model's space only the dimensions are known. Opening only */
  size_t passage_tokens;   /* of documents that are added: those with more are split; 0: as many as the model takes */
  size_t passage_overlap;  /* tokens, whole sentences, that a passage may have in common with the one before */
} cq_index_options;
/* For reading: group "index". */
CQ_DEFAULT_OPTIONS(cq_index_options, cq_index_default_options, index)
/* Rows of passage_tokens and passage_overlap, for tables of commands that make an index when there is none. */
#define CQ_PASSAGE_ROWS(owner)                                                                                         \
  {CQ_SIZE(owner, "passage-tokens", passage_tokens, CHANGES, 256, 0, 1000000, "N",                                     \
           "split documents with more tokens into passages of whole sentences; 0: the model's maximum")},              \
  {                                                                                                                    \
    CQ_SIZE(owner, "passage-overlap", passage_overlap, CHANGES, 32, 0, 1000000, "N",                                   \
            "tokens at the end of a passage that the next one may begin with, whole sentences")                        \
  }

/* Makes an empty index for options->model. Errors: CQ_ERR_ARGUMENT when the directory exists; those of opening the model;
 * CQ_ERR_IO. */
CQ_API CQ_MUST_USE cq_status cq_index_create(const char *directory, const cq_index_options *options, cq_error *error);

/* Opens an index; options NULL: for reading. Errors: CQ_ERR_ARGUMENT when the model is not the one it was made with (with
 * NULL told by what needs it), when the query model has other dimensions, and for writing when it is open for writing
 * elsewhere; CQ_ERR_FORMAT, CQ_ERR_IO. */
CQ_API CQ_MUST_USE cq_status cq_index_open(cq_index **out, const char *directory, const cq_index_options *options,
                                           cq_error *error);
CQ_API void cq_index_free(cq_index *index); /* hits stay */
/* Whether a place is a database's address, and no directory. */
CQ_API bool cq_index_is_address(const char *place);
/* Looks for what another process has committed since, for the searches that begin from now on: some microseconds where
 * there is nothing, else the time to map the files and to find the lines of new documents.
 *   changed  whether there was something; may be NULL
 * Errors: CQ_ERR_ARGUMENT when another index is in its place; CQ_ERR_FORMAT, CQ_ERR_IO, CQ_ERR_MEMORY. The index stays
 * as it was on an error. */
CQ_API CQ_MUST_USE cq_status cq_index_refresh(cq_index *index, bool *changed, cq_error *error);
/* Compares all that counts with its checks: documents, deletions, vectors, the index by words and the approximation. (A
 * search does the same with what it reads.) Errors: CQ_ERR_FORMAT for the first thing that is damaged; CQ_ERR_IO;
 * CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_index_check(const cq_index *index, cq_context *ctx, cq_error *error);
CQ_API size_t cq_index_size(const cq_index *index);       /* documents that count */
CQ_API size_t cq_index_n_passages(const cq_index *index); /* of them */
typedef struct cq_index_language {
  cq_slice code; /* as documents have it; may be empty */
  size_t n_documents;
} cq_index_language;
/* The languages of the documents, codes ascending: *out [n], released with cq_free. Errors: CQ_ERR_IO, CQ_ERR_FORMAT,
 * CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_index_languages(cq_index_language **out, size_t *n, const cq_index *index,
                                                cq_error *error);
CQ_API int cq_index_dim(const cq_index *index);
CQ_API const char *cq_index_model(const cq_index *index); /* the name it was made with */
/* The model that encodes documents, opened if nothing has needed it yet; it stays as long as the index. For those that
 * encode other texts as well, and need no second one. Errors: those of opening a model, and CQ_ERR_ARGUMENT when it is
 * not the one the index was made with. */
CQ_API CQ_MUST_USE cq_status cq_index_encoder(const cq_encoder **out, const cq_index *index, cq_error *error);
/* The name of the prompt with which that model encodes queries, for those that encode them themselves (query_vectors of
 * a search); NULL: the model's default. False: queries are encoded in another way, which is left to cq_index_search. */
CQ_API bool cq_index_query_prompt(const char **name, const cq_index *index);
/* The first so many documents, removed ones included, are searched by an approximation; 0: there is none. */
CQ_API size_t cq_index_approximated(const cq_index *index);
/* How many queries the passages' hubness is of (cq_index_hubness); 0: the index has none. */
CQ_API size_t cq_index_n_hubness_queries(const cq_index *index);

/* Adds documents, found after the next commit, in place of those that have their ids; and removes documents by id, of
 * which *n_removed were there. A failed call changes nothing. Errors: CQ_ERR_ARGUMENT for an index that is not open for
 * writing, for an id that is empty or comes twice before a commit, or for a tab or newline in id or language or a
 * newline in text; those of encoding; CQ_ERR_IO (a full disk). */
CQ_API CQ_MUST_USE cq_status cq_index_add(cq_index *index, const cq_document *documents, size_t n, cq_context *ctx,
                                          cq_error *error);
CQ_API CQ_MUST_USE cq_status cq_index_remove(cq_index *index, const cq_slice *ids, size_t n, size_t *n_removed,
                                             cq_error *error);

typedef struct cq_index_read_options { /* group "index_read" */
  size_t size;
  size_t batch; /* documents in memory at a time */
  bool mirror;  /* the index ends with these documents and no others: those that it has as they are stay */
  bool (*progress)(void *context, uint64_t n_read); /* after each batch; false stops the call; may be NULL */
  void *progress_context;
  cq_ranks
      *ranks; /* that encode the passages together (calque/ranks.h): rank 0 reads the documents and changes the index;
                      the others, whose index is not for writing and whose documents are NULL, encode what rank 0 sends
                      until it has read all, and have nothing to commit. NULL: this process alone */
} cq_index_read_options;
CQ_DEFAULT_OPTIONS(cq_index_read_options, cq_index_read_default_options, index_read)

typedef struct cq_index_read_result {
  uint64_t n_added;                /* those that replace one of their id among them */
  uint64_t n_unchanged, n_removed; /* mirrored: what stayed as it was, what the reader no longer has */
  uint64_t n_blank;                /* left out */
  uint64_t n_skipped;              /* malformed (cq_documents_options' skip_bad) */
} cq_index_read_result;

/* Adds all documents of a reader, to be committed as those of cq_index_add. After an error what was added of them waits
 * for a commit as well: close the index without one. Errors: those of reading and adding; CQ_ERR_STOPPED. */
CQ_API CQ_MUST_USE cq_status cq_index_read(cq_index *index, cq_documents *documents, cq_index_read_result *result,
                                           const cq_index_read_options *options, cq_context *ctx, cq_error *error);

/* Approximate search, by the library FAISS: documents are chosen by it, then scored exactly. */
typedef enum cq_approximation {
  CQ_APPROXIMATE_NONE,
  CQ_APPROXIMATE_IVF,  /* lists around centers: quick to make (Sivic & Zisserman 2003) */
  CQ_APPROXIMATE_HNSW, /* a graph of neighbors: quick to search (Malkov & Yashunin 2018) */
} cq_approximation;
/* Makes, of the documents that count, or drops an approximation; it counts from the next commit on. Documents added
 * later are searched exactly beside it, until it is made anew. Two HNSW graphs of the same documents may differ.
 * Errors: CQ_ERR_UNSUPPORTED where calque's plugin for FAISS is missing; CQ_ERR_ARGUMENT for an index without
 * documents, or one that is not open for writing; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_index_approximate(cq_index *index, cq_approximation method, cq_context *ctx,
                                                  cq_error *error);

/* Computes how near each passage is to queries of all kinds (hubness), for cq_search_options.csls: one number a
 * passage, the mean cosine of its k nearest queries (of all of them where there are fewer). It counts from the next
 * commit on. Passages that are added later get theirs, by the same queries; after large changes call it again.
 *   queries    texts as users ask them, encoded by the query model; NULL: n_queries of the index's own passages, spread
 *              evenly, stand for them
 *   n_queries  0: the index has no such numbers any more
 * Errors: CQ_ERR_ARGUMENT for an index without documents or not open for writing, and for k 0; those of encoding;
 * CQ_ERR_FORMAT for damaged vectors; CQ_ERR_IO, CQ_ERR_MEMORY.
 * Source: Conneau et al. 2018, section 2.3 (CSLS). */
CQ_API CQ_MUST_USE cq_status cq_index_hubness(cq_index *index, const cq_slice *queries, size_t n_queries, size_t k,
                                              cq_context *ctx, cq_error *error);

/* The document with an id, as it was added: *out is released with cq_free; NULL: there is none. Errors: CQ_ERR_FORMAT
 * for a damaged one, CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_index_get(cq_document **out, const cq_index *index, cq_slice id, cq_error *error);

/* Writes the index anew without what was removed or replaced, which gives its room back; there must be no changes that
 * are not committed. Its approximation is dropped. A failed call leaves all as it was. Errors: CQ_ERR_ARGUMENT as
 * above; CQ_ERR_FORMAT for what is damaged; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_index_compact(cq_index *index, cq_context *ctx, cq_error *error);

/* Makes the changes of all threads count. A failed call leaves them as they were in an index of files; in a database it
 * drops them, since others may have changed the same documents before they are committed again. Errors: CQ_ERR_ARGUMENT
 * for an index that is not open for writing; CQ_ERR_IO, CQ_ERR_MEMORY, CQ_ERR_UNAVAILABLE. */
CQ_API CQ_MUST_USE cq_status cq_index_commit(cq_index *index, cq_error *error);
/* cq_index_add and cq_index_remove, each with its commit: no other thread's change or commit comes between the two, so
 * that success and failure are this call's own. */
CQ_API CQ_MUST_USE cq_status cq_index_add_commit(cq_index *index, const cq_document *documents, size_t n,
                                                 cq_context *ctx, cq_error *error);
CQ_API CQ_MUST_USE cq_status cq_index_remove_commit(cq_index *index, const cq_slice *ids, size_t n, size_t *n_removed,
                                                    cq_error *error);

typedef struct cq_hit {
  double cosine;        /* of the query and the passage */
  cq_document document; /* belongs to the hits; its text is the passage's */
  double score;         /* what hits are ranked by: the cosine or CSLS, the score by words, or both fused */
  double words;         /* the passage's score by words; 0: it has none of the query's, or words were not looked at */
  bool by_vector, by_words;   /* by which of them the passage was found */
  size_t passage, begin, end; /* its number in the document, from 0; its bytes of the document's text */
  cq_slice best;              /* the sentence of the text that says most about the query; data NULL: not asked for */
} cq_hit;

/* How the best sentence of a passage is chosen. */
typedef enum cq_snippet {
  CQ_SNIPPET_NONE,
  CQ_SNIPPET_WORDS,   /* by the sum of the idf, in the index, of the query's words that it has; of equals the first */
  CQ_SNIPPET_VECTORS, /* by the cosine with the query: sentences are encoded, which takes longer than the search */
} cq_snippet;

typedef enum cq_ranking {
  CQ_RANK_DENSE,  /* by the cosine of query and passage */
  CQ_RANK_WORDS,  /* by the words they have in common, as cq_lexical_search: options->words_model */
  CQ_RANK_HYBRID, /* both lists fused by reciprocal ranks: the sum of weight / (60 + rank) (Cormack et al. 2009) */
} cq_ranking;

typedef struct cq_search_options {
  size_t size;
  size_t k;             /* documents for each query */
  const char *language; /* only documents of this language; NULL: of all */
  bool exact;           /* though there is an approximation */
  size_t effort; /* of an approximation, lists looked into (IVF) or candidates kept on the way (HNSW); 0: its default */
  cq_ranking ranking;
  double words_weight; /* of the list by words in a hybrid ranking, 0 to 1; the rest is the cosines' */
  size_t depth;        /* passages of each list that a hybrid ranking fuses, at least k */
  const char *filter; /* conditions on documents: "year >= 2020 and lang in [de, fr]"; NULL: none. docs/guides/search.md
                          has the language */
  cq_snippet snippet; /* of each hit's passage */
  bool csls; /* rank vectors by 2 cos - the passage's hubness (cq_index_hubness) in place of the cosine: documents that
                         are near to everything come less often. Not by words */
  cq_lexical_model words_model; /* the scores by words: BM25, or query likelihood with Dirichlet smoothing */
  double words_mu;              /* of the latter; 0: 2500, Lucene's 2000 */
  const float *query_vectors;   /* [n_queries, dim] where the queries were encoded already; NULL: they are here */
} cq_search_options;
/* The top 10 of all languages by cosine: group "search". */
CQ_DEFAULT_OPTIONS(cq_search_options, cq_search_default_options, search)

/* What a search found; good until it is released, whatever becomes of the index. May be read by any thread. */
typedef struct cq_hits cq_hits;
/* The documents nearest to a query (from 0), best first; *n of them, at most k. */
CQ_API const cq_hit *cq_hits_of(const cq_hits *hits, size_t query, size_t *n);
/* How many of the queries were longer than the model reads, and truncated. */
CQ_API size_t cq_hits_n_truncated(const cq_hits *hits);
CQ_API void cq_hits_free(cq_hits *hits);

/* The best documents for each query, each once, by its best passage. Where there is an approximation but not calque's
 * plugin for FAISS, the search is exact, and `notice` of cq_index_options is called once. Where another process has
 * replaced the approximation, the search is of what that process has committed.
 * Errors: those of encoding; CQ_ERR_ARGUMENT for k 0 and for a malformed filter, with the place; CQ_ERR_UNSUPPORTED for
 * csls where the index has no hubness; CQ_ERR_FORMAT for damage in what is read; CQ_ERR_IO; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_index_search(cq_hits **out, const cq_index *index, const cq_slice *queries,
                                             size_t n_queries, const cq_search_options *options, cq_context *ctx,
                                             cq_error *error);

/* Passages spread evenly over the index, at most n of them, in its order, for drawing them: as the hits of one query, with
 * scores of 0, and their vectors: *vectors [as many, dim], released with cq_free. Errors: as cq_index_search. */
CQ_API CQ_MUST_USE cq_status cq_index_sample(cq_hits **out, float **vectors, const cq_index *index, size_t n,
                                             cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
