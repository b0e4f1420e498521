/* A growing array of 32-bit numbers; starts from {0}. */
#ifndef BASE_U32_ARRAY_H
#define BASE_U32_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cq_u32_array {
  uint32_t *items;
  size_t n, capacity;
} cq_u32_array;

bool cq_u32_array_append(cq_u32_array *ids, const uint32_t *items, size_t n); /* false: out of memory */
void cq_u32_array_free(cq_u32_array *ids);

#endif
