#include "base/hash.h"

#include <stdio.h>
#include <xxhash.h>

uint64_t cq_hash64(const void *bytes, size_t n, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, n, seed);
}

cq_identity cq_hash128(const void *bytes, size_t n) {
  const XXH128_hash_t hash = XXH3_128bits(bytes, n);
  return (cq_identity){hash.low64, hash.high64};
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
