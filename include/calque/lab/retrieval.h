/** @file Evaluation of ranked retrieval against relevance judgments (qrels): TREC's measures.
 *
 *      cq_retrieval_eval *r;
 *      cq_eval_retrieval(&r, "qrels.txt", "run.txt", NULL, &err);
 *      for (size_t m = 0; m < cq_retrieval_eval_n_measures(r); m++)
 *        printf("%s %.4f\n", cq_retrieval_eval_measure(r, m), cq_retrieval_eval_overall(r, m));
 *      cq_retrieval_eval_free(r);
 *
 * The figures are trec_eval's: a run is ranked by score, ignoring the rank column, with ties by document name,
 * descending; documents are relevant from relevance 1 on.
 *
 * @threads Calls are independent of one another; a cq_retrieval_eval may be read by any number of threads at once. */
#ifndef CALQUE_LAB_RETRIEVAL_H
#define CALQUE_LAB_RETRIEVAL_H

#include "calque/encoder.h"
#include "calque/options.h"
#include "calque/reranker.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_retrieval_eval cq_retrieval_eval;

typedef struct cq_retrieval_eval_options {
  size_t size;
  const char *const *measures; /**< names, see cq_eval_retrieval(); none: the usual ones */
  size_t n_measures;
  bool complete;  /**< also count judged topics that the run lacks */
  bool in_double; /**< compare scores in double precision, as in trec_eval 10; otherwise in f32, as in 9 */
} cq_retrieval_eval_options;
/** Group "retrieval-eval". */
CQ_DEFAULT_OPTIONS(cq_retrieval_eval_options, cq_retrieval_eval_default_options, retrieval_eval)

/** Evaluates a run. Measures: num_ret, num_rel, num_rel_ret, map, Rprec, bpref, recip_rank, ndcg; with a cutoff k P_k,
 * recall_k and ndcg_cut_k.
 * @param options  NULL for the defaults: the usual measures, over the common topics
 * @errors CQ_ERR_ARGUMENT for an unknown measure, or files without common topics; CQ_ERR_FORMAT with the line for
 * malformed lines or a repeated document; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_eval_retrieval(cq_retrieval_eval **out, const char *judgements, const char *run,
                                               const cq_retrieval_eval_options *options, cq_error *error);
CQ_API void cq_retrieval_eval_free(cq_retrieval_eval *retrieval);
/** What may be wrong: no document of the run is judged, or the run lacks topics; NULL: nothing. */
CQ_API const char *cq_retrieval_eval_notice(const cq_retrieval_eval *retrieval);

CQ_API size_t cq_retrieval_eval_n_measures(const cq_retrieval_eval *retrieval);
CQ_API const char *cq_retrieval_eval_measure(const cq_retrieval_eval *retrieval, size_t measure);
CQ_API bool cq_retrieval_eval_is_count(const cq_retrieval_eval *retrieval, size_t measure); /**< num_... */
CQ_API size_t cq_retrieval_eval_n_topics(const cq_retrieval_eval *retrieval);               /**< in bytewise order */
CQ_API cq_slice cq_retrieval_eval_topic(const cq_retrieval_eval *retrieval, size_t topic);
CQ_API double cq_retrieval_eval_value(const cq_retrieval_eval *retrieval, size_t topic, size_t measure);
/** The mean over topics; the sum for counts. */
CQ_API double cq_retrieval_eval_overall(const cq_retrieval_eval *retrieval, size_t measure);

/** @name Runs */

/** The models of a dense run. */
typedef struct cq_dense_models {
  const cq_encoder *encoder;
  const cq_reranker *reranker; /**< NULL: none. Its logits become the scores of a topic's first documents */
  size_t rerank_depth;         /**< how many these are; the others follow, with scores below */
  cq_encode_stats *reranked;   /**< as cq_reranker_score()'s; may be NULL */
} cq_dense_models;

/** Dense retrieval: ranks the documents of a file or directory for every topic by the cosine similarity of their
 * vectors (a bi-encoder), as a TREC run of the top k documents of each topic.
 * @param run               the file to write, atomically; NULL or "-": standard output
 * @param documents,topics  file formats as for cq_lexical_build() and cq_lexical_run()
 * @errors Those of reading, encoding and writing; CQ_ERR_FORMAT for no documents; CQ_ERR_ARGUMENT for an empty tag or
 * one with blanks. */
CQ_API CQ_MUST_USE cq_status cq_dense_run(const char *run, const cq_dense_models *models, const char *documents,
                                          const char *topics, size_t k, const char *tag, cq_context *ctx,
                                          cq_error *error);

/** Reciprocal rank fusion of several runs: a document's score is the sum of 1 / (k + rank) over the runs that have it.
 * Writes the top `depth` of each topic; `run` as above. @errors Those of reading and writing runs; CQ_ERR_ARGUMENT for
 * k below 0 and for the tag. @source Cormack et al. 2009, who use k = 60. */
CQ_API CQ_MUST_USE cq_status cq_fuse_runs(const char *run, const char *const *runs, size_t n_runs, double k,
                                          size_t depth, const char *tag, cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
