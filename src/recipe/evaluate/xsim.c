/* xsim: the error rate of finding translations by margin among the file's sentences and near misses of these.
 *
 *   candidates   [n] the first column's sentences   [m] near misses of these, made by rules (only for hard xsim)
 *                       \── nearest neighbors both ways, margin ──/
 *   queries             [n] the second column's sentences
 *
 * Sources: Artetxe & Schwenk 2019, equation 2; Chen et al. 2023 (xsim++, arXiv 2306.12907). */
#include "base/error.h"
#include "base/memory.h"
#include "calque/mine.h"
#include "corpus/near_miss.h"
#include "recipe/evaluate/evaluate.h"

enum { SEED = 1 }; /* seed of the near misses: fixed, so that a file always has the same ones */

/* The best candidate of each query by margin: *best [n], to be released with cq_free. Forward: the queries are the
 * first side; backward: the second side. */
static cq_status best_by_margin(size_t **best, size_t n, cq_retrieval retrieval, const cq_neighbors *of_first,
                                const cq_neighbors *of_second, cq_error *error) {
  cq_margin_options o = cq_margin_default_options();
  cq_mined_pair *pairs;
  size_t n_pairs;
  const bool forward = retrieval == CQ_RETRIEVE_FORWARD;
  *best = NULL;
  o.retrieval = retrieval;
  cq_status status = cq_margin_pairs(&pairs, &n_pairs, of_first, of_second, &o, error);
  if (!status && !(*best = cq_alloc_array(n, sizeof **best))) status = cq_fail_memory(error, "matches");
  for (size_t i = 0; !status && i < n; i++) (*best)[i] = SIZE_MAX;
  for (size_t i = 0; !status && i < n_pairs; i++)
    (*best)[forward ? pairs[i].source : pairs[i].target] = forward ? pairs[i].target : pairs[i].source;
  cq_free(pairs);
  return status;
}

/* The share of rows whose best candidate is wrong. */
static cq_status margin_errors(double *out, const cq_rows *rows, cq_retrieval retrieval, const cq_neighbors *of_source,
                               const cq_neighbors *of_target, cq_error *error) {
  size_t *best;
  const cq_status status = best_by_margin(&best, rows->n, retrieval, of_source, of_target, error);
  if (!status) *out = 1 - cq_share_right(best, rows->column[retrieval == CQ_RETRIEVE_FORWARD], rows->n);
  cq_free(best);
  return status;
}

cq_status cq_eval_xsim(cq_translation_result *out, const cq_encoder *encoder, const char *file,
                       const cq_eval_options *options, cq_context *ctx, cq_error *error) {
  float *vectors[2] = {NULL, NULL};
  size_t dim;
  cq_rows rows = {0};
  cq_neighbors of_source = {0}, of_target = {0};
  cq_translation_result r = {0};
  cq_status status = cq_rows_encode(&rows, vectors, &dim, encoder, ctx, file, 2, options, error);
  if (!status)
    status = cq_nearest(&of_source, &of_target, vectors[0], rows.n, vectors[1], rows.n, dim, NULL, ctx, error);
  if (!status) status = margin_errors(&r.source_to_target, &rows, CQ_RETRIEVE_FORWARD, &of_source, &of_target, error);
  if (!status) status = margin_errors(&r.target_to_source, &rows, CQ_RETRIEVE_BACKWARD, &of_source, &of_target, error);
  if (!status) {
    r.mean = (r.source_to_target + r.target_to_source) / 2;
    r.n = rows.n, r.n_skipped = rows.n_skipped;
    *out = r;
  }
  cq_neighbors_free(&of_source);
  cq_neighbors_free(&of_target);
  cq_free(vectors[0]);
  cq_free(vectors[1]);
  cq_rows_free(&rows);
  return status;
}

/* --- near misses among the candidates --- */

static void count_errors(cq_xsim_hard_result *r, const size_t *best, const cq_rows *rows,
                         const cq_near_misses *misses) {
  cq_xsim_kind *const kinds[CQ_N_MISSES] = {&r->number, &r->name, &r->negation, &r->order};
  const cq_slice *text = rows->column[0];
  size_t n_errors = 0;
  for (size_t i = 0; i < misses->n; i++) kinds[misses->items[i].kind]->n_near_misses++;
  for (size_t i = 0; i < rows->n; i++) {
    const bool is_miss = best[i] >= rows->n && best[i] - rows->n < misses->n;
    const cq_near_miss *miss = is_miss ? &misses->items[best[i] - rows->n] : NULL;
    const size_t of = miss ? miss->of : best[i];
    const bool is_own = of < rows->n && cq_slice_equal(text[of], text[i]);
    if (is_own && !miss) continue;
    n_errors++;
    *(is_own ? &kinds[miss->kind]->n_errors : &r->n_other) += 1;
  }
  r->error = (double)n_errors / (double)rows->n;
}

/* The first column's sentences, then their near misses: *out [rows->n + misses->n]. */
static cq_status list_candidates(cq_slice **out, const cq_rows *rows, const cq_near_misses *misses, cq_error *error) {
  *out = cq_alloc_array(rows->n + misses->n, sizeof **out);
  if (!*out) return cq_fail_memory(error, "candidates");
  for (size_t i = 0; i < rows->n; i++) (*out)[i] = rows->column[0][i];
  for (size_t i = 0; i < misses->n; i++) (*out)[rows->n + i] = misses->items[i].text;
  return CQ_OK;
}

cq_status cq_eval_xsim_hard(cq_xsim_hard_result *out, const cq_encoder *encoder, const char *file,
                            const cq_eval_options *options, cq_context *ctx, cq_error *error) {
  cq_eval_options o;
  float *of_candidates = NULL, *of_queries = NULL;
  cq_rows rows = {0};
  cq_near_misses misses = {0};
  cq_slice *candidates = NULL;
  cq_neighbors first = {0}, second = {0};
  size_t *best = NULL;
  cq_status status = cq_options_take(&o, &cq_group_eval, options, error);
  if (!status) status = cq_rows_read(&rows, file, 2, &o, error);
  if (!status) status = cq_near_misses_make(&misses, rows.column[0], rows.n, SEED, error);
  if (!status) status = list_candidates(&candidates, &rows, &misses, error);
  const size_t n_candidates = rows.n + misses.n;
  if (!status) status = cq_encode_column(&of_candidates, encoder, ctx, candidates, n_candidates, &o, error);
  if (!status) status = cq_encode_column(&of_queries, encoder, ctx, rows.column[1], rows.n, &o, error);
  if (!status)
    status = cq_nearest(&first, &second, of_candidates, n_candidates, of_queries, rows.n, cq_eval_dim(encoder, &o),
                        NULL, ctx, error);
  if (!status) status = best_by_margin(&best, rows.n, CQ_RETRIEVE_BACKWARD, &first, &second, error);
  if (!status) {
    *out = (cq_xsim_hard_result){.n = rows.n, .n_skipped = rows.n_skipped};
    count_errors(out, best, &rows, &misses);
  }
  cq_free(best), cq_free(candidates), cq_free(of_candidates), cq_free(of_queries);
  cq_neighbors_free(&first), cq_neighbors_free(&second);
  cq_near_misses_free(&misses);
  cq_rows_free(&rows);
  return status;
}
