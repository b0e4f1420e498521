/* The files in a zip archive, and XML among them. What is unpacked is bounded, for an archive of a few bytes may hold
 * gigabytes. */
#ifndef FORMATS_ARCHIVE_H
#define FORMATS_ARCHIVE_H

#include "base/arena.h"
#include "document/reader.h"
#include "format/zip.h"

typedef struct cq_archive {
  cq_arena arena;
  cq_zip_entry *entries;
  size_t n_entries, n_unpacked; /* bytes, of all files read so far */
  const char *path;
  cq_builder room;
} cq_archive;

/* Errors: CQ_ERR_FORMAT, also for an encrypted entry, and for what is no archive; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_archive_open(cq_archive *out, const cq_document_file *file, cq_error *error);
void cq_archive_close(cq_archive *archive);
/* Unpacks a file, valid until the next one; out->data is NULL if there is none of this name.
 * Errors: CQ_ERR_FORMAT for a damaged one; CQ_ERR_LIMIT for more than CQ_WHOLE_FILE bytes in all; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_archive_read(cq_slice *out, cq_archive *archive, const char *name, cq_error *error);
/* The same for a file that must be there. */
CQ_MUST_USE cq_status cq_archive_need(cq_slice *out, cq_archive *archive, const char *name, cq_error *error);

/* Events of a parser. Names are without their prefixes; attributes, with theirs: name, value, name, value, NULL. */
typedef struct cq_xml_events {
  void (*open)(void *context, const char *name, const char **attributes);
  void (*close)(void *context, const char *name);
  void (*text)(void *context, const char *bytes, size_t n);
} cq_xml_events;

/* Parses XML. what: its name in errors. Entities of its own are refused. Errors: CQ_ERR_FORMAT, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_xml_events_read(cq_slice bytes, const cq_xml_events *events, void *context, const char *path,
                                         const char *what, cq_error *error);
/* The value of an attribute, by its name without a prefix; NULL: missing. */
const char *cq_xml_events_value(const char **attributes, const char *name);

/* Takes title, author and language from XML with elements of Dublin Core; the first of each counts. */
CQ_MUST_USE cq_status cq_take_properties(cq_document_file *file, cq_slice xml, const char *what, cq_error *error);

/* Puts the author, if there is one, into the metadata, which were empty. */
CQ_MUST_USE cq_status cq_put_author(cq_document_file *file, const cq_builder *author, cq_error *error);

/* Appends text to a line: white space becomes a blank, and is dropped at the beginning. */
void cq_put_prose(cq_builder *out, const char *text, size_t n);
/* Ends the line, if it is not empty. */
void cq_end_prose(cq_builder *out);
/* Trims the text and the title; without a title, the heading is it. */
void cq_finish_prose(cq_document_file *file, cq_slice heading);
/* Whether a name is among several, each between blanks. */
bool cq_name_is(const char *names, const char *name);

#endif
