/* Lines: what is dropped and what is kept, long files, compressed files in every state of disrepair. */
#include "support/files.h"

#include "base/memory.h"
#include "base/random.h"
#include "base/utf8.h"
#include "calque/lines.h"

#include <lzma.h>
#include <sys/wait.h>
#include <zlib.h>
#include <zstd.h>

/* Appends one gzip member. */
static void gzip(unsigned char **out, size_t *n, const void *text, size_t text_n, int level) {
  z_stream z = {0};
  assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  size_t room = deflateBound(&z, text_n) + 64;
  *out = realloc(*out, *n + room);
  assert_non_null(*out);
  z.next_in = (unsigned char *)(uintptr_t)text;
  z.avail_in = (unsigned)text_n;
  z.next_out = *out + *n;
  z.avail_out = (unsigned)room;
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  *n += z.total_out;
  deflateEnd(&z);
}

/* Appends one frame, with a checksum. */
static void zstandard(unsigned char **out, size_t *n, const void *text, size_t text_n, int level) {
  ZSTD_CCtx *z = ZSTD_createCCtx();
  const size_t room = ZSTD_compressBound(text_n);
  assert_non_null(z);
  *out = realloc(*out, *n + room);
  assert_non_null(*out);
  assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1)));
  assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel, level)));
  const size_t got = ZSTD_compress2(z, *out + *n, room, text, text_n);
  assert_false(ZSTD_isError(got));
  *n += got;
  ZSTD_freeCCtx(z);
}

/* Appends one stream. */
static void xz(unsigned char **out, size_t *n, const void *text, size_t text_n, int level) {
  const size_t room = *n + lzma_stream_buffer_bound(text_n);
  *out = realloc(*out, room);
  assert_non_null(*out);
  assert_int_equal(lzma_easy_buffer_encode((uint32_t)level % 4, LZMA_CHECK_CRC64, NULL, text, text_n, *out, n, room),
                   LZMA_OK);
}

static const struct {
  const char *name, *file;
  void (*pack)(unsigned char **, size_t *, const void *, size_t, int);
  size_t n_begins;
} compressions[] = {
    {"gzip", "x.gz", gzip, 2},
    {"Zstandard", "x.zst", zstandard, 4},
    {"xz", "x.xz", xz, 6},
};
enum { N_COMPRESSIONS = sizeof compressions / sizeof *compressions };

/* All lines of a file joined by '|', every line counted; stops at a broken file, notes each error as "!". */
static char *all(const char *path, cq_status *last, cq_error *error) {
  cq_lines *l;
  cq_slice line;
  size_t n = 0, size = 1 << 16;
  char *text = calloc(1, size);
  assert_int_equal(cq_lines_open(&l, path, error), CQ_OK);
  *last = CQ_OK;
  for (;;) {
    cq_status status = cq_lines_next(&line, l, error);
    if (status) *last = status;
    if (status && cq_lines_broken(l)) {
      assert_int_equal(cq_lines_next(&line, l, error), status); /* the answer stays */
      break;
    }
    if (!status && !line.data) {
      assert_int_equal(cq_lines_next(&line, l, error), CQ_OK);
      assert_null(line.data);
      break;
    }
    assert_true(n + line.n + 3 < size);
    if (status)
      text[n++] = '!';
    else
      memcpy(text + n, line.data, line.n);
    n += status ? 0 : line.n;
    text[n++] = '|';
  }
  cq_lines_close(l);
  return text;
}

static void expect(const char *content, size_t n, const char *lines) {
  cq_status status;
  cq_error error = {0};
  write_bytes(test_path("x"), content, n);
  char *got = all(test_path("x"), &status, &error);
  assert_string_equal(got, lines);
  free(got);
  for (int i = 0; i < N_COMPRESSIONS; i++) {
    unsigned char *packed = NULL;
    size_t packed_n = 0;
    compressions[i].pack(&packed, &packed_n, content, n, 6);
    write_bytes(test_path("x.packed"), packed, packed_n); /* recognized by how it begins */
    got = all(test_path("x.packed"), &status, &error);
    assert_string_equal(got, lines);
    free(got);
    free(packed);
  }
}
#define EXPECT(content, lines) expect(content, sizeof(content) - 1, lines)

static void line_ends_are_dropped(void **state) {
  (void)state;
  EXPECT("", "");
  EXPECT("\n", "|");
  EXPECT("\n\n", "||");
  EXPECT("a", "a|");
  EXPECT("a\n", "a|");
  EXPECT("a\nb", "a|b|");
  EXPECT("a\r\nb\r\n", "a|b|");
  EXPECT("a\n\rb\r", "a|\rb|"); /* the last line of a file that ends before its line feed */
  EXPECT("a\r\rb\r\n", "a\r\rb|");
  EXPECT("a\r\rb\r", "a||b|"); /* returns end the lines of a file without any line feed */
  EXPECT("a\rb", "a|b|");
  EXPECT("a\r", "a|");
  EXPECT("\r", "|");
  EXPECT("\r\n", "|");
  EXPECT("\xEF\xBB\xBF", "");
  EXPECT("\xEF\xBB\xBF\n", "|");
  EXPECT("\xEF\xBB\xBF"
         "a\n\xEF\xBB\xBF"
         "b",
         "a|\xEF\xBB\xBF"
         "b|");
  EXPECT("\xEF\xBB", "!|");
  EXPECT("gr\xC3\xBC\xC3\x9F\n\xE0\xA4\xB9", "gr\xC3\xBC\xC3\x9F|\xE0\xA4\xB9|");
}

static void bad_lines_are_named_and_passed(void **state) {
  (void)state;
  cq_lines *l;
  cq_slice line;
  cq_error error = {0};
  write_bytes(test_path("bad"), "good\nab\xC3(\nc\0d\nlast\xFF", 19);
  assert_int_equal(cq_lines_open(&l, test_path("bad"), &error), CQ_OK);
  assert_int_equal(cq_lines_next(&line, l, &error), CQ_OK);
  assert_int_equal(cq_lines_number(l), 1);
  assert_int_equal(cq_lines_next(&line, l, &error), CQ_ERR_FORMAT);
  assert_null(line.data);
  assert_int_equal(error.line, 2);
  assert_non_null(strstr(error.message, "bad:2: not UTF-8 (byte 0xc3 at position 3 of the line)"));
  assert_false(cq_lines_broken(l));
  assert_int_equal(cq_lines_next(&line, l, &error), CQ_ERR_FORMAT);
  assert_int_equal(error.line, 3);
  assert_non_null(strstr(error.message, "a NUL byte at position 2 of the line"));
  assert_int_equal(cq_lines_next(&line, l, &error), CQ_ERR_FORMAT);
  assert_int_equal(error.line, 4);
  assert_int_equal(cq_lines_next(&line, l, &error), CQ_OK);
  assert_null(line.data);
  cq_lines_close(l);
}

static void files_longer_than_the_buffers_come_whole(void **state) {
  (void)state;
  enum { N = 3000000 };
  char *text = malloc(N);
  cq_random r = cq_random_seeded(1, 1);
  size_t n_lines = 0;
  for (size_t i = 0; i < N; i++) {
    /* Mostly short lines, some of half a megabyte. */
    bool newline = i + 1 == N || cq_random_below(&r, i % N > 2000000 ? 500000 : 60) == 0;
    text[i] = newline ? '\n' : (char)('a' + cq_random_below(&r, 26));
    n_lines += newline;
  }
  for (int file = -1; file < N_COMPRESSIONS; file++) {
    unsigned char *packed = NULL;
    size_t packed_n = 0;
    for (size_t at = 0; file >= 0 && at < N; at += 700001) /* several members, cut anywhere */
      compressions[file].pack(&packed, &packed_n, text + at, at + 700001 < N ? 700001 : N - at, at ? 1 : 9);
    write_bytes(test_path("long"), file < 0 ? (unsigned char *)text : packed, file < 0 ? N : packed_n);
    free(packed);
    cq_lines *l;
    cq_slice line;
    size_t at = 0;
    assert_int_equal(cq_lines_open(&l, test_path("long"), NULL), CQ_OK);
    for (;;) {
      assert_int_equal(cq_lines_next(&line, l, NULL), CQ_OK);
      if (!line.data) break;
      assert_true(at + line.n < N && !memcmp(text + at, line.data, line.n) && text[at + line.n] == '\n');
      at += line.n + 1;
    }
    assert_int_equal(at, N);
    assert_int_equal(cq_lines_number(l), n_lines);
    cq_lines_close(l);
  }
  free(text);
}

static void a_line_may_have_16_mebibytes(void **state) {
  (void)state;
  size_t limit = 16u << 20;
  char *text = malloc(limit + 10);
  memset(text, 'x', limit + 10);
  for (int over = 0; over < 2; over++) {
    for (int newline = 0; newline < 2; newline++) {
      cq_lines *l;
      cq_slice line;
      cq_error error = {0};
      size_t n = limit + (size_t)over;
      text[0] = '\n';
      if (newline) memcpy(text + 1 + n, "\r\n", 2);
      write_bytes(test_path("wide"), text, 1 + n + (newline ? 2 : 0));
      memset(text + n, 'x', 3);
      assert_int_equal(cq_lines_open(&l, test_path("wide"), &error), CQ_OK);
      assert_int_equal(cq_lines_next(&line, l, &error), CQ_OK);
      assert_int_equal(cq_lines_next(&line, l, &error), over ? CQ_ERR_FORMAT : CQ_OK);
      if (over) {
        assert_int_equal(error.line, 2);
        assert_non_null(strstr(error.message, "wide:2: the line is longer than 16 MiB"));
        assert_true(cq_lines_broken(l));
        assert_int_equal(cq_lines_next(&line, l, &error), CQ_ERR_FORMAT);
        assert_int_equal(cq_lines_number(l), 2);
      } else {
        assert_int_equal(line.n, limit);
      }
      cq_lines_close(l);
    }
  }
  free(text);
}

/* Cut anywhere, a compressed file gives the lines that were whole, and an error at the byte where it ends. */
static void truncated_files_are_an_error_at_their_end(void **state) {
  (void)state;
  for (int i = 0; i < N_COMPRESSIONS; i++) {
    unsigned char *packed = NULL;
    size_t n = 0;
    char why[64];
    snprintf(why, sizeof why, "broken %s stream: ends too early", compressions[i].name);
    compressions[i].pack(&packed, &n, "one\ntwo\nthree\n", 14, 6);
    const size_t first = n;
    compressions[i].pack(&packed, &n, "four\nfive\n", 10, 6);
    for (size_t cut = compressions[i].n_begins; cut <= n; cut++) {
      cq_status status;
      cq_error error = {0};
      write_bytes(test_path("cut"), packed, cut);
      char *got = all(test_path("cut"), &status, &error);
      if (cut == first || cut == n) {
        assert_int_equal(status, CQ_OK);
        assert_string_equal(got, cut == n ? "one|two|three|four|five|" : "one|two|three|");
      } else {
        assert_int_equal(status, CQ_ERR_FORMAT);
        assert_int_equal(error.byte, cut);
        assert_non_null(strstr(error.message, why));
        assert_true(!strncmp(got, "one|two|three|four|five|", strlen(got)));
      }
      free(got);
    }
    free(packed);
  }
}

static void what_follows_a_gzip_stream_is_zeros(void **state) {
  (void)state;
  unsigned char *packed = NULL;
  size_t n = 0;
  gzip(&packed, &n, "one\ntwo\nthree\nfour\nfive\n", 24, 6);
  packed = realloc(packed, n + 600);
  memset(packed + n, 0, 600);
  cq_status status;
  cq_error error = {0};
  write_bytes(test_path("cut.gz"), packed, n + 600);
  char *got = all(test_path("cut.gz"), &status, &error);
  assert_int_equal(status, CQ_OK);
  free(got);
  packed[n + 599] = 'x';
  write_bytes(test_path("cut.gz"), packed, n + 600);
  got = all(test_path("cut.gz"), &status, &error);
  assert_int_equal(status, CQ_ERR_FORMAT);
  assert_int_equal(error.byte, n + 599);
  assert_string_equal(got, "one|two|three|four|five|");
  free(got);
  write_bytes(test_path("cut.gz"), packed, n);
  FILE *f = fopen(test_path("cut.gz"), "ab");
  fputs("garbage", f);
  fclose(f);
  got = all(test_path("cut.gz"), &status, &error);
  assert_int_equal(status, CQ_ERR_FORMAT);
  assert_in_range(error.byte, n, n + 2);
  free(got);
  free(packed);
}

/* A changed byte is found by the checksum at the latest; where it is in the header's time or flags it may do no harm. */
static void broken_files_never_give_other_text(void **state) {
  (void)state;
  static const char text[] = "the first line\nand the second, which says the first line again\nthe third\n";
  static const char lines[] = "the first line|and the second, which says the first line again|the third|";
  for (int c = 0; c < N_COMPRESSIONS; c++) {
    unsigned char *packed = NULL;
    size_t n = 0;
    char why[64];
    snprintf(why, sizeof why, "broken %s stream: ", compressions[c].name);
    compressions[c].pack(&packed, &n, text, sizeof text - 1, 6);
    for (size_t i = compressions[c].n_begins; i < n; i++) {
      for (unsigned bit = 0; bit < 8; bit++) {
        cq_status status;
        cq_error error = {0};
        packed[i] ^= (unsigned char)(1u << bit);
        write_bytes(test_path("broken"), packed, n);
        packed[i] ^= (unsigned char)(1u << bit);
        char *got = all(test_path("broken"), &status, &error);
        if (status == CQ_OK)
          assert_string_equal(got, lines);
        else
          assert_true(status == CQ_ERR_FORMAT && (error.line > 0 || error.byte <= n));
        if (i >= n - 4) { /* in a checksum or a length */
          assert_int_equal(status, CQ_ERR_FORMAT);
          assert_non_null(strstr(error.message, why));
        }
        free(got);
      }
    }
    free(packed);
  }
}

static void what_cannot_be_opened_is_named(void **state) {
  (void)state;
  cq_lines *l;
  cq_error error = {0};
  assert_int_equal(cq_lines_open(&l, test_path("none.tsv"), &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "none.tsv: cannot open: "));
  assert_null(l);
  assert_int_equal(cq_lines_open(&l, test_directory, &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "is a directory"));
  cq_lines_close(NULL);
}

/* --- UTF-16 and UTF-32 --- */

/* UTF-8 as units of 2 or 4 bytes, with a mark at its beginning if the text has one; U+FFFD becomes half a pair. */
static size_t widen(char *out, const char *text, size_t n_unit, bool is_big) {
  cq_slice rest = {text, strlen(text)};
  size_t n = 0;
  for (uint32_t c; cq_utf8_next(&c, &rest);) {
    const bool is_pair = n_unit == 2 && c > 0xFFFF;
    const uint32_t units[2] = {is_pair ? 0xD7C0 + (c >> 10) : c == 0xFFFD ? 0xDC01 : c, 0xDC00 + (c & 0x3FF)};
    for (size_t u = 0; u <= (size_t)is_pair; u++)
      for (size_t i = 0; i < n_unit; i++) out[n++] = (char)(units[u] >> 8 * (is_big ? n_unit - 1 - i : i));
  }
  return n;
}
#define MARK "\xEF\xBB\xBF"
#define GRIN "\xF0\x9F\x98\x80"

static void utf_16_is_read_as_lines(void **state) {
  (void)state;
  static const struct {
    const char *text, *lines;
  } cases[] = {
      {MARK, ""},
      {MARK "\n", "|"},
      {MARK "a\tb\r\nc\td", "a\tb|c\td|"},
      {MARK "\xE4\xBD\xA0\xE5\xA5\xBD\n" GRIN GRIN "\n", "\xE4\xBD\xA0\xE5\xA5\xBD|" GRIN GRIN "|"},
      {MARK "\xE0\xA8\x8A\xE0\xA4\x8A\n\xE1\xA8\x8Dx", "\xE0\xA8\x8A\xE0\xA4\x8A|\xE1\xA8\x8Dx|"}, /* bytes 0A, 0D */
      {MARK "old\rMacs", "old|Macs|"},
      {MARK "one\n" MARK "two\n", "one|" MARK "two|"},
      {MARK "a\xEF\xBF\xBDz\nnext", "!|next|"},
      {"A cat sleeps.\tUne chatte dort, \xC3\xA0 c\xC3\xB4t\xC3\xA9.\n" GRIN "\n",
       "A cat sleeps.\tUne chatte dort, \xC3\xA0 c\xC3\xB4t\xC3\xA9.|" GRIN "|"}, /* recognized without a mark */
  };
  char wide[256];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int is_big = 0; is_big < 2; is_big++)
      for (size_t n_unit = 2; n_unit <= 4; n_unit += 2)
        if (n_unit == 2 || !strncmp(cases[i].text, MARK, 3))
          expect(wide, widen(wide, cases[i].text, n_unit, is_big), cases[i].lines);
  expect("\xFF\xFE\0\0\0\0\x11\0a\0\0", 11, "!|"); /* beyond Unicode, and a cut unit */
  expect("a\0b\n", 4, "!|");                       /* a NUL alone is no UTF-16 */
  expect("\xFE\n\xFF", 3, "!|!|");
}

/* Cut at any byte, a file gives its whole lines, and what is left of the last; half a character is an error there. */
static void cut_utf_16_is_an_error_in_its_last_line(void **state) {
  (void)state;
  static const char text[] = MARK "one\n" GRIN "\xC3\xA9";
  static const char *const lines[] = {"!|",     "o|",
                                      "!|",     "on|",
                                      "!|",     "one|",
                                      "!|",     "one|",
                                      "one|!|", "one|!|",
                                      "one|!|", "one|" GRIN "|",
                                      "one|!|", "one|" GRIN "\xC3\xA9|"};
  char wide[32];
  for (int is_big = 0; is_big < 2; is_big++) {
    assert_int_equal(widen(wide, text, 2, is_big), 16);
    for (size_t cut = 3; cut <= 16; cut++) {
      cq_status status;
      cq_error error = {0};
      write_bytes(test_path("cut"), wide, cut);
      char *got = all(test_path("cut"), &status, &error);
      assert_string_equal(got, lines[cut - 3]);
      assert_int_equal(status, strchr(got, '!') ? CQ_ERR_FORMAT : CQ_OK);
      if (status) {
        assert_int_equal(error.line, cut < 10 ? 1 : 2);
        assert_non_null(strstr(error.message, is_big ? "not UTF-16BE (half a character, or none)" : "not UTF-16LE ("));
      }
      free(got);
    }
  }
}

static void long_utf_16_comes_whole(void **state) {
  (void)state;
  enum { N_LINES = 40000 };
  char line[128], *wide = malloc((size_t)N_LINES * 128);
  size_t n = widen(wide, MARK, 2, true);
  for (int i = 0; i < N_LINES; i++) {
    snprintf(line, sizeof line, "%d " GRIN " \xE4\xBD\xA0\xE5\xA5\xBD%.*s\n", i, i % 40,
             "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    n += widen(wide + n, line, 2, true);
  }
  write_bytes(test_path("long"), wide, n);
  free(wide);
  cq_lines *l;
  cq_slice got;
  assert_int_equal(cq_lines_open(&l, test_path("long"), NULL), CQ_OK);
  for (int i = 0; i < N_LINES; i++) {
    snprintf(line, sizeof line, "%d " GRIN " \xE4\xBD\xA0\xE5\xA5\xBD%.*s", i, i % 40,
             "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    assert_int_equal(cq_lines_next(&got, l, NULL), CQ_OK);
    assert_int_equal(got.n, strlen(line));
    assert_memory_equal(got.data, line, got.n);
    assert_int_equal(cq_lines_number(l), i + 1);
  }
  assert_int_equal(cq_lines_next(&got, l, NULL), CQ_OK);
  assert_null(got.data);
  cq_lines_close(l);
}

/* Standard input in small pieces, as a pipe gives it. */
static void read_pieces(const char *text, size_t n) {
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    for (size_t i = 0; i < n; i++) {
      if (write(ends[1], text + i, 1) != 1) _exit(1);
      usleep(200);
    }
    _exit(0);
  }
  close(ends[1]);
  int kept = dup(0);
  dup2(ends[0], 0);
  close(ends[0]);
  cq_lines *l;
  cq_slice line;
  static const char *const want[] = {"one", "tw\xC3\xB6", "three"};
  assert_int_equal(cq_lines_open(&l, "-", NULL), CQ_OK);
  assert_string_equal(cq_lines_path(l), "<stdin>");
  for (int i = 0; i < 3; i++) {
    assert_int_equal(cq_lines_next(&line, l, NULL), CQ_OK);
    assert_int_equal(line.n, strlen(want[i]));
    assert_memory_equal(line.data, want[i], line.n);
  }
  assert_int_equal(cq_lines_next(&line, l, NULL), CQ_OK);
  assert_null(line.data);
  cq_lines_close(l);
  dup2(kept, 0);
  close(kept);
  assert_int_equal(waitpid(child, NULL, 0), child);
}

static void standard_input_is_a_dash(void **state) {
  static const char text[] = MARK "one\ntw\xC3\xB6\nthree";
  char wide[64];
  (void)state;
  read_pieces(text, sizeof text - 1);
  read_pieces(wide, widen(wide, text, 2, false));
  read_pieces(wide, widen(wide, text + 3, 2, true));
}

/* Fails each allocation while the first line is read, of n bytes. */
static void fail_allocations(const char *path, size_t n, long least) {
  for (long k = 1;; k++) {
    cq_lines *l;
    cq_slice line = {0};
    cq_error error = {0};
    cq_alloc_fail_at(k);
    cq_status status = cq_lines_open(&l, path, &error);
    if (!status) status = cq_lines_next(&line, l, &error);
    bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    cq_lines_close(l);
    if (!failed) {
      assert_int_equal(line.n, n);
      assert_true(k > least);
      break;
    }
    assert_int_equal(status, CQ_ERR_MEMORY);
  }
}

static void allocation_failures_are_reported(void **state) {
  (void)state;
  unsigned char *packed = NULL;
  size_t n = 0, text_n = 600000;
  char *text = malloc(text_n + 1), *wide = malloc(2 * text_n);
  memset(text, 'y', text_n), text[text_n] = '\0';
  gzip(&packed, &n, text, text_n, 6);
  write_bytes(test_path("m.gz"), packed, n);
  fail_allocations(test_path("m.gz"), text_n, 6);
  write_bytes(test_path("wide"), wide, widen(wide, text, 2, true));
  fail_allocations(test_path("wide"), text_n, 6);
  free(packed);
  free(text);
  free(wide);
}

static void assert_columns(const char *line, size_t n, const char *const *want) {
  cq_slice columns[3];
  assert_int_equal(cq_tsv_split(columns, 3, (cq_slice){line, strlen(line)}), n);
  for (size_t i = 0; i < n && i < 3; i++) {
    assert_int_equal(columns[i].n, strlen(want[i]));
    assert_memory_equal(columns[i].data, want[i], columns[i].n);
  }
}

static void lines_are_split_at_tabs(void **state) {
  (void)state;
  assert_columns("", 1, (const char *[]){""});
  assert_columns("a", 1, (const char *[]){"a"});
  assert_columns("\t", 2, (const char *[]){"", ""});
  assert_columns("a b\tc", 2, (const char *[]){"a b", "c"});
  assert_columns("a\t\tb", 3, (const char *[]){"a", "", "b"});
  assert_columns("a\tb\tc\td\t", 5, (const char *[]){"a", "b", "c"});
  assert_int_equal(cq_tsv_split(NULL, 0, (cq_slice){"a\tb", 3}), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(line_ends_are_dropped),
      cmocka_unit_test(bad_lines_are_named_and_passed),
      cmocka_unit_test(files_longer_than_the_buffers_come_whole),
      cmocka_unit_test(a_line_may_have_16_mebibytes),
      cmocka_unit_test(truncated_files_are_an_error_at_their_end),
      cmocka_unit_test(what_follows_a_gzip_stream_is_zeros),
      cmocka_unit_test(broken_files_never_give_other_text),
      cmocka_unit_test(what_cannot_be_opened_is_named),
      cmocka_unit_test(utf_16_is_read_as_lines),
      cmocka_unit_test(cut_utf_16_is_an_error_in_its_last_line),
      cmocka_unit_test(long_utf_16_comes_whole),
      cmocka_unit_test(standard_input_is_a_dash),
      cmocka_unit_test(allocation_failures_are_reported),
      cmocka_unit_test(lines_are_split_at_tabs),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
