/* Searches for topics of one language among documents of another. */
#include "base/error.h"
#include "base/memory.h"
#include "lab/clir/bags.h"
#include "lab/clir/clir_model.h"
#include "lab/retrieval/ranking.h"
#include "lab/retrieval/trec_run.h"
#include "search/top.h"

#include <math.h>
#include <stdlib.h>

typedef struct asking {
  const cq_clir *clir;
  const cq_clir_model *model;
  const cq_clir_side *from, *to;
  const cq_clir_options *o;
  const bool *asked;
  cq_bags source; /* the documents in the query's language, if the query's weights depend on them */
} asking;

static bool is_topic_asked(const asking *a, size_t topic) {
  return !a->asked || a->asked[topic];
}

/* --- by words --- */

/* Adds a word to a query; a repeated word gains weight if words are weighted. */
static void add_query_term(cq_lexical_query *query, cq_slice word, double weight, bool weighted) {
  for (size_t i = 0; i < query->n; i++) {
    if (!cq_slice_equal(query->terms[i].term, word)) continue;
    if (weighted) query->terms[i].weight += weight;
    return;
  }
  query->terms[query->n++] = (cq_lexical_term){.term = word, .weight = weight};
}

enum { FEEDBACK_DOCUMENTS = 10 };

/* Whether weights depend on the documents in the query's language. */
static bool uses_source(const cq_clir_options *o) {
  return o->idf || o->feedback > 0;
}

/* Whether terms have weights, which are summed; otherwise a term counts once. */
static bool are_weighted(const cq_clir_options *o) {
  return o->weighted || uses_source(o);
}

/* A query's words, with repetitions, and their weights. */
typedef struct source_query {
  uint32_t *words;
  double *weights;
  size_t n, words_capacity, weights_capacity;
} source_query;

static void free_source(source_query *q) {
  cq_free(q->words);
  cq_free(q->weights);
}

static bool add_source(source_query *q, uint32_t word, double weight) {
  if (!cq_reserve((void **)&q->words, &q->words_capacity, q->n + 1, sizeof *q->words) ||
      !cq_reserve((void **)&q->weights, &q->weights_capacity, q->n + 1, sizeof *q->weights))
    return false;
  q->words[q->n] = word, q->weights[q->n++] = weight;
  return true;
}

/* [vocabulary] the words with the highest share in the best documents for a topic, summing to one; all 0: none. */
static cq_status find_feedback_words(double *words, const asking *a, size_t topic, cq_error *error) {
  cq_lexical_hit *hits = NULL;
  cq_clir_options o = *a->o;
  cq_lexical_options ranking = *o.ranking;
  ranking.model = CQ_DIRICHLET; /* whose scores are likelihoods */
  o.ranking = &ranking;
  double *scores = cq_alloc_array(a->source.n, sizeof *scores), *weights = cq_alloc_array(a->source.n, sizeof *weights);
  size_t n = 0;
  cq_status status = scores && weights ? CQ_OK : cq_fail_memory(error, "feedback");
  if (!status) status = cq_clir_best_of(&hits, a->clir, a->from, topic, FEEDBACK_DOCUMENTS, &o, error);
  for (size_t d = 0; !status && d < a->source.n; d++) scores[d] = -INFINITY;
  for (; !status && n < FEEDBACK_DOCUMENTS && hits[n].id.data; n++) scores[hits[n].document] = hits[n].score;
  if (!status) status = cq_top_weights(weights, scores, a->source.n, n, CQ_BY_LIKELIHOOD, error);
  if (!status) status = cq_bags_feedback(words, &a->source, weights, (size_t)a->o->feedback, NULL, error);
  cq_free(hits);
  cq_free(scores);
  cq_free(weights);
  return status;
}

static cq_status make_source(source_query *out, const asking *a, size_t topic, cq_error *error) {
  const cq_word_run *query = &a->from->queries[topic];
  const double each = a->o->feedback > 0 ? 0.5 / (double)query->n : 1;
  double *more = NULL;
  bool ok = true;
  cq_status status = CQ_OK;
  *out = (source_query){0};
  for (size_t i = 0; ok && i < query->n; i++) ok = add_source(out, query->words[i], each);
  if (ok && a->o->feedback > 0) {
    more = cq_alloc_array(a->source.n_words, sizeof *more);
    ok = more != NULL;
    if (ok) status = find_feedback_words(more, a, topic, error);
    for (uint32_t w = 0; ok && !status && w < a->source.n_words; w++)
      if (more[w] > 0) ok = add_source(out, w, 0.5 * more[w]);
  }
  for (size_t i = 0; ok && !status && a->o->idf && i < out->n; i++) out->weights[i] *= a->source.idf[out->words[i]];
  cq_free(more);
  return ok ? status : cq_fail_memory(error, "a query");
}

/* Adds the translations of some words (of each one, or of the sum), weighted by their cosines times a weight. */
static cq_status add_translations(cq_lexical_query *out, const asking *a, const cq_translator *translator,
                                  const uint32_t *words, size_t n_words, double weight, cq_error *error) {
  const bool weighted = a->o->weighted;
  cq_translation *found;
  size_t n;
  cq_status status = cq_clir_translate(&found, &n, a->model, translator, words, n_words, a->o, error);
  for (size_t i = 0; !status && i < n; i++)
    if (!weighted || found[i].cosine > 0)
      add_query_term(out, a->model->corpus.words.items[found[i].to],
                     weighted ? weight * (double)found[i].cosine : weight, are_weighted(a->o));
  cq_free(found);
  return status;
}

static cq_status translate_topic(cq_lexical_query *out, const asking *a, const cq_translator *translator,
                                 const source_query *source, cq_error *error) {
  const size_t tau = (size_t)a->o->tau;
  cq_u32_array known = {0}; /* the model's numbers of the words it has */
  cq_status status = CQ_OK;
  if (!(out->terms = cq_alloc_array_zeroed(source->n * (tau + 1) + 1, sizeof *out->terms)))
    return cq_fail_memory(error, "a query");
  for (size_t i = 0; !status && i < source->n; i++) {
    const uint32_t word = a->model->number[source->words[i]];
    if (word == CQ_INTERN_NONE) continue;
    if (a->o->method != CQ_CLIR_SUM)
      status = add_translations(out, a, translator, &word, 1, source->weights[i], error);
    else if (!cq_u32_array_append(&known, &word, 1))
      status = cq_fail_memory(error, "a query");
  }
  if (!status && known.n) status = add_translations(out, a, translator, known.items, known.n, 1, error);
  for (size_t i = 0; !status && a->o->keep_words && i < source->n; i++)
    if (a->to->has[source->words[i]])
      add_query_term(out, a->clir->words.items[source->words[i]], source->weights[i], are_weighted(a->o));
  cq_u32_array_free(&known);
  return status;
}

/* Sums repeated words here, because Terrier's model would keep only the first one's weight. */
static cq_status add_source_words(cq_lexical_query *out, const asking *a, const source_query *source, cq_error *error) {
  if (!(out->terms = cq_alloc_array_zeroed(source->n + 1, sizeof *out->terms))) return cq_fail_memory(error, "a query");
  for (size_t i = 0; i < source->n; i++)
    add_query_term(out, a->clir->words.items[source->words[i]], source->weights[i], true);
  return CQ_OK;
}

static cq_status make_query(cq_lexical_query *out, const asking *a, const cq_translator *translator, size_t topic,
                            cq_error *error) {
  source_query source;
  if (a->from == a->to && !uses_source(a->o))
    return cq_clir_own_query(out, a->clir, a->from, topic) ? CQ_OK : cq_fail_memory(error, "a query");
  cq_status status = make_source(&source, a, topic, error);
  if (!status)
    status = a->from == a->to ? add_source_words(out, a, &source, error)
                              : translate_topic(out, a, translator, &source, error);
  free_source(&source);
  return status;
}

static cq_status search_by_words(cq_lexical_hit **out, const asking *a, cq_context *ctx, cq_error *error) {
  const size_t n = a->clir->n_topics;
  cq_translator translator = {0};
  cq_lexical_query *queries = cq_alloc_array_zeroed(n, sizeof *queries);
  cq_status status = queries ? CQ_OK : cq_fail_memory(error, "queries");
  if (!status && a->from != a->to) status = cq_clir_translator(&translator, a->model, a->from, a->to, a->o, error);
  for (size_t t = 0; !status && t < n; t++)
    if (is_topic_asked(a, t)) status = make_query(&queries[t], a, &translator, t, error);
  if (!status) status = cq_lexical_search(out, a->to->index, queries, n, a->o->ranking, ctx, error);
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

static cq_status search_by_documents(cq_lexical_hit **out, const asking *a, cq_context *ctx, cq_error *error) {
  const size_t n = a->clir->n_topics, n_documents = a->to->n_documents, dim = (size_t)a->model->dim;
  const size_t k = a->o->ranking->k, k_found = cq_min(k, n_documents);
  cq_neighbors found = {0};
  float *queries = cq_alloc_array_zeroed(n, dim * sizeof *queries);
  float *documents = cq_alloc_array_zeroed(n_documents, dim * sizeof *documents);
  *out = cq_clir_hits(a->clir, k);
  cq_status status = queries && documents && *out ? CQ_OK : cq_fail_memory(error, "vectors of documents");
  for (size_t d = 0; !status && d < n_documents; d++) add_vectors(documents + d * dim, a->model, &a->to->documents[d]);
  for (size_t t = 0; !status && t < n; t++)
    if (is_topic_asked(a, t)) add_vectors(queries + t * dim, a->model, &a->from->queries[t]);
  if (!status && n_documents)
    status = cq_top(&found, queries, n, documents, n_documents, dim, k_found, NULL, NULL, ctx, error);
  for (size_t t = 0; !status && t < n; t++) {
    bool is_known = false; /* a query whose words are all unknown finds nothing */
    for (size_t i = 0; i < dim; i++) is_known |= queries[t * dim + i] != 0;
    for (size_t rank = 0; is_known && rank < k_found; rank++) {
      const uint32_t d = found.index[t * k_found + rank];
      if (d != UINT32_MAX)
        (*out)[t * k + rank] = (cq_lexical_hit){cq_lexical_id(a->to->index, d), found.cosine[t * k_found + rank], d};
    }
  }
  cq_neighbors_free(&found);
  cq_free(queries);
  cq_free(documents);
  if (status) cq_free(*out), *out = NULL;
  return status;
}

/* --- both --- */

cq_status cq_clir_search(cq_lexical_hit **out, const cq_clir *clir, const cq_clir_model *model, const char *from,
                         const char *to, const bool *asked, const cq_clir_options *options, cq_context *ctx,
                         cq_error *error) {
  cq_clir_settings s;
  asking a = {.clir = clir, .model = model, .o = &s.o, .asked = asked};
  *out = NULL;
  cq_status status = cq_clir_take(&s, options, error);
  if (!status) status = cq_clir_side_of(&a.from, clir, from, error);
  if (!status) status = cq_clir_side_of(&a.to, clir, to, error);
  if (!status && !model && a.from != a.to)
    status = cq_fail(error, CQ_ERR_ARGUMENT, "from '%s' to '%s' needs a model", from, to);
  if (!status && uses_source(&s.o))
    status = cq_bags_open(&a.source, a.from->documents, a.from->n_documents, clir->words.n, error);
  if (!status)
    status = s.o.method == CQ_CLIR_DOCUMENTS && model ? search_by_documents(out, &a, ctx, error)
                                                      : search_by_words(out, &a, ctx, error);
  cq_bags_close(&a.source);
  return status;
}

cq_status cq_clir_write_run(const char *run, const cq_clir *clir, const cq_lexical_hit *hits, size_t k, const char *tag,
                            cq_error *error) {
  return cq_hits_write_run(run, clir->topics, clir->n_topics, hits, k, tag, error);
}

/* The order of trec_eval 9: by score in f32, ties by descending name. */
static int best_as_trec_eval(const void *a, const void *b) {
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
    if (n) qsort(sorted, n, sizeof *sorted, best_as_trec_eval);
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
