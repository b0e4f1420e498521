/* Sentences as tokens, and how near each token is to the nearest one of another sentence, by the model's token
 * embeddings. Source: the greedy matching of BERTScore (Zhang et al. 2020, section 3), without running the layers. */
#ifndef RECIPE_MINE_TOKEN_MATCH_H
#define RECIPE_MINE_TOKEN_MATCH_H

#include "model/encoder.h"

enum { CQ_MATCH_MAX_TOKENS = 512 }; /* later tokens of a sentence are not matched */

/* A token's weight is its IDF among these sentences, log(n / sentences with it). */
typedef struct cq_text_tokens {
  int32_t *ids;
  size_t *starts; /* [n + 1] */
  float *weights; /* [vocab] */
} cq_text_tokens;

/* Errors: those of tokenizing; CQ_ERR_MEMORY. Release with cq_text_tokens_free, even after an error. */
CQ_MUST_USE cq_status cq_text_tokens_read(cq_text_tokens *out, const cq_slice *texts, size_t n,
                                          const cq_encoder *encoder, cq_error *error);
void cq_text_tokens_free(cq_text_tokens *tokens);

/* Two sentences; each array has CQ_MATCH_MAX_TOKENS items a side. */
typedef struct cq_token_match {
  const cq_kernels *kernels;
  const cq_param *table;
  const int32_t *row_of; /* NULL: a token's row is its id */
  const int32_t *ids[2]; /* of the sentences last matched */
  size_t n[2];
  float *vectors[2], *best[2]; /* best: the cosine with the nearest token of the other side */
  uint32_t *nearest[2];        /* which that is, the first on a tie */
  int32_t *rows;
} cq_token_match;

/* False: out of memory. Release with cq_token_match_close, even then. */
bool cq_token_match_open(cq_token_match *out, const cq_encoder *encoder);
void cq_token_match_close(cq_token_match *match);
void cq_token_match_run(cq_token_match *match, const cq_text_tokens sides[2], size_t source, size_t target);

#endif
