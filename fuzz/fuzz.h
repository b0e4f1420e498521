/* What a fuzz target needs: its bytes as a file, and a check that stays on. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);                                          \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

/* A path for this process's temporary file number i. */
enum { TEMPORARY_FILES = 3 };
static inline const char *temporary_file(unsigned i) {
  static char paths[TEMPORARY_FILES][64];
  if (!paths[i][0])
    snprintf(paths[i], sizeof paths[i], "%s/calque-fuzz-%ld-%u", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp",
             (long)getpid(), i);
  return paths[i];
}

static inline void remove_temporary_files(void) {
  for (unsigned i = 0; i < TEMPORARY_FILES; i++) unlink(temporary_file(i));
}

/* The input as a file: readers take paths. */
static inline const char *input_file(const uint8_t *data, size_t n) {
  static int is_registered;
  if (!is_registered) is_registered = !atexit(remove_temporary_files);
  FILE *f = fopen(temporary_file(0), "wb");
  CHECK(f && fwrite(data, 1, n, f) == n && fclose(f) == 0);
  return temporary_file(0);
}

#endif
