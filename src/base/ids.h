/* A growing run of numbers. */
#ifndef BASE_IDS_H
#define BASE_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct cq_ids {
  uint32_t *items;
  size_t n, capacity;
} cq_ids;

bool cq_ids_append(cq_ids *ids, const uint32_t *items, size_t n); /* false: out of memory */
void cq_ids_free(cq_ids *ids);

#endif
