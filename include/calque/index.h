/** @file A search index: documents in any of a model's languages, found by meaning, by words, or by both.
 *
 *      cq_index_options o = cq_index_default_options();
 *      o.model = "multilingual", o.writing = true;
 *      cq_index_create("news.index", &o, &err), cq_index_open(&index, "news.index", &o, &err);
 *      cq_index_add(index, documents, n, ctx, &err), cq_index_commit(index, &err);
 *      cq_index_search(&hits, index, &query, 1, &options, ctx, &err);
 *      const cq_hit *best = cq_hits_of(hits, 0, &n_found);                    // best[0 .. n_found), best first
 *      cq_hits_free(hits), cq_index_free(index);
 *
 * A document longer than the model's maximum sequence length is split into passages at sentence boundaries; a hit names
 * the document and the passage. Documents have metadata, by which a search can be limited (filter).
 *
 * Search is exact unless an approximate index is made, which is worthwhile for millions of documents. Changes take
 * effect when they are committed, all at once: a process killed at any moment leaves the index in its old or its new
 * state. One process at a time may have an index open for writing; readers need not wait.
 *
 * Instead of a directory, create and open take the address of a PostgreSQL database with pgvector:
 * `postgresql://USER@HOST/DATABASE?schema=NAME`, as for libpq except schema, which names the index within the database.
 * Several processes and machines may then change the index at the same time, and each sees others' commits at once.
 * Hubness, compaction, checks and mirroring are CQ_ERR_UNSUPPORTED there. If the server does not respond, any function
 * returns CQ_ERR_UNAVAILABLE. Messages never contain a password. Uncommitted documents are kept in memory.
 *
 * @threads All functions except cq_index_free() may be called on one index by any number of threads at once. Those that
 * change it wait for each other. A search and its hits use one snapshot, the newest one when the search begins, which
 * no commit changes. The committing handle sees a commit at once, other processes after cq_index_refresh(). */
#ifndef CALQUE_INDEX_H
#define CALQUE_INDEX_H

#include "calque/document.h"
#include "calque/encoder.h"
#include "calque/lexical.h"
#include "calque/options.h"
#include "calque/ranks.h"
#include "calque/reranker.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_index cq_index;

typedef struct cq_index_options {
  size_t size;
  const char *model;   /**< encodes documents and queries. When opening, NULL: the index's model, opened by its name
                        * when needed */
  bool writing;        /**< to add or remove documents; does not wait */
  cq_notice_fn notice; /**< called by any thread that uses the index */
  void *notice_context;
  cq_precision precision; /**< of the model */
  /** Encodes queries instead of the index's model: a student with the same vector space (only the dimensions are
   * checked). Only for opening */
  const char *query_model;
  size_t passage_tokens;  /**< split added documents that have more tokens; 0: the model's maximum */
  size_t passage_overlap; /**< tokens shared with the previous passage, in whole sentences */
  /** As in cq_encoder_options: for making an index, which then composes documents and queries whenever it is opened,
   * and for query_model. Opening an index made without it is CQ_ERR_ARGUMENT */
  bool compose;
} cq_index_options;
/** For reading: group "index". */
CQ_DEFAULT_OPTIONS(cq_index_options, cq_index_default_options, index)
/** Rows for passage_tokens and passage_overlap, for the tables of commands that make an index. */
#define CQ_PASSAGE_ROWS(owner)                                                                                         \
  {CQ_SIZE(owner, "passage-tokens", passage_tokens, CHANGES, 256, 0, 1000000, "N",                                     \
           "split documents with more tokens into passages of whole sentences; 0: the model's maximum")},              \
  {                                                                                                                    \
    CQ_SIZE(owner, "passage-overlap", passage_overlap, CHANGES, 32, 0, 1000000, "N",                                   \
            "tokens that consecutive passages may share, in whole sentences")                                          \
  }

/** Makes an empty index for options->model. @errors CQ_ERR_ARGUMENT when the directory exists; those of opening the
 * model; CQ_ERR_IO. */
CQ_API CQ_MUST_USE cq_status cq_index_create(const char *directory, const cq_index_options *options, cq_error *error);

/** Opens an index; options NULL: for reading. @errors CQ_ERR_ARGUMENT for a model other than the index's (with NULL:
 * when it is opened), for a query model with other dimensions, and for writing when the index is open for writing
 * elsewhere; CQ_ERR_FORMAT, CQ_ERR_IO. */
CQ_API CQ_MUST_USE cq_status cq_index_open(cq_index **out, const char *directory, const cq_index_options *options,
                                           cq_error *error);
CQ_API void cq_index_free(cq_index *index); /**< hits stay valid */
/** Whether a path is a database's address instead of a directory. */
CQ_API bool cq_index_is_address(const char *place);
/** Looks for commits by other processes, to be used by later searches. It takes microseconds if there are none,
 * otherwise the time to map the files and find the lines of new documents.
 * @param changed  whether there were any; may be NULL
 * @errors CQ_ERR_ARGUMENT if another index has replaced this one; CQ_ERR_FORMAT, CQ_ERR_IO, CQ_ERR_MEMORY. The index is
 * unchanged on an error. */
CQ_API CQ_MUST_USE cq_status cq_index_refresh(cq_index *index, bool *changed, cq_error *error);
/** Verifies all checksums: documents, deletions, vectors, the lexical and the approximate index. (A search verifies
 * what it reads.) @errors CQ_ERR_FORMAT for the first damage; CQ_ERR_IO; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_index_check(const cq_index *index, cq_context *ctx, cq_error *error);
CQ_API size_t cq_index_size(const cq_index *index);       /**< documents */
CQ_API size_t cq_index_n_passages(const cq_index *index); /**< of these documents */
typedef struct cq_index_language {
  cq_slice code; /**< as documents have it; may be empty */
  size_t n_documents;
} cq_index_language;
/** The languages of the documents, codes ascending: `*out` [n], released with cq_free(). @errors CQ_ERR_IO,
 * CQ_ERR_FORMAT, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_index_languages(cq_index_language **out, size_t *n, const cq_index *index,
                                                cq_error *error);
CQ_API int cq_index_dim(const cq_index *index);
CQ_API const char *cq_index_model(const cq_index *index); /**< the name it was made with */
/** The model that encodes documents, opened if needed and borrowed from the index, for encoding other texts without
 * opening it twice. @errors Those of opening a model; CQ_ERR_ARGUMENT when the index was made with another one. */
CQ_API CQ_MUST_USE cq_status cq_index_encoder(const cq_encoder **out, const cq_index *index, cq_error *error);
/** The name of the prompt with which that model encodes queries, for callers that encode them (query_vectors of a
 * search); NULL: the model's default. False: queries are encoded differently, so leave this to cq_index_search(). */
CQ_API bool cq_index_query_prompt(const char **name, const cq_index *index);
/** The number of documents, including removed ones, that the approximate index covers, from the first on; 0: none. */
CQ_API size_t cq_index_approximated(const cq_index *index);
/** The number of queries for the passages' hubness (cq_index_hubness()); 0: the index has none. */
CQ_API size_t cq_index_n_hubness_queries(const cq_index *index);

/** Adds documents, which replace those with the same ids; removes documents by id (`*n_removed`: how many existed).
 * Both take effect with the next commit. A failed call changes nothing. @errors CQ_ERR_ARGUMENT for an index that is
 * not open for writing, for an id that is empty or appears twice before a commit, and for a tab or newline in id or
 * language or a newline in text; those of encoding; CQ_ERR_IO (a full disk). */
CQ_API CQ_MUST_USE cq_status cq_index_add(cq_index *index, const cq_document *documents, size_t n, cq_context *ctx,
                                          cq_error *error);
CQ_API CQ_MUST_USE cq_status cq_index_remove(cq_index *index, const cq_slice *ids, size_t n, size_t *n_removed,
                                             cq_error *error);

typedef struct cq_index_read_options {
  size_t size;
  size_t batch; /**< documents in memory at a time */
  bool mirror;  /**< the index then has exactly these documents; unchanged ones are kept */
  bool (*progress)(void *context, uint64_t n_read); /**< after each batch; false stops; may be NULL */
  void *progress_context;
  /** Encode passages on all ranks (calque/ranks.h). Rank 0 reads the documents and changes the index; the others open
   * the index for reading, pass NULL for documents, and do not commit. NULL: only this process */
  cq_ranks *ranks;
} cq_index_read_options;
CQ_DEFAULT_OPTIONS(cq_index_read_options, cq_index_read_default_options, index_read) /**< group "index_read" */

typedef struct cq_index_read_result {
  uint64_t n_added;                /**< including those that replace one with the same id */
  uint64_t n_unchanged, n_removed; /**< with mirror: unchanged documents, and removed ones that the reader lacks */
  uint64_t n_blank;                /**< blank ones, left out */
  uint64_t n_skipped;              /**< malformed (cq_documents_options' skip_bad) */
  /** With mirror: documents that the reader lacks, but that are kept, because a file that may have them could not be
   * read completely, or at all while its name is there */
  uint64_t n_kept;
} cq_index_read_result;

/** Adds all documents of a reader, to be committed as with cq_index_add(). After an error, some documents are already
 * added: close the index without a commit. @errors Those of reading and adding; CQ_ERR_STOPPED. */
CQ_API CQ_MUST_USE cq_status cq_index_read(cq_index *index, cq_documents *documents, cq_index_read_result *result,
                                           const cq_index_read_options *options, cq_context *ctx, cq_error *error);

/** Approximate search by FAISS, which chooses documents that are then scored exactly. */
typedef enum cq_approximation {
  CQ_APPROXIMATE_NONE,
  CQ_APPROXIMATE_IVF,  /**< lists around centers: fast to build (Sivic & Zisserman 2003) */
  CQ_APPROXIMATE_HNSW, /**< a graph of neighbors: fast to search (Malkov & Yashunin 2018) */
} cq_approximation;
/** Makes an approximate index of the documents, or drops it, with the next commit. Documents added later are searched
 * exactly, until it is made again. Two HNSW graphs of the same documents may differ. @errors CQ_ERR_UNSUPPORTED if
 * calque's plugin for FAISS is missing; CQ_ERR_ARGUMENT for an index without documents, or not open for writing;
 * CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_index_approximate(cq_index *index, cq_approximation method, cq_context *ctx,
                                                  cq_error *error);

/** Computes the hubness of each passage, for cq_search_options.csls: the mean cosine to its k nearest queries, or to
 * all if there are fewer. It takes effect with the next commit. Passages added later use the same queries; after large
 * changes, call it again.
 * @param queries    typical queries, encoded by the query model; NULL: n_queries of the index's own passages, spread
 *                   evenly
 * @param n_queries  0: removes the hubness
 * @errors CQ_ERR_ARGUMENT for an index without documents, or not open for writing, and for k 0; those of encoding;
 * CQ_ERR_FORMAT for damaged vectors; CQ_ERR_IO, CQ_ERR_MEMORY.
 * @source Conneau et al. 2018, section 2.3 (CSLS). */
CQ_API CQ_MUST_USE cq_status cq_index_hubness(cq_index *index, const cq_slice *queries, size_t n_queries, size_t k,
                                              cq_context *ctx, cq_error *error);

/** The document with an id, as added: `*out` is released with cq_free(); NULL if there is none. @errors CQ_ERR_FORMAT
 * for a damaged one, CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_index_get(cq_document **out, const cq_index *index, cq_slice id, cq_error *error);

/** Rewrites the index without removed and replaced documents, to free their space. There must be no uncommitted
 * changes. The approximate index is dropped. A failed call changes nothing. @errors CQ_ERR_ARGUMENT as above;
 * CQ_ERR_FORMAT for damage; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_index_compact(cq_index *index, cq_context *ctx, cq_error *error);

/** Commits the changes of all threads. If this fails, they stay uncommitted in an index of files, and are dropped in a
 * database, since others may change the same documents before the next attempt. @errors CQ_ERR_ARGUMENT for an index
 * that is not open for writing; CQ_ERR_IO, CQ_ERR_MEMORY, CQ_ERR_UNAVAILABLE. */
CQ_API CQ_MUST_USE cq_status cq_index_commit(cq_index *index, cq_error *error);
/** cq_index_add() and cq_index_remove(), each with its commit; no other thread's change or commit happens in
 * between. */
CQ_API CQ_MUST_USE cq_status cq_index_add_commit(cq_index *index, const cq_document *documents, size_t n,
                                                 cq_context *ctx, cq_error *error);
CQ_API CQ_MUST_USE cq_status cq_index_remove_commit(cq_index *index, const cq_slice *ids, size_t n, size_t *n_removed,
                                                    cq_error *error);

typedef struct cq_hit {
  double cosine;              /**< of query and passage */
  cq_document document;       /**< owned by the hits; its text is the passage's */
  double score;               /**< the score for ranking: cosine or CSLS, lexical score, or both fused */
  double words;               /**< the lexical score; 0: no common words, or no lexical search */
  bool by_vector, by_words;   /**< which of the two found the passage */
  size_t passage, begin, end; /**< the passage's number in the document, from 0, and its bytes of the text */
  cq_slice best;              /**< the best sentence for the query (cq_snippet); data NULL: none */
  /** Whether the passage is likely to answer the query: its cosine is at least the model's calibrated one (good_match in
   * config_sentence_transformers.json), or it has four fifths of the query's words, weighted by rarity. True for models
   * without calibration, and in rankings by words. */
  bool is_good;
} cq_hit;

/** How the best sentence of a passage is chosen. */
typedef enum cq_snippet {
  CQ_SNIPPET_NONE,
  CQ_SNIPPET_WORDS,   /**< by the summed idf of the query's words in it; the first on a tie */
  CQ_SNIPPET_VECTORS, /**< by cosine with the query: encoding takes longer than the search */
} cq_snippet;

typedef enum cq_ranking {
  CQ_RANK_DENSE,  /**< by the cosine of query and passage */
  CQ_RANK_WORDS,  /**< by common words, as in cq_lexical_search(): options->words_model */
  CQ_RANK_HYBRID, /**< (1 - w) cosine + w share, of the idf of the query's terms that the passage has, w = words_weight.
                       A passage without any of them has the mean share of the three nearest passages that have some */
} cq_ranking;

typedef struct cq_search_options {
  size_t size;
  size_t k;             /**< documents for each query */
  const char *language; /**< only documents of this language or its regional forms; NULL: of all */
  bool exact;           /**< even if there is an approximation */
  size_t effort;        /**< lists visited (IVF) or candidates kept (HNSW) by the approximate index; 0: its default */
  cq_ranking ranking;
  double words_weight; /**< weight of words in a hybrid ranking, 0 to 1; cosines have the rest */
  /** Nearest passages that a hybrid ranking considers, at least k, and more if they are of fewer than k documents; by
   * words, ten times as many */
  size_t depth;
  const char *filter; /**< conditions, docs/guides/search.md: "year >= 2020 and lang in [de, fr]"; NULL: none */
  cq_snippet snippet; /**< of each hit's passage */
  bool csls; /**< rank vectors by 2 cos - the passage's hubness (cq_index_hubness()), against hubs; not for lexical
              * search */
  cq_lexical_model words_model; /**< the lexical score: BM25, or query likelihood with Dirichlet smoothing */
  double words_mu;              /**< of the latter; 0: 2500, Lucene's 2000 */
  const float *query_vectors;   /**< [n_queries, dim] if the queries are already encoded; NULL: encode them */
} cq_search_options;
/** The top 10 in all languages by the hybrid ranking: group "search". */
CQ_DEFAULT_OPTIONS(cq_search_options, cq_search_default_options, search)

/** The result of a search; valid until it is released, even without the index. May be read by any thread. */
typedef struct cq_hits cq_hits;
/** The documents nearest to a query (numbered from 0), best first; `*n` of them, at most k. */
CQ_API const cq_hit *cq_hits_of(const cq_hits *hits, size_t query, size_t *n);
/** The number of queries that were truncated to the model's maximum sequence length. */
CQ_API size_t cq_hits_n_truncated(const cq_hits *hits);
CQ_API void cq_hits_free(cq_hits *hits);

/** The best documents for each query; each document appears once, with its best passage. If the index has an
 * approximate index but calque's plugin for FAISS is missing, the search is exact, and `notice` of cq_index_options is
 * called once. If another process has replaced the approximate index, the search uses that process's commit.
 * @errors Those of encoding; CQ_ERR_ARGUMENT for k 0 and for a malformed filter, with the position; CQ_ERR_UNSUPPORTED
 * for csls without hubness; CQ_ERR_FORMAT for damage; CQ_ERR_IO; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_index_search(cq_hits **out, const cq_index *index, const cq_slice *queries,
                                             size_t n_queries, const cq_search_options *options, cq_context *ctx,
                                             cq_error *error);

/** Reorders each query's first `depth` documents by a reranker's logits for query and passage, which become their
 * scores, and keeps the first k documents. The other fields stay those of the search. A failed call changes nothing.
 * @param stats    as cq_reranker_score()'s
 * @param queries  those of the search
 * @errors Those of cq_reranker_score_pairs(). */
CQ_API CQ_MUST_USE cq_status cq_hits_rerank(cq_hits *hits, cq_encode_stats *stats, const cq_reranker *reranker,
                                            const cq_slice *queries, size_t depth, size_t k, cq_context *ctx,
                                            cq_error *error);

/** At most n passages, spread evenly over the index and in its order, for plots: the hits of one query with scores of
 * 0, and their vectors `*vectors` [hits, dim], released with cq_free(). @errors As cq_index_search(). */
CQ_API CQ_MUST_USE cq_status cq_index_sample(cq_hits **out, float **vectors, const cq_index *index, size_t n,
                                             cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
