/* For programs that stop at the first error. */
#ifndef BENCH_MUST_H
#define BENCH_MUST_H

#include <stdio.h>
#include <stdlib.h>

static inline void die(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static inline void *must(void *p) {
  if (!p) die("out of memory");
  return p;
}

#endif
