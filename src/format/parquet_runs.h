/* Parquet's small numbers of a fixed width: levels, indices into a dictionary, booleans. A sequence of runs:
 *
 *   varint 2n       the value in whole bytes: n times this value            run length encoding (RLE)
 *   varint 2n + 1   n * 8 values of `width` bits, the lowest first          bit-packed */
#ifndef FORMAT_PARQUET_RUNS_H
#define FORMAT_PARQUET_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cq_runs {
  const unsigned char *p, *end;
  unsigned width; /* 0 to 32 bits; 0: every value is 0 and takes no bytes */
  uint64_t n_same, n_packs;
  uint32_t same, pack[8];
  unsigned n_pack; /* of pack, at its end: still to come */
} cq_runs;

/* A base-128 number of at most 64 bits; false: truncated or longer. */
bool cq_varint(uint64_t *out, const unsigned char **p, const unsigned char *end);

void cq_runs_start(cq_runs *r, const unsigned char *bytes, size_t n, unsigned width);
bool cq_runs_refill(cq_runs *r);

/* False: there are no more. */
static inline bool cq_runs_next(uint32_t *out, cq_runs *r) {
  if (r->n_same == 0 && r->n_pack == 0 && !cq_runs_refill(r)) return false;
  if (r->n_pack) {
    *out = r->pack[8 - r->n_pack--];
  } else {
    *out = r->same;
    r->n_same--;
  }
  return true;
}

#endif
