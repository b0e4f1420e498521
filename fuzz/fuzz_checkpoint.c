/* Any bytes either are an error with a place, or sections inside the file; as the state of a search, an error or lists
 * of rows that are there. Checksums would keep mutations out, so each input is tried as it is and with its checksums
 * put right. */
#include "fuzz.h"

#include "base/hash.h"
#include "cache/checkpoint.h"
#include "search/resume.h"

#include <string.h>

static void try(const uint8_t *data, size_t n) {
  cq_checkpoint *c;
  cq_error error = {0};
  cq_status status = cq_checkpoint_open(&c, input_file(data, n), &error);
  if (status) {
    CHECK(!c && (status == CQ_ERR_FORMAT || status == CQ_ERR_UNSUPPORTED));
    CHECK(error.byte <= n && strstr(error.message, "byte "));
    return;
  }
  size_t total = 128; /* the head and the last record */
  for (size_t i = 0; i < cq_checkpoint_count(c); i++) {
    size_t section_n, name_n = strlen(cq_checkpoint_name(c, i));
    const char *section = cq_checkpoint_find(&section_n, c, cq_checkpoint_name(c, i));
    CHECK(section && (uintptr_t)section % 64 == 0);
    total += (32 + name_n + 63) / 64 * 64 + (section_n + 63) / 64 * 64;
    CHECK(total <= n || memchr(data, 0, n)); /* a name may hold a NUL, then it counts for more than strlen says */
    for (size_t k = 0; k < section_n; k++) CHECK(section[k] == section[k]);
  }
  cq_checkpoint_close(c);
}

static void try_search(const uint8_t *data, size_t n) {
  enum { K = 2, N_X = 3, N_Y = 2 };
  static uint32_t indices[2][N_X * K];
  static double cosines[2][N_X * K];
  cq_neighbors x = {.n = N_X, .k = K, .index = indices[0], .cosine = cosines[0]};
  cq_neighbors y = {.n = N_Y, .k = K, .index = indices[1], .cosine = cosines[1]};
  cq_error error = {0};
  size_t done;
  const cq_identity key = cq_hash128("search", 6);
  const cq_status status = cq_search_load(&done, input_file(data, n), key, N_X, N_Y, &x, &y, &error);
  CHECK(status ? error.message[0] != 0 : done <= N_Y);
  for (size_t i = 0; !status && done && i < N_X * K; i++) CHECK(x.index[i] < N_Y || x.index[i] == UINT32_MAX);
  for (size_t i = 0; !status && done && i < N_Y * K; i++) CHECK(y.index[i] < N_X || y.index[i] == UINT32_MAX);
}

/* Walks the records as the reader does, writing the checksums that it will expect. */
static void put_right(uint8_t *data, size_t n) {
  for (size_t at = 64; at < n && n - at >= 32;) {
    uint64_t r[4];
    memcpy(r, data + at, sizeof r);
    size_t name = at + 32, section = name;
    if (r[2] > 255 || r[2] > n - name) return;
    section = (name + (size_t)r[2] + 63) / 64 * 64;
    if (r[2] && section <= n && r[0] <= n - section) r[1] = cq_hash64(data + section, (size_t)r[0], 0);
    r[3] = cq_hash64(data + name, (size_t)r[2], cq_hash64(r, 24, 0));
    memcpy(data + at, r, sizeof r);
    if (r[2] == 0 || section > n || r[0] > n - section) return;
    at = (section + (size_t)r[0] + 63) / 64 * 64;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  uint8_t *copy = malloc(n ? n : 1);
  CHECK(copy);
  memcpy(copy, data, n);
  try(copy, n);
  put_right(copy, n);
  try(copy, n);
  try_search(copy, n);
  free(copy);
  return 0;
}
