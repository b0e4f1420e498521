/* What a fuzz target needs: its bytes as files, and a check that stays on. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stdbool.h>
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

/* Readers take paths. The process has a directory of its own in memory, which goes when it ends; a name may have one
 * folder in it. Paths stay valid. */

/* The path of a name; "" is the directory's. */
const char *fuzz_path(const char *name);
/* Writes a file. It stays open, since making one anew takes longer than reading most of them; so what replaces a file
 * by renaming must be given another name. */
const char *fuzz_file(const char *name, const void *data, size_t n);
/* Removes it, if it is there. */
void fuzz_remove(const char *name);

/* The input as a file. */
static inline const char *input_file(const uint8_t *data, size_t n) {
  return fuzz_file("input", data, n);
}

/* Takes the part of *data [*n] up to a line of '=' off its front, all of it where there is none. */
typedef struct fuzz_part {
  const uint8_t *data;
  size_t n;
} fuzz_part;
fuzz_part fuzz_next_part(const uint8_t **data, size_t *n);

#endif
