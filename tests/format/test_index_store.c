/* The index on disk: what counts, what does not yet, and what a broken one says. */
#include "support/files.h"

#include "base/memory.h"
#include "base/slice.h"
#include "store/index_store.h"

enum { DIM = 3 };

static cq_index_record record(const char *id, const char *language, const char *text) {
  return (cq_index_record){cq_slice_of(id), cq_slice_of(language), cq_slice_of(text)};
}

static cq_index_store *fresh(const char *name) {
  cq_index_store *s;
  assert_int_equal(cq_index_store_create(test_path(name), "a model", "f00d", DIM, NULL), CQ_OK);
  assert_int_equal(cq_index_store_open(&s, test_path(name), true, NULL), CQ_OK);
  return s;
}

/* Of the newest snapshot, which the store holds. */
static cq_index_snapshot *newest(cq_index_store *s) {
  cq_index_snapshot *snapshot = cq_index_store_hold(s);
  cq_index_snapshot_release(snapshot);
  return snapshot;
}

static cq_index_info info_of(cq_index_store *s) {
  return cq_index_snapshot_info(newest(s));
}

/* How many of them were there. */
static size_t removed(cq_index_store *s, const char *id) {
  const cq_slice slice = cq_slice_of(id);
  size_t n;
  assert_int_equal(cq_index_store_remove(s, &slice, 1, &n, NULL), CQ_OK);
  return n;
}

static bool is(cq_slice slice, const char *text) {
  return cq_slice_equal(slice, cq_slice_of(text));
}

static void changes_count_when_committed(void **state) {
  (void)state;
  cq_index_store *s = fresh("one"), *reader;
  const cq_index_record records[] = {record("a", "de", "Eins."), record("b", "", "T\two.")};
  const float vectors[2 * DIM] = {1, 2, 3, 4, 5, 6};
  assert_int_equal(cq_index_store_append(s, records, 2, vectors, NULL), CQ_OK);
  assert_int_equal(info_of(s).n, 0);
  assert_int_equal(cq_index_store_open(&reader, test_path("one"), false, NULL), CQ_OK);
  assert_int_equal(info_of(reader).n, 0);
  cq_index_store_close(reader);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(cq_index_store_open(&reader, test_path("one"), false, NULL), CQ_OK);
  const cq_index_info info = info_of(reader);
  assert_int_equal(info.n, 2);
  assert_int_equal(info.n_live, 2);
  assert_int_equal(info.dim, DIM);
  assert_string_equal(info.model, "a model");
  assert_string_equal(info.fingerprint, "f00d");
  assert_memory_equal(cq_index_snapshot_vectors(newest(reader)), vectors, sizeof vectors);
  assert_true(is(cq_index_snapshot_record(newest(reader), 0).language, "de") &&
              is(cq_index_snapshot_record(newest(reader), 1).text, "T\two."));
  cq_index_store_close(reader);
  /* b anew, a removed: three records, one of them live. */
  const cq_index_record again = record("b", "en", "Two.");
  assert_int_equal(cq_index_store_append(s, &again, 1, vectors, NULL), CQ_OK);
  assert_int_equal(removed(s, "a"), 1);
  assert_int_equal(removed(s, "a"), 0);
  assert_int_equal(removed(s, "c"), 0);
  assert_int_equal(info_of(s).n_live, 2); /* as long as it is not committed */
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  cq_index_store_close(s);
  assert_int_equal(cq_index_store_open(&s, test_path("one"), true, NULL), CQ_OK);
  assert_int_equal(info_of(s).n, 3);
  assert_int_equal(info_of(s).n_live, 1);
  assert_false(cq_index_snapshot_is_live(newest(s), 1));
  /* Another generation replaces the first. */
  assert_int_equal(removed(s, "a"), 0);
  assert_int_equal(removed(s, "b"), 1);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(info_of(s).n_live, 0);
  cq_index_store_close(s);
  assert_int_not_equal(access(test_path("one/deleted-1"), F_OK), 0);
  assert_int_equal(access(test_path("one/deleted-2"), F_OK), 0);
}

static void what_was_not_committed_is_written_over(void **state) {
  (void)state;
  cq_index_store *s = fresh("two");
  const cq_index_record lost = record("lost", "", "A long text that nobody will see."), kept = record("kept", "", "K.");
  const float first[DIM] = {7, 7, 7}, second[DIM] = {1, 0, 0};
  assert_int_equal(cq_index_store_append(s, &lost, 1, first, NULL), CQ_OK);
  cq_index_store_close(s); /* as a killed process leaves it */
  assert_int_equal(cq_index_store_open(&s, test_path("two"), true, NULL), CQ_OK);
  assert_int_equal(cq_index_store_append(s, &kept, 1, second, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(info_of(s).n, 1);
  assert_true(is(cq_index_snapshot_record(newest(s), 0).text, "K."));
  assert_memory_equal(cq_index_snapshot_vectors(newest(s)), second, sizeof second);
  cq_index_store_close(s);
}

static void bad_documents_are_refused(void **state) {
  (void)state;
  cq_index_store *s = fresh("three");
  const float vectors[2 * DIM] = {0};
  const cq_index_record bad[] = {record("", "", "x"), record("a\tb", "", "x"), record("a", "d\te", "x"),
                                 record("a", "", "x\ny")};
  for (size_t i = 0; i < 4; i++) assert_int_equal(cq_index_store_append(s, &bad[i], 1, vectors, NULL), CQ_ERR_ARGUMENT);
  const cq_index_record twice[] = {record("t", "", "x"), record("t", "", "y")};
  cq_error error = {0};
  assert_int_equal(cq_index_store_append(s, twice, 2, vectors, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "document 't' comes twice");
  cq_index_store_close(s);
}

static void one_process_writes(void **state) {
  (void)state;
  cq_index_store *s = fresh("four"), *other;
  assert_int_equal(cq_index_store_open(&other, test_path("four"), true, NULL), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_index_store_open(&other, test_path("four"), false, NULL), CQ_OK);
  cq_index_store_close(other);
  cq_index_store_close(s);
  assert_int_equal(cq_index_store_open(&other, test_path("four"), true, NULL), CQ_OK);
  cq_index_store_close(other);
  assert_int_equal(cq_index_store_create(test_path("four"), "m", "f", DIM, NULL), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_index_store_open(&other, test_path("none"), false, NULL), CQ_ERR_IO);
}

/* A failed append leaves all as it was: the same documents can be added when what was wrong is mended. */
static void a_failed_append_changes_nothing(void **state) {
  (void)state;
  cq_index_store *s = fresh("nine");
  const float vectors[3 * DIM] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const cq_index_record old = record("a", "", "Old."),
                        bad[] = {record("a", "", "x"), record("b", "", "y"), record("", "", "z")};
  assert_int_equal(cq_index_store_append(s, &old, 1, vectors, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(cq_index_store_append(s, bad, 3, vectors, NULL), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(info_of(s).n, 1);
  assert_int_equal(info_of(s).n_live, 1);
  assert_int_equal(cq_index_store_append(s, bad, 2, vectors, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(info_of(s).n, 3);
  assert_int_equal(info_of(s).n_live, 2);
  assert_false(cq_index_snapshot_is_live(newest(s), 0));
  assert_int_equal(removed(s, "a"), 1);
  cq_index_store_close(s);
}

/* A snapshot stays as it was while the index goes on, and after the store is closed; readers see what is new when they
 * look for it. */
static void snapshots_stay(void **state) {
  (void)state;
  cq_index_store *s = fresh("ten"), *reader, *other;
  const float vectors[2 * DIM] = {1, 2, 3, 4, 5, 6};
  const cq_index_record a = record("a", "de", "Eins."), b = record("b", "en", "Two.");
  bool changed;
  assert_int_equal(cq_index_store_append(s, &a, 1, vectors, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(cq_index_store_open(&reader, test_path("ten"), false, NULL), CQ_OK);
  cq_index_snapshot *before = cq_index_store_hold(reader);
  assert_int_equal(cq_index_store_refresh(reader, &changed, NULL), CQ_OK);
  assert_false(changed);
  assert_int_equal(cq_index_store_append(s, &b, 1, vectors + DIM, NULL), CQ_OK);
  assert_int_equal(removed(s, "a"), 1);
  assert_int_equal(cq_index_store_refresh(reader, &changed, NULL), CQ_OK);
  assert_false(changed);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(info_of(reader).n, 1);
  assert_int_equal(cq_index_store_refresh(reader, &changed, NULL), CQ_OK);
  assert_true(changed);
  assert_int_equal(info_of(reader).n, 2);
  assert_int_equal(info_of(reader).n_live, 1);
  assert_true(is(cq_index_snapshot_record(newest(reader), 1).id, "b"));
  assert_true(is(cq_index_snapshot_record(newest(reader), 1).text, "Two."));
  assert_memory_equal(cq_index_snapshot_vectors(newest(reader)), vectors, sizeof vectors);
  /* Another index in the same place is none of its future. */
  assert_int_equal(rename(test_path("ten"), test_path("moved")), 0);
  other = fresh("ten");
  cq_error error = {0};
  assert_int_equal(cq_index_store_refresh(reader, &changed, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "another index is in its place"));
  assert_false(changed);
  assert_int_equal(info_of(reader).n, 2);
  cq_index_store_close(other);
  cq_index_store_close(s);
  cq_index_store_close(reader);
  const cq_index_info info = cq_index_snapshot_info(before);
  assert_int_equal(info.n, 1);
  assert_int_equal(info.n_live, 1);
  assert_true(is(cq_index_snapshot_record(before, 0).text, "Eins."));
  assert_memory_equal(cq_index_snapshot_vectors(before), vectors, sizeof(float) * DIM);
  cq_index_snapshot_release(before);
}

static void readers_do_not_write(void **state) {
  (void)state;
  cq_index_store_close(fresh("eleven"));
  cq_index_store *s;
  const cq_index_record one = record("a", "", "x");
  const float vector[DIM] = {1, 2, 3};
  cq_error error = {0};
  size_t n;
  assert_int_equal(cq_index_store_open(&s, test_path("eleven"), false, NULL), CQ_OK);
  assert_int_equal(cq_index_store_append(s, &one, 1, vector, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "it is open for reading only"));
  assert_int_equal(cq_index_store_remove(s, &one.id, 1, &n, NULL), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_index_store_set_approximate(s, false, NULL), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_ERR_ARGUMENT);
  cq_index_store_close(s);
}

/* Every file cut at every byte, every digit of the manifest changed, and a manifest that lies. */
static void broken_files_are_named(void **state) {
  (void)state;
  cq_index_store *s = fresh("five");
  const cq_index_record records[] = {record("a", "de", "Eins."), record("b", "", "Two.")};
  const float vectors[2 * DIM] = {1, 2, 3, 4, 5, 6};
  assert_int_equal(cq_index_store_append(s, records, 2, vectors, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(removed(s, "a"), 1);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  cq_index_store_close(s);
  static const char *const files[] = {"five/documents", "five/vectors", "five/manifest.json"};
  for (size_t f = 0; f < 3; f++) {
    size_t n;
    unsigned char *whole = read_bytes(&n, test_path(files[f]));
    const size_t n_needed = f == 2 ? n - 2 : n; /* the manifest's last newline is no loss */
    for (size_t cut = 0; cut < n_needed; cut++) {
      cq_error error = {0};
      write_bytes(test_path(files[f]), whole, cut);
      assert_int_equal(cq_index_store_open(&s, test_path("five"), false, &error), CQ_ERR_FORMAT);
      assert_non_null(strstr(error.message, strrchr(files[f], '/') + 1));
    }
    for (size_t i = 0; f == 2 && i < n; i++) {
      if (whole[i] < '0' || whole[i] > '9') continue;
      cq_error error = {0};
      whole[i] ^= 1; /* another digit */
      write_bytes(test_path(files[f]), whole, n);
      whole[i] ^= 1;
      assert_int_equal(cq_index_store_open(&s, test_path("five"), false, &error), CQ_ERR_FORMAT);
      assert_non_null(strstr(error.message, "manifest.json"));
    }
    write_bytes(test_path(files[f]), whole, n);
    free(whole);
  }
  unlink(test_path("five/deleted-1"));
  assert_int_equal(cq_index_store_open(&s, test_path("five"), false, NULL), CQ_ERR_IO);
  write_text(test_path("five/deleted-1"), "too long");
  assert_int_equal(cq_index_store_open(&s, test_path("five"), false, NULL), CQ_ERR_FORMAT);
  static const char *const formats[] = {"something else", "calque index 3", "calque index"};
  for (int i = 0; i < 3; i++) { /* all the rest is as it should be */
    char text[200];
    cq_error error = {0};
    snprintf(text, sizeof text, "{\"format\": \"%s\", \"model\": \"m\", \"fingerprint\": \"f\", \"dim\": 3}",
             formats[i]);
    write_text(test_path("five/manifest.json"), text);
    assert_int_equal(cq_index_store_open(&s, test_path("five"), false, &error), CQ_ERR_FORMAT);
    assert_non_null(strstr(error.message, "\"format\" is not \"calque index 2\""));
  }
  write_text(test_path("five/manifest.json"),
             "{\"format\": \"calque index 1\", \"model\": \"m\", \"fingerprint\": \"f\", "
             "\"dim\": 1048577}");
  assert_int_equal(cq_index_store_open(&s, test_path("five"), false, NULL), CQ_ERR_FORMAT);
}

/* Of the first format only the fingerprint is another. */
static void the_first_format_gets_a_fingerprint(void **state) {
  (void)state;
  static const char first[] = "{\"format\": \"calque index 1\", \"model\": \"m\", \"fingerprint\": \"f\", \"dim\": 3}";
  const cq_index_record one = record("a", "de", "Eins."), two = record("b", "de", "Zwei.");
  const float vector[DIM] = {1, 2, 3};
  size_t n;
  bool changed;
  cq_index_store *s = fresh("first"), *reader;
  cq_index_store_close(s);
  write_text(test_path("first/manifest.json"), first);
  assert_int_equal(cq_index_store_open(&reader, test_path("first"), false, NULL), CQ_OK);
  for (int again = 0; again < 2; again++) { /* changes without a fingerprint leave the format as it was */
    assert_int_equal(cq_index_store_open(&s, test_path("first"), true, NULL), CQ_OK);
    assert_null(info_of(s).fingerprint);
    assert_int_equal(cq_index_store_append(s, again ? &two : &one, 1, vector, NULL), CQ_OK);
    if (again) assert_int_equal(cq_index_store_set_fingerprint(s, "feed", NULL), CQ_OK);
    assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
    cq_index_store_close(s);
    assert_int_equal(cq_index_store_refresh(reader, &changed, NULL), CQ_OK);
    assert_true(changed);
  }
  assert_string_equal(info_of(reader).fingerprint, "feed");
  cq_index_store_close(reader);
  assert_int_equal(cq_index_store_open(&s, test_path("first"), false, NULL), CQ_OK);
  assert_string_equal(info_of(s).fingerprint, "feed");
  assert_int_equal(info_of(s).n, 2);
  cq_index_store_close(s);
  char *manifest = (char *)read_bytes(&n, test_path("first/manifest.json"));
  assert_non_null(strstr(manifest, "calque index 2"));
  free(manifest);
}

/* A killed writer's tail is cut when the next one opens: a full disk has its room back. */
static void what_never_counted_takes_no_room(void **state) {
  (void)state;
  static const char *const files[] = {"seven/documents", "seven/vectors"};
  cq_index_store *s = fresh("seven");
  const cq_index_record one = record("a", "de", "Eins."), two = record("b", "de", "Zwei.");
  const float vector[DIM] = {1, 2, 3};
  size_t committed[2], n;
  assert_int_equal(cq_index_store_append(s, &one, 1, vector, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  for (size_t f = 0; f < 2; f++) free(read_bytes(&committed[f], test_path(files[f])));
  assert_int_equal(cq_index_store_append(s, &two, 1, vector, NULL), CQ_OK);
  cq_index_store_close(s);
  free(read_bytes(&n, test_path(files[1])));
  assert_int_equal(n, 2 * sizeof vector);
  assert_int_equal(cq_index_store_open(&s, test_path("seven"), true, NULL), CQ_OK);
  for (size_t f = 0; f < 2; f++) {
    free(read_bytes(&n, test_path(files[f])));
    assert_int_equal(n, committed[f]);
  }
  cq_index_store_close(s);
}

/* Lists that a killed writer had made and not counted, or replaced and not removed. */
static void other_generations_are_cleared_up(void **state) {
  (void)state;
  static const char *const left[] = {"eight/deleted-1", "eight/deleted-3", "eight/approximate-1"};
  cq_index_store *s = fresh("eight");
  const cq_index_record both[] = {record("a", "de", "Eins."), record("b", "de", "Zwei.")};
  const float vectors[2 * DIM] = {1, 2, 3, 4, 5, 6};
  assert_int_equal(cq_index_store_append(s, both, 2, vectors, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  for (int64_t i = 0; i < 2; i++) {
    assert_int_equal(removed(s, i ? "b" : "a"), 1);
    assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  }
  cq_index_store_close(s);
  for (size_t i = 0; i < 3; i++) write_bytes(test_path(left[i]), "left", 4);
  assert_int_equal(cq_index_store_open(&s, test_path("eight"), false, NULL), CQ_OK); /* a reader removes nothing */
  cq_index_store_close(s);
  for (size_t i = 0; i < 3; i++) assert_int_equal(access(test_path(left[i]), F_OK), 0);
  assert_int_equal(cq_index_store_open(&s, test_path("eight"), true, NULL), CQ_OK);
  assert_int_equal(info_of(s).n_live, 0);
  cq_index_store_close(s);
  for (size_t i = 0; i < 3; i++) assert_int_not_equal(access(test_path(left[i]), F_OK), 0);
  assert_int_equal(access(test_path("eight/deleted-2"), F_OK), 0);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  cq_index_store *s = fresh("six"), *reader;
  const cq_index_record one = record("a", "de", "Eins.");
  const float vector[DIM] = {1, 2, 3};
  bool changed;
  assert_int_equal(cq_index_store_append(s, &one, 1, vector, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  cq_index_store_close(s);
  for (long n = 1;; n++) {
    assert_int_equal(cq_index_store_open(&reader, test_path("six"), false, NULL), CQ_OK);
    cq_alloc_fail_at(n);
    cq_status status = cq_index_store_open(&s, test_path("six"), true, NULL);
    if (!status) {
      status = cq_index_store_append(s, &one, 1, vector, NULL);
      if (!status) status = cq_index_store_commit(s, NULL);
      if (!status) status = cq_index_store_refresh(reader, &changed, NULL);
      cq_index_store_close(s);
    }
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    assert_int_equal(info_of(reader).n_live, 1); /* as before or as after */
    cq_index_store_close(reader);
    if (!failed) break;
  }
}

/* A call that fails can be made again. */
static void a_failed_call_can_be_made_again(void **state) {
  (void)state;
  cq_index_store *s = fresh("twelve");
  const cq_index_record one = record("a", "de", "Eins."), two = record("b", "de", "Zwei.");
  const float vector[DIM] = {1, 2, 3};
  assert_int_equal(cq_index_store_append(s, &one, 1, vector, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  for (int commits = 0; commits < 2; commits++) {
    bool failed = true;
    if (!commits) assert_int_equal(removed(s, "a"), 1);
    for (long n = 1; failed; n++) {
      cq_alloc_fail_at(n);
      const cq_status status =
          commits ? cq_index_store_commit(s, NULL) : cq_index_store_append(s, &two, 1, vector, NULL);
      failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    }
  }
  assert_int_equal(info_of(s).n, 2);
  assert_int_equal(info_of(s).n_live, 1);
  cq_index_store_close(s);
  assert_int_equal(cq_index_store_open(&s, test_path("twelve"), false, NULL), CQ_OK);
  assert_int_equal(info_of(s).n_live, 1);
  assert_true(is(cq_index_snapshot_record(newest(s), 1).text, "Zwei."));
  cq_index_store_close(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(changes_count_when_committed),
      cmocka_unit_test(what_was_not_committed_is_written_over),
      cmocka_unit_test(bad_documents_are_refused),
      cmocka_unit_test(one_process_writes),
      cmocka_unit_test(broken_files_are_named),
      cmocka_unit_test(what_never_counted_takes_no_room),
      cmocka_unit_test(other_generations_are_cleared_up),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(a_failed_append_changes_nothing),
      cmocka_unit_test(snapshots_stay),
      cmocka_unit_test(readers_do_not_write),
      cmocka_unit_test(the_first_format_gets_a_fingerprint),
      cmocka_unit_test(a_failed_call_can_be_made_again),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
