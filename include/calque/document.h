/* Documents as files have them, one by one in constant memory.
 *
 *   cq_documents_options o = cq_documents_default_options();
 *   cq_documents_open(&in, (const char *[]){"handbook/", "news.jsonl.zst"}, 2, &o, &err);
 *   while ((status = cq_documents_next(&document, in, &err)) == CQ_OK && document.id.data) use(&document);
 *   cq_documents_close(in);
 *
 *   lines     a document a line; its id is FILE:LINE
 *   tsv, csv  a document a row, columns named by the first (csv: RFC 4180). A tsv without such a row has an id, a tab
 *             and a text, or a text alone
 *   jsonl     a document an object a line; json: an object, or a list of them
 *   text      the file is one document, as in the following two; its id is the file's name
 *   markdown  CommonMark; its first heading is the title; "key: value" lines between two lines of --- are metadata
 *   html      the text that is shown, without <nav>, <aside> and <footer>; title and language by <title> and lang
 *   trec      <DOC> <DOCNO> ... </DOC>
 *   parquet   a document a row, columns by name; a file of its own, neither compressed nor standard input
 *
 * Files may be compressed. Directories are walked, names in bytewise order, those with a dot in front left out; what has
 * an unknown ending is left out, counted and told. A file that is named itself and ends in .txt is of lines, one in a
 * directory is one document.
 *
 * Threads: a reader belongs to one thread at a time. */
#ifndef CALQUE_DOCUMENT_H
#define CALQUE_DOCUMENT_H

#include "calque/options.h"
#include "calque/slice.h"
#include "calque/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cq_document {
  cq_slice id;       /* one document of an index at a time has it */
  cq_slice language; /* a code; may be empty */
  cq_slice text;
  cq_slice title, url; /* may be empty */
  cq_slice metadata;   /* a JSON object; empty: there is none */
} cq_document;

/* A copy that owns its texts, all in one block, a zero behind each: *out is released with cq_free.
 * Errors: CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_document_copy(cq_document **out, const cq_document *document, cq_error *error);

typedef enum cq_document_format {
  CQ_DOCUMENTS_AUTO, /* by the name's ending, else by how the file begins */
  CQ_DOCUMENTS_LINES,
  CQ_DOCUMENTS_TSV,
  CQ_DOCUMENTS_CSV,
  CQ_DOCUMENTS_JSONL,
  CQ_DOCUMENTS_JSON,
  CQ_DOCUMENTS_TEXT,
  CQ_DOCUMENTS_MARKDOWN,
  CQ_DOCUMENTS_HTML,
  CQ_DOCUMENTS_TREC,
  CQ_DOCUMENTS_PARQUET,
} cq_document_format;

typedef struct cq_documents_options {
  size_t size;
  cq_document_format format;
  const char *encoding; /* of the files, a name that ICU knows; NULL: UTF-8, html by what it says of itself */
  const char *fields;   /* names of fields and columns where they are not the usual ones: "text=body,title=headline";
                         * others are metadata. Usual are id (_id, docid, docno), title (headline), text (contents,
                         * content, body), url (link) and language (lang) */
  const char
      *language; /* of documents that do not say theirs; "auto", the default: identified (calque/language.h); "none"
                         * or NULL: none */
  cq_notice_fn notice; /* which format a file has, what was left out, why the first few were skipped */
  void *notice_context;
  bool skip_bad; /* count what is malformed and go on: after the line, where documents are lines, else after the file */
  bool relative; /* a document without an id is known by its file's path within the directory that was named */
} cq_documents_options;
/* Group "documents". */
CQ_DEFAULT_OPTIONS(cq_documents_options, cq_documents_default_options, documents)

typedef struct cq_documents cq_documents;

/* paths: files, directories, "-" for standard input. Errors: CQ_ERR_IO for a path that is not there; CQ_ERR_ARGUMENT for
 * an unknown encoding, or fields that are not ROLE=NAME,...; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_documents_open(cq_documents **out, const char *const *paths, size_t n_paths,
                                               const cq_documents_options *options, cq_error *error);
CQ_API void cq_documents_close(cq_documents *documents);

/* The next document, borrowed until the next call; out->id.data is NULL after the last one. An empty text is given as
 * it is. Errors: CQ_ERR_FORMAT with file and line for what its format does not allow, and for a file of no format;
 * CQ_ERR_LIMIT for one document of more than 64 MiB (Markdown: 8); CQ_ERR_IO, CQ_ERR_MEMORY. After an error there are no
 * more. With skip_bad, the first three are counted instead, and so is a file that cannot be read. */
CQ_API CQ_MUST_USE cq_status cq_documents_next(cq_document *out, cq_documents *documents, cq_error *error);

/* A document as a JSON object on one line, as jsonl is read: metadata are members beside the others. *out is released
 * with cq_free. Errors: CQ_ERR_FORMAT for metadata that are no JSON object, or a text that is not UTF-8; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_document_json(char **out, const cq_document *document, cq_error *error);

/* Whether its text is nothing but white space: a document that would be near to every query. */
CQ_API bool cq_document_is_blank(const cq_document *document);

/* How many malformed documents and files were skipped so far. */
CQ_API uint64_t cq_documents_n_skipped(const cq_documents *documents);
/* Where the document last returned begins. line 0: the file is one document. */
CQ_API const char *cq_documents_path(const cq_documents *documents);
CQ_API uint64_t cq_documents_line(const cq_documents *documents);

#ifdef __cplusplus
}
#endif
#endif
