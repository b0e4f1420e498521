/* Copies of libc's variables for static libraries in a shared one (scripts/make-wheel).
 *
 * Debian's static libraries were compiled for programs, which have libc's variables at a distance known when they are
 * linked. A shared library has not, so that the linker refuses it. In the wheel they read these instead. The time zone is
 * that of the moment the library is loaded: calque asks for none. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

extern char **environ;

/* Hidden: then their distance is known as well. */
#pragma GCC visibility push(hidden)
FILE *cq_wheel_stdin, *cq_wheel_stdout, *cq_wheel_stderr;
char *cq_wheel_tzname[2];
long cq_wheel_timezone;
extern __typeof__(cq_wheel_timezone) cq_wheel___timezone __attribute__((alias("cq_wheel_timezone")));
char **cq_wheel_environ;
extern __typeof__(cq_wheel_environ) cq_wheel___environ __attribute__((alias("cq_wheel_environ")));

/* What glibc 2.28 has not: libstdc++ asks whether there is one thread alone, others for random numbers. */
char __libc_single_threaded;

void arc4random_buf(void *out, size_t n) {
  for (unsigned char *p = out; n > 0;) {
    const ssize_t got = getrandom(p, n < 256 ? n : 256, 0);
    if (got <= 0) continue; /* interrupted */
    p += got, n -= (size_t)got;
  }
}

uint32_t arc4random(void) {
  uint32_t out;
  arc4random_buf(&out, sizeof out);
  return out;
}
#pragma GCC visibility pop

/* Before the constructors of C++. */
__attribute__((constructor(101))) static void copy_variables(void) {
  tzset();
  cq_wheel_stdin = stdin, cq_wheel_stdout = stdout, cq_wheel_stderr = stderr;
  cq_wheel_tzname[0] = tzname[0], cq_wheel_tzname[1] = tzname[1], cq_wheel_timezone = timezone;
  cq_wheel_environ = environ;
}
