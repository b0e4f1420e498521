/* Orders of numbers for qsort and bsearch, smallest first. */
#ifndef BASE_ORDER_H
#define BASE_ORDER_H

#include <stdint.h>

static inline int cq_order_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
static inline int cq_order_u32(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

#endif
