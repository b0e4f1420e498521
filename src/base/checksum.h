/* A fast 64-bit checksum for large data: against decay and for telling contents apart, not against an attacker. */
#ifndef BASE_CHECKSUM_H
#define BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* Stable across machines and versions: it is stored in files. Two seeds give two independent sums. A change confined to
 * one aligned word of eight bytes is always noticed, any other with probability 1 - 2^-64. */
uint64_t cq_checksum(const void *bytes, size_t n, uint64_t seed);

#endif
