/* What a body is: its media type, charset, byte order mark and Content-Encoding, and the files of a form. Anything that
 * is not known is refused by name, and nothing is added. */
#include "serve/direct.h"

#include <zlib.h>
#include <zstd.h>

static void json_in_any_encoding(void **state) {
  static const char utf8[] = "{\"text\": \"Gr\xC3\xB6\xC3\x9F\x65.\"}";
  static const body good[] = {
      {NULL, NULL, BYTES(utf8)},
      {"application/json", NULL, BYTES(utf8)},
      {"application/json;charset=UTF-8", NULL, BYTES(utf8)},
      {"application/json; charset=utf8", NULL, BYTES(utf8)},
      {"Application/JSON ; Charset=\"utf-8\"; q=\"a\\\"b\"", NULL, BYTES(utf8)},
      {"application/ld+json", NULL, BYTES(utf8)},
      {"text/plain;charset=UTF-8", NULL, BYTES(utf8)}, /* fetch() with a string */
      {"application/x-www-form-urlencoded", NULL, BYTES(utf8)},
      {NULL, "identity", BYTES(utf8)},
      {"application/json", NULL, BYTES("\xEF\xBB\xBF{\"text\": \"Gr\xC3\xB6\xC3\x9F\x65.\"}")},
      {"application/json; charset=windows-1252", NULL, BYTES("{\"text\": \"Gr\xF6\xDF\x65.\"}")},
      {"application/json; charset=utf-16", NULL,
       BYTES("\xFF\xFE{\0\"\0t\0e\0x\0t\0\"\0:\0\"\0G\0r\0\xF6\0\xDF\0e\0.\0\"\0}\0")},
      {"application/json; charset=utf-16be", NULL,
       BYTES("\0{\0\"\0t\0e\0x\0t\0\"\0:\0\"\0G\0r\0\xF6\0\xDF\0e\0.\0\"\0}")},
      {NULL, NULL, BYTES("{\0\"\0t\0e\0x\0t\0\"\0:\0\"\0G\0r\0\xF6\0\xDF\0e\0.\0\"\0}\0")},
      {"application/json; charset=utf-32le", NULL,
       BYTES("{\0\0\0\"\0\0\0t\0\0\0e\0\0\0x\0\0\0t\0\0\0\"\0\0\0:\0\0\0\"\0\0\0G\0\0\0r\0\0\0\xF6\0\0\0\xDF\0\0\0"
             "e\0\0\0.\0\0\0\"\0\0\0}\0\0\0")},
  };
  (void)state;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    char path[40], *id = path + 15;
    snprintf(path, sizeof path, "/api/documents/j%zu", i);
    is_code(200, "\"added\":1", "PUT", path, good[i]);
    is_document(id, "Gr\xC3\xB6\xC3\x9F\x65.");
  }
}

static void what_is_not_known_is_refused_by_name(void **state) {
  static const char json[] = "{\"inputs\": \"a\"}";
  static const struct {
    body given;
    int code;
    const char *part;
  } rows[] = {
      {{"application/xml", NULL, BYTES(json)}, 415, "application/xml"},
      {{"text/html", NULL, BYTES(json)}, 415, "text/html"},
      {{"multipart/form-data; boundary=b", NULL, BYTES(json)}, 415, "multipart/form-data"},
      {{"json", NULL, BYTES(json)}, 415, "'json'"},
      {{"application/json; charset", NULL, BYTES(json)}, 415, "charset"},
      {{"application/json; charset=\"utf-8", NULL, BYTES(json)}, 415, "utf-8"},
      {{"application/json; charset=utf-8; charset=utf-16", NULL, BYTES(json)}, 415, "utf-16"},
      {{"application/json; charset=klingon", NULL, BYTES(json)}, 415, "klingon"},
      {{"application/json; charset=shift_jis", NULL, BYTES("{\"inputs\": \"\x81\"}")}, 400, "shift_jis"},
      {{"application/json; charset=utf-16", NULL, BYTES("")}, 400, "JSON"},
      {{NULL, "br", BYTES(json)}, 415, "'br'"},
      {{NULL, "gzip, gzip", BYTES(json)}, 415, "gzip, gzip"},
      {{NULL, "gzip", BYTES(json)}, 400, "gzip"},
      {{NULL, "deflate", BYTES(json)}, 400, "deflate"},
      {{NULL, "zstd", BYTES(json)}, 400, "Zstandard"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    is_code(rows[i].code, rows[i].part, "POST", "/embed", rows[i].given);
  is_code(415, "image/png", "POST", "/api/documents", (body){"image/png", NULL, BYTES("\x89PNG")});
  is_code(415, "klingon", "POST", "/api/documents", (body){"text/csv; charset=klingon", NULL, BYTES("text\na\n")});
}

/* zlib's formats by window bits: 15: zlib's own, 31: gzip, -15: none. */
static size_t deflated(char *out, size_t size, int window_bits, const char *bytes, size_t n) {
  z_stream z = {.next_in = (unsigned char *)(size_t)bytes, .avail_in = (unsigned)n, .next_out = (unsigned char *)out};
  z.avail_out = (unsigned)size;
  assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
  deflateEnd(&z);
  return size - z.avail_out;
}

/* Bodies of exactly the maximum, decompressed, and of one byte more; all of them cut. */
static void compressed_bodies(void **state) {
  static const char *const names[] = {"gzip", "x-gzip", "DEFLATE", "deflate", "zstd"};
  static const int window_bits[] = {31, 31, 15, -15, 0};
  static char text[MAX_BODY + 2], packed[MAX_BODY];
  (void)state;
  const size_t n_json = (size_t)snprintf(text, sizeof text, "{\"inputs\": \"a\"}");
  memset(text + n_json, ' ', MAX_BODY + 1 - n_json);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    for (size_t more = 0; more < 2; more++) {
      const size_t n = window_bits[i] ? deflated(packed, sizeof packed, window_bits[i], text, MAX_BODY + more)
                                      : ZSTD_compress(packed, sizeof packed, text, MAX_BODY + more, 3);
      is_code(more ? 413 : 200, more ? "--max-body" : "", "POST", "/embed", (body){NULL, names[i], packed, n});
      for (size_t cut = 1; !more && cut < n; cut += 1 + cut / 8)
        is_code(400, "ends too early", "POST", "/embed", (body){NULL, names[i], packed, n - cut});
      packed[n] = 'x';
      if (!more) is_code(400, "broken", "POST", "/embed", (body){NULL, names[i], packed, n + 1});
    }
}

#define FORM              "multipart/form-data; boundary=XyZ"
#define PART(head, bytes) "--XyZ\r\nContent-Disposition: form-data; " head "\r\n\r\n" bytes "\r\n"

static void files_of_a_form(void **state) {
  (void)state;
  is_code(200, "\"added\":1", "POST", "/api/documents",
          (body){FORM, NULL, BYTES(PART("name=\"file\"; filename=\"one.txt\"", "The first.") "--XyZ--\r\n")});
  is_document("one.txt:1", "The first.");
  /* a preamble, a quoted boundary, each part its own type and charset, a field after its file, an empty file */
  is_code(200, "\"added\":3", "POST", "/api/documents",
          (body){"multipart/form-data; charset=utf-8; boundary=\"XyZ\"", NULL,
                 BYTES("preamble\r\n" PART("name=a; filename=\"C:\\\\x\\\\two.csv\"\r\nContent-Type: text/csv; "
                                           "charset=windows-1252",
                                           "text\r\ncaf\xE9") PART("name=b; filename=t.html",
                                                                   "\xFF\xFE<\0p\0>\0h\0i\0<\0/\0p\0>\0")
                           PART("name=c; filename*=UTF-8''%C3%A9.php\r\ncontent-type: text/html", "<p>x &amp; y</p>")
                               PART("name=language\r\nContent-Type: text/plain", "fr")
                                   PART("name=e; filename=e.txt", "") "--XyZ--epilogue")});
  is_document("two.csv:2", "caf\xC3\xA9");
  is_document("t.html", "hi");
  is_document("\xC3\xA9.php", "x & y");
  /* bytes that look like a boundary, but are not one */
  is_code(200, "\"added\":1", "POST", "/api/documents",
          (body){FORM, NULL, BYTES(PART("name=f; filename=d.md", "x--XyZ\r\n-XyZ \n--XyZ") "--XyZ--")});
  is_document("d.md", "x--XyZ -XyZ --XyZ");
  name_argument = "named.md";
  is_code(200, "\"added\":1", "POST", "/api/documents",
          (body){FORM, NULL, BYTES(PART("name=f; filename=d", "Named.") "--XyZ--")});
  is_document("named.md", "Named.");
  is_code(422, "2 files", "POST", "/api/documents",
          (body){FORM, NULL, BYTES(PART("name=f; filename=d", "a") PART("name=f; filename=e", "b") "--XyZ--")});
  name_argument = NULL;
}

static void forms_that_are_refused(void **state) {
  static const struct {
    body given;
    int code;
    const char *part;
  } rows[] = {
      {{"multipart/form-data", NULL, BYTES("--XyZ--")}, 415, "boundary"},
      {{FORM, NULL, BYTES("")}, 400, "no part"},
      {{FORM, NULL, BYTES("--Xy\r\n")}, 400, "no part"},
      {{FORM, NULL, BYTES("--XyZ--")}, 422, "no file"},
      {{FORM, NULL, BYTES(PART("name=x", "1") "--XyZ--")}, 422, "unknown field 'x'"},
      {{FORM, NULL, BYTES(PART("filename=x", "1") "--XyZ--")}, 400, "no name"},
      {{FORM, NULL, BYTES("--XyZ\r\nContent-Type text/plain\r\n\r\n1\r\n--XyZ--")}, 400, "Content-Type text/plain"},
      {{FORM, NULL, BYTES(PART("name=x; filename=\"a\0b\"", "1") "--XyZ--")}, 400, "filename"},
      {{FORM, NULL, BYTES(PART("name=x; filename=\"a", "1") "--XyZ--")}, 400, "filename"},
      {{FORM, NULL, BYTES(PART("name=x; filename*=latin1''a", "1") "--XyZ--")}, 400, "latin1"},
      {{FORM, NULL, BYTES(PART("name=x; filename*=utf-8''a%00b", "1") "--XyZ--")}, 400, "%00"},
      {{FORM, NULL, BYTES(PART("name=x; filename=a\r\nContent-Transfer-Encoding: base64", "1") "--XyZ--")},
       415,
       "base64"},
      {{FORM, NULL, BYTES(PART("name=x; filename=a\r\nContent-Type: image/png", "1") "--XyZ--")}, 415, "image/png"},
      {{FORM, NULL, BYTES(PART("name=x; filename=a\r\nContent-Type: text/csv; charset=klingon", "1") "--XyZ--")},
       415,
       "klingon"},
      {{FORM, NULL, BYTES(PART("name=x; filename=a.txt", "1") PART("name=y; filename=a.txt", "2") "--XyZ--")},
       422,
       "two files are named 'a.txt'"},
      {{FORM, NULL,
        BYTES(PART("name=x; filename=a.jsonl", "{\"id\": \"7\", \"text\": \"A\"}")
                  PART("name=y; filename=b.csv", "id,text\n6,B\n7,C\n") "--XyZ--")},
       422,
       "b.csv:3: document '7' appears twice, before in a.jsonl:1"},
  };
  static const char whole[] =
      PART("name=x; filename=good.txt", "Good.") PART("name=y; filename=more.txt", "More.") "--XyZ--";
  const size_t before = cq_index_size(model->index);
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    is_code(rows[i].code, rows[i].part, "POST", "/api/documents", rows[i].given);
  for (size_t cut = 0; cut < sizeof whole - 1; cut++) /* not before the last boundary is whole */
    is_code(400, "the form", "POST", "/api/documents", (body){FORM, NULL, whole, cut});
  char *many = malloc(1001 * 128);
  assert_non_null(many);
  for (int n_parts = 1000; n_parts <= 1001; n_parts++) { /* of empty files */
    size_t n = 0;
    for (int i = 0; i < n_parts; i++) n += (size_t)sprintf(many + n, PART("name=f; filename=%d", ""), i);
    strcpy(many + n, "--XyZ--");
    is_code(n_parts > 1000 ? 413 : 200, n_parts > 1000 ? "1000 parts" : "\"added\":0", "POST", "/api/documents",
            (body){FORM, NULL, many, strlen(many)});
  }
  free(many);
  assert_int_equal(cq_index_size(model->index), before);
}

static void bodies_of_files(void **state) {
  static const char csv[] = "text\ncaf\xE9\n", html[] = "<p>caf\xE9</p>";
  (void)state;
  name_argument = "x.csv";
  is_code(200, "\"added\":1", "POST", "/api/documents", (body){"text/plain; charset=iso-8859-1", NULL, BYTES(csv)});
  is_document("x.csv:2", "caf\xC3\xA9");
  is_code(422, "not UTF-8", "POST", "/api/documents", (body){"text/csv; charset=utf-8", NULL, BYTES(csv)});
  name_argument = "page";
  is_code(200, "\"added\":1", "POST", "/api/documents", (body){"text/html;charset=windows-1252", NULL, BYTES(html)});
  is_document("page", "caf\xC3\xA9");
  name_argument = NULL;
  char packed[200];
  const size_t n = deflated(packed, sizeof packed, 31, BYTES("{\"id\": \"z\", \"text\": \"Packed.\"}\n"));
  is_code(200, "\"added\":1", "POST", "/api/documents", (body){"application/x-ndjson", "gzip", packed, n});
  is_document("z", "Packed.");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(json_in_any_encoding),   cmocka_unit_test(what_is_not_known_is_refused_by_name),
      cmocka_unit_test(compressed_bodies),      cmocka_unit_test(files_of_a_form),
      cmocka_unit_test(forms_that_are_refused), cmocka_unit_test(bodies_of_files),
  };
  return cmocka_run_group_tests(tests, open_shared, close_shared);
}
