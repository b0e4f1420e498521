/* Gives zlib our allocator, which tests can make fail: stream.zalloc = cq_zlib_alloc, stream.zfree = cq_zlib_free. */
#ifndef BASE_ZLIB_MEMORY_H
#define BASE_ZLIB_MEMORY_H

#include "base/memory.h"

static inline void *cq_zlib_alloc(void *opaque, unsigned n, unsigned size) {
  (void)opaque;
  return cq_alloc_array(n, size);
}

static inline void cq_zlib_free(void *opaque, void *p) {
  (void)opaque;
  cq_free(p);
}

#endif
