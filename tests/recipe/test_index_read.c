/* Documents of a reader into an index: batches, mirroring, stopping, and memory that runs out. */
#include "support/files.h"

#include "base/memory.h"
#include "base/slice.h"
#include "calque/calque.h"

#define MODEL CQ_TESTS_DIR "/golden/models/static-mean"

static cq_index *open_index(const char *name, bool fresh) {
  cq_index *index = NULL;
  cq_error error = {0};
  cq_index_options o = cq_index_default_options();
  o.model = MODEL, o.writing = true;
  if ((fresh && cq_index_create(test_path(name), &o, &error)) || cq_index_open(&index, test_path(name), &o, &error))
    fail_msg("%s", error.message);
  return index;
}

typedef struct progress {
  uint64_t told[16];
  size_t n;
  uint64_t stop_at; /* 0: never */
} progress;

static bool note_progress(void *context, uint64_t n_read) {
  progress *p = context;
  assert_true(p->n < 16);
  p->told[p->n++] = n_read;
  return p->stop_at == 0 || n_read < p->stop_at;
}

/* All lines of a text, "id TAB text" each, by one call; NULL: to be mirrored. */
static cq_status read_text(cq_index *index, const char *text, size_t batch, bool mirror, cq_index_read_result *r,
                           progress *p, cq_error *error) {
  cq_documents *in = NULL;
  cq_index_read_options o = cq_index_read_default_options();
  const char *path = test_path("documents.tsv");
  o.batch = batch, o.mirror = mirror, o.progress = p ? note_progress : NULL, o.progress_context = p;
  write_text(path, text);
  cq_status status = cq_documents_open(&in, &path, 1, NULL, error);
  if (!status) status = cq_index_read(index, in, r, &o, NULL, error);
  cq_documents_close(in);
  return status;
}

static void batches_do_not_matter(void **state) {
  (void)state;
  static const char text[] = "a\tone river\nb\ttwo rivers\nc\t \nd\tfour\ne\tfive\n";
  for (size_t batch = 1; batch <= 5; batch++) {
    char name[32];
    progress p = {.n = 0};
    cq_error error = {0};
    cq_index_read_result r;
    snprintf(name, sizeof name, "batch-%zu.index", batch);
    cq_index *index = open_index(name, true);
    if (read_text(index, text, batch, false, &r, &p, &error)) fail_msg("%s", error.message);
    assert_int_equal(r.n_added, 4);
    assert_int_equal(r.n_blank, 1);
    assert_int_equal(r.n_unchanged + r.n_removed + r.n_skipped, 0);
    assert_true(batch > 1 || p.n == 5); /* the blank one as well */
    assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
    assert_int_equal(cq_index_size(index), 4);
    cq_index_free(index);
  }
}

static void a_mirror_has_what_the_reader_has(void **state) {
  (void)state;
  cq_error error = {0};
  cq_index_read_result r;
  cq_document *d;
  cq_index *index = open_index("mirror.index", true);
  if (read_text(index, "a\tone\nb\ttwo\nc\tthree\n", 2, true, &r, NULL, &error)) fail_msg("%s", error.message);
  assert_int_equal(r.n_added, 3);
  assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
  if (read_text(index, "c\tthree\nd\tfour\nb\ttwo more\n", 2, true, &r, NULL, &error)) fail_msg("%s", error.message);
  assert_int_equal(r.n_added, 2);
  assert_int_equal(r.n_unchanged, 1);
  assert_int_equal(r.n_removed, 1);
  assert_int_equal(cq_index_size(index), 3); /* before the commit */
  assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
  assert_int_equal(cq_index_size(index), 3);
  assert_int_equal(cq_index_get(&d, index, cq_slice_of("a"), NULL), CQ_OK);
  assert_null(d);
  assert_int_equal(cq_index_get(&d, index, cq_slice_of("b"), NULL), CQ_OK);
  assert_memory_equal(d->text.data, "two more", 8);
  cq_free(d);
  /* An id that appears twice is refused, unchanged or not. */
  assert_int_equal(read_text(index, "c\tthree\nc\tthree\nc\tthree\n", 9, true, &r, NULL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "'c'"));
  cq_index_free(index);
}

static void a_stop_and_an_error_commit_nothing(void **state) {
  (void)state;
  cq_error error = {0};
  cq_index_read_result r = {.n_added = 77};
  progress p = {.stop_at = 2};
  cq_index *index = open_index("stop.index", true);
  assert_int_equal(read_text(index, "a\tone\nb\ttwo\nc\tthree\n", 1, true, &r, &p, &error), CQ_ERR_STOPPED);
  assert_int_equal(r.n_added, 77);
  assert_int_equal(p.n, 2);
  cq_index_free(index);
  index = open_index("stop.index", false);
  assert_int_equal(cq_index_size(index), 0);
  assert_int_equal(read_text(index, "a\tone\nb\tt\xffwo\n", 1, true, &r, NULL, &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "documents.tsv:2"));
  cq_index_free(index);
  index = open_index("stop.index", false);
  assert_int_equal(cq_index_size(index), 0);
  cq_index_free(index);
}

/* Whichever allocation fails, the error says so, and another try adds all. */
static void every_allocation_may_fail(void **state) {
  (void)state;
  cq_error error = {0};
  cq_index_read_result r;
  cq_index *index = open_index("memory.index", true);
  if (read_text(index, "a\tone\nb\ttwo\n", 2, true, &r, NULL, &error)) fail_msg("%s", error.message);
  assert_int_equal(cq_index_commit(index, NULL), CQ_OK);
  cq_index_free(index);
  bool failed = true;
  for (long n = 1; failed; n++) {
    index = open_index("memory.index", false);
    cq_alloc_fail_at(n);
    const cq_status status = read_text(index, "a\tone\nc\tthree\n", 1, true, &r, NULL, &error);
    failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (status != (failed ? CQ_ERR_MEMORY : CQ_OK)) fail_msg("allocation %ld: %s", n, error.message);
    cq_index_free(index);
  }
  assert_int_equal(r.n_unchanged + r.n_added + r.n_removed, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(batches_do_not_matter),
      cmocka_unit_test(a_mirror_has_what_the_reader_has),
      cmocka_unit_test(a_stop_and_an_error_commit_nothing),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
