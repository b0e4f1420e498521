/* The score of a term in a document, for every model; see calque/lexical.h for the formulas. */
#ifndef LEXICAL_SCORE_H
#define LEXICAL_SCORE_H

#include "calque/lexical.h"

typedef struct cq_collection_counts {
  double n_documents, n_occurrences;
} cq_collection_counts;

extern const cq_option_group cq_group_lexical;
extern const char *const cq_lexical_model_names[]; /* by cq_lexical_model, ends with NULL */

/* A model with its parameters, on a collection. */
typedef struct cq_scoring {
  cq_lexical_model model;
  double mu, k1, b;
  cq_collection_counts counts;
  double *by_length; /* [n_lengths] the part of a score that depends on the document's length */
  uint32_t n_lengths;
} cq_scoring;

/* max_length: the length of the longest document. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_scoring_open(cq_scoring *out, const cq_lexical_options *options, cq_collection_counts counts,
                                      uint32_t max_length, cq_error *error);
void cq_scoring_free(cq_scoring *scoring);

enum { CQ_TABLED = 32 }; /* frequencies below are looked up */

/* One term of a query. */
typedef struct cq_term_scoring {
  const cq_scoring *of;
  double weight;
  double factor; /* Dirichlet: 1 / (mu p); BM25: the idf part */
  double by_frequency[CQ_TABLED];
} cq_term_scoring;
void cq_term_scoring_set(cq_term_scoring *out, const cq_scoring *scoring, double weight, uint64_t n_documents,
                         uint64_t n_occurrences);

/* The weighted score, a multiple of 2^-32. */
double cq_term_score(const cq_term_scoring *t, uint32_t frequency, uint32_t length);
/* accumulators[document - first] += the score, for n postings. */
void cq_term_score_add(double *accumulators, uint32_t first, const cq_term_scoring *t, const uint32_t *documents,
                       const uint32_t *frequencies, const uint32_t *lengths, size_t n);

/* Sums are exact below this. */
#define CQ_MAX_SCORE  1048576.0
#define CQ_SCORE_UNIT (1.0 / 4294967296.0)

#endif
