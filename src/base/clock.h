/* Seconds between two moments. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <time.h>

/* CLOCK_MONOTONIC: of the world; CLOCK_PROCESS_CPUTIME_ID: of all threads' work. Only differences mean something. */
static inline double cq_seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
