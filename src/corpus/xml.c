/* XML by expat: it pushes, and is paused so that callers can pull. Entities of other files are refused. See xml.h. */
#include "corpus/xml.h"

#include "base/error.h"
#include "base/input.h"
#include "base/memory.h"

#include <expat.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = CQ_BUFFER_BYTES(64 * 1024) };

struct cq_xml {
  char *path;
  cq_input *file;
  XML_Parser parser;
  cq_xml_handler handler;
  bool suspended, over;
  cq_error refusal; /* what the handler has against the file */
};

static void start_element(void *xml, const char *name, const char **attributes) {
  const cq_xml *x = xml;
  if (x->handler.open_tag && !x->refusal.status) x->handler.open_tag(x->handler.context, name, attributes);
}

static void end_element(void *xml, const char *name) {
  const cq_xml *x = xml;
  if (x->handler.close_tag && !x->refusal.status) x->handler.close_tag(x->handler.context, name);
}

static void character_data(void *xml, const char *bytes, int n) {
  const cq_xml *x = xml;
  if (x->handler.text && !x->refusal.status) x->handler.text(x->handler.context, bytes, n);
}

/* A DTD that is not read may define it: text would be lost. */
static void skipped_entity(void *xml, const char *name, int is_parameter) {
  if (!is_parameter) cq_xml_refuse(xml, "entity '&%.80s;' is not defined", name);
}

static int external_entity(XML_Parser parser, const char *context, const char *base, const char *system,
                           const char *public) {
  (void)context, (void)base, (void)public;
  cq_xml_refuse(XML_GetUserData(parser), "an entity of another file, '%.80s'", system ? system : "");
  return XML_STATUS_ERROR;
}

cq_status cq_xml_open(cq_xml **out, const char *path, cq_xml_handler handler, cq_error *error) {
  static const XML_Memory_Handling_Suite memory = {cq_alloc_small, cq_realloc_small, cq_free};
  *out = NULL;
  cq_xml *x = cq_alloc_zeroed(sizeof *x);
  if (!x) return cq_fail_memory(error, path);
  cq_status status = CQ_OK;
  x->handler = handler;
  x->path = cq_strdup(path);
  x->parser = x->path ? XML_ParserCreate_MM(NULL, &memory, NULL) : NULL;
  if (x->parser)
    status = cq_input_open(&x->file, path, error);
  else
    status = cq_fail_memory(error, path);
  if (status) {
    cq_xml_close(x);
    return status;
  }
  XML_SetUserData(x->parser, x);
  XML_SetElementHandler(x->parser, start_element, end_element);
  XML_SetCharacterDataHandler(x->parser, character_data);
  XML_SetSkippedEntityHandler(x->parser, skipped_entity);
  XML_SetExternalEntityRefHandler(x->parser, external_entity);
  *out = x;
  return CQ_OK;
}

static cq_status fail_xml(const cq_xml *x, cq_error *error) {
  const enum XML_Error code = XML_GetErrorCode(x->parser);
  if (x->refusal.status == CQ_ERR_MEMORY || code == XML_ERROR_NO_MEMORY) return cq_fail_memory(error, x->path);
  return cq_fail_line(error, CQ_ERR_FORMAT, x->path, XML_GetCurrentLineNumber(x->parser), "%s",
                      x->refusal.status ? x->refusal.message : XML_ErrorString(code));
}

/* The next bytes of the file into expat's own buffer. */
static cq_status feed_expat(enum XML_Status *parsed, cq_xml *x, cq_error *error) {
  void *buffer = XML_GetBuffer(x->parser, CHUNK);
  if (!buffer) return cq_fail_memory(error, x->path);
  size_t n;
  const cq_status status = cq_input_read(&n, x->file, buffer, CHUNK, error);
  if (status) return status;
  *parsed = XML_ParseBuffer(x->parser, (int)n, n == 0);
  return CQ_OK;
}

cq_status cq_xml_read(bool *more, cq_xml *x, cq_error *error) {
  *more = false;
  while (!x->over) {
    enum XML_Status parsed = XML_STATUS_OK;
    cq_status status = CQ_OK;
    if (x->suspended)
      parsed = XML_ResumeParser(x->parser);
    else
      status = feed_expat(&parsed, x, error);
    x->suspended = false;
    if (status) return status;
    if (parsed == XML_STATUS_ERROR) return fail_xml(x, error);
    XML_ParsingStatus now;
    XML_GetParsingStatus(x->parser, &now);
    x->over = now.parsing == XML_FINISHED;
    if (parsed == XML_STATUS_SUSPENDED) {
      x->suspended = true;
      *more = true;
      return CQ_OK;
    }
  }
  return CQ_OK;
}

void cq_xml_pause(cq_xml *x) {
  XML_StopParser(x->parser, XML_TRUE);
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
  XML_StopParser(x->parser, XML_FALSE);
}

void cq_xml_close(cq_xml *x) {
  if (!x) return;
  cq_input_close(x->file);
  if (x->parser) XML_ParserFree(x->parser);
  cq_free(x->path);
  cq_free(x);
}

const char *cq_xml_attribute(const char **attributes, const char *name) {
  for (size_t i = 0; attributes[i]; i += 2)
    if (!strcmp(attributes[i], name)) return attributes[i + 1];
  return NULL;
}
