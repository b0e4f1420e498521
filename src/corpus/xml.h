/* XML files, plain or gzipped, read piece by piece: the parser pushes events, and the handler may pause it, so that the
 * caller can pull.
 *
 *   cq_xml_open(&xml, paths, n_paths, (cq_xml_handler){open_tag, close_tag, text, context}, &err);
 *   while (!(status = cq_xml_read(&more, xml, &err)) && more) ...        // returns when cq_xml_pause was called
 *   cq_xml_close(xml); */
#ifndef CORPUS_XML_H
#define CORPUS_XML_H

#include "calque/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct cq_xml cq_xml;

/* Callbacks for reading. attributes: name, value, name, value, NULL. */
typedef struct cq_xml_handler {
  void (*open_tag)(void *context, const char *name, const char **attributes);
  void (*close_tag)(void *context, const char *name);
  void (*text)(void *context, const char *bytes, int n);
  void *context;
  const char *missing; /* a file without a pause is an error with this message; NULL: it is not */
  const char *unit;    /* the element that is a record, for cq_xml_skip; NULL: none */
} cq_xml_handler;

/* One file after the other; the paths must remain. */
CQ_MUST_USE cq_status cq_xml_open(cq_xml **out, const char *const *paths, size_t n_paths, cq_xml_handler handler,
                                  cq_error *error);
/* Reads to the next pause or the end of the last file (then *more is false). Text is decoded by its byte order mark, or
 * as it declares. Errors: CQ_ERR_FORMAT (line), also for an unknown encoding; CQ_ERR_IO. */
CQ_MUST_USE cq_status cq_xml_read(bool *more, cq_xml *xml, cq_error *error);
/* For the handler, before the first unit: the element that is a record; the name must remain. */
void cq_xml_set_unit(cq_xml *xml, const char *unit);
/* After CQ_ERR_FORMAT: the next cq_xml_read begins at the next unit. false: nothing can be read after this error. */
bool cq_xml_skip(cq_xml *xml);
/* For the handler: cq_xml_read returns after this tag, possibly including the text after it. */
void cq_xml_pause(cq_xml *xml);
/* For the handler: cq_xml_read returns this error; a NULL format means out of memory. */
void cq_xml_refuse(cq_xml *xml, const char *format, ...) CQ_PRINTF(2, 3);
void cq_xml_close(cq_xml *xml);

/* The value of an attribute; NULL: missing. */
const char *cq_xml_attribute(const char **attributes, const char *name);

#endif
