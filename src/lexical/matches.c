/* The words of a text that match a query, for highlighting, and their weight. */
#include "base/error.h"
#include "base/memory.h"
#include "lexical/growing.h"
#include "lexical/set.h"

#include <math.h>

cq_status cq_lexical_matches(cq_span **out, size_t *n, const cq_analyzer *analyzer, cq_slice query, cq_slice text,
                             cq_error *error) {
  cq_analysis *analysis = NULL;
  const uint32_t *ids;
  const cq_span *spans;
  size_t n_ids = 0;
  *out = NULL, *n = 0;
  cq_status status = cq_analysis_open(&analysis, analyzer, error);
  if (!status) status = cq_analysis_run(&ids, &n_ids, analysis, query, error);
  /* So far, the analysis knows only the query's terms: they have the lowest numbers. */
  const uint32_t n_terms = status ? 0 : cq_analysis_terms(analysis)->n;
  if (!status) status = cq_analysis_run_spans(&ids, &spans, &n_ids, analysis, text, error);
  if (!status && !(*out = cq_alloc_array(n_ids, sizeof **out))) status = cq_fail_memory(error, "matches");
  for (size_t i = 0; !status && i < n_ids; i++)
    if (ids[i] < n_terms) (*out)[(*n)++] = spans[i];
  cq_analysis_free(analysis);
  return status;
}

/* Sums are in the order of the query's terms, so that texts with the same terms get the same weight. */
static cq_status weigh_text(double *weight, cq_analysis *analysis, cq_slice text, const double *idf, bool *has,
                            uint32_t n_terms, cq_error *error) {
  const uint32_t *ids;
  size_t n_ids = 0;
  *weight = 0;
  const cq_status status = cq_analysis_run(&ids, &n_ids, analysis, text, error);
  for (uint32_t t = 0; t < n_terms; t++) has[t] = false;
  for (size_t i = 0; !status && i < n_ids; i++)
    if (ids[i] < n_terms) has[ids[i]] = true;
  for (uint32_t t = 0; t < n_terms; t++) *weight += has[t] ? idf[t] : 0;
  return status;
}

cq_status cq_lexical_weigh_by(double *weights, const cq_analyzer *analyzer, cq_slice query, const cq_slice *texts,
                              size_t n, cq_count_term_fn count, const void *context, uint64_t n_documents,
                              cq_error *error) {
  cq_analysis *analysis = NULL;
  const uint32_t *ids;
  size_t n_ids = 0;
  cq_status status = cq_analysis_open(&analysis, analyzer, error);
  if (!status) status = cq_analysis_run(&ids, &n_ids, analysis, query, error);
  const uint32_t n_terms = status ? 0 : cq_analysis_terms(analysis)->n;
  double *idf = cq_alloc_array(n_terms, sizeof *idf);
  bool *has = cq_alloc_array(n_terms, sizeof *has);
  if (!status && (!idf || !has)) status = cq_fail_memory(error, "sentences");
  for (uint32_t t = 0; !status && t < n_terms; t++) {
    const double n_with = (double)count(context, cq_analysis_terms(analysis)->items[t]);
    idf[t] = log(1 + ((double)n_documents - n_with + 0.5) / (n_with + 0.5));
  }
  for (size_t i = 0; !status && i < n; i++)
    status = weigh_text(&weights[i], analysis, texts[i], idf, has, n_terms, error);
  cq_free(idf);
  cq_free(has);
  cq_analysis_free(analysis);
  return status;
}

static uint64_t count_in_set(const void *set, cq_slice term) {
  uint64_t n, n_occurrences;
  cq_lexical_set_count(&n, &n_occurrences, set, term);
  return n;
}

cq_status cq_lexical_weigh(double *weights, const cq_lexical_set *set, cq_slice query, const cq_slice *texts, size_t n,
                           cq_error *error) {
  return cq_lexical_weigh_by(weights, set->analyzer, query, texts, n, count_in_set, set,
                             cq_lexical_set_n_documents(set), error);
}
