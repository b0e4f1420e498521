#include "base/hash.h"

#include <stdio.h>
#include <xxhash.h>
#ifdef CQ_XXHASH_DISPATCH /* from here on XXH3_... are the ones for this processor */
#include <xxh_x86dispatch.h>
#endif

uint64_t cq_hash64(const void *bytes, size_t n, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, n, seed);
}

uint64_t cq_check64(const void *bytes, size_t n, uint64_t number) {
  return XXH3_64bits(bytes, n) + number;
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
