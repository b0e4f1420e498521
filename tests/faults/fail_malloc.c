/* Makes one allocation of a whole process fail, whichever library asks for it: to be preloaded.
 *
 *   LD_PRELOAD=fail_malloc.so FAIL_AT=123 PROGRAM ...         the 123rd fails
 *   LD_PRELOAD=fail_malloc.so FAIL_COUNT=FILE PROGRAM ...     FILE gets the number of allocations at the exit
 *
 * Allocations before main, the dynamic loader's and the C++ runtime's, are not counted. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

static atomic_long n_allocations;
static long fail_at = -1; /* -1: not counting yet */

__attribute__((constructor)) static void begin(void) {
  const char *text = getenv("FAIL_AT");
  fail_at = text ? atol(text) : 0;
}

__attribute__((destructor)) static void end(void) {
  const char *path = getenv("FAIL_COUNT");
  const long n = atomic_load(&n_allocations);
  fail_at = -1;
  if (!path) return;
  char text[32];
  const int length = snprintf(text, sizeof text, "%ld\n", n);
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd < 0 || write(fd, text, (size_t)length) != length) _exit(99);
  close(fd);
}

static bool fails(void) {
  if (fail_at < 0 || atomic_fetch_add(&n_allocations, 1) + 1 != fail_at) return false;
  errno = ENOMEM;
  return true;
}

void *malloc(size_t n) {
  return fails() ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
  return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t n) {
  return fails() ? NULL : __libc_realloc(old, n);
}

void *aligned_alloc(size_t alignment, size_t n) {
  return fails() ? NULL : __libc_memalign(alignment, n);
}

int posix_memalign(void **out, size_t alignment, size_t n) {
  void *p = fails() ? NULL : __libc_memalign(alignment, n);
  if (!p) return ENOMEM;
  *out = p;
  return 0;
}
