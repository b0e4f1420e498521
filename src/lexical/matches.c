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
    if (ids[i] < n_terms && (!*n || (*out)[*n - 1].begin != spans[i].begin)) (*out)[(*n)++] = spans[i];
  cq_analysis_free(analysis);
  return status;
}

/* A word of the query: its forms [begin, end). */
typedef struct query_word {
  size_t begin, end;
  double idf;
} query_word;

/* The query's different words: those with another first form, the exact one. */
static size_t find_words(query_word *words, const cq_query_form *forms, size_t n, bool *seen) {
  size_t n_words = 0;
  for (size_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && forms[end].word == forms[i].word; end++) continue;
    if (!seen[forms[i].id]) words[n_words++] = (query_word){i, end, 0};
    seen[forms[i].id] = true;
  }
  return n_words;
}

/* Sums are in the order of the query's words, so that texts with the same words get the same weight. */
static cq_status weigh_text(double *weight, cq_analysis *analysis, cq_slice text, const query_word *words,
                            size_t n_words, const cq_query_form *forms, bool *has, uint32_t n_terms, cq_error *error) {
  const uint32_t *ids;
  size_t n_ids = 0;
  *weight = 0;
  const cq_status status = cq_analysis_run(&ids, &n_ids, analysis, text, error);
  for (uint32_t t = 0; t < n_terms; t++) has[t] = false;
  for (size_t i = 0; !status && i < n_ids; i++)
    if (ids[i] < n_terms) has[ids[i]] = true;
  for (size_t w = 0; w < n_words; w++) {
    size_t f = words[w].begin;
    while (f < words[w].end && !has[forms[f].id]) f++;
    *weight += f < words[w].end ? words[w].idf : 0;
  }
  return status;
}

cq_status cq_lexical_weigh_by(double *weights, const cq_analyzer *analyzer, cq_slice query, const cq_slice *texts,
                              size_t n, cq_count_term_fn count, const void *context, uint64_t n_documents,
                              cq_error *error) {
  cq_analysis *analysis = NULL;
  const cq_query_form *forms = NULL;
  size_t n_forms = 0, n_words = 0;
  cq_status status = cq_analysis_open(&analysis, analyzer, error);
  if (!status) status = cq_analysis_run_query(&forms, &n_forms, analysis, query, error);
  const uint32_t n_terms = status ? 0 : cq_analysis_terms(analysis)->n;
  query_word *words = cq_alloc_array(n_forms, sizeof *words);
  bool *has = cq_alloc_array_zeroed(n_terms, sizeof *has);
  if (!status && (!words || !has)) status = cq_fail_memory(error, "sentences");
  if (!status) n_words = find_words(words, forms, n_forms, has);
  for (size_t w = 0; w < n_words; w++) {
    uint64_t n_with = 0;
    for (size_t f = words[w].begin; f < words[w].end; f++) {
      const uint64_t n_of_form = count(context, cq_analysis_terms(analysis)->items[forms[f].id]);
      if (n_of_form > n_with) n_with = n_of_form;
    }
    words[w].idf = log(1 + ((double)n_documents - (double)n_with + 0.5) / ((double)n_with + 0.5));
  }
  for (size_t i = 0; !status && i < n; i++)
    status = weigh_text(&weights[i], analysis, texts[i], words, n_words, forms, has, n_terms, error);
  cq_free(words);
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
