/* The index on disk: what counts, what does not yet, and what a broken one says. */
#include "support/files.h"
#include "support/index.h"

#include "base/memory.h"
#include "base/slice.h"
#include "store/index_snapshot.h"

#include <sys/stat.h>

enum { DIM = 3 };

static test_record record(const char *id, const char *language, const char *text) {
  return (test_record){cq_slice_of(id), cq_slice_of(language), cq_slice_of(text)};
}

static cq_index_store *fresh(const char *name) {
  cq_index_store *s;
  assert_int_equal(cq_index_store_create(test_path(name), "a model", "f00d", DIM, false, NULL), CQ_OK);
  assert_int_equal(cq_index_store_open(&s, test_path(name), true, NULL), CQ_OK);
  return s;
}

/* The newest snapshot; the store owns it. */
static cq_index_snapshot *newest(cq_index_store *s) {
  cq_index_snapshot *snapshot = cq_index_store_hold(s);
  cq_index_snapshot_release(snapshot);
  return snapshot;
}

static cq_index_info info_of(cq_index_store *s) {
  return cq_index_snapshot_info(newest(s));
}

/* Good until the next call. */
static cq_document document_of(const cq_index_snapshot *snapshot, int64_t record) {
  static cq_arena arena;
  cq_arena_free(&arena);
  return test_document(snapshot, &arena, record);
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
  const test_record records[] = {record("a", "de", "Eins."), record("b", "", "T\two.")};
  const float vectors[2 * DIM] = {1, 2, 3, 4, 5, 6};
  assert_int_equal(test_append(s, records, 2, vectors, NULL), CQ_OK);
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
  assert_true(is(document_of(newest(reader), 0).language, "de") && is(document_of(newest(reader), 1).text, "T\two."));
  cq_index_store_close(reader);
  /* b anew, a removed: three records, one of them live. */
  const test_record again = record("b", "en", "Two.");
  assert_int_equal(test_append(s, &again, 1, vectors, NULL), CQ_OK);
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
  const test_record lost = record("lost", "", "A long text that nobody will see."), kept = record("kept", "", "K.");
  const float first[DIM] = {7, 7, 7}, second[DIM] = {1, 0, 0};
  assert_int_equal(test_append(s, &lost, 1, first, NULL), CQ_OK);
  cq_index_store_close(s); /* as a killed process leaves it */
  assert_int_equal(cq_index_store_open(&s, test_path("two"), true, NULL), CQ_OK);
  assert_int_equal(test_append(s, &kept, 1, second, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(info_of(s).n, 1);
  assert_true(is(document_of(newest(s), 0).text, "K."));
  assert_memory_equal(cq_index_snapshot_vectors(newest(s)), second, sizeof second);
  cq_index_store_close(s);
}

static void bad_documents_are_refused(void **state) {
  (void)state;
  cq_index_store *s = fresh("three");
  const float vectors[2 * DIM] = {0};
  const test_record bad = record("", "", "x"), odd = record("a\tb", "d\ne", "x\ny");
  cq_error error = {0};
  assert_int_equal(test_append(s, &bad, 1, vectors, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "a document's id is empty");
  const test_record twice[] = {record("t", "", "x"), record("t", "", "y")};
  assert_int_equal(test_append(s, twice, 2, vectors, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "document 't' appears twice");
  assert_int_equal(test_append(s, twice, 1, vectors, NULL), CQ_OK);
  assert_int_equal(test_append(s, twice + 1, 1, vectors, &error), CQ_ERR_ARGUMENT); /* in another call */
  assert_string_equal(error.message, "document 't' appears twice");
  assert_int_equal(test_append(s, &odd, 1, vectors, NULL), CQ_OK); /* old formats had no place for it */
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_true(is(document_of(newest(s), 1).text, "x\ny"));
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
  assert_int_equal(cq_index_store_create(test_path("four"), "m", "f", DIM, false, NULL), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_index_store_open(&other, test_path("none"), false, NULL), CQ_ERR_IO);
}

/* A failed append leaves all as it was: the same documents can be added when what was wrong is mended. */
static void a_failed_append_changes_nothing(void **state) {
  (void)state;
  cq_index_store *s = fresh("nine");
  const float vectors[3 * DIM] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const test_record old = record("a", "", "Old."),
                    bad[] = {record("a", "", "x"), record("b", "", "y"), record("", "", "z")};
  assert_int_equal(test_append(s, &old, 1, vectors, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(test_append(s, bad, 3, vectors, NULL), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(info_of(s).n, 1);
  assert_int_equal(info_of(s).n_live, 1);
  assert_int_equal(test_append(s, bad, 2, vectors, NULL), CQ_OK);
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
  const test_record a = record("a", "de", "Eins."), b = record("b", "en", "Two.");
  bool changed;
  assert_int_equal(test_append(s, &a, 1, vectors, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(cq_index_store_open(&reader, test_path("ten"), false, NULL), CQ_OK);
  cq_index_snapshot *before = cq_index_store_hold(reader);
  assert_int_equal(cq_index_store_refresh(reader, &changed, NULL), CQ_OK);
  assert_false(changed);
  assert_int_equal(test_append(s, &b, 1, vectors + DIM, NULL), CQ_OK);
  assert_int_equal(removed(s, "a"), 1);
  assert_int_equal(cq_index_store_refresh(reader, &changed, NULL), CQ_OK);
  assert_false(changed);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(info_of(reader).n, 1);
  assert_int_equal(cq_index_store_refresh(reader, &changed, NULL), CQ_OK);
  assert_true(changed);
  assert_int_equal(info_of(reader).n, 2);
  assert_int_equal(info_of(reader).n_live, 1);
  assert_true(is(document_of(newest(reader), 1).id, "b"));
  assert_true(is(document_of(newest(reader), 1).text, "Two."));
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
  assert_true(is(document_of(before, 0).text, "Eins."));
  assert_memory_equal(cq_index_snapshot_vectors(before), vectors, sizeof(float) * DIM);
  cq_index_snapshot_release(before);
}

static void readers_do_not_write(void **state) {
  (void)state;
  cq_index_store_close(fresh("eleven"));
  cq_index_store *s;
  const test_record one = record("a", "", "x");
  const float vector[DIM] = {1, 2, 3};
  cq_error error = {0};
  size_t n;
  assert_int_equal(cq_index_store_open(&s, test_path("eleven"), false, NULL), CQ_OK);
  assert_int_equal(test_append(s, &one, 1, vector, &error), CQ_ERR_ARGUMENT);
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
  const test_record records[] = {record("a", "de", "Eins."), record("b", "", "Two.")};
  const float vectors[2 * DIM] = {1, 2, 3, 4, 5, 6};
  assert_int_equal(test_append(s, records, 2, vectors, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(removed(s, "a"), 1);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  cq_index_store_close(s);
  static const char *const files[] = {"five/passages-1", "five/vectors-1", "five/manifest.json"};
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
  static const char *const formats[] = {"something else", "calque index 5", "calque index", "calque index 3"};
  for (int i = 0; i < 4; i++) { /* all the rest is as it should be */
    char text[200];
    cq_error error = {0};
    snprintf(text, sizeof text, "{\"format\": \"%s\", \"model\": \"m\", \"fingerprint\": \"f\", \"dim\": 3}",
             formats[i]);
    write_text(test_path("five/manifest.json"), text);
    assert_int_equal(cq_index_store_open(&s, test_path("five"), false, &error), CQ_ERR_FORMAT);
    assert_non_null(strstr(error.message, "not \"calque index 4\": build the index again"));
    assert_non_null(strstr(error.message, formats[i]));
  }
  write_text(test_path("five/manifest.json"),
             "{\"format\": \"calque index 4\", \"model\": \"m\", \"fingerprint\": \"f\", "
             "\"identity\": \"0123456789abcdef0123456789abcdef\", \"dim\": 1048577}");
  assert_int_equal(cq_index_store_open(&s, test_path("five"), false, NULL), CQ_ERR_FORMAT);
}

/* --- damage inside of SQLite's pages --- */

static void add_found(void *context, cq_slice language, size_t n_documents) {
  char(*to)[2048] = context;
  const size_t n = strlen(*to);
  assert_int_equal(n_documents, 1);
  snprintf(*to + n, sizeof *to - n, "%.*s;", (int)language.n, language.data);
}

/* All that can be asked of the documents. */
static cq_status ask_all(char (*to)[2048], cq_index_snapshot *snapshot, const char *const *ids, size_t n_ids,
                         cq_error *error) {
  cq_status status = CQ_OK;
  unsigned char *records = NULL;
  int64_t n_selected = 0;
  **to = 0;
  for (size_t i = 0; !status && i < n_ids; i++) {
    const size_t at = strlen(*to);
    int64_t first = -2;
    cq_arena arena = {0};
    cq_document d;
    status = cq_index_snapshot_find(&first, snapshot, cq_slice_of(ids[i]), error);
    if (!status) status = cq_index_snapshot_document(&d, &arena, snapshot, (int64_t)i, error);
    if (!status)
      snprintf(*to + at, sizeof *to - at, "%d %.*s %.*s;", (int)first, (int)d.id.n, d.id.data, (int)d.text.n,
               d.text.data);
    cq_arena_free(&arena);
  }
  if (!status) status = cq_index_snapshot_languages(snapshot, add_found, to, error);
  if (!status) status = cq_index_snapshot_select(&records, &n_selected, snapshot, "language = en", error);
  snprintf(*to + strlen(*to), sizeof *to - strlen(*to), "%d", (int)n_selected);
  cq_free(records);
  return status;
}

/* Every byte of the database that is not 0, and many of the others, with one bit changed: the check notices each, and no
 * answer differs without an error. */
static void damage_inside_the_database_is_noticed(void **state) {
  (void)state;
  static const char *const ids[] = {"first-of-all", "second-of-all", "third-of-all"};
  static const char *const texts[] = {"A text of the first.", "A text of the second.", "A text of the third."};
  static char sound[2048], found[2048];
  cq_index_store *s = fresh("pages");
  const float vectors[3 * DIM] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  test_record records[3];
  size_t n, n_tried = 0;
  for (int i = 0; i < 3; i++) records[i] = record(ids[i], i ? "en" : "de", texts[i]);
  assert_int_equal(test_append(s, records, 3, vectors, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(cq_index_snapshot_verify(newest(s), NULL, NULL), CQ_OK);
  assert_int_equal(ask_all(&sound, newest(s), ids, 3, NULL), CQ_OK);
  cq_index_store_close(s);
  unsigned char *whole = read_bytes(&n, test_path("pages/documents-1"));
  for (size_t at = 0; at < n; at++) {
    cq_error error = {0};
    if (!whole[at] && at % 64) continue;
    /* It stays UTF-8; of the 8 reserved bytes, there are none. */
    const unsigned char bit = (unsigned char)(at == 20 ? 8 : 1u << at % 7);
    whole[at] ^= bit;
    write_bytes(test_path("pages/documents-1"), whole, n);
    whole[at] ^= bit;
    cq_status status = cq_index_store_open(&s, test_path("pages"), false, &error);
    if (!status) {
      if (!ask_all(&found, newest(s), ids, 3, &error) && strcmp(found, sound) != 0) fail_msg("byte %zu: %s", at, found);
      status = cq_index_snapshot_verify(newest(s), NULL, &error);
      cq_index_store_close(s);
    }
    if (!status) fail_msg("byte %zu is not noticed", at);
    if (!strstr(error.message, "/pages/documents-1: page ")) fail_msg("byte %zu: %s", at, error.message);
    n_tried++;
  }
  print_message("%zu changes are noticed\n", n_tried);
  free(whole);
}

/* --- several passages, filters, compaction --- */

static void append_passages(cq_index_store *s, const char *id, const char *metadata, size_t n) {
  static const float vectors[4 * DIM] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  static const cq_index_passage passages[] = {{0, 0, 2, 0}, {0, 2, 4, 0}, {0, 4, 6, 0}, {0, 6, 8, 0}};
  const cq_document d = {.id = cq_slice_of(id),
                         .language = cq_slice_of("de"),
                         .text = cq_slice_of("abcdefgh"),
                         .metadata = cq_slice_of(metadata)};
  cq_error error = {0};
  if (cq_index_store_append(s, &(cq_index_addition){&d, passages, n}, 1, vectors, &error))
    fail_msg("%s", error.message);
}

static size_t selected(cq_index_store *s, const char *filter) {
  unsigned char *records;
  int64_t n;
  cq_error error = {0};
  if (cq_index_snapshot_select(&records, &n, newest(s), filter, &error)) fail_msg("%s: %s", filter, error.message);
  cq_free(records);
  return (size_t)n;
}

static void documents_have_passages(void **state) {
  (void)state;
  cq_index_store *s = fresh("passages");
  int64_t first;
  append_passages(s, "a", "{\"year\": 2020}", 3);
  append_passages(s, "b", "{\"year\": \"2021\", \"tags\": [\"x\", \"y\"]}", 1);
  append_passages(s, "c", "", 4);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(info_of(s).n, 8);
  assert_int_equal(info_of(s).n_documents, 3);
  assert_int_equal(cq_index_snapshot_passage(newest(s), 6).first, 4);
  assert_int_equal(cq_index_snapshot_passage(newest(s), 6).begin, 4);
  assert_int_equal(selected(s, ""), 8);
  assert_int_equal(selected(s, "year = 2020"), 3);
  assert_int_equal(selected(s, "year > 2020"), 1);
  assert_int_equal(selected(s, "year != 2020"), 5);
  assert_int_equal(selected(s, "tags = y or id = c"), 5);
  assert_int_equal(selected(s, "lang = de and not (has year)"), 4);
  assert_int_equal(selected(s, "lang = fr"), 0);
  append_passages(s, "a", "", 2); /* in place of the three */
  assert_int_equal(removed(s, "c"), 1);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(info_of(s).n_live, 3);
  assert_int_equal(info_of(s).n_documents, 2);
  assert_int_equal(selected(s, "year = 2020"), 0);
  cq_index_snapshot *before = cq_index_store_hold(s);
  append_passages(s, "d", "", 1);
  cq_error error = {0};
  assert_int_equal(cq_index_store_compact(s, NULL, 0, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "changes that are not committed"));
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(cq_index_store_compact(s, NULL, 0, NULL), CQ_OK);
  assert_int_equal(info_of(s).n, 4);
  assert_int_equal(info_of(s).n_live, 4);
  assert_int_equal(info_of(s).n_documents, 3);
  assert_int_equal(cq_index_snapshot_verify(newest(s), NULL, NULL), CQ_OK);
  assert_int_equal(cq_index_snapshot_find(&first, newest(s), cq_slice_of("a"), NULL), CQ_OK);
  assert_int_equal(first, 1);
  assert_true(is(document_of(newest(s), first).id, "a"));
  assert_true(cq_index_snapshot_vectors(newest(s))[DIM * 2] == 4);
  assert_int_equal(access(test_path("passages/vectors-1"), F_OK), -1);
  assert_int_equal(cq_index_snapshot_info(before).n, 10); /* as it was */
  assert_true(is(document_of(before, 3).id, "b"));
  assert_true(cq_index_snapshot_vectors(before)[DIM] == 4);
  cq_index_snapshot_release(before);
  append_passages(s, "e", "", 1); /* and it goes on */
  assert_int_equal(removed(s, "a"), 1);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  assert_int_equal(info_of(s).n_documents, 3);
  cq_index_store_close(s);
}

static void filters_that_are_none_are_refused(void **state) {
  (void)state;
  static const char *const bad[][2] = {{"year >", "it ends where a value is expected"},
                                       {"= 3", "at byte 1: expected the name of a field, not '='"},
                                       {"a = 1 b", "at byte 7: expected 'and', 'or' or the end, not 'b'"},
                                       {"(a = 1", "it ends where ')', 'and' or 'or' is expected"},
                                       {"a in []", "at byte 7: expected a value, not ']'"},
                                       {"a in [1 2]", "at byte 9: expected ',' or ']', not '2'"},
                                       {"a = \"x", "the quotation mark at byte 5 is not closed"},
                                       {"a not b", "at byte 7: expected 'in', not 'b'"},
                                       {"a ~ b", "at byte 3: expected =, !=, <, <=, >, >= or 'in', not '~'"},
                                       {"a = \xff", "not UTF-8 at byte 5"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    cq_filter filter;
    cq_error error = {0};
    assert_int_equal(cq_filter_parse(&filter, cq_slice_of(bad[i][0]), &error), CQ_ERR_ARGUMENT);
    if (!strstr(error.message, bad[i][1])) fail_msg("'%s': %s", bad[i][0], error.message);
  }
}

/* A killed writer's tail is cut when the next one opens: a full disk has its room back. */
static void what_never_counted_takes_no_room(void **state) {
  (void)state;
  static const char *const files[] = {"seven/passages-1", "seven/vectors-1"};
  cq_index_store *s = fresh("seven");
  const test_record one = record("a", "de", "Eins."), two = record("b", "de", "Zwei.");
  const float vector[DIM] = {1, 2, 3};
  size_t committed[2], n;
  assert_int_equal(test_append(s, &one, 1, vector, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  for (size_t f = 0; f < 2; f++) free(read_bytes(&committed[f], test_path(files[f])));
  assert_int_equal(test_append(s, &two, 1, vector, NULL), CQ_OK);
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
  static const char *const left[] = {"eight/deleted-1", "eight/deleted-3", "eight/approximate-1", "eight/words-1",
                                     "eight/vectors-2"};
  cq_index_store *s = fresh("eight");
  const test_record both[] = {record("a", "de", "Eins."), record("b", "de", "Zwei.")};
  const float vectors[2 * DIM] = {1, 2, 3, 4, 5, 6};
  assert_int_equal(test_append(s, both, 2, vectors, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  for (int64_t i = 0; i < 2; i++) {
    assert_int_equal(removed(s, i ? "b" : "a"), 1);
    assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  }
  cq_index_store_close(s);
  for (size_t i = 0; i < 5; i++) write_bytes(test_path(left[i]), "left", 4);
  assert_int_equal(cq_index_store_open(&s, test_path("eight"), false, NULL), CQ_OK); /* a reader removes nothing */
  cq_index_store_close(s);
  for (size_t i = 0; i < 5; i++) assert_int_equal(access(test_path(left[i]), F_OK), 0);
  assert_int_equal(cq_index_store_open(&s, test_path("eight"), true, NULL), CQ_OK);
  assert_int_equal(info_of(s).n_live, 0);
  cq_index_store_close(s);
  for (size_t i = 0; i < 5; i++) assert_int_not_equal(access(test_path(left[i]), F_OK), 0);
  assert_int_equal(access(test_path("eight/deleted-2"), F_OK), 0);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  cq_index_store *s = fresh("six"), *reader;
  const test_record one = record("a", "de", "Eins.");
  const float vector[DIM] = {1, 2, 3};
  bool changed;
  assert_int_equal(test_append(s, &one, 1, vector, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  cq_index_store_close(s);
  for (long n = 1;; n++) {
    assert_int_equal(cq_index_store_open(&reader, test_path("six"), false, NULL), CQ_OK);
    cq_alloc_fail_at(n);
    cq_status status = cq_index_store_open(&s, test_path("six"), true, NULL);
    if (!status) {
      status = test_append(s, &one, 1, vector, NULL);
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
  const test_record one = record("a", "de", "Eins."), two = record("b", "de", "Zwei.");
  const float vector[DIM] = {1, 2, 3};
  assert_int_equal(test_append(s, &one, 1, vector, NULL), CQ_OK);
  assert_int_equal(cq_index_store_commit(s, NULL), CQ_OK);
  for (int commits = 0; commits < 2; commits++) {
    bool failed = true;
    if (!commits) assert_int_equal(removed(s, "a"), 1);
    for (long n = 1; failed; n++) {
      cq_alloc_fail_at(n);
      const cq_status status = commits ? cq_index_store_commit(s, NULL) : test_append(s, &two, 1, vector, NULL);
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
  assert_true(is(document_of(newest(s), 1).text, "Zwei."));
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
      cmocka_unit_test(damage_inside_the_database_is_noticed),
      cmocka_unit_test(documents_have_passages),
      cmocka_unit_test(filters_that_are_none_are_refused),
      cmocka_unit_test(a_failed_call_can_be_made_again),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
