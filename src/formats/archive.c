/* Zip archives of XML: unpacking by zlib, parsing by libxml2. See archive.h. */
#include "formats/archive.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/zlib_memory.h"
#include "format/json.h"

#include <libxml/parser.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static int by_name(const void *a, const void *b) {
  return cq_slice_compare(((const cq_zip_entry *)a)->name, ((const cq_zip_entry *)b)->name);
}

cq_status cq_archive_open(cq_archive *out, const cq_document_file *file, cq_error *error) {
  static const char ole[] = "\xD0\xCF\x11\xE0"; /* Microsoft's older container */
  cq_error why = {0};
  *out = (cq_archive){.path = file->path};
  if (file->bytes.n >= 4 && !memcmp(file->bytes.data, ole, 4))
    return cq_fail_file(
        error, CQ_ERR_FORMAT, file->path,
        "is encrypted, or in the format of Word before 2007 (.doc): save it without a password, as .docx");
  const cq_status status = cq_zip_read(&out->entries, &out->n_entries, &out->arena,
                                       (const unsigned char *)file->bytes.data, file->bytes.n, true, file->path, &why);
  if (!status && out->n_entries) qsort(out->entries, out->n_entries, sizeof *out->entries, by_name);
  if (!status) return CQ_OK;
  if (why.status == CQ_ERR_UNSUPPORTED) why.status = CQ_ERR_FORMAT; /* of this file, not of this calque */
  if (error) *error = why;
  cq_archive_close(out);
  return why.status;
}

void cq_archive_close(cq_archive *a) {
  cq_arena_free(&a->arena);
  cq_builder_free(&a->room);
}

static cq_status fail_limit(const cq_archive *a, cq_error *error) {
  return cq_fail_file(error, CQ_ERR_LIMIT, a->path, "a document of more than %zu MiB when it is unpacked",
                      CQ_WHOLE_FILE >> 20);
}

static cq_status inflate_entry(cq_archive *a, const cq_zip_entry *entry, const char *name, cq_error *error) {
  z_stream z = {.zalloc = cq_zlib_alloc, .zfree = cq_zlib_free};
  if (inflateInit2(&z, -15) != Z_OK) return cq_fail_memory(error, a->path);
  z.next_in = (unsigned char *)(size_t)entry->data, z.avail_in = (unsigned)entry->n; /* zlib only reads it */
  cq_status status = CQ_OK;
  for (int code = Z_OK; !status && code != Z_STREAM_END;) {
    char bytes[1 << 14];
    z.next_out = (unsigned char *)bytes, z.avail_out = sizeof bytes;
    code = inflate(&z, Z_NO_FLUSH);
    const size_t got = sizeof bytes - z.avail_out;
    a->n_unpacked += got;
    cq_builder_bytes(&a->room, bytes, got);
    if (code == Z_MEM_ERROR || a->room.failed)
      status = cq_fail_memory(error, a->path);
    else if (a->n_unpacked > CQ_WHOLE_FILE)
      status = fail_limit(a, error);
    else if (code != Z_STREAM_END && (code != Z_OK || (got == 0 && z.avail_in == 0)))
      status = cq_fail_file(error, CQ_ERR_FORMAT, a->path, "broken zip archive: '%.200s' is damaged", name);
  }
  inflateEnd(&z);
  return status;
}

cq_status cq_archive_read(cq_slice *out, cq_archive *a, const char *name, cq_error *error) {
  const cq_zip_entry wanted = {.name = cq_slice_of(name)};
  const cq_zip_entry *entry =
      a->n_entries ? bsearch(&wanted, a->entries, a->n_entries, sizeof *a->entries, by_name) : NULL;
  *out = entry ? (cq_slice){(const char *)entry->data, entry->n} : (cq_slice){0};
  if (!entry) return CQ_OK;
  if (!entry->is_deflated) return (a->n_unpacked += entry->n) > CQ_WHOLE_FILE ? fail_limit(a, error) : CQ_OK;
  cq_builder_clear(&a->room);
  const cq_status status = inflate_entry(a, entry, name, error);
  *out = cq_built(&a->room);
  return status;
}

cq_status cq_archive_need(cq_slice *out, cq_archive *a, const char *name, cq_error *error) {
  const cq_status status = cq_archive_read(out, a, name, error);
  if (!status && !out->data) return cq_fail_file(error, CQ_ERR_FORMAT, a->path, "there is no '%.200s' in it", name);
  return status;
}

/* --- XML --- */

typedef struct parsing {
  const cq_xml_events *events;
  void *context;
  bool has_entities;
} parsing;

static const char *without_prefix(const char *name) {
  const char *colon = strchr(name, ':');
  return colon ? colon + 1 : name;
}

static void start_element(void *context, const xmlChar *name, const xmlChar **attributes) {
  static const char *none[] = {NULL};
  const parsing *p = context;
  if (p->events->open)
    p->events->open(p->context, without_prefix((const char *)name), attributes ? (const char **)attributes : none);
}

static void end_element(void *context, const xmlChar *name) {
  const parsing *p = context;
  if (p->events->close) p->events->close(p->context, without_prefix((const char *)name));
}

static void characters(void *context, const xmlChar *bytes, int n) {
  const parsing *p = context;
  if (p->events->text) p->events->text(p->context, (const char *)bytes, (size_t)n);
}

static void entity_declaration(void *context, const xmlChar *name, int type, const xmlChar *public_id,
                               const xmlChar *system_id, xmlChar *content) {
  (void)name, (void)type, (void)public_id, (void)system_id, (void)content;
  ((parsing *)context)->has_entities = true;
}

/* libxml2 prints what it cannot convert to UTF-8, whatever its options are. */
static void ignore_message(void *context, const char *format, ...) {
  (void)context, (void)format;
}

cq_status cq_xml_events_read(cq_slice bytes, const cq_xml_events *events, void *context, const char *path,
                             const char *what, cq_error *error) {
  enum { CHUNK = 1 << 16 };
  parsing p = {events, context, false};
  xmlSAXHandler handler = {.startElement = start_element,
                           .endElement = end_element,
                           .characters = characters,
                           .cdataBlock = characters,
                           .ignorableWhitespace = characters,
                           .entityDecl = entity_declaration};
  xmlParserCtxtPtr parser = xmlCreatePushParserCtxt(&handler, &p, NULL, 0, NULL);
  if (!parser) return cq_fail_memory(error, path);
  xmlCtxtUseOptions(parser, XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_NONET);
  const xmlGenericErrorFunc printing = xmlGenericError;
  void *printed_to = xmlGenericErrorContext;
  int code = 0;
  xmlSetGenericErrorFunc(NULL, ignore_message);
  while (!code && !p.has_entities && bytes.n) {
    const size_t n = cq_min(bytes.n, (size_t)CHUNK);
    code = xmlParseChunk(parser, bytes.data, (int)n, 0);
    bytes.data += n, bytes.n -= n;
  }
  if (!code && !p.has_entities) code = xmlParseChunk(parser, "", 0, 1);
  xmlSetGenericErrorFunc(printed_to, printing);
  const xmlError *problem = xmlCtxtGetLastError(parser);
  cq_status status = CQ_OK;
  if (p.has_entities)
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "'%.200s' declares entities, which no such file needs", what);
  else if (code == XML_ERR_NO_MEMORY)
    status = cq_fail_memory(error, path);
  else if (code && problem)
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "'%.200s' line %d: not XML: %.*s", what, problem->line,
                          (int)strcspn(problem->message, "\n"), problem->message);
  else if (code)
    status = cq_fail_file(error, CQ_ERR_FORMAT, path, "'%.200s': not XML", what);
  xmlFreeDoc(parser->myDoc); /* of a declaration, which makes one */
  xmlFreeParserCtxt(parser);
  return status;
}

const char *cq_xml_events_value(const char **attributes, const char *name) {
  for (; *attributes; attributes += 2)
    if (!strcmp(without_prefix(*attributes), name)) return attributes[1];
  return NULL;
}

/* --- title, author, language --- */

cq_status cq_put_author(cq_document_file *file, const cq_builder *author, cq_error *error) {
  const cq_slice name = cq_slice_trimmed(cq_built(author));
  if (author->failed) return cq_fail_memory(error, file->path);
  if (name.n == 0) return CQ_OK;
  json_t *metadata = json_object();
  cq_json_set(&metadata, "author", json_stringn(name.data, name.n));
  if (!metadata) return cq_fail_memory(error, file->path);
  cq_json_append(&file->room->metadata, metadata, -1);
  json_decref(metadata);
  return CQ_OK;
}

typedef struct properties {
  cq_builder *title, *language, author, *now; /* now: what the text belongs to */
} properties;

static void open_property(void *context, const char *name, const char **attributes) {
  properties *p = context;
  (void)attributes;
  p->now = !strcmp(name, "title")                          ? p->title
           : !strcmp(name, "language")                     ? p->language
           : cq_name_is(" creator initial-creator ", name) ? &p->author
                                                           : NULL;
  if (p->now && p->now->n) p->now = NULL;
}

static void close_property(void *context, const char *name) {
  properties *p = context;
  (void)name;
  p->now = NULL;
}

static void property_text(void *context, const char *bytes, size_t n) {
  const properties *p = context;
  if (p->now) cq_put_prose(p->now, bytes, n);
}

cq_status cq_take_properties(cq_document_file *file, cq_slice xml, const char *what, cq_error *error) {
  static const cq_xml_events events = {open_property, close_property, property_text};
  properties p = {.title = &file->room->role[CQ_ROLE_TITLE], .language = &file->room->role[CQ_ROLE_LANGUAGE]};
  cq_status status = cq_xml_events_read(xml, &events, &p, file->path, what, error);
  if (!status) status = cq_put_author(file, &p.author, error);
  cq_builder_free(&p.author);
  return status;
}

/* --- prose --- */

void cq_put_prose(cq_builder *out, const char *text, size_t n) {
  for (size_t i = 0; i < n; i++) {
    const bool is_blank = cq_is_blank(text[i]);
    if (is_blank && (out->n == 0 || cq_is_blank(out->data[out->n - 1]))) continue;
    cq_builder_char(out, is_blank ? ' ' : text[i]);
  }
}

void cq_end_prose(cq_builder *out) {
  while (out->n && out->data[out->n - 1] == ' ') out->n--;
  if (out->n && out->data[out->n - 1] != '\n') cq_builder_char(out, '\n');
}

void cq_finish_prose(cq_document_file *file, cq_slice heading) {
  cq_builder *text = &file->room->role[CQ_ROLE_TEXT], *title = &file->room->role[CQ_ROLE_TITLE];
  heading = cq_slice_trimmed(heading);
  while (text->n && cq_is_blank(text->data[text->n - 1])) text->n--;
  while (title->n && cq_is_blank(title->data[title->n - 1])) title->n--;
  if (title->n == 0) cq_builder_slice(title, heading);
}

bool cq_name_is(const char *names, const char *name) {
  const size_t n = strlen(name);
  for (const char *at = names; n && (at = strstr(at, name)); at++)
    if (at > names && at[-1] == ' ' && at[n] == ' ') return true;
  return false;
}
