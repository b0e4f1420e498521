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

/* The first library below libstdc++ that the allocation is for. */
static bool find_caller(Dl_info *info, void *caller) {
  void *frames[24];
  if (!dladdr(caller, info) || !info->dli_fname) return false;
  if (!strstr(info->dli_fname, "libstdc++")) return true;
  const int n = backtrace(frames, 24);
  bool is_below = false;
  for (int i = 0; i < n; i++) {
    is_below = is_below || frames[i] == caller;
    if (is_below && dladdr(frames[i], info) && info->dli_fname && !strstr(info->dli_fname, "libstdc++")) return true;
  }
  return false;
}

static bool is_excepted(void *caller) {
  Dl_info info;
  if (n_excepted == 0 || !find_caller(&info, caller)) return false;
  for (size_t i = 0; i < n_excepted; i++)
    if (strstr(info.dli_fname, excepted[i]) && atomic_fetch_sub(&first_of[i], 1) > 0) return true;
  return false;
}

static bool fails(void *caller) {
  if (fail_at < 0 || is_excepted(caller)) return false;
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
