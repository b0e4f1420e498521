/* Parts of a file that are side by side have each of its lines once, in order and with its number, wherever the cuts are. */
#include "support/files.h"

#include "base/memory.h"
#include "calque/lines.h"

static const char *file_of(const char *name, const char *bytes, size_t n) {
  const char *path = test_path(name);
  write_bytes(path, bytes, n);
  return path;
}

/* Adds "NUMBER:LINE|" for each line of a part. */
static void append_part(char *out, const char *path, uint64_t begin, uint64_t end, uint64_t lines_before, size_t *n) {
  cq_lines *lines;
  cq_slice line;
  assert_int_equal(cq_lines_open_part(&lines, path, begin, end, lines_before, NULL), CQ_OK);
  for (;;) {
    assert_int_equal(cq_lines_next(&line, lines, NULL), CQ_OK);
    if (!line.data) break;
    sprintf(out + strlen(out), "%llu:%.*s|", (unsigned long long)cq_lines_number(lines), (int)line.n, line.data);
    ++*n;
  }
  cq_lines_close(lines);
}

static void check_cuts(const char *text, size_t n_text) {
  char whole[1024] = "", parts[1024];
  const char *path = file_of("text", text, n_text);
  size_t n_whole = 0;
  append_part(whole, path, 0, n_text, 0, &n_whole);
  for (size_t a = 0; a <= n_text; a++)
    for (size_t b = a; b <= n_text; b++) {
      size_t n = 0;
      parts[0] = '\0';
      append_part(parts, path, 0, a, 0, &n);
      append_part(parts, path, a, b, n, &n);
      append_part(parts, path, b, n_text, n, &n);
      assert_string_equal(parts, whole);
      assert_int_equal(n, n_whole);
    }
}

#define CHECK_CUTS(text) check_cuts(text, sizeof(text) - 1)

static void parts_have_each_line_once(void **state) {
  (void)state;
  CHECK_CUTS("");
  CHECK_CUTS("\n");
  CHECK_CUTS("one");
  CHECK_CUTS("one\n");
  CHECK_CUTS("one\ntwo\nthree\n");
  CHECK_CUTS("one\ntwo\nno end");
  CHECK_CUTS("\n\n\na\n\n");
  CHECK_CUTS("one\r\ntwo\r\n\r\nfour\r\n");
  CHECK_CUTS("\xEF\xBB\xBFmarked\nsecond\n");
  CHECK_CUTS("first\n\xEF\xBB\xBFno mark\n"); /* within the file it is text */
  CHECK_CUTS("a\nthe only long line among short ones, which most parts are within\nb\n");
}

/* What the whole gives is what the reader of whole files gives. */
static void the_whole_is_one_part(void **state) {
  (void)state;
  const char text[] = "\xEF\xBB\xBFone\r\n\ntwo";
  const char *path = file_of("text", text, sizeof text - 1);
  char part[64] = "", numbered[64] = "";
  size_t n = 0;
  cq_lines *lines;
  cq_slice line;
  append_part(part, path, 0, sizeof text - 1, 0, &n);
  assert_int_equal(cq_lines_open(&lines, path, NULL), CQ_OK);
  while (!cq_lines_next(&line, lines, NULL) && line.data)
    sprintf(numbered + strlen(numbered), "%llu:%.*s|", (unsigned long long)cq_lines_number(lines), (int)line.n,
            line.data);
  cq_lines_close(lines);
  assert_string_equal(part, numbered);
  assert_string_equal(part, "1:one|2:|3:two|");
}

/* Longer than any buffer: parts within it are empty, and the one before has all of it. */
static void a_giant_line_is_in_one_part(void **state) {
  (void)state;
  enum { N = 5 << 20 };
  char *text = malloc(N + 5);
  memset(text, 'x', N + 5);
  memcpy(text, "a\n", 2), memcpy(text + N + 2, "\nb\n", 3);
  const char *path = file_of("giant", text, N + 5);
  const uint64_t cuts[] = {0, 2, 3, 4096, 1 << 20, N, N + 2, N + 3, N + 4, N + 5};
  size_t lengths[3], n = 0;
  for (size_t i = 0; i + 1 < sizeof cuts / sizeof *cuts; i++) {
    cq_lines *lines;
    cq_slice line;
    assert_int_equal(cq_lines_open_part(&lines, path, cuts[i], cuts[i + 1], n, NULL), CQ_OK);
    while (!cq_lines_next(&line, lines, NULL) && line.data) {
      assert_true(n < 3);
      assert_int_equal(cq_lines_number(lines), n + 1);
      lengths[n++] = line.n;
      if (line.n > 1) assert_int_equal(cuts[i], 2);
    }
    cq_lines_close(lines);
  }
  assert_int_equal(n, 3);
  assert_int_equal(lengths[0], 1), assert_int_equal(lengths[1], N), assert_int_equal(lengths[2], 1);
  free(text);
}

static void bad_lines_have_the_file_s_number(void **state) {
  (void)state;
  const char *path = file_of("text", "good\nbad \xFF\n", 11);
  cq_lines *lines;
  cq_slice line;
  cq_error error = {0};
  assert_int_equal(cq_lines_open_part(&lines, path, 3, 11, 1, NULL), CQ_OK);
  assert_int_equal(cq_lines_next(&line, lines, &error), CQ_ERR_FORMAT);
  assert_int_equal(error.line, 2);
  cq_lines_close(lines);
}

static void what_cannot_be_divided_is_refused(void **state) {
  (void)state;
  static const char gzip[] = "\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0";
  const char *path = file_of("text.gz", gzip, sizeof gzip - 1);
  cq_lines *lines;
  cq_error error = {0};
  assert_int_equal(cq_lines_open_part(&lines, path, 0, 9, 0, &error), CQ_ERR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "it is compressed (gzip)"));
  assert_string_equal(error.file, path);
  path = file_of("wide",
                 "\xFF\xFE"
                 "a\0\n\0",
                 6);
  assert_int_equal(cq_lines_open_part(&lines, path, 0, 6, 0, &error), CQ_ERR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "it is UTF-16LE: convert it first (iconv -f UTF-16LE -t UTF-8)"));
  assert_int_equal(cq_lines_open_part(&lines, "-", 0, 9, 0, &error), CQ_ERR_UNSUPPORTED);
  assert_int_equal(cq_lines_open_part(&lines, "/dev/null", 0, 9, 0, &error), CQ_ERR_UNSUPPORTED);
  assert_int_equal(cq_lines_open_part(&lines, test_directory, 0, 9, 0, &error), CQ_ERR_IO);
  assert_int_equal(cq_lines_open_part(&lines, test_path("nowhere"), 0, 9, 0, &error), CQ_ERR_IO);
  assert_null(lines);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  const char *path = file_of("text", "one\ntwo\n", 8);
  cq_status status = CQ_ERR_MEMORY;
  int k = 1;
  for (; status; k++) {
    cq_lines *lines;
    cq_alloc_fail_at(k);
    status = cq_lines_open_part(&lines, path, 2, 8, 1, NULL);
    cq_alloc_fail_at(0);
    assert_true(status == CQ_OK || status == CQ_ERR_MEMORY);
    cq_lines_close(lines);
  }
  assert_true(k > 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parts_have_each_line_once),         cmocka_unit_test(the_whole_is_one_part),
      cmocka_unit_test(a_giant_line_is_in_one_part),       cmocka_unit_test(bad_lines_have_the_file_s_number),
      cmocka_unit_test(what_cannot_be_divided_is_refused), cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
