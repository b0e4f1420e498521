/* Topics of one language to ranked documents of another. */
#include "base/error.h"
#include "base/memory.h"
#include "eval/ranking.h"
#include "recipe/clir_model.h"
#include "search/top.h"

#include <math.h>
#include <stdlib.h>

typedef struct asking {
  const cq_clir *clir;
  const cq_clir_model *model;
  const cq_clir_side *from, *to;
  const cq_clir_options *o;
  const bool *asked;
} asking;

static bool is_asked(const asking *a, size_t topic) {
  return !a->asked || a->asked[topic];
}

/* --- by words --- */

/* Adds a word to a query; one that is there already gains weight, if words are weighted. */
static void add_term(cq_lexical_query *query, cq_slice word, double weight, bool weighted) {
  for (size_t i = 0; i < query->n; i++) {
    if (!cq_slice_equal(query->terms[i].term, word)) continue;
    if (weighted) query->terms[i].weight += weight;
    return;
  }
  query->terms[query->n++] = (cq_lexical_term){word, weight};
}

static cq_status translate_topic(cq_lexical_query *out, const asking *a, const cq_translator *translator, size_t topic,
                                 cq_error *error) {
  const cq_word_run *query = &a->from->queries[topic];
  cq_ids words = {0};
  cq_translation *found = NULL;
  size_t n = 0;
  cq_status status = CQ_OK;
  *out = (cq_lexical_query){0};
  for (size_t i = 0; !status && i < query->n; i++) {
    const uint32_t word = a->model->number[query->words[i]];
    if (word != CQ_INTERN_NONE && !cq_ids_append(&words, &word, 1)) status = cq_fail_memory(error, "a query");
  }
  if (!status) status = cq_clir_translate(&found, &n, a->model, translator, words.items, words.n, a->o, error);
  if (!status && !(out->terms = malloc((n + query->n + 1) * sizeof *out->terms)))
    status = cq_fail_memory(error, "a query");
  for (size_t i = 0; !status && i < n; i++)
    if (!a->o->weighted || found[i].cosine > 0)
      add_term(out, a->model->corpus.words.items[found[i].to], a->o->weighted ? (double)found[i].cosine : 1,
               a->o->weighted);
  for (size_t i = 0; !status && a->o->keep_words && i < query->n; i++)
    if (a->to->has[query->words[i]]) add_term(out, a->clir->words.items[query->words[i]], 1, a->o->weighted);
  cq_free(found);
  cq_ids_free(&words);
  return status;
}

static cq_status search_by_words(cq_lexical_hit **out, const asking *a, cq_pool *pool, cq_error *error) {
  const size_t n = a->clir->n_topics;
  const bool monolingual = a->from == a->to;
  cq_translator translator = {0};
  cq_lexical_query *queries = cq_alloc_array_zeroed(n, sizeof *queries);
  cq_status status = queries ? CQ_OK : cq_fail_memory(error, "queries");
  if (!status && !monolingual) status = cq_clir_translator(&translator, a->model, a->from, a->to, a->o, error);
  for (size_t t = 0; !status && t < n; t++) {
    if (!is_asked(a, t)) continue;
    if (!monolingual)
      status = translate_topic(&queries[t], a, &translator, t, error);
    else if (!cq_clir_own_query(&queries[t], a->clir, a->from, t))
      status = cq_fail_memory(error, "queries");
  }
  if (!status) status = cq_lexical_search(out, a->to->index, queries, n, &a->o->ranking, pool, error);
  for (size_t t = 0; queries && t < n; t++) cq_lexical_query_free(&queries[t]);
  cq_free(queries);
  cq_translator_close(&translator);
  return status;
}

/* --- by sums of vectors --- */

static void add_vectors(float *sum, const cq_clir_model *m, const cq_word_run *run) {
  for (size_t i = 0; i < run->n; i++) {
    const uint32_t word = m->number[run->words[i]];
    if (word == CQ_INTERN_NONE) continue;
    for (int k = 0; k < m->dim; k++) sum[k] += m->vectors[(size_t)word * (size_t)m->dim + (size_t)k];
  }
}

static cq_status search_by_documents(cq_lexical_hit **out, const asking *a, cq_pool *pool, cq_error *error) {
  const size_t n = a->clir->n_topics, n_documents = a->to->n_documents, dim = (size_t)a->model->dim;
  const size_t k = a->o->ranking.k, k_found = cq_smaller(k, n_documents);
  cq_neighbours found = {0};
  float *queries = cq_alloc_array_zeroed(n, dim * sizeof *queries);
  float *documents = cq_alloc_array_zeroed(n_documents, dim * sizeof *documents);
  *out = cq_clir_hits(a->clir, k);
  cq_status status = queries && documents && *out ? CQ_OK : cq_fail_memory(error, "vectors of documents");
  for (size_t d = 0; !status && d < n_documents; d++) add_vectors(documents + d * dim, a->model, &a->to->documents[d]);
  for (size_t t = 0; !status && t < n; t++)
    if (is_asked(a, t)) add_vectors(queries + t * dim, a->model, &a->from->queries[t]);
  if (!status && n_documents)
    status = cq_top(&found, queries, n, documents, n_documents, dim, k_found, NULL, NULL, pool, error);
  for (size_t t = 0; !status && t < n; t++) {
    bool is_known = false; /* a query whose words are all unknown finds nothing */
    for (size_t i = 0; i < dim; i++) is_known |= queries[t * dim + i] != 0;
    for (size_t rank = 0; is_known && rank < k_found; rank++) {
      const uint32_t d = found.index[t * k_found + rank];
      if (d != UINT32_MAX)
        (*out)[t * k + rank] = (cq_lexical_hit){cq_lexical_id(a->to->index, d), found.cosine[t * k_found + rank], d};
    }
  }
  cq_neighbours_free(&found);
  cq_free(queries);
  cq_free(documents);
  if (status) free(*out), *out = NULL;
  return status;
}

/* --- both --- */

cq_status cq_clir_search(cq_lexical_hit **out, const cq_clir *clir, const cq_clir_model *model, const char *from,
                         const char *to, const bool *asked, const cq_clir_options *options, cq_pool *pool,
                         cq_error *error) {
  const cq_clir_options o = options ? *options : cq_clir_default_options();
  asking a = {.clir = clir, .model = model, .o = &o, .asked = asked};
  *out = NULL;
  cq_status status = cq_clir_side_of(&a.from, clir, from, error);
  if (!status) status = cq_clir_side_of(&a.to, clir, to, error);
  if (!status && !model && a.from != a.to)
    status = cq_fail(error, CQ_ERR_ARGUMENT, "from '%s' to '%s' needs a model", from, to);
  if (status) return status;
  return o.method == CQ_CLIR_DOCUMENTS && model ? search_by_documents(out, &a, pool, error)
                                                : search_by_words(out, &a, pool, error);
}

cq_status cq_clir_write_run(FILE *out, const cq_clir *clir, const cq_lexical_hit *hits, size_t k, const char *tag,
                            cq_error *error) {
  cq_status status = cq_run_check_tag(tag, error);
  for (size_t t = 0; !status && t < clir->n_topics; t++)
    for (size_t rank = 0; rank < k && hits[t * k + rank].id.data; rank++)
      cq_run_write(out, clir->topics[t], hits[t * k + rank].id, rank + 1, hits[t * k + rank].score, tag);
  return !status && ferror(out) ? cq_fail(error, CQ_ERR_IO, "the run cannot be written") : status;
}

/* As trec_eval 9 ranks: by score in f32, of equal ones the greatest name first. */
static int best_first(const void *a, const void *b) {
  const cq_lexical_hit *p = a, *q = b;
  const float x = (float)p->score, y = (float)q->score;
  if (x != y) return x > y ? -1 : 1;
  return cq_slice_compare(q->id, p->id);
}

static double average_precision(const cq_clir_side *side, size_t topic, const cq_lexical_hit *hits, size_t k) {
  const size_t first = side->first_judgement[topic], n_judged = side->n_judgements[topic];
  cq_lexical_hit *sorted = cq_alloc_array(k, sizeof *sorted);
  int32_t *relevance = cq_alloc_array(k, sizeof *relevance), *judged = cq_alloc_array(n_judged, sizeof *judged);
  size_t n = 0;
  double value = NAN;
  if (sorted && relevance && judged) {
    while (n < k && hits[n].id.data) sorted[n] = hits[n], n++;
    if (n) qsort(sorted, n, sizeof *sorted, best_first);
    for (size_t i = 0; i < n; i++) relevance[i] = cq_judgement_find(&side->judgements, first, n_judged, sorted[i].id);
    const cq_ranking ranking = {relevance, n, judged,
                                cq_judgements_relevances(judged, &side->judgements, first, n_judged)};
    value = cq_ranking_average_precision(&ranking);
  }
  cq_free(sorted);
  cq_free(relevance);
  cq_free(judged);
  return value;
}

double cq_clir_map(const cq_clir *clir, const char *to, const cq_lexical_hit *hits, size_t k, const bool *asked) {
  const cq_clir_side *side;
  double sum = 0;
  size_t n = 0;
  if (cq_clir_side_of(&side, clir, to, NULL)) return NAN;
  for (size_t t = 0; t < clir->n_topics; t++) {
    if ((asked && !asked[t]) || side->n_relevant[t] == 0) continue;
    sum += average_precision(side, t, hits + t * k, k);
    n++;
  }
  return n ? sum / (double)n : NAN;
}
