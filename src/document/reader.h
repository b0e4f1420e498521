/* Shared by the readers of the formats: the open file, the names of its fields, memory for one document. */
#ifndef DOCUMENT_READER_H
#define DOCUMENT_READER_H

#include "base/byte_source.h"
#include "base/slice.h"
#include "calque/document.h"

#include <jansson.h>

/* Whether something that could not be read completely may hold a document with this id: a file (skip_bad), a directory,
 * a link to something that is not there, or what has taken a file's place. A notice names it, once. Without file_ids, an
 * id does not name its file: then any such file may. */
bool cq_documents_may_hold(cq_documents *documents, cq_slice id);
/* Begins again with the first file, without notices. False: standard input is among the files. */
bool cq_documents_rewind(cq_documents *documents);

/* --- fields --- */

typedef enum cq_document_role {
  CQ_ROLE_ID,
  CQ_ROLE_TITLE,
  CQ_ROLE_TEXT,
  CQ_ROLE_URL,
  CQ_ROLE_LANGUAGE
} cq_document_role;
enum { CQ_ROLES = CQ_ROLE_LANGUAGE + 1 };

/* The name of a role's field in these files; empty: the usual names. */
typedef struct cq_document_fields {
  cq_slice name[CQ_ROLES];
} cq_document_fields;

/* "text=body,title=headline", borrowed; NULL: none. Errors: CQ_ERR_ARGUMENT. */
CQ_MUST_USE cq_status cq_document_fields_parse(cq_document_fields *out, const char *fields, cq_error *error);
/* How well a name matches a role, 0 best; -1: not at all. ASCII case is ignored. */
int cq_document_fields_rank(const cq_document_fields *fields, cq_document_role role, cq_slice name);

/* --- a document under construction --- */

typedef struct cq_document_room {
  cq_builder role[CQ_ROLES];
  cq_builder metadata;
} cq_document_room;

void cq_document_room_clear(cq_document_room *room);
void cq_document_room_free(cq_document_room *room);

/* --- the file --- */

typedef struct cq_document_file {
  const char *path; /* "<stdin>" for "-" */
  const cq_document_fields *fields;
  cq_lines *lines; /* formats of records */
  cq_slice bytes;  /* for one document per file: the whole file; UTF-8, unless HTML declares its encoding */
  bool is_utf8;    /* what bytes are */
  bool is_whole;   /* text keeps the blanks at both ends */
  uint64_t line;   /* where the document begins */
  bool is_broken;  /* nothing can be read after the error */
  cq_document_room *room;
  cq_notice_fn notice;
  void *notice_context;
} cq_document_file;

/* Fails at the document's line. */
CQ_MUST_USE cq_status cq_document_fail(const cq_document_file *file, cq_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a missing text; what: the expected name. */
CQ_MUST_USE cq_status cq_document_fail_text(const cq_document_file *file, cq_error *error, const char *what);

/* --- the formats, a row each in documents.c --- */

#define CQ_WHOLE_FILE ((size_t)64 << 20)

typedef struct cq_document_type {
  const char *name;
  const char *endings; /* file extensions, separated by blanks; "": recognized only by a file's first bytes */
  bool is_one;         /* the file is one document */
  bool resumes;        /* reading continues after a malformed document, unless the reader sets is_broken */
  bool is_binary;      /* its bytes are not text */
  bool is_mapped;      /* the format opens the path itself, because it reads from the end */
  size_t most_bytes;   /* maximum size of a file that is read as a whole; 0: no limit, read line by line */
  /* Formats of records: makes the reader's state; NULL: no state. */
  cq_status (*open)(void **state, cq_document_file *file, cq_error *error);
  /* Fills the room; *found false: no more. A whole file is read only once. */
  cq_status (*read)(bool *found, void *state, cq_document_file *file, cq_error *error);
  void (*close)(void *state);
} cq_document_type;

extern const cq_document_type cq_document_type_lines, cq_document_type_tsv, cq_document_type_csv,
    cq_document_type_jsonl, cq_document_type_json, cq_document_type_text, cq_document_type_markdown,
    cq_document_type_html, cq_document_type_trec, cq_document_type_parquet, cq_document_type_docx, cq_document_type_odt,
    cq_document_type_epub, cq_document_type_pdf, cq_document_type_subtitles, cq_document_type_mediawiki,
    cq_document_type_translations;

/* Takes a JSON object's members: roles, and the others as metadata. has_text: the text is one of them; otherwise it
 * comes from elsewhere. */
CQ_MUST_USE cq_status cq_document_take_object(cq_document_file *file, const json_t *object, bool has_text,
                                              cq_error *error);

#endif
