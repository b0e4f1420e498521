/* XXH3 hashes, using the processor's best instruction set. See hash.h for their purpose. */
#include "base/hash.h"

#include "base/hash_xxh3.h"

#include <stdio.h>

static const cq_xxh3 *xxh3(void) {
#ifdef CQ_XXH3_AVX2
  if (__builtin_cpu_supports("avx2")) return &cq_xxh3_avx2;
#endif
  return &cq_xxh3_baseline;
}

uint64_t cq_hash64(const void *bytes, size_t n, uint64_t seed) {
  return xxh3()->hash64(bytes, n, seed);
}

uint64_t cq_check64(const void *bytes, size_t n, uint64_t number) {
  return xxh3()->hash64(bytes, n, 0) + number;
}

cq_identity cq_hash128(const void *bytes, size_t n) {
  return xxh3()->hash128(bytes, n);
}

cq_identity cq_hash128_add(cq_identity before, const void *bytes, size_t n) {
  const cq_identity both[2] = {before, cq_hash128(bytes, n)};
  return cq_hash128(both, sizeof both);
}

bool cq_identity_equal(cq_identity a, cq_identity b) {
  return a.low == b.low && a.high == b.high;
}

void cq_identity_hex(char out[CQ_IDENTITY_HEX], cq_identity identity) {
  snprintf(out, CQ_IDENTITY_HEX, "%016llx%016llx", (unsigned long long)identity.high, (unsigned long long)identity.low);
}
