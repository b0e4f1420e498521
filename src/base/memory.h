/* Allocation. All of calque's own allocations use these functions, so that tests can make the n-th one fail.
 *
 * cq_alloc_array and friends check n * size for overflow and return NULL on it; memory is 64-byte aligned (a cache line
 * and an AVX-512 register). Release with cq_free. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include "calque/status.h" /* cq_free */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CQ_ALIGNMENT 64

void *cq_alloc(size_t n_bytes); /* uninitialized; NULL on failure; for 0 bytes, a unique pointer */
void *cq_alloc_zeroed(size_t n_bytes);
void *cq_alloc_array(size_t n, size_t size); /* uninitialized */
void *cq_alloc_array_zeroed(size_t n, size_t size);
void *cq_alloc_small(size_t n_bytes); /* with malloc's alignment: for libraries that allocate small pieces */
void *cq_realloc_small(void *p, size_t n_bytes);
char *cq_strdup(const char *text);
char *cq_strndup(const char *text, size_t n);

/* Returns the whole pages within n bytes of an allocation to the system: they read as zeros until written to again. The
 * rest of the first and last page is kept. */
void cq_release_pages(void *bytes, size_t n);

/* Makes room for one more element in a growing array; false on failure (the array is unchanged).
 *   if (!cq_reserve((void **)&items, &capacity, n + 1, sizeof *items)) ... */
bool cq_reserve(void **array, size_t *capacity, size_t needed, size_t element_size);

/* True if n_bytes could be allocated at this moment. Call it, with a rough estimate, before calling a library that
 * crashes when out of memory. */
bool cq_has_room(size_t n_bytes);

/* *out = a * b or a + b; false on overflow. For sizes from untrusted bytes. */
bool cq_checked_mul(size_t *out, size_t a, size_t b);
bool cq_checked_add(size_t *out, size_t a, size_t b);

/* The size of a buffer or a block. Fuzzing builds use small ones, so that short inputs reach the ends and use few
 * pages. */
#ifdef CQ_FUZZING
#define CQ_BUFFER_BYTES(n) ((size_t)(n) / 64)
#else
#define CQ_BUFFER_BYTES(n) ((size_t)(n))
#endif

static inline size_t cq_min(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Test hook: the n-th allocation from now (1-based) fails, once; 0 switches off. */
void cq_alloc_fail_at(long n);
/* True when the allocation armed by cq_alloc_fail_at has failed. */
bool cq_alloc_failed(void);

#endif
