/* Random numbers. A generator is an argument; a generator seeded by (seed, item) gives an item the same numbers in any
 * thread. Source: Steele, Lea & Flood 2014 (SplitMix64). */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

typedef struct cq_random {
  uint64_t state;
} cq_random;

/* A bijective mix of 64 bits: SplitMix64's finalizer. */
static inline uint64_t cq_mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

cq_random cq_random_seeded(uint64_t seed, uint64_t item);
uint64_t cq_random_u64(cq_random *r);
uint64_t cq_random_below(cq_random *r, uint64_t bound); /* uniform in [0, bound), without bias; bound > 0 */
double cq_random_uniform(cq_random *r);                 /* [0, 1) with 53 bits */
double cq_random_normal(cq_random *r);                  /* mean 0, variance 1 */
void cq_random_shuffle(cq_random *r, uint32_t *items, size_t n);

#endif
