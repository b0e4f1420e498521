/* Decodes the hybrid of run lengths and bit-packed numbers. See parquet_runs.h. */
#include "format/parquet_runs.h"

bool cq_varint(uint64_t *out, const unsigned char **p, const unsigned char *end) {
  *out = 0;
  for (unsigned shift = 0; shift < 64 && *p < end; shift += 7) {
    const unsigned byte = *(*p)++;
    *out |= (uint64_t)(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

void cq_runs_start(cq_runs *r, const unsigned char *bytes, size_t n, unsigned width) {
  *r = (cq_runs){.p = bytes, .end = bytes + n, .width = width};
  if (width == 0) r->n_same = UINT64_MAX;
}

static void unpack_eight(uint32_t out[8], const unsigned char *p, unsigned width) {
  uint64_t bits = 0;
  unsigned n = 0;
  for (int i = 0; i < 8; i++) {
    for (; n < width; n += 8) bits |= (uint64_t)*p++ << n;
    out[i] = (uint32_t)(bits & (((uint64_t)1 << width) - 1));
    bits >>= width;
    n -= width;
  }
}

bool cq_runs_refill(cq_runs *r) {
  while (r->n_packs == 0) {
    uint64_t header;
    if (!cq_varint(&header, &r->p, r->end)) return false;
    r->n_packs = header & 1 ? header >> 1 : 0;
    if (header & 1) continue;
    const size_t n_bytes = (r->width + 7) / 8;
    if ((size_t)(r->end - r->p) < n_bytes) return false;
    r->same = 0;
    for (size_t i = 0; i < n_bytes; i++) r->same |= (uint32_t)*r->p++ << 8 * i;
    r->n_same = header >> 1;
    if (r->n_same) return true;
  }
  if ((size_t)(r->end - r->p) < r->width) return false;
  unpack_eight(r->pack, r->p, r->width);
  r->p += r->width;
  r->n_packs--;
  r->n_pack = 8;
  return true;
}
