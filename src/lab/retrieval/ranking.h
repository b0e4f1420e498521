/* The measures of one topic's ranking, computed like trec_eval 9. */
#ifndef LAB_RETRIEVAL_RANKING_H
#define LAB_RETRIEVAL_RANKING_H

#include <stddef.h>
#include <stdint.h>

/* The input of the measures. A document is relevant from relevance 1 on; a negative relevance means not judged. */
typedef struct cq_ranking {
  const int32_t *relevance; /* [n] relevance of the documents, best first; negative: not judged */
  size_t n;
  const int32_t *judged; /* [n_judged] relevance of all judged documents, highest first, none negative */
  size_t n_judged;
} cq_ranking;

size_t cq_ranking_n_relevant(const cq_ranking *r);                 /* in all */
size_t cq_ranking_n_retrieved(const cq_ranking *r, size_t cutoff); /* relevant ones among the first `cutoff` */
double cq_ranking_average_precision(const cq_ranking *r);          /* Buckley & Voorhees 2000 */
double cq_ranking_r_precision(const cq_ranking *r);                /* precision at as many as are relevant */
double cq_ranking_bpref(const cq_ranking *r);                      /* Buckley & Voorhees 2004 */
double cq_ranking_reciprocal_rank(const cq_ranking *r);            /* of the first relevant one; 0: none */
double cq_ranking_precision(const cq_ranking *r, size_t cutoff);   /* of `cutoff`, however few there are */
double cq_ranking_recall(const cq_ranking *r, size_t cutoff);      /* 0 where none is relevant */
/* Gain: relevance; discount: log2(rank + 1); divided by the best possible value (Järvelin & Kekäläinen 2002). cutoff 0:
 * all. */
double cq_ranking_ndcg(const cq_ranking *r, size_t cutoff);

#endif
