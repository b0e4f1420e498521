/* Computes the measures of one topic's ranking like trec_eval 9. See ranking.h. */
#include "lab/retrieval/ranking.h"

#include "base/memory.h"

#include <math.h>
#include <stdbool.h>

static double ratio_of(double a, size_t b) {
  return b ? a / (double)b : 0;
}

size_t cq_ranking_n_relevant(const cq_ranking *r) {
  size_t n = 0;
  while (n < r->n_judged && r->judged[n] >= 1) n++;
  return n;
}

size_t cq_ranking_n_retrieved(const cq_ranking *r, size_t cutoff) {
  size_t n = 0;
  for (size_t i = 0; i < cq_min(r->n, cutoff); i++) n += r->relevance[i] >= 1;
  return n;
}

double cq_ranking_average_precision(const cq_ranking *r) {
  double sum = 0;
  size_t n_found = 0;
  for (size_t i = 0; i < r->n; i++)
    if (r->relevance[i] >= 1) sum += (double)++n_found / (double)(i + 1);
  return ratio_of(sum, cq_ranking_n_relevant(r));
}

double cq_ranking_r_precision(const cq_ranking *r) {
  const size_t n_relevant = cq_ranking_n_relevant(r);
  return ratio_of((double)cq_ranking_n_retrieved(r, n_relevant), n_relevant);
}

double cq_ranking_bpref(const cq_ranking *r) {
  const size_t n_relevant = cq_ranking_n_relevant(r), n_others = r->n_judged - n_relevant;
  double sum = 0;
  size_t n_before = 0; /* judged ones that are not relevant, so far */
  for (size_t i = 0; i < r->n; i++) {
    if (r->relevance[i] < 0) continue;
    if (r->relevance[i] == 0)
      n_before++;
    else
      sum += n_before ? 1 - (double)cq_min(n_before, n_relevant) / (double)cq_min(n_others, n_relevant) : 1;
  }
  return ratio_of(sum, n_relevant);
}

double cq_ranking_reciprocal_rank(const cq_ranking *r) {
  for (size_t i = 0; i < r->n; i++)
    if (r->relevance[i] >= 1) return 1 / (double)(i + 1);
  return 0;
}

double cq_ranking_precision(const cq_ranking *r, size_t cutoff) {
  return ratio_of((double)cq_ranking_n_retrieved(r, cutoff), cutoff);
}

double cq_ranking_recall(const cq_ranking *r, size_t cutoff) {
  return ratio_of((double)cq_ranking_n_retrieved(r, cutoff), cq_ranking_n_relevant(r));
}

static double discounted_gain(const int32_t *relevance, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    if (relevance[i] > 0) sum += relevance[i] / log2((double)i + 2);
  return sum;
}

double cq_ranking_ndcg(const cq_ranking *r, size_t cutoff) {
  const bool all = cutoff == 0;
  const double best = discounted_gain(r->judged, all ? r->n_judged : cq_min(r->n_judged, cutoff));
  return best > 0 ? discounted_gain(r->relevance, all ? r->n : cq_min(r->n, cutoff)) / best : 0;
}
