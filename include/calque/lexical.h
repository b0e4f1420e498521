/** @file Lexical search: an inverted index, ranked by query likelihood or BM25.
 *
 *      cq_lexical_open(&index, "news.lexical", &err);
 *      cq_lexical_query query;
 *      cq_lexical_parse(&query, index, text, &err);
 *      cq_lexical_search(&hits, index, &query, 1, NULL, ctx, &err);           // hits[0 .. k), best first
 *      cq_free(hits), cq_lexical_query_free(&query), cq_lexical_free(index);
 *
 * Ranking is exact: score bounds skip only documents that cannot be among the top k (MaxScore by blocks). A document
 * without any of the query's terms is not found. Scores are sums of multiples of 2^-32, so neither the order of terms
 * nor skipping changes a bit; on a tie, the document that was read first comes first.
 *
 * @threads An open cq_lexical may be used by any number of threads at once. */
#ifndef CALQUE_LEXICAL_H
#define CALQUE_LEXICAL_H

#include "calque/analysis.h"
#include "calque/context.h"
#include "calque/options.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_lexical cq_lexical;

/** @name An index */

/** Opens an index. @errors CQ_ERR_FORMAT for another format or a damaged file; CQ_ERR_IO. */
CQ_API CQ_MUST_USE cq_status cq_lexical_open(cq_lexical **out, const char *directory, cq_error *error);
CQ_API void cq_lexical_free(cq_lexical *index);

typedef struct cq_lexical_info {
  uint64_t n_documents, n_occurrences; /**< of terms */
  uint64_t n_terms;                    /**< distinct ones, summed over the segments */
  size_t n_segments;
  const char *language;
  bool stems;
  size_t n_stop_words;
} cq_lexical_info;
/** Facts about an index, borrowed from it. */
CQ_API const cq_lexical_info *cq_lexical_about(const cq_lexical *index);
CQ_API cq_slice cq_lexical_id(const cq_lexical *index, uint64_t document);
/** A term's document frequency and collection frequency; both 0 for an unknown term. */
CQ_API void cq_lexical_count(uint64_t *n_documents, uint64_t *n_occurrences, const cq_lexical *index, cq_slice term);

/** @name Ranking */

/** The score of a term. tf, qtf: its frequency in the document, in the query; dl: the document's length in terms; F, n:
 * the term's collection frequency and document frequency; T, N: terms and documents of the collection; avgdl: T/N.
 * @source Zhai & Lafferty 2004, eq. 6; Robertson et al. 1994; as implemented in Terrier 5 and Lucene 8, with exact
 * lengths. */
typedef enum cq_lexical_model {
  CQ_DIRICHLET,        /**< log2(1 + tf / (mu F/T)) + log2(mu / (dl + mu)), ignoring qtf: Terrier's */
  CQ_DIRICHLET_LUCENE, /**< max(0, ln(1 + tf / (mu (F+1)/(T+1))) + ln(mu / (dl + mu))) times the weight: Lucene's */
  CQ_BM25,             /**< ln(1 + (N - n + .5) / (n + .5)) tf / (tf + k1 (1 - b + b dl/avgdl)): Lucene's */
  CQ_BM25_TERRIER,     /**< log2((N - n + .5) / (n + .5)) (k1 + 1) tf / (tf + k1 (1 - b + b dl/avgdl)), qtf by k3 = 8 */
  CQ_N_LEXICAL_MODELS
} cq_lexical_model;
/** "dirichlet", "dirichlet-lucene", "bm25", "bm25-terrier" */
CQ_API const char *cq_lexical_model_name(cq_lexical_model model);

typedef struct cq_lexical_options {
  size_t size;
  cq_lexical_model model;
  size_t k;        /**< top-k */
  double mu;       /**< Dirichlet smoothing; 0: 2500, Lucene's 2000 */
  double k1, b;    /**< BM25 */
  bool exhaustive; /**< score every posting: the same result, slower */
} cq_lexical_options;
/** Group "lexical": query likelihood as Terrier implements it, the top 10. */
CQ_DEFAULT_OPTIONS(cq_lexical_options, cq_lexical_default_options, lexical)

typedef struct cq_lexical_term {
  cq_slice term; /**< as in the index: analyzed */
  double weight; /**< above 0; a factor of the term's score */
  uint32_t word; /**< adjacent terms with the same number, other than 0, are forms of one word: all have the highest of
                      their document frequencies and collection frequencies (Lucene's SynonymQuery) */
} cq_lexical_term;

/** Repeated terms: Terrier's Dirichlet keeps the first weight, the other models add the weights. */
typedef struct cq_lexical_query {
  cq_lexical_term *terms;
  size_t n;
} cq_lexical_query;

/** A text as a query: its terms by the index's analysis, with weight 1 each; release with cq_lexical_query_free(). */
CQ_API CQ_MUST_USE cq_status cq_lexical_parse(cq_lexical_query *out, const cq_lexical *index, cq_slice text,
                                              cq_error *error);
CQ_API void cq_lexical_query_free(cq_lexical_query *query);

typedef struct cq_lexical_hit {
  cq_slice id; /**< borrowed; data NULL: no more hits */
  double score;
  uint64_t document;
} cq_lexical_hit;

/** The top k documents for each query: `*out` [n_queries, k], released with cq_free(). A query without any term in the
 * index finds nothing. @errors CQ_ERR_ARGUMENT for options out of range, a weight that is not above 0, or weights too
 * large for exact sums; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_lexical_search(cq_lexical_hit **out, const cq_lexical *index,
                                               const cq_lexical_query *queries, size_t n_queries,
                                               const cq_lexical_options *options, cq_context *ctx, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
