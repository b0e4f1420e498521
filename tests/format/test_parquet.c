/* Parquet: every encoding, compression and version of pages that PyArrow writes, and files that are damaged. */
#define _GNU_SOURCE /* memmem */
#include "support/files.h"

#include "base/error.h"
#include "base/memory.h"
#include "format/parquet.h"

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

/* --- damage --- */

static void every_truncation_is_an_error_with_a_place(void **state) {
  (void)state;
  static const char *const names[] = {"pairs.parquet", "fallback.parquet"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char path[100], text[4000];
    size_t n;
    snprintf(path, sizeof path, "golden/parquet/%s", names[i]);
    unsigned char *bytes = read_bytes(&n, tests_file(path));
    const char *cut = test_path("cut.parquet");
    for (size_t k = 0; k < n; k++) {
      cq_error error = {0};
      write_bytes(cut, bytes, k);
      assert_int_equal(read_all(text, sizeof text, cut, (const char *const[]){"en", "de", NULL}, false, &error),
                       CQ_ERR_FORMAT);
      assert_true(error.byte <= k);
      assert_string_equal(error.file, cut);
    }
    free(bytes);
  }
}

/* The pages, and the footer as it is: what the file loses in front of a footer is found by the columns' places. */
static void pages_that_lose_bytes_are_errors(void **state) {
  (void)state;
  char text[4000];
  size_t n;
  unsigned char *bytes = read_bytes(&n, tests_file("golden/parquet/pairs.parquet"));
  const size_t footer = n - 8 - (bytes[n - 8] | (size_t)bytes[n - 7] << 8);
  for (size_t k = 4; k < footer; k++) {
    cq_error error = {0};
    unsigned char *shorter = malloc(n);
    memcpy(shorter, bytes, k);
    memcpy(shorter + k, bytes + k + 1, n - k - 1);
    write_bytes(test_path("lost.parquet"), shorter, n - 1);
    const cq_status status = read_all(text, sizeof text, test_path("lost.parquet"),
                                      (const char *const[]){"id", "en", "de", NULL}, false, &error);
    assert_true(status == CQ_ERR_FORMAT || status == CQ_ERR_UNSUPPORTED);
    assert_true(error.byte <= n);
    free(shorter);
  }
  free(bytes);
}

static void damage_is_found_by_checksums(void **state) {
  (void)state;
  char text[8000];
  size_t n;
  unsigned char *bytes = read_bytes(&n, tests_file("golden/parquet/none-v1.parquet"));
  unsigned char *at = memmem(bytes, n, "the old mill", 12);
  cq_error error = {0};
  assert_non_null(at);
  at[4] = 'O';
  write_bytes(test_path("damaged.parquet"), bytes, n);
  assert_int_equal(read_all(text, sizeof text, test_path("damaged.parquet"), (const char *const[]){"text_plain", NULL},
                            false, &error),
                   CQ_ERR_FORMAT);
  assert_int_equal(error.byte, 4);
  if (!strstr(error.message, "column 'text_plain', row group 0, row 1: the page's checksum (CRC) is wrong"))
    fail_msg("%s", error.message);
  free(bytes);
}

/* --- files made here, one of whose numbers lies --- */

typedef struct made {
  /* The footer. */
  int64_t type, repetition, n_children, converted, n_rows, group_rows, chunk_type, codec, n_values, n_bytes, data_at,
      dictionary_at;
  bool is_elsewhere, is_encrypted, no_schema, two_columns;
  /* The page, or a dictionary before it. */
  int64_t page_type, n_unpacked, n_packed, page_values, encoding, level_encoding, n_levels, version;
  const char *dictionary; /* [n_dictionary_bytes] */
  size_t n_dictionary_bytes;
  int64_t n_dictionary;
  const char *bytes; /* [n] */
  size_t n;
} made;

/* Two texts, "ab" and null. */
static made two_texts(void) {
  static const char bytes[] = "\2\0\0\0\3\1\2\0\0\0ab";
  return (made){.type = 6,
                .repetition = 1,
                .n_rows = 2,
                .group_rows = 2,
                .chunk_type = 6,
                .n_values = 2,
                .n_bytes = -1,
                .data_at = 4,
                .n_unpacked = -1,
                .n_packed = -1,
                .page_values = 2,
                .level_encoding = 3,
                .version = 1,
                .bytes = bytes,
                .n = sizeof bytes - 1};
}

typedef struct sink {
  unsigned char bytes[4000];
  size_t n;
} sink;

static void put_varint(sink *s, uint64_t x) {
  for (; x >= 128; x >>= 7) s->bytes[s->n++] = (unsigned char)(x | 128);
  s->bytes[s->n++] = (unsigned char)x;
}

static void put_field(sink *s, int type, int id) {
  s->bytes[s->n++] = (unsigned char)type;
  put_varint(s, (uint64_t)id * 2);
}

static void put_number(sink *s, int id, int64_t x) {
  put_field(s, 6, id);
  put_varint(s, (uint64_t)x << 1 ^ (uint64_t)(x >> 63));
}

static void put_text(sink *s, int id, const char *text) {
  put_field(s, 8, id);
  put_varint(s, strlen(text));
  memcpy(s->bytes + s->n, text, strlen(text));
  s->n += strlen(text);
}

static void put_list(sink *s, int id, int n) {
  put_field(s, 9, id);
  s->bytes[s->n++] = (unsigned char)(n << 4 | 12);
}

static void stop(sink *s) {
  s->bytes[s->n++] = 0;
}

static void put_page(sink *s, const made *m, int64_t type, const char *bytes, size_t n, int64_t n_values) {
  const bool is_dictionary = type == 2;
  put_number(s, 1, type);
  put_number(s, 2, m->n_unpacked >= 0 && !is_dictionary ? m->n_unpacked : (int64_t)n);
  put_number(s, 3, m->n_packed >= 0 && !is_dictionary ? m->n_packed : (int64_t)n);
  put_field(s, 12, type == 2 ? 7 : type == 3 ? 8 : 5);
  put_number(s, 1, n_values);
  put_number(s, type == 3 ? 4 : 2, is_dictionary ? 0 : m->encoding);
  if (type == 0) put_number(s, 3, m->level_encoding);
  if (type == 3) put_number(s, 5, m->n_levels), put_number(s, 6, 0);
  stop(s);
  stop(s);
  memcpy(s->bytes + s->n, bytes, n);
  s->n += n;
}

static void put_schema(sink *s, const made *m) {
  put_list(s, 2, m->two_columns ? 3 : 2);
  put_text(s, 4, "schema");
  put_number(s, 5, m->n_children ? m->n_children : 1 + m->two_columns);
  stop(s);
  for (int i = 0; i < 1 + m->two_columns; i++) {
    put_number(s, 1, m->type);
    put_number(s, 3, m->repetition);
    put_text(s, 4, "x");
    if (m->converted) put_number(s, 6, m->converted);
    stop(s);
  }
}

static void put_footer(sink *s, const made *m, size_t end) {
  if (!m->no_schema) put_schema(s, m);
  put_number(s, 3, m->n_rows);
  put_list(s, 4, 1);
  put_list(s, 1, 1);
  if (m->is_elsewhere) put_text(s, 1, "other.parquet");
  put_field(s, 12, 3);
  put_number(s, 1, m->chunk_type);
  put_number(s, 4, m->codec);
  put_number(s, 5, m->n_values);
  put_number(s, 7, m->n_bytes >= 0 ? m->n_bytes : (int64_t)(end - 4));
  put_number(s, 9, m->data_at);
  if (m->dictionary_at) put_number(s, 11, m->dictionary_at);
  stop(s);
  if (m->is_encrypted) put_text(s, 9, "secret");
  stop(s);
  put_number(s, 3, m->group_rows);
  stop(s);
  stop(s);
}

/* Writes such a file and reads its column. */
static cq_status read_made(char *text, size_t size, const made *m, cq_error *error) {
  sink s = {.bytes = "PAR1", .n = 4};
  if (m->dictionary) put_page(&s, m, 2, m->dictionary, m->n_dictionary_bytes, m->n_dictionary);
  if (m->n || !m->dictionary) put_page(&s, m, m->page_type, m->bytes, m->n, m->page_values);
  const size_t end = s.n;
  put_footer(&s, m, end);
  const size_t n = s.n - end;
  for (int i = 0; i < 4; i++) s.bytes[s.n++] = (unsigned char)(n >> 8 * i);
  memcpy(s.bytes + s.n, "PAR1", 4);
  write_bytes(test_path("made.parquet"), s.bytes, s.n + 4);
  return read_all(text, size, test_path("made.parquet"), (const char *const[]){"x", NULL}, false, error);
}

static void check_made(const made *m, cq_status status, uint64_t byte, const char *message) {
  char text[1000];
  cq_error error = {0};
  const cq_status got = read_made(text, sizeof text, m, &error);
  if (got != status || !strstr(error.message, message) || (byte && error.byte != byte))
    fail_msg("status %d, byte %llu: '%s', expected %d, '%s'", got, (unsigned long long)error.byte, error.message,
             status, message);
}

static void numbers_that_lie_are_errors(void **state) {
  (void)state;
  char text[100];
  cq_error error = {0};
  made m = two_texts();
  if (read_made(text, sizeof text, &m, &error)) fail_msg("%s", error.message);
  assert_string_equal(text, "ab|\n|\n");
  /* A page that becomes ten thousand times as long: the buffer grows with it. */
  static char many[300100];
  m.codec = 6, m.n_rows = m.group_rows = m.n_values = m.page_values = 1, m.repetition = 0;
  m.bytes = "\050\265\057\375\000\150\154\000\000\050\340\223\004\000\141\001\000\370\377\071\320\002\002\000"
            "\020\141\043\237\004\141";
  m.n = 30, m.n_unpacked = 300004;
  if (read_made(many, sizeof many, &m, &error)) fail_msg("%s", error.message);
  assert_int_equal(strspn(many, "a"), 300000);
#define LIES(status, byte, message, ...)                                                                               \
  do {                                                                                                                 \
    m = two_texts();                                                                                                   \
    __VA_ARGS__;                                                                                                       \
    check_made(&m, status, byte, message);                                                                             \
  } while (0)
  /* The footer. */
  LIES(CQ_ERR_FORMAT, 0, "is of unknown type 8", m.type = 8);
  LIES(CQ_ERR_FORMAT, 0, "a node of the schema is malformed", m.repetition = 3);
  LIES(CQ_ERR_FORMAT, 0, "the schema has fewer nodes than it says", m.n_children = 1 << 30);
  LIES(CQ_ERR_FORMAT, 0, "the schema has more nodes than it says", m.two_columns = true, m.n_children = 1);
  LIES(CQ_ERR_FORMAT, 0, "row group 0 has 1 columns, the schema 2", m.two_columns = true);
  LIES(CQ_ERR_FORMAT, 0, "row groups before the schema", m.no_schema = true);
  LIES(CQ_ERR_FORMAT, 0, "footer: 3 rows, the row groups have 2", m.n_rows = 3);
  LIES(CQ_ERR_FORMAT, 0, "lacks columns or its number of rows", m.group_rows = -1);
  LIES(CQ_ERR_FORMAT, 0, "column 'x', row group 0, row 1: 2 values, the row group has 5 rows",
       m.n_rows = m.group_rows = 5);
  LIES(CQ_ERR_FORMAT, 0, "of type 2, in the schema it is of 6", m.chunk_type = 2);
  LIES(CQ_ERR_FORMAT, 0, "bytes at byte 3, the footer begins", m.data_at = 3);
  LIES(CQ_ERR_FORMAT, 0, "1000 bytes at byte 4, the footer begins", m.n_bytes = 1000);
  LIES(CQ_ERR_UNSUPPORTED, 0, "compressed in an unknown way (8)", m.codec = 8);
  LIES(CQ_ERR_UNSUPPORTED, 0, "in another file", m.is_elsewhere = true);
  LIES(CQ_ERR_UNSUPPORTED, 0, "encrypted", m.is_encrypted = true);
  LIES(CQ_ERR_UNSUPPORTED, 0, "column 'x' is a list or map (REPEATED)", m.repetition = 2);
  LIES(CQ_ERR_UNSUPPORTED, 0, "column 'x' is a decimal number", m.converted = 5);
  LIES(CQ_ERR_UNSUPPORTED, 0, "column 'x' is a time stamp of 96 bits", m.type = m.chunk_type = 3);
  LIES(CQ_ERR_UNSUPPORTED, 0, "column 'x' is binary numbers", m.type = m.chunk_type = 7);
  LIES(CQ_ERR_UNSUPPORTED, 0, "column 'x' is BSON", m.converted = 20);
  /* Pages. */
  LIES(CQ_ERR_UNSUPPORTED, 4, "a page of unknown type 4", m.page_type = 4);
  LIES(CQ_ERR_FORMAT, 4, "a page of 1000 bytes, the column's chunk has 12 more", m.n_packed = 1000);
  LIES(CQ_ERR_FORMAT, 4, "12 bytes without compression, expected 13", m.n_unpacked = 13);
  LIES(CQ_ERR_FORMAT, 4, "a page of 3 values, the column has 2 more", m.page_values = 3);
  LIES(CQ_ERR_FORMAT, 4, "row 2: the pages end, 1 values are missing", m.page_values = 1);
  LIES(CQ_ERR_FORMAT, 4, "a page of -1 values", m.page_values = -1);
  LIES(CQ_ERR_FORMAT, 0, "the pages end, 2 values are missing", m.n_bytes = 0);
  LIES(CQ_ERR_FORMAT, 4, "header of a page: truncated", m.n_bytes = 3);
  LIES(CQ_ERR_UNSUPPORTED, 4, "levels of encoding 4, only RLE is read", m.level_encoding = 4);
  LIES(CQ_ERR_FORMAT, 4, "the levels are truncated", m.bytes = "\377\0\0\0\3\1\2\0\0\0ab");
  LIES(CQ_ERR_FORMAT, 4, "the levels are truncated", m.n = 3);
  LIES(CQ_ERR_FORMAT, 4, "row 2: the levels are truncated or damaged", m.bytes = "\2\0\0\0\2\1\2\0\0\0ab");
  LIES(CQ_ERR_FORMAT, 4, "row 1: the levels are truncated or damaged", m.bytes = "\2\0\0\0\4\2\2\0\0\0ab");
  LIES(CQ_ERR_FORMAT, 4, "row 1: the page ends before its values", m.bytes = "\2\0\0\0\3\1\3\0\0\0ab");
  LIES(CQ_ERR_FORMAT, 4, "the levels do not fit into the page", m.page_type = 3, m.n_levels = 13);
  LIES(CQ_ERR_FORMAT, 4, "the levels do not fit into the page", m.page_type = 3, m.n_levels = -1);
  LIES(CQ_ERR_UNSUPPORTED, 4, "a page of encoding 5 for this type of column", m.encoding = 5);
  LIES(CQ_ERR_UNSUPPORTED, 4, "a page of encoding 10 for this type of column", m.encoding = 10);
  LIES(CQ_ERR_FORMAT, 4, "a page refers to a dictionary that is not there", m.encoding = 8);
  LIES(CQ_ERR_FORMAT, 4, "the page ends before its values", m.encoding = 6);
  LIES(CQ_ERR_FORMAT, 4, "the page ends before its values", m.encoding = 7);
  /* Compression that claims more than there can be. */
  LIES(CQ_ERR_FORMAT, 4, "12 bytes cannot become 1000000 with Snappy", m.codec = 1, m.n_unpacked = 1000000);
  LIES(CQ_ERR_FORMAT, 4, "12 bytes cannot become 1000000 with gzip", m.codec = 2, m.n_unpacked = 1000000);
  LIES(CQ_ERR_LIMIT, 4, "a page of 2147483647 bytes, at most ", m.codec = 6, m.n_unpacked = 2147483647);
  LIES(CQ_ERR_FORMAT, 4, "Snappy: another length than the header says", m.codec = 1, m.n_unpacked = 20);
  LIES(CQ_ERR_FORMAT, 4, "gzip: ", m.codec = 2, m.n_unpacked = 20);
  LIES(CQ_ERR_FORMAT, 4, "Zstandard: ", m.codec = 6, m.n_unpacked = 20);
  /* Dictionaries. */
#define WITH_DICTIONARY                                                                                                \
  m.dictionary = "\1\0\0\0a\1\0\0\0b", m.n_dictionary_bytes = 10, m.n_dictionary = 2, m.encoding = 8,                  \
  m.bytes = "\2\0\0\0\4\1\1\3\2", m.n = 9
  m = two_texts();
  WITH_DICTIONARY;
  if (read_made(text, sizeof text, &m, &error)) fail_msg("%s", error.message);
  assert_string_equal(text, "a|\nb|\n");
  LIES(CQ_ERR_FORMAT, 0, "row 2: place 3 of a dictionary of 2", WITH_DICTIONARY, m.bytes = "\2\0\0\0\4\1\2\3\014\0",
       m.n = 10);
  LIES(CQ_ERR_FORMAT, 0, "indices of 33 bits", WITH_DICTIONARY, m.bytes = "\2\0\0\0\4\1\041\3\2");
  LIES(CQ_ERR_FORMAT, 4, "a dictionary of 3 values in 10 bytes", WITH_DICTIONARY, m.n_dictionary = 3);
  LIES(CQ_ERR_LIMIT, 4, "a dictionary of 16777217 values, at most 16777216 are read", WITH_DICTIONARY,
       m.n_dictionary = 16777217);
  LIES(CQ_ERR_FORMAT, 4, "a dictionary of -1 values of encoding 0", WITH_DICTIONARY, m.n_dictionary = -1);
  LIES(CQ_ERR_FORMAT, 4, "the page ends before its values", WITH_DICTIONARY, m.n_dictionary_bytes = 9);
  LIES(CQ_ERR_FORMAT, 0, "a second dictionary", WITH_DICTIONARY, m.page_type = 2);
}

static void encrypted_files_are_named(void **state) {
  (void)state;
  char text[10];
  cq_error error = {0};
  write_text(test_path("secret.parquet"), "PARE....PARE");
  assert_int_equal(
      read_all(text, sizeof text, test_path("secret.parquet"), (const char *const[]){"x", NULL}, false, &error),
      CQ_ERR_UNSUPPORTED);
  assert_non_null(strstr(error.message, "the footer is encrypted"));
  write_bytes(test_path("long.parquet"), "PAR1\377\0\0\0PAR1", 12);
  assert_int_equal(
      read_all(text, sizeof text, test_path("long.parquet"), (const char *const[]){"x", NULL}, false, &error),
      CQ_ERR_FORMAT);
  assert_int_equal(error.byte, 4);
  assert_non_null(strstr(error.message, "a footer of 255 bytes, the file has 0 before it"));
}

static void every_failed_allocation_is_an_error(void **state) {
  (void)state;
  static const struct {
    const char *file, *column;
  } cases[] = {{"pairs.parquet", "en"},
               {"gzip-v1.parquet", "text_delta_byte_array"},
               {"zstd-v2.parquet", "text_rle_dictionary_null"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (long n = 1;; n++) {
      char text[4000];
      cq_error error = {0};
      cq_alloc_fail_at(n);
      const cq_status status =
          read_golden(text, sizeof text, cases[i].file, (const char *const[]){cases[i].column, NULL}, &error);
      const bool failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      if (!failed) {
        assert_int_equal(status, CQ_OK);
        assert_true(n > 5);
        break;
      }
      assert_int_equal(status, CQ_ERR_MEMORY);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_encoding_and_compression_is_read),
      cmocka_unit_test(columns_are_found_by_path_or_its_end),
      cmocka_unit_test(a_dictionary_may_give_way_to_plain_pages),
      cmocka_unit_test(text_that_is_not_well_formed_is_an_error_of_its_row),
      cmocka_unit_test(what_is_not_supported_is_named),
      cmocka_unit_test(every_truncation_is_an_error_with_a_place),
      cmocka_unit_test(pages_that_lose_bytes_are_errors),
      cmocka_unit_test(damage_is_found_by_checksums),
      cmocka_unit_test(numbers_that_lie_are_errors),
      cmocka_unit_test(encrypted_files_are_named),
      cmocka_unit_test(every_failed_allocation_is_an_error),
  };
  return cmocka_run_group_tests_name("format/parquet", tests, make_test_directory, remove_test_directory);
}
