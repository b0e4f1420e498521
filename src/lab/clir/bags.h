/* Documents as weighted bags of words, few enough to be compared one by one; feedback is computed from them. */
#ifndef LAB_CLIR_BAGS_H
#define LAB_CLIR_BAGS_H

#include "calque/status.h"
#include "lab/clir/shuffle.h"

typedef struct cq_weighted_word {
  uint32_t word;
  float weight;
} cq_weighted_word;

typedef struct cq_bags {
  uint32_t n, n_words;
  size_t *starts; /* [n + 1] into items */
  cq_weighted_word *items;
  double *lengths; /* [n] sums of weights */
  double *masses;  /* [n_words] the same by word */
  double *idf;     /* [n_words] log((n + 1) / (in how many + 1/2)) */
  double mass;     /* of all */
} cq_bags;

/* The word counts of each document. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_bags_open(cq_bags *out, const cq_word_run *documents, size_t n, uint32_t n_words,
                                   cq_error *error);
void cq_bags_close(cq_bags *bags);

/* Translations of words, by source word: entries [starts[s] .. starts[s + 1]) are (target, weight). */
typedef struct cq_word_table {
  uint32_t n_sources, n_targets;
  size_t *starts; /* [n_sources + 1] */
  cq_weighted_word *items;
} cq_word_table;
void cq_word_table_free(cq_word_table *table);
/* The mean of n tables of the same words; missing entries count as 0. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_word_table_mean(cq_word_table *out, const cq_word_table *tables, size_t n, cq_error *error);

/* Composes a to b and b to c: an entry is the maximum product over b; entries of at most min_entry are dropped. Errors:
 * CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_word_table_through(cq_word_table *out, const cq_word_table *ab, const cq_word_table *bc,
                                            float min_entry, cq_error *error);

/* Projects bags to the table's source words: adds each word's weight, times the entry, to its sources. */
CQ_MUST_USE cq_status cq_bags_project(cq_bags *out, const cq_bags *targets, const cq_word_table *table,
                                      cq_error *error);

/* The log2 likelihood of a query, [n_words] weights, in each bag, smoothed by a Dirichlet prior; every word of the
 * query that occurs in any bag counts in all bags. scores [n]. Source: Zhai & Lafferty 2004, eq. 6. */
void cq_bags_likelihood(double *scores, const cq_bags *bags, const double *query, double mu);

/* A query from pseudo-relevant bags with weights [n]: the top m words by share of the bags times idf, normalized to sum
 * to one. allowed [n_words]: NULL, or above 0 for allowed words. Errors: CQ_ERR_MEMORY. Source: Lavrenko & Croft 2001
 * (RM1). */
CQ_MUST_USE cq_status cq_bags_feedback(double *query, const cq_bags *bags, const double *weights, size_t m,
                                       const double *allowed, cq_error *error);

/* Adds to sums [b->n] `weight` times the squared cosine of one bag of a with each bag of b, over log(1 + weight) idf.
 * Both have the same words; idf [n_words]. */
void cq_bags_add_similar(double *sums, const cq_bags *a, uint32_t bag, const cq_bags *b, const double *idf,
                         double weight, double *scratch);

/* weights [n]: for the top k scores, proportional to 2^score or to 1 / rank, summing to one; 0 for the others. Ties go
 * to the first. */
typedef enum cq_weighting { CQ_BY_LIKELIHOOD, CQ_BY_RANK } cq_weighting;
CQ_MUST_USE cq_status cq_top_weights(double *weights, const double *scores, size_t n, size_t k, cq_weighting how,
                                     cq_error *error);

/* Standardizes scores: mean 0, standard deviation 1. */
void cq_standardize(double *scores, size_t n);

#endif
