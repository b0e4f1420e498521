/* Reading tests/golden/eval/: arrays in NumPy's format and named numbers. Any failure ends the test. */
#ifndef TESTS_EVAL_GOLDEN_H
#define TESTS_EVAL_GOLDEN_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* |got - expected| <= tolerance; NaN fails. */
#define assert_near(got, expected, tolerance)                                                                          \
  do {                                                                                                                 \
    double got_ = (got), expected_ = (expected);                                                                       \
    if (!(fabs(got_ - expected_) <= (tolerance))) fail_msg("%.17g, expected %.17g", got_, expected_);                  \
  } while (0)

#define GOLDEN CQ_TESTS_DIR "/golden/eval/"

/* The bytes after the header of an .npy file of version 1, as written by reference/golden_eval.py; release with
 * free(). */
static inline void *golden_array(const char *name, size_t expected_bytes) {
  char path[1024];
  unsigned char header[10];
  snprintf(path, sizeof path, GOLDEN "%s.npy", name);
  FILE *file = fopen(path, "rb");
  if (!file) fail_msg("%s: cannot open", path);
  assert_int_equal(fread(header, 1, sizeof header, file), sizeof header);
  assert_memory_equal(header, "\x93NUMPY\x01", 7);
  assert_int_equal(fseek(file, header[8] + 256 * header[9], SEEK_CUR), 0);
  char *bytes = malloc(expected_bytes + 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, expected_bytes + 1, file), expected_bytes);
  fclose(file);
  return bytes;
}

static inline double golden_number(const char *wanted) {
  char name[128];
  double value;
  FILE *file = fopen(GOLDEN "numbers.txt", "r");
  assert_non_null(file);
  while (fscanf(file, "%127s %lf", name, &value) == 2)
    if (strcmp(name, wanted) == 0) {
      fclose(file);
      return value;
    }
  fail_msg("numbers.txt has no %s", wanted);
  return 0;
}

#endif
