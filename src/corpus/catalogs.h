/* Message catalogs: files of one language each, whose messages have keys. Messages of the same key and document, in
 * the files of all requested languages, are a row. All of them are held in memory.
 *
 *   locale/ko/LC_MESSAGES/gimp.mo    language ko, document "locale/" "/LC_MESSAGES/gimp.mo"
 *   i18n/ko.json                     language ko, document "i18n/" ".json"
 *
 * A format's reader begins with a cq_catalogs, which begins with a cq_format_reader. */
#ifndef CORPUS_CATALOGS_H
#define CORPUS_CATALOGS_H

#include "base/arena.h"
#include "base/map.h"
#include "corpus/format.h"

typedef struct cq_catalogs cq_catalogs;

/* Reads a file's messages; the file is in memory, decompressed. */
typedef cq_status (*cq_catalog_read)(cq_catalogs *catalogs, cq_slice bytes, const char *path, cq_error *error);

struct cq_catalogs {
  cq_format_reader base;
  size_t n_columns, column; /* column: the one of the file that is read */
  size_t source;            /* the column of the texts that files translate; SIZE_MAX: none */
  cq_map rows;              /* document and key -> row */
  cq_slice *texts;          /* [n_rows][n_columns]; data NULL: missing */
  size_t n_rows, capacity, next;
  cq_builder key; /* the document, then a message's key */
  size_t n_document;
  cq_arena arena;
};

/* Reads all inputs. A format with a source has the text to be translated beside the translation ("en" among the
 * columns); others have one text per message. */
CQ_MUST_USE cq_status cq_catalogs_open(cq_catalogs *catalogs, cq_catalog_read read, bool has_source, cq_error *error);
/* For the reading function: a message; source is ignored for formats without. Text that is not UTF-8, or has a NUL, is
 * an error, or with skip_bad counted. Errors: CQ_ERR_FORMAT, CQ_ERR_MEMORY. */
CQ_MUST_USE cq_status cq_catalogs_put(cq_catalogs *catalogs, cq_slice key, cq_slice source, cq_slice text,
                                      const char *path, cq_error *error);
/* For the reading function: counts a message that is left out. */
CQ_MUST_USE cq_status cq_catalogs_drop(cq_catalogs *catalogs, const char *reason, cq_error *error);

/* As in a cq_format. */
CQ_MUST_USE cq_status cq_catalogs_next(cq_row *out, cq_format_reader *reader, cq_error *error);
void cq_catalogs_close(cq_format_reader *reader);

#endif
