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

static bool is(cq_slice slice, const char *text) {
  return cq_slice_equal(slice, cq_slice_of(text));
}

static void changes_count_when_committed(void **state) {
  (void)state;
  cq_index_store *s = fresh("one"), *reader;
  const cq_index_record records[] = {record("a", "de", "Eins."), record("b", "", "T\two.")};
  const float vectors[2 * DIM] = {1, 2, 3, 4, 5, 6};
  assert_int_equal(cq_index_store_append(s, records, 2, vectors, NULL), CQ_OK);
  assert_int_equal(cq_index_store_info(s).n, 0);
  assert_int_equal(cq_index_store_open(&reader, test_path("one"), false, NULL), CQ_OK);
  assert_int_equal(cq_index_store_info(reader).n, 0);
  cq_index_store_close(reader);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(cq_index_store_open(&reader, test_path("one"), false, NULL), CQ_OK);
  const cq_index_info info = cq_index_store_info(reader);
  assert_int_equal(info.n, 2);
  assert_int_equal(info.n_live, 2);
  assert_int_equal(info.dim, DIM);
  assert_string_equal(info.model, "a model");
  assert_string_equal(info.fingerprint, "f00d");
  assert_memory_equal(cq_index_store_vectors(reader), vectors, sizeof vectors);
  assert_true(is(cq_index_store_record(reader, 0).language, "de") &&
              is(cq_index_store_record(reader, 1).text, "T\two."));
  assert_int_equal(cq_index_store_find(s, cq_slice_of("b")), 1);
  assert_int_equal(cq_index_store_find(s, cq_slice_of("c")), -1);
  cq_index_store_close(reader);
  /* b anew, a removed: three records, one of them live. */
  const cq_index_record again = record("b", "en", "Two.");
  assert_int_equal(cq_index_store_append(s, &again, 1, vectors, NULL), CQ_OK);
  cq_index_store_delete(s, 0);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  cq_index_store_close(s);
  assert_int_equal(cq_index_store_open(&s, test_path("one"), true, NULL), CQ_OK);
  assert_int_equal(cq_index_store_info(s).n, 3);
  assert_int_equal(cq_index_store_info(s).n_live, 1);
  assert_int_equal(cq_index_store_find(s, cq_slice_of("a")), -1);
  assert_int_equal(cq_index_store_find(s, cq_slice_of("b")), 2);
  assert_false(cq_index_store_is_live(s, 1));
  /* Another generation replaces the first. */
  cq_index_store_delete(s, 2);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(cq_index_store_info(s).n_live, 0);
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
  assert_int_equal(cq_index_store_info(s).n, 1);
  assert_true(is(cq_index_store_record(s, 0).text, "K."));
  assert_memory_equal(cq_index_store_vectors(s), second, sizeof second);
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

/* Every file cut at every byte, and a manifest that lies. */
static void broken_files_are_named(void **state) {
  (void)state;
  cq_index_store *s = fresh("five");
  const cq_index_record records[] = {record("a", "de", "Eins."), record("b", "", "Two.")};
  const float vectors[2 * DIM] = {1, 2, 3, 4, 5, 6};
  assert_int_equal(cq_index_store_append(s, records, 2, vectors, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  cq_index_store_delete(s, 0);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  cq_index_store_close(s);
  static const char *const files[] = {"five/documents", "five/vectors", "five/manifest.json"};
  for (size_t f = 0; f < 3; f++) {
    size_t n;
    unsigned char *whole = read_bytes(&n, test_path(files[f]));
    const size_t least = f == 2 ? n - 2 : n; /* the manifest's last newline is no loss */
    for (size_t cut = 0; cut < least; cut++) {
      cq_error error = {0};
      write_bytes(test_path(files[f]), whole, cut);
      assert_int_equal(cq_index_store_open(&s, test_path("five"), false, &error), CQ_ERR_FORMAT);
      assert_non_null(strstr(error.message, strrchr(files[f], '/') + 1));
    }
    write_bytes(test_path(files[f]), whole, n);
    free(whole);
  }
  unlink(test_path("five/deleted-1"));
  assert_int_equal(cq_index_store_open(&s, test_path("five"), false, NULL), CQ_ERR_IO);
  write_text(test_path("five/deleted-1"), "too long");
  assert_int_equal(cq_index_store_open(&s, test_path("five"), false, NULL), CQ_ERR_FORMAT);
  write_text(test_path("five/manifest.json"), "{\"format\": \"something else\"}");
  assert_int_equal(cq_index_store_open(&s, test_path("five"), false, NULL), CQ_ERR_FORMAT);
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
  cq_index_store *s = fresh("eleven");
  cq_index_store_close(s);
  write_text(test_path("eleven/manifest.json"), first);
  for (int again = 0; again < 2; again++) { /* changes without a fingerprint leave the format as it was */
    assert_int_equal(cq_index_store_open(&s, test_path("eleven"), true, NULL), CQ_OK);
    assert_null(cq_index_store_info(s).fingerprint);
    assert_int_equal(cq_index_store_append(s, again ? &two : &one, 1, vector, NULL), CQ_OK);
    if (again) assert_int_equal(cq_index_store_set_fingerprint(s, "feed", NULL), CQ_OK);
    assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
    cq_index_store_close(s);
  }
  assert_int_equal(cq_index_store_open(&s, test_path("eleven"), false, NULL), CQ_OK);
  assert_string_equal(cq_index_store_info(s).fingerprint, "feed");
  assert_int_equal(cq_index_store_info(s).n, 2);
  cq_index_store_close(s);
  char *manifest = (char *)read_bytes(&n, test_path("eleven/manifest.json"));
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
    cq_index_store_delete(s, i);
    assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  }
  cq_index_store_close(s);
  for (size_t i = 0; i < 3; i++) write_bytes(test_path(left[i]), "left", 4);
  assert_int_equal(cq_index_store_open(&s, test_path("eight"), false, NULL), CQ_OK); /* a reader removes nothing */
  cq_index_store_close(s);
  for (size_t i = 0; i < 3; i++) assert_int_equal(access(test_path(left[i]), F_OK), 0);
  assert_int_equal(cq_index_store_open(&s, test_path("eight"), true, NULL), CQ_OK);
  assert_int_equal(cq_index_store_info(s).n_live, 0);
  cq_index_store_close(s);
  for (size_t i = 0; i < 3; i++) assert_int_not_equal(access(test_path(left[i]), F_OK), 0);
  assert_int_equal(access(test_path("eight/deleted-2"), F_OK), 0);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  cq_index_store *s = fresh("six");
  const cq_index_record one = record("a", "de", "Eins.");
  const float vector[DIM] = {1, 2, 3};
  assert_int_equal(cq_index_store_append(s, &one, 1, vector, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  cq_index_store_close(s);
  for (long n = 1;; n++) {
    cq_alloc_fail_at(n);
    cq_status status = cq_index_store_open(&s, test_path("six"), true, NULL);
    if (!status) {
      status = cq_index_store_append(s, &one, 1, vector, NULL);
      if (!status) status = cq_index_store_commit(s, NULL);
      cq_index_store_close(s);
    }
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    if (!failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(changes_count_when_committed),     cmocka_unit_test(what_was_not_committed_is_written_over),
      cmocka_unit_test(bad_documents_are_refused),        cmocka_unit_test(one_process_writes),
      cmocka_unit_test(broken_files_are_named),           cmocka_unit_test(the_first_format_gets_a_fingerprint),
      cmocka_unit_test(what_never_counted_takes_no_room), cmocka_unit_test(other_generations_are_cleared_up),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
