/* Documents of every format: what is read of them, and what is refused, with its place. */
#include "support/documents.h"

#include "base/utf8.h"

static void lines_are_documents(void **state) {
  (void)state;
  reads("a.txt", "one\n\n  \ntwo\n", "{\"id\": \"%:1\", \"text\": \"one\"}\n{\"id\": \"%:4\", \"text\": \"two\"}\n",
        NULL);
  reads("no-ending", "plain text\n", "{\"id\": \"%:1\", \"text\": \"plain text\"}\n", NULL);
  reads("empty.txt", "", "", NULL);
  const cq_documents_options o = cq_documents_default_options();
  reads("b.txt", "Der Hund schläft heute lange.\n",
        "{\"id\": \"%:1\", \"text\": \"Der Hund schläft heute lange.\", \"language\": \"de\"}\n", &o);
}

static void columns_are_named_by_the_first_row(void **state) {
  (void)state;
  reads("a.tsv", "id\ttext\tyear\n1\tone\t1999\n2\ttwo\t\n",
        "{\"id\": \"1\", \"text\": \"one\", \"year\": \"1999\"}\n{\"id\": \"2\", \"text\": \"two\"}\n", NULL);
  reads("b.tsv", "x1\tone\nx2\ttwo\n", "{\"id\": \"x1\", \"text\": \"one\"}\n{\"id\": \"x2\", \"text\": \"two\"}\n",
        NULL);
  reads("c.tsv", "one\n", "{\"id\": \"%:1\", \"text\": \"one\"}\n", NULL);
  reads("a.csv", "Lang,Text,Title\r\nde,\"a, \"\"b\"\"\nand c\",T\r\n,  d ,\r\n",
        "{\"id\": \"%:2\", \"title\": \"T\", \"text\": \"a, \\\"b\\\"\\nand c\", \"language\": \"de\"}\n"
        "{\"id\": \"%:4\", \"text\": \"  d \"}\n",
        NULL);
  reads("blank.csv", "text\na\n\nb\n\n", "{\"id\": \"%:2\", \"text\": \"a\"}\n{\"id\": \"%:4\", \"text\": \"b\"}\n",
        NULL);
  reads("headline.csv", "text,title\n,only a title\n",
        "{\"id\": \"%:2\", \"title\": \"only a title\", \"text\": \"only a title\"}\n", NULL);
  cq_documents_options o = as_they_say();
  o.fields = "text=story,id=no", o.language = "fr";
  reads("d.csv", "no,story,text\n7,une histoire,un texte\n",
        "{\"id\": \"7\", \"text\": \"une histoire\", \"language\": \"fr\", \"text_\": \"un texte\"}\n", &o);
}

static void separators_and_line_ends_are_detected(void **state) {
  (void)state;
  static const char both[] = "{\"id\": \"1\", \"text\": \"a; b, c\"}\n{\"id\": \"2\", \"text\": \"d\"}\n";
  static const char lines[] = "{\"id\": \"1\", \"text\": \"a\\nb\"}\n{\"id\": \"2\", \"text\": \"d\"}\n";
  reads("semicolon.csv", "id;text\n1;\"a; b, c\"\n2;d\n", both, NULL);
  reads("bar.csv", "\"id\"|\"text\"\r\n1|a; b, c\r\n2|d\r\n", both, NULL);
  reads("tab.csv", "id\ttext\n1\ta; b, c\n2\td\n", both, NULL);
  reads("sep.csv", "\xEF\xBB\xBFsep=^\r\nid^text\r\n1^a; b, c\r\n2^d\r\n", both, NULL);
  reads("late.csv", "\n \r\nid;text\n1;\"a; b, c\"\n2;d\n", both, NULL);
  reads("blank.csv", "id, text\n1,d\n", "{\"id\": \"1\", \"text\": \"d\"}\n", NULL);
  FAILS("other.csv", "nr;story\n1;d\n", 1, "the columns are 'nr;story'; no column is named \"text\"");
  /* Excel for Mac: CR after rows, LF within fields */
  reads("mac.csv", "id,text\r1,\"a\nb\"\r2,d\r", lines, NULL);
  reads("mac.tsv", "id\ttext\r1\ta; b, c\r2\td\r", both, NULL);
  reads("mac.jsonl", "{\"id\": 1, \"text\": \"a; b, c\"}\r{\"id\": 2, \"text\": \"d\"}", both, NULL);
  reads("mac.md", "---\rid: 1\r---\ra\r", "{\"id\": \"1\", \"text\": \"a\"}\n", NULL);
  reads("lone.txt", "a\r\nb\rc\r\n", "{\"id\": \"%:1\", \"text\": \"a\"}\n{\"id\": \"%:2\", \"text\": \"b\\rc\"}\n",
        NULL);
  /* TSV as Excel and pandas quote it; other quotation marks are text */
  reads("pandas.tsv", "id\ttext\n1\t\"a\nb\"\n2\td\n", lines, NULL);
  reads("all.tsv", "\"id\"\t\"text\"\n\"1\"\t\"a\nb\"\n\"2\"\t\"d\"\n", lines, NULL);
  reads("tabs.tsv", "id\ttext\n1\t\"a\tb \"\"c\"\"\"\n", "{\"id\": \"1\", \"text\": \"a\\tb \\\"c\\\"\"}\n", NULL);
  reads("quotes.tsv", "id\ttext\n1\t\"a\"\n2\t\"b\n3\tc\"\n4\t\"d\n",
        "{\"id\": \"1\", \"text\": \"\\\"a\\\"\"}\n{\"id\": \"2\", \"text\": \"\\\"b\"}\n{\"id\": \"3\", \"text\": "
        "\"c\\\"\"}\n"
        "{\"id\": \"4\", \"text\": \"\\\"d\"}\n",
        NULL);
}

static void translations_are_units(void **state) {
  (void)state;
  static const char tmx[] =
      "<?xml version=\"1.0\"?><tmx version=\"1.4\"><header srclang=\"en\"/><body>"
      "<tu><tuv xml:lang=\"en\"><seg>It <hi>rains</hi>.</seg></tuv><tuv xml:lang=\"de\"><seg>Es "
      "regnet.</seg></tuv></tu>"
      "<tu><tuv xml:lang=\"en\"><seg>Alone.</seg></tuv></tu>"
      "<tu><tuv xml:lang=\"de\"><seg>Es schneit.</seg></tuv><tuv xml:lang=\"en\"><seg>It snows.</seg></tuv></tu>"
      "</body></tmx>";
  static const char units[] =
      "{\"id\": \"%:1\", \"text\": \"It rains.\", \"language\": \"en\", \"de\": \"Es regnet.\"}\n"
      "{\"id\": \"%:3\", \"text\": \"It snows.\", \"language\": \"en\", \"de\": \"Es schneit.\"}\n";
  reads("memory.tmx", tmx, units, NULL);
  reads("memory", tmx, units, NULL); /* by its first bytes */
  reads("three.tmx",                 /* of more languages the first two, also if the third comes late */
        "<tmx version=\"1.4\"><body>"
        "<tu><tuv xml:lang=\"en\"><seg>One.</seg></tuv><tuv xml:lang=\"de\"><seg>Eins.</seg></tuv></tu>"
        "<tu><tuv xml:lang=\"en\"><seg>Two.</seg></tuv><tuv xml:lang=\"fr\"><seg>Deux.</seg></tuv>"
        "<tuv xml:lang=\"de\"><seg>Zwei.</seg></tuv></tu>"
        "<tu><tuv xml:lang=\"fr\"><seg>Trois.</seg></tuv><tuv xml:lang=\"de\"><seg>Drei.</seg></tuv></tu>"
        "<tu><tuv xml:lang=\"de\"><seg>Vier.</seg></tuv><tuv xml:lang=\"en\"><seg>Four.</seg></tuv></tu></body></tmx>",
        "{\"id\": \"%:1\", \"text\": \"One.\", \"language\": \"en\", \"de\": \"Eins.\"}\n"
        "{\"id\": \"%:2\", \"text\": \"Two.\", \"language\": \"en\", \"de\": \"Zwei.\"}\n"
        "{\"id\": \"%:4\", \"text\": \"Four.\", \"language\": \"en\", \"de\": \"Vier.\"}\n",
        NULL);
  static const char xliff[] =
      "<xliff version=\"1.2\"><file source-language=\"en\" target-language=\"fr\"><body><trans-unit id=\"1\">"
      "<source>Save</source><target>Enregistrer</target></trans-unit><trans-unit id=\"2\"><source>New</source>"
      "</trans-unit></body></file></xliff>";
  reads("app.xlf", xliff, "{\"id\": \"%:1\", \"text\": \"Save\", \"language\": \"en\", \"fr\": \"Enregistrer\"}\n",
        NULL);
  reads("app.po",
        "msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=UTF-8\\n\"\n\nmsgid \"Save\"\nmsgstr \"Salva\"\n",
        "{\"id\": \"%:1\", \"text\": \"Save\", \"translation\": \"Salva\"}\n", NULL);
  reads("app.ts", /* Qt's, not TypeScript's */
        "<?xml version=\"1.0\"?><!DOCTYPE TS><TS version=\"2.1\" language=\"it\" sourcelanguage=\"en\"><context><name>a"
        "</name><message><source>Save</source><translation>Salva</translation></message></context></TS>",
        "{\"id\": \"%:1\", \"text\": \"Save\", \"language\": \"en\", \"it\": \"Salva\"}\n", NULL);
  reads("code.ts", "const save = 'Save';\n", "{\"id\": \"%:1\", \"text\": \"const save = 'Save';\"}\n", NULL);
  reads("bad.tmx", /* a malformed unit is left out */
        "<tmx version=\"1.4\"><body>"
        "<tu><tuv xml:lang=\"en\"><seg>One.</seg></tuv><tuv xml:lang=\"de\"><seg>Eins.</seg></tuv></tu>"
        "<tu><tuv xml:lang=\"en\"><seg>Two <b</seg></tuv><tuv xml:lang=\"de\"><seg>Zwei.</seg></tuv></tu>"
        "<tu><tuv xml:lang=\"en\"><seg>Three.</seg></tuv><tuv xml:lang=\"de\"><seg>Drei.</seg></tuv></tu></body></tmx>",
        "{\"id\": \"%:1\", \"text\": \"One.\", \"language\": \"en\", \"de\": \"Eins.\"}\n"
        "{\"id\": \"%:3\", \"text\": \"Three.\", \"language\": \"en\", \"de\": \"Drei.\"}\n",
        NULL);
  /* A CSV file whose columns are languages */
  static const char pairs[] =
      "{\"id\": \"%:2\", \"text\": \"It rains, often.\", \"language\": \"en\", \"de\": \"Es regnet.\"}\n"
      "{\"id\": \"%:3\", \"language\": \"en\", \"de\": \"Es schneit.\"}\n"
      "{\"id\": \"%:4\", \"text\": \"It snows.\", \"language\": \"en\"}\n";
  reads("pairs.csv", "en,de\n\"It rains, often.\",Es regnet.\n,Es schneit.\nIt snows.,\n", pairs, NULL);
  reads("semicolon.csv", "en;de\nIt rains, often.;Es regnet.\n;Es schneit.\nIt snows.;\n", pairs, NULL);
  reads("more.csv", "id,pt-BR, zh ,score,title\n7,Chove.,\xE4\xB8\x8B\xE9\x9B\xA8,0.5,Tempo\n",
        "{\"id\": \"7\", \"title\": \"Tempo\", \"text\": \"Chove.\", \"language\": \"pt-BR\", \" zh \": "
        "\"\xE4\xB8\x8B\xE9\x9B\xA8\", \"score\": \"0.5\"}\n",
        NULL);
  reads("named.csv", "lang,en,de\nen-GB,It rains.,Es regnet.\n",
        "{\"id\": \"%:2\", \"text\": \"It rains.\", \"language\": \"en-GB\", \"de\": \"Es regnet.\"}\n", NULL);
  reads("unnamed.csv", "source,target\nSave,Salva\n", "{\"id\": \"%:2\", \"text\": \"Save\", \"target\": \"Salva\"}\n",
        NULL);
  reads("text.csv", "en,de,text\na,b,c\n", "{\"id\": \"%:2\", \"text\": \"c\", \"en\": \"a\", \"de\": \"b\"}\n", NULL);
  FAILS("one.csv", "en\nIt rains.\n", 1, "no column is named \"text\"");
  FAILS("beside.csv", "en,story\na,b\n", 1, "no column is named \"text\"");
  FAILS("codes.csv", "en,xq\na,b\n", 1, "no column is named \"text\"");
  FAILS("same.csv", "en,eng\na,b\n", 1, "no column is named \"text\"");
  FAILS("turned.csv", "target,source\na,b\n", 1, "no column is named \"text\"");
  FAILS("three.tsv", "en\tde\tfr\na\tb\tc\n", 1, "no column is named \"text\"");
  FAILS("cut.tmx", "<tmx version=\"1.4\"><body><tu><tuv xml:lang=\"en\"><seg>It", 1, "it ends too early");
  FAILS("none.tmx", "<html><p>no memory</html>", 1, "none.tmx");
  FAILS("named", "<!DOCTYPE tmx>\ntext\n", 0, "is in no format of translations"); /* does not open */
}

/* What is left of a damaged file: ids of documents, each after a blank, and the number of those skipped. */
static void keeps(const char *name, const char *content, const char *ids, uint64_t n_skipped) {
  cq_documents_options o = as_they_say();
  cq_documents *in;
  cq_document document;
  char got[400] = "";
  const char *path = test_path(name);
  o.skip_bad = true;
  write_bytes(path, content, strlen(content));
  assert_int_equal(cq_documents_open(&in, &path, 1, &o, NULL), CQ_OK);
  while (!cq_documents_next(&document, in, NULL) && document.id.data) {
    const size_t n = strlen(got);
    snprintf(got + n, sizeof got - n, " %.*s", (int)document.id.n, document.id.data);
  }
  assert_string_equal(got, ids);
  assert_int_equal(cq_documents_n_skipped(in), n_skipped);
  cq_documents_close(in);
}

static void a_bad_record_costs_only_itself(void **state) {
  (void)state;
  keeps("comma.csv", "id,text\n1,a\n2,b,c\n3,d\n4,e\n", " 1 3 4", 1);
  keeps("open.csv", "id,text\n1,a\n2,\"b\n\n3,d\n4,e\n", " 1 3 4", 1);
  keeps("inner.csv", "id,text\n1,a\n2,\"b\n3,\"d\"\n4,e\n", " 1 3 4", 1);
  keeps("control.json", "[\1{\"id\": 1, \"text\": \"a\"},\n {\"id\": 2, \"text\": \"b\"}]", " 2", 1);
  keeps("false.json", "[{\"x\": {}}\n%\"id\": 1, \"text\": \"a\"},\n {\"id\": 2, \"text\": \"b\"}]", " 2", 2);
  keeps("first.json",
        "[\n<?\n{\"x\": 1}\n    \"id\": 1\n  },\n  {\n    \"id\": 2, \"text\": \"b\"\n  },\n"
        "  {\n    \"id\": 3, \"text\": \"c\"\n  },\n  {\n    \"id\": 4, \"text\": \"d\"\n  }\n]",
        " 2 3 4", 1);
  keeps("after.csv", "id,text\n1,a\n2,\"b\"c\n3,d\n\"4\",e", " 1 3 4", 1);
  static const char *const bad[] = {"{\"id\": 2, \"text\": \"b\",}",
                                    "{\"id\": 2, \"text\": \"b}",
                                    "{\"id\": 2, \"text\": \"b\"",
                                    "\"id\": 2}",
                                    "{id: 2}",
                                    "{\"text\": \"b\nb\"}",
                                    "{\"text\": NaN}",
                                    "garbage",
                                    "3",
                                    "null",
                                    "{\"text\": null}",
                                    "{\"text\": [\"b\", \"c\"}",
                                    "{\"text\": \"\\x\"}",
                                    "{\"text\": \"\xFF\"}",
                                    "{\"text\": \"b\", \"text\": \"c\"}",
                                    "{\"text\": {\"a\": [{\"b\": 1}]}}"};
  static const char *const layouts[] = {
      "[{\"id\": 1, \"text\": \"a\"},%s,{\"id\": 3, \"text\": \"c\"},{\"id\": 4, \"text\": \"d\"}]",
      ("[\n  {\"id\": 1, \"text\": \"a\"},\n  %s,\n  {\"id\": 3, \"text\": \"c\"},\n  {\n    \"id\": 4, "
       "\"text\": \"d\"\n  }\n]\n"),
      "{\"id\": 1, \"text\": \"a\"}\n%s\n{\"id\": 3, \"text\": \"c\"}\n{\"id\": 4, \"text\": \"d\"}"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) {
      char text[400];
      snprintf(text, sizeof text, layouts[k], bad[i]);
      keeps("list.json", text, " 1 3 4", 1);
    }
  keeps("comma.json", "[{\"id\": 1, \"text\": \"a\"} {\"id\": 2, \"text\": \"b\"}}, {\"id\": 3, \"text\": \"c\"},]",
        " 1 2 3", 3);
  keeps("open.json", "[{\"id\": 1, \"text\": \"a\"}, {\"id\": 2, \"text\": \"b", " 1", 1);
  keeps("open.trec", "<DOC><DOCNO>1</DOCNO>a</DOC>\n<DOC><DOCNO>2</DOCNO>b\n<DOC><DOCNO>3</DOCNO>c</DOC>\n", " 1 3", 1);
  keeps("text.trec", "<DOC><DOCNO>1</DOCNO>a</DOC>\nlost\nlost\n<DOC><DOCNO>3</DOCNO>c</DOC>\n", " 1 3", 1);
  keeps("same.trec", "<DOC><DOCNO>2</DOCNO>a</DOC> <DOC><DOCNO>3</DOCNO>c</DOC>\n<DOC><DOCNO>4</DOCNO>d</DOC>\n",
        " 3 4", 1);
  keeps("bytes.trec",
        "<DOC>\n<DOCNO>1</DOCNO>a</DOC>\n<DOC>\n<DOCNO>2</DOCNO>\nb\xFF\nb\n</DOC>\n<DOC>\n<DOCNO>3</DOCNO>c</DOC>\n",
        " 1 3", 1);
  keeps("none.trec", "<DOC><DOCNO>1</DOCNO>a</DOC>\n<DOC>b</DOC>\n<DOC><DOCNO>3</DOCNO>c</DOC>\n<DOC><DOCNO>4", " 1 3",
        2);
  /* records within a malformed one are not taken for the next one */
  keeps("nested.json",
        "[{\"id\": 1, \"text\": \"a\"}, {\"id\": 2, \"text\": \"b\"\"c\", \"d\": [{\"a\": 1}, {\"text\": \"e\"}]}, "
        "{\"id\": 3, \"text\": "
        "\"c\"}, {\"id\": 4, \"text\": \"d\"}]",
        " 1 3 4", 1);
  keeps("bytes.csv", "id,text\n1,a\n2,\"b\nb\xFF\n3,d\n4,e\n", " 1 3 4", 1);
}

static void json_has_fields_of_many_names(void **state) {
  (void)state;
  reads("a.jsonl",
        "{\"_id\": 7, \"contents\": \"c\", \"tags\": [\"x\"], \"n\": 1.5, \"none\": null}\n\n{\"title\": \"t\"}\n",
        "{\"id\": \"7\", \"text\": \"c\", \"tags\": [\"x\"], \"n\": 1.5}\n{\"id\": \"%:3\", \"title\": \"t\", "
        "\"text\": \"t\"}\n",
        NULL);
  reads("c.jsonl", "{\"Text\": \"a\", \"text\": \"c\", \"text_\": \"u\"}\n",
        "{\"id\": \"%:1\", \"text\": \"c\", \"Text\": \"a\", \"text_\": \"u\"}\n", NULL);
  reads("b.jsonl", "{\"body\": \"b\", \"text\": \"t\"}\n", "{\"id\": \"%:1\", \"text\": \"t\", \"body\": \"b\"}\n",
        NULL);
  reads("a.json", "[{\"id\": \"a\", \"text\": [\"one\", \"two\"]},\n {\"text\": \"three\"}]",
        "{\"id\": \"a\", \"text\": \"one\\ntwo\"}\n{\"id\": \"%:2\", \"text\": \"three\"}\n", NULL);
  reads("lines.json", "{\"text\": \"a\"}\n{\"text\": \"b\"}\n",
        "{\"id\": \"%:1\", \"text\": \"a\"}\n{\"id\": \"%:2\", \"text\": \"b\"}\n", NULL);
  /* what is JSON, but not to the parser */
  reads("big.jsonl",
        "{\"id\": 18446744073709551615, \"text\": \"a\", \"n\": [9223372036854775808, -9223372036854775808, 1e400, "
        "1e300]}\n",
        "{\"id\": \"18446744073709551615\", \"text\": \"a\", \"n\": [\"9223372036854775808\", -9223372036854775808, "
        "\"1e400\", 1e+300]}\n",
        NULL);
  reads("cut.jsonl", "{\"text\": \"a \\ud83d\", \"b\": \"\\ude00 \\ud83d\\ude00 \\\\ud83d \\u0000\", \"id\": 1}\n",
        "{\"id\": \"1\", \"text\": \"a \xEF\xBF\xBD\", \"b\": \"\xEF\xBF\xBD \xF0\x9F\x98\x80 \\\\ud83d \\u0000\"}\n",
        NULL);
  reads("lines", "{\"text\": \"told by how it begins\"}\n", "{\"id\": \"%:1\", \"text\": \"told by how it begins\"}\n",
        NULL);
  reads("object", "{\n\"text\": \"an object\"\n}\n", "{\"id\": \"%:1\", \"text\": \"an object\"}\n", NULL);
}

static void a_page_is_what_is_shown(void **state) {
  (void)state;
  reads(
      "a.html",
      "<!DOCTYPE html><html lang=de><head><title>Der  Titel</title><meta name=author content='A. B.'>"
      "<link rel=canonical href='https://example.org/a'><style>p { color: red }</style></head><body>"
      "<nav>Start</nav><h1>Über  uns</h1><p>Wir &amp; <b>ihr</b><script>alert(1)</script>.<br>Ende<footer>Fuß</footer>",
      "{\"id\": \"%\", \"title\": \"Der Titel\", \"text\": \"Über uns\\nWir & "
      "ihr.\\nEnde\", \"url\": \"https://example.org/a\","
      " \"language\": \"de\", \"author\": \"A. B.\"}\n",
      NULL);
  reads("latin.html", "<html><head><meta charset=iso-8859-1></head><body><p>caf\xE9</p></body></html>",
        "{\"id\": \"%\", \"text\": \"café\"}\n", NULL);
  reads("begins", "<html><p>unclosed <i>everything", "{\"id\": \"%\", \"text\": \"unclosed everything\"}\n", NULL);
  reads("codes.html", "<title>&#150;</title><p>it&#146;s &#x80;\xC2\x85",
        "{\"id\": \"%\", \"title\": \"\xE2\x80\x93\", \"text\": \"it\xE2\x80\x99s \xE2\x82\xAC\xE2\x80\xA6\"}\n", NULL);
  reads("void.html", "", "{\"id\": \"%\"}\n", NULL);
  reads("wrong.html", "<meta charset=utf-8><p>gr\xC3\xBCn <p>bad \xFF <p>\xE2\x82\xAC",
        "{\"id\": \"%\", \"text\": \"grün\\nbad \xEF\xBF\xBD\\n€\"}\n", NULL);
  reads("quotes.html",
        "<meta charset='us-ascii'><p>\x93"
        "caf\xE9\x94 \x81.",
        "{\"id\": \"%\", \"text\": \"“café” \xC2\x81.\"}\n", NULL);
  reads("unclosed.html", "<p>a<p>b<font color=red><p>c</div><p>d", "{\"id\": \"%\", \"text\": \"a\\nb\\nc\\nd\"}\n",
        NULL);
  cq_error error;
  static const char nul[] = "<p>before</p>\0<p>after</p>";
  write_bytes(test_path("nul.html"), nul, sizeof nul - 1);
  char *got = all(test_path("nul.html"), NULL, &error);
  assert_non_null(got);
  assert_non_null(strstr(got, "before\\nafter"));
  free(got);
  enum { DEEP = 5000 };
  char *deep = malloc(5 * DEEP + 1);
  for (int i = 0; i < DEEP; i++) memcpy(deep + 5 * i, "<div>", 5);
  deep[5 * DEEP] = 'x';
  write_bytes(test_path("deep.html"), deep, 5 * DEEP + 1);
  free(deep);
  got = all(test_path("deep.html"), NULL, &error);
  assert_non_null(got);
  assert_non_null(strstr(got, "\"text\": \"x\""));
  free(got);
}

/* The text of a page with this body is `expected`, whose ends of lines are \\n. */
static void shows(const char *body, const char *expected) {
  char wanted[2048];
  snprintf(wanted, sizeof wanted, "{\"id\": \"%%\"%s%s%s}\n", *expected ? ", \"text\": \"" : "", expected,
           *expected ? "\"" : "");
  reads("table.html", body, wanted, NULL);
}

static void rows_of_tables_are_lines(void **state) {
  (void)state;
  shows("<p>Before.<table><caption>Rain</caption><thead><tr><th>City<th>In <i>mm</i></thead><tbody><tr><td>Oslo</td>"
        "<td>800</td></tr><tr><td>Rome<td></table>After.",
        "Before.\\nRain\\nCity: Oslo, In mm: 800\\nCity: Rome\\nAfter.");
  /* without <thead>; heads of rows; a cell too many; lines within a cell; an empty row */
  shows("<table><tr><th></th><th>Open:</th></tr><tr><th>Monday</th><td>9 to 5<td>not in July</tr><tr><td></td></tr>"
        "<tr><td>Sunday<td>no,<br>never</tr></table>",
        "Monday, Open: 9 to 5, not in July\\nSunday, Open: no, never");
  shows("<table><tr><td>Bread<td>3 €<tr><td>Milk<td>1 €</table>", "Bread, 3 €\\nMilk, 1 €");
  shows("<table><tr><th>Height</th><td>330 m</td></tr><tr><th>Built</th><td>1889</td></tr></table>",
        "Height: 330 m\\nBuilt: 1889");
  shows("<table><tr><th>A</th><th>B</th></tr></table>after", "A, B\\nafter");
  shows("<table><tr><th>A<th>B<tr><th>c<th>d<tr><th>e<th>f</table>", "A: c, B: d\\nA: e, B: f");
  /* cells over several columns and rows */
  shows("<table><thead><tr><th rowspan=2>Day<th colspan=2>Bus<tr><th>to<th>from</thead><tr><td rowspan=2>Monday<td>8:00"
        "<td>9:00<tr><td>10:00<td>11:00<tr><td>Sunday<td colspan=2>none<tr><th colspan=3>Holidays</table>",
        "Day: Monday, Bus to: 8:00, Bus from: 9:00\\nDay: Monday, Bus to: 10:00, Bus from: 11:00\\nDay: Sunday, none"
        "\\nHolidays");
  /* layout: blocks of text, tables within tables */
  shows("<table><tr><td><p>A first paragraph, with words and words and words and words and words and words and words "
        "and words and words and words.</p><p>A second one, with words and words and words and words and words and "
        "words.</p><td>aside</table>",
        "A first paragraph, with words and words and words and words and words and words and words and words and words "
        "and words.\\nA second one, with words and words and words and words and words and words.\\naside");
  shows("<table><tr><td>Menu<td><table><tr><th>A<th>B<tr><td>1<td>2</table>more<tr><td>foot<td>end</table>",
        "Menu\\nA: 1, B: 2\\nmore\\nfoot\\nend");
  /* damaged; what is not shown */
  shows("<td>a<td>b<tr><th>c</table></table><table><td colspan=-1 rowspan=99999999999>d<th colspan=x>e<tr>stray<td>f",
        "a\\nb\\nc\\nd, e\\nstray\\nd, f");
  shows("<nav><table><tr><td>a<td>b</table></nav><table><tr><td>x<td><button>no</button><tr><td colspan=1000>y</table>",
        "x\\ny");
  cq_builder wide = {0};
  cq_error error;
  cq_builder_text(&wide, "<table><tr>");
  for (int i = 0; i < 80; i++) cq_builder_printf(&wide, "<td rowspan=3>c%d", i);
  cq_builder_text(&wide, "<tr><td>next</table>");
  write_bytes(test_path("wide.html"), wide.data, wide.n);
  cq_builder_free(&wide);
  char *got = all(test_path("wide.html"), NULL, &error);
  assert_non_null(got);
  assert_non_null(strstr(got, "c63 c64"));
  assert_non_null(strstr(got, "\\nc0, c1, "));
  assert_non_null(strstr(got, ", next\""));
  free(got);
}

static void keep_first_notice(void *context, const char *text) {
  if (!*(char *)context) snprintf(context, 400, "%s", text);
}

static void markdown_is_its_text(void **state) {
  (void)state;
  reads(
      "a.md",
      "---\nlang: de\ntitle: 'Vorne'\nyear: 2020\ntags:\n  - x\n---\n# Kopf\n\nEin *Satz*\nmit `Code`.\n\n- eins\n- "
      "zwei\n\n"
      "    Block\n\n<div>weg</div>\n",
      "{\"id\": \"%\", \"title\": \"Vorne\", \"text\": \"Kopf\\n\\nEin Satz mit Code.\\n\\neins\\n\\nzwei\\n\\nBlock\","
      " \"language\": \"de\", \"year\": \"2020\", \"tags\": [\"x\"]}\n",
      NULL);
  /* front matter in YAML, also of values that would have to be quoted, and in TOML */
  reads("folded.md",
        "---\n# c\ntitle: >-\n  A folded\n  title # 1\nurl: a\n  b\nn: | # d\n  e: f\n   g\n'k v': [\"x\", y]\nmap:\n  "
        "p: {q: r}\nempty:\n---\nT\n",
        "{\"id\": \"%\", \"title\": \"A folded title # 1\", \"text\": \"T\", \"url\": \"a b\", \"n\": \"e: f\\n g\", "
        "\"k v\": [\"x\", "
        "\"y\"], \"map\": {\"p\": {\"q\": \"r\"}}}\n",
        NULL);
  reads("colon.md", "---\r\ntitle: It's: a @title\r\nn: [1]\r\nurl: {a: b}\r\n---\r\nT\r\n",
        "{\"id\": \"%\", \"title\": \"It's: a @title\", \"text\": \"T\", \"url\": \"{\\\"a\\\": \\\"b\\\"}\", \"n\": "
        "[\"1\"]}\n",
        NULL);
  reads("toml.md",
        "+++\ntitle = \"A \\u00e9 # \\\"x\\\"\" # c\n\ndate = 2020-01-01T10:00:00Z\nn = [\n  \"a\", # b\n  "
        "'c',\n]\n[params]\nx = 1\n+++\nT\n",
        "{\"id\": \"%\", \"title\": \"A é # \\\"x\\\"\", \"text\": \"T\", \"date\": \"2020-01-01T10:00:00Z\", \"n\": "
        "[\"a\", \"c\"], "
        "\"params\": {\"x\": \"1\"}}\n",
        NULL);
  char notice[400] = "";
  cq_documents_options heard = as_they_say();
  heard.notice = keep_first_notice, heard.notice_context = notice;
  reads("text.md", "+++\ntitle = \"\"\"a\nb\"\"\"\n+++\n\nT\n",
        "{\"id\": \"%\", \"text\": \"+++ title = \\\"\\\"\\\"a b\\\"\\\"\\\" +++\\n\\nT\"}\n", &heard);
  assert_non_null(strstr(notice, "text.md: its front matter is read as text: line 2: "));
  /* other ends, merged and repeated values, and what only looks like an end */
  reads("dots.md", "\n---\ntitle: Dots\nn: |\n  ---\n  ...\n...\nT\n\n---\n\nU\n",
        "{\"id\": \"%\", \"title\": \"Dots\", \"text\": \"T\\n\\nU\", \"n\": \"---\\n...\"}\n", NULL);
  reads(
      "merge.md",
      "---\nb: &b {lang: de, title: Base}\nc: &c {k: v, lang: fr}\n<<: [*b, *c]\ntitle: Own\nx: {{ y }}\n---\nT\n",
      "{\"id\": \"%\", \"title\": \"Own\", \"text\": \"T\", \"language\": \"de\", \"b\": {\"lang\": \"de\", \"title\": "
      "\"Base\"}, \"c\": {\"k\": \"v\", \"lang\": \"fr\"}, \"x\": \"{{ y }}\", \"k\": \"v\"}\n",
      NULL);
  const char *const refused[][2] = {{"a: 1\nb: 2\na: 3", "line 4: a name that comes twice"},
                                    {"a: 1\n? [b]\n: c", "line 2: a name that is not text"},
                                    {"a: 1\n\"b\\0c\": d", "line 2: a name that is not text"},
                                    {"a: &a\n  b: *a", "line 2: nested too deep, or repeated too often"}};
  for (size_t i = 0; i < 4; i++) {
    char bytes[100];
    cq_error ignored;
    snprintf(bytes, sizeof bytes, "---\n%s\n---\n", refused[i][0]);
    *notice = 0;
    write_bytes(test_path("r.md"), bytes, strlen(bytes));
    free(all(test_path("r.md"), &heard, &ignored));
    assert_non_null(strstr(notice, refused[i][1]));
  }
  reads("b.md", "Text.\n\n## A [link](x)\n\nMore.\n",
        "{\"id\": \"%\", \"title\": \"A link\", \"text\": \"Text.\\n\\nA link\\n\\nMore.\"}\n", NULL);
  reads("d.md", "---\n\nSome words: a sentence.\n\nMore.\n\n---\n\nText.\n",
        "{\"id\": \"%\", \"text\": \"Some words: a sentence.\\n\\nMore.\\n\\nText.\"}\n", NULL);
  reads("f.md",
        "Before.\n\n| Age | Meals *a day* |\n|:---|---:|\n| one week | 10 |\n| two | |\n|  | 5 | more |\n\nAfter.\n\n"
        "|no| table\nat | all\n\n| a |\n|---|\n",
        "{\"id\": \"%\", \"text\": \"Before.\\n\\nAge: one week, Meals a day: 10\\nAge: two\\nMeals a day: 5, "
        "more\\n\\nAfter.\\n\\n|no| table at | all\"}\n",
        NULL);
  cq_documents_options o = as_they_say();
  o.fields = "text=body";
  reads("e.md", "---\nbody: in front\n---\nText.\n", "{\"id\": \"%\", \"text\": \"Text.\", \"body\": \"in front\"}\n",
        &o);
  reads("c.md", "---\n\nA line across, no front matter: really.\n",
        "{\"id\": \"%\", \"text\": \"A line across, no front matter: really.\"}\n", NULL);
}

static void trec_has_documents(void **state) {
  (void)state;
  reads("a.trec",
        "<DOC>\n<DOCNO> a-1 </DOCNO>\n<TITLE>T</TITLE>\n<TEXT>\nx &amp; "
        "y\n</TEXT>\n</DOC>\n<DOC>\n<DOCNO>a-2</DOCNO>z</DOC>\n",
        "{\"id\": \"a-1\", \"title\": \"T\", \"text\": \"T \\n \\nx & y\"}\n{\"id\": \"a-2\", \"text\": \"z\"}\n",
        NULL);
}

static void parquet_has_columns(void **state) {
  (void)state;
  cq_error error;
  cq_documents_options o = as_they_say();
  char path[1100];
  o.fields = "id=idx,text=sentence1";
  snprintf(path, sizeof path, "%s", tests_file("golden/parquet/scored.parquet"));
  char *got = all(path, &o, &error);
  if (!got) fail_msg("%s", error.message);
  assert_string_equal(got, "{\"id\": \"1\", \"text\": \"a cat\", \"sentence2\": \"one cat\", \"score\": 4.75}\n"
                           "{\"id\": \"2\", \"text\": \"a dog\", \"sentence2\": \"a fish\", \"score\": 0.5}\n");
  free(got);
  /* Told by its beginning where the name says nothing. */
  size_t n;
  unsigned char *bytes = read_bytes(&n, path);
  write_bytes(test_path("rows.bin"), bytes, n);
  got = all(test_path("rows.bin"), &o, &error);
  assert_non_null(got);
  free(got);
  free(bytes);
  assert_null(all(path, NULL, &error));
  assert_non_null(strstr(error.message, "no column is named \"text\""));
  /* Whole numbers of 64 bits without a sign, truth values, nulls. */
  o.fields = "text=text_plain,id=i64_plain";
  snprintf(path, sizeof path, "%s", tests_file("golden/parquet/zstd-v1.parquet"));
  got = all(path, &o, &error);
  if (!got) fail_msg("%s", error.message);
  assert_non_null(strstr(got, "\"u64\": \"18446744073709551615\", \"u64_null\": \"18446744073709551615\""));
  assert_non_null(strstr(got, "\"bool_plain\": true"));
  assert_non_null(strstr(got, "\"f32_plain\": -2.5"));
  free(got);
  o.fields = "text=en";
  assert_null(all(tests_file("golden/parquet/binary.parquet"), &o, &error));
  assert_int_equal(error.status, CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "row 2: not UTF-8"));
}

static void encodings_are_converted_or_suggested(void **state) {
  (void)state;
  cq_documents_options o = as_they_say();
  o.encoding = "windows-1252";
  reads("w.csv", "text\n\x84gr\xFC\xDF dich\x93\n", "{\"id\": \"%:2\", \"text\": \"„grüß dich“\"}\n", &o);
  o.encoding = "UTF-16LE";
  static const char wide[] = "a\0\n\0\xDF\0\n\0";
  write_bytes(test_path("wide.txt"), wide, sizeof wide - 1);
  cq_error error;
  char *got = all(test_path("wide.txt"), &o, &error);
  assert_non_null(got);
  assert_non_null(strstr(got, ":2\", \"text\": \"ß\"}"));
  free(got);
  o.encoding = "Shift_JIS"; /* the lines before an error come */
  write_bytes(test_path("cut.txt"), "one\ntwo\n\x81\x81\x81\n", 12);
  cq_documents *in;
  cq_document document;
  const char *path = test_path("cut.txt");
  assert_int_equal(cq_documents_open(&in, &path, 1, &o, &error), CQ_OK);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(cq_documents_next(&document, in, &error), CQ_OK);
    assert_memory_equal(document.text.data, i ? "two" : "one", 3);
  }
  assert_int_equal(cq_documents_next(&document, in, &error), CQ_ERR_FORMAT);
  assert_int_equal(error.byte, 10);                                  /* two of them are a character */
  assert_int_equal(cq_documents_next(&document, in, &error), CQ_OK); /* and no more after it */
  assert_null(document.id.data);
  cq_documents_close(in);
  o.encoding = "UTF-16LE";
  fails("half.txt", "a\0\n", 3, CQ_ERR_FORMAT, 0, "not UTF-16LE", &o);
  FAILS("latin.txt",
        "Der sch\xF6ne Tag war f\xFCr uns alle eine gro\xDF"
        "e Freude.\n",
        1, "the encoding may be ISO-8859-1");
  FAILS("latin.md", "gut\n\nDer sch\xF6ne Tag war f\xFCr uns alle sehr gro\xDF.\n", 0,
        "latin.md: byte 12: not UTF-8 (byte 0xf6)");
  /* a mark says more than a declaration, an option, or nothing */
  static const char *const marked[] = {"<html><head><meta charset=iso-8859-1><title>T</title></head><body>é€",
                                       "a.html",
                                       "<html><title>T</title><body>é€",
                                       "page",
                                       "text,title\né€,T\n",
                                       "a.csv",
                                       "{\"text\": \"é€\", \"title\": \"T\"}\n",
                                       "a.jsonl",
                                       "# T\n\né€\n",
                                       "a.md"};
  for (size_t i = 0; i < sizeof marked / sizeof *marked; i += 2)
    for (int is_big = 0; is_big < 2; is_big++) {
      const char *const text = marked[i];
      char bytes[400] = {is_big ? '\xFE' : '\xFF', is_big ? '\xFF' : '\xFE'};
      size_t n = 2;
      for (const char *at = text; *at; n += 2) {
        uint32_t code;
        at += cq_utf8_decode(&code, at, strlen(at));
        bytes[n + !is_big] = (char)(code >> 8), bytes[n + (is_big != 0)] = (char)(code & 0xFF);
      }
      o.encoding = i == 4 ? "windows-1252" : NULL;
      write_bytes(test_path(marked[i + 1]), bytes, n);
      got = all(test_path(marked[i + 1]), &o, &error);
      if (!got) fail_msg("%s: %s", marked[i + 1], error.message);
      assert_non_null(strstr(got, "\"title\": \"T\""));
      if (!strstr(got, "é€\"")) fail_msg("%s: %s", marked[i + 1], got);
      free(got);
      if (text[0] == '<') { /* without the mark */
        write_bytes(test_path(marked[i + 1]), bytes + 2, n - 2);
        got = all(test_path(marked[i + 1]), &o, &error);
        assert_non_null(got);
        assert_non_null(strstr(got, "é€\""));
        free(got);
      }
    }
  reads("declared.html", "<meta charset=utf-16><p>caf\xE9", "{\"id\": \"%\", \"text\": \"caf\xC3\xA9\"}\n", NULL);
  o.encoding = "no-such-thing";
  fails("a.txt", "a", 1, CQ_ERR_ARGUMENT, 0, "there is no encoding 'no-such-thing'", &o);
}

static void what_fits_no_format_is_refused(void **state) {
  (void)state;
  cq_documents_options o = as_they_say();
  FAILS("a.rtf", "{\\rtf1 hello}\n", 0, "is in no format of documents");
  FAILS("a.xml", "<?xml version=\"1.0\"?>\n<p>a</p>\n", 0, "is in no format of documents");
  reads("page", "<?xml version=\"1.0\"?>\n<!DOCTYPE html>\n<p>a", "{\"id\": \"%\", \"text\": \"a\"}\n", NULL);
  reads("numbers", "1\n2\n", "{\"id\": \"%:1\", \"text\": \"1\"}\n{\"id\": \"%:2\", \"text\": \"2\"}\n", NULL);
  reads("a.qmd", "---\ntitle: T\n---\nB\n", "{\"id\": \"%\", \"title\": \"T\", \"text\": \"B\"}\n", NULL);
  FAILS("picture", "\x89PNG\r\n\x1A\n\0\0\0\rIHDR", 0, "is in no format of documents");
  FAILS("bad.jsonl", "{\"text\": \"a\"}\n{\"text\": \"b\",}\n", 2, "bad.jsonl:2: not a JSON object: ");
  FAILS("list.jsonl", "[1]\n", 1, "not a JSON object");
  FAILS("double.jsonl", "{\"text\": \"a\", \"text\": \"b\"}\n", 1, "duplicate object key");
  FAILS("nul.jsonl", "{\"text\": \"a\\u0000b\"}\n", 1, "a NUL character in \"text\"");
  FAILS("end.json", "{\"text\": \"a\"} x", 1, "not JSON: ");
  FAILS("comma.json", "[{\"text\": \"a\"},\n]", 2, "expected a value after the comma");
  FAILS("between.json", "[{\"text\": \"a\"}\n{\"text\": \"b\"}]", 2, "expected ',' or ']'");
  FAILS("none.jsonl", "{\"id\": \"a\"}\n", 1, "a document without text: no \"text\"");
  FAILS("deep.jsonl", "{\"text\": {\"a\": 1}}\n", 1, "\"text\" is neither a string nor a whole number");
  FAILS("mixed.json", "[{\"text\": \"a\"}, 3]", 0, "item 2 of the list is not an object");
  FAILS("cut.json", "[{\"text\": \"a\"},\n", 2, "");
  FAILS("few.csv", "id,text\n1,a\n2\n", 3, "1 columns, the first row has 2");
  FAILS("open.csv", "id,text\n1,a\n2,\"b\n", 3, "a quotation mark that is not closed");
  FAILS("quote.csv", "id,text\n1,a\"b\n", 2, "a quotation mark inside a field");
  FAILS("names.csv", "a,b\n1,2\n", 1, "no column is named \"text\"");
  FAILS("twice.csv", "text,a,text\nx,y,z\n", 1, "columns 1 and 3 have the same name");
  FAILS("twice.json", "[{\"text\": \"a\",\n\"text\": \"b\"}]", 2, "duplicate object key");
  FAILS("wide.tsv", "a\tb\tc\n", 1, "no column is named \"text\"");
  FAILS("nul.txt", "a\0b\n", 1, "a NUL byte at position 2");
  FAILS("open.trec", "<DOC>\n<DOCNO>1</DOCNO>\n", 1, "<DOC> is not closed");
  FAILS("broken.jsonl", "\x1F\x8B\x08 no gzip at all", 0, "broken gzip stream");
  o.fields = "story=body";
  fails("a.txt", "a", 1, CQ_ERR_ARGUMENT, 0, "'story=body' does not name a field", &o);
  o.fields = "text=";
  fails("a.txt", "a", 1, CQ_ERR_ARGUMENT, 0, "'text=' does not name a field", &o);
  o.fields = "text=body";
  fails("b.jsonl", "{\"text\": \"a\"}\n", 14, CQ_ERR_FORMAT, 1, "no \"body\"", &o);
}

static void keep_notice(void *context, const char *text) {
  snprintf(context, 400, "%s", text);
}

static void folders_are_walked(void **state) {
  (void)state;
  char command[1600], notice[400] = "";
  cq_error error;
  snprintf(
      command, sizeof command,
      "mkdir -p %s/f/g/.hidden && cd %s/f && echo '# B' >b.md && echo one >a.txt && echo '{\"text\": \"j\"}' | gzip "
      ">g/c.jsonl.gz && echo x >g/d.bin && echo y >g/.e.txt && echo z >g/.hidden/f.txt && echo w >Makefile && ln -s . "
      "l1 && ln -s .. g/l2 && ln -s nowhere "
      "dangling.md && mkfifo pipe.md && printf 'PK\\3\\4' >g/h.zip && cp b.md g/i && "
      "printf '\\303\\244\\344' >g/j.log && printf 'a\\0' >g/k.png && printf '\\211P' >g/l.png && echo '<?xml?>' "
      ">m.xml && "
      "(yes a | head -n 4000; printf '\\0') >g/n.dat && (yes a | head -n 4000; printf '\\377') >g/o.dat && echo '[1]' "
      ">p",
      test_directory, test_directory);
  assert_int_equal(system(command), 0);
  cq_documents_options o = as_they_say();
  o.notice = keep_notice, o.notice_context = notice;
  char *got = all(test_path("f"), &o, &error);
  assert_non_null(got);
  char *one = strstr(got, "a.txt\", \"text\": \"one\"}"), *two = strstr(got, "b.md\", \"title\": \"B\""),
       *three = strstr(got, "g/c.jsonl.gz:1\", \"text\": \"j\"}");
  assert_true(one && two && three && one < two && two < three);
  assert_null(strstr(got, "hidden"));
  assert_non_null(strstr(got, "Makefile\", \"text\": \"w\"}"));
  assert_non_null(strstr(got, "g/i\", \"text\": \"# B\"}"));
  free(got);
  assert_string_equal(notice, "read as jsonl (1 file), text (5 files), markdown (1 file); left out files: 3 binary "
                              "(.zip .png .dat), 1 of other formats (.xml), 3 not in UTF-8 (.log .png .dat)");
  assert_null(all(test_path("nowhere"), &o, &error));
  assert_int_equal(error.status, CQ_ERR_IO);
}

/* Whatever allocation fails, an error comes, or (libcsv asks again, for less) all documents. */
static void memory_may_fail(void **state) {
  (void)state;
  static const char *const files[][2] = {
      {"m.csv", "id,text,n\n1,one,x\n2,two,y\n"},
      {"m.jsonl", "{\"text\": \"a\", \"tags\": [1, 2]}\n"},
      {"m.json", "[{\"text\": \"a\", \"n\": 1}]"},
      {"m.md", "---\nlang: de\nyear: 1\n---\n# A\n\nb\n"},
      {"m.trec", "<DOC>\n<DOCNO>1</DOCNO>a</DOC>\n"},
      {"m.txt", "a\nb\n"},
      {"m.html", "<table><tr><th rowspan=2>A<th>B<tr><td>1<td>2</table>"},
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    cq_error error;
    write_bytes(test_path(files[i][0]), files[i][1], strlen(files[i][1]));
    const size_t n_documents = i == 0 || i == 5 ? 2 : 1;
    for (long n = 1;; n++) {
      cq_documents *in;
      cq_document document;
      const char *path = test_path(files[i][0]);
      size_t n_read = 0;
      cq_alloc_fail_at(n);
      cq_status status = cq_documents_open(&in, &path, 1, NULL, &error);
      while (!status) {
        status = cq_documents_next(&document, in, &error);
        if (!document.id.data) break;
        n_read++;
      }
      const bool has_failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      cq_documents_close(in);
      if (status == CQ_OK) assert_int_equal(n_read, n_documents);
      if (!has_failed) break;
      if (status != CQ_ERR_MEMORY && i != 0)
        fail_msg("%s: allocation %ld: %s", files[i][0], n, status ? error.message : "no error");
    }
  }
}

/* A copy has its own texts, of which a field that is empty is one. */
static void a_copy_owns_its_texts(void **state) {
  (void)state;
  char texts[] = "idtexttitle{\"year\": 1}";
  const cq_document borrowed = {
      .id = {texts, 2}, .text = {texts + 2, 4}, .title = {texts + 6, 5}, .metadata = {texts + 11, 11}};
  cq_document *copy = (cq_document *)1;
  cq_error error = {0};
  cq_alloc_fail_at(1);
  assert_int_equal(cq_document_copy(&copy, &borrowed, &error), CQ_ERR_MEMORY);
  cq_alloc_fail_at(0);
  assert_null(copy);
  assert_int_equal(cq_document_copy(&copy, &borrowed, NULL), CQ_OK);
  memset(texts, '-', sizeof texts);
  assert_int_equal(copy->text.n, 4);
  assert_string_equal(copy->id.data, "id"); /* a zero behind each */
  assert_string_equal(copy->text.data, "text");
  assert_string_equal(copy->title.data, "title");
  assert_string_equal(copy->metadata.data, "{\"year\": 1}");
  assert_string_equal(copy->language.data, "");
  assert_int_equal(copy->url.n, 0);
  cq_free(copy);
}

static void blank_documents(void **state) {
  static const struct {
    cq_slice text;
    bool is_blank;
  } cases[] = {
      {{NULL, 0}, true}, {{" \t\r\n\f\v", 6}, true}, {{" a", 2}, false}, {{"\0", 1}, false}, {{"\xC2\xA0", 2}, false}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(cq_document_is_blank(&(cq_document){.text = cases[i].text}), cases[i].is_blank);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blank_documents),
      cmocka_unit_test(lines_are_documents),
      cmocka_unit_test(columns_are_named_by_the_first_row),
      cmocka_unit_test(separators_and_line_ends_are_detected),
      cmocka_unit_test(translations_are_units),
      cmocka_unit_test(a_bad_record_costs_only_itself),
      cmocka_unit_test(json_has_fields_of_many_names),
      cmocka_unit_test(a_page_is_what_is_shown),
      cmocka_unit_test(rows_of_tables_are_lines),
      cmocka_unit_test(markdown_is_its_text),
      cmocka_unit_test(trec_has_documents),
      cmocka_unit_test(parquet_has_columns),
      cmocka_unit_test(encodings_are_converted_or_suggested),
      cmocka_unit_test(what_fits_no_format_is_refused),
      cmocka_unit_test(folders_are_walked),
      cmocka_unit_test(a_copy_owns_its_texts),
      cmocka_unit_test(memory_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
