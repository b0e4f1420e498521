/* DOCX, ODT, EPUB and PDF, and files of bzip2: what is read of them, and what is refused. */
#include "support/archive.h"
#include "support/documents.h"

#include "calque/lines.h"

#ifdef HAS_BZIP2
#include <bzlib.h>
#endif

extern bool is_plugin_missing;

#define WORD    "<w:document xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\"><w:body>"
#define RUN(x)  "<w:r><w:t xml:space=\"preserve\">" x "</w:t></w:r>"
#define PAR(x)  "<w:p>" RUN(x) "</w:p>"
#define CELL(x) "<w:tc>" PAR(x) "</w:tc>"

/* A document of one part. */
static void put_docx(test_archive *a, const char *body) {
  char xml[4096];
  snprintf(xml, sizeof xml, WORD "%s</w:body></w:document>", body);
  archive_text(a, "[Content_Types].xml", "<Types/>");
  archive_text(a, "word/document.xml", xml);
}

/* The JSON of an archive's document; "%" in what is expected is its path. Releases the archive. */
static void reads_archive(const char *name, test_archive *a, const char *expected) {
  const cq_slice bytes = archive_end(a);
  char wanted[2048];
  cq_error error;
  write_bytes(test_path(name), bytes.data, bytes.n);
  archive_free(a);
  snprintf(wanted, sizeof wanted, "{\"id\": \"%s\"%s}\n", test_path(name), expected);
  char *got = all(test_path(name), NULL, &error);
  if (!got) fail_msg("%s", error.message);
  assert_string_equal(got, wanted);
  free(got);
}

static void fails_archive(const char *name, test_archive *a, cq_status status, const char *message) {
  const cq_slice bytes = archive_end(a);
  fails(name, bytes.data, bytes.n, status, 0, message, NULL);
  archive_free(a);
}

static void a_docx_is_its_paragraphs(void **state) {
  (void)state;
  test_archive a = {0};
  put_docx(&a, "<w:p><w:pPr><w:tabs><w:tab w:val=\"left\"/></w:tabs></w:pPr>" RUN("One")
                   RUN(" &lt;two&gt;") "<w:r><w:tab/></w:r>" RUN("three") "<w:r><w:br/></w:r>" RUN(
                       "four") "</w:p><w:p/>"
                               "<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:ins>" RUN(
                                   "new") "</w:ins>"
                                          "<w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:noBreakHyphen/></w:r>" RUN(
                                              "er") "</w:p>");
  reads_archive("a.docx", &a, ", \"text\": \"One <two> three\\nfour\\nnew-er\"");
  /* tables; what a text box has twice; a table of contents */
  put_docx(
      &a,
      PAR("Before") "<w:tbl><w:tr><w:trPr><w:tblHeader/></w:trPr>" CELL("City") CELL(
          "Rain") "</w:tr>"
                  "<w:tr>" CELL("Oslo") CELL("800") "</w:tr><w:tr><w:tc><w:tcPr><w:gridSpan w:val=\"2\"/></w:tcPr>" PAR(
                      "all") "</w:tc></w:tr></w:tbl>"
                             "<mc:AlternateContent xmlns:mc=\"m\"><mc:Choice>" PAR(
                                 "box") "</mc:Choice><mc:Fallback>" PAR("box") "</mc:Fallback></"
                                                                               "mc:AlternateContent><w:sdt><w:"
                                                                               "sdtPr><w:docPartObj><w:"
                                                                               "docPartGallery "
                                                                               "w:val=\"Table of "
                                                                               "Contents\"/></w:docPartObj></"
                                                                               "w:sdtPr><w:sdtContent>" PAR(
                                                                                   "One....1") "</"
                                                                                               "w:sdtContent></"
                                                                                               "w:sdt><w:sdt><"
                                                                                               "w:"
                                                                                               "sdtContent"
                                                                                               ">" PAR(
                                                                                                   "kept") "</"
                                                                                                           "w:"
                                                                                                           "sdtContent>"
                                                                                                           "</w:sdt>");
  reads_archive("b.docx", &a, ", \"text\": \"Before\\nCity: Oslo, Rain: 800\\nall\\nbox\\nkept\"");
  /* parts by their relationships, a title by the style's name, notes, properties */
  archive_text(&a, "_rels/.rels",
               "<Relationships><Relationship Type=\"http://x/core-properties\" Target=\"p.xml\"/><Relationship "
               "Type=\"http://x/officeDocument\" Target=\"/w/main.xml\"/></Relationships>");
  archive_text(&a, "w/main.xml",
               WORD PAR("A line") "<w:p><w:pPr><w:pStyle w:val=\"berschrift1\"/></w:pPr>" RUN(
                   "Kopf") "</w:p></w:body></w:document>");
  archive_text(&a, "w/styles.xml",
               "<w:styles xmlns:w=\"w\"><w:style w:styleId=\"Standard\"><w:name w:val=\"Normal\"/></w:style><w:style "
               "w:styleId=\"berschrift1\"><w:name w:val=\"heading 1\"/></w:style></w:styles>");
  archive_text(&a, "w/footnotes.xml",
               "<w:footnotes xmlns:w=\"w\"><w:footnote w:type=\"separator\">" PAR("-") "</w:footnote><w:footnote>" PAR(
                   "A note") "</w:footnote></w:footnotes>");
  archive_text(&a, "docProps/core.xml",
               "<c:p xmlns:c=\"c\" xmlns:dc=\"d\"><dc:creator>A. B.</dc:creator><dc:language>de</dc:language></c:p>");
  reads_archive(
      "c.docx", &a,
      ", \"title\": \"Kopf\", \"text\": \"A line\\nKopf\\nA note\", \"language\": \"de\", \"author\": \"A. B.\"");
  put_docx(&a, PAR("Text"));
  archive_text(&a, "docProps/core.xml", "<p xmlns:dc=\"d\"><dc:title> The \n title </dc:title></p>");
  reads_archive("no-ending", &a, ", \"title\": \"The title\", \"text\": \"Text\"");
}

#define ODT(x)                                                                                                         \
  "<office:document-content xmlns:office=\"o\" xmlns:text=\"t\" xmlns:table=\"b\"><office:body><office:text>" x        \
  "</office:text></office:body></office:document-content>"

static void put_odt(test_archive *a, const char *content) {
  archive_add(a, "mimetype", "application/vnd.oasis.opendocument.text", 39, true);
  archive_text(a, "content.xml", content);
}

static void an_odt_is_its_paragraphs(void **state) {
  (void)state;
  test_archive a = {0};
  put_odt(
      &a,
      ODT("<text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:h>Kopf</text:h>\n"
          "<text:p>One<text:s text:c=\"3\"/>two<text:tab/>three<text:note><text:note-citation>1</text:note-citation>"
          "<text:note-body><text:p>A note</text:p></text:note-body></text:note> goes on.<office:annotation>"
          "<text:p>no</text:p></office:annotation><text:line-break/>Next</text:p><text:list><text:list-item>"
          "<text:p>item</text:p></text:list-item></text:list><text:table-of-content><text:p>Kopf 1</text:p>"
          "</text:table-of-content>"));
  archive_text(
      &a, "meta.xml",
      "<office:m xmlns:office=\"o\" xmlns:meta=\"m\" xmlns:dc=\"d\"><meta:initial-creator>A</meta:initial-creator>"
      "<dc:creator>B</dc:creator><dc:language>de-DE</dc:language></office:m>");
  reads_archive(
      "a.odt", &a,
      ", \"title\": \"Kopf\", \"text\": \"Kopf\\nOne two three goes on.\\nNext\\nitem\\nA note\", \"language\": "
      "\"de-DE\", \"author\": \"A\"");
  put_odt(&a,
          ODT("<table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>City</text:p>"
              "</table:table-cell><table:table-cell><text:p>Rain</text:p></table:table-cell></table:table-row>"
              "</table:table-header-rows><table:table-row><table:table-cell><text:p>Oslo</text:p></table:table-cell>"
              "<table:table-cell><text:p>800</text:p></table:table-cell></table:table-row></table:table>"
              "<text:p>after</text:p>"));
  reads_archive("told by its beginning", &a, ", \"text\": \"City: Oslo, Rain: 800\\nafter\"");
}

#define CONTAINER "<container><rootfiles><rootfile full-path=\"OEBPS/content.opf\"/></rootfiles></container>"
#define PACKAGE(x)                                                                                                     \
  "<package xmlns=\"http://www.idpf.org/2007/opf\"><metadata xmlns:dc=\"d\"><dc:title>A "                              \
  "Book</dc:title><dc:creator>A. "                                                                                     \
  "B.</dc:creator><dc:language>en</dc:language></metadata><manifest><item id=\"a\" href=\"text/a%20b.xhtml\"/><item "  \
  "id=\"n\" href=\"nav.xhtml\"/><item id=\"b\" href=\"../b.html\"/></manifest><spine>" x "</spine></package>"

static void put_epub(test_archive *a, const char *package) {
  archive_add(a, "mimetype", "application/epub+zip", 20, true);
  archive_text(a, "META-INF/container.xml", CONTAINER);
  archive_text(a, "OEBPS/content.opf", package);
  archive_text(
      a, "OEBPS/text/a b.xhtml",
      "<?xml version=\"1.0\"?><html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"fr\"><head><title>A</title></head>"
      "<body><h1>One</h1><p>The first&#160;page &eacute;.</p></body></html>");
  archive_text(a, "OEBPS/nav.xhtml", "<html><body><nav>One</nav><p>x</p></body></html>");
  archive_text(a, "b.html", "<p>The second.</p>");
}

static void an_epub_is_its_pages_in_order(void **state) {
  (void)state;
  test_archive a = {0};
  put_epub(&a, PACKAGE("<itemref idref=\"b\"/><itemref idref=\"n\" linear=\"no\"/><itemref idref=\"a\"/>"));
  reads_archive(
      "a.epub", &a,
      ", \"title\": \"A Book\", \"text\": \"The second.\\nOne\\nThe first\xC2\xA0page é.\", \"language\": \"en\", "
      "\"author\": \"A. B.\"");
  put_epub(&a, PACKAGE(""));
  fails_archive("b.epub", &a, CQ_ERR_FORMAT, "b.epub: 'OEBPS/content.opf' names no page");
  put_epub(&a, PACKAGE("<itemref idref=\"c\"/>"));
  fails_archive("c.epub", &a, CQ_ERR_FORMAT, "'OEBPS/content.opf' has no item 'c'");
  put_epub(&a, PACKAGE("<itemref idref=\"a\"/>"));
  archive_text(&a, "META-INF/encryption.xml",
               "<encryption><EncryptedData><CipherData><CipherReference URI=\"OEBPS/text/a b.xhtml\"/></CipherData>"
               "</EncryptedData></encryption>");
  fails_archive("d.epub", &a, CQ_ERR_FORMAT, "is encrypted (DRM): 'OEBPS/text/a b.xhtml' cannot be read");
  archive_text(&a, "META-INF/container.xml", CONTAINER);
  fails_archive("e.epub", &a, CQ_ERR_FORMAT, "there is no 'OEBPS/content.opf' in it");
}

static void bad_archives_are_refused(void **state) {
  (void)state;
  enum { BOMB = 65 << 20 };
  test_archive a = {0};
  char *bomb = calloc(BOMB, 1);
  assert_non_null(bomb);
  memset(bomb, ' ', BOMB);
  archive_add(&a, "word/document.xml", bomb, BOMB, false);
  fails_archive("bomb.docx", &a, CQ_ERR_LIMIT, "a document of more than 64 MiB when it is unpacked");
  /* the limit is for all pages, also for one that is named many times */
  put_epub(&a, PACKAGE("<itemref idref=\"c\"/><itemref idref=\"c\"/><itemref idref=\"c\"/>"));
  archive_free(&a);
  archive_text(&a, "META-INF/container.xml", CONTAINER);
  archive_text(&a, "OEBPS/content.opf",
               "<package><manifest><item id=\"c\" href=\"c.html\"/></manifest><spine><itemref idref=\"c\"/><itemref "
               "idref=\"c\"/><itemref idref=\"c\"/></spine></package>");
  archive_add(&a, "OEBPS/c.html", bomb, 30 << 20, false);
  fails_archive("bomb.epub", &a, CQ_ERR_LIMIT, "a document of more than 64 MiB when it is unpacked");
  free(bomb);
  archive_text(&a, "word/document.xml",
               "<!DOCTYPE d [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]><d>&b;&b;</d>");
  fails_archive("entities.docx", &a, CQ_ERR_FORMAT, "'word/document.xml' declares entities");
  put_odt(&a, "<a><b></a>");
  fails_archive("tags.odt", &a, CQ_ERR_FORMAT, "'content.xml' line 1: not XML: Opening and ending tag mismatch");
  /* looks like UCS-4, but is not: libxml2 must print nothing */
  FILE *printed = tmpfile();
  const int standard_error = dup(STDERR_FILENO);
  assert_non_null(printed);
  dup2(fileno(printed), STDERR_FILENO);
  archive_add(&a, "word/document.xml", "\0\0\0<=>text\tnone\n/", 17, false);
  fails_archive("guessed.docx", &a, CQ_ERR_FORMAT, "'word/document.xml' line 1: not XML");
  dup2(standard_error, STDERR_FILENO);
  close(standard_error);
  assert_int_equal(lseek(fileno(printed), 0, SEEK_END), 0);
  fclose(printed);
  put_odt(&a, ODT(""));
  archive_text(&a, "META-INF/manifest.xml",
               "<m><file-entry full-path=\"content.xml\"><encryption-data/></file-entry></m>");
  fails_archive("secret.odt", &a, CQ_ERR_FORMAT, "secret.odt: is encrypted: save it without a password");
  archive_text(&a, "other", "x");
  fails_archive("none.docx", &a, CQ_ERR_FORMAT, "there is no 'word/document.xml' in it");
  FAILS("secret.docx", "\xD0\xCF\x11\xE0 any", 0, "is encrypted, or in the format of Word before 2007");
  FAILS("text.docx", "some text", 0, "broken zip archive: no end of the directory");
  FAILS("a.zip", "PK\3\4 an archive of something else", 0, "is in no format of documents");
  FAILS("empty.epub", "", 0, "broken zip archive");
  /* an encrypted entry, and one whose compressed bytes are damaged */
  put_docx(&a, PAR("x"));
  const cq_slice bytes = archive_end(&a);
  char *copy = malloc(bytes.n);
  memcpy(copy, bytes.data, bytes.n);
  for (size_t i = 0; i + 4 < bytes.n; i++)
    if (!memcmp(copy + i, "PK\1\2", 4)) copy[i + 8] = 1;
  fails("entry.docx", copy, bytes.n, CQ_ERR_FORMAT, 0, "entry '[Content_Types].xml' is encrypted", NULL);
  memcpy(copy, bytes.data, bytes.n);
  for (size_t i = 0; i + 17 < bytes.n; i++)
    if (!memcmp(copy + i, "word/document.xml", 17)) copy[i + 17] = '\xFF';
  fails("packed.docx", copy, bytes.n, CQ_ERR_FORMAT, 0, "", NULL);
  /* truncated anywhere, a file is an error */
  for (size_t n = 0; n < bytes.n; n++) fails("cut.docx", copy, n, CQ_ERR_FORMAT, 0, "", NULL);
  free(copy);
  archive_free(&a);
}

/* --- PDF --- */

#ifdef HAS_POPPLER
static cq_slice make_pdf(cq_builder *out, const char *const *pages, size_t n, const char *info) {
  size_t offsets[32];
  cq_builder_text(out, "%PDF-1.4\n");
  for (size_t i = 1; i <= 4 + 2 * n; i++) {
    offsets[i] = out->n;
    cq_builder_printf(out, "%zu 0 obj", i);
    if (i == 1) cq_builder_text(out, "<</Type/Catalog/Pages 2 0 R>>");
    if (i == 2) {
      cq_builder_text(out, "<</Type/Pages/Kids[");
      for (size_t k = 0; k < n; k++) cq_builder_printf(out, "%zu 0 R ", 5 + 2 * k);
      cq_builder_printf(out, "]/Count %zu>>", n);
    }
    if (i == 3) cq_builder_text(out, "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>");
    if (i == 4) cq_builder_printf(out, "<<%s>>", info);
    if (i > 4 && i % 2 == 1)
      cq_builder_printf(out,
                        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents %zu 0 R/Resources<</Font<</F 3 0 "
                        "R>>>>>>",
                        i + 1);
    if (i > 4 && i % 2 == 0)
      cq_builder_printf(out, "<</Length %zu>>stream\n%s\nendstream", strlen(pages[i / 2 - 3]), pages[i / 2 - 3]);
    cq_builder_text(out, "\nendobj\n");
  }
  const size_t at = out->n;
  cq_builder_printf(out, "xref\n0 %zu\n0000000000 65535 f \n", 5 + 2 * n);
  for (size_t i = 1; i <= 4 + 2 * n; i++) cq_builder_printf(out, "%010zu 00000 n \n", offsets[i]);
  cq_builder_printf(out, "trailer<</Size %zu/Root 1 0 R/Info 4 0 R>>\nstartxref\n%zu\n%%%%EOF\n", 5 + 2 * n, at);
  return cq_built(out);
}

static void reads_pdf(const char *name, const char *const *pages, size_t n, const char *info, const char *expected) {
  cq_builder out = {0};
  char wanted[1024];
  cq_error error;
  const cq_slice bytes = make_pdf(&out, pages, n, info);
  write_bytes(test_path(name), bytes.data, bytes.n);
  cq_builder_free(&out);
  snprintf(wanted, sizeof wanted, "{\"id\": \"%s\"%s}\n", test_path(name), expected);
  char *got = all(test_path(name), NULL, &error);
  if (!got) fail_msg("%s", error.message);
  assert_string_equal(got, wanted);
  free(got);
}

static void a_pdf_is_the_text_of_its_pages(void **state) {
  (void)state;
  reads_pdf(
      "a.pdf",
      (const char *const[]){"BT /F 12 Tf 72 700 Td (A first line of a para-) Tj 0 -14 Td (graph in caf\\351s.) Tj ET",
                            "BT /F 12 Tf 72 700 Td (Page two.) Tj ET"},
      2, "/Title(A Title)/Author(A. B.)",
      ", \"title\": \"A Title\", \"text\": \"A first line of a paragraph in cafés.\\nPage two.\", \"author\": "
      "\"A. B.\"");
  /* heads and feet that pages share, but for numbers */
  static const char *const pages[] = {
      "BT /F 12 Tf 72 760 Td (My Report) Tj 0 -60 Td (One.) Tj 0 -600 Td (Page 1 of 3) Tj ET",
      "BT /F 12 Tf 72 760 Td (My Report) Tj 0 -60 Td (Two.) Tj 0 -600 Td (Page 2 of 3) Tj ET",
      "BT /F 12 Tf 72 760 Td (My Report) Tj 0 -60 Td (Three.) Tj 0 -600 Td (Page 3 of 3) Tj ET"};
  reads_pdf("b.pdf", pages, 3, "", ", \"text\": \"One.\\nTwo.\\nThree.\"");
  reads_pdf("two", pages, 2, "",
            ", \"text\": \"My Report\\n\\nOne.\\n\\nPage 1 of 3\\nMy Report\\n\\nTwo.\\n\\nPage 2 of 3\"");
}

static void bad_pdfs_are_refused(void **state) {
  (void)state;
  cq_builder out = {0};
  cq_error error;
  assert_null(all(tests_file("golden/document/encrypted.pdf"), NULL, &error));
  assert_int_equal(error.status, CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "encrypted.pdf: is encrypted: save it without a password"));
  const cq_slice bytes = make_pdf(&out, (const char *const[]){"0 0 10 10 re f", ""}, 2, "/Title(Scan)");
  fails("scan.pdf", bytes.data, bytes.n, CQ_ERR_FORMAT, 0, "its 2 pages have no text, only pictures: it may be a scan",
        NULL);
  cq_builder_free(&out);
  FAILS("no.pdf", "%PDF-1.4\nthat is all", 0, "no.pdf: is damaged, or no PDF");
  FAILS("empty.pdf", "", 0, "empty.pdf: is damaged, or no PDF");
}
#endif

/* --- bzip2 --- */

#ifdef HAS_BZIP2
static size_t pack(char *out, size_t size, const char *text) {
  unsigned n = (unsigned)size;
  assert_int_equal(BZ2_bzBuffToBuffCompress(out, &n, (char *)(uintptr_t)text, (unsigned)strlen(text), 1, 0, 0), BZ_OK);
  return n;
}

static void files_of_bzip2_are_read(void **state) {
  (void)state;
  char bytes[1000];
  cq_error error;
  size_t n = pack(bytes, sizeof bytes, "one\ntw"); /* a multistream file, as dumps are */
  n += pack(bytes + n, sizeof bytes - n, "o\nthree\n");
  for (int has_ending = 0; has_ending < 2; has_ending++) {
    const char *path = test_path(has_ending ? "a.txt.bz2" : "packed");
    write_bytes(path, bytes, n);
    char *got = all(path, NULL, &error);
    if (!got) fail_msg("%s", error.message);
    assert_non_null(strstr(got, ":2\", \"text\": \"two\"}"));
    assert_non_null(strstr(got, ":3\", \"text\": \"three\"}"));
    free(got);
  }
  /* cut anywhere but between its streams, it is an error */
  const size_t first = pack(bytes + n, sizeof bytes - n, "one\ntw");
  for (size_t cut = 10; cut < n; cut++)
    if (cut != first && cut - first >= 4)
      fails("cut.txt.bz2", bytes, cut, CQ_ERR_FORMAT, 0, "broken bzip2 stream: ends too early", NULL);
  bytes[30] ^= 4;
  fails("damaged.txt.bz2", bytes, n, CQ_ERR_FORMAT, 0, "broken bzip2 stream: damaged", NULL);
}

static void a_long_file_of_bzip2_is_read(void **state) {
  (void)state;
  enum { LINES = 200000 };
  cq_builder text = {0};
  cq_error error;
  cq_lines *lines;
  cq_slice line;
  for (int i = 0; i < LINES; i++) cq_builder_printf(&text, "line %d %d\n", i, i * 7919 % 10007);
  char *bytes = malloc(text.n);
  const size_t n = pack(bytes, text.n, text.data);
  write_bytes(test_path("long.bz2"), bytes, n);
  assert_int_equal(cq_lines_open(&lines, test_path("long.bz2"), &error), CQ_OK);
  size_t at = 0;
  while (!cq_lines_next(&line, lines, &error) && line.data) {
    assert_memory_equal(text.data + at, line.data, line.n);
    at += line.n + 1;
  }
  assert_int_equal(at, text.n);
  cq_lines_close(lines);
  cq_builder_free(&text);
  free(bytes);
}
#endif

/* --- plugins, memory --- */

static void keep_notices(void *context, const char *text) {
  const size_t n = strlen(context);
  snprintf((char *)context + n, 2000 - n, "%s\n", text);
}

static void without_a_plugin_files_are_left_out(void **state) {
  (void)state;
  char command[800], notices[2000] = "";
  cq_error error;
  cq_documents_options o = as_they_say();
  o.notice = keep_notices, o.notice_context = notices;
  snprintf(command, sizeof command,
           "mkdir -p %s/some && cd %s/some && printf %%%%PDF-1.4 >a.pdf && printf 'BZh91AY&SY' >b.txt.bz2 "
           "&& echo text >c.txt && printf x >d.epub",
           test_directory, test_directory);
  assert_int_equal(system(command), 0);
  is_plugin_missing = true;
  char *got = all(test_path("some"), &o, &error);
  if (!got) fail_msg("%s", error.message);
  assert_non_null(strstr(got, "c.txt\", \"text\": \"text\"}"));
  assert_non_null(strstr(notices, "left out: "));
  assert_non_null(
      strstr(notices, "a.pdf: needs calque's plugin for formats of documents (calque-formats): it is missing"));
  assert_non_null(strstr(notices, "; left out files: 3 that need a plugin (.pdf .txt .epub)"));
  free(got);
  fails("a.docx", "x", 1, CQ_ERR_UNSUPPORTED, 0, "a.docx: needs calque's plugin for formats of documents", NULL);
  fails("a.txt.bz2", "BZh91AY&SY", 10, CQ_ERR_UNSUPPORTED, 0,
        "bzip2 needs calque's plugin for it (calque-formats; libbz2-dev", NULL);
  is_plugin_missing = false;
}

static void memory_may_fail(void **state) {
  (void)state;
  for (int kind = 0; kind < 3; kind++) {
    test_archive a = {0};
    const char *path = test_path(kind == 0 ? "m.docx" : kind == 1 ? "m.odt" : "m.epub");
    if (kind == 0) {
      put_docx(&a, PAR("a") "<w:tbl><w:tr>" CELL("b") CELL("c") "</w:tr></w:tbl>");
      archive_text(&a, "docProps/core.xml", "<p xmlns:dc=\"d\"><dc:creator>A</dc:creator></p>");
    } else if (kind == 1) {
      put_odt(&a, ODT("<text:h>a</text:h>"));
    } else {
      put_epub(&a, PACKAGE("<itemref idref=\"a\"/><itemref idref=\"b\"/>"));
    }
    const cq_slice bytes = archive_end(&a);
    write_bytes(path, bytes.data, bytes.n);
    archive_free(&a);
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
      cmocka_unit_test(a_docx_is_its_paragraphs),
      cmocka_unit_test(an_odt_is_its_paragraphs),
      cmocka_unit_test(an_epub_is_its_pages_in_order),
      cmocka_unit_test(bad_archives_are_refused),
#ifdef HAS_POPPLER
      cmocka_unit_test(a_pdf_is_the_text_of_its_pages),
      cmocka_unit_test(bad_pdfs_are_refused),
#endif
#ifdef HAS_BZIP2
      cmocka_unit_test(files_of_bzip2_are_read),
      cmocka_unit_test(a_long_file_of_bzip2_is_read),
#endif
      cmocka_unit_test(without_a_plugin_files_are_left_out),
      cmocka_unit_test(memory_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
