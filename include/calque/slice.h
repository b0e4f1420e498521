/** @file A borrowed string of n bytes, the type for passing text to calque. It need not be zero-terminated. @threads
 * May be read by any number of threads while no thread changes it. */
#ifndef CALQUE_SLICE_H
#define CALQUE_SLICE_H

#include <stddef.h>

typedef struct cq_slice {
  const char *data;
  size_t n;
} cq_slice;

#endif
