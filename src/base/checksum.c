/* Four lanes take every fourth word of eight bytes, so that four multiplications are under way at once:
 *
 *   lane = rotate(lane ^ word, 29) * PRIME       a bijection of the word, so that a changed word changes the lane
 *
 * The last block is filled with zeros; the length goes into the end, so that the filling is no ambiguity. The rotation
 * brings the highest bits, which a product spreads nowhere, down to where the next product spreads them. */
#include "base/checksum.h"

#include "base/random.h"

#include <string.h>

#define PRIME 0x9fb21c651e98df25u /* odd, about half of its bits set */

static uint64_t rotate(uint64_t x, int n) {
  return x << n | x >> (64 - n);
}

static void add_block(uint64_t lanes[4], const unsigned char *p) {
  uint64_t words[4];
  memcpy(words, p, sizeof words);
  for (int i = 0; i < 4; i++) lanes[i] = rotate(lanes[i] ^ words[i], 29) * PRIME;
}

uint64_t cq_checksum(const void *bytes, size_t n, uint64_t seed) {
  const unsigned char *p = bytes;
  uint64_t lanes[4];
  size_t left = n;
  for (unsigned i = 0; i < 4; i++) lanes[i] = cq_mix(seed + i + 1);
  for (; left >= 32; left -= 32, p += 32) add_block(lanes, p);
  if (left) {
    unsigned char last[32] = {0};
    memcpy(last, p, left);
    add_block(lanes, last);
  }
  uint64_t sum = cq_mix(seed ^ (uint64_t)n * PRIME);
  for (int i = 0; i < 4; i++) sum = cq_mix(rotate(sum, 23) ^ lanes[i]);
  return sum;
}
