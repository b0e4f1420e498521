/* Source: FIPS 180-4, sections 5 and 6. */
#include "base/sha.h"

#include <stdio.h>
#include <string.h>

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotated_left(uint32_t x, int by) {
  return (x << by) | (x >> (32 - by));
}

static uint32_t big_endian(const unsigned char *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* One round. It rotates the variables by renaming them; eight rounds restore the order. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                                                               \
  do {                                                                                                                 \
    const uint32_t s1 = rotated_left(e, 26) ^ rotated_left(e, 21) ^ rotated_left(e, 7);                                \
    const uint32_t s0 = rotated_left(a, 30) ^ rotated_left(a, 19) ^ rotated_left(a, 10);                               \
    const uint32_t t = h + s1 + (g ^ (e & (f ^ g))) + round_constants[i] + w[i];                                       \
    d += t, h = t + s0 + ((a & b) | (c & (a | b)));                                                                    \
  } while (0)

static void sha256_block(uint32_t state[8], const unsigned char *block) {
  uint32_t w[64], a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int i = 0; i < 16; i++) w[i] = big_endian(block + 4 * i);
  for (int i = 16; i < 64; i++) {
    const uint32_t x = w[i - 15], y = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (rotated_left(x, 25) ^ rotated_left(x, 14) ^ (x >> 3)) +
           (rotated_left(y, 15) ^ rotated_left(y, 13) ^ (y >> 10));
  }
  for (int i = 0; i < 64; i += 8) {
    ROUND(a, b, c, d, e, f, g, h, i);
    ROUND(h, a, b, c, d, e, f, g, i + 1);
    ROUND(g, h, a, b, c, d, e, f, i + 2);
    ROUND(f, g, h, a, b, c, d, e, i + 3);
    ROUND(e, f, g, h, a, b, c, d, i + 4);
    ROUND(d, e, f, g, h, a, b, c, i + 5);
    ROUND(c, d, e, f, g, h, a, b, i + 6);
    ROUND(b, c, d, e, f, g, h, a, i + 7);
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
  state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

static void sha1_block(uint32_t state[8], const unsigned char *block) {
  static const uint32_t constants[4] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
  uint32_t w[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
  for (int i = 0; i < 16; i++) w[i] = big_endian(block + 4 * i);
  for (int i = 16; i < 80; i++) w[i] = rotated_left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  for (int i = 0; i < 80; i++) {
    const uint32_t f = i < 20 ? (b & c) | (~b & d) : i < 40 || i >= 60 ? b ^ c ^ d : (b & c) | (b & d) | (c & d);
    const uint32_t t = rotated_left(a, 5) + f + e + constants[i / 20] + w[i];
    e = d, d = c, c = rotated_left(b, 30), b = a, a = t;
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

static void any_block(cq_sha *s, const unsigned char *block) {
  if (s->kind == CQ_SHA256)
    sha256_block(s->state, block);
  else
    sha1_block(s->state, block);
}

void cq_sha_begin(cq_sha *s, cq_sha_kind kind) {
  static const uint32_t starts[2][8] = {
      {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0},
      {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
  *s = (cq_sha){.kind = kind};
  memcpy(s->state, starts[kind], sizeof s->state);
}

void cq_sha_add(cq_sha *s, const void *bytes, size_t n) {
  const unsigned char *p = bytes;
  while (n) {
    const size_t used = (size_t)(s->n % 64), step = n < 64 - used ? n : 64 - used;
    if (step == 64) {
      any_block(s, p);
    } else {
      memcpy(s->block + used, p, step);
      if (used + step == 64) any_block(s, s->block);
    }
    s->n += step, p += step, n -= step;
  }
}

void cq_sha_hex(char out[CQ_SHA_HEX], cq_sha *s) {
  static const unsigned char padding[64] = {0x80};
  const uint64_t n_bits = 8 * s->n;
  unsigned char length[8];
  for (int i = 0; i < 8; i++) length[i] = (unsigned char)(n_bits >> (56 - 8 * i));
  cq_sha_add(s, padding, 1 + (size_t)((119 - s->n % 64) % 64));
  cq_sha_add(s, length, sizeof length);
  const int n_words = s->kind == CQ_SHA256 ? 8 : 5;
  for (int i = 0; i < n_words; i++) snprintf(out + 8 * i, 9, "%08x", s->state[i]);
}
