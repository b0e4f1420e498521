/* Parquet: every encoding, compression and version of pages that PyArrow writes, and files that are damaged. */
#include "support/files.h"

#include "base/error.h"
#include "base/memory.h"
#include "format/parquet.h"

#include <zlib.h>

enum { MAX_COLUMNS = 80, MAX_LINE = 1 << 16 };

static cq_parquet *open_golden(const char *name) {
  char path[100];
  cq_parquet *file;
  cq_error error = {0};
  snprintf(path, sizeof path, "golden/parquet/%s", name);
  if (cq_parquet_open(&file, tests_file(path), &error)) fail_msg("%s", error.message);
  return file;
}

/* --- what is read --- */

static bool is_same(cq_slice got, const char *want, cq_parquet_kind kind) {
  if (!got.data) return !strcmp(want, "<null>");
  if (kind == CQ_PARQUET_REAL) {
    double value;
    assert_true(cq_slice_number(&value, got));
    return value == strtod(want, NULL) && strcmp(want, "<null>") != 0;
  }
  return cq_slice_equal(got, cq_slice_of(want));
}

/* All columns of a file are those of expected.tsv. */
static void check_all(const char *name) {
  static char line[MAX_LINE];
  cq_parquet *file = open_golden(name);
  cq_parquet_rows *rows;
  cq_error error = {0};
  cq_slice values[MAX_COLUMNS];
  size_t columns[MAX_COLUMNS], n = cq_parquet_n_columns(file);
  uint64_t n_rows = 0;
  bool found;
  FILE *expected = fopen(tests_file("golden/parquet/expected.tsv"), "r");
  assert_non_null(expected);
  assert_true(n == 48);
  for (size_t i = 0; i < n; i++) columns[i] = i;
  if (cq_parquet_rows_open(&rows, file, columns, n, &error)) fail_msg("%s", error.message);
  for (bool is_head = true; fgets(line, sizeof line, expected); is_head = false) {
    char *at = line;
    line[strcspn(line, "\n")] = 0;
    if (!is_head && cq_parquet_rows_next(&found, values, rows, &error)) fail_msg("%s", error.message);
    if (!is_head) assert_true(found);
    for (size_t i = 0; i < n; i++) {
      char *field = strsep(&at, "\t");
      const cq_parquet_column *column = cq_parquet_column_at(file, i);
      assert_non_null(field);
      if (is_head)
        assert_string_equal(column->name, field);
      else if (!is_same(values[i], field, column->kind))
        fail_msg("%s, %s, row %llu: '%.*s', expected '%s'", name, column->name, (unsigned long long)n_rows + 1,
                 (int)values[i].n, values[i].data ? values[i].data : "", field);
    }
    assert_null(at);
    n_rows += !is_head;
  }
  assert_int_equal(cq_parquet_rows_next(&found, values, rows, &error), CQ_OK);
  assert_false(found);
  assert_int_equal(n_rows, 40);
  assert_int_equal(cq_parquet_n_rows(file), 40);
  fclose(expected);
  cq_parquet_rows_close(rows);
  cq_parquet_close(file);
}

static void every_encoding_and_compression_is_read(void **state) {
  (void)state;
  static const char *const names[] = {"none-v1.parquet",   "none-v2.parquet",   "gzip-v1.parquet", "gzip-v2.parquet",
                                      "snappy-v1.parquet", "snappy-v2.parquet", "zstd-v1.parquet", "zstd-v2.parquet"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) check_all(names[i]);
}

/* Rows of columns [n_columns], a line each, '|' between and behind; the status of the last. With go_on, texts that are
 * not well-formed are "!". */
static cq_status read_all(char *out, size_t size, const char *path, const char *const *names, bool go_on,
                          cq_error *error) {
  cq_parquet *file;
  cq_parquet_rows *rows = NULL;
  cq_slice values[4];
  size_t columns[4], n = 0, used = 0;
  bool found = true;
  *out = 0;
  cq_status status = cq_parquet_open(&file, path, error);
  for (; !status && names[n]; n++) status = cq_parquet_find(&columns[n], file, names[n], error);
  if (!status) status = cq_parquet_rows_open(&rows, file, columns, n, error);
  while (!status && found) {
    status = cq_parquet_rows_next(&found, values, rows, error);
    if (status && go_on && !cq_parquet_rows_broken(rows)) {
      used += (size_t)snprintf(out + used, size - used, "!\n");
      status = CQ_OK, found = true;
      continue;
    }
    for (size_t i = 0; found && i < n; i++)
      used += (size_t)snprintf(out + used, size - used, "%.*s|%s", (int)values[i].n,
                               values[i].data ? values[i].data : "", i + 1 == n ? "\n" : "");
    assert_true(used < size);
  }
  cq_parquet_rows_close(rows);
  cq_parquet_close(file);
  return status;
}

static cq_status read_golden(char *out, size_t size, const char *name, const char *const *names, cq_error *error) {
  char path[100];
  snprintf(path, sizeof path, "golden/parquet/%s", name);
  return read_all(out, size, tests_file(path), names, false, error);
}

static void columns_are_found_by_path_or_its_end(void **state) {
  (void)state;
  char text[2000];
  cq_error error = {0};
  assert_int_equal(read_golden(text, sizeof text, "pairs.parquet",
                               (const char *const[]){"translation.de", "en", "id", NULL}, &error),
                   CQ_OK);
  assert_string_equal(text, "a ist hier.|The a is here.|0|\nriver ist hier.|The river is here.|1|\n"
                            "the old mill ist hier.|The the old mill is here.|2|\n"
                            "the old mill by the river ist hier.|The the old mill by the river is here.|3|\n");
  assert_int_equal(read_golden(text, sizeof text, "pairs.parquet", (const char *const[]){"fr", NULL}, &error),
                   CQ_ERR_ARGUMENT);
  if (!strstr(error.message, "no column is called 'fr'; there are id, translation.")) fail_msg("%s", error.message);
  assert_int_equal(read_golden(text, sizeof text, "empty.parquet", (const char *const[]){"de", NULL}, &error), CQ_OK);
  assert_string_equal(text, "");
}

static void a_dictionary_may_give_way_to_plain_pages(void **state) {
  (void)state;
  char text[4000], want[4000];
  size_t n = 0;
  cq_error error = {0};
  for (int i = 0; i < 30; i++) n += (size_t)snprintf(want + n, sizeof want - n, "sentence %d|Satz %d|\n", i, i);
  if (read_golden(text, sizeof text, "fallback.parquet", (const char *const[]){"en", "de", NULL}, &error))
    fail_msg("%s", error.message);
  assert_string_equal(text, want);
}

static void text_that_is_not_well_formed_is_an_error_of_its_row(void **state) {
  (void)state;
  static const char *const both[] = {"en", "de", NULL};
  char text[1000];
  cq_error error = {0};
  assert_int_equal(read_golden(text, sizeof text, "binary.parquet", both, &error), CQ_ERR_FORMAT);
  assert_string_equal(text, "one|eins|\n");
  assert_true(error.byte > 0);
  if (!strstr(error.message, "column 'en', row group 0, row 2: not UTF-8 at byte 0 of the text"))
    fail_msg("%s", error.message);
  assert_int_equal(read_all(text, sizeof text, tests_file("golden/parquet/binary.parquet"), both, true, &error), CQ_OK);
  assert_string_equal(text, "one|eins|\n!\n!\nthree|vier|\n");
  if (!strstr(error.message, "row 3: a NUL at byte 3 of the text")) fail_msg("%s", error.message);
}

static void what_is_not_supported_is_named(void **state) {
  (void)state;
  static const struct {
    const char *file, *column, *message;
  } cases[] = {
      {"lists.parquet", "words.list.element", "column 'words.list.element' is a list or map (REPEATED)"},
      {"times.parquet", "day", "column 'day' is a date or time"},
      {"lz4.parquet", "en", "column 'en', row group 0, row 1: compressed with LZ4"},
      {"brotli.parquet", "en", "compressed with Brotli; Snappy, gzip and Zstandard are read"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[1000];
    cq_error error = {0};
    assert_int_equal(
        read_golden(text, sizeof text, cases[i].file, (const char *const[]){cases[i].column, NULL}, &error),
        CQ_ERR_UNSUPPORTED);
    if (!strstr(error.message, cases[i].message)) fail_msg("%s", error.message);
    if (i < 2)
      assert_int_equal(read_golden(text, sizeof text, cases[i].file, (const char *const[]){"en", NULL}, &error), CQ_OK);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_encoding_and_compression_is_read),
      cmocka_unit_test(columns_are_found_by_path_or_its_end),
      cmocka_unit_test(a_dictionary_may_give_way_to_plain_pages),
      cmocka_unit_test(text_that_is_not_well_formed_is_an_error_of_its_row),
      cmocka_unit_test(what_is_not_supported_is_named),
  };
  return cmocka_run_group_tests_name("format/parquet", tests, make_test_directory, remove_test_directory);
}
