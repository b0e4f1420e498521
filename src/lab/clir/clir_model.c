/* Word vectors in several languages, trained on topics' documents; and the translation of queries by them. */
#include "lab/clir/clir_model.h"

#include "base/error.h"
#include "base/memory.h"
#include "lab/words/word_vectors.h"
#include "lexical/score.h"

#include <stdlib.h>

static const char *const mixings[] = {"by-length", "at-random", NULL};
static const char *const methods[] = {"terms", "sum", "documents", NULL};

#define O cq_clir_options
static const cq_option option_rows[] = {
    {CQ_CHOICE(O, "mix", mixing, CHANGES, CQ_MIX_BY_LENGTH, mixings, "HOW",
               "how the words of one topic's documents are mixed: in turn, by their lengths (by-length), or in "
               "random order (at-random)")},
    {CQ_INT(O, "kappa", kappa, CHANGES, 10, 0, 100000, "N",
            "number of top documents that count as relevant to a held-out topic (pseudo-relevance)")},
    {CQ_FLAG(O, "pseudo-in-all", pseudo_in_all, CHANGES,
             "find pseudo-relevant documents in all languages, by the translations of held-out topics")},
    {CQ_FLAG(O, "all-documents", all_documents, CHANGES,
             "also train on every document by itself, so that words outside of the aligned documents get vectors")},
    {CQ_CHOICE(O, "method", method, CHANGES, CQ_CLIR_TERMS, methods, "METHOD",
               "translate each word of the query to its nearest words (terms), or the sum of its words to the "
               "nearest words (sum); or rank documents by the sum of their word vectors (documents)")},
    {CQ_INT(O, "tau", tau, CHANGES, 10, 1, 100000, "N", "translations for each word of the query, or for their sum")},
    {CQ_FLAG(O, "weighted", weighted, CHANGES, "multiply a word's score by its cosine")},
    {CQ_FLAG(O, "idf", idf, CHANGES,
             "multiply a word's score by the inverse document frequency of the query word that it translates")},
    {CQ_INT(O, "feedback", feedback, CHANGES, 0, 0, 10000, "N",
            "query expansion before translation: add N words from the query's best documents in its own language, at "
            "half weight (pseudo-relevance feedback); 0: none")},
    {CQ_INT(O, "csls", csls, CHANGES, 0, 0, 100, "K",
            "CSLS over K nearest neighbors, which corrects for hubs; 0: plain cosine")},
    {CQ_FLAG(O, "keep-words", keep_words, CHANGES, "search for the query's own words, too")},
};
#undef O

static void set_words_defaults(void *options) {
  cq_words_options *o = options;
  o->window = 25;
  o->buckets = 1 << 16; /* these vocabularies are small */
}

static void set_ranking_defaults(void *options) {
  ((cq_lexical_options *)options)->k = 1000;
}

static const cq_option_part parts[] = {
    {.group = &cq_group_words, .offset = offsetof(cq_clir_options, words), .defaults = set_words_defaults},
    {.group = &cq_group_lexical, .offset = offsetof(cq_clir_options, ranking), .defaults = set_ranking_defaults},
};

static cq_status check_clir_options(const void *options, cq_error *error) {
  const cq_clir_options *o = options;
  if ((o->idf || o->feedback > 0) && o->method != CQ_CLIR_TERMS)
    return cq_fail(error, CQ_ERR_ARGUMENT, "%s weighs the translations of single words: sums of vectors have none",
                   o->idf ? "idf" : "feedback");
  return CQ_OK;
}

const cq_option_group cq_group_clir = {
    .name = "clir", CQ_ROWS(cq_clir_options, option_rows), .parts = parts, .n_parts = 2, .check = check_clir_options};
cq_status cq_clir_take(cq_clir_settings *out, const cq_clir_options *given, cq_error *error) {
  cq_status status = cq_options_take(&out->o, &cq_group_clir, given, error);
  if (!status) status = cq_options_take_part(&out->words, &parts[0], &out->o, error);
  if (!status) status = cq_options_take_part(&out->ranking, &parts[1], &out->o, error);
  out->o.words = &out->words, out->o.ranking = &out->ranking;
  return status;
}

/* --- the text --- */

static bool mix_documents(cq_u32_array *out, const cq_word_run *runs, size_t n, const cq_clir_options *o,
                          cq_random *random) {
  return o->mixing == CQ_MIX_BY_LENGTH ? cq_shuffle_by_length(out, runs, n)
                                       : cq_shuffle_at_random(out, runs, n, random);
}

/* Adds tuples of a topic's documents, mixed, as documents of the corpus. */
static cq_status add_topic_documents(cq_word_corpus *corpus, const cq_clir *c, const cq_document_set *sets,
                                     const cq_clir_options *o, cq_random *random, cq_error *error) {
  cq_u32_array tuples = {0}, text = {0};
  cq_word_run *runs = cq_alloc_array(c->n, sizeof *runs);
  bool ok = runs && cq_align_documents(&tuples, sets, c->n, random);
  cq_status status = CQ_OK;
  for (size_t first = 0; ok && !status && first < tuples.n; first += c->n) {
    text.n = 0;
    for (size_t i = 0; i < c->n; i++) {
      const uint32_t d = tuples.items[first + i];
      runs[i] = d == CQ_NO_DOCUMENT ? (cq_word_run){NULL, 0} : c->sides[i].documents[d];
    }
    ok = mix_documents(&text, runs, c->n, o, random);
    if (ok) status = cq_word_corpus_add(corpus, text.items, text.n, error);
  }
  cq_free(runs);
  cq_u32_array_free(&tuples);
  cq_u32_array_free(&text);
  return ok || status ? status : cq_fail_memory(error, "a topic's documents");
}

cq_status cq_clir_best_of(cq_lexical_hit **out, const cq_clir *c, const cq_clir_side *side, size_t topic, size_t k,
                          const cq_clir_options *o, cq_error *error) {
  cq_lexical_query query;
  cq_lexical_options ranking = *o->ranking;
  ranking.k = k;
  *out = NULL;
  if (!cq_clir_own_query(&query, c, side, topic)) return cq_fail_memory(error, "a query");
  cq_status status = cq_lexical_search(out, side->index, &query, 1, &ranking, NULL, error);
  cq_lexical_query_free(&query);
  return status;
}

/* A topic's pseudo-relevant documents in a language: the best kappa for its query there. */
static cq_status find_pseudo_relevant(cq_u32_array *out, const cq_clir *c, const cq_clir_side *side, size_t topic,
                                      const cq_clir_options *o, cq_error *error) {
  const size_t kappa = (size_t)o->kappa;
  cq_lexical_hit *hits;
  cq_status status = cq_clir_best_of(&hits, c, side, topic, kappa, o, error);
  for (size_t i = 0; !status && i < kappa && hits[i].id.data; i++) {
    const uint32_t d = (uint32_t)hits[i].document;
    if (!cq_u32_array_append(out, &d, 1)) status = cq_fail_memory(error, "a query");
  }
  cq_free(hits);
  return status;
}

/* The documents of a held-out topic. */
static cq_status add_held_out(cq_word_corpus *corpus, const cq_clir *c, const cq_clir_side *from, size_t topic,
                              const cq_clir_options *o, cq_random *random, cq_error *error) {
  cq_u32_array *found = cq_alloc_array_zeroed(c->n, sizeof *found);
  cq_document_set *sets = cq_alloc_array_zeroed(c->n, sizeof *sets);
  cq_status status = found && sets ? CQ_OK : cq_fail_memory(error, "a topic");
  for (size_t i = 0; !status && i < c->n; i++) {
    if (!o->pseudo_in_all && &c->sides[i] != from) continue;
    status = find_pseudo_relevant(&found[i], c, &c->sides[i], topic, o, error);
    sets[i] = (cq_document_set){found[i].items, found[i].n};
    for (size_t k = 0; !status && !o->pseudo_in_all && k < found[i].n; k++) {
      const cq_word_run *run = &c->sides[i].documents[found[i].items[k]];
      status = cq_word_corpus_add(corpus, run->words, run->n, error);
    }
  }
  if (!status && o->pseudo_in_all) status = add_topic_documents(corpus, c, sets, o, random, error);
  for (size_t i = 0; found && i < c->n; i++) cq_u32_array_free(&found[i]);
  cq_free(found);
  cq_free(sets);
  return status;
}

static cq_status make_corpus(cq_word_corpus *corpus, const cq_clir *c, const bool *held_out, const cq_clir_side *from,
                             const cq_clir_options *o, cq_error *error) {
  cq_document_set *sets = cq_alloc_array_zeroed(c->n, sizeof *sets);
  cq_status status = sets ? CQ_OK : cq_fail_memory(error, "topics");
  /* The corpus begins with the collections' numbers for words. */
  for (uint32_t w = 0; !status && w < c->words.n; w++)
    if (cq_intern_put(&corpus->words, c->words.items[w]) == CQ_INTERN_NONE) status = cq_fail_memory(error, "words");
  for (size_t t = 0; !status && t < c->n_topics; t++) {
    cq_random random = cq_random_seeded(o->words->seed, t);
    if (held_out && held_out[t]) {
      if (o->kappa > 0) status = add_held_out(corpus, c, from, t, o, &random, error);
      continue;
    }
    for (size_t i = 0; i < c->n; i++) sets[i] = (cq_document_set){c->sides[i].relevant[t], c->sides[i].n_relevant[t]};
    status = add_topic_documents(corpus, c, sets, o, &random, error);
  }
  for (size_t i = 0; !status && o->all_documents && i < c->n; i++)
    for (size_t d = 0; !status && d < c->sides[i].n_documents; d++)
      status = cq_word_corpus_add(corpus, c->sides[i].documents[d].words, c->sides[i].documents[d].n, error);
  cq_free(sets);
  return status ? status : cq_word_corpus_finish(corpus, o->words->min_count, error);
}

/* --- the model --- */

static cq_status number_words(cq_clir_model *m, cq_error *error) {
  const cq_intern *words = &m->clir->words;
  m->number = cq_alloc_array(words->n, sizeof *m->number);
  if (!m->number) return cq_fail_memory(error, "a model");
  for (uint32_t w = 0; w < words->n; w++) m->number[w] = cq_intern_find(&m->corpus.words, words->items[w]);
  return CQ_OK;
}

cq_status cq_clir_train(cq_clir_model **out, const cq_clir *c, const bool *held_out, const char *from_code,
                        const cq_clir_options *options, cq_context *ctx, cq_error *error) {
  cq_clir_settings s;
  const cq_clir_side *from = NULL;
  cq_word_model trained = {0};
  *out = NULL;
  cq_status status = cq_clir_take(&s, options, error);
  if (status) return status;
  cq_clir_model *m = cq_alloc_zeroed(sizeof *m);
  if (!m) return cq_fail_memory(error, "a model");
  m->clir = c;
  if (held_out) status = cq_clir_side_of(&from, c, from_code, error);
  if (!status) status = make_corpus(&m->corpus, c, held_out, from, &s.o, error);
  if (!status && m->corpus.tokens.n == 0)
    status = cq_fail(error, CQ_ERR_ARGUMENT, "no topic has relevant documents in two of the languages");
  if (!status) status = cq_word_model_train(&trained, &m->corpus, &s.words, ctx, error);
  if (!status) {
    const uint32_t n = m->corpus.words.n;
    m->dim = s.words.dim;
    m->vectors = cq_alloc_array(n, (size_t)m->dim * sizeof *m->vectors);
    if (!m->vectors) status = cq_fail_memory(error, "a model");
    for (uint32_t w = 0; !status && w < n; w++)
      cq_word_model_vector(m->vectors + (size_t)w * (size_t)m->dim, &trained, w);
    if (!status) status = number_words(m, error);
  }
  cq_word_model_free(&trained);
  if (status)
    cq_clir_model_free(m);
  else
    *out = m;
  return status;
}

void cq_clir_model_free(cq_clir_model *m) {
  if (!m) return;
  cq_word_corpus_free(&m->corpus);
  cq_free(m->vectors);
  cq_free(m->number);
  cq_free(m);
}

size_t cq_clir_n_trained(const cq_clir_model *m) {
  return m->corpus.tokens.n;
}

cq_status cq_clir_save(const cq_clir_model *m, const char *path, cq_error *error) {
  const cq_word_vectors vectors = {m->corpus.words, m->vectors, m->dim};
  return cq_word_vectors_write(&vectors, path, error);
}

cq_status cq_clir_load(cq_clir_model **out, const cq_clir *c, const char *path, cq_error *error) {
  cq_word_vectors vectors;
  *out = NULL;
  cq_clir_model *m = cq_alloc_zeroed(sizeof *m);
  if (!m) return cq_fail_memory(error, path);
  cq_status status = cq_word_vectors_read(&vectors, path, error);
  m->clir = c, m->corpus.words = vectors.words, m->vectors = vectors.data, m->dim = vectors.dim;
  if (!status) status = number_words(m, error);
  if (status)
    cq_clir_model_free(m);
  else
    *out = m;
  return status;
}

/* --- expansion --- */

cq_status cq_clir_translator(cq_translator *out, const cq_clir_model *m, const cq_clir_side *from,
                             const cq_clir_side *to, const cq_clir_options *o, cq_error *error) {
  const uint32_t n = m->corpus.words.n;
  bool *is_source = cq_alloc_array_zeroed(n, 2 * sizeof *is_source);
  if (!is_source) return cq_fail_memory(error, "a vocabulary");
  bool *is_target = is_source + n;
  for (uint32_t w = 0; w < m->clir->words.n; w++) {
    if (m->number[w] == CQ_INTERN_NONE) continue;
    is_source[m->number[w]] = from->has[w];
    is_target[m->number[w]] = to->has[w];
  }
  cq_status status = cq_translator_open(out, m->vectors, n, m->dim, is_source, is_target, o->csls, NULL, error);
  cq_free(is_source);
  return status;
}

cq_status cq_clir_translate(cq_translation **out, size_t *n, const cq_clir_model *m, const cq_translator *translator,
                            const uint32_t *words, size_t n_words, const cq_clir_options *o, cq_error *error) {
  const size_t tau = (size_t)o->tau;
  *n = 0;
  *out = cq_alloc_array(n_words * tau + 1, sizeof **out);
  if (!*out) return cq_fail_memory(error, "a query");
  const size_t found =
      cq_translate(*out, translator, words, n_words, tau, o->method == CQ_CLIR_SUM, m->vectors, m->dim);
  if (found == SIZE_MAX) return cq_fail_memory(error, "a query");
  *n = found;
  return CQ_OK;
}

cq_status cq_clir_expand(cq_clir_word **out, size_t *n, const cq_clir_model *m, const char *from, const char *to,
                         cq_slice query, const cq_clir_options *options, cq_error *error) {
  cq_clir_settings s;
  const cq_clir_side *source, *target;
  cq_translator translator = {0};
  cq_translation *found = NULL;
  cq_lexical_query terms = {0};
  cq_u32_array words = {0};
  *out = NULL, *n = 0;
  cq_status status = cq_clir_take(&s, options, error);
  if (!status) status = cq_clir_side_of(&source, m->clir, from, error);
  if (!status) status = cq_clir_side_of(&target, m->clir, to, error);
  if (!status) status = cq_lexical_parse(&terms, source->index, query, error);
  for (size_t i = 0; !status && i < terms.n; i++) {
    const uint32_t word = cq_intern_find(&m->corpus.words, terms.terms[i].term);
    if (word != CQ_INTERN_NONE && !cq_u32_array_append(&words, &word, 1)) status = cq_fail_memory(error, "a query");
  }
  if (!status) status = cq_clir_translator(&translator, m, source, target, &s.o, error);
  if (!status) status = cq_clir_translate(&found, n, m, &translator, words.items, words.n, &s.o, error);
  if (!status && !(*out = cq_alloc_array(*n + 1, sizeof **out))) status = cq_fail_memory(error, "a query");
  for (size_t i = 0; !status && i < *n; i++)
    (*out)[i] = (cq_clir_word){found[i].from == CQ_ALL_WORDS ? (cq_slice){0} : m->corpus.words.items[found[i].from],
                               m->corpus.words.items[found[i].to], (double)found[i].cosine, (double)found[i].score};
  cq_free(found);
  cq_u32_array_free(&words);
  cq_lexical_query_free(&terms);
  cq_translator_close(&translator);
  return status;
}
