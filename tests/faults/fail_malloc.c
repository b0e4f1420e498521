/* Makes one allocation of a whole process fail, whichever library asks for it: to be preloaded.
 *
 *   LD_PRELOAD=fail_malloc.so FAIL_AT=123 PROGRAM ...         the 123rd fails
 *   LD_PRELOAD=fail_malloc.so FAIL_FROM=123 PROGRAM ...       the 123rd and all after it fail
 *   LD_PRELOAD=fail_malloc.so FAIL_COUNT=FILE PROGRAM ...     FILE gets the number of allocations at the exit
 *
 * Allocations before main are not counted, nor are those of libraries whose path has one of the words of FAIL_EXCEPT in it
 * (separated by colons): what such a library does when memory is short is not ours to mend. `word=20` excepts only the
 * first 20 allocations of such a library, while it sets itself up. What libstdc++ allocates counts as its caller's. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t n);
void *__libc_memalign(size_t alignment, size_t n);

static atomic_long n_allocations;
static long fail_at = -1; /* -1: not counting yet */
static bool fail_all;     /* those after it, too */
static char except[256];
static char *excepted[16];
static atomic_long first_of[16]; /* how many more are excepted */
static size_t n_excepted;

__attribute__((constructor)) static void begin(void) {
  const char *text = getenv("FAIL_FROM");
  fail_all = text != NULL;
  if (!text) text = getenv("FAIL_AT");
  const char *list = getenv("FAIL_EXCEPT");
  if (list) snprintf(except, sizeof except, "%s", list);
  for (char *word = strtok(except, ":"); word && n_excepted < 16; word = strtok(NULL, ":")) {
    excepted[n_excepted] = word;
    char *number = strchr(word, '=');
    atomic_store(&first_of[n_excepted++], number ? atol(number + 1) : LONG_MAX);
    if (number) *number = '\0';
  }
  void *frame;
  backtrace(&frame, 1); /* which allocates, the first time */
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

/* The path of the library that has this address, or NULL. dladdr looks for the function, too, which takes long: what it
 * said is kept. */
static const char *library_of(void *address) {
  enum { PLACES = 1 << 14 };
  static struct {
    _Atomic(void *) address;
    _Atomic(const char *) path;
  } kept[PLACES];
  const size_t at = ((uintptr_t)address * 0x9E3779B97F4A7C15u) >> 50;
  void *none = NULL;
  Dl_info info;
  const char *path = atomic_load(&kept[at].path);
  if (path && atomic_load(&kept[at].address) == address) return path;
  path = dladdr(address, &info) ? info.dli_fname : NULL;
  if (path && atomic_compare_exchange_strong(&kept[at].address, &none, address)) atomic_store(&kept[at].path, path);
  return path;
}

/* The first library below libstdc++ that the allocation is for. */
static const char *find_caller(void *caller) {
  void *frames[24];
  const char *path = library_of(caller);
  if (!path || !strstr(path, "libstdc++")) return path;
  const int n = backtrace(frames, 24);
  bool is_below = false;
  for (int i = 0; i < n; i++) {
    is_below = is_below || frames[i] == caller;
    if (is_below && (path = library_of(frames[i])) && !strstr(path, "libstdc++")) return path;
  }
  return NULL;
}

static bool is_excepted(void *caller) {
  const char *path = n_excepted > 0 ? find_caller(caller) : NULL;
  if (!path) return false;
  for (size_t i = 0; i < n_excepted; i++)
    if (strstr(path, excepted[i]) && atomic_fetch_sub(&first_of[i], 1) > 0) return true;
  return false;
}

static bool fails(void *caller) {
  const bool is_past = fail_at > 0 && !fail_all && atomic_load(&n_allocations) >= fail_at; /* nothing fails any more */
  if (fail_at < 0 || is_past || is_excepted(caller)) return false;
  const long n = atomic_fetch_add(&n_allocations, 1) + 1;
  if (n != fail_at && !(fail_all && fail_at > 0 && n > fail_at)) return false;
  errno = ENOMEM;
  return true;
}

#define FAILS fails(__builtin_return_address(0))

void *malloc(size_t n) {
  return FAILS ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
  return FAILS ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t n) {
  return FAILS ? NULL : __libc_realloc(old, n);
}

void *aligned_alloc(size_t alignment, size_t n) {
  return FAILS ? NULL : __libc_memalign(alignment, n);
}

int posix_memalign(void **out, size_t alignment, size_t n) {
  void *p = FAILS ? NULL : __libc_memalign(alignment, n);
  if (!p) return ENOMEM;
  *out = p;
  return 0;
}
