/* Decodes DELTA_BINARY_PACKED: blocks of miniblocks, each bit-packed with its own width. See parquet_delta.h. */
#include "format/parquet_delta.h"

/* Writers use blocks of 128 values. */
enum { MAX_BLOCK = 1 << 16 };

static bool read_zigzag(uint64_t *out, const unsigned char **p, const unsigned char *end) {
  uint64_t x;
  if (!cq_varint(&x, p, end)) return false;
  *out = x >> 1 ^ (~(x & 1) + 1);
  return true;
}

bool cq_delta_start(cq_delta *d, const unsigned char *bytes, size_t n) {
  uint64_t block, minis;
  *d = (cq_delta){.p = bytes, .end = bytes + n, .is_first = true};
  if (!cq_varint(&block, &d->p, d->end) || !cq_varint(&minis, &d->p, d->end) || !cq_varint(&d->n_left, &d->p, d->end) ||
      !read_zigzag(&d->value, &d->p, d->end))
    return false;
  if (block == 0 || block > MAX_BLOCK || minis == 0 || block % minis != 0 || block / minis % 8 != 0) return false;
  d->minis = d->mini = (size_t)minis;
  d->n_mini = (size_t)(block / minis);
  return true;
}

/* A block's head: the lowest difference, the widths. */
static bool start_block(cq_delta *d) {
  if (!read_zigzag(&d->lowest, &d->p, d->end) || (size_t)(d->end - d->p) < d->minis) return false;
  d->widths = d->p;
  d->p += d->minis;
  d->mini = 0;
  return true;
}

/* Whether the miniblock exists, with a valid width. */
static bool has_miniblock(const cq_delta *d) {
  return d->widths && d->widths[d->mini] <= 64 && (size_t)(d->end - d->p) >= d->widths[d->mini] * d->n_mini / 8;
}

static uint64_t bits_at(const unsigned char *p, size_t bit, unsigned width) {
  uint64_t x = 0;
  unsigned shift = (unsigned)(bit % 8);
  p += bit / 8;
  for (unsigned got = 0; got < width; got += 8 - shift, shift = 0) x |= (uint64_t)(*p++ >> shift) << got;
  return width < 64 ? x & (((uint64_t)1 << width) - 1) : x;
}

bool cq_delta_next(int64_t *out, cq_delta *d) {
  if (d->n_left == 0) return false;
  if (!d->is_first) {
    if (d->n_in_mini == 0) {
      if (d->widths && d->mini < d->minis) { /* past the previous miniblock */
        d->p += d->widths[d->mini] * d->n_mini / 8;
        d->mini++;
      }
      if (d->mini == d->minis && !start_block(d)) return false;
      if (!has_miniblock(d)) return false;
      d->n_in_mini = d->n_mini;
      d->bit = 0;
    }
    const unsigned width = d->widths[d->mini];
    d->value += d->lowest + bits_at(d->p, d->bit, width); /* wraps around, as the format says */
    d->bit += width;
    d->n_in_mini--;
  }
  d->is_first = false;
  d->n_left--;
  *out = (int64_t)d->value;
  return true;
}

const unsigned char *cq_delta_end(const cq_delta *start) {
  cq_delta d = *start;
  uint64_t n = d.n_left > 0 ? d.n_left - 1 : 0; /* the first is in the header */
  while (n > 0) {
    if (!start_block(&d)) return NULL;
    for (; d.mini < d.minis && n > 0; d.mini++) {
      if (!has_miniblock(&d)) return NULL;
      d.p += d.widths[d.mini] * d.n_mini / 8;
      n -= n < d.n_mini ? n : d.n_mini;
    }
  }
  return d.p;
}
