/* The store of vectors by text: found again, whole after a crash, shared by several runs. */
#include "support/files.h"

#include "base/memory.h"
#include "base/slice.h"
#include "cache/vector_store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DIM = 3, HEAD = 64, KEY = 32, ROW = DIM * sizeof(float) };

static cq_vector_store *open_store(const char *directory) {
  cq_vector_store *store;
  cq_error error = {0};
  if (cq_vector_store_open(&store, directory, DIM, NULL, NULL, &error)) fail_msg("%s", error.message);
  return store;
}

static void remove_store(const char *name) {
  char command[512];
  snprintf(command, sizeof command, "rm -rf '%s'", test_path(name));
  assert_int_equal(system(command), 0);
}

/* Whether a file is somewhere in this process's memory. */
static bool is_mapped(const char *path) {
  char line[1024];
  bool found = false;
  FILE *maps = fopen("/proc/self/maps", "r");
  assert_non_null(maps);
  while (fgets(line, sizeof line, maps)) found |= strstr(line, path) != NULL;
  fclose(maps);
  return found;
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
  assert_true(is_mapped(test_path("store/vectors")));
  cq_vector_store_close(store);
  assert_false(is_mapped(test_path("store/vectors")));
}

/* Whatever a crash cut off either file, the store opens with the records that are whole in both. */
static void torn_files_are_cut_to_whole_records(void **state) {
  (void)state;
  const cq_slice texts[] = {cq_slice_of("a"), cq_slice_of("b"), cq_slice_of("c")};
  const float vectors[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (long keys = 0; keys <= HEAD + 3 * KEY; keys += 5) {
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
      const long n_keys = keys < HEAD ? 0 : (keys - HEAD) / KEY, whole = n_keys < bytes / ROW ? n_keys : bytes / ROW;
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

/* Any one byte changed, in either file: every text has its own vector still, or none and is added anew. */
static void damage_is_noticed(void **state) {
  (void)state;
  const cq_slice texts[] = {cq_slice_of("a"), cq_slice_of("b"), cq_slice_of("c")};
  const float vectors[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const struct {
    const char *name;
    long n;
  } files[] = {{"keys", HEAD + 3 * KEY}, {"vectors", 3 * ROW}};
  char path[400], file[512], command[512];
  snprintf(path, sizeof path, "%s", test_path("damaged"));
  snprintf(command, sizeof command, "rm -rf '%s'", path);
  for (size_t f = 0; f < 2; f++) {
    for (long at = 0; at < files[f].n; at++) {
      assert_int_equal(system(command), 0);
      cq_vector_store *store = open_store(path);
      assert_int_equal(cq_vector_store_append(store, texts, 3, vectors, NULL), CQ_OK);
      cq_vector_store_close(store);
      snprintf(file, sizeof file, "%s/%s", path, files[f].name);
      FILE *stream = fopen(file, "r+");
      assert_non_null(stream);
      assert_int_equal(fseek(stream, at, SEEK_SET), 0);
      const int byte = fgetc(stream);
      assert_int_equal(fseek(stream, at, SEEK_SET), 0);
      assert_int_equal(fputc(byte ^ 0x10, stream), byte ^ 0x10);
      assert_int_equal(fclose(stream), 0);
      store = open_store(path);
      uint64_t n_absent = 0;
      for (size_t i = 0; i < 3; i++) {
        if (cq_vector_store_verify(store, texts[i])) continue;
        n_absent++;
        assert_int_equal(cq_vector_store_find(store, texts[i]), -1);
        assert_int_equal(cq_vector_store_append(store, &texts[i], 1, vectors + i * DIM, NULL), CQ_OK);
      }
      assert_int_equal(n_absent, f == 0 && at < HEAD ? 3 : 1);
      assert_int_equal(cq_vector_store_n_damaged(store), n_absent);
      const float *mapped;
      assert_int_equal(cq_vector_store_map(&mapped, store, NULL), CQ_OK);
      for (size_t i = 0; i < 3; i++)
        assert_memory_equal(mapped + cq_vector_store_find(store, texts[i]) * DIM, vectors + i * DIM, ROW);
      cq_vector_store_close(store);
    }
  }
}

/* Vectors that changed places are damaged, too, and so is a store of other dimensions. */
static void vectors_belong_to_their_texts(void **state) {
  (void)state;
  const cq_slice texts[] = {cq_slice_of("a"), cq_slice_of("b")};
  const float vectors[] = {1, 2, 3, 4, 5, 6}, swapped[] = {4, 5, 6, 1, 2, 3};
  char file[512];
  cq_vector_store *store = open_store(test_path("swapped"));
  assert_int_equal(cq_vector_store_append(store, texts, 2, vectors, NULL), CQ_OK);
  cq_vector_store_close(store);
  snprintf(file, sizeof file, "%s/vectors", test_path("swapped"));
  FILE *stream = fopen(file, "r+");
  assert_non_null(stream);
  assert_int_equal(fwrite(swapped, ROW, 2, stream), 2);
  assert_int_equal(fclose(stream), 0);
  store = open_store(test_path("swapped"));
  assert_false(cq_vector_store_verify(store, texts[0]) || cq_vector_store_verify(store, texts[1]));
  cq_vector_store_close(store);
  cq_error error = {0};
  assert_int_equal(cq_vector_store_open(&store, test_path("swapped"), DIM + 1, NULL, NULL, &error), CQ_OK);
  assert_int_equal(cq_vector_store_find(store, texts[0]), -1);
  cq_vector_store_close(store);
}

static void faults_are_errors(void **state) {
  (void)state;
  cq_vector_store *store;
  cq_error error = {0};
  assert_int_equal(cq_vector_store_open(&store, "/dev/null/store", DIM, NULL, NULL, &error), CQ_ERR_IO);
  assert_null(store);
  assert_non_null(strstr(error.message, "/dev/null"));
  for (long n = 1;; n++) {
    cq_alloc_fail_at(n);
    const cq_status status = cq_vector_store_open(&store, test_path("store"), DIM, NULL, NULL, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    cq_vector_store_close(store);
    if (!failed) break;
    assert_int_equal(status, CQ_ERR_MEMORY);
  }
}

static void a_lack_of_memory_while_appending_is_told(void **state) {
  (void)state;
  for (long n = 1;; n++) {
    const cq_slice text = cq_slice_of("one");
    const float vector[] = {1, 2, 3};
    remove_store("short");
    cq_vector_store *store = open_store(test_path("short"));
    cq_error error = {0};
    cq_alloc_fail_at(n);
    const cq_status status = cq_vector_store_append(store, &text, 1, vector, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    assert_int_equal(cq_vector_store_find(store, text), failed ? -1 : 0);
    cq_vector_store_close(store);
    if (!failed) break;
    assert_string_not_equal(error.message, "");
  }
}

/* A disk that is full, first for the vectors, then for the keys alone: nothing is found that was not written. */
static void a_full_disk_is_told(void **state) {
  static float vectors[100 * DIM];
  cq_slice texts[100];
  char text[100][4];
  (void)state;
  for (int i = 0; i < 100; i++) {
    snprintf(text[i], sizeof text[i], "%d", i);
    texts[i] = cq_slice_of(text[i]);
  }
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit before, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  for (int full_for_keys = 0; full_for_keys < 2; full_for_keys++) {
    remove_store("full");
    cq_vector_store *store = open_store(test_path("full"));
    cq_error error = {0};
    small = before, small.rlim_cur = full_for_keys ? 100 * ROW + 1 : 100 * ROW - 1;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const cq_status status = cq_vector_store_append(store, texts, 100, vectors, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(status, CQ_ERR_IO);
    assert_non_null(strstr(error.file, full_for_keys ? "full/keys" : "full/vectors"));
    assert_int_equal(cq_vector_store_find(store, texts[0]), -1);
    assert_int_equal(cq_vector_store_append(store, texts, 100, vectors, &error), CQ_OK); /* there is room again */
    cq_vector_store_close(store);
    store = open_store(test_path("full"));
    for (int i = 0; i < 100; i++) assert_int_equal(cq_vector_store_find(store, texts[i]), i);
    cq_vector_store_close(store);
  }
}

static void note_wait(void *context, const char *text) {
  assert_non_null(strstr(text, "keys: waiting for another process that adds vectors"));
  close(*(int *)context); /* the other may go on */
}

/* Who waits for another process is told so, once. */
static void a_wait_is_told(void **state) {
  int ready[2], go[2];
  char byte = 0;
  cq_vector_store *store;
  cq_error error = {0};
  (void)state;
  assert_int_equal(pipe(ready) | pipe(go), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(go[1]);
    store = open_store(test_path("waited"));
    _exit(write(ready[1], "x", 1) == 1 && read(go[0], &byte, 1) == 0 ? 0 : 1); /* its end gives up the lock */
  }
  close(go[0]);
  assert_int_equal(read(ready[0], &byte, 1), 1);
  assert_int_equal(cq_vector_store_open(&store, test_path("waited"), DIM, note_wait, &go[1], &error), CQ_OK);
  const int keys = open(test_path("waited/keys"), O_RDONLY); /* the lock is exclusive */
  assert_int_equal(flock(keys, LOCK_SH | LOCK_NB), -1);
  cq_vector_store_close(store);
  assert_int_equal(flock(keys, LOCK_SH | LOCK_NB), 0);
  close(keys);
  assert_int_equal(close(go[1]), -1); /* it was told */
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  close(ready[0]), close(ready[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(vectors_are_found_again), cmocka_unit_test(torn_files_are_cut_to_whole_records),
      cmocka_unit_test(damage_is_noticed),       cmocka_unit_test(vectors_belong_to_their_texts),
      cmocka_unit_test(faults_are_errors),       cmocka_unit_test(a_lack_of_memory_while_appending_is_told),
      cmocka_unit_test(a_full_disk_is_told),     cmocka_unit_test(a_wait_is_told),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
