/** @file Cross-lingual retrieval without parallel data: queries in one language, documents in another, learned only
 * from test collections whose topics are translations of one another.
 *
 *      cq_clir_sources s = cq_clir_default_sources();
 *      s.languages = codes, s.n_languages = 2;                            // {"en", "hi"}
 *      s.documents = "docs.%.trec", s.topics = "topics.%.xml", s.judgements = "qrels.%.txt";
 *      cq_clir_open(&c, &s, ctx, &err);
 *      cq_clir_train(&m, c, held_out, "en", NULL, ctx, &err);             // all topics but the held-out ones
 *      cq_clir_expand(&words, &n, m, "en", "hi", query, NULL, &err);      // a query's translation
 *      cq_clir_search(&hits, c, m, "en", "hi", held_out, NULL, ctx, &err);
 *      cq_clir_write_run("run.txt", c, hits, 1000, "tag", &err);
 *
 * The documents relevant to a topic in each language are combined into tuples, their words are mixed, and word vectors
 * are trained on the result; a query becomes its words' nearest neighbors in the other language. For a held-out topic,
 * only the query in its own language is known: its pseudo-relevant documents are added to the text. @source Niyogi,
 * Ghosh & Bhattacharya 2018; the baseline: Vulic & Moens 2015.
 *
 * @threads A cq_clir and its models may be used by any number of threads at once, but no other thread may use the
 * cognates during cq_clir_cognates_set(). */
#ifndef CALQUE_LAB_CLIR_H
#define CALQUE_LAB_CLIR_H

#include "calque/lexical.h"
#include "calque/options.h"
#include "calque/words.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @name The collections */

/** Each language's collection: in file names, `%` stands for the language's code. Topics with the same number are
 * translations of each other. */
typedef struct cq_clir_sources {
  size_t size;
  const char *const *languages; /**< codes */
  size_t n_languages;
  const char *documents, *topics, *judgements; /**< files, or directories of documents */
  const char *stop_words;                      /**< NULL: none */
  bool no_stems;
  const char *work; /**< new directory for the lexical indexes; NULL: a temporary one */
} cq_clir_sources;
CQ_DEFAULT_OPTIONS(cq_clir_sources, cq_clir_default_sources, clir_sources) /**< group "clir-sources" */

typedef struct cq_clir cq_clir;

/** Reads the collections and builds a lexical index of each. Words with the same spelling in two languages are one
 * word. Judgments of documents that the collection lacks are counted and ignored. @errors Those of the files;
 * CQ_ERR_ARGUMENT when `work` exists. */
CQ_API CQ_MUST_USE cq_status cq_clir_open(cq_clir **out, const cq_clir_sources *sources, cq_context *ctx,
                                          cq_error *error);
CQ_API void cq_clir_free(cq_clir *clir);

typedef struct cq_clir_info {
  size_t n_languages, n_topics; /**< topics that all languages have */
  size_t n_unknown;             /**< judgments of documents that the collection lacks */
} cq_clir_info;
/** Facts about the collections, borrowed. */
CQ_API const cq_clir_info *cq_clir_about(const cq_clir *clir);
CQ_API cq_slice cq_clir_topic(const cq_clir *clir, size_t topic); /**< its number, as in the file */

/** @name Word vectors */

typedef enum cq_clir_mixing {
  CQ_MIX_BY_LENGTH, /**< alternating, in proportion to the documents' lengths (Niyogi et al.) */
  CQ_MIX_AT_RANDOM, /**< words in random order (Vulic & Moens) */
} cq_clir_mixing;

typedef enum cq_clir_method {
  CQ_CLIR_TERMS,     /**< the nearest words of each word of the query */
  CQ_CLIR_SUM,       /**< the words nearest to the sum of the query words' vectors */
  CQ_CLIR_DOCUMENTS, /**< documents and queries as sums of their words' vectors, compared by cosine: the baseline */
} cq_clir_method;

/** How vectors are trained and queries translated. idf and feedback do not apply to sums of vectors, whose terms have
 * no single source word.
 *
 * With idf, a translation w' of a query word w has the weight
 *
 *      (weighted ? cos(w, w') : 1) * log((N + 1) / (n_w + 1/2))
 *
 * where n_w of the N documents in the query's language contain w. The weights of a term that translates several words
 * are added. A word of the query itself (keep_words, and the monolingual run) counts with cosine 1. This is our choice:
 * the paper does not define term weights.
 *
 * feedback is query expansion by pseudo-relevance feedback in the query's own language. Half of the new query is the
 * old one, by the frequencies of its words; the other half are the words with the highest share of its ten best
 * documents in that language: the mean of their shares, weighted by the documents' likelihood, times `log((N + 1) /
 * (n_w + 1/2))`. The weights of a word's translations, and of the word itself if it is kept, are multiplied by its
 * weight; the monolingual run uses the expanded query.
 * @source Lavrenko & Croft 2001 (RM1); Abdul-Jaleel et al. 2004 (the mixture). */
typedef struct cq_clir_options {
  size_t size;
  cq_clir_mixing mixing;
  int kappa;          /**< number of pseudo-relevant documents of a held-out topic, in the query's language */
  bool pseudo_in_all; /**< in every language, by the topic's translations, which makes them parallel data */
  bool all_documents; /**< add every document separately, for words that no aligned document has */
  cq_clir_method method;
  int tau;         /**< target words for each word, or for the sum */
  bool weighted;   /**< multiply a word's score by its cosine */
  bool idf;        /**< and by its source word's weight: see above */
  int feedback;    /**< number of words added to the query before translation; 0: none. See above */
  int csls;        /**< number of neighbors for the correction of hubs (CSLS); 0: no correction */
  bool keep_words; /**< keep the query's own words if the target language has them */
  const cq_words_options *words;
  const cq_lexical_options *ranking;
} cq_clir_options;
/** Group "clir", the paper's setting: by length, kappa 10, tau 10, window 25, each term's neighbors, unweighted,
 * Terrier's Dirichlet, the top 1000. The groups within it have their own defaults. */
CQ_DEFAULT_OPTIONS(cq_clir_options, cq_clir_default_options, clir)
CQ_DEFAULT_PART(cq_words_options, cq_clir_default_words, clir, words)
CQ_DEFAULT_PART(cq_lexical_options, cq_clir_default_ranking, clir, lexical)

typedef struct cq_clir_model cq_clir_model;

/** Trains vectors of all languages' words. A topic without relevant documents in a language is aligned without it; a
 * topic with relevant documents in only one language is ignored.
 * @param held_out  [n_topics] topics whose judgments and translations must not be used; NULL: none
 * @param from      the language of the held-out topics' queries
 * @param ctx       with several threads, results differ between runs, as for cq_words_train(); NULL: only the seed
 *                  matters
 * @errors CQ_ERR_ARGUMENT, also for idf or feedback with sums of vectors; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_clir_train(cq_clir_model **out, const cq_clir *clir, const bool *held_out,
                                           const char *from, const cq_clir_options *options, cq_context *ctx,
                                           cq_error *error);
CQ_API void cq_clir_model_free(cq_clir_model *model);
/** Writes a model in word2vec's text format, or reads one. @errors Those of the file. */
CQ_API CQ_MUST_USE cq_status cq_clir_save(const cq_clir_model *model, const char *path, cq_error *error);
CQ_API CQ_MUST_USE cq_status cq_clir_load(cq_clir_model **out, const cq_clir *clir, const char *path, cq_error *error);
CQ_API size_t cq_clir_n_trained(const cq_clir_model *model); /**< words of text, in one epoch */

typedef struct cq_clir_word {
  cq_slice from, to; /**< from: empty for the sum. Borrowed from the model */
  double cosine, score;
} cq_clir_word;

/** Translates a query: `*out` [n], released with cq_free(); words of the query that the text lacks are ignored. */
CQ_API CQ_MUST_USE cq_status cq_clir_expand(cq_clir_word **out, size_t *n, const cq_clir_model *model, const char *from,
                                            const char *to, cq_slice query, const cq_clir_options *options,
                                            cq_error *error);

/** Searches for topics in another language: `*out` [n_topics, k], released with cq_free(); other topics have no hits.
 * from equal to `to`: the monolingual run, which needs no model.
 * @param asked  [n_topics] which topics to search for; NULL: all
 * @errors CQ_ERR_ARGUMENT, CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_clir_search(cq_lexical_hit **out, const cq_clir *clir, const cq_clir_model *model,
                                            const char *from, const char *to, const bool *asked,
                                            const cq_clir_options *options, cq_context *ctx, cq_error *error);
/** Writes hits as a TREC run to a file; NULL or "-": standard output. @errors CQ_ERR_ARGUMENT for an empty tag or one
 * with blanks; CQ_ERR_IO. */
CQ_API CQ_MUST_USE cq_status cq_clir_write_run(const char *run, const cq_clir *clir, const cq_lexical_hit *hits,
                                               size_t k, const char *tag, cq_error *error);
/** The mean average precision of hits over the requested topics that have relevant documents. */
CQ_API double cq_clir_map(const cq_clir *clir, const char *to, const cq_lexical_hit *hits, size_t k, const bool *asked);

/** @name Transliteration-based matching */

/** Words of two languages that match in spelling: names, loans and cognates, found in documents on the same topic.
 * Words in other scripts are romanized (ICU's transliterators) before their letters are matched; in scripts without
 * spaces up to five adjacent words also count as one, because names are split. A query is translated, then expanded in
 * two steps:
 *
 *      query ──▶ likelihood in the documents, through the table of words               the translated query
 *      query ──▶ documents of its own language ──▶ expanded query; similar documents   source feedback
 *      best documents ──▶ expanded query in their language                             target feedback */
typedef struct cq_clir_cognates cq_clir_cognates;

typedef struct cq_cognate_options {
  size_t size;
  double at, sharpness;               /**< log-odds at which a word pair has half weight; steepness of the decay */
  double mu;                          /**< Dirichlet smoothing of likelihoods computed through the table */
  double mu_feedback;                 /**< and of those within a language */
  double query_share;                 /**< weight of the query itself versus source feedback */
  double similar_share;               /**< weight of documents similar to the source's, in addition to both */
  double first_share;                 /**< weight of all that against target feedback */
  int n_source, n_target;             /**< feedback documents */
  int n_source_words, n_target_words; /**< feedback words */
} cq_cognate_options;
CQ_DEFAULT_OPTIONS(cq_cognate_options, cq_cognate_default_options, clir_cognates) /**< group "clir-cognates" */

/** Learns from the documents of topics that are not held out; held-out topics contribute only documents and queries in
 * `from`. Deterministic. from equal to `to`: nothing is learned, and searching is monolingual with the same feedback,
 * as an upper bound. @errors CQ_ERR_ARGUMENT; CQ_ERR_UNSUPPORTED for more than 1,000 letters that ICU cannot romanize;
 * CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_clir_learn_cognates(cq_clir_cognates **out, const cq_clir *clir, const bool *held_out,
                                                    const char *from, const char *to, const cq_cognate_options *options,
                                                    cq_context *ctx, cq_error *error);
CQ_API void cq_clir_cognates_free(cq_clir_cognates *cognates);
/** Sets the options for later searches, except `at` and `sharpness`, with which the table was made. @errors
 * CQ_ERR_ARGUMENT. */
CQ_API CQ_MUST_USE cq_status cq_clir_cognates_set(cq_clir_cognates *cognates, const cq_cognate_options *options,
                                                  cq_error *error);
/** The contrast: how much better a topic's words match those of its own documents than those of another topic, in
 * words. Chance: the contrast after learning from mismatched topics. */
CQ_API double cq_clir_cognates_contrast(const cq_clir_cognates *cognates);
CQ_API double cq_clir_cognates_chance(const cq_clir_cognates *cognates);
/** False: the contrast is below 1.5 times chance, so the learned table is not used, and words match by romanized
 * spelling. */
CQ_API bool cq_clir_cognates_are_learned(const cq_clir_cognates *cognates);
/** The table's entries for a query's words, word by word, best first: `*out` [n], released with cq_free(); cosine and
 * score are the entry. The query is analyzed without stems. @errors CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_clir_cognates_expand(cq_clir_word **out, size_t *n, const cq_clir_cognates *cognates,
                                                     cq_slice query, cq_error *error);
/** Searches as cq_clir_search() does. */
CQ_API CQ_MUST_USE cq_status cq_clir_search_cognates(cq_lexical_hit **out, const cq_clir_cognates *cognates,
                                                     const bool *asked, size_t k, cq_context *ctx, cq_error *error);

/** @name Cross-validation */

/** Folds of topics in groups that stay together: `group` consecutive numbers as in cq_topic_group() (four topics per
 * article), or, with group 1, single topics in order. Group g is in fold g mod n. */
typedef struct cq_clir_folds {
  size_t size;
  int n, group;
} cq_clir_folds;
/** Group "clir-folds": five folds, topics in order. */
CQ_DEFAULT_OPTIONS(cq_clir_folds, cq_clir_default_folds, clir_folds)

/** Which topics are in a fold, from 0: `*out` [n_topics], released with cq_free(). @errors CQ_ERR_ARGUMENT for a fold
 * without topics, or for topics without numbers if group is above 1; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_clir_fold_topics(bool **out, const cq_clir *clir, const cq_clir_folds *folds, int fold,
                                                 cq_error *error);

typedef struct cq_clir_validation {
  size_t size;
  const int *kappas, *windows, *taus; /**< the grid for the training folds; none: 5, 10, 20; 10, 25, 50; 5, 10, 15 */
  size_t n_kappas, n_windows, n_taus;
  double share; /**< share of the training groups, in quarters, for learning curves; 0: all */
  const cq_clir_folds *folds;
} cq_clir_validation;
CQ_DEFAULT_OPTIONS(cq_clir_validation, cq_clir_default_validation, clir_validation) /**< group "clir-validation" */

typedef struct cq_clir_fold {
  int kappa, window, tau;                   /**< chosen */
  double map_chosen, map_tested;            /**< NaN: no choice, or no relevant documents */
  double seconds_before, seconds_retrieval; /**< text and vectors; all queries of the fold */
  double contrast;                          /**< of cognates; then the chosen shares */
  double query_share, similar_share, first_share;
  double chance;   /**< of cognates, as the contrast */
  bool is_learned; /**< cq_clir_cognates_are_learned */
} cq_clir_fold;

/** Cross-validates: for each fold, the best point of the grid is chosen by validation on the next fold, which is also
 * held out; then vectors are trained on all other topics, and the fold's topics are searched for. Each training has one
 * thread, and several run at the same time, so results depend only on the seed.
 * @param folds  [n]; NULL: not needed
 * @param hits   [n_topics, k] for all topics, each by the model of its fold */
CQ_API CQ_MUST_USE cq_status cq_clir_validate(cq_lexical_hit **hits, cq_clir_fold *folds, const cq_clir *clir,
                                              const char *from, const char *to, const cq_clir_validation *how,
                                              const cq_clir_options *options, cq_context *ctx, cq_error *error);

/** Cross-validates matching by cognates, without the grid. The shares of the query, of similar documents and of target
 * feedback are chosen for each fold by validation on each of the others, unless options are given or there are only two
 * folds; `folds` has the choice, MAP and times. */
CQ_API CQ_MUST_USE cq_status cq_clir_validate_cognates(cq_lexical_hit **hits, cq_clir_fold *folds, const cq_clir *clir,
                                                       const char *from, const char *to, const cq_clir_validation *how,
                                                       const cq_cognate_options *options, size_t k, cq_context *ctx,
                                                       cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
