/* Cross-lingual retrieval without parallel data: queries in one language, documents in another, and nothing to go by
 * but test collections whose topics are translations of one another.
 *
 *   cq_clir_open(&c, languages, n, "work", ctx, &err);                 // documents, topics and judgements of each
 *   cq_clir_train(&m, c, held_out, &options, ctx, &err);               // topics but those held out
 *   cq_clir_expand(&words, &n, m, "en", "hi", query, &options, &err);   // what a query becomes
 *   cq_clir_search(&hits, c, m, "en", "hi", held_out, &options, ctx, &err);
 *   cq_clir_write_run("run.txt", c, hits, options.ranking.k, "tag", &err);
 *
 * The documents that are relevant to a topic in each language are put together in tuples, their words shuffled into
 * one another, and vectors learned of the whole; a word's neighbours of the other language are what its query
 * becomes. For topics that are held out nothing is known but the query in its own language: its pseudo-relevant
 * documents there join the text. Source: Niyogi, Ghosh & Bhattacharya 2018; the baseline: Vulic & Moens 2015. */
#ifndef CALQUE_CLIR_H
#define CALQUE_CLIR_H

#include "calque/lexical.h"
#include "calque/words.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One language's collection. Topics of one number are translations of one another. */
typedef struct cq_clir_language {
  const char *code;
  const char *documents, *topics, *judgements; /* files; documents: or a directory */
  const char *stop_words;                      /* NULL: none */
  bool no_stems;
} cq_clir_language;

typedef struct cq_clir cq_clir; /* shareable while nobody frees it, as is what is learned of it */

/* Reads the collections and makes a lexical index of each in the directory `work`, which is made and must not be
 * there; NULL: in a temporary one, which is gone when this returns. A word that is written the same in two languages
 * is one word. Documents that judgements name and the collection lacks are counted and left out. Errors: those of the
 * files. */
CQ_API CQ_MUST_USE cq_status cq_clir_open(cq_clir **out, const cq_clir_language *languages, size_t n, const char *work,
                                          cq_context *ctx, cq_error *error);
CQ_API void cq_clir_free(cq_clir *clir);

typedef struct cq_clir_info {
  size_t n_languages, n_topics; /* topics that all languages have */
  size_t n_unknown;             /* judgements of documents that are not there */
} cq_clir_info;
CQ_API cq_clir_info cq_clir_about(const cq_clir *clir);
CQ_API cq_slice cq_clir_topic(const cq_clir *clir, size_t topic); /* its number, as written */

typedef enum cq_clir_mixing {
  CQ_MIX_BY_LENGTH, /* words in turn, as many of each language as its document is longer (Niyogi et al.) */
  CQ_MIX_AT_RANDOM, /* words in random order (Vulic & Moens) */
} cq_clir_mixing;

typedef enum cq_clir_method {
  CQ_CLIR_TERMS,     /* the nearest words of each word of the query */
  CQ_CLIR_SUM,       /* the nearest words of the sum of its words */
  CQ_CLIR_DOCUMENTS, /* documents and query as sums of their words' vectors, by cosine: the baseline */
} cq_clir_method;

typedef struct cq_clir_options {
  cq_clir_mixing mixing;
  int kappa;          /* pseudo-relevant documents of a topic that is held out, in the query's language */
  bool pseudo_in_all; /* in every language, by the topic's translations: not without parallel data, strictly */
  bool all_documents; /* every document once more, by itself: words that no aligned one has get vectors, too */
  cq_words_options words;
  cq_clir_method method;
  int tau;         /* words for each word, or for the sum */
  bool weighted;   /* a word's score is multiplied by its cosine */
  bool idf;        /* and by its source word's weight: see below */
  int feedback;    /* words that the query is made longer by before it is translated; 0: none. See below */
  int csls;        /* neighbours that hubs are corrected by; 0: none */
  bool keep_words; /* the query's own words, too, where the target language has them */
  cq_lexical_options ranking;
} cq_clir_options;
/* idf: a term w' that a word w of the query becomes weighs
 *
 *   (weighted ? cos(w, w') : 1) * log((N + 1) / (n_w + 1/2))
 *
 * where n_w of the N documents in the query's language have w; a term that several words become weighs the sum. A word
 * of the query itself (keep_words, and the monolingual run) counts as if its cosine were 1. This is our choice: the
 * paper leaves open what terms weigh. Not for sums of vectors, where no term has one source word.
 *
 * feedback: the query in its own language becomes half itself, each word as often as it has it, and half the words that
 * its ten best documents there have most of: by their share of each document, documents weighing as they are likely,
 * times log((N + 1) / (n_w + 1/2)). Sources: Lavrenko & Croft 2001 (RM1); Abdul-Jaleel et al. 2004 (the mixture). Each
 * word's translations, and the word itself where it is kept, are multiplied by its weight; the monolingual run is that
 * of the longer query. Not for sums of vectors.
 *
 * The paper's: by length, kappa 10, tau 10, window 25, each term's neighbours, unweighted, Terrier's Dirichlet, 1000
 * documents. */
CQ_API cq_clir_options cq_clir_default_options(void);

typedef struct cq_clir_model cq_clir_model;

/* Learns vectors of all languages' words.
 *   held_out  [n_topics] topics whose judgements and translations are not to be looked at; NULL: none
 *   from      the language that held-out topics are asked in
 *   ctx      with several threads results differ from run to run, as cq_words_train says; NULL: they depend on the seed alone
 * A topic without relevant documents in a language is aligned without that language; with none in all but one it is
 * left out. */
CQ_API CQ_MUST_USE cq_status cq_clir_train(cq_clir_model **out, const cq_clir *clir, const bool *held_out,
                                           const char *from, const cq_clir_options *options, cq_context *ctx,
                                           cq_error *error);
CQ_API void cq_clir_model_free(cq_clir_model *model);
/* Keeps a model as word2vec's text, and takes one from there. Errors: those of the file. */
CQ_API CQ_MUST_USE cq_status cq_clir_save(const cq_clir_model *model, const char *path, cq_error *error);
CQ_API CQ_MUST_USE cq_status cq_clir_load(cq_clir_model **out, const cq_clir *clir, const char *path, cq_error *error);
CQ_API size_t cq_clir_n_trained(const cq_clir_model *model); /* words of text, of one epoch */

typedef struct cq_clir_word {
  cq_slice from, to; /* from: empty for the sum. Borrowed from the model */
  double cosine, score;
} cq_clir_word;

/* What a query becomes: *out [n], released with cq_free(); words of the query that the text lacks give nothing. */
CQ_API CQ_MUST_USE cq_status cq_clir_expand(cq_clir_word **out, size_t *n, const cq_clir_model *model, const char *from,
                                            const char *to, cq_slice query, const cq_clir_options *options,
                                            cq_error *error);

/* Searches for topics in another language: *out [n_topics, k], those not asked for without hits, released with cq_free().
 *   asked  [n_topics]; NULL: all
 * from and to the same: the monolingual run. Errors: CQ_ERR_ARGUMENT for idf or feedback with sums
 * of vectors. */
CQ_API CQ_MUST_USE cq_status cq_clir_search(cq_lexical_hit **out, const cq_clir *clir, const cq_clir_model *model,
                                            const char *from, const char *to, const bool *asked,
                                            const cq_clir_options *options, cq_context *ctx, cq_error *error);
/* Writes hits as a TREC run to a file; NULL or "-": standard output. Errors: CQ_ERR_ARGUMENT for an empty tag or one
 * with blanks; CQ_ERR_IO. */
CQ_API CQ_MUST_USE cq_status cq_clir_write_run(const char *run, const cq_clir *clir, const cq_lexical_hit *hits,
                                               size_t k, const char *tag, cq_error *error);
/* The mean average precision of hits over the topics asked for that have relevant documents. */
CQ_API double cq_clir_map(const cq_clir *clir, const char *to, const cq_lexical_hit *hits, size_t k, const bool *asked);

/* --- words that are written alike --- */

/* What is known of two languages by how their words are written: names, loans and cognates, found in what documents
 * of one topic have in common, with nothing said about the scripts. Three steps of feedback do the rest:
 *
 *   query ──▶ its likelihood in the documents, read through the table of words                            what a query becomes
 *   query ──▶ documents of its own language ──▶ a longer query, the same way; and documents like them     source feedback
 *   the best so far ──▶ a query in their language                                                         target feedback */
typedef struct cq_clir_cognates cq_clir_cognates;

typedef struct cq_cognate_options {
  double at, sharpness;   /* a pair of words of this log-odds counts half; how fast worse pairs of a word fall off */
  double mu;              /* of likelihoods read through the table */
  double mu_feedback;     /* of those within a language */
  double query_share;     /* of the query itself beside source feedback */
  double similar_share;   /* of documents like the source's, beside both */
  double first_share;     /* of all that beside target feedback */
  int n_source, n_target; /* documents fed back */
  int n_source_words, n_target_words; /* and words of them */
} cq_cognate_options;
CQ_API cq_cognate_options cq_cognate_default_options(void);

/* Learns from the documents of topics that are not held out; of the others only documents and queries in `from` are
 * looked at. Depends on nothing random. Errors: CQ_ERR_ARGUMENT for two times the same language; CQ_ERR_UNSUPPORTED
 * for scripts of more than 1,000 letters; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_clir_learn_cognates(cq_clir_cognates **out, const cq_clir *clir, const bool *held_out,
                                                    const char *from, const char *to, const cq_cognate_options *options,
                                                    cq_context *ctx, cq_error *error);
CQ_API void cq_clir_cognates_free(cq_clir_cognates *cognates);
/* Options of searching from now on; `at` and `sharpness`, which the table is made by, stay. Errors: CQ_ERR_ARGUMENT
 * for some out of range. */
CQ_API CQ_MUST_USE cq_status cq_clir_cognates_set(cq_clir_cognates *cognates, const cq_cognate_options *options,
                                                  cq_error *error);
/* How many words of a topic find their like in its documents more than in another's: about 0 where nothing was
 * learned. */
CQ_API double cq_clir_cognates_contrast(const cq_clir_cognates *cognates);
/* The entries of a query's words in the table, word after word, each's best first: *out [n], released with cq_free();
 * cosine and score are the entry. The query is analysed without stems. Errors: CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_clir_cognates_expand(cq_clir_word **out, size_t *n, const cq_clir_cognates *cognates,
                                                     cq_slice query, cq_error *error);
/* As cq_clir_search. */
CQ_API CQ_MUST_USE cq_status cq_clir_search_cognates(cq_lexical_hit **out, const cq_clir_cognates *cognates,
                                                     const bool *asked, size_t k, cq_context *ctx, cq_error *error);

/* --- cross-validation --- */

/* Topics in groups that stay together: by number, `group` of them a group as cq_topic_group has it (four topics an
 * article); with group 1 by their order. Group g is in fold g mod n. */
typedef struct cq_clir_folds {
  int n, group;
  double share; /* of the training groups that is learned from, for learning curves: quarters; 0: all */
} cq_clir_folds;
CQ_API cq_clir_folds cq_clir_default_folds(void); /* five of groups of one */

/* *out [n_topics]: those of a fold, from 0 on; released with cq_free(). Errors: CQ_ERR_ARGUMENT for a fold without
 * topics, or a topic that is no number where groups are asked for; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_clir_fold_topics(bool **out, const cq_clir *clir, const cq_clir_folds *folds, int fold,
                                                 cq_error *error);

/* What to choose among on the training folds. */
typedef struct cq_clir_grid {
  const int *kappas, *windows, *taus;
  size_t n_kappas, n_windows, n_taus;
} cq_clir_grid;

typedef struct cq_clir_fold {
  int kappa, window, tau;                   /* chosen */
  double map_chosen, map_tested;            /* NaN: not measured, for want of a choice or of relevant documents */
  double seconds_before, seconds_retrieval; /* text and vectors; all queries of the fold */
  double contrast;                          /* of cognates, and the shares that were chosen */
  double query_share, similar_share, first_share;
} cq_clir_fold;

/* For each fold the grid's best is chosen by validation on the next fold, which is held out with it, then vectors are
 * trained on all topics but the fold's and these are searched for.
 *   folds  [n_folds], NULL: not wanted
 *   hits   [n_topics, k] of all topics, each by the model of its fold
 * Trainings of the grid run side by side, each by one thread, so that results depend on the seed alone. */
CQ_API CQ_MUST_USE cq_status cq_clir_validate(cq_lexical_hit **hits, cq_clir_fold *folds, const cq_clir *clir,
                                              const char *from, const char *to, const cq_clir_folds *how,
                                              const cq_clir_grid *grid, const cq_clir_options *options, cq_context *ctx,
                                              cq_error *error);

/* The same by words that are written alike. How the query, documents like the source's and target feedback are
 * weighed is chosen for each fold by validation on all the others in turn, unless options say it or there are only
 * two; folds have what was chosen, their MAP and times. */
CQ_API CQ_MUST_USE cq_status cq_clir_validate_cognates(cq_lexical_hit **hits, cq_clir_fold *folds, const cq_clir *clir,
                                                       const char *from, const char *to, const cq_clir_folds *how,
                                                       const cq_cognate_options *options, size_t k, cq_context *ctx,
                                                       cq_error *error);

#ifdef __cplusplus
}
#endif
#endif
