/* Finds the source tokens that a target token translates: a lexical alignment of parallel text.
 *
 *   cq_aligner *a;
 *   cq_aligner_new(&a, n_source_ids, n_target_ids, &err);
 *   cq_aligner_add(a, source, n, target, m, 1, &err);       // each pair of sentences, as ids
 *   cq_aligner_run(a, 5, &err);
 *   n = cq_aligner_links(a, id, links, 16);               // a target token's best source tokens, weights adding to 1
 *
 * IBM model 1 in both directions at once, with a prior for the diagonal (similar positions in both sentences),
 * and the product of the two as weight: a source token counts if each is a likely translation of the other, which
 * excludes function words. Source: Brown et al. 1993; the diagonal from Dyer, Chahuneau & Smith 2013, with a fixed
 * tension.
 *
 * Memory is bounded by the pairs of ids that occur together at least twice; pairs seen once are left out as
 * uninformative, unless the sentences are short: a dictionary's word and its translation are conclusive. Sums are in
 * the order of the sentences, so the result is deterministic. */
#ifndef TRAIN_ALIGN_H
#define TRAIN_ALIGN_H

#include "calque/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct cq_aligner cq_aligner;

typedef struct cq_link {
  int32_t source;
  float weight;
} cq_link;

CQ_MUST_USE cq_status cq_aligner_new(cq_aligner **out, int64_t n_source, int64_t n_target, cq_error *error);
void cq_aligner_free(cq_aligner *a);
/* As if the pair had been added `weight` times. Sentences of more than 128 tokens on either side are left out. */
CQ_MUST_USE cq_status cq_aligner_add(cq_aligner *a, const int32_t *source, size_t n, const int32_t *target, size_t m,
                                     int weight, cq_error *error);
CQ_MUST_USE cq_status cq_aligner_run(cq_aligner *a, int n_iterations, cq_error *error);
/* Fills links with at most max source tokens, heaviest first; returns their number, 0 for a token without any. After
 * run. */
size_t cq_aligner_links(const cq_aligner *a, int32_t target, cq_link *links, size_t max);
/* How often a target token occurred, by weight. */
uint64_t cq_aligner_count(const cq_aligner *a, int32_t target);

#endif
