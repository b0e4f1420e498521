/* Hubness of an index on disk: a number for every record that counts, with the queries that it is of. */
#include "support/files.h"
#include "support/index.h"

#include "store/index_snapshot.h"

enum { DIM = 3, N_QUERIES = 2 };
static const float queries[N_QUERIES * DIM] = {1, 0, 0, 0, 1, 0}, others[DIM] = {0, 0, 1};

static cq_index_snapshot *newest(cq_index_store *s) {
  cq_index_snapshot *snapshot = cq_index_store_hold(s);
  cq_index_snapshot_release(snapshot);
  return snapshot;
}

static void append(cq_index_store *s, const char *ids) {
  static const float vector[DIM] = {1, 2, 3};
  for (; *ids; ids++) {
    const test_record record = {{ids, 1}, {"", 0}, {"text", 4}};
    assert_int_equal(test_append(s, &record, 1, vector, NULL), CQ_OK);
  }
}

/* An index of a, b and c, whose numbers are 0.1, 0.2 and 0.3. */
static cq_index_store *fresh(const char *name) {
  static const float means[] = {0.1F, 0.2F, 0.3F};
  cq_index_store *s;
  assert_int_equal(cq_index_store_create(test_path(name), "a model", "f00d", DIM, false, NULL), CQ_OK);
  assert_int_equal(cq_index_store_open(&s, test_path(name), true, NULL), CQ_OK);
  append(s, "abc");
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_null(cq_index_snapshot_hubness(newest(s)));
  assert_int_equal(cq_index_store_set_hubness(s, queries, N_QUERIES, 1, means, NULL), CQ_OK);
  assert_null(cq_index_snapshot_hubness(newest(s))); /* as long as it is not committed */
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  return s;
}

static void numbers_are(cq_index_store *s, const float *means, int64_t n) {
  const cq_index_snapshot *snapshot = newest(s);
  const cq_index_info info = cq_index_snapshot_info(snapshot);
  float *read;
  int64_t n_queries, k;
  cq_error error = {0};
  assert_int_equal(info.n, n);
  assert_int_equal(info.n_queries, N_QUERIES);
  assert_int_equal(info.k, 1);
  for (int64_t i = 0; i < n; i++)
    if (cq_index_snapshot_hubness(snapshot)[i].mean != means[i])
      fail_msg("record %d: %g", (int)i, (double)cq_index_snapshot_hubness(snapshot)[i].mean);
  if (cq_index_snapshot_verify(snapshot, NULL, &error) || cq_index_store_verify_queries(s, snapshot, &error))
    fail_msg("%s", error.message);
  if (cq_index_store_check_writing(s, NULL)) return;
  assert_int_equal(cq_index_store_queries(&read, &n_queries, &k, s, NULL), CQ_OK);
  assert_int_equal(n_queries, N_QUERIES);
  assert_memory_equal(read, queries, sizeof queries);
  cq_free(read);
}

static void every_record_has_its_number(void **state) {
  (void)state;
  cq_index_store *s = fresh("one"), *reader;
  const cq_slice b = {"b", 1};
  const float more = 0.4F;
  cq_error error = {0};
  bool changed;
  size_t n;
  numbers_are(s, (const float[]){0.1F, 0.2F, 0.3F}, 3);
  assert_int_equal(cq_index_store_open(&reader, test_path("one"), false, NULL), CQ_OK);
  append(s, "d");
  assert_int_equal(cq_index_store_n_hubs(s), 3);
  assert_int_equal(cq_index_store_commit(s, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "3 records have hubness, there are 4"));
  assert_int_equal(cq_index_store_add_hubs(s, (const float[]){1, 2}, 2, &error), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_index_store_add_hubs(s, &more, 1, NULL), CQ_OK);
  assert_int_equal(cq_index_store_remove(s, &b, 1, &n, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  numbers_are(s, (const float[]){0.1F, 0.2F, 0.3F, 0.4F}, 4);
  numbers_are(reader, (const float[]){0.1F, 0.2F, 0.3F}, 3); /* what it had open */
  cq_index_snapshot *before = cq_index_store_hold(s);
  assert_int_equal(cq_index_store_compact(s, NULL, 0, NULL), CQ_OK);
  numbers_are(s, (const float[]){0.1F, 0.3F, 0.4F}, 3);
  assert_true(cq_index_snapshot_hubness(before)[1].mean == 0.2F);
  cq_index_snapshot_release(before);
  assert_int_equal(access(test_path("one/hubness-1"), F_OK), -1);
  assert_int_equal(access(test_path("one/queries-1"), F_OK), -1);
  append(s, "e"); /* and it goes on */
  assert_int_equal(cq_index_store_add_hubs(s, &more, 1, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  cq_index_store_close(s);
  assert_int_equal(cq_index_store_refresh(reader, &changed, NULL), CQ_OK);
  numbers_are(reader, (const float[]){0.1F, 0.3F, 0.4F, 0.4F}, 4);
  cq_index_store_close(reader);
}

/* Numbers of other queries, and none at all. */
static void they_are_replaced_and_dropped(void **state) {
  (void)state;
  cq_index_store *s = fresh("two");
  const float means[] = {0.5F, 0.6F, 0.7F, 0.8F};
  cq_error error = {0};
  append(s, "d");
  assert_int_equal(cq_index_store_set_hubness(s, others, 1, 2, means, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "by the 2 nearest of 1 queries"));
  assert_int_equal(cq_index_store_n_hubs(s), 3); /* as it was */
  assert_int_equal(cq_index_store_set_hubness(s, others, 1, 1, means, NULL), CQ_OK);
  assert_int_equal(cq_index_store_compact(s, NULL, 0, &error), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(cq_index_snapshot_info(newest(s)).n_queries, 1);
  assert_true(cq_index_snapshot_hubness(newest(s))[3].mean == 0.8F);
  assert_int_equal(access(test_path("two/hubness-1"), F_OK), -1);
  assert_int_equal(cq_index_store_set_hubness(s, NULL, 0, 0, NULL, NULL), CQ_OK);
  assert_int_equal(cq_index_store_compact(s, NULL, 0, &error), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_null(cq_index_snapshot_hubness(newest(s)));
  assert_int_equal(access(test_path("two/hubness-2"), F_OK), -1);
  assert_int_equal(access(test_path("two/queries-2"), F_OK), -1);
  append(s, "e"); /* which needs none */
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(cq_index_store_compact(s, NULL, 0, NULL), CQ_OK);
  assert_int_equal(cq_index_snapshot_verify(newest(s), NULL, NULL), CQ_OK);
  cq_index_store_close(s);
}

/* What a killed process wrote does not count, and is gone when the next one writes. */
static void what_was_not_committed_is_gone(void **state) {
  (void)state;
  cq_index_store *s = fresh("three");
  size_t n;
  append(s, "d");
  assert_int_equal(cq_index_store_add_hubs(s, (const float[]){9}, 1, NULL), CQ_OK);
  cq_index_store_close(s);
  assert_int_equal(cq_index_store_open(&s, test_path("three"), true, NULL), CQ_OK);
  free(read_bytes(&n, test_path("three/hubness-1")));
  assert_int_equal(n, 3 * sizeof(cq_index_hub));
  assert_int_equal(cq_index_store_set_hubness(s, others, 1, 1, (const float[]){1, 2, 3}, NULL), CQ_OK);
  cq_index_store_close(s);
  assert_int_equal(access(test_path("three/hubness-2"), F_OK), 0);
  assert_int_equal(cq_index_store_open(&s, test_path("three"), true, NULL), CQ_OK);
  assert_int_equal(access(test_path("three/hubness-2"), F_OK), -1);
  assert_int_equal(access(test_path("three/queries-2"), F_OK), -1);
  numbers_are(s, (const float[]){0.1F, 0.2F, 0.3F}, 3);
  cq_index_store_close(s);
}

static cq_status check(cq_error *error) {
  cq_index_store *s;
  *error = (cq_error){0};
  cq_status status = cq_index_store_open(&s, test_path("four"), false, error);
  if (status) return status;
  status = cq_index_snapshot_verify(newest(s), NULL, error);
  if (!status) status = cq_index_store_verify_queries(s, newest(s), error);
  cq_index_store_close(s);
  return status;
}

/* Every bit of both files, every length of them, and every digit of the manifest. */
static void damage_is_named(void **state) {
  (void)state;
  static const char *const files[] = {"hubness-1", "queries-1", "manifest.json"};
  cq_index_store_close(fresh("four"));
  for (int f = 0; f < 3; f++) {
    char path[32];
    size_t n;
    cq_error error;
    snprintf(path, sizeof path, "four/%s", files[f]);
    unsigned char *whole = read_bytes(&n, test_path(path));
    for (size_t i = 0; i < (f < 2 ? 8 * n : n); i++) {
      if (f == 2 && (whole[i] < '0' || whole[i] > '9')) continue;
      const size_t byte = f < 2 ? i / 8 : i;
      const unsigned char bit = (unsigned char)(f < 2 ? 1u << i % 8 : 1);
      whole[byte] ^= bit;
      write_bytes(test_path(path), whole, n);
      whole[byte] ^= bit;
      assert_int_equal(check(&error), CQ_ERR_FORMAT);
      assert_non_null(strstr(error.message, files[f]));
      char place[100];
      snprintf(place, sizeof place, "record %zu (bytes %zu to %zu)", byte / 8, byte / 8 * 8, byte / 8 * 8 + 7);
      if (f == 0) assert_non_null(strstr(error.message, place));
    }
    for (size_t cut = 0; f < 2 && cut < n; cut++) {
      write_bytes(test_path(path), whole, cut);
      assert_int_equal(check(&error), CQ_ERR_FORMAT);
      assert_non_null(strstr(error.message, files[f]));
    }
    write_bytes(test_path(path), whole, n);
    free(whole);
    assert_int_equal(check(&error), CQ_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_record_has_its_number),
      cmocka_unit_test(they_are_replaced_and_dropped),
      cmocka_unit_test(what_was_not_committed_is_gone),
      cmocka_unit_test(damage_is_named),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
