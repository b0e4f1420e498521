/* A borrowed run of bytes: how text is handed to calque. It need not be zero-terminated.
 * Threads: a borrowed run may be read by any number of threads as long as nobody changes it. */
#ifndef CALQUE_SLICE_H
#define CALQUE_SLICE_H

#include <stddef.h>

typedef struct cq_slice {
  const char *data;
  size_t n;
} cq_slice;

#endif
