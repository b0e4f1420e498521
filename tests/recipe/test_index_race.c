/* A commit between the two things a reader does: it reads the manifest, then opens what the manifest names. The commit
 * is made behind the manifest's reading (--wrap in tests/CMakeLists.txt), so it comes at that moment every time. */
#include "support/files.h"
#include "support/index.h"

#include "store/index_snapshot.h"

enum { DIM = 3, N = 20 };

cq_status __real_cq_index_manifest_read(cq_index_manifest *out, const char *directory, cq_error *error);
cq_status __wrap_cq_index_manifest_read(cq_index_manifest *out, const char *directory, cq_error *error);

static cq_index_store *writer;
static int n_commits; /* that are still to come behind the reader's back */
static int n_deleted; /* records 0 ... n_deleted - 1 are */

static void delete_next(void) {
  char name[8];
  size_t n;
  const int length = snprintf(name, sizeof name, "%d", n_deleted++);
  assert_int_equal(cq_index_store_remove(writer, &(cq_slice){name, (size_t)length}, 1, &n, NULL), CQ_OK);
  assert_int_equal(n, 1);
  assert_int_equal(cq_index_store_commit(writer, NULL), CQ_OK); /* replaces the list of deleted documents */
}

cq_status __wrap_cq_index_manifest_read(cq_index_manifest *out, const char *directory, cq_error *error) {
  const cq_status status = __real_cq_index_manifest_read(out, directory, error);
  if (n_commits > 0 && n_commits--) delete_next();
  return status;
}

static void make_index(const char *directory) {
  test_record records[N];
  float vectors[N * DIM];
  char names[N][8];
  for (int i = 0; i < N * DIM; i++) vectors[i] = (float)i;
  for (int i = 0; i < N; i++) {
    const int length = snprintf(names[i], sizeof names[i], "%d", i);
    records[i] = (test_record){{names[i], (size_t)length}, {"", 0}, {"text", 4}};
  }
  n_deleted = 0;
  assert_int_equal(cq_index_store_create(directory, "model", "fingerprint", DIM, false, NULL), CQ_OK);
  assert_int_equal(cq_index_store_open(&writer, directory, true, NULL), CQ_OK);
  assert_int_equal(test_append(writer, records, N, vectors, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(writer, NULL), CQ_OK);
  delete_next();
}

static int64_t live_in(cq_index_store *store) {
  cq_index_snapshot *snapshot = cq_index_store_hold(store);
  const int64_t n = cq_index_snapshot_info(snapshot).n_live;
  cq_index_snapshot_release(snapshot);
  return n;
}

static void a_reader_goes_on_to_what_was_committed_meanwhile(void **state) {
  (void)state;
  const char *directory = test_path("raced.index");
  cq_index_store *reader;
  cq_error error = {0};
  bool changed = false;
  make_index(directory);
  for (int times = 1; times <= 3; times++) { /* in one opening */
    n_commits = times;
    if (cq_index_store_open(&reader, directory, false, &error)) fail_msg("%d commits: %s", times, error.message);
    assert_int_equal(n_commits, 0);
    assert_int_equal(live_in(reader), N - n_deleted);
    cq_index_store_close(reader);
  }
  assert_int_equal(cq_index_store_open(&reader, directory, false, NULL), CQ_OK);
  delete_next();
  n_commits = 2; /* the manifest has changed, and changes twice more */
  if (cq_index_store_refresh(reader, &changed, &error)) fail_msg("%s", error.message);
  assert_true(changed);
  assert_int_equal(live_in(reader), N - n_deleted);
  cq_index_store_close(reader);
  cq_index_store_close(writer);
}

/* Nobody has committed anything: then what the manifest names is missing, and looking again would never end. */
static void what_is_missing_is_named(void **state) {
  (void)state;
  char path[400];
  cq_index_store *reader;
  cq_error error = {0};
  make_index(test_path("missing.index"));
  snprintf(path, sizeof path, "%s", test_path("missing.index/deleted-1"));
  assert_int_equal(unlink(path), 0);
  assert_int_equal(cq_index_store_open(&reader, test_path("missing.index"), false, &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, path));
  assert_null(reader);
  cq_index_store_close(writer);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_reader_goes_on_to_what_was_committed_meanwhile),
      cmocka_unit_test(what_is_missing_is_named),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
