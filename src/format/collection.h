/* Test collections: the documents and the topics of files and directories, plain or compressed, in three formats, which
 * are recognized by a file's first bytes.
 *
 *   '<'   TREC        <DOC> <DOCNO> a-1 </DOCNO> ... </DOC>; the id may be in <DOCID> instead. All text outside it
 *                     counts, or the text in the chosen fields. Topics: <top> or <topic>, see below.
 *   '{'   JSON lines  one object per document: "id", "_id" or "docid"; text in "title", "text" and "contents", or in
 *                     the chosen fields
 *   else  TSV         one line per document: id, tab, text
 *
 *   cq_collection_open(&c, paths, n, &error);
 *   while (!(status = cq_collection_next(&raw, c, &error)) && raw.bytes.data)
 *     status = cq_document_read(&document, &raw, fields, n_fields, &room, &error);
 *
 * Directories are walked in bytewise order of names, without names that begin with a dot. Reading has two steps, so
 * that many threads can do the second. */
#ifndef FORMAT_COLLECTION_H
#define FORMAT_COLLECTION_H

#include "base/slice.h"
#include "calque/lines.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum cq_collection_format { CQ_FORMAT_TREC, CQ_FORMAT_JSON, CQ_FORMAT_TSV } cq_collection_format;

/* One document in its file's form, and its position. */
typedef struct cq_raw_document {
  cq_slice bytes;   /* borrowed until the next one; data NULL: there are no more */
  const char *path; /* borrowed from the collection */
  uint64_t line;
  cq_collection_format format;
} cq_raw_document;

typedef struct cq_collection cq_collection;

/* Errors: CQ_ERR_IO for a missing path. */
CQ_MUST_USE cq_status cq_collection_open(cq_collection **out, const char *const *paths, size_t n_paths,
                                         cq_error *error);
/* TREC documents from open lines. Takes ownership of the lines, even if this fails. Errors: CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_collection_of_lines(cq_collection **out, cq_lines *lines, cq_error *error);
void cq_collection_close(cq_collection *collection);

/* Errors: CQ_ERR_FORMAT with the line for a document that is not closed, begins inside another, or has text before
 * it; invalid UTF-8; CQ_ERR_IO, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_collection_next(cq_raw_document *out, cq_collection *collection, cq_error *error);

typedef struct cq_collection_document {
  cq_slice id, text;
} cq_collection_document;

/* The id and the text are in *room, which is cleared first, or in raw's bytes. Errors: CQ_ERR_FORMAT with the line for
 * a document without an id, with two, with one that has blanks in it, or that is not JSON; CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_document_read(cq_collection_document *out, const cq_raw_document *raw,
                                       const char *const *fields, size_t n_fields, cq_builder *room, cq_error *error);

/* --- topics --- */

typedef struct cq_topic {
  cq_slice id, title, description, narrative; /* empty if there is none */
} cq_topic;

typedef struct cq_topics {
  cq_topic *items; /* in the order of the file */
  size_t n;
  struct cq_arena *text;
} cq_topics;

/* Topics in TREC's format, closed (FIRE, CLEF) or not (TREC): <num>, <title>, <desc> and <narr>; CLEF puts a language
 * before the name (<DE-title>) and later uses <identifier>, <description>, <narrative>. Labels such as "Number:" are
 * removed. Other formats: TSV of id and title, and JSON lines with "id", "title" (or "text", "query"), "description",
 * "narrative". Errors: CQ_ERR_FORMAT with the line for a topic without an id or with a repeated id, or a file without
 * topics; the errors above. */
CQ_MUST_USE cq_status cq_topics_read(cq_topics *out, const char *path, cq_error *error);
void cq_topics_free(cq_topics *topics);

#endif
