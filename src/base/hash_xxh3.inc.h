/* XXH3 from xxHash's header, compiled for one instruction set. The file that includes this one names the table. */
#define XXH_INLINE_ALL
#include "base/hash_xxh3.h"

#include <xxhash.h>

static uint64_t xxh3_64(const void *bytes, size_t n, uint64_t seed) {
  return seed ? XXH3_64bits_withSeed(bytes, n, seed) : XXH3_64bits(bytes, n);
}

static cq_identity xxh3_128(const void *bytes, size_t n) {
  const XXH128_hash_t hash = XXH3_128bits(bytes, n);
  return (cq_identity){hash.low64, hash.high64};
}

const cq_xxh3 CQ_XXH3_TABLE = {xxh3_64, xxh3_128};
