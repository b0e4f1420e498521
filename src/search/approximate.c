/* Approximate search: FAISS finds candidates, and calque computes their exact cosines. See approximate.h. */
#include "search/approximate.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/plugin.h"
#include "search/faiss_plugin.h"
#include "search/lists.h"
#include "tensor/kernels.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 65536, CANDIDATES_FOR_ONE = 8, MIN_CANDIDATES = 64, MANY_CANDIDATES = 256 };
/* FAISS aborts the process if one of its threads runs out of memory, so it is called only if the estimated memory is
 * available. A vector takes a byte per number, twice while arrays grow, plus its links; a search takes a byte per
 * vector, plus its candidates. */
enum { FAISS_BYTES = 8 << 20, FAISS_LINK_BYTES = 512, FAISS_CANDIDATE_BYTES = 32 };

struct cq_approximate {
  const cq_faiss_plugin *faiss;
  void *index;
  size_t n; /* rows it covers */
};

static cq_status load_faiss(const cq_faiss_plugin **out, cq_error *error) {
  const void *table;
  const cq_status status = cq_plugin_load(&table, "faiss", CQ_FAISS_PLUGIN_VERSION,
                                          "approximate search needs calque's plugin for FAISS", error);
  *out = table;
  return status;
}

/* --- building --- */

static cq_status train_faiss(const cq_faiss_plugin *faiss, void *index, const float *vectors, size_t n, size_t dim,
                             int n_threads, cq_error *error) {
  const cq_kernels *kernels = cq_kernels_best();
  const size_t n_taken = cq_min(n, CQ_FAISS_MAX_TRAINING_ROWS);
  char message[512];
  float *sample = cq_alloc_array(n_taken, dim * sizeof *sample);
  if (!sample) return cq_fail_memory(error, "a sample of vectors");
  for (size_t i = 0; i < n_taken; i++) /* evenly from all of them */
    kernels->normalize(sample + i * dim, NULL, vectors + i * n / n_taken * dim, 1, (int64_t)dim);
  const int failed = faiss->train(index, sample, n_taken, n_threads, message, sizeof message);
  cq_free(sample);
  return failed ? cq_fail(error, CQ_ERR_MEMORY, "FAISS: %s", message) : CQ_OK;
}

static cq_status add_to_faiss(const cq_faiss_plugin *faiss, void *index, const float *vectors, size_t n, size_t dim,
                              int n_threads, cq_error *error) {
  const cq_kernels *kernels = cq_kernels_best();
  char message[512];
  int failed = 0;
  float *unit = cq_alloc_array(cq_min(n, BLOCK), dim * sizeof *unit);
  if (!unit) return cq_fail_memory(error, "vectors");
  for (size_t first = 0; first < n && !failed; first += BLOCK) {
    const size_t count = cq_min(BLOCK, n - first);
    kernels->normalize(unit, NULL, vectors + first * dim, (int64_t)count, (int64_t)dim);
    failed = faiss->add(index, unit, count, n_threads, message, sizeof message);
  }
  cq_free(unit);
  return failed ? cq_fail(error, CQ_ERR_MEMORY, "FAISS: %s", message) : CQ_OK;
}

static cq_status save_faiss(const cq_faiss_plugin *faiss, const void *index, const char *path, cq_error *error) {
  char message[512];
  cq_writer w;
  cq_status status = cq_writer_open(&w, path, error);
  if (!status && faiss->write(w.stream, index, message, sizeof message))
    status = cq_fail_file(error, CQ_ERR_IO, path, "FAISS: %s", message);
  if (!status) return cq_writer_commit(&w, error);
  cq_writer_abort(&w);
  return status;
}

cq_status cq_approximate_build(const char *path, bool graph, const float *vectors, size_t n, size_t dim,
                               cq_context *ctx, cq_error *error) {
  const cq_faiss_plugin *faiss;
  char message[512];
  void *index = NULL;
  cq_status status = load_faiss(&faiss, error);
  if (status) return status;
  if (!cq_has_room(FAISS_BYTES + n * (2 * dim + FAISS_LINK_BYTES))) return cq_fail_memory(error, path);
  if (faiss->make(&index, graph, n, dim, message, sizeof message))
    return cq_fail(error, CQ_ERR_MEMORY, "FAISS: %s", message);
  const int n_threads = cq_context_n_threads(ctx);
  status = train_faiss(faiss, index, vectors, n, dim, n_threads, error);
  if (!status) status = add_to_faiss(faiss, index, vectors, n, dim, n_threads, error);
  if (!status) status = save_faiss(faiss, index, path, error);
  faiss->free(index);
  return status;
}

cq_status cq_approximate_open(cq_approximate **out, const char *path, size_t n, size_t dim, cq_error *error) {
  char message[512];
  size_t n_in_file, dim_in_file;
  *out = NULL;
  cq_approximate *a = cq_alloc_zeroed(sizeof *a);
  if (!a) return cq_fail_memory(error, path);
  cq_status status = load_faiss(&a->faiss, error);
  FILE *file = status ? NULL : fopen(path, "rbe"); /* once open, it may be replaced */
  if (!status && !file) status = cq_fail_errno(error, path, "cannot open");
  if (!status && a->faiss->read(&a->index, file, &n_in_file, &dim_in_file, message, sizeof message))
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "FAISS: %s", message);
  if (file) fclose(file);
  if (!status && (n_in_file != n || dim_in_file != dim))
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "covers %zu vectors of %zu numbers, not %zu of %zu", n_in_file,
                          dim_in_file, n, dim);
  if (status)
    cq_approximate_free(a);
  else {
    a->n = n;
    *out = a;
  }
  return status;
}

void cq_approximate_free(cq_approximate *a) {
  if (!a) return;
  if (a->index) a->faiss->free(a->index);
  cq_free(a);
}

/* --- searching --- */

typedef struct view {
  bool (*allowed)(const void *context, size_t row);
  const void *context;
  size_t first; /* of the rows that are looked at */
} view;

static bool is_candidate_allowed(const void *context, size_t row) {
  const view *v = context;
  return !v->allowed || v->allowed(v->context, v->first + row);
}

/* Puts the results of one query into its list; row i is rows[i] or, if rows is NULL, first + i. */
static void take_over(cq_neighbors *out, size_t q, const cq_neighbors *found, size_t from, const int64_t *rows,
                      size_t first) {
  for (size_t at = from * found->k; at < (from + 1) * found->k && found->index[at] != UINT32_MAX; at++) {
    const size_t row = rows ? (size_t)rows[found->index[at]] : first + found->index[at];
    cq_lists_insert(out, q, (uint32_t)row, found->cosine[at]);
  }
}

static int ascending_rows(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* Scores one query's candidates: the allowed ones among rows [n], by their exact cosines. Row numbers from the file are
 * checked. *enough is false if too few were allowed. */
static cq_status look_at(cq_neighbors *out, bool *enough, size_t q, int64_t *rows, size_t n, size_t n_covered,
                         const float *query, const float *documents, size_t dim, const cq_top_facts *facts,
                         const view *v, cq_context *ctx, cq_error *error) {
  cq_neighbors found = {0};
  size_t n_allowed = 0;
  for (size_t i = 0; i < n; i++)
    if (rows[i] >= 0 && (size_t)rows[i] < n_covered && is_candidate_allowed(v, (size_t)rows[i]))
      rows[n_allowed++] = rows[i];
  *enough = n_allowed >= out->k;
  if (!*enough) return CQ_OK;
  qsort(rows, n_allowed, sizeof *rows, ascending_rows);                      /* ties go to the lowest index */
  float *gathered = cq_alloc_array(n_allowed, (dim + 1) * sizeof *gathered); /* the means after all vectors */
  if (!gathered) return cq_fail_memory(error, "candidates");
  float *means = gathered + n_allowed * dim;
  for (size_t i = 0; i < n_allowed; i++) {
    memcpy(gathered + i * dim, documents + (size_t)rows[i] * dim, dim * sizeof *gathered);
    if (facts && facts->means) means[i] = facts->means[(size_t)rows[i] * facts->stride];
  }
  const cq_status status =
      cq_top_csls(&found, query, 1, gathered, n_allowed, dim, out->k,
                  facts && facts->means ? &(cq_top_facts){.means = means, .stride = 1} : NULL, NULL, NULL, ctx, error);
  if (!status) take_over(out, q, &found, 0, rows, 0);
  cq_neighbors_free(&found);
  cq_free(gathered);
  return status;
}

/* A few results need several times as many candidates, because some are not allowed; for the long lists of a hybrid
 * ranking, that would take too long. */
static size_t candidates_for(size_t k) {
  const size_t wanted = k * CANDIDATES_FOR_ONE, enough = 2 * k > MANY_CANDIDATES ? 2 * k : MANY_CANDIDATES;
  return wanted < MIN_CANDIDATES ? MIN_CANDIDATES : cq_min(wanted, enough);
}

cq_status cq_approximate_top(cq_neighbors *out, const cq_approximate *a, const float *queries, size_t n_queries,
                             const float *documents, size_t n, size_t dim, size_t k, size_t effort,
                             const cq_top_facts *facts, bool (*allowed)(const void *context, size_t row),
                             const void *context, cq_context *ctx, cq_error *error) {
  const size_t n_candidates = cq_min(candidates_for(k), a->n);
  const view all = {allowed, context, 0}, behind = {allowed, context, a->n};
  cq_top_facts of_behind = facts ? *facts : (cq_top_facts){0};
  if (of_behind.means) of_behind.means += a->n * of_behind.stride;
  if (of_behind.lengths) of_behind.lengths += a->n;
  cq_neighbors found = {0};
  char message[512];
  /* Rows without an approximation come first: this call checks the arguments and makes the lists. */
  cq_status status = cq_top_csls(out, queries, n_queries, documents + a->n * dim, n - a->n, dim, k, &of_behind,
                                 is_candidate_allowed, &behind, ctx, error);
  if (status) return status;
  for (size_t i = 0; i < n_queries * k; i++)
    if (out->index[i] != UINT32_MAX) out->index[i] += (uint32_t)a->n;
  float *unit = cq_alloc_array(n_queries, dim * sizeof *unit);
  int64_t *rows = cq_alloc_array(n_queries * n_candidates, sizeof *rows);
  const size_t n_threads = (size_t)cq_context_n_threads(ctx);
  const size_t thread_bytes = a->n + FAISS_CANDIDATE_BYTES * cq_min(effort, a->n);
  if (!unit || !rows || !cq_has_room(FAISS_BYTES + n_threads * thread_bytes))
    status = cq_fail_memory(error, "candidates");
  if (!status) {
    cq_kernels_best()->normalize(unit, NULL, queries, (int64_t)n_queries, (int64_t)dim);
    if (a->faiss->search(rows, a->index, unit, n_queries, n_candidates, effort, (int)n_threads, message,
                         sizeof message))
      status = cq_fail(error, CQ_ERR_MEMORY, "FAISS: %s", message);
  }
  for (size_t q = 0; !status && q < n_queries; q++) {
    const float *query = queries + q * dim;
    bool enough;
    status = look_at(out, &enough, q, rows + q * n_candidates, n_candidates, a->n, query, documents, dim, facts, &all,
                     ctx, error);
    if (status || enough) continue;
    status = cq_top_csls(&found, query, 1, documents, a->n, dim, k, facts, is_candidate_allowed, &all, ctx, error);
    if (!status) take_over(out, q, &found, 0, NULL, 0);
    cq_neighbors_free(&found);
  }
  cq_free(rows);
  cq_free(unit);
  if (status) cq_neighbors_free(out);
  return status;
}
