/* A lexical index that grows commit by commit: segments, which are written once, and searchable sets of them.
 *
 *   cq_lexical_segment_of_texts("words-7", analyzer, texts, languages, n, ctx, &err);        // a commit's documents
 *   cq_lexical_set_open(&next, analyzer, paths, n_paths, set, &err);              // shares the open segments of `set`
 *   cq_lexical_set_search_texts(&hits, next, queries, n_queries, &options, &filter, ctx, &err);
 *   cq_lexical_set_free(set);
 *   while (cq_lexical_choose_merge(&first, &n, sizes, n_paths)) ...               // keeps O(log documents) segments
 *     cq_lexical_segments_merge("words-8", next, first, n, dead, &err);
 *
 * A segment is a file as in segment.h, the same as in an index of cq_lexical_build, except that documents have empty
 * ids: they are identified by their numbers, which continue from each segment of a set to the next. The index's owner
 * must record which files belong to it. The contents of a path never change.
 *
 * Threads: any number of threads may search a set at once. A set may be freed while other threads use sets that share
 * its segments. */
#ifndef LEXICAL_GROWING_H
#define LEXICAL_GROWING_H

#include "calque/lexical.h"
#include "text/analyzer.h"

/* --- writing --- */

enum { CQ_MAX_SEGMENT_TEXTS = INT32_MAX };

/* Writes the segment of n texts, numbered from 0; a text may be empty. languages [n] (NULL: unknown) matter to an
 * analyzer of forms. The bytes do not depend on the number of threads. Errors: CQ_ERR_ARGUMENT for more than CQ_MAX_SEGMENT_TEXTS; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_lexical_segment_of_texts(const char *path, const cq_analyzer *analyzer, const cq_slice *texts,
                                                  const cq_slice *languages, size_t n, cq_context *ctx,
                                                  cq_error *error);

/* --- sets --- */

typedef struct cq_lexical_set cq_lexical_set;

/* Opens segments, in order. Those that `shared` (may be NULL) has under the same path are not opened again. The
 * analyzer is borrowed; no segments is legal. Errors: CQ_ERR_FORMAT for a damaged file; CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_lexical_set_open(cq_lexical_set **out, const cq_analyzer *analyzer, const char *const *paths,
                                          size_t n, const cq_lexical_set *shared, cq_error *error);
void cq_lexical_set_free(cq_lexical_set *set);
/* Verifies all postings against their checks; opening a segment has verified everything else. Errors: CQ_ERR_FORMAT,
 * with the file, for the first damage. */
CQ_MUST_USE cq_status cq_lexical_set_verify(const cq_lexical_set *set, cq_error *error);

uint64_t cq_lexical_set_n_documents(const cq_lexical_set *set);
size_t cq_lexical_set_n_segments(const cq_lexical_set *set);
/* The number of a segment's first document; for segment n_segments, n_documents. */
uint64_t cq_lexical_set_first(const cq_lexical_set *set, size_t segment);
void cq_lexical_set_count(uint64_t *n_documents, uint64_t *n_occurrences, const cq_lexical_set *set, cq_slice term);

/* --- merging --- */

/* Merges n consecutive segments of a set, from number `first` on, into one; their text is not needed, and the order of
 * documents stays. `dead` (NULL: none) has a bit per document of the set: bit d % 8, counted from the lowest, of byte d
 * / 8. Dead documents become empty ones, so that all numbers stay. The bytes equal those of a segment written at once.
 * Memory: 4 bytes per document, and the postings of one term.
 * Errors: CQ_ERR_FORMAT, with the file, for damaged postings; CQ_ERR_ARGUMENT for more than CQ_MAX_SEGMENT_TEXTS
 * documents; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_lexical_segments_merge(const char *path, const cq_lexical_set *set, size_t first, size_t n,
                                                const unsigned char *dead, cq_error *error);

/* Chooses which segments of these sizes (in documents) to merge after a commit; false: none. Repeated after each merge,
 * this leaves O(log documents) segments. */
bool cq_lexical_choose_merge(size_t *first, size_t *n, const uint64_t *sizes, size_t n_segments);

/* --- searching --- */

typedef struct cq_lexical_filter {
  bool (*allows)(const void *context, uint64_t document); /* called by several threads at once */
  const void *context;
} cq_lexical_filter;

/* cq_lexical_search among the documents that a filter allows (NULL: all). The statistics used for scores (documents,
 * lengths, term counts) are those of the whole set, so a filter changes no score. As in Lucene, deleted documents count
 * until a merge removes them. Errors: cq_lexical_search's; CQ_ERR_FORMAT, with the file, for damaged postings. */
CQ_MUST_USE cq_status cq_lexical_set_search(cq_lexical_hit **out, const cq_lexical_set *set,
                                            const cq_lexical_query *queries, size_t n_queries,
                                            const cq_lexical_options *options, const cq_lexical_filter *filter,
                                            cq_context *ctx, cq_error *error);
/* The same for texts, analyzed like the documents. */
CQ_MUST_USE cq_status cq_lexical_set_search_texts(cq_lexical_hit **out, const cq_lexical_set *set,
                                                  const cq_slice *queries, size_t n_queries,
                                                  const cq_lexical_options *options, const cq_lexical_filter *filter,
                                                  cq_context *ctx, cq_error *error);

/* The positions in a text of the words that match a query: *out[n], ascending; released with cq_free(). Errors:
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_lexical_matches(cq_span **out, size_t *n, const cq_analyzer *analyzer, cq_slice query,
                                         cq_slice text, cq_error *error);

/* The weight of a query's terms in each text: the sum, over the query's different terms in it, of ln(1 + (N - n + .5) /
 * (n + .5)), BM25's idf in the set. weights [n]. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_lexical_weigh(double *weights, const cq_lexical_set *set, cq_slice query,
                                       const cq_slice *texts, size_t n, cq_error *error);

/* The same with counts from elsewhere: n_documents, and the number of them that contain a term. */
typedef uint64_t (*cq_count_term_fn)(const void *context, cq_slice term);
CQ_MUST_USE cq_status cq_lexical_weigh_by(double *weights, const cq_analyzer *analyzer, cq_slice query,
                                          const cq_slice *texts, size_t n, cq_count_term_fn count, const void *context,
                                          uint64_t n_documents, cq_error *error);

/* A text's terms, with weight 1 for each word; release with cq_lexical_query_free. */
CQ_MUST_USE cq_status cq_lexical_query_parse(cq_lexical_query *out, cq_analysis *analysis, cq_slice text,
                                             cq_error *error);

#endif
