/* XXH3 in the instruction sets that hash.c chooses from. All give the same bits. */
#ifndef BASE_HASH_XXH3_H
#define BASE_HASH_XXH3_H

#include "base/hash.h"

typedef struct cq_xxh3 {
  uint64_t (*hash64)(const void *bytes, size_t n, uint64_t seed);
  cq_identity (*hash128)(const void *bytes, size_t n);
} cq_xxh3;

extern const cq_xxh3 cq_xxh3_baseline, cq_xxh3_avx2;

#endif
