/* Hubness of an index's passages: the mean cosine between each and its k nearest queries, which CSLS subtracts.
 *
 * The queries are stored in the index, so that passages added later use the same ones. Without queries, passages of the
 * index serve as queries, and a passage is not its own neighbor. */
#include "recipe/index/backend.h"

#include "base/error.h"
#include "base/memory.h"
#include "calque/nearest.h"

#include <string.h>

enum { AT_A_TIME = 16384 }; /* records */

typedef struct measuring {
  cq_index_store *store;
  float *queries; /* [n_queries, dim] */
  int64_t n_queries, k;
  int64_t *sampled; /* [n_queries] the records used as queries, ascending; NULL: queries are not records */
  float *vectors;   /* [AT_A_TIME, dim] */
  float *means;     /* of the records */
  size_t dim;
  cq_context *ctx;
} measuring;

/* The mean for one record, given its k + 1 nearest queries; `own`: the record's own number as a query, or -1. */
static float mean_of_nearest(const uint32_t *index, const double *cosine, size_t n, size_t k, int64_t own) {
  double sum = 0;
  size_t taken = 0;
  for (size_t i = 0; i < n && taken < k; i++)
    if ((int64_t)index[i] != own) sum += cosine[i], taken++;
  return taken ? (float)(sum / (double)taken) : 0;
}

static cq_status measure_part(measuring *m, float *means, int64_t first, int64_t n, int64_t *next, cq_error *error) {
  cq_neighbors found = {0};
  cq_nearest_options o = cq_nearest_default_options();
  o.k = cq_min((size_t)m->k + (m->sampled != NULL), (size_t)m->n_queries);
  cq_status status = cq_index_store_vectors(m->vectors, m->store, first, n, error);
  if (!status)
    status =
        cq_nearest(&found, NULL, m->vectors, (size_t)n, m->queries, (size_t)m->n_queries, m->dim, &o, m->ctx, error);
  for (int64_t i = 0; !status && i < n; i++) {
    const bool is_own = m->sampled && *next < m->n_queries && m->sampled[*next] == first + i;
    means[i] = mean_of_nearest(found.index + (size_t)i * found.k, found.cosine + (size_t)i * found.k, found.k,
                               (size_t)m->k, is_own ? *next : -1);
    *next += is_own;
  }
  cq_neighbors_free(&found);
  return status;
}

/* Fills m->means for all records from `from` on. */
static cq_status measure_records(measuring *m, int64_t from, cq_error *error) {
  const int64_t n = cq_index_store_n(m->store);
  int64_t next = 0; /* of those sampled */
  m->vectors = cq_alloc_array(cq_min((size_t)(n - from), (size_t)AT_A_TIME), m->dim * sizeof *m->vectors);
  m->means = cq_alloc_array((size_t)(n - from), sizeof *m->means);
  cq_status status = m->vectors && m->means ? CQ_OK : cq_fail_memory(error, "hubness");
  for (int64_t at = from; !status && at < n; at += AT_A_TIME)
    status = measure_part(m, m->means + (at - from), at, n - at < AT_A_TIME ? n - at : AT_A_TIME, &next, error);
  return status;
}

static void free_measuring(measuring *m) {
  cq_free(m->queries);
  cq_free(m->vectors);
  cq_free(m->means);
  cq_free(m->sampled);
}

cq_status cq_index_write_hubness(cq_index *index, cq_context *ctx, cq_error *error) {
  measuring m = {.store = index->store, .dim = (size_t)index->dim, .ctx = ctx};
  const int64_t from = cq_index_store_n_hubs(m.store), n = cq_index_store_n(m.store);
  if (from == n) return CQ_OK;
  cq_status status = cq_index_store_queries(&m.queries, &m.n_queries, &m.k, m.store, error);
  if (!status && m.n_queries) status = measure_records(&m, from, error);
  if (!status && m.n_queries) status = cq_index_store_add_hubs(m.store, m.means, n - from, error);
  free_measuring(&m);
  return status;
}

/* --- the queries --- */

/* Samples passages evenly from the live ones: each is the first of its share. */
static cq_status sample_passages(measuring *m, size_t n, cq_error *error) {
  cq_index_snapshot *snapshot = cq_index_store_hold(m->store); /* stays the newest: this thread is the writer */
  const cq_index_info info = cq_index_snapshot_info(snapshot);
  const float *vectors = cq_index_snapshot_vectors(snapshot);
  const uint64_t n_live = (uint64_t)info.n_live, n_taken = cq_min(n, (size_t)info.n_live);
  uint64_t seen = 0;
  cq_status status = n_live ? CQ_OK : cq_fail(error, CQ_ERR_ARGUMENT, "an index without documents has no hubness");
  if (!status) {
    m->queries = cq_alloc_array(n_taken, m->dim * sizeof *m->queries);
    m->sampled = cq_alloc_array(n_taken, sizeof *m->sampled);
    if (!m->queries || !m->sampled) status = cq_fail_memory(error, "hubness");
  }
  for (int64_t i = 0; !status && i < info.n && m->n_queries < (int64_t)n_taken; i++) {
    if (!cq_index_snapshot_is_live(snapshot, i) || seen++ * n_taken / n_live != (uint64_t)m->n_queries) continue;
    if (!cq_index_snapshot_is_sound(snapshot, i)) status = cq_index_snapshot_fail(snapshot, i, error);
    memcpy(m->queries + (size_t)m->n_queries * m->dim, vectors + (size_t)i * m->dim, m->dim * sizeof *vectors);
    m->sampled[m->n_queries++] = i;
  }
  cq_index_snapshot_release(snapshot);
  return status;
}

static cq_status encode_queries(measuring *m, const cq_index *index, const cq_slice *queries, size_t n,
                                cq_error *error) {
  const cq_encoder *encoder;
  cq_encode_stats stats = {0};
  cq_status status = cq_index_need_query_model(&encoder, index, error);
  if (status) return status;
  m->queries = cq_alloc_array(n, m->dim * sizeof *m->queries);
  if (!m->queries) return cq_fail_memory(error, "queries");
  const cq_encode_options how = cq_index_encoding(index, encoder, false);
  status = cq_encoder_encode(m->queries, &stats, encoder, queries, n, &how, m->ctx, error);
  m->n_queries = (int64_t)n;
  if (!status) cq_index_tell_truncated(index, stats.n_truncated, stats.n_truncated == 1 ? "query" : "queries", encoder);
  return status;
}

static cq_status verify_newest(const cq_index *index, cq_context *ctx, cq_error *error) {
  cq_index_snapshot *snapshot = cq_index_store_hold(index->store);
  const cq_status status = cq_index_snapshot_verify(snapshot, ctx, error);
  cq_index_snapshot_release(snapshot);
  return status;
}

static cq_status measure_anew(cq_index *index, const cq_slice *queries, size_t n_queries, size_t k, cq_context *ctx,
                              cq_error *error) {
  measuring m = {.store = index->store, .dim = (size_t)index->dim, .ctx = ctx};
  cq_status status = k ? verify_newest(index, ctx, error) : cq_fail(error, CQ_ERR_ARGUMENT, "hubness by 0 queries");
  if (!status)
    status = queries ? encode_queries(&m, index, queries, n_queries, error) : sample_passages(&m, n_queries, error);
  m.k = (int64_t)cq_min(k, (size_t)m.n_queries);
  if (!status) status = measure_records(&m, 0, error);
  if (!status) status = cq_index_store_set_hubness(m.store, m.queries, m.n_queries, m.k, m.means, error);
  free_measuring(&m);
  return status;
}

cq_status cq_index_hubness(cq_index *index, const cq_slice *queries, size_t n_queries, size_t k, cq_context *ctx,
                           cq_error *error) {
  if (index->backend->no_hubness)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, index->directory, "%s", index->backend->no_hubness);
  pthread_mutex_lock(&index->shared->writing);
  cq_status status = cq_index_store_check_writing(index->store, error);
  if (!status)
    status = n_queries ? measure_anew(index, queries, n_queries, k, ctx, error)
                       : cq_index_store_set_hubness(index->store, NULL, 0, 0, NULL, error);
  pthread_mutex_unlock(&index->shared->writing);
  return status;
}
