/* SplitMix64 and the draws built on it: bounded integers, uniform and normal numbers, shuffles. */
#include "base/random.h"

#include <math.h>

cq_random cq_random_seeded(uint64_t seed, uint64_t item) {
  return (cq_random){cq_mix(seed + 0x9e3779b97f4a7c15u) ^ cq_mix(item * 0xd1342543de82ef95u + 1)};
}

uint64_t cq_random_u64(cq_random *r) {
  r->state += 0x9e3779b97f4a7c15u;
  return cq_mix(r->state);
}

uint64_t cq_random_below(cq_random *r, uint64_t bound) {
  uint64_t limit = UINT64_MAX - UINT64_MAX % bound, x;
  do x = cq_random_u64(r);
  while (x >= limit);
  return x % bound;
}

double cq_random_uniform(cq_random *r) {
  return (double)(cq_random_u64(r) >> 11) * 0x1p-53;
}

double cq_random_normal(cq_random *r) {
  double u = 1.0 - cq_random_uniform(r), v = cq_random_uniform(r); /* u in (0, 1]: the logarithm is finite */
  return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

void cq_random_shuffle(cq_random *r, uint32_t *items, size_t n) {
  for (size_t i = n; i > 1; i--) {
    size_t j = (size_t)cq_random_below(r, i);
    uint32_t swapped = items[i - 1];
    items[i - 1] = items[j];
    items[j] = swapped;
  }
}
