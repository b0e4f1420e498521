/* Finds the best sentence of each hit's passage, by words or by vectors. The title, which a text may begin with, is none
 * if there are others. */
#include "recipe/index/backend.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/slice.h"
#include "calque/embedding.h"
#include "calque/sentences.h"
#include "text/places.h"

/* All sentences of all hits, grouped by hit. */
typedef struct sentences {
  cq_slice *items;
  size_t n, capacity;
  size_t *starts; /* [n_hits + 1] */
  cq_hit **hits;  /* [n_hits] */
  size_t *query;  /* [n_hits] that it was found for */
  size_t n_hits;
} sentences;

static cq_status split_hit(sentences *s, cq_sentence_splitter *splitter, cq_hit *hit, size_t query, cq_error *error) {
  const cq_slice text = hit->document.text, title = cq_slice_trimmed(hit->document.title);
  const cq_sentence *found;
  size_t n;
  char room[16];
  const char *language = cq_slice_copy(room, sizeof room, hit->document.language); /* "": rules for all languages */
  cq_status status = cq_sentence_splitter_run(&found, &n, splitter, text, language, error);
  if (!status && !cq_reserve((void **)&s->items, &s->capacity, s->n + n + 1, sizeof *s->items))
    status = cq_fail_memory(error, "sentences");
  if (status) return status;
  s->starts[s->n_hits] = s->n;
  for (size_t i = 0; i < n; i++) {
    const cq_slice sentence = {text.data + found[i].begin, found[i].end - found[i].begin};
    if (!cq_slice_equal(sentence, title)) s->items[s->n++] = sentence;
  }
  if (s->n == s->starts[s->n_hits]) s->items[s->n++] = hit->document.text; /* of blanks, or a title */
  s->hits[s->n_hits] = hit, s->query[s->n_hits++] = query;
  s->starts[s->n_hits] = s->n;
  return CQ_OK;
}

static cq_status split_hits(sentences *s, cq_hit *hits, const size_t *n, size_t k, size_t n_queries, cq_error *error) {
  cq_sentence_splitter *splitter = NULL;
  s->starts = cq_alloc_array(n_queries * k + 1, sizeof *s->starts);
  s->hits = cq_alloc_array(n_queries * k, sizeof *s->hits);
  s->query = cq_alloc_array(n_queries * k, sizeof *s->query);
  if (!s->starts || !s->hits || !s->query) return cq_fail_memory(error, "sentences");
  cq_status status = cq_sentence_splitter_open(&splitter, error);
  for (size_t q = 0; !status && q < n_queries; q++)
    for (size_t i = 0; !status && i < n[q]; i++) status = split_hit(s, splitter, &hits[q * k + i], q, error);
  cq_sentence_splitter_free(splitter);
  return status;
}

/* --- by words --- */

/* A query's hits are adjacent, and so are their sentences. */
static cq_status choose_by_words(sentences *s, const cq_index_searching *search, cq_error *error) {
  double *weights = cq_alloc_array(s->n, sizeof *weights);
  cq_status status = weights ? CQ_OK : cq_fail_memory(error, "sentences");
  for (size_t first = 0, end; !status && first < s->n_hits; first = end) {
    for (end = first; end < s->n_hits && s->query[end] == s->query[first]; end++) continue;
    const size_t from = s->starts[first];
    status = search->index->backend->weigh(weights + from, search, search->queries[s->query[first]], s->items + from,
                                           s->starts[end] - from, error);
  }
  for (size_t h = 0; !status && h < s->n_hits; h++) {
    size_t best = s->starts[h];
    for (size_t i = best; i < s->starts[h + 1]; i++)
      if (weights[i] > weights[best]) best = i;
    s->hits[h]->best = s->items[best];
  }
  cq_free(weights);
  return status;
}

/* --- by vectors --- */

static cq_status choose_by_vectors(sentences *s, const cq_index *index, const float *queries, cq_context *ctx,
                                   cq_error *error) {
  const cq_encoder *encoder;
  const size_t dim = (size_t)index->dim;
  cq_status status = cq_index_need_query_model(&encoder, index, error); /* it is open: the query was encoded */
  float *vectors = status ? NULL : cq_alloc_array(s->n, dim * sizeof *vectors);
  if (!status && !vectors) status = cq_fail_memory(error, "sentences");
  if (!status) {
    const cq_encode_options how = cq_index_encoding(index, encoder, true);
    status = cq_encoder_encode(vectors, NULL, encoder, s->items, s->n, &how, ctx, error);
  }
  for (size_t h = 0; !status && h < s->n_hits; h++) {
    size_t best = s->starts[h];
    double highest = -2;
    for (size_t i = s->starts[h]; i < s->starts[h + 1]; i++) {
      const double cosine = cq_cosine(queries + s->query[h] * dim, vectors + i * dim, dim);
      if (cosine > highest) highest = cosine, best = i;
    }
    s->hits[h]->best = s->items[best];
  }
  cq_free(vectors);
  return status;
}

cq_status cq_index_find_best(cq_hits *hits, const cq_index_searching *search, cq_error *error) {
  sentences s = {0};
  const cq_snippet snippet = search->options->snippet;
  if (snippet == CQ_SNIPPET_NONE) return CQ_OK;
  cq_status status = split_hits(&s, hits->all, hits->n, hits->k, hits->n_queries, error);
  if (!status && s.n)
    status = snippet == CQ_SNIPPET_WORDS ? choose_by_words(&s, search, error)
                                         : choose_by_vectors(&s, search->index, search->vectors, search->ctx, error);
  cq_free(s.items);
  cq_free(s.starts);
  cq_free(s.hits);
  cq_free(s.query);
  return status;
}
