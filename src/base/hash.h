/* Hashes of bytes: XXH3, the same on every machine. They detect damage and identify contents; they do not
 * protect against deliberate collisions. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 64 bits, for tables in memory. */
uint64_t cq_hash64(const void *bytes, size_t n, uint64_t seed);

/* A 64-bit checksum of the part of a file with this number: XXH3 without a seed (a seed would slow down long contents),
 * plus the number, so that swapped parts are noticed. */
uint64_t cq_check64(const void *bytes, size_t n, uint64_t number);

/* 128 bits, for contents identified by their hash alone: with 2^50 contents, a collision has probability 2^-29. */
typedef struct cq_identity {
  uint64_t low, high;
} cq_identity;

enum { CQ_IDENTITY_HEX = 33 }; /* 32 digits and the end */

cq_identity cq_hash128(const void *bytes, size_t n);
/* The identity after another part is appended. The boundaries between parts matter. */
cq_identity cq_hash128_add(cq_identity before, const void *bytes, size_t n);
bool cq_identity_equal(cq_identity a, cq_identity b);
void cq_identity_hex(char out[CQ_IDENTITY_HEX], cq_identity identity); /* as xxhsum -H128 prints it */

#endif
