/* What the sources of evidence share while they look at a file's rows. */
#ifndef RECIPE_SCORE_GATHERING_H
#define RECIPE_SCORE_GATHERING_H

#include "base/map.h"
#include "base/order.h"
#include "recipe/score/evidence.h"

#include <stdlib.h>

/* A file of few rows says little about its own cosines and lengths: as many rows as these count for the usual ones. */
#define CQ_PRIOR_ROWS 20.0
enum { CQ_ROWS_AT_ONCE = 64 };

typedef struct cq_row_word {
  uint32_t id; /* among the distinct ones */
  bool is_name;
} cq_row_word;

typedef struct cq_row_words {
  cq_row_word *items;
  size_t *starts; /* [n + 1] */
  size_t n, capacity;
} cq_row_words;

/* The rows of each stem on one side. */
typedef struct cq_postings {
  size_t *starts; /* [n_stems + 1] */
  uint32_t *rows;
} cq_postings;

typedef struct cq_gathering {
  const cq_score_texts *texts;
  const cq_cached_encoder *store;
  cq_score_file *file;
  double *out;
  float *shifted;
  cq_row_words sides[2];
  cq_map ids, stems;            /* word -> id; its first letters -> stem */
  cq_slice *distinct, *spelled; /* spelled: in small Latin letters */
  uint32_t *stem_of;            /* [n_distinct] */
  size_t n_distinct, distinct_capacity;
  cq_postings postings[2];
  cq_slice *pieces[2];  /* [n] the longer side's beginning, and the rest */
  uint32_t *records[5]; /* of the vectors of the two sides, of the pieces, of the distinct words */
  double *surplus; /* [n] the log of the ratio of lengths above the usual one: below 0, the target is the longer side */
  double *null_mean; /* [n] of a row's two sides with others */
  cq_arena arena;
} cq_gathering;

static inline double *cq_evidence_row(const cq_gathering *g, size_t i) {
  return g->out + i * CQ_N_EVIDENCE;
}

static inline size_t cq_n_row_words(const cq_gathering *g, int side, size_t i) {
  return g->sides[side].starts[i + 1] - g->sides[side].starts[i];
}

/* The side that is longer than usual beside the other. */
static inline int cq_longer_side(const cq_gathering *g, size_t i) {
  return g->surplus[i] < 0;
}

/* Sorts the values. */
static inline double cq_quantile(double *values, size_t n, double share) {
  if (n) qsort(values, n, sizeof *values, cq_order_doubles);
  return n ? values[(size_t)((double)(n - 1) * share)] : 0;
}

/* words.c: reads the words, then indexes their stems. */
CQ_MUST_USE cq_status cq_gather_words(cq_gathering *g, cq_error *error);
/* How often a source's stem and a target's are in one row, of how often they occur: Dice's coefficient without row i. */
double cq_linked(const cq_gathering *g, uint32_t source, uint32_t target, size_t i);
/* How alike two words are spelled: 1 less the share of letters that differ; 0 if they begin otherwise. */
double cq_spelled_alike(const cq_gathering *g, uint32_t a, uint32_t b);

/* The evidence of surface.c, which needs words; neighbors.c; matches.c, which needs vectors of words and surpluses. */
CQ_MUST_USE cq_status cq_gather_surface(cq_gathering *g, cq_context *ctx, cq_error *error);
CQ_MUST_USE cq_status cq_gather_neighbors(cq_gathering *g, cq_error *error);
CQ_MUST_USE cq_status cq_gather_matches(cq_gathering *g, cq_context *ctx, cq_error *error);

#endif
