/* Parquet's DELTA_BINARY_PACKED: integers as differences from the previous value, in blocks of miniblocks.
 *
 *   values per block, miniblocks per block, total values (varints), the first value (zigzag)
 *   block: the lowest difference (zigzag), width of each miniblock in bits (a byte each), the miniblocks that are needed
 *   miniblock: differences minus the lowest, bit-packed, padded */
#ifndef FORMAT_PARQUET_DELTA_H
#define FORMAT_PARQUET_DELTA_H

#include "format/parquet_runs.h"

typedef struct cq_delta {
  const unsigned char *p, *end;
  uint64_t n_left;      /* values to come */
  size_t n_mini, minis; /* values of a miniblock, miniblocks of a block */
  uint64_t value, lowest;
  bool is_first;
  const unsigned char *widths; /* of the block's miniblocks */
  size_t mini, n_in_mini;      /* the current miniblock, and how many of its values are left */
  size_t bit;                  /* of the miniblock, which begins at p */
} cq_delta;

/* False: no such header. */
bool cq_delta_start(cq_delta *d, const unsigned char *bytes, size_t n);
/* False: no more values, or the bytes end too early. */
bool cq_delta_next(int64_t *out, cq_delta *d);
/* The first byte after the values, for a decoder that was just started; NULL: the bytes end too early. */
const unsigned char *cq_delta_end(const cq_delta *d);

#endif
