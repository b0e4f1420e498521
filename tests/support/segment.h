/* The checks of a segment of a lexical index, made to fit bytes that a test has changed. */
#ifndef SUPPORT_SEGMENT_H
#define SUPPORT_SEGMENT_H

#include "base/hash.h"
#include "lexical/segment.h"

#include <string.h>

/* Recomputes the checks of the terms' postings and of all before them, if the header is valid enough to find them. */
static void put_checks_right(unsigned char *bytes, size_t n) {
  uint64_t n_terms, records, postings; /* as in the header: after the magic, four numbers on, and the last part's */
  memcpy(&n_terms, bytes + 16, 8);
  memcpy(&records, bytes + 32 + 5 * 8, 8);
  memcpy(&postings, bytes + 32 + 6 * 8, 8);
  if (postings > n - 8) return;
  if (records <= n && n_terms < (n - records) / sizeof(cq_term_record))
    for (uint64_t t = 0; t < n_terms; t++) {
      cq_term_record r[2];
      memcpy(r, bytes + records + t * sizeof *r, sizeof r);
      if (r[0].at > r[1].at || r[1].at > n - 8 - postings) break;
      r->check = (uint32_t)cq_check64(bytes + postings + r[0].at, (size_t)(r[1].at - r[0].at), t);
      memcpy(bytes + records + t * sizeof *r, r, sizeof *r);
    }
  const uint64_t check = cq_check64(bytes, (size_t)postings, 0);
  memcpy(bytes + n - 8, &check, sizeof check);
}

#endif
