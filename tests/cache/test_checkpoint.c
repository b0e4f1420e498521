/* Checkpoints come back bit for bit; any damage is found; an interrupted write leaves the old one. */
#include "support/files.h"

#include "base/memory.h"
#include "cache/checkpoint.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void write_sample(const char *path) {
  cq_checkpoint_writer *w;
  cq_error error = {0};
  static const float weights[33] = {1.5f, -2.0f, 3.25f};
  assert_int_equal(cq_checkpoint_writer_open(&w, path, &error), CQ_OK);
  assert_int_equal(cq_checkpoint_writer_section(w, "weights", weights, sizeof weights, &error), CQ_OK);
  assert_int_equal(cq_checkpoint_writer_section(w, "empty", NULL, 0, &error), CQ_OK);
  assert_int_equal(
      cq_checkpoint_writer_section(w, "a section whose name is longer than thirty-two bytes", "abc", 3, &error), CQ_OK);
  assert_int_equal(cq_checkpoint_writer_commit(w, &error), CQ_OK);
}

static void sections_come_back(void **state) {
  (void)state;
  cq_checkpoint *c;
  cq_error error = {0};
  float weights[33];
  size_t n = 99;
  const void *data;
  write_sample(test_path("state"));
  assert_int_equal(cq_checkpoint_open(&c, test_path("state"), &error), CQ_OK);
  assert_int_equal(cq_checkpoint_count(c), 3);
  assert_string_equal(cq_checkpoint_name(c, 1), "empty");
  assert_int_equal(cq_checkpoint_read(weights, sizeof weights, c, "weights", &error), CQ_OK);
  assert_true(weights[2] == 3.25f && weights[32] == 0);
  assert_int_equal((uintptr_t)cq_checkpoint_find(&n, c, "weights") % 64, 0);
  assert_non_null(cq_checkpoint_find(&n, c, "empty"));
  assert_int_equal(n, 0);
  assert_memory_equal(cq_checkpoint_find(&n, c, "a section whose name is longer than thirty-two bytes"), "abc", 3);
  assert_null(cq_checkpoint_find(&n, c, "weight"));
  assert_int_equal(cq_checkpoint_get(&data, 4, c, "weights", &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "section 'weights' has 132 bytes, expected 4"));
  assert_int_equal(cq_checkpoint_get(&data, 4, c, "bias", &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "no section 'bias'"));
  assert_int_equal(cq_checkpoint_read(&n, 4, c, "weights", &error), CQ_ERR_FORMAT);
  assert_int_equal(cq_checkpoint_read(&n, 4, c, "bias", &error), CQ_ERR_FORMAT);
  assert_int_equal(n, 3); /* left alone */
  cq_checkpoint_close(c);
}

static void every_changed_byte_is_found(void **state) {
  (void)state;
  size_t n;
  write_sample(test_path("good"));
  unsigned char *bytes = read_bytes(&n, test_path("good"));
  for (size_t i = 0; i < n; i++) {
    for (unsigned flip = 1; flip < 256; flip *= 128) {
      cq_checkpoint *c;
      cq_error error = {0};
      bytes[i] ^= (unsigned char)flip;
      write_bytes(test_path("bad"), bytes, n);
      bytes[i] ^= (unsigned char)flip;
      cq_status status = cq_checkpoint_open(&c, test_path("bad"), &error);
      assert_int_equal(status, i >= 8 && i < 16 ? CQ_ERR_UNSUPPORTED : CQ_ERR_FORMAT);
      assert_null(c);
      if (status == CQ_ERR_UNSUPPORTED) assert_int_equal(error.byte, 8); /* where the version is */
      assert_in_range(error.byte, 0, n);
      assert_non_null(strstr(error.message, "byte "));
    }
  }
  free(bytes);
}

static void every_truncation_is_found(void **state) {
  (void)state;
  size_t n;
  write_sample(test_path("good"));
  unsigned char *bytes = read_bytes(&n, test_path("good"));
  for (size_t i = 0; i < n; i++) {
    cq_checkpoint *c;
    cq_error error = {0};
    write_bytes(test_path("bad"), bytes, i);
    assert_int_equal(cq_checkpoint_open(&c, test_path("bad"), &error), CQ_ERR_FORMAT);
    assert_int_equal(error.byte, i < 8 ? 0 : i);
  }
  cq_checkpoint *c;
  cq_error error = {0};
  write_bytes(test_path("bad"), bytes, n + 1);
  assert_int_equal(cq_checkpoint_open(&c, test_path("bad"), &error), CQ_ERR_FORMAT);
  assert_int_equal(error.byte, n);
  free(bytes);
}

static void a_missing_file_is_named(void **state) {
  (void)state;
  cq_checkpoint *c;
  cq_error error = {0};
  assert_int_equal(cq_checkpoint_open(&c, test_path("nothing"), &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "nothing: cannot open"));
}

static void names_are_checked(void **state) {
  (void)state;
  cq_checkpoint_writer *w;
  cq_error error = {0};
  char name[300];
  memset(name, 'x', sizeof name);
  name[256] = '\0';
  assert_int_equal(cq_checkpoint_writer_open(&w, test_path("names"), &error), CQ_OK);
  assert_int_equal(cq_checkpoint_writer_section(w, "", "a", 1, &error), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_checkpoint_writer_section(w, name, "a", 1, &error), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_checkpoint_writer_section(w, name + 1, "a", 1, &error), CQ_OK);
  assert_int_equal(cq_checkpoint_writer_section(w, name + 1, "a", 1, &error), CQ_ERR_ARGUMENT);
  cq_checkpoint_writer_abort(w);
  assert_int_equal(access(test_path("names"), F_OK), -1);
  assert_int_equal(count_files("names"), 0);
}

/* A file-size limit stands for the full disk. */
static void a_full_disk_keeps_the_old_one(void **state) {
  (void)state;
  static char big[1 << 20];
  write_sample(test_path("old"));
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit before, small = {.rlim_cur = 300000, .rlim_max = RLIM_INFINITY};
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small.rlim_max = before.rlim_max;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  cq_checkpoint_writer *w;
  cq_error error = {0};
  cq_status status = cq_checkpoint_writer_open(&w, test_path("old"), &error);
  assert_int_equal(status, CQ_OK);
  status = cq_checkpoint_writer_section(w, "big", big, sizeof big, &error);
  if (status)
    cq_checkpoint_writer_abort(w);
  else
    status = cq_checkpoint_writer_commit(w, &error);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_int_equal(status, CQ_ERR_IO);
  assert_non_null(strstr(error.message, "old: cannot write"));
  cq_checkpoint *c;
  assert_int_equal(cq_checkpoint_open(&c, test_path("old"), &error), CQ_OK);
  assert_int_equal(cq_checkpoint_count(c), 3);
  cq_checkpoint_close(c);
  assert_int_equal(count_files(".tmp"), 0);
}

static void allocation_failures_are_reported(void **state) {
  (void)state;
  for (long n = 1;; n++) {
    cq_error error = {0};
    cq_checkpoint_writer *w = NULL;
    cq_alloc_fail_at(n);
    cq_status status = cq_checkpoint_writer_open(&w, test_path("memory"), &error);
    if (!status) status = cq_checkpoint_writer_section(w, "a", "abc", 3, &error);
    if (!status)
      status = cq_checkpoint_writer_commit(w, &error);
    else
      cq_checkpoint_writer_abort(w);
    bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (!failed) {
      assert_int_equal(status, CQ_OK);
      break;
    }
    /* The name of the file's directory is copied when the file is in place already. */
    assert_int_equal(status, CQ_ERR_MEMORY);
    assert_int_equal(error.status, CQ_ERR_MEMORY);
  }
  assert_int_equal(count_files(".tmp"), 0);
  write_sample(test_path("memory"));
  for (long n = 1;; n++) {
    cq_error error = {0};
    cq_checkpoint *c;
    cq_alloc_fail_at(n);
    cq_status status = cq_checkpoint_open(&c, test_path("memory"), &error);
    bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    cq_checkpoint_close(c);
    if (!failed) break;
    assert_int_equal(status, CQ_ERR_MEMORY);
    assert_null(c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sections_come_back),
      cmocka_unit_test(every_changed_byte_is_found),
      cmocka_unit_test(every_truncation_is_found),
      cmocka_unit_test(a_missing_file_is_named),
      cmocka_unit_test(names_are_checked),
      cmocka_unit_test(a_full_disk_keeps_the_old_one),
      cmocka_unit_test(allocation_failures_are_reported),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
