/* Compresses postings in blocks of 128, and reads them. Unpacks four values at once with the compiler's vector types.
 * See postings.h. */
#include "lexical/postings.h"

enum { LANES = 4, ROWS = CQ_BLOCK / LANES };

/* --- packing: value i is in lane i % 4, b bits at bit (i / 4) * b of the lane; 32-bit words of a lane are 4 apart
 * --- */

static int bits_for(uint32_t max) {
  return max ? 32 - __builtin_clz(max) : 0;
}

static void pack_block(uint32_t *words, const uint32_t *values, int bits) {
  memset(words, 0, (size_t)bits * LANES * sizeof *words);
  for (int row = 0; row < ROWS && bits; row++) {
    const int word = row * bits / 32, shift = row * bits % 32;
    for (int lane = 0; lane < LANES; lane++) {
      const uint32_t v = values[row * LANES + lane];
      words[word * LANES + lane] |= v << shift;
      if (shift + bits > 32) words[(word + 1) * LANES + lane] |= v >> (32 - shift);
    }
  }
}

typedef uint32_t four __attribute__((vector_size(16)));

/* With a constant `bits` the loop is straight-line code: a shift and a mask per row. */
static inline __attribute__((always_inline)) void unpack_bits(uint32_t *values, const unsigned char *bytes,
                                                              const int bits) {
  const four mask = (four){0} + (bits == 32 ? UINT32_MAX : (1u << bits) - 1);
#pragma GCC unroll 32
  for (int row = 0; row < ROWS; row++) {
    const int word = row * bits / 32, shift = row * bits % 32;
    four low, high;
    memcpy(&low, bytes + word * (int)sizeof low, sizeof low);
    low >>= shift;
    if (shift + bits > 32) {
      memcpy(&high, bytes + (word + 1) * (int)sizeof high, sizeof high);
      low |= high << (32 - shift);
    }
    low &= mask;
    memcpy(values + row * LANES, &low, sizeof low);
  }
}

#define UNPACK(bits)                                                                                                   \
  case bits: unpack_bits(values, bytes, bits); break;

static void unpack_block(uint32_t *values, const unsigned char *bytes, int bits) {
  switch (bits) {
  case 0:
    memset(values, 0, CQ_BLOCK * sizeof *values);
    break;
    UNPACK(1)
    UNPACK(2)
    UNPACK(3)
    UNPACK(4)
    UNPACK(5)
    UNPACK(6)
    UNPACK(7)
    UNPACK(8)
    UNPACK(9)
    UNPACK(10)
    UNPACK(11)
    UNPACK(12)
    UNPACK(13)
    UNPACK(14)
    UNPACK(15)
    UNPACK(16)
    UNPACK(17)
    UNPACK(18)
    UNPACK(19)
    UNPACK(20)
    UNPACK(21)
    UNPACK(22)
    UNPACK(23)
    UNPACK(24)
    UNPACK(25)
    UNPACK(26)
    UNPACK(27)
    UNPACK(28)
    UNPACK(29)
    UNPACK(30)
    UNPACK(31)
    UNPACK(32)
  }
}

static void put_varint(cq_builder *out, uint32_t v) {
  for (; v >= 0x80; v >>= 7) cq_builder_char(out, (char)(v | 0x80));
  cq_builder_char(out, (char)v);
}

static const unsigned char *get_varint(uint32_t *v, const unsigned char *at, const unsigned char *end) {
  *v = 0;
  for (int shift = 0; at < end && shift < 32; shift += 7) {
    const unsigned char byte = *at++;
    *v |= (uint32_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return at;
  }
  return NULL;
}

/* --- bounds --- */

static bool pair_covers(cq_bound_pair p, cq_bound_pair q) {
  return p.frequency >= q.frequency && p.length <= q.length;
}

void cq_bound_pairs_add(cq_bound_pair pairs[CQ_MAX_PAIRS], uint32_t frequency, uint32_t length) {
  cq_bound_pair kept[CQ_MAX_PAIRS + 1];
  const cq_bound_pair it = {frequency, length};
  int n = 0;
  for (int i = 0; i < CQ_MAX_PAIRS && pairs[i].frequency; i++) {
    if (pair_covers(pairs[i], it)) return;
    if (!pair_covers(it, pairs[i])) kept[n++] = pairs[i];
  }
  /* No pair dominates another, so lengths ascend with frequencies. */
  int at = n++;
  while (at > 0 && kept[at - 1].frequency > frequency) kept[at] = kept[at - 1], at--;
  kept[at] = it;
  if (n > CQ_MAX_PAIRS) {
    /* One pair too many: merges the two neighbors with the lowest frequencies, which matter least, into a pair that
     * bounds both. */
    kept[1].length = kept[0].length;
    memmove(kept, kept + 1, (size_t)--n * sizeof *kept);
  }
  for (int i = 0; i < CQ_MAX_PAIRS; i++) pairs[i] = i < n ? kept[i] : (cq_bound_pair){0, 0};
}

/* --- writing --- */

static void write_block(cq_builder *out, const cq_posting *postings, uint32_t next) {
  uint32_t gaps[CQ_BLOCK], frequencies[CQ_BLOCK], words[CQ_BLOCK], all_gaps = 0, all_frequencies = 0;
  for (int i = 0; i < CQ_BLOCK; i++) {
    gaps[i] = postings[i].document - next;
    frequencies[i] = postings[i].frequency - 1;
    next = postings[i].document + 1;
    all_gaps |= gaps[i], all_frequencies |= frequencies[i];
  }
  const int gap_bits = bits_for(all_gaps), frequency_bits = bits_for(all_frequencies);
  cq_builder_char(out, (char)gap_bits);
  cq_builder_char(out, (char)frequency_bits);
  pack_block(words, gaps, gap_bits);
  cq_builder_bytes(out, (const char *)words, (size_t)gap_bits * LANES * sizeof *words);
  pack_block(words, frequencies, frequency_bits);
  cq_builder_bytes(out, (const char *)words, (size_t)frequency_bits * LANES * sizeof *words);
}

void cq_postings_write(cq_builder *out, const cq_posting *postings, size_t n, const uint32_t *lengths) {
  const size_t n_full = n / CQ_BLOCK, entries = out->n;
  const cq_block_entry none = {0};
  uint32_t next = 0;
  for (size_t b = 0; b < n_full; b++) cq_builder_bytes(out, (const char *)&none, sizeof none);
  const size_t blocks = out->n;
  for (size_t b = 0; b < n_full && !out->failed; b++) {
    const cq_posting *p = postings + b * CQ_BLOCK;
    cq_block_entry entry = {.last = p[CQ_BLOCK - 1].document, .at = (uint32_t)(out->n - blocks)};
    if (out->n - blocks > UINT32_MAX) out->failed = true;
    for (int i = 0; i < CQ_BLOCK; i++) cq_bound_pairs_add(entry.pairs, p[i].frequency, lengths[p[i].document]);
    write_block(out, p, next);
    if (!out->failed) memcpy(out->data + entries + b * sizeof entry, &entry, sizeof entry);
    next = entry.last + 1;
  }
  for (size_t i = n_full * CQ_BLOCK; i < n; i++) {
    put_varint(out, postings[i].document - next);
    put_varint(out, postings[i].frequency - 1);
    next = postings[i].document + 1;
  }
}

/* --- reading --- */

bool cq_postings_open(cq_postings *out, const unsigned char *bytes, size_t n_bytes, uint32_t n) {
  const size_t n_full = n / CQ_BLOCK;
  if (n_full * sizeof(cq_block_entry) > n_bytes) return false;
  *out = (cq_postings){bytes, bytes + n_full * sizeof(cq_block_entry), bytes + n_bytes, n, (uint32_t)n_full};
  return true;
}

cq_block_entry cq_postings_entry(const cq_postings *p, uint32_t block) {
  cq_block_entry entry;
  memcpy(&entry, p->entries + block * sizeof entry, sizeof entry);
  return entry;
}

/* The start of the bytes after the full blocks; NULL: the entries are invalid. */
static const unsigned char *block_at(int *gap_bits, int *frequency_bits, const cq_postings *p, size_t at) {
  const size_t n = (size_t)(p->end - p->bytes);
  if (at + 2 > n) return NULL;
  *gap_bits = p->bytes[at], *frequency_bits = p->bytes[at + 1];
  const size_t packed = (size_t)(*gap_bits + *frequency_bits) * LANES * sizeof(uint32_t);
  return *gap_bits <= 32 && *frequency_bits <= 32 && packed <= n - at - 2 ? p->bytes + at + 2 : NULL;
}

static uint32_t rest_of_block(uint32_t *documents, uint32_t *frequencies, const cq_postings *p) {
  const unsigned char *at = p->bytes;
  uint32_t next = 0;
  if (p->n_full) {
    const cq_block_entry last = cq_postings_entry(p, p->n_full - 1);
    int gap_bits, frequency_bits;
    at = block_at(&gap_bits, &frequency_bits, p, last.at);
    if (!at) return 0;
    at += (size_t)(gap_bits + frequency_bits) * LANES * sizeof(uint32_t);
    next = last.last + 1;
  }
  const uint32_t n = p->n % CQ_BLOCK;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t gap, frequency;
    if (!(at = get_varint(&gap, at, p->end)) || !(at = get_varint(&frequency, at, p->end))) return i;
    documents[i] = next + gap;
    frequencies[i] = frequency + 1;
    next = documents[i] + 1;
  }
  return n;
}

uint32_t cq_postings_block(uint32_t documents[CQ_BLOCK], uint32_t frequencies[CQ_BLOCK], const cq_postings *p,
                           uint32_t block) {
  if (block >= p->n_full) return rest_of_block(documents, frequencies, p);
  int gap_bits, frequency_bits;
  const unsigned char *at = block_at(&gap_bits, &frequency_bits, p, cq_postings_entry(p, block).at);
  if (!at) return 0;
  unpack_block(documents, at, gap_bits);
  unpack_block(frequencies, at + (size_t)gap_bits * LANES * sizeof(uint32_t), frequency_bits);
  uint32_t next = block ? cq_postings_entry(p, block - 1).last + 1 : 0;
  for (int i = 0; i < CQ_BLOCK; i++) {
    documents[i] += next;
    next = documents[i] + 1;
    frequencies[i]++;
  }
  return CQ_BLOCK;
}
