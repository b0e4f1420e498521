/** @file A reranker (cross-encoder): a query and a passage in, one logit out.
 *
 *      cq_reranker *reranker;
 *      cq_reranker_open(&reranker, "cross-encoder/mmarco-mMiniLMv2-L12-H384-v1", NULL, &err);
 *      cq_reranker_score(logits, NULL, reranker, query, passages, n, ctx, &err); // higher: a better answer
 *      cq_reranker_free(reranker);
 *
 * A pair's logit does not depend on the other pairs of the call or the number of threads, as in calque/encoder.h.
 *
 * @threads An open reranker is immutable and may be used by any number of threads at once. */
#ifndef CALQUE_RERANKER_H
#define CALQUE_RERANKER_H

#include "calque/encoder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_reranker cq_reranker;

/** Whether a model is a reranker: its configuration names a classifier with one label. Weights are not
 * read: a classifier with one row that names no labels is none by this, and yet opens as one.
 * @errors Those of finding the model and reading its configuration; *is is then false. */
CQ_API CQ_MUST_USE cq_status cq_model_is_reranker(bool *is, const char *name, cq_error *error);

/** Opens a directory of sentence-transformers' CrossEncoder or transformers' ...ForSequenceClassification (BERT, ALBERT,
 * RoBERTa, XLM-R, CamemBERT, MPNet, ELECTRA, DistilBERT, DeBERTa v2 and v3, ModernBERT), or a model of the local cache
 * by its name. Its classifier has one label.
 * @param options  NULL for the defaults; max_seq_length, precision and notice are used, and compose, task and
 *                 drop_unknown are CQ_ERR_ARGUMENT
 * @errors as cq_encoder_open()'s; CQ_ERR_UNSUPPORTED for an embedding model and for other numbers of labels. */
CQ_API CQ_MUST_USE cq_status cq_reranker_open(cq_reranker **out, const char *name, const cq_encoder_options *options,
                                              cq_error *error);
CQ_API void cq_reranker_free(cq_reranker *reranker);

CQ_API int cq_reranker_max_seq_length(const cq_reranker *reranker); /**< tokens of both texts, special ones included */
CQ_API cq_precision cq_reranker_precision(const cq_reranker *reranker);

/** The function that sentence-transformers applies to the logits of this model: "Sigmoid" (a score from 0 to 1) unless
 * its configuration names another, such as "Identity". */
CQ_API const char *cq_reranker_activation(const cq_reranker *reranker);

/** The logits of a query with each of n passages. If both texts are longer than the maximum sequence length, the longer
 * one is truncated until both are equally long, and then both, as sentence-transformers does.
 * @param out    [n]
 * @param stats  added to, not reset; its sentences are pairs; may be NULL
 * @errors CQ_ERR_FORMAT (a text is not UTF-8; a passage's index is in error->line, 1-based), CQ_ERR_UNSUPPORTED (the
 * tokenizer has no template for pairs), CQ_ERR_ARGUMENT (a logit that is not finite), CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_reranker_score(float *out, cq_encode_stats *stats, const cq_reranker *reranker,
                                               cq_slice query, const cq_slice *passages, size_t n, cq_context *ctx,
                                               cq_error *error);
/** The same for n pairs: passage i belongs to queries[i]. */
CQ_API CQ_MUST_USE cq_status cq_reranker_score_pairs(float *out, cq_encode_stats *stats, const cq_reranker *reranker,
                                                     const cq_slice *queries, const cq_slice *passages, size_t n,
                                                     cq_context *ctx, cq_error *error);

/** Sorts positions 0 to n - 1 into `order` by logits, the highest first; equal logits keep their order. */
CQ_API void cq_reranker_order(size_t *order, const float *logits, size_t n);

#ifdef __cplusplus
}
#endif
#endif
