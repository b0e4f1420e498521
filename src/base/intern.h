/* Gives equal byte strings one number: 0, 1, 2 ... in order of first occurrence. */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include "base/map.h"
#include "base/slice.h"

#include <stdint.h>

typedef struct cq_intern {
  cq_slice *items; /* [n] the string of each number */
  uint32_t n;
  size_t capacity;
  cq_map ids;
} cq_intern;

#define CQ_INTERN_NONE UINT32_MAX

/* The number of a string; a new string gets a new one. CQ_INTERN_NONE when out of memory or numbers. */
uint32_t cq_intern_put(cq_intern *intern, cq_slice text);
/* The number of a known string; CQ_INTERN_NONE for an unknown one. */
uint32_t cq_intern_find(const cq_intern *intern, cq_slice text);
void cq_intern_free(cq_intern *intern);

#endif
