/* The hashes that identify the hub's files: SHA-256 for large files, git's SHA-1 for small ones.
 *
 *   cq_sha s;
 *   cq_sha_begin(&s, CQ_SHA256);
 *   cq_sha_add(&s, bytes, n);                         // again and again
 *   char hex[CQ_SHA_HEX];
 *   cq_sha_hex(hex, &s);                              // ends it */
#ifndef BASE_SHA_H
#define BASE_SHA_H

#include <stddef.h>
#include <stdint.h>

typedef enum cq_sha_kind { CQ_SHA1, CQ_SHA256 } cq_sha_kind;

enum { CQ_SHA_HEX = 65 }; /* at most 64 digits and the end */

typedef struct cq_sha {
  cq_sha_kind kind;
  uint32_t state[8];
  uint64_t n; /* bytes so far */
  unsigned char block[64];
} cq_sha;

void cq_sha_begin(cq_sha *s, cq_sha_kind kind);
void cq_sha_add(cq_sha *s, const void *bytes, size_t n);
void cq_sha_hex(char out[CQ_SHA_HEX], cq_sha *s);

#endif
