/* Clustering, put together: a file -> vectors -> near pairs -> communities. */
#include "calque/cluster.h"

#include "base/error.h"
#include "base/memory.h"
#include "recipe/encode/embedded.h"

#include <stdlib.h>

struct cq_clustering {
  cq_cached_encoder store;
  cq_embedded file;
  cq_communities communities;
};

cq_cluster_options cq_cluster_default_options(void) {
  return (cq_cluster_options){.threshold = 0.75, .min_size = 10, .n_most = 200000000, .first_pass = CQ_FIRST_INT8};
}

static cq_status find(cq_clustering *c, const cq_cluster_options *o, cq_context *ctx, cq_error *error) {
  cq_watched w = {o->progress, o->progress_context, "search"};
  cq_nearest_options nearest = cq_nearest_default_options();
  cq_near_pair *pairs;
  size_t n;
  nearest.first_pass = o->first_pass, nearest.x_rows = c->file.rows;
  nearest.progress = cq_watched_tell, nearest.progress_context = &w;
  cq_status status =
      cq_near_pairs(&pairs, &n, c->file.vectors, c->file.n, c->file.dim, o->threshold, o->n_most, &nearest, ctx, error);
  if (!status) status = cq_communities_find(&c->communities, pairs, n, c->file.n, o->min_size, error);
  cq_free(pairs);
  return status;
}

cq_status cq_cluster(cq_clustering **out, const cq_cluster_options *options, cq_context *ctx, cq_error *error) {
  const cq_cluster_options *o = options;
  cq_watched w = {o->progress, o->progress_context, "encode"};
  const cq_embedding how = {o->model,  o->cache_directory, o->raw_dim,      o->skip_bad,
                            o->notice, o->notice_context,  cq_watched_tell, &w};
  *out = NULL;
  if (!o->file) return cq_fail(error, CQ_ERR_ARGUMENT, "a file is needed");
  cq_clustering *c = cq_alloc_zeroed(sizeof *c);
  if (!c) return cq_fail_memory(error, "clustering");
  cq_status status = cq_embedded_open(&c->file, &c->store, &o->file, 1, &how, ctx, error);
  if (!status) status = find(c, o, ctx, error);
  if (status)
    cq_clustering_free(c);
  else
    *out = c;
  return status;
}

void cq_clustering_free(cq_clustering *c) {
  if (!c) return;
  cq_communities_free(&c->communities);
  cq_embedded_close(&c->file);
  cq_cached_encoder_close(&c->store);
  cq_free(c);
}

size_t cq_clustering_n(const cq_clustering *c) {
  return c->communities.n;
}

const cq_member *cq_clustering_members(size_t *n, const cq_clustering *c, size_t i) {
  *n = c->communities.starts[i + 1] - c->communities.starts[i];
  return c->communities.members + c->communities.starts[i];
}

cq_slice cq_clustering_sentence(const cq_clustering *c, uint32_t row) {
  return cq_sentences_text(&c->file.corpus, row);
}

size_t cq_clustering_n_lines(const cq_clustering *c, uint32_t row) {
  return cq_sentences_n_lines(&c->file.corpus, row);
}

cq_slice cq_clustering_id(const cq_clustering *c, uint32_t row, size_t i) {
  return cq_sentences_id(&c->file.corpus, row, i);
}
