/* Dumps of a MediaWiki, its markup as text, and subtitles. */
#include "support/documents.h"

#include "document/wiki_text.h"

/* The text of markup is `expected`. */
static void shows(const char *markup, const char *expected) {
  cq_builder out = {0};
  cq_builder_text(&out, "before:"); /* what is there stays */
  cq_wiki_text(&out, cq_slice_of(markup), cq_slice_of("File\nImage\nCategory\nDatei\n"));
  cq_builder_text(&out, ""); /* a zero at the end */
  assert_string_equal(out.data + 7, expected);
  cq_builder_free(&out);
}

static void links_are_their_labels(void **state) {
  (void)state;
  shows("A [[dog]], [[Dog (animal)|two dogs]], [[:Category:Dogs]] and [[:de:Hund|Hund]].",
        "A dog, two dogs, Category:Dogs and Hund.");
  shows("x [[File:a.jpg|thumb|A [[dog]] and [[cat|cats]]]] y", "x y");
  shows(
      "[[Datei:a.jpg|mini]][[image:b.png]][[Bild:c.svg|20px]]a[[Category:Dogs]][[de:Hund]][[zh-yue:X]]\n[[simple:Dog]]",
      "a");
  shows("[[wikt:dog|dog]] [[C: a tale]] [[a|b|c]]", "dog C: a tale b|c");
  shows("[https://example.org The [[site]]] and [https://example.org] and https://a.b [x] [1]",
        "The site and and https://a.b [x] [1]");
  shows("[[open and ]] closed]] [[never", "open and closed]] never");
}

static void templates_and_tables_are_dropped(void **state) {
  (void)state;
  shows("{{Infobox\n| a = {{b|{{c}}}}\n| d = [[e]]\n}}\n'''Dog''' ({{IPA|x}}) is ''an'' animal{{cn}}.",
        "Dog is an animal.");
  shows("Dog (''Canis''; {{lang|la|x}}) and ( ) f() g(;)", "Dog (Canis) and ( ) f() g(;)");
  shows("Before\n{| class=\"x\"\n|-\n| a || {{b\n|}}\n{|\n| inner\n|}\n|}\nAfter", "Before After");
  shows("a {{b|}} c\n{{d\n|}}", "a c");
  shows("a }} b |} c {{ open", "a }} b |} c open");
  shows("a<ref>b [[c]] {{d}}</ref> e<ref name=\"f\" />.<ref name=g>\n* h</ref> i</ref>", "a e. i");
  shows("a <ref>open", "a open");
}

static void lines_are_blocks(void **state) {
  (void)state;
  shows("One\ntwo.\n\nThree.\n\n\n== Head [[line|lines]] ==\nFour.\n=== b= ===\n* item\n** deeper\n# one\n:; x\nFive",
        "One two.\n\nThree.\n\nHead lines\n\nFour.\n\nb=\n\nitem\ndeeper\none\nx\nFive");
  shows("==\n== a\n===\na\n----\nb\n", "== == a === a\n\nb");
  shows(" code\n more\n\ntext __NOTOC__ snake__CASE__x __a__", "code\nmore\n\ntext snakex __a__");
  shows("a<br>b<br />c<p>d</p>e <b class='x'>f</b> g <small>h</small>", "a\nb\nc\nd\ne f g h");
}

static void what_is_no_markup_stays(void **state) {
  (void)state;
  shows("5 < 7 > 3, it's 'a' ''b'' '''''c''''' '''d''' ''''e'''", "5 < 7 > 3, it's 'a' b c d 'e");
  shows("<nowiki>[[a]] {{b}}</nowiki> <pre>''c''</pre>", "[[a]] {{b}} ''c''");
  shows("a <!-- b [[ c --> d\n<!-- e -->\nf<!-- open", "a d f");
  shows("x <math>{{a}^2 [[</math>, <syntaxhighlight lang=\"c\">a[[0]]</syntaxhighlight>y <MATH>z</Math>", "x, y");
  shows("<math>open {{a}} <gallery>\nb", "open b");
  shows("a&nbsp;b &amp; &lt;c&gt; &eacute; &#8211; AT&T", "a b & <c> é – AT&T");
  shows("-{zh-hans:a;zh-hant:b}- -{c}- -{H|zh-cn:d;zh-tw:e}- -{f", "a c d -{f");
  shows("", "");
}

/* Markup of many open parts takes time in proportion to its length. */
static void deep_markup_is_fast(void **state) {
  (void)state;
  static const char *const parts[] = {"{{",          "[[a|", "<ref>", "{|\n", "<math>", "}}{{", "[[",  "]]",
                                      "[http://a b", "''",   "-{",    "<!--", "(",      "\n=",  "|}\n"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    cq_builder in = {0}, out = {0};
    while (in.n < 1000000) cq_builder_text(&in, parts[i]);
    cq_wiki_text(&out, cq_built(&in), cq_slice_of("File\n"));
    assert_true(out.n <= in.n);
    assert_false(out.failed);
    cq_builder_free(&in);
    cq_builder_free(&out);
  }
}

#define SITE                                                                                                           \
  "<mediawiki xmlns=\"x\" xml:lang=\"de\">\n <siteinfo>\n  <base>https://de.example.org/wiki/Start</base>\n  "         \
  "<namespaces>\n"                                                                                                     \
  "   <namespace key=\"0\" case=\"first-letter\" />\n   <namespace key=\"6\" "                                         \
  "case=\"first-letter\">Datei</namespace>\n"                                                                          \
  "   <namespace key=\"10\" case=\"first-letter\">Vorlage</namespace>\n  </namespaces>\n </siteinfo>\n"
#define PAGE(title, ns, id, more, text)                                                                                \
  " <page>\n  <title>" title "</title>\n  <ns>" #ns "</ns>\n  <id>" #id "</id>\n" more                                 \
  "  <revision>\n   <id>99</id>\n   <text bytes=\"1\" xml:space=\"preserve\">" text                                    \
  "</text>\n  </revision>\n </page>\n"

static void keep_notices(void *context, const char *text) {
  const size_t n = strlen(context);
  snprintf((char *)context + n, 1000 - n, "%s\n", text);
}

static void pages_are_documents(void **state) {
  (void)state;
  char notices[1000] = "";
  cq_documents_options o = as_they_say();
  o.notice = keep_notices, o.notice_context = notices;
  reads("dump.xml",
        SITE PAGE("Hund &amp; Katze", 0, 7, "",
                  "Der '''Hund'''.[[Datei:a.b|x]]\n\n&lt;b&gt;Ende&lt;/b&gt; &amp;amp; [[Vorlage:X]]")
            PAGE("Hunde", 0, 8, "  <redirect title=\"Hund\" />\n", "#REDIRECT [[Hund]]")
                PAGE("Diskussion:Hund", 1, 9, "", "x") PAGE("Leer", 0, 10, "", "") "</mediawiki>\n",
        "{\"id\": \"7\", \"title\": \"Hund & Katze\", \"text\": \"Der Hund.\\n\\nEnde & Vorlage:X\", \"url\": "
        "\"https://de.example.org/wiki/Hund_&_Katze\", \"language\": \"de\"}\n"
        "{\"id\": \"10\", \"title\": \"Leer\", \"text\": \"Leer\", \"url\": \"https://de.example.org/wiki/Leer\", "
        "\"language\": \"de\"}\n",
        &o);
  assert_non_null(strstr(notices, "dump.xml: left out: redirects: 1, pages that are no articles: 1\n"));
  assert_non_null(strstr(notices, "read as mediawiki (1 file)"));
  cq_error error;
  write_bytes(test_path("signs.xml"), SITE PAGE("A? 5%", 0, 1, "", "x"), sizeof(SITE PAGE("A? 5%", 0, 1, "", "x")) - 1);
  char *got = all(test_path("signs.xml"), NULL, &error);
  assert_non_null(got);
  assert_non_null(strstr(got, "https://de.example.org/wiki/A%3F_5%25\""));
  free(got);
  /* of several revisions, the last one */
  reads(
      "history",
      "<mediawiki>\n<page>\n<title>A</title>\n<ns>0</ns>\n<id>1</id>\n<revision><id>2</id><text>old</text></revision>\n"
      "<revision>\n<text>new\n\nlines</text></revision></page>\n</mediawiki>",
      "{\"id\": \"1\", \"title\": \"A\", \"text\": \"new\\n\\nlines\"}\n", NULL);
}

static void bad_dumps_are_refused(void **state) {
  (void)state;
  cq_documents_options o = as_they_say();
  FAILS("cut.xml", "<mediawiki>\n <page>\n  <title>A</title>\n", 2, "<page> is not closed");
  FAILS("nested.xml", "<mediawiki>\n <page>\n  <title>A</title>\n <page>\n </page>\n", 2, "<page> is not closed");
  FAILS("bytes.xml", "<mediawiki>\n <page>\n  <title>A\xFF</title>\n </page>\n", 3, "not UTF-8");
  FAILS("other.xml", "<?xml version=\"1.0\"?>\n<rss></rss>\n", 0, "is in no format of documents");
  o.skip_bad = true;
  reads("some.xml",
        SITE " <page>\n  <title>A</title>\n" PAGE("B", 0, 2, "", "b") " <page>\n<id>\xFF</id>\n </page>\n" PAGE(
            "C", 0, 3, "", "c") " <page>\n",
        "{\"id\": \"2\", \"title\": \"B\", \"text\": \"b\", \"url\": \"https://de.example.org/wiki/B\", \"language\": "
        "\"de\"}\n"
        "{\"id\": \"3\", \"title\": \"C\", \"text\": \"c\", \"url\": \"https://de.example.org/wiki/C\", \"language\": "
        "\"de\"}\n",
        &o);
  /* a page that is too long costs itself */
  cq_builder long_page = {0};
  cq_error error;
  cq_builder_text(&long_page, "<mediawiki>\n <page>\n");
  while (long_page.n < (65 << 20))
    cq_builder_text(
        &long_page,
        "a line of this page, which has many of them, all of which are the same and none of which is short\n");
  cq_builder_text(&long_page, " </page>\n" PAGE("B", 0, 2, "", "b"));
  write_bytes(test_path("long.xml"), long_page.data, long_page.n);
  char *got = all(test_path("long.xml"), &o, &error);
  if (!got) fail_msg("%s", error.message);
  assert_string_equal(got, "{\"id\": \"2\", \"title\": \"B\", \"text\": \"b\"}\n");
  free(got);
  fails("long.xml", long_page.data, long_page.n, CQ_ERR_LIMIT, 2, "a page of more than 64 MiB", NULL);
  cq_builder_free(&long_page);
}

static void subtitles_are_their_cues(void **state) {
  (void)state;
  reads("a.srt",
        "\xEF\xBB\xBF"
        "1\r\n00:00:01,000 --> 00:00:02,000\r\n<i>I went to</i>\r\nthe\r\n\r\n2\r\n00:00:03,000 --> 00:00:04,000\r\n"
        "{\\an8}store. &amp; {so}\r\n\r\n3\r\n00:00:05,000 --> 00:00:06,000\r\nYes?\r\n- "
        "No.\r\n\r\n\r\n4\r\n00:00:07,000 --> "
        "00:00:08,000\r\n\r\n5\r\n00:00:09,000 --> 00:00:10,000\r\nThen \"go!\"\r\n\r\n6\r\n00:00:11,000 --> "
        "00:00:12,000\r\n5 < 7",
        "{\"id\": \"%\", \"text\": \"I went to the store. & {so} Yes?\\n- No.\\nThen \\\"go!\\\"\\n5 < 7\"}\n", NULL);
  reads("a.vtt",
        "WEBVTT - a title\n\nNOTE a --> b\nnot this\n\nSTYLE\n::cue {}\n\nintroduction\n00:01.000 --> 00:02.000 "
        "align:start\n<v "
        "Bob>Hello.</v>\n\n00:03.000 --> 00:04.000\n下一句。\n\n00:05.000 --> 00:06.000\nEnd\n",
        "{\"id\": \"%\", \"text\": \"Hello.\\n下一句。\\nEnd\"}\n", NULL);
  reads("told by its beginning", "WEBVTT\n\n00:01.000 --> 00:02.000\na\n", "{\"id\": \"%\", \"text\": \"a\"}\n", NULL);
  reads("also", "1\n00:00:01,000 --> 00:00:02,000\na\n", "{\"id\": \"%\", \"text\": \"a\"}\n", NULL);
  FAILS("no.srt", "just a text\n--> 1\n", 0, "no.srt: no cue in it");
  FAILS("empty.vtt", "", 0, "empty.vtt: no cue in it");
  FAILS("latin.srt", "1\n00:00:01,000 --> 00:00:02,000\nDer sch\xF6ne Tag war f\xFCr uns alle sehr gro\xDF.\n", 0,
        "the encoding may be");
}

static void memory_may_fail(void **state) {
  (void)state;
  static const char *const files[][2] = {{"m.xml", SITE PAGE("A", 0, 1, "", "{{a}} [[b|c]]")},
                                         {"m.srt", "1\n00:00:01,000 --> 00:00:02,000\na\n"}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    const char *path = test_path(files[i][0]);
    write_bytes(path, files[i][1], strlen(files[i][1]));
    for (long n = 1;; n++) {
      cq_documents *in;
      cq_document document;
      cq_error error;
      size_t n_read = 0;
      cq_alloc_fail_at(n);
      cq_status status = cq_documents_open(&in, &path, 1, NULL, &error);
      while (!status && !(status = cq_documents_next(&document, in, &error)) && document.id.data) n_read++;
      const bool has_failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      cq_documents_close(in);
      if (status == CQ_OK) assert_int_equal(n_read, 1);
      if (!has_failed) break;
      if (status != CQ_ERR_MEMORY) fail_msg("%s: allocation %ld: %s", path, n, status ? error.message : "no error");
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(links_are_their_labels), cmocka_unit_test(templates_and_tables_are_dropped),
      cmocka_unit_test(lines_are_blocks),       cmocka_unit_test(what_is_no_markup_stays),
      cmocka_unit_test(deep_markup_is_fast),    cmocka_unit_test(pages_are_documents),
      cmocka_unit_test(bad_dumps_are_refused),  cmocka_unit_test(subtitles_are_their_cues),
      cmocka_unit_test(memory_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
