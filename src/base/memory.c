/* Allocation that fails on demand in tests, and growth of arrays. See memory.h. */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic long fail_countdown;
static _Atomic bool has_failed;

void cq_alloc_fail_at(long n) {
  atomic_store(&has_failed, false);
  atomic_store(&fail_countdown, n);
}

bool cq_alloc_failed(void) {
  return atomic_load(&has_failed);
}

static bool must_fail(void) {
  if (atomic_load_explicit(&fail_countdown, memory_order_relaxed) <= 0) return false;
  if (atomic_fetch_sub(&fail_countdown, 1) != 1) return false;
  atomic_store(&has_failed, true);
  return true;
}

bool cq_checked_mul(size_t *out, size_t a, size_t b) {
  return !__builtin_mul_overflow(a, b, out);
}

bool cq_checked_add(size_t *out, size_t a, size_t b) {
  return !__builtin_add_overflow(a, b, out);
}

void *cq_alloc(size_t n_bytes) {
  size_t rounded;
  if (must_fail() || !cq_checked_add(&rounded, n_bytes ? n_bytes : 1, CQ_ALIGNMENT - 1)) return NULL;
  return aligned_alloc(CQ_ALIGNMENT, rounded & ~(size_t)(CQ_ALIGNMENT - 1));
}

void *cq_alloc_small(size_t n_bytes) {
  return must_fail() ? NULL : malloc(n_bytes ? n_bytes : 1);
}

void *cq_realloc_small(void *p, size_t n_bytes) {
  return must_fail() ? NULL : realloc(p, n_bytes ? n_bytes : 1);
}

bool cq_has_room(size_t n_bytes) {
  void *volatile p = cq_alloc(n_bytes); /* volatile: a compiler may remove an unused allocation */
  free(p);
  return p != NULL;
}

/* The whole pages within an allocation: from *first to *last; *last is before *first if there is none. */
static void whole_pages(char **first, char **last, void *bytes, size_t n) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)bytes;
  *first = (char *)bytes + (page - begin % page) % page;
  *last = (char *)bytes + n - (begin + n) % page;
}

void cq_release_pages(void *bytes, size_t n) {
  char *first, *last;
  whole_pages(&first, &last, bytes, n);
  /* If the system refuses, they are only zeroed. */
  if (n > 0 && first < last && madvise(first, (size_t)(last - first), MADV_DONTNEED))
    memset(first, 0, (size_t)(last - first));
}

enum { LARGE = 1 << 20 };

/* Also zeroes the bytes before and after the whole pages. The pages themselves take memory only once written to. */
static void zero_pages(char *bytes, size_t n) {
  char *first, *last;
  whole_pages(&first, &last, bytes, n);
  memset(bytes, 0, (size_t)(first - bytes));
  memset(last, 0, (size_t)(bytes + n - last));
  cq_release_pages(bytes, n);
}

void *cq_alloc_zeroed(size_t n_bytes) {
  char *p = cq_alloc(n_bytes);
  if (p && n_bytes < LARGE) memset(p, 0, n_bytes);
  if (p && n_bytes >= LARGE) zero_pages(p, n_bytes);
  return p;
}

void *cq_alloc_array(size_t n, size_t size) {
  size_t n_bytes;
  return cq_checked_mul(&n_bytes, n, size) ? cq_alloc(n_bytes) : NULL;
}

void *cq_alloc_array_zeroed(size_t n, size_t size) {
  size_t n_bytes;
  return cq_checked_mul(&n_bytes, n, size) ? cq_alloc_zeroed(n_bytes) : NULL;
}

bool cq_reserve(void **array, size_t *capacity, size_t needed, size_t element_size) {
  if (needed <= *capacity) return true;
  size_t wanted = *capacity ? *capacity : 16;
  while (wanted < needed) {
    if (!cq_checked_mul(&wanted, wanted, 2)) return false;
  }
  void *p = cq_alloc_array(wanted, element_size);
  if (!p) return false;
  if (*array) memcpy(p, *array, *capacity * element_size);
  free(*array);
  *array = p;
  *capacity = wanted;
  return true;
}

char *cq_strndup(const char *text, size_t n) {
  char *copy = cq_alloc(n + 1);
  if (!copy) return NULL;
  if (n) memcpy(copy, text, n);
  copy[n] = '\0';
  return copy;
}

char *cq_strdup(const char *text) {
  return cq_strndup(text, strlen(text));
}

void cq_free(void *p) {
  free(p);
}
