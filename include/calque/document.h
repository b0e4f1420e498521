/** @file Reads documents from files, one by one in constant memory.
 *
 *      cq_documents_options o = cq_documents_default_options();
 *      cq_documents_open(&in, (const char *[]){"handbook/", "news.jsonl.zst"}, 2, &o, &err);
 *      while ((status = cq_documents_next(&document, in, &err)) == CQ_OK && document.id.data) use(&document);
 *      cq_documents_close(in);
 *
 * - lines: a document per line; its id is FILE:LINE
 * - tsv, csv: a document per row, columns named by the first row. csv: RFC 4180, separated by commas, semicolons, tabs
 *   or bars (detected by the names), or as a line "sep=;" says. tsv: fields that Excel or pandas have quoted are
 *   unquoted; a file without names has an id, a tab and a text, or only a text
 * - jsonl: a document per line, an object; json: an object, several, or a list of them. Numbers beyond 64 bits or a
 *   double become text, lone surrogates U+FFFD
 * - text, markdown, html: the file is one document; its id is the file's name
 * - markdown: CommonMark; its first heading is the title; YAML between two lines of `---` at the beginning is metadata,
 *   and so is TOML between two of `+++`: tables, and strings, numbers, dates and lists of them. A notice says when it is
 *   read as text, because it is neither
 * - html: the visible text, without `<nav>`, `<aside>` and `<footer>`; title and language by `<title>` and `lang`
 * - trec: `<DOC> <DOCNO> ... </DOC>`
 * - parquet: a document per row, columns by name; a plain file, neither compressed nor standard input
 * - docx, odt: Word's and LibreOffice's: a line per paragraph, rows of tables as in html, notes at the end; epub: its
 *   pages, in their order, as html; pdf: the text of its pages, without heads and feet. Title, author and language are
 *   the file's properties, or the first heading. A plugin reads them (calque-formats), pdf by poppler. An encrypted file
 *   and a pdf without text, as a scan has none, are malformed
 * - subtitles: SubRip and WebVTT: the cues' text, a line per sentence or more
 * - mediawiki: a dump (pages-articles.xml): a document per article, with its id, title, address and text. Templates,
 *   tables, references and files are dropped; redirects and other namespaces are left out, and a notice counts them
 * - translations: a document per translated unit of a TMX, XLIFF, gettext (.po, .mo) or Qt (.ts) file: its text is the
 *   first language's, and the translation is metadata by its language, or `translation`. Files only, not standard input
 *
 * Files may be compressed, also with bzip2, for which there is a plugin. Directories are walked in bytewise order of
 * names, without hidden files; a file with an unknown extension, or none, is one document if its bytes are text. Binary
 * files, those in other formats, and those that need a missing plugin are left out, counted and reported. A file `x.txt`
 * given by its path has lines; in a directory, it is one document.
 *
 * @threads A reader belongs to one thread at a time. */
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
  cq_slice id;       /**< unique in an index */
  cq_slice language; /**< a code; may be empty */
  cq_slice text;
  cq_slice title, url; /**< may be empty */
  cq_slice metadata;   /**< a JSON object; empty: none */
} cq_document;

/** A copy that owns its texts, zero-terminated, in one block: `*out` is released with cq_free().
 * @errors CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_document_copy(cq_document **out, const cq_document *document, cq_error *error);

typedef enum cq_document_format {
  CQ_DOCUMENTS_AUTO, /**< by the file extension, otherwise by the start of the file */
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
  CQ_DOCUMENTS_DOCX,
  CQ_DOCUMENTS_ODT,
  CQ_DOCUMENTS_EPUB,
  CQ_DOCUMENTS_PDF,
  CQ_DOCUMENTS_SUBTITLES,
  CQ_DOCUMENTS_MEDIAWIKI,
  CQ_DOCUMENTS_TRANSLATIONS,
} cq_document_format;

typedef struct cq_documents_options {
  size_t size;
  cq_document_format format;
  /** Encoding of the files, by ICU's name; NULL: UTF-8, or as an html file declares. A byte order mark, or text that is
   * clearly UTF-16, decides first, and in a directory an html file's declaration */
  const char *encoding;
  /** Names of fields and columns: "text=body,title=headline". The usual ones are id (_id, docid, docno), title
   * (headline), text (contents, content, body), url (link) and language (lang); all others are metadata */
  const char *fields;
  const char *language; /**< language of documents without one; "auto": identified by their first 64 KiB
                         * (calque/language.h); "none", NULL: none */
  cq_notice_fn notice;  /**< receives each file's format, the files left out, the first few files without a document or
                         * that are no files (links to nothing, pipes), and the reasons for the first few skipped */
  void *notice_context;
  /** Count malformed documents, and continue with the next one (or file, if a file is one document) */
  bool skip_bad;
  bool relative; /**< a document without an id gets its path within the named directory */
  /** Ids need only differ within their file: they become FILE#ID, with the name that documents without an id get. A
   * file's second document of the same id gets FILE:LINE instead. In a FILE that itself reads as FILE#ID, # is %23 */
  bool file_ids;
  /** A text file is one document with all of its bytes, also if it is given by its path or has no known extension */
  bool whole;
  bool base_names; /**< a file given by its path is named by its last component */
} cq_documents_options;
CQ_DEFAULT_OPTIONS(cq_documents_options, cq_documents_default_options, documents) /**< group "documents" */

typedef struct cq_documents cq_documents;

/** Opens files, directories, "-" for standard input. @errors CQ_ERR_IO for a missing path; CQ_ERR_ARGUMENT for an
 * unknown encoding, or fields that are not ROLE=NAME,...; CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_documents_open(cq_documents **out, const char *const *paths, size_t n_paths,
                                               const cq_documents_options *options, cq_error *error);
CQ_API void cq_documents_close(cq_documents *documents);

/** The next document, borrowed until the next call; out->id.data is NULL after the last one. Empty texts are returned,
 * too. @errors CQ_ERR_FORMAT with file and line for a malformed document or an unknown format; CQ_ERR_LIMIT for a
 * document of more than 64 MiB (Markdown: 8; a pdf: 256); CQ_ERR_UNSUPPORTED without the plugin, for a file that was named; CQ_ERR_IO, CQ_ERR_MEMORY. An error ends reading. With skip_bad, malformed
 * or too long documents and unknown or unreadable files are counted instead. */
CQ_API CQ_MUST_USE cq_status cq_documents_next(cq_document *out, cq_documents *documents, cq_error *error);

/** A document as a JSON object on one line, as in jsonl: metadata are additional members. `*out` is released with
 * cq_free(). @errors CQ_ERR_FORMAT for metadata other than a JSON object, or a text that is not UTF-8;
 * CQ_ERR_MEMORY. */
CQ_API CQ_MUST_USE cq_status cq_document_json(char **out, const cq_document *document, cq_error *error);

/** Whether a document's text is only white space, which would be near every query. */
CQ_API bool cq_document_is_blank(const cq_document *document);

/** The number of malformed documents and files skipped so far. */
CQ_API uint64_t cq_documents_n_skipped(const cq_documents *documents);
/** The position of the last document: its path, and its line; 0: the file is one document. */
CQ_API const char *cq_documents_path(const cq_documents *documents);
CQ_API uint64_t cq_documents_line(const cq_documents *documents);

#ifdef __cplusplus
}
#endif
#endif
