/* The index of a folder: it follows the folder's files, and says what it has read. */
#include "support/files.h"

#include "calque/calque.h"

#include <sys/stat.h>

#define MODEL CQ_TESTS_DIR "/golden/models/static-mean"
#define OTHER CQ_TESTS_DIR "/golden/models/bert-uncased"

typedef struct seen {
  cq_index_changes last;
  size_t n_reports, n_notices, size;
} seen;

static void report(void *context, const cq_index *index, const cq_index_changes *changes) {
  seen *s = context;
  if (changes) s->last = *changes, s->n_reports++, s->size = cq_index_size(index);
}

static void note(void *context, const char *text) {
  seen *s = context;
  s->n_notices += strstr(text, "rebuilding it with") != NULL;
}

static cq_status follow(seen *s, const char *folder, const char *encoding, const char *model, cq_error *error) {
  char place[4096];
  cq_index_options o = cq_index_default_options();
  const cq_index_folder_watch watch = {.read = report, .context = s};
  *s = (seen){.n_reports = 0};
  o.model = model, o.notice = note, o.notice_context = s;
  const cq_status status = cq_index_folder(place, sizeof place, folder, encoding, &o, &watch, NULL, error);
  if (!status) assert_string_equal(strrchr(place, '/'), "/.calque");
  return status;
}

static void follows_its_files(void **state) {
  (void)state;
  cq_error error = {0};
  seen s;
  assert_int_equal(mkdir(test_path("letters"), 0777), 0);
  write_text(test_path("letters/a.txt"), "One river.\n");
  write_text(test_path("letters/b.txt"), "Two rivers.\n");
  assert_true(cq_index_is_folder(test_path("letters")));
  if (follow(&s, test_path("letters"), NULL, MODEL, &error)) fail_msg("%s", error.message);
  assert_true(s.n_reports == 1 && s.last.n_before == 0 && s.last.read.n_added == 2 && s.size == 2);
  assert_false(cq_index_is_folder(test_path("letters/.calque")));
  if (follow(&s, test_path("letters"), NULL, MODEL, &error)) fail_msg("%s", error.message);
  assert_true(s.n_reports == 1 && s.last.n_before == 2 && s.last.read.n_unchanged == 2 && s.last.read.n_added == 0);
  unlink(test_path("letters/a.txt"));
  write_text(test_path("letters/c.txt"), "Three rivers.\n");
  if (follow(&s, test_path("letters"), NULL, NULL, &error)) fail_msg("%s", error.message);
  assert_true(s.last.read.n_removed == 1 && s.last.read.n_added == 1 && s.size == 2 && s.n_notices == 0);
  if (follow(&s, test_path("letters"), NULL, OTHER, &error)) fail_msg("%s", error.message);
  assert_true(s.last.n_before == 0 && s.last.read.n_added == 2 && s.n_notices == 1); /* made again */
  unlink(test_path("letters/b.txt")), unlink(test_path("letters/c.txt"));            /* the last ones */
  if (follow(&s, test_path("letters"), NULL, NULL, &error)) fail_msg("%s", error.message);
  assert_true(s.n_reports == 1 && s.last.n_before == 2 && s.last.read.n_removed == 2 && s.size == 0);
  if (follow(&s, test_path("letters"), NULL, NULL, &error)) fail_msg("%s", error.message);
  assert_true(s.n_reports == 1 && s.last.n_before == 0 && s.last.read.n_removed == 0 && s.size == 0);
  write_text(test_path("letters/d.txt"), "Four rivers.\n");
  if (follow(&s, test_path("letters"), NULL, NULL, &error)) fail_msg("%s", error.message);
  assert_true(s.last.read.n_added == 1 && s.size == 1 && s.n_notices == 0);
}

static void what_cannot_be_done(void **state) {
  (void)state;
  cq_error error = {0};
  seen s;
  assert_int_equal(follow(&s, test_path("nowhere"), NULL, MODEL, &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "nowhere: cannot be opened"));
  assert_false(cq_index_is_folder(test_path("nowhere")));
  assert_int_equal(mkdir(test_path("empty"), 0777), 0);
  assert_int_equal(follow(&s, test_path("empty"), "no-such-8", MODEL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "no-such-8"));
  assert_int_equal(follow(&s, test_path("empty"), NULL, MODEL, &error), CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "there are no documents to add"));
  assert_int_equal(s.n_reports, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(follows_its_files),
      cmocka_unit_test(what_cannot_be_done),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
