/* Files for tests: a directory of its own for each test program, and whole files in and out of memory. */
#ifndef SUPPORT_FILES_H
#define SUPPORT_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char test_directory[256];

/* Group set-up: a fresh directory under $TMPDIR, else in memory where there is such a place. */
static inline int make_test_directory(void **state) {
  (void)state;
  const char *base = getenv("TMPDIR");
  snprintf(test_directory, sizeof test_directory, "%.200s/calque-test-XXXXXX",
           base && *base                   ? base
           : access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                           : "/tmp");
  return mkdtemp(test_directory) ? 0 : -1;
}

/* Group tear-down: removes it. */
static inline int remove_test_directory(void **state) {
  (void)state;
  char command[300];
  snprintf(command, sizeof command, "rm -rf '%s'", test_directory);
  return system(command);
}

/* A path in the test's directory; valid until the eighth call after this one. */
static inline const char *test_path(const char *name) {
  static char paths[8][400];
  static unsigned next;
  char *path = paths[next++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", test_directory, name);
  return path;
}

/* A file under the source tree's tests/. */
static inline const char *tests_file(const char *name) {
  static char path[1024];
  snprintf(path, sizeof path, "%s/%s", CQ_TESTS_DIR, name);
  return path;
}

static inline void write_bytes(const char *path, const void *bytes, size_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(bytes, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
}

static inline void write_text(const char *path, const char *text) {
  write_bytes(path, text, strlen(text));
}

/* The whole file, zero-terminated; release with free. */
static inline unsigned char *read_bytes(size_t *n, const char *path) {
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  assert_int_equal(fseek(f, 0, SEEK_END), 0);
  long size = ftell(f);
  assert_true(size >= 0);
  rewind(f);
  unsigned char *bytes = malloc((size_t)size + 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, (size_t)size, f), (size_t)size);
  bytes[size] = 0;
  fclose(f);
  *n = (size_t)size;
  return bytes;
}

/* How many entries the test's directory holds whose name contains a text ("" counts all). */
static inline size_t count_files(const char *containing) {
  size_t n = 0;
  DIR *dir = opendir(test_directory);
  assert_non_null(dir);
  for (struct dirent *e; (e = readdir(dir));) {
    if (e->d_name[0] != '.' && strstr(e->d_name, containing)) n++;
  }
  closedir(dir);
  return n;
}

#endif
