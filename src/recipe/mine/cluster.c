/* Clustering, end to end: a file -> vectors -> near pairs -> communities. */
#include "calque/cluster.h"

#include "base/error.h"
#include "base/memory.h"
#include "model/precision.h"
#include "recipe/encode/embedded.h"
#include "search/search_options.h"

struct cq_clustering {
  cq_cached_encoder store;
  cq_embedded file;
  cq_communities communities;
};

#define O cq_cluster_options
static const cq_option option_rows[] = {
    {CQ_TEXT(O, "file", file, CHANGES, "FILE", "the sentences, or vectors"), .flags = CQ_OPTION_REQUIRED},
    {CQ_TEXT(O, "model", model, CHANGES, "MODEL",
             "model to encode the lines of FILE with: a directory, or a name in the local Hugging Face cache"),
     .letter = 'm', .otherwise = "FILE holds vectors"},
    CQ_PRECISION_ROW(O, precision),
    CQ_COMPOSE_ROW(O),
    {CQ_TEXT(O, "cache", cache_directory, KEEPS, "DIR", "where vectors are kept for the next run"),
     .otherwise = "~/.cache/calque"},
    {CQ_SIZE(O, "dim", raw_dim, CHANGES, 0, 0, 1 << 20, "N",
             "dimension of the vectors in a file of raw f32 numbers (as LASER writes them)"),
     .otherwise = "from a .npy file's header"},
    {CQ_NUMBER(O, "threshold", threshold, CHANGES, 0.75, -1, 1, "X",
               "minimum cosine of a sentence to its cluster's center")},
    {CQ_SIZE(O, "min-size", min_size, CHANGES, 10, 1, 0, "N", "leave out smaller clusters")},
    {CQ_SIZE(O, "max-pairs", max_pairs, KEEPS, 200000000, 1, 0, "N",
             "fail if more pairs of sentences are near each other; each pair takes 16 bytes")},
    {CQ_CHOICE(O, "first-pass", first_pass, KEEPS, CQ_FIRST_INT8, cq_first_pass_names, "TYPE",
               "number format of the first pass over all cosines; the clusters are the same")},
    CQ_SKIP_BAD_ROW(O, CHANGES),
};
#undef O

static cq_status check_cluster(const void *options, cq_error *error) {
  const cq_cluster_options *o = options;
  if (!o->model || !o->raw_dim) return CQ_OK;
  return cq_fail(error, CQ_ERR_ARGUMENT, "dim is for files of vectors, without a model");
}

const cq_option_group cq_group_cluster = {
    .name = "cluster",
    CQ_ROWS(cq_cluster_options, option_rows),
    .check = check_cluster,
    CQ_FIELDS(CQ_CALLBACK(cq_cluster_options, notice), CQ_CALLBACK(cq_cluster_options, progress))};

static cq_status find_clusters(cq_clustering *c, const cq_cluster_options *o, cq_context *ctx, cq_error *error) {
  cq_watched w = {o->progress, o->progress_context, "search"};
  cq_nearest_options nearest = cq_nearest_default_options();
  cq_near_pair *pairs;
  size_t n;
  nearest.first_pass = o->first_pass, nearest.x_rows = c->file.rows;
  nearest.progress = cq_watched_tell, nearest.progress_context = &w;
  cq_status status = cq_near_pairs(&pairs, &n, c->file.vectors, c->file.n, c->file.dim, o->threshold, o->max_pairs,
                                   &nearest, ctx, error);
  if (!status) status = cq_communities_find(&c->communities, pairs, n, c->file.n, o->min_size, error);
  cq_free(pairs);
  return status;
}

cq_status cq_cluster(cq_clustering **out, const cq_cluster_options *options, cq_context *ctx, cq_error *error) {
  cq_cluster_options taken;
  const cq_cluster_options *o = &taken;
  cq_status status = cq_options_take(&taken, &cq_group_cluster, options, error);
  *out = NULL;
  if (status) return status;
  cq_watched w = {o->progress, o->progress_context, "encode"};
  const cq_embedding how = {o->model,  o->cache_directory, o->raw_dim,      o->precision, o->compose, o->skip_bad,
                            o->notice, o->notice_context,  cq_watched_tell, &w,           NULL};
  cq_clustering *c = cq_alloc_zeroed(sizeof *c);
  if (!c) return cq_fail_memory(error, "clustering");
  status = cq_embedded_open(&c->file, &c->store, &o->file, 1, &how, ctx, error);
  if (!status) status = find_clusters(c, o, ctx, error);
  if (status) cq_clustering_free(c);
  *out = status ? NULL : c;
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
