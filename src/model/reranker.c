/* A reranker is an encoder of pairs with one dimension: the logit. */
#include "calque/reranker.h"
#include "base/error.h"
#include "base/memory.h"
#include "model/encoder.h"
#include "model/transformer_module.h"

#include <string.h>

struct cq_reranker {
  cq_encoder *encoder;
  const char *activation;
};

/* The last component of a class's name. sentence-transformers has written it to three places. */
static const char *find_activation(const cq_encoder *e) {
  const json_t *config = ((const cq_transformer *)e->modules[0])->config;
  const json_t *named[] = {json_object_get(e->config, "activation_fn"),
                           json_object_get(json_object_get(config, "sentence_transformers"), "activation_fn"),
                           json_object_get(config, "sbert_ce_default_activation_function")};
  for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
    const char *name = json_string_value(named[i]);
    if (name) return strrchr(name, '.') ? strrchr(name, '.') + 1 : name;
  }
  return "Sigmoid";
}

cq_status cq_reranker_open(cq_reranker **out, const char *name, const cq_encoder_options *options, cq_error *error) {
  if (options && (options->compose || options->task || options->drop_unknown))
    return cq_fail(error, CQ_ERR_ARGUMENT, "a reranker has none of the options compose, task and drop-unknown");
  cq_reranker *r = cq_alloc_zeroed(sizeof *r);
  if (!r) return cq_fail_memory(error, "a reranker");
  const cq_status status = cq_encoder_open_pairs(&r->encoder, name, options, error);
  if (status) {
    cq_free(r);
    return status;
  }
  r->activation = find_activation(r->encoder);
  *out = r;
  return CQ_OK;
}

void cq_reranker_free(cq_reranker *r) {
  if (!r) return;
  cq_encoder_free(r->encoder);
  cq_free(r);
}

int cq_reranker_max_seq_length(const cq_reranker *r) {
  return cq_encoder_max_seq_length(r->encoder);
}

cq_precision cq_reranker_precision(const cq_reranker *r) {
  return cq_encoder_precision(r->encoder);
}

const char *cq_reranker_activation(const cq_reranker *r) {
  return r->activation;
}

static cq_status score(float *out, cq_encode_stats *stats, const cq_reranker *r, const cq_slice *queries,
                       size_t query_step, const cq_slice *passages, size_t n, cq_context *ctx, cq_error *error) {
  cq_status status = cq_check_sentences(queries, query_step ? n : 1, error);
  if (!status) status = cq_encoder_encode_pairs(out, stats, r->encoder, queries, query_step, passages, n, ctx, error);
  return status ? status : cq_check_vectors(out, 1, passages, n, error);
}

cq_status cq_reranker_score(float *out, cq_encode_stats *stats, const cq_reranker *r, cq_slice query,
                            const cq_slice *passages, size_t n, cq_context *ctx, cq_error *error) {
  return score(out, stats, r, &query, 0, passages, n, ctx, error);
}

cq_status cq_reranker_score_pairs(float *out, cq_encode_stats *stats, const cq_reranker *r, const cq_slice *queries,
                                  const cq_slice *passages, size_t n, cq_context *ctx, cq_error *error) {
  return score(out, stats, r, queries, 1, passages, n, ctx, error);
}

/* By insertion: lists of passages are short, and nearly in order. */
void cq_reranker_order(size_t *order, const float *logits, size_t n) {
  for (size_t i = 0; i < n; i++) {
    size_t at = i;
    for (; at > 0 && logits[order[at - 1]] < logits[i]; at--) order[at] = order[at - 1];
    order[at] = i;
  }
}
