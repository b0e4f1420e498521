/* Writes hubness: the queries once, and a number per record, appended. See index_store.h.
 *
 *   hubness-H    a cq_index_hub per record, appended with the records
 *   queries-H    [n_queries, dim] f32, written whole, with a check in the manifest
 *
 * Setting other queries starts the next generation H of both. */
#include "store/index_writer.h"

#include "base/error.h"
#include "base/memory.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { PART = 512 }; /* numbers that are written at a time */

cq_status cq_index_hubs_open(int *out, const cq_index_store *s, int64_t generation, bool fresh, cq_error *error) {
  char path[PATH_MAX];
  const cq_status status = cq_index_path(path, s->directory, "hubness", generation, error);
  if (status) return status;
  if (fresh) unlink(path); /* of an earlier try */
  *out = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  return *out < 0 ? cq_fail_errno(error, path, "cannot open") : CQ_OK;
}

cq_status cq_index_hubs_write(int file, const cq_index_store *s, int64_t first, const float *means, int64_t n,
                              cq_error *error) {
  cq_index_hub part[PART];
  cq_status status = CQ_OK;
  for (int64_t done = 0; !status && done < n; done += PART) {
    const int64_t m = n - done < PART ? n - done : PART;
    for (int64_t i = 0; i < m; i++)
      part[i] = (cq_index_hub){means[done + i], cq_index_check_of_hub(means[done + i], first + done + i)};
    status =
        cq_write_at(file, part, (size_t)m * sizeof *part, (first + done) * (int64_t)sizeof *part, s->directory, error);
  }
  return status;
}

/* The file and its name are on disk when it returns. */
cq_status cq_index_hubs_sync(int file, const cq_index_store *s, int64_t generation, cq_error *error) {
  char path[PATH_MAX];
  const cq_status status = cq_index_path(path, s->directory, "hubness", generation, error);
  if (status) return status;
  return fdatasync(file) == 0 ? cq_sync_name(path, error) : cq_fail_errno(error, path, "cannot write");
}

cq_status cq_index_prepare_hubness(cq_index_store *s, cq_error *error) {
  const cq_index_manifest *m = &s->newest->m;
  s->hubness = m->hubness, s->n_queries = m->n_queries, s->k = m->k, s->queries_check = m->queries_check;
  if (!m->n_queries) return CQ_OK;
  s->n_hubs = m->n;
  const cq_status status = cq_index_hubs_open(&s->hubs, s, m->hubness, false, error);
  if (status) return status;
  return ftruncate(s->hubs, m->n * (int64_t)sizeof(cq_index_hub)) == 0
             ? CQ_OK
             : cq_fail_errno(error, s->directory, "cannot truncate its hubness to what counts");
}

cq_status cq_index_store_set_hubness(cq_index_store *s, const float *queries, int64_t n, int64_t k, const float *means,
                                     cq_error *error) {
  const size_t n_bytes = (size_t)n * (size_t)s->newest->m.dim * sizeof *queries;
  const int64_t generation = s->newest->m.hubness + 1;
  char path[PATH_MAX];
  int hubs = -1;
  cq_status status = cq_index_store_check_writing(s, error);
  if (!status && (n > CQ_INDEX_MAX_QUERIES || (n > 0 && (k < 1 || k > n))))
    status = cq_fail(error, CQ_ERR_ARGUMENT,
                     "hubness by the %lld nearest of %lld queries, expected 1 to all of at most %lld", (long long)k,
                     (long long)n, (long long)CQ_INDEX_MAX_QUERIES);
  if (!status) status = cq_index_path(path, s->directory, "queries", generation, error);
  if (!status && n) status = cq_file_write(path, queries, n_bytes, error);
  if (!status && n) status = cq_index_hubs_open(&hubs, s, generation, true, error);
  if (!status && n) status = cq_index_hubs_write(hubs, s, 0, means, cq_index_store_n(s), error);
  if (status) {
    if (hubs >= 0) close(hubs);
    return status;
  }
  if (s->hubs >= 0) close(s->hubs);
  s->hubs = hubs, s->n_hubs = n ? cq_index_store_n(s) : 0;
  s->hubness = generation, s->n_queries = n, s->k = n ? k : 0;
  s->queries_check = n ? cq_check64(queries, n_bytes, 0) : 0;
  return CQ_OK;
}

cq_status cq_index_store_queries(float **out, int64_t *n_queries, int64_t *k, const cq_index_store *s,
                                 cq_error *error) {
  const size_t n_bytes = (size_t)s->n_queries * (size_t)s->newest->m.dim * sizeof **out;
  cq_mapping mapping = {0};
  char path[PATH_MAX];
  *out = NULL, *n_queries = s->n_queries, *k = s->k;
  cq_status status = cq_index_store_check_writing(s, error);
  if (status || !s->n_queries) return status;
  status = cq_index_path(path, s->directory, "queries", s->hubness, error);
  if (!status) status = cq_mapping_open(&mapping, path, error);
  if (!status && (mapping.n != n_bytes || cq_check64(mapping.data, n_bytes, 0) != s->queries_check))
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "it is damaged: it does not fit its check");
  if (!status && !(*out = cq_alloc(n_bytes))) status = cq_fail_memory(error, path);
  if (!status) memcpy(*out, mapping.data, n_bytes);
  cq_mapping_close(&mapping);
  return status;
}

int64_t cq_index_store_n_hubs(const cq_index_store *s) {
  return s->n_hubs;
}

cq_status cq_index_store_add_hubs(cq_index_store *s, const float *means, int64_t n, cq_error *error) {
  cq_status status = cq_index_store_check_writing(s, error);
  if (!status && (!s->n_queries || n > cq_index_store_n(s) - s->n_hubs))
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, s->directory, "hubness of more records than there are");
  if (!status) status = cq_index_hubs_write(s->hubs, s, s->n_hubs, means, n, error);
  if (!status) s->n_hubs += n;
  return status;
}

cq_status cq_index_commit_hubness(cq_index_manifest *next, const cq_index_store *s, cq_error *error) {
  next->hubness = s->hubness, next->n_queries = s->n_queries, next->k = s->k, next->queries_check = s->queries_check;
  if (!s->n_queries) return CQ_OK;
  if (s->n_hubs != next->n)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, s->directory, "%lld records have hubness, there are %lld",
                        (long long)s->n_hubs, (long long)next->n);
  const bool is_newer = s->hubness != s->newest->m.hubness || next->n != s->newest->m.n;
  return is_newer ? cq_index_hubs_sync(s->hubs, s, s->hubness, error) : CQ_OK;
}

cq_status cq_index_copy_queries(const cq_index_store *s, int64_t generation, cq_error *error) {
  char from[PATH_MAX], to[PATH_MAX];
  cq_status status = cq_index_path(from, s->directory, "queries", s->newest->m.hubness, error);
  if (!status) status = cq_index_path(to, s->directory, "queries", generation, error);
  return status ? status : cq_file_copy(from, to, error);
}

cq_status cq_index_store_verify_queries(const cq_index_store *store, const cq_index_snapshot *s, cq_error *error) {
  char path[PATH_MAX];
  uint64_t check;
  if (!s->m.n_queries) return CQ_OK;
  cq_status status = cq_index_path(path, store->directory, "queries", s->m.hubness, error);
  if (!status) status = cq_index_file_check(&check, path, error);
  if (status || check == s->m.queries_check) return status;
  return cq_fail_file(error, CQ_ERR_FORMAT, path,
                      "it is damaged: it does not fit its check ('calque index hubness' rebuilds it)");
}
