/* Zip archives for tests: files are added, then the archive is written. */
#ifndef SUPPORT_ARCHIVE_H
#define SUPPORT_ARCHIVE_H

#include "support/files.h"

#include "base/slice.h"

#include <zlib.h>

typedef struct test_archive {
  cq_builder bytes, directory;
  unsigned n;
} test_archive;

static inline void put_number(cq_builder *out, size_t x, int n_bytes) {
  for (int i = 0; i < n_bytes; i++) cq_builder_char(out, (char)(x >> (8 * i) & 0xFF));
}

/* Compressed, unless is_stored. */
static inline void archive_add(test_archive *a, const char *name, const void *data, size_t n, bool is_stored) {
  const size_t at = a->bytes.n, bound = n + n / 100 + 100;
  unsigned char *packed = malloc(bound);
  z_stream z = {.next_in = (unsigned char *)(uintptr_t)data,
                .avail_in = (unsigned)n,
                .next_out = packed,
                .avail_out = (unsigned)bound};
  assert_non_null(packed);
  assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  const size_t n_packed = is_stored ? n : bound - z.avail_out;
  deflateEnd(&z);
  for (int is_directory = 0; is_directory < 2; is_directory++) {
    cq_builder *out = is_directory ? &a->directory : &a->bytes;
    cq_builder_bytes(out, is_directory ? "PK\1\2\24\0" : "PK\3\4", is_directory ? 6 : 4);
    put_number(out, 20, 2), put_number(out, 0, 2), put_number(out, is_stored ? 0 : 8, 2), put_number(out, 0, 4);
    put_number(out, crc32(0, data, (unsigned)n), 4), put_number(out, n_packed, 4), put_number(out, n, 4);
    put_number(out, strlen(name), 2), put_number(out, 0, 2);
    if (is_directory) put_number(out, 0, 8), put_number(out, 0, 2), put_number(out, at, 4);
    cq_builder_text(out, name);
  }
  cq_builder_bytes(&a->bytes, is_stored ? data : (const char *)packed, n_packed);
  free(packed);
  a->n++;
}

static inline void archive_text(test_archive *a, const char *name, const char *text) {
  archive_add(a, name, text, strlen(text), false);
}

/* Ends the archive; its bytes remain until it is released. */
static inline cq_slice archive_end(test_archive *a) {
  const size_t at = a->bytes.n;
  cq_builder_slice(&a->bytes, cq_built(&a->directory));
  cq_builder_bytes(&a->bytes, "PK\5\6\0\0\0\0", 8);
  put_number(&a->bytes, a->n, 2), put_number(&a->bytes, a->n, 2), put_number(&a->bytes, a->directory.n, 4);
  put_number(&a->bytes, at, 4), put_number(&a->bytes, 0, 2);
  return cq_built(&a->bytes);
}

static inline void archive_free(test_archive *a) {
  cq_builder_free(&a->bytes);
  cq_builder_free(&a->directory);
  *a = (test_archive){0};
}

#endif
