/* HTML by libxml2's parser, which accepts any input: the visible text, one line per block. Events are processed
 * directly, without a tree, because pages may be long and deeply nested. */
#include "base/error.h"
#include "base/memory.h"
#include "document/reader.h"
#include "document/table_rows.h"
#include "format/entities.h"
#include "format/json.h"
#include "text/encoding.h"
#include "text/unicode.h"

#include <libxml/HTMLparser.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CHUNK = 1 << 20, NAME = 64 };

typedef struct page {
  cq_document_file *file;
  cq_builder *text, *title;
  cq_builder heading;                              /* that of the first <h1>, for pages without a title */
  size_t level, left_out_at, title_at, heading_at; /* depth of elements; 0: in none of them */
  size_t table_at; /* depth of the innermost table; 0: in none, or again in one around another */
  bool has_title, has_heading, has_metadata;
  json_t *metadata;
  cq_table table;
} page;

static bool is_among(const char *names, const xmlChar *name) {
  char padded[40];
  return !strchr((const char *)name, ' ') &&
         snprintf(padded, sizeof padded, " %s ", (const char *)name) < (int)sizeof padded && strstr(names, padded);
}

/* Elements that are not visible, or are the same on every page. */
static bool is_left_out(const xmlChar *name) {
  return is_among(" head script style noscript template svg math iframe object select button nav aside footer ", name);
}

static bool is_block(const xmlChar *name) {
  return is_among(
      " address article blockquote br caption dd details div dl dt fieldset figcaption figure form h1 h2 h3 "
      "h4 h5 h6 header hr legend li main ol option p pre section summary table td th tr ul ",
      name);
}

/* Collapses white space to one blank, and drops it at the start of a line. */
static void put_shown(cq_builder *out, const char *text, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const unsigned char next = i + 1 < n ? (unsigned char)text[i + 1] : 0;
    if (text[i] == '\xc2' && next >= 0x80 && next <= 0x9f) { /* as &#146; is passed on */
      cq_builder_code(out, cq_html_character(next));
      i++;
      continue;
    }
    const bool blank = cq_is_blank(text[i]);
    if (blank && (out->n == 0 || cq_is_blank(out->data[out->n - 1]))) continue;
    cq_builder_char(out, blank ? ' ' : text[i]);
  }
}

static void end_line(cq_builder *out) {
  while (out->n && out->data[out->n - 1] == ' ') out->n--;
  if (out->n && out->data[out->n - 1] != '\n') cq_builder_char(out, '\n');
}

static void trim_end(cq_builder *b) {
  while (b->n && cq_is_blank(b->data[b->n - 1])) b->n--;
}

static const char *attribute(const xmlChar **attributes, const char *name) {
  for (; attributes && attributes[0]; attributes += 2)
    if (!strcasecmp((const char *)attributes[0], name)) return (const char *)attributes[1];
  return NULL;
}

/* Takes <meta name=... content=...> elements that describe the document; only the first of each name counts. */
static void take_meta(page *p, const xmlChar **attributes) {
  const char *name = attribute(attributes, "name"), *content = attribute(attributes, "content");
  char key[NAME];
  size_t n = 0;
  for (; name && name[n] && n < NAME - 1; n++)
    key[n] = (char)(name[n] >= 'A' && name[n] <= 'Z' ? name[n] + 32 : name[n]);
  key[n] = 0;
  if (!content || !is_among(" author date description keywords ", (const xmlChar *)key)) return;
  if (p->metadata && json_object_get(p->metadata, key)) return;
  cq_json_set(&p->metadata, key, json_string(content));
  p->has_metadata = true;
}

static void take_once(cq_builder *out, const char *value) {
  if (value && out->n == 0) put_shown(out, value, strlen(value));
}

static int span(const xmlChar **attributes, const char *name) {
  const char *value = attribute(attributes, name);
  const long n = value ? strtol(value, NULL, 10) : 1;
  return n < 1 ? 1 : n > 1000 ? 1000 : (int)n;
}

/* Tables within tables: the inner one is read, and the rest of the outer one, which is layout, stays lines. */
static void start_in_table(page *p, const char *tag, const xmlChar **attributes) {
  if (!strcmp(tag, "table")) {
    cq_table_clear(&p->table);
    p->table_at = p->level;
  } else if (p->table_at && is_among(" tr thead tbody tfoot ", (const xmlChar *)tag)) {
    cq_table_end_row(&p->table, p->text);
    if (strcmp(tag, "tr") != 0) p->table.in_head = !strcmp(tag, "thead");
  } else if (p->table_at && is_among(" th td ", (const xmlChar *)tag)) {
    const cq_table_cell cell = {0, !strcmp(tag, "th"), span(attributes, "colspan"), span(attributes, "rowspan")};
    cq_table_begin_cell(&p->table, p->text, cell);
  }
}

static void end_in_table(page *p, const char *tag) {
  if (p->table_at && is_among(" tr thead tbody tfoot ", (const xmlChar *)tag)) cq_table_end_row(&p->table, p->text);
  if (p->table_at && !strcmp(tag, "thead")) p->table.in_head = false;
  if (p->table_at != p->level) return;
  cq_table_end(&p->table, p->text);
  p->table_at = 0;
}

static void start_element(void *context, const xmlChar *name, const xmlChar **attributes) {
  page *p = context;
  const char *tag = (const char *)name;
  p->level++;
  if (!strcmp(tag, "html")) take_once(&p->file->room->role[CQ_ROLE_LANGUAGE], attribute(attributes, "lang"));
  if (!strcmp(tag, "meta")) take_meta(p, attributes);
  if (!strcmp(tag, "link") && attribute(attributes, "rel") && !strcasecmp(attribute(attributes, "rel"), "canonical"))
    take_once(&p->file->room->role[CQ_ROLE_URL], attribute(attributes, "href"));
  if (!strcmp(tag, "title") && !p->has_title) p->title_at = p->level, p->has_title = true;
  if (!strcmp(tag, "h1") && !p->has_heading) p->heading_at = p->level, p->has_heading = true;
  if (!p->left_out_at && is_left_out(name)) p->left_out_at = p->level;
  if (!p->left_out_at && is_block(name)) end_line(p->text);
  if (!p->left_out_at) start_in_table(p, tag, attributes);
}

static void end_element(void *context, const xmlChar *name) {
  page *p = context;
  if (!p->left_out_at && is_block(name)) end_line(p->text);
  if (!p->left_out_at) end_in_table(p, (const char *)name);
  if (p->left_out_at == p->level) p->left_out_at = 0;
  if (p->title_at == p->level) p->title_at = 0;
  if (p->heading_at == p->level) p->heading_at = 0;
  if (p->level) p->level--;
}

static void characters(void *context, const xmlChar *bytes, int n) {
  page *p = context;
  if (p->title_at) put_shown(p->title, (const char *)bytes, (size_t)n);
  if (p->heading_at) put_shown(&p->heading, (const char *)bytes, (size_t)n);
  if (!p->left_out_at && !p->title_at) put_shown(p->text, (const char *)bytes, (size_t)n);
}

static cq_status parse_page(page *p, cq_slice bytes, cq_error *error) {
  htmlSAXHandler handler = {.startElement = start_element,
                            .endElement = end_element,
                            .characters = characters,
                            .ignorableWhitespace = characters};
  htmlParserCtxtPtr parser = htmlCreatePushParserCtxt(&handler, p, NULL, 0, NULL, XML_CHAR_ENCODING_UTF8);
  if (!parser) return cq_fail_memory(error, p->file->path);
  htmlCtxtUseOptions(parser, HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_NONET |
                                 HTML_PARSE_IGNORE_ENC);
  for (size_t n; bytes.n; bytes.data += n, bytes.n -= n) {
    n = cq_min(bytes.n, (size_t)CHUNK);
    htmlParseChunk(parser, bytes.data, (int)n, 0);
  }
  htmlParseChunk(parser, "", 0, 1);
  const xmlError *problem = xmlCtxtGetLastError(parser);
  cq_status status = CQ_OK;
  if (problem && problem->code == XML_ERR_NO_MEMORY)
    status = cq_fail_memory(error, p->file->path);
  else if (problem && problem->level == XML_ERR_FATAL)
    status = cq_fail_line(error, CQ_ERR_FORMAT, p->file->path, (uint64_t)problem->line,
                          "HTML that cannot be parsed: %.*s", (int)strcspn(problem->message, "\n"), problem->message);
  htmlFreeParserCtxt(parser);
  return status;
}

/* --- encoding: UTF-8 if valid, else the declared one, else windows-1252, which browsers also use for ISO-8859-1 and
 * ASCII. Invalid bytes become U+FFFD, with a notice. A page that declares UTF-8 without one valid character of several
 * bytes is read as windows-1252. --- */

static void find_charset(char charset[CQ_ENCODING_NAME], cq_slice bytes) {
  static const char *const ascii[] = {"iso-8859-1", "latin1", "us-ascii", "ascii"};
  bool is_usable = cq_encoding_declared(charset, bytes) && cq_encoding_is_known(charset);
  for (size_t i = 0; i < sizeof ascii / sizeof *ascii; i++) is_usable &= strcasecmp(charset, ascii[i]) != 0;
  if (!is_usable) snprintf(charset, CQ_ENCODING_NAME, "windows-1252");
}

/* Characters beyond ASCII, and how many of them are U+FFFD. */
static size_t count_replaced(size_t *n_wide, cq_slice text) {
  size_t n = 0;
  *n_wide = 0;
  for (size_t i = 0; i < text.n; i++) {
    *n_wide += ((unsigned char)text.data[i] & 0xc0) == 0xc0;
    n += text.n - i >= 3 && !memcmp(text.data + i, "\xef\xbf\xbd", 3);
  }
  return n;
}

static cq_status decode_invalid(cq_builder *out, const cq_document_file *file, cq_error *error) {
  char charset[CQ_ENCODING_NAME];
  size_t n_wide;
  find_charset(charset, file->bytes);
  cq_status status = cq_decode_all(out, file->bytes, charset, error);
  const size_t n = status ? 0 : count_replaced(&n_wide, (cq_slice){out->data, out->n});
  if (n == 0) return status;
  if (n == n_wide && (!strcasecmp(charset, "utf-8") || !strcasecmp(charset, "utf8"))) {
    cq_builder_clear(out);
    status = cq_decode_all(out, file->bytes, "windows-1252", error);
    CQ_NOTIFY(file, "%.3800s: declares %s, which it is not: read as windows-1252", file->path, charset);
  } else {
    CQ_NOTIFY(file, "%.3800s: bytes that are not %s became U+FFFD in %zu place%s", file->path, charset, n,
              n == 1 ? "" : "s");
  }
  return status;
}

static cq_status decode_page(cq_builder *out, const cq_document_file *file, cq_error *error) {
  cq_status status = CQ_OK;
  if (file->is_utf8)
    cq_builder_bytes(out, file->bytes.data, file->bytes.n);
  else
    status = decode_invalid(out, file, error);
  for (size_t i = 0; i < out->n; i++)
    if (!out->data[i]) out->data[i] = ' '; /* at a NUL libxml2 would end */
  return status || !out->failed ? status : cq_fail_memory(error, file->path);
}

static cq_status read_html(bool *found, void *state, cq_document_file *file, cq_error *error) {
  cq_builder bytes = {0};
  page p = {.file = file,
            .text = &file->room->role[CQ_ROLE_TEXT],
            .title = &file->room->role[CQ_ROLE_TITLE],
            .metadata = json_object()};
  (void)state;
  *found = true;
  cq_status status = decode_page(&bytes, file, error);
  if (!status) status = parse_page(&p, (cq_slice){bytes.data, bytes.n}, error);
  trim_end(p.text), trim_end(p.title), trim_end(&p.heading);
  if (p.title->n == 0) cq_builder_bytes(p.title, p.heading.n ? p.heading.data : "", p.heading.n);
  if (!status && (!p.metadata || p.heading.failed)) status = cq_fail_memory(error, file->path);
  if (!status && p.has_metadata) cq_json_append(&file->room->metadata, p.metadata, -1);
  json_decref(p.metadata);
  cq_builder_free(&p.heading);
  cq_table_free(&p.table);
  cq_builder_free(&bytes);
  return status;
}

const cq_document_type cq_document_type_html = {
    .name = "html", .endings = " .html .htm .xhtml ", .is_one = true, .most_bytes = CQ_WHOLE_FILE, .read = read_html};
