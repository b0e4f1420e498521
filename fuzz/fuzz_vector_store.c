/* Any bytes as a store of vectors are a store that has the vectors whose checks fit, and takes the others anew. Checks
 * would keep mutations out, so they are put right unless the first byte is above 127. Modulo 128 it says how many
 * records of keys there are behind the head; the rest are vectors. */
#include "fuzz.h"

#include "base/hash.h"
#include "cache/vector_store.h"

#include <string.h>

enum { DIM = 2, HEAD = 64, KEY = 32, ROW = DIM * sizeof(float), N_TEXTS = 3 };

static cq_slice text_of(size_t i) {
  return (cq_slice){&"abc"[i], 1};
}

static void add_what_is_missing(bool was_there[N_TEXTS], cq_vector_store *store) {
  static const float vector[DIM] = {1, -1};
  cq_error error = {0};
  for (size_t i = 0; i < N_TEXTS; i++) {
    const cq_slice text = text_of(i);
    was_there[i] = cq_vector_store_verify(store, text);
    CHECK(was_there[i] == (cq_vector_store_find(store, text) >= 0));
    if (!was_there[i]) CHECK(cq_vector_store_append(store, &text, 1, vector, &error) == CQ_OK);
  }
}

/* Whether a record's key and vector fit their checks. */
static bool is_sound(const uint8_t *keys, size_t record, const float *vectors) {
  uint64_t key[4];
  memcpy(key, keys + HEAD + record * KEY, sizeof key);
  return key[3] == cq_check64(key, 24, record) && key[2] == cq_check64(vectors + record * DIM, ROW, key[0]);
}

static void open_and_use(const uint8_t *keys, size_t n_keys, size_t n_bytes_of_vectors) {
  const char *directory = fuzz_path("store");
  cq_error error = {0};
  uint64_t n, n_damaged;
  CHECK(cq_vector_store_check(&n, &n_damaged, directory, &error) == CQ_OK && n_damaged <= n);
  for (int again = 0; again < 2; again++) {
    cq_vector_store *store;
    const float *vectors;
    bool was_there[N_TEXTS];
    CHECK(cq_vector_store_open(&store, directory, DIM, NULL, NULL, &error) == CQ_OK);
    add_what_is_missing(was_there, store);
    CHECK(!again || cq_vector_store_n_damaged(store) <= n + 1);
    CHECK(cq_vector_store_map(&vectors, store, &error) == CQ_OK);
    for (size_t i = 0; i < N_TEXTS; i++) {
      const int64_t record = cq_vector_store_find(store, text_of(i));
      CHECK(record >= 0 && (size_t)record <= n_bytes_of_vectors / ROW + N_TEXTS);
      if (!again && was_there[i]) CHECK((size_t)record < n_keys && is_sound(keys, (size_t)record, vectors));
    }
    cq_vector_store_close(store);
  }
}

static void put_right(uint8_t *keys, size_t n_keys, const uint8_t *vectors, size_t n_vectors) {
  const uint64_t head[2] = {1, DIM};
  memcpy(keys, "CQVECTS\n", 8);
  memcpy(keys + 8, head, sizeof head);
  const uint64_t check = cq_check64(keys, HEAD - 8, 0);
  memcpy(keys + HEAD - 8, &check, sizeof check);
  for (size_t i = 0; i < n_keys; i++) {
    uint64_t key[4];
    memcpy(key, keys + HEAD + i * KEY, sizeof key);
    if (i < n_vectors / ROW) key[2] = cq_check64(vectors + i * ROW, ROW, key[0]);
    key[3] = cq_check64(key, 24, i);
    memcpy(keys + HEAD + i * KEY, key, sizeof key);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (n == 0) return 0;
  const size_t n_keys = data[0] % 128, n_wanted = HEAD + n_keys * KEY, n_of_keys = n_wanted < n - 1 ? n_wanted : n - 1;
  const uint8_t *vectors = data + 1 + n_of_keys;
  const size_t n_vectors = n - 1 - n_of_keys;
  uint8_t keys[HEAD + 127 * KEY];
  memcpy(keys, data + 1, n_of_keys);
  if (data[0] < 128 && n_of_keys == n_wanted) put_right(keys, n_keys, vectors, n_vectors);
  fuzz_file("store/keys", keys, n_of_keys);
  fuzz_file("store/vectors", vectors, n_vectors);
  open_and_use(keys, n_of_keys < HEAD ? 0 : (n_of_keys - HEAD) / KEY, n_vectors);
  return 0;
}
