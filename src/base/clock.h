/* Time between two moments. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC: elapsed time; CLOCK_PROCESS_CPUTIME_ID: CPU time of all threads. Only differences are meaningful. */
static inline double cq_seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* CLOCK_MONOTONIC in microseconds. */
static inline uint64_t cq_now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}
static inline uint64_t cq_now_ms(void) {
  return cq_now_us() / 1000;
}

#endif
