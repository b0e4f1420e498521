/* Rotary position embeddings: dimensions i and i + half of a head are a pair, turned by position times the pair's
 * frequency. Source: Su et al. 2021, in the halved layout of GPT-NeoX. */
#ifndef NN_ROTARY_H
#define NN_ROTARY_H

#include <stdint.h>

typedef struct cq_rotary {
  float *inverse; /* [half] angle a position */
  int64_t half;   /* of head_dim */
  float factor;   /* of cosines and sines; usually 1 */
} cq_rotary;

/* table [n, 2 half]: cosines and sines of positions 0 to n - 1. */
void cq_rotary_table(float *table, const cq_rotary *rotary, int64_t n);
/* Turns n_heads heads that lie side by side, in place; table: the position's row. */
void cq_rotary_turn(float *heads, const float *table, int64_t n_heads, int64_t half);

#endif
