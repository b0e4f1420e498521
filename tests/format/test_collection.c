/* Collections of documents: the three forms, what counts as their text, and errors with their lines. */
#include "support/files.h"

#include "base/memory.h"
#include "format/collection.h"
#include "format/markup.h"

#include <sys/stat.h>
#include <time.h>
#include <zlib.h>

/* Reads all documents of some files as "id=text" with a bar between them, blanks in the text run together. */
static cq_status read_paths(cq_builder *out, const char *const *paths, size_t n_paths, const char *const *fields,
                            size_t n_fields, cq_error *error) {
  cq_collection *c;
  cq_raw_document raw;
  cq_builder room = {0};
  cq_builder_clear(out);
  cq_builder_bytes(out, "", 0);
  cq_status status = cq_collection_open(&c, paths, n_paths, error);
  if (status) return status;
  while (!(status = cq_collection_next(&raw, c, error)) && raw.bytes.data) {
    cq_collection_document d;
    status = cq_document_read(&d, &raw, fields, n_fields, &room, error);
    if (status) break;
    if (out->n) cq_builder_char(out, '|');
    cq_builder_bytes(out, d.id.data, d.id.n);
    cq_builder_char(out, '=');
    status = out->failed ? CQ_ERR_MEMORY : CQ_OK;
    if (status) break;
    bool blank = true;
    for (size_t i = 0; i < d.text.n; i++) {
      const bool is_blank = d.text.data[i] == ' ' || d.text.data[i] == '\n' || d.text.data[i] == '\t';
      if (!is_blank || !blank) cq_builder_char(out, is_blank ? ' ' : d.text.data[i]);
      blank = is_blank;
    }
    if (!out->failed && out->data[out->n - 1] == ' ') out->data[--out->n] = 0;
  }
  cq_builder_free(&room);
  cq_collection_close(c);
  if (!status && out->failed) status = CQ_ERR_MEMORY;
  return status;
}

static void check_fields(const char *text, const char *const *fields, size_t n_fields, const char *expected) {
  const char *path = test_path("c");
  cq_builder got = {0};
  cq_error error = {0};
  write_text(path, text);
  if (read_paths(&got, &path, 1, fields, n_fields, &error)) fail_msg("%s\n%s", text, error.message);
  if (strcmp(got.data, expected) != 0) fail_msg("%s\ngave     '%s'\nexpected '%s'", text, got.data, expected);
  cq_builder_free(&got);
}

static void check(const char *text, const char *expected) {
  check_fields(text, NULL, 0, expected);
}

static void trec_documents_are_read(void **state) {
  (void)state;
  check("<DOC>\n<DOCNO> AB-1 </DOCNO>\n<TEXT>\nBoats at dawn.\n</TEXT>\n</DOC>\n"
        "\n"
        "<DOC>\n<DOCNO>AB-2</DOCNO>\n<HEAD>Old</HEAD><TEXT>harbour</TEXT>\n</DOC>\n",
        "AB-1=Boats at dawn.|AB-2=Old harbour");
  check("<doc><docno>a</docno><p>one<p>two</doc>\n<Doc ><DocNo\t>\tb\n</DOCNO> three</dOC>\n", "a=one two|b=three");
  check("<DOC id=\"7\" lang=de>\n<DOCNO>a</DOCNO>x\n</DOC >\n", "a=x");
  check("<DOC>\r\n<DOCNO>\r\na\r\n</DOCNO>\r\nx\r\n</DOC>\r\n", "a=x");
  check("<DOC><DOCNO>a</DOCNO></DOC>", "a=");
}

static void the_id_is_docnos_else_docids(void **state) {
  (void)state;
  check("<DOC><DOCID> 9 </DOCID>x</DOC>\n", "9=x");
  check("<DOC><DOCID>9</DOCID>x<DOCNO>a</DOCNO>y</DOC>\n", "a=x y");
  check("<DOC><DOCID>9</DOCID><DOCID>8</DOCID><DOCNO>a</DOCNO>y</DOC>\n", "a=y");
  check("<DOC><DOCNO></DOCNO><DOCID>9</DOCID>y</DOC>\n", "9=y");
  check("<DOC><DOCNO>\xE0\xA4\xB9-1</DOCNO>y</DOC>\n", "\xE0\xA4\xB9-1=y");
  check("<DOC><DOCNO>a<b</DOCNO>y</DOC>\n", "a<b=y");
  check("<DOC><DOCNOTE>n</DOCNOTE><DOCNO>a</DOCNO>y</DOC>\n", "a=n y");
}

static void all_text_counts(void **state) {
  (void)state;
  check("<DOC><DOCNO>a</DOCNO><F P=105>one</F><B><I>two</I></B>three<BR/>four</DOC>\n", "a=one two three four");
  check("<DOC><DOCNO>a</DOCNO>AT&amp;T &lt;tag&gt; &quot;q&quot; &apos;s&apos; co&hyph;op &#65;&#x42;&#X43; "
        "&#233;</DOC>\n",
        "a=AT&T <tag> \"q\" 's' co op ABC é");
  check("<DOC><DOCNO>a</DOCNO>it&#146;s &#x80;</DOC>\n", "a=it’s €"); /* windows-1252, as in browsers */
  check("<DOC><DOCNO>a</DOCNO>&#0;x&#7;y&#xD800;z&#x110000;w&#;v&#x;u</DOC>\n", "a=x y z w v u");
  check("<DOC><DOCNO>a</DOCNO>caf&eacute; &Eacute;t&eacute; &szlig;&hellip;&theta;&zwnj;&EACUTE;&AMP;&Amp; "
        "&thetasy</DOC>\n",
        "a=caf\u00e9 \u00c9t\u00e9 \u00df\u2026\u03b8\u200c && &thetasy");
  check("<DOC><DOCNO>a</DOCNO>R&D & &; &amp &averyverylongname; &a b;</DOC>\n",
        "a=R&D & &; &amp &averyverylongname; &a b;");
  check("<DOC><DOCNO>a</DOCNO>a < b, b<3, x<y and z, <- <> </> <1></DOC>\n", "a=a < b, b<3, x<y and z, <- <> </> <1>");
  check("<DOC><DOCNO>a</DOCNO>one<!-- not <b>this</b>\nnor this -->two<?pi x?><!DOCTYPE y></DOC>\n", "a=onetwo");
  check("<DOC><DOCNO>a</DOCNO>one <!-- not closed</DOC>\n", "a=one <!-- not closed");
  check("<DOC><DOCNO>a</DOCNO>one <b</DOC>\n", "a=one <b");
}

static void fields_choose_text(void **state) {
  (void)state;
  static const char *const fields[] = {"title", "Abstract"};
  check_fields("<DOC><DOCNO>a</DOCNO><TITLE>one <b>two</b></TITLE><TEXT>three</TEXT><abstract "
               "lang=x>four</ABSTRACT>five</DOC>\n",
               fields, 2, "a=one two four");
  check_fields("<DOC><DOCNO>a</DOCNO><TITLE>one</TITLE></DOC>\n", fields + 1, 1, "a=");
  check_fields("<DOC><DOCNO>a</DOCNO><TITLE/><TEXT>one</TEXT></DOC>\n", fields, 1, "a=");
  check_fields("<DOC><DOCNO>a</DOCNO><TITLE>one<DOCID>9</DOCID>two</DOC>\n", fields, 1, "a=one two");
  check_fields("<DOC><DOCNO>a</DOCNO><TITLE>one</TITLE>x<TITLE>two</TITLE></DOC>\n", fields, 1, "a=one two");
  check_fields("{\"id\": 1, \"title\": \"one\", \"text\": \"two\", \"Abstract\": \"three\"}\n", fields, 2,
               "1=one three");
}

static void documents_may_stand_on_a_line_each(void **state) {
  (void)state;
  check("<DOC><DOCNO>a</DOCNO>one</DOC>\n<DOC><DOCNO>b</DOCNO>two</DOC>\n<DOC><DOCNO>c</DOCNO>three</DOC>",
        "a=one|b=two|c=three");
}

static void tags_may_stand_between_documents(void **state) {
  (void)state;
  check(
      "<?xml version=\"1.0\"?>\n<root>\n<!-- all of it -->\n<DOCS><DOC>\n<DOCNO>a</DOCNO>one\n</DOC></DOCS>\n</root>\n",
      "a=one");
  check("\n  \n  <DOC><DOCNO>a</DOCNO>one</DOC>\n", "a=one");
}

static void json_lines_are_read(void **state) {
  (void)state;
  check("{\"id\": \"a\", \"title\": \"T\", \"text\": \"one\\ntwo\", \"contents\": \"c\", \"other\": \"no\"}\n"
        "\n"
        "{\"_id\": \" b \", \"text\": \"x\"}\n{\"docid\": 12, \"contents\": \"y\"}\n  {\"id\": \"c\"}\n",
        "a=T one two c|b=x|12=y|c=");
  check(" {\"id\": \"a\", \"text\": 5, \"title\": null}\n", "a=5");
  check("{\"id\": null, \"_id\": \"b\", \"text\": \"<b>&amp;\"}\n", "b=<b>&amp;");
}

static void tabs_part_id_and_text(void **state) {
  (void)state;
  check("a\tone\n\nb \ttwo\tthree\r\nc\t\n", "a=one|b=two three|c=");
  check("\xEF\xBB\xBF"
        "1\t<b>&amp;\n{2\tx\n<3\ty",
        "1=<b>&amp;|{2=x|<3=y");
}

static void write_gzipped(const char *path, const char *text) {
  gzFile f = gzopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(gzwrite(f, text, (unsigned)strlen(text)), strlen(text));
  assert_int_equal(gzclose(f), Z_OK);
}

static void files_have_a_form_each(void **state) {
  (void)state;
  const char *paths[] = {test_path("1.gz"), test_path("2"), test_path("3"), test_path("4.gz")};
  cq_builder got = {0};
  cq_error error = {0};
  write_gzipped(paths[0], "<DOC><DOCNO>a</DOCNO>one</DOC>\n");
  write_text(paths[1], "");
  write_text(paths[2], "b\ttwo\n");
  write_gzipped(paths[3], "{\"id\": \"c\", \"text\": \"three\"}\n");
  assert_int_equal(read_paths(&got, paths, 4, NULL, 0, &error), CQ_OK);
  assert_string_equal(got.data, "a=one|b=two|c=three");
  assert_int_equal(read_paths(&got, paths + 1, 1, NULL, 0, &error), CQ_OK);
  assert_string_equal(got.data, "");
  assert_int_equal(read_paths(&got, paths, 0, NULL, 0, &error), CQ_OK);
  assert_string_equal(got.data, "");
  cq_builder_free(&got);
}

static void directories_are_walked_in_order(void **state) {
  (void)state;
  static const char *const directories[] = {"d", "d/b", "d/b/deep", "d/.hidden", "d/empty"};
  static const char *const files[] = {"d/c",        "d/B",         "d/a",  "d/b/2", "d/b/10",
                                      "d/b/deep/x", "d/.hidden/y", "d/.z", "d/b~"};
  for (size_t i = 0; i < sizeof directories / sizeof *directories; i++)
    assert_int_equal(mkdir(test_path(directories[i]), 0700), 0);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char text[64];
    snprintf(text, sizeof text, "%s\tx\n", files[i]);
    write_text(test_path(files[i]), text);
  }
  const char *const paths[] = {test_path("d"), test_path("d/.z")}; /* a name that is given counts */
  cq_builder got = {0};
  cq_error error = {0};
  assert_int_equal(read_paths(&got, paths, 2, NULL, 0, &error), CQ_OK);
  assert_string_equal(got.data, "d/B=x|d/a=x|d/b/10=x|d/b/2=x|d/b/deep/x=x|d/b~=x|d/c=x|d/.z=x");
  cq_builder_free(&got);

  const char *const missing[] = {test_path("d"), test_path("nowhere")};
  cq_collection *c;
  assert_int_equal(cq_collection_open(&c, missing, 2, &error), CQ_ERR_IO);
  assert_null(c);
  assert_non_null(strstr(error.message, "nowhere: there is no such file or directory"));
  cq_collection_close(NULL);
}

static void a_document_knows_its_place(void **state) {
  (void)state;
  static const struct {
    cq_collection_format format;
    uint64_t line;
    const char *bytes;
  } expected[] = {{CQ_FORMAT_TREC, 3, "\n<DOCNO>a</DOCNO>\n\n\n"},
                  {CQ_FORMAT_TREC, 7, "<DOCNO>b</DOCNO>x\n"},
                  {CQ_FORMAT_JSON, 2, "{}"},
                  {CQ_FORMAT_TSV, 1, "a\tb"}};
  const char *const paths[] = {test_path("p1"), test_path("p2"), test_path("p3")};
  static const size_t files[] = {0, 0, 1, 2};
  write_text(paths[0], "\n<x>\n<DOC>\n<DOCNO>a</DOCNO>\n\n</DOC>\n<DOC><DOCNO>b</DOCNO>x</DOC>\n");
  write_text(paths[1], "\n{}\n");
  write_text(paths[2], "a\tb");
  cq_collection *c;
  cq_raw_document raw;
  assert_int_equal(cq_collection_open(&c, paths, 3, NULL), CQ_OK);
  for (size_t i = 0; i < 4; i++) {
    assert_int_equal(cq_collection_next(&raw, c, NULL), CQ_OK);
    assert_int_equal(raw.format, expected[i].format);
    assert_int_equal(raw.line, expected[i].line);
    assert_string_equal(raw.path, paths[files[i]]);
    assert_true(cq_slice_equal(raw.bytes, cq_slice_of(expected[i].bytes)));
  }
  for (int time = 0; time < 2; time++) {
    assert_int_equal(cq_collection_next(&raw, c, NULL), CQ_OK);
    assert_null(raw.bytes.data);
  }
  cq_collection_close(c);
}

static void errors_have_their_line(void **state) {
  (void)state;
#define FIRST "<DOC>\n<DOCNO>a</DOCNO>\n</DOC>\n" /* three lines */
  static const struct {
    const char *text;
    uint64_t line;
    const char *message;
  } cases[] = {
      {FIRST "lost\n<DOC>\n</DOC>\n", 4, "text outside of a document, expected <DOC>"},
      {"<x>\nlost\n" FIRST, 2, "text outside of a document"},
      {FIRST "\nlost <DOC>\n</DOC>\n", 5, "text outside of a document"},
      {FIRST "<DOC>\n<DOCNO>b</DOCNO>\n</DOC> lost\n", 6, "text after </DOC>, expected a new line"},
      {"<DOC><DOCNO>b</DOCNO></DOC><DOC><DOCNO>c</DOCNO></DOC>\n", 1, "text after </DOC>"},
      {FIRST "<DOC>\n<DOCNO>b</DOCNO></DOC> <DOC>\n</DOC>\n", 5, "text after </DOC>"},
      {FIRST "<DOC>\n<DOCNO>b</DOCNO>\ntext\n", 4, "<DOC> is not closed"},
      {"<DOC>", 1, "<DOC> is not closed"},
      {FIRST "<DOC>\n<DOCNO>b</DOCNO>\n<DOC>\n", 6, "<DOC> inside the document of line 4, which is not closed"},
      {"<DOC> <doc>\n</DOC>\n", 1, "<DOC> inside the document of line 1"},
      {FIRST "\n<DOC>\n<TEXT>x</TEXT>\n</DOC>\n", 5, "a document without <DOCNO>"},
      {"<DOC><DOCNO> </DOCNO></DOC>\n", 1, "a document without <DOCNO>"},
      {"<DOC><DOCNO/>a</DOC>\n", 1, "a document without <DOCNO>"},
      {FIRST "<DOC>\n<DOCNO>b</DOCNO>\n<DOCNO>b</DOCNO>\n</DOC>\n", 4, "a document with two ids"},
      {FIRST "<DOC>\n<DOCID>b</DOCID>\n<DOCID>c</DOCID>\n</DOC>\n", 4, "a document with two ids"},
      {FIRST "<DOC>\n<DOCNO>b c</DOCNO>\n</DOC>\n", 4, "an id with a blank in it"},
      {FIRST "<DOC>\n<DOCNO>b\nc</DOCNO>\n</DOC>\n", 4, "an id with a blank in it"},
      {FIRST "<DOC>\n<DOCNO>b\x80</DOCNO>\n</DOC>\n", 5, "not UTF-8"},
      {"{\"id\": \"a\"}\n{\"id\": \"b\"\n", 2, "not a JSON object"},
      {"{\"id\": \"a\"}\n\n[1]\n", 3, "not a JSON object"},
      {"{\"id\": \"a\"}\nb\ttext\n", 2, "not a JSON object"},
      {"{\"id\": \"a\"} {}\n", 1, "not a JSON object"},
      {"{\"id\": \"a\"}\n{\"text\": \"b\"}\n", 2, "a document without \"id\""},
      {"{\"id\": 1.5}\n", 1, "a document without \"id\""},
      {"{\"id\": [1]}\n", 1, "a document without \"id\""},
      {"{\"id\": \"\"}\n", 1, "an empty id"},
      {"{\"id\": \"a\"}\n{\"id\": \" \\t\"}\n", 2, "an empty id"},
      {"{\"id\": \"a b\"}\n", 1, "an id with a blank in it"},
      {"{\"id\": \"a\\u0000b\"}\n", 1, "an id with a blank in it"},
      {"a\tx\n\nb\n", 3, "no tab, expected id, tab, text"},
      {"a\tx\n\tb\n", 2, "an empty id"},
      {"a\tx\nb c\ty\n", 2, "an id with a blank in it"},
      {"a\tx\nb\xFF\ty\n", 2, "not UTF-8"},
  };
  const char *path = test_path("e");
  int failures = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_builder got = {0};
    cq_error error = {0};
    write_text(path, cases[i].text);
    const cq_status status = read_paths(&got, &path, 1, NULL, 0, &error);
    if (status != CQ_ERR_FORMAT || error.line != cases[i].line || strcmp(error.file, path) != 0 ||
        !strstr(error.message, cases[i].message))
      failures++, print_error("%s: status %d, line %llu: %s\n", cases[i].text, status, (unsigned long long)error.line,
                              error.message);
    cq_builder_free(&got);
  }
  assert_int_equal(failures, 0);
}

static void names_are_compared_without_case(void **state) {
  (void)state;
  assert_true(cq_markup_is(cq_slice_of("DocNo"), "docno") && cq_markup_is((cq_slice){"textual", 4}, "TEXT"));
  assert_false(cq_markup_is(cq_slice_of("docn"), "docno") || cq_markup_is(cq_slice_of("docnos"), "docno") ||
               cq_markup_is(cq_slice_of(""), "docno"));
}

static void failed_allocations_are_reported(void **state) {
  (void)state;
  const char *const paths[] = {test_path("m")};
  const char *const field = "text";
  assert_int_equal(mkdir(paths[0], 0700), 0);
  write_text(test_path("m/1"),
             "<DOC><DOCNO>a</DOCNO>\n<TEXT>one &amp; two, longer than the room that there is at first</TEXT></DOC>\n");
  write_text(test_path("m/2"), "{\"id\": \"b\", \"text\": \"three\"}\n");
  write_text(test_path("m/3"), "c\tfour\n");
  for (long n = 1;; n++) {
    cq_builder got = {0};
    cq_error error = {0};
    cq_alloc_fail_at(n);
    const cq_status status = read_paths(&got, paths, 1, &field, 1, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (!failed) {
      assert_int_equal(status, CQ_OK);
      assert_true(n > 15);
      assert_string_equal(got.data, "a=one & two, longer than the room that there is at first|b=three|c=four");
    } else if (status != CQ_ERR_MEMORY) {
      fail_msg("allocation %ld gave status %d: %s", n, status, error.message);
    }
    cq_builder_free(&got);
    if (!failed) break;
  }
}

/* In seconds even where a sanitizer looks on: each of these was quadratic once, which takes hours at this size. */
static void what_does_not_end_is_looked_through_once(void **state) {
  (void)state;
  static const char *const repeated[] = {"<!--", "<!-- x ", "<!x", "<?x ", "<doc ", "<x ", "&", "<"};
  enum { SIZE = 10 << 20 };
  for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++) {
    const size_t n = strlen(repeated[i]);
    const char *path = test_path("long");
    const clock_t begin = clock();
    cq_builder text = {0}, got = {0};
    cq_error error = {0};
    cq_builder_text(&text, "<DOC>\n<DOCNO>1</DOCNO>\n");
    while (text.n < SIZE) cq_builder_bytes(&text, repeated[i], n);
    cq_builder_text(&text, "\n</DOC>\n");
    assert_false(text.failed);
    write_bytes(path, text.data, text.n);
    if (read_paths(&got, &path, 1, NULL, 0, &error)) fail_msg("%s: %s", repeated[i], error.message);
    assert_true(got.n > 2 && !memcmp(got.data, "1=", 2));
    const double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    if (seconds > 20) fail_msg("%s took %.1f s", repeated[i], seconds);
    cq_builder_free(&text);
    cq_builder_free(&got);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(trec_documents_are_read),
      cmocka_unit_test(the_id_is_docnos_else_docids),
      cmocka_unit_test(all_text_counts),
      cmocka_unit_test(fields_choose_text),
      cmocka_unit_test(documents_may_stand_on_a_line_each),
      cmocka_unit_test(tags_may_stand_between_documents),
      cmocka_unit_test(json_lines_are_read),
      cmocka_unit_test(tabs_part_id_and_text),
      cmocka_unit_test(files_have_a_form_each),
      cmocka_unit_test(directories_are_walked_in_order),
      cmocka_unit_test(a_document_knows_its_place),
      cmocka_unit_test(errors_have_their_line),
      cmocka_unit_test(names_are_compared_without_case),
      cmocka_unit_test(failed_allocations_are_reported),
      cmocka_unit_test(what_does_not_end_is_looked_through_once),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
