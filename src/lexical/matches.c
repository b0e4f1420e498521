/* The words of a text that a query has found, for showing them. */
#include "base/error.h"
#include "base/memory.h"
#include "lexical/growing.h"

cq_status cq_lexical_matches(cq_span **out, size_t *n, const cq_analyzer *analyzer, cq_slice query, cq_slice text,
                             cq_error *error) {
  cq_analysis *analysis = NULL;
  const uint32_t *ids;
  const cq_span *spans;
  size_t n_ids = 0;
  *out = NULL, *n = 0;
  cq_status status = cq_analysis_open(&analysis, analyzer, error);
  if (!status) status = cq_analysis_run(&ids, &n_ids, analysis, query, error);
  /* The terms known now are the query's: they have the lowest numbers. */
  const uint32_t n_terms = status ? 0 : cq_analysis_terms(analysis)->n;
  if (!status) status = cq_analysis_run_spans(&ids, &spans, &n_ids, analysis, text, error);
  if (!status && !(*out = cq_alloc_array(n_ids, sizeof **out))) status = cq_fail_memory(error, "matches");
  for (size_t i = 0; !status && i < n_ids; i++)
    if (ids[i] < n_terms) (*out)[(*n)++] = spans[i];
  cq_analysis_free(analysis);
  return status;
}
