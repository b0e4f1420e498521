/* XML by libxml2's push parser. It cannot pause, so it gets the file in pieces with at most one complete tag. Entities
 * from other files are refused. See xml.h. */
#include "corpus/xml.h"

#include "base/error.h"
#include "base/input.h"
#include "base/memory.h"

#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = CQ_BUFFER_BYTES(64 * 1024), MAX_ENTITIES = 8 << 20 };

struct cq_xml {
  const char *const *paths;
  size_t n_paths, next;
  const char *path;
  cq_input *file;
  xmlParserCtxtPtr parser;
  cq_xml_handler handler;
  bool paused, over, had_pause;   /* the last two of the file */
  cq_error refusal;               /* what the handler has against the file */
  uint64_t n_read, n_of_entities; /* bytes */
  size_t n, at;                   /* bytes of the chunk, and how many of them the parser has received */
  char chunk[CHUNK];
};

static void start_element(void *parser, const xmlChar *name, const xmlChar **attributes) {
  static const char *none[] = {NULL};
  cq_xml *x = ((xmlParserCtxtPtr)parser)->_private;
  if (x->paused) cq_xml_refuse(x, "several records in one entity, or an unsupported encoding");
  if (x->handler.open_tag && !x->refusal.status)
    x->handler.open_tag(x->handler.context, (const char *)name, attributes ? (const char **)attributes : none);
}

static void end_element(void *parser, const xmlChar *name) {
  const cq_xml *x = ((xmlParserCtxtPtr)parser)->_private;
  if (x->handler.close_tag && !x->refusal.status) x->handler.close_tag(x->handler.context, (const char *)name);
}

static void characters(void *parser, const xmlChar *bytes, int n) {
  const cq_xml *x = ((xmlParserCtxtPtr)parser)->_private;
  if (x->handler.text && !x->refusal.status) x->handler.text(x->handler.context, (const char *)bytes, n);
}

/* Otherwise, text would be lost: a DTD that is not read may define the entity. */
static xmlEntityPtr get_entity(void *parser, const xmlChar *name) {
  const xmlEntityPtr entity = xmlSAX2GetEntity(parser, name);
  cq_xml *x = ((xmlParserCtxtPtr)parser)->_private;
  x->n_of_entities += entity ? (uint64_t)entity->length : 0;
  if (!entity)
    cq_xml_refuse(x, "entity '&%.80s;' is not defined", (const char *)name);
  else if (entity->etype == XML_EXTERNAL_GENERAL_PARSED_ENTITY)
    cq_xml_refuse(x, "an entity of another file, '%.80s'", entity->SystemID ? (const char *)entity->SystemID : "");
  else if (x->n_of_entities > MAX_ENTITIES + 100 * x->n_read)
    cq_xml_refuse(x, "too much text from entities");
  return x->refusal.status ? NULL : entity;
}

static void close_file(cq_xml *x) {
  cq_input_close(x->file);
  if (x->parser) xmlFreeDoc(x->parser->myDoc);
  xmlFreeParserCtxt(x->parser);
  x->file = NULL, x->parser = NULL;
}

static cq_status open_file(cq_xml *x, cq_error *error) {
  xmlSAXHandler events = {.startDocument = xmlSAX2StartDocument,
                          .internalSubset = xmlSAX2InternalSubset,
                          .entityDecl = xmlSAX2EntityDecl,
                          .getEntity = get_entity,
                          .startElement = start_element,
                          .endElement = end_element,
                          .characters = characters,
                          .ignorableWhitespace = characters};
  close_file(x);
  x->path = x->paths[x->next++], x->over = x->had_pause = false;
  x->parser = xmlCreatePushParserCtxt(&events, NULL, NULL, 0, NULL);
  if (!x->parser) return cq_fail_memory(error, x->path);
  x->parser->_private = x;
  xmlCtxtUseOptions(x->parser, XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_NONET);
  return cq_input_open(&x->file, x->path, error);
}

cq_status cq_xml_open(cq_xml **out, const char *const *paths, size_t n_paths, cq_xml_handler handler, cq_error *error) {
  *out = NULL;
  cq_xml *x = cq_alloc_zeroed(sizeof *x);
  if (!x) return cq_fail_memory(error, paths[0]);
  x->paths = paths, x->n_paths = n_paths, x->handler = handler;
  const cq_status status = open_file(x, error);
  if (status)
    cq_xml_close(x);
  else
    *out = x;
  return status;
}

/* Checks this thread's error: an entity has its own parser, which loses text when out of memory. */
static bool is_out_of_memory(void) {
  const xmlError *problem = xmlGetLastError();
  return problem && problem->code == XML_ERR_NO_MEMORY;
}

static cq_status fail_xml(const cq_xml *x, cq_error *error) {
  const xmlError *problem = xmlCtxtGetLastError(x->parser);
  const int line = xmlSAX2GetLineNumber(x->parser);
  if (x->refusal.status == CQ_ERR_MEMORY || is_out_of_memory() ||
      (!x->refusal.status && !(problem && problem->message)))
    return cq_fail_memory(error, x->path);
  const char *message = x->refusal.status ? x->refusal.message : problem->message;
  if (!x->refusal.status && x->over && problem->code == XML_ERR_DOCUMENT_END) message = "it ends too early";
  return cq_fail_line(error, CQ_ERR_FORMAT, x->path, (uint64_t)line, "%.*s", (int)strcspn(message, "\n"), message);
}

/* Bytes to the first '>', or to the '<' after it in a comment, say: the parser looks back for one. */
static size_t piece(const char *begin, size_t n) {
  const char *end = memchr(begin, '>', n);
  if (!end) return n;
  if (memchr(begin, '<', (size_t)(end - begin))) return (size_t)(end + 1 - begin);
  end = memchr(end, '<', n - (size_t)(end - begin));
  return end ? (size_t)(end - begin) : n;
}

cq_status cq_xml_read(bool *more, cq_xml *x, cq_error *error) {
  x->paused = false;
  xmlResetLastError();
  while (!x->paused) {
    if (x->over && !x->had_pause && x->handler.missing)
      return cq_fail_file(error, CQ_ERR_FORMAT, x->path, "%s", x->handler.missing);
    if (x->over && x->next == x->n_paths) break;
    cq_status status = x->over ? open_file(x, error) : CQ_OK;
    if (status) return status;
    if (x->at == x->n) {
      status = cq_input_read(&x->n, x->file, x->chunk, CHUNK, error);
      if (status) return status;
      x->n_read += x->n, x->at = 0, x->over = x->n == 0;
    }
    const char *begin = x->chunk + x->at;
    const size_t n = piece(begin, x->n - x->at);
    x->at += n;
    xmlParseChunk(x->parser, begin, (int)n, x->over);
    if (x->refusal.status || x->parser->disableSAX || is_out_of_memory()) return fail_xml(x, error);
  }
  *more = x->paused;
  return CQ_OK;
}

void cq_xml_pause(cq_xml *x) {
  x->paused = x->had_pause = true;
}

void cq_xml_refuse(cq_xml *x, const char *format, ...) {
  if (x->refusal.status) return;
  x->refusal.status = format ? CQ_ERR_FORMAT : CQ_ERR_MEMORY;
  if (format) {
    va_list values;
    va_start(values, format);
    vsnprintf(x->refusal.message, sizeof x->refusal.message, format, values);
    va_end(values);
  }
}

void cq_xml_close(cq_xml *x) {
  if (x) close_file(x);
  cq_free(x);
}

const char *cq_xml_attribute(const char **attributes, const char *name) {
  for (size_t i = 0; attributes[i]; i += 2)
    if (!strcmp(attributes[i], name)) return attributes[i + 1];
  return NULL;
}
