/* XML by libxml2's push parser. It cannot pause, so it gets the file in pieces with at most one complete tag. Entities
 * from other files are refused. After an error, a new parser gets what precedes the first unit, then the file from the
 * next unit on. See xml.h. */
#include "corpus/xml.h"

#include "base/error.h"
#include "base/memory.h"
#include "text/encoding.h"

#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { CHUNK = CQ_BUFFER_BYTES(1 << 20), MAX_ENTITIES = 8 << 20, MAX_BEGIN = 64 * 1024 };

struct cq_xml {
  const char *const *paths;
  size_t n_paths, next;
  const char *path;
  cq_byte_source file;
  xmlParserCtxtPtr parser;
  cq_builder begin;           /* what precedes the first unit */
  bool has_unit, is_skipping; /* of the file; the next unit is to be looked for */
  uint64_t n_units;           /* that the parser has seen */
  bool has_hidden;            /* after them, another has been in a comment, say, which may have no end */
  bool is_broken;             /* nothing can be read after the error */
  uint64_t line, first_line;  /* of the next piece; of the parser's first */
  cq_xml_handler handler;
  bool paused, over, had_pause;   /* the last two of the file */
  cq_error refusal;               /* what the handler has against the file */
  uint64_t n_read, n_of_entities; /* bytes */
  uint64_t n_given;               /* to this parser */
  size_t n, at;                   /* bytes of the chunk, and how many of them the parser has received */
  size_t resume_at;               /* where the next unit is looked for after an error */
  char chunk[CHUNK];
};

/* The bytes that the parser has received and not read: after a stray quotation mark it waits for another. */
static size_t count_ahead(const cq_xml *x) {
  const long n = xmlByteConsumed(x->parser);
  return n >= 0 && (uint64_t)n < x->n_given ? (size_t)(x->n_given - (uint64_t)n) : 0;
}

static void start_element(void *parser, const xmlChar *name, const xmlChar **attributes) {
  static const char *none[] = {NULL};
  cq_xml *x = ((xmlParserCtxtPtr)parser)->_private;
  const bool is_unit = x->handler.unit && !strcmp((const char *)name, x->handler.unit);
  x->has_unit |= is_unit;
  if (is_unit) x->n_units++, x->has_hidden = false;
  if (x->paused) cq_xml_refuse(x, "several records in one entity, or an unsupported encoding");
  if (x->handler.open_tag && !x->refusal.status)
    x->handler.open_tag(x->handler.context, (const char *)name, attributes ? (const char **)attributes : none);
  if (is_unit && !x->refusal.status && x->at > x->resume_at)
    x->resume_at = x->at - cq_min(count_ahead(x), x->at - x->resume_at);
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

static void close_parser(cq_xml *x) {
  if (x->parser) xmlFreeDoc(x->parser->myDoc);
  xmlFreeParserCtxt(x->parser);
  x->parser = NULL;
}

static void close_file(cq_xml *x) {
  if (x->file.close) x->file.close(x->file.context);
  x->file.close = NULL;
  close_parser(x);
}

static cq_status open_parser(cq_xml *x, cq_error *error) {
  xmlSAXHandler events = {.startDocument = xmlSAX2StartDocument,
                          .internalSubset = xmlSAX2InternalSubset,
                          .entityDecl = xmlSAX2EntityDecl,
                          .getEntity = get_entity,
                          .startElement = start_element,
                          .endElement = end_element,
                          .characters = characters,
                          .ignorableWhitespace = characters};
  close_parser(x);
  x->first_line = x->line, x->n_given = 0;
  x->parser = xmlCreatePushParserCtxt(&events, NULL, NULL, 0, NULL);
  if (!x->parser) return cq_fail_memory(error, x->path);
  x->parser->_private = x;
  xmlCtxtUseOptions(x->parser, XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_NONET | XML_PARSE_IGNORE_ENC);
  xmlSwitchEncoding(x->parser, XML_CHAR_ENCODING_UTF8); /* or it would guess one, as EBCDIC */
  return CQ_OK;
}

/* The encoding that the XML declaration names; "": none, or UTF-8. */
static void find_declared(char name[CQ_ENCODING_NAME], cq_slice bytes) {
  while (bytes.n && (unsigned char)*bytes.data >= 0x80) bytes.data++, bytes.n--; /* a mark */
  const char *end = bytes.n > 5 && !memcmp(bytes.data, "<?xml", 5) ? memchr(bytes.data, '>', bytes.n) : NULL;
  name[0] = 0;
  if (!end || !cq_encoding_declared(name, (cq_slice){bytes.data, (size_t)(end - bytes.data)})) return;
  if (!strcasecmp(name, "utf-8") || !strcasecmp(name, "utf8")) name[0] = 0;
}

static cq_status open_file(cq_xml *x, cq_error *error) {
  char encoding[CQ_ENCODING_NAME];
  cq_input *input;
  cq_slice bytes;
  close_file(x);
  x->path = x->paths[x->next++], x->line = 1;
  x->over = x->had_pause = x->has_unit = x->is_skipping = x->has_hidden = false, x->is_broken = true;
  x->n = x->at = x->resume_at = 0;
  cq_builder_clear(&x->begin);
  cq_status status = open_parser(x, error);
  if (!status) status = cq_input_open(&input, x->path, error);
  if (status) return status;
  status = cq_input_peek(&bytes, input, error);
  if (!status) find_declared(encoding, bytes);
  if (!status && *encoding && !cq_encoding_marked(bytes) && !cq_encoding_is_known(encoding))
    status = cq_fail_line(error, CQ_ERR_FORMAT, x->path, 1, "the encoding '%s' is not known", encoding);
  if (status) {
    cq_input_close(input);
    return status;
  }
  status = cq_text_source(&x->file, input, *encoding ? encoding : NULL, error);
  x->is_broken = status != CQ_OK;
  return status;
}

cq_status cq_xml_open(cq_xml **out, const char *const *paths, size_t n_paths, cq_xml_handler handler, cq_error *error) {
  *out = NULL;
  cq_xml *x = cq_alloc_zeroed(sizeof *x);
  if (!x) return cq_fail_memory(error, paths[0]);
  x->paths = paths, x->n_paths = n_paths, x->handler = handler;
  const cq_status status = open_file(x, error);
  if (status) cq_xml_close(x);
  *out = status ? NULL : x;
  return status;
}

/* Checks this thread's error: an entity has its own parser, which loses text when out of memory. */
static bool is_out_of_memory(void) {
  const xmlError *problem = xmlGetLastError();
  return problem && problem->code == XML_ERR_NO_MEMORY;
}

static cq_status fail_xml(const cq_xml *x, cq_error *error) {
  const xmlError *problem = xmlCtxtGetLastError(x->parser);
  const uint64_t line = x->first_line + (uint64_t)xmlSAX2GetLineNumber(x->parser) - 1;
  if (x->refusal.status == CQ_ERR_MEMORY || is_out_of_memory() ||
      (!x->refusal.status && !(problem && problem->message)))
    return cq_fail_memory(error, x->path);
  const char *message = x->refusal.status ? x->refusal.message : problem->message;
  if (!x->refusal.status && x->over && problem->code == XML_ERR_DOCUMENT_END) message = "it ends too early";
  return cq_fail_line(error, CQ_ERR_FORMAT, x->path, line, "%.*s", (int)strcspn(message, "\n"), message);
}

/* Bytes to the first '>', or to the '<' after it in a comment, say: the parser looks back for one. */
static size_t piece(const char *begin, size_t n) {
  const char *end = memchr(begin, '>', n);
  if (!end) return n;
  if (memchr(begin, '<', (size_t)(end - begin))) return (size_t)(end + 1 - begin);
  end = memchr(end, '<', n - (size_t)(end - begin));
  return end ? (size_t)(end - begin) : n;
}

static uint64_t count_lines(const char *bytes, size_t n) {
  uint64_t lines = 0;
  for (size_t i = 0; i < n; i++) lines += bytes[i] == '\n';
  return lines;
}

/* Reads on; what is left of the chunk moves to its beginning, together with a unit that is not too long. */
static cq_status read_chunk(cq_xml *x, cq_error *error) {
  const size_t from = x->n - x->resume_at <= CHUNK / 2 ? x->resume_at : x->at;
  size_t got = 0;
  memmove(x->chunk, x->chunk + from, x->n - from);
  x->n -= from, x->at -= from, x->resume_at = 0;
  const cq_status status = x->file.read(&got, x->file.context, x->chunk + x->n, CHUNK - x->n, error);
  x->is_broken = status != CQ_OK;
  x->n_read += got, x->n += got, x->over = got == 0;
  return status;
}

/* Parses the next piece. After an '&', libxml2 would wait for a ';' up to the end of the file. */
static cq_status parse_piece(cq_xml *x, const char *bytes, size_t n, bool is_last, cq_error *error) {
  if (x->n_given == 0 && n >= 3 && !memcmp(bytes, "\xEF\xBB\xBF", 3)) bytes += 3, n -= 3;
  x->n_given += n;
  xmlParseChunk(x->parser, bytes, (int)n, is_last);
  const xmlParserInputPtr in = x->parser->input;
  if (in && in->cur < in->end && *in->cur == '&' && memchr(in->cur, '<', (size_t)(in->end - in->cur)))
    cq_xml_refuse(x, "'&' begins no entity: it is written '&amp;'");
  return x->refusal.status || x->parser->disableSAX || is_out_of_memory() ? fail_xml(x, error) : CQ_OK;
}

/* The begin of a file grows until the parser has seen a unit, whose tag is then cut off. */
static void keep_begin(cq_xml *x, const char *bytes, size_t n) {
  const size_t n_unit = strlen(x->handler.unit);
  if (x->begin.n > MAX_BEGIN) return;
  cq_builder_bytes(&x->begin, bytes, n);
  size_t at = x->has_unit ? x->begin.n : 0;
  while (at > 0 && (x->begin.data[at - 1] != '<' || x->begin.n - at < n_unit ||
                    memcmp(x->begin.data + at, x->handler.unit, n_unit) != 0))
    at--;
  if (x->has_unit) x->begin.n = at ? at - 1 : 0;
}

/* Whether a unit's tag begins here. */
static bool is_unit(const cq_xml *x, const char *at) {
  const size_t n = strlen(x->handler.unit);
  return *at == '<' && !memcmp(at + 1, x->handler.unit, n) && at[1 + n] && strchr(" \t\r\n>/", at[1 + n]);
}

static bool begins_unit(const cq_xml *x, const char *begin, size_t n) {
  const char *at = x->handler.unit ? memchr(begin, '<', n) : NULL;
  return at && (size_t)(begin + n - at) >= strlen(x->handler.unit) + 2 && is_unit(x, at);
}

/* Continues with a new parser at the next unit, if there is one. */
static cq_status find_unit(cq_xml *x, cq_error *error) {
  const size_t n_tag = strlen(x->handler.unit) + 2;
  bool is_found = false;
  while (!is_found && !(x->over && x->n - x->at < n_tag)) {
    if (x->n - x->at < n_tag) {
      const cq_status status = read_chunk(x, error);
      if (status) return status;
      continue;
    }
    is_found = is_unit(x, x->chunk + x->at);
    if (!is_found) x->line += x->chunk[x->at++] == '\n';
  }
  x->is_skipping = false, x->over &= !is_found; /* reading the end again is harmless */
  if (!is_found) x->at = x->n;
  x->resume_at = x->at + is_found;
  cq_status status = is_found ? open_parser(x, error) : CQ_OK;
  if (status || !is_found) return status;
  if (!x->has_unit || x->begin.n == 0 || x->begin.n > MAX_BEGIN)
    cq_builder_clear(&x->begin), cq_builder_text(&x->begin, "<r>");
  if (x->begin.failed) return cq_fail_memory(error, x->path);
  x->has_unit = true, x->first_line -= count_lines(x->begin.data, x->begin.n);
  status = parse_piece(x, x->begin.data, x->begin.n, false, error);
  if (status) cq_builder_clear(&x->begin); /* the next attempt does without it */
  return status;
}

cq_status cq_xml_read(bool *more, cq_xml *x, cq_error *error) {
  x->paused = false;
  xmlResetLastError();
  while (!x->paused) {
    if (x->over && !x->had_pause && x->handler.missing) {
      x->is_broken = true;
      return cq_fail_file(error, CQ_ERR_FORMAT, x->path, "%s", x->handler.missing);
    }
    if (x->over && x->next == x->n_paths) break;
    cq_status status = x->over ? open_file(x, error) : CQ_OK;
    if (!status && x->is_skipping) {
      status = find_unit(x, error);
      if (!status && x->over) continue;
    }
    if (!status && x->at == x->n) status = read_chunk(x, error);
    if (status) return status;
    const char *begin = x->chunk + x->at;
    const size_t n = piece(begin, x->n - x->at);
    x->at += n;
    x->line += count_lines(begin, n);
    const bool had_unit = x->has_unit;
    const uint64_t n_units = x->n_units;
    status = parse_piece(x, begin, n, x->over, error);
    x->has_hidden |= n_units == x->n_units && begins_unit(x, begin, n);
    if (!status && x->has_hidden && x->at - x->resume_at > CHUNK / 2) { /* while reading can resume there */
      cq_xml_refuse(x, "a comment, a CDATA section or an instruction does not end");
      status = fail_xml(x, error);
    }
    if (x->handler.unit && !had_unit) keep_begin(x, begin, n);
    if (!status && x->begin.failed) status = cq_fail_memory(error, x->path);
    if (status) return status;
  }
  *more = x->paused;
  return CQ_OK;
}

void cq_xml_pause(cq_xml *x) {
  x->paused = x->had_pause = true;
}

void cq_xml_set_unit(cq_xml *x, const char *unit) {
  x->handler.unit = unit;
}

bool cq_xml_skip(cq_xml *x) {
  if (x->is_broken || !x->handler.unit) return false;
  x->refusal = (cq_error){0};
  x->is_skipping = x->had_pause = true, x->over = x->has_hidden = false;
  x->line -= count_lines(x->chunk + x->resume_at, x->at - x->resume_at);
  x->at = x->resume_at; /* the parser may be some tags ahead of the error */
  return true;
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
  if (x) close_file(x), cq_builder_free(&x->begin);
  cq_free(x);
}

const char *cq_xml_attribute(const char **attributes, const char *name) {
  for (size_t i = 0; attributes[i]; i += 2)
    if (!strcmp(attributes[i], name)) return attributes[i + 1];
  return NULL;
}
