/* What a row's two sides say about whether they are translations: numbers that a small network weighs (score_model.h).
 * Most are relative to the file itself: cosines to those of shifted rows, lengths and order to the usual ones. */
#ifndef RECIPE_SCORE_EVIDENCE_H
#define RECIPE_SCORE_EVIDENCE_H

#include "calque/score.h"
#include "recipe/encode/cached_encoder.h"

typedef enum cq_evidence {
  CQ_E_COSINE,       /* of the sides, in deviations above that of shifted rows */
  CQ_E_LENGTH,       /* how far the log of the ratio of lengths is from the usual one, in deviations */
  CQ_E_SHORTNESS,    /* 1 / (1 + words of the shorter side) */
  CQ_E_NUMBERS_BOTH, /* log(1 + numbers that the other side lacks): the side that lacks fewer */
  CQ_E_NUMBERS_ONE,  /* the same: what the other side lacks more */
  CQ_E_LANGUAGE,     /* the probability that a side is in another language than most: the higher one */
  CQ_E_UNTRANSLATED, /* the probability that a half of a side is in the other side's language */
  CQ_E_COPIED,       /* the longest run of words on both sides, as a share of the shorter side's letters */
  CQ_E_COPY,         /* 1: the sides are the same letters */
  CQ_E_REPEATED,     /* log of the number of different other sides that a side has in the file */
  CQ_E_COVERED,      /* how well the tokens of a side match the other's, above that of shifted rows: the lower one */
  CQ_E_COVERED_PART, /* the same of the third of a side with the lowest */
  CQ_E_WORDS,        /* the same as covered, by the vectors of words */
  CQ_E_WORDS_PART,   /* the same of the third of a side with the lowest */
  CQ_E_NAMES_SOURCE, /* how much less than usual the source's least matching name does, in deviations */
  CQ_E_NAMES_TARGET, /* the same of the target */
  CQ_E_NAMES,        /* the lower one of the two */
  CQ_E_UNMATCHED_SOURCE, /* how much less than usual the source's word that lacks most is matched */
  CQ_E_UNMATCHED_TARGET, /* the same of the target */
  CQ_E_UNLINKED_SOURCE,  /* how much less than usual the source's word that lacks most is linked (words.c) */
  CQ_E_UNLINKED_TARGET,  /* the same of the target */
  CQ_E_UNLINKED,         /* the mean of a side's words; the higher one */
  CQ_E_UNLINKED_TAIL,    /* the mean of the last third's words of the side that is longer than usual */
  CQ_E_TAIL,             /* how much better that side's words match before its last third */
  CQ_E_ORDER,            /* log-likelihood ratio of the order of words that match: the usual one or none */
  CQ_E_ADJACENT,         /* how many more words that match follow each other on both sides than by chance */
  CQ_E_NEIGHBORS,        /* log-likelihood ratio of a side's words: of pairs of neighbors or alone; the lower one */
  CQ_E_MARKS,            /* the same of pairs with a mark, or with the beginning */
  CQ_E_END,              /* the same of a side's end after its last word; the lower one */
  CQ_E_MARK,             /* a final mark of the side longer than usual alone: 1; of the other alone: -1 */
  CQ_E_CUT,  /* by how much the cosine grows if the longer side is cut to the other's length, in deviations */
  CQ_E_REST, /* the cosine of what is cut off, in deviations above that of shifted rows */
  CQ_N_EVIDENCE
} cq_evidence;
extern const char *const cq_evidence_names[CQ_N_EVIDENCE + 1]; /* ends with NULL */

typedef struct cq_score_texts {
  const cq_slice *sides[2]; /* [n] */
  size_t n;
} cq_score_texts;

/* What is the same for all rows. */
typedef struct cq_score_file {
  const char *languages[2]; /* of most rows, or as chosen; NULL: not known */
  double null_mean, null_deviation;
} cq_score_file;

/* out [n, CQ_N_EVIDENCE]; shifted [n, 2 * CQ_MAX_SHIFT + 1]: a source's cosine with the target so many rows later, in
 * deviations above that of shifted rows. Errors: those of encoding; CQ_ERR_MEMORY. */
enum { CQ_MAX_SHIFT = 8 };
CQ_MUST_USE cq_status cq_score_evidence(double *out, float *shifted, cq_score_file *file, const cq_score_texts *texts,
                                        cq_cached_encoder *store, cq_cached_progress progress, void *context,
                                        cq_context *ctx, cq_error *error);

#endif
