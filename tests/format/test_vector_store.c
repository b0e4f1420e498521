/* The store of vectors by text: found again, whole after a crash, shared by several runs. */
#include "support/files.h"

#include "base/memory.h"
#include "base/slice.h"
#include "store/vector_store.h"

enum { DIM = 3 };

static cq_vector_store *open_store(const char *directory) {
  cq_vector_store *store;
  cq_error error = {0};
  if (cq_vector_store_open(&store, directory, DIM, &error)) fail_msg("%s", error.message);
  return store;
}

static void vectors_are_found_again(void **state) {
  (void)state;
  const cq_slice texts[] = {cq_slice_of("one"), cq_slice_of("two"), cq_slice_of("")};
  const float vectors[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, more[] = {-1, -2, -3};
  const cq_slice fourth = cq_slice_of("four");
  const float *mapped;
  cq_vector_store *store = open_store(test_path("store"));
  assert_int_equal(cq_vector_store_find(store, texts[0]), -1);
  assert_int_equal(cq_vector_store_append(store, texts, 3, vectors, NULL), CQ_OK);
  cq_vector_store_close(store);
  store = open_store(test_path("store"));
  assert_int_equal(cq_vector_store_append(store, &fourth, 1, more, NULL), CQ_OK);
  assert_int_equal(cq_vector_store_map(&mapped, store, NULL), CQ_OK);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(cq_vector_store_find(store, texts[i]), i);
    assert_memory_equal(mapped + i * DIM, vectors + i * DIM, sizeof(float) * DIM);
  }
  assert_memory_equal(mapped + 3 * DIM, more, sizeof more);
  /* Mapped is unlocked: another opens, adds, and the first one's view stays. */
  cq_vector_store *other = open_store(test_path("store"));
  const cq_slice fifth = cq_slice_of("five");
  assert_int_equal(cq_vector_store_append(other, &fifth, 1, vectors, NULL), CQ_OK);
  assert_int_equal(cq_vector_store_find(other, fifth), 4);
  assert_memory_equal(mapped + 3 * DIM, more, sizeof more);
  cq_vector_store_close(other);
  cq_vector_store_close(store);
}

/* Whatever a crash cut off either file, the store opens with the records that are whole in both. */
static void torn_files_are_cut_to_whole_records(void **state) {
  (void)state;
  const cq_slice texts[] = {cq_slice_of("a"), cq_slice_of("b"), cq_slice_of("c")};
  const float vectors[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (long keys = 0; keys <= 48; keys += 5) {
    for (long bytes = 0; bytes <= 36; bytes += 7) {
      char command[512], path[400];
      snprintf(path, sizeof path, "%s", test_path("torn"));
      snprintf(command, sizeof command, "rm -rf '%s'", path);
      assert_int_equal(system(command), 0);
      cq_vector_store *store = open_store(path);
      assert_int_equal(cq_vector_store_append(store, texts, 3, vectors, NULL), CQ_OK);
      cq_vector_store_close(store);
      snprintf(command, sizeof command, "%s/keys", path);
      assert_int_equal(truncate(command, keys), 0);
      snprintf(command, sizeof command, "%s/vectors", path);
      assert_int_equal(truncate(command, bytes), 0);
      const long whole = keys / 16 < bytes / 12 ? keys / 16 : bytes / 12;
      store = open_store(path);
      for (long i = 0; i < 3; i++) assert_int_equal(cq_vector_store_find(store, texts[i]), i < whole ? i : -1);
      assert_int_equal(cq_vector_store_append(store, texts + whole, (size_t)(3 - whole), vectors + whole * DIM, NULL),
                       CQ_OK);
      const float *mapped;
      assert_int_equal(cq_vector_store_map(&mapped, store, NULL), CQ_OK);
      assert_memory_equal(mapped, vectors, sizeof vectors);
      cq_vector_store_close(store);
    }
  }
}

static void faults_are_errors(void **state) {
  (void)state;
  cq_vector_store *store;
  cq_error error = {0};
  assert_int_equal(cq_vector_store_open(&store, "/dev/null/store", DIM, &error), CQ_ERR_IO);
  assert_null(store);
  assert_non_null(strstr(error.message, "/dev/null"));
  for (long n = 1;; n++) {
    cq_alloc_fail_at(n);
    const cq_status status = cq_vector_store_open(&store, test_path("store"), DIM, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    cq_vector_store_close(store);
    if (!failed) break;
    assert_int_equal(status, CQ_ERR_MEMORY);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(vectors_are_found_again),
      cmocka_unit_test(torn_files_are_cut_to_whole_records),
      cmocka_unit_test(faults_are_errors),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
