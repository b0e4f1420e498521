/* Reads files one by one, each with the reader for its format. */
#include "base/byte_source.h"
#include "base/error.h"
#include "base/input.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/utf8.h"
#include "base/walk.h"
#include "calque/language.h"
#include "document/reader.h"
#include "text/encoding.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { MAX_ENDINGS_TOLD = 8, MAX_SKIPS_TOLD = 5, LANGUAGE_BYTES = 1 << 16 }; /* of a text that identify it */

static const char *const formats[] = {"auto",     "lines",     "tsv",       "csv",          "jsonl", "json", "text",
                                      "markdown", "html",      "trec",      "parquet",      "docx",  "odt",  "epub",
                                      "pdf",      "subtitles", "mediawiki", "translations", NULL};

#define O cq_documents_options
static const cq_option option_rows[] = {
    {CQ_CHOICE(
        O, "format", format, CHANGES, CQ_DOCUMENTS_AUTO, formats, "FORMAT",
        "format of the files; auto: by name, else by the first bytes; lines: one document per line; tsv, csv: "
        "one per row, columns named by the first; jsonl, json: an object; text, markdown, html, docx, odt, epub, pdf, "
        "subtitles: the file; trec: <DOC>; parquet: a row; mediawiki: an article of a dump; translations: a unit of a "
        "TMX, "
        "XLIFF, gettext or Qt file")},
    {CQ_TEXT(O, "encoding", encoding, CHANGES, "NAME", "encoding of the files: windows-1252, Shift_JIS, UTF-16, ..."),
     .otherwise = "UTF-8"},
    {CQ_TEXT(O, "fields", fields, CHANGES, "ROLE=NAME,...",
             "fields or columns with names other than the usual ones: id, title, text, url, language; all others are "
             "metadata"),
     .otherwise = "the usual names"},
    {CQ_TEXT(O, "language", language, CHANGES, "CODE",
             "language of documents that state none; auto: identified from the text (calque data language); none"),
     .letter = 'l', .text = "auto"},
    {CQ_FLAG(O, "relative", relative, CHANGES, "ids of files in a folder are their paths within it")},
    {CQ_FLAG(O, "file-ids", file_ids, CHANGES, "ids need only differ within their file: they become FILE#ID")},
    {CQ_FLAG(O, "skip-bad", skip_bad, CHANGES,
             "skip and count malformed documents and unreadable files instead of failing at the first")},
};

static cq_status check_documents(const void *options, cq_error *error) {
  const O *o = options;
  cq_document_fields fields;
  if (o->encoding && !cq_encoding_is_known(o->encoding))
    return cq_fail(error, CQ_ERR_ARGUMENT, "there is no encoding '%.60s', expected for example windows-1252",
                   o->encoding);
  return cq_document_fields_parse(&fields, o->fields, error);
}
#undef O

const cq_option_group cq_group_documents = {.name = "documents",
                                            CQ_ROWS(cq_documents_options, option_rows),
                                            .check = check_documents,
                                            CQ_FIELDS(CQ_CALLBACK(cq_documents_options, notice),
                                                      CQ_FIELD(cq_documents_options, whole),
                                                      CQ_FIELD(cq_documents_options, base_names))};

/* In the order of cq_document_format. */
static const cq_document_type *const types[] = {
    NULL,
    &cq_document_type_lines,
    &cq_document_type_tsv,
    &cq_document_type_csv,
    &cq_document_type_jsonl,
    &cq_document_type_json,
    &cq_document_type_text,
    &cq_document_type_markdown,
    &cq_document_type_html,
    &cq_document_type_trec,
    &cq_document_type_parquet,
    &cq_document_type_docx,
    &cq_document_type_odt,
    &cq_document_type_epub,
    &cq_document_type_pdf,
    &cq_document_type_subtitles,
    &cq_document_type_mediawiki,
    &cq_document_type_translations,
};
enum { N_TYPES = sizeof types / sizeof *types };

/* Why files in a folder are left out. */
typedef enum reason { BINARY, OTHER_FORMAT, NOT_UTF8, TOO_LARGE, UNREADABLE, NO_PLUGIN, REASONS } reason;

/* A name that was not read, or not completely. */
typedef struct unread {
  char *name; /* of its documents */
  const char *path, *why;
  size_t file; /* its place in the walk */
  bool is_told, is_directory;
} unread;

struct cq_documents {
  cq_documents_options o;
  char *strings[3]; /* copies of the options' */
  cq_document_fields fields;
  cq_walk walk;
  size_t next_file;
  const cq_document_type *type; /* of the file that is open; NULL: none is */
  const char *name;             /* names its documents without an id */
  cq_builder marked;            /* the same, if it is not the file's own */
  void *state;                  /* its reader's */
  bool was_read;                /* a file that is one document */
  cq_document_file file;
  cq_document_room room;
  cq_builder whole; /* its bytes */
  cq_builder id;    /* where documents have none */
  uint64_t n_found; /* documents of the file */
  uint64_t n_void;  /* files without any */
  uint64_t n_odd;   /* names that are no file, reported */
  uint64_t n_files[N_TYPES];
  struct {
    uint64_t n;
    cq_builder endings; /* the first few, between blanks */
    size_t n_endings;
  } left_out[REASONS];
  const cq_document_type *counted; /* that of the last file in n_files; NULL: it is in none */
  bool is_guessed;                 /* the file that is open is text by its first bytes only */
  bool is_over;
  uint64_t n_skipped;
  unread *unread;
  size_t n_unread, unread_capacity;
  cq_map ids; /* those of the file that is open, for file_ids */
};

/* --- opening and closing --- */

static char *keep(cq_documents *d, int i, const char *text) {
  return text ? d->strings[i] = cq_strdup(text) : NULL;
}

cq_status cq_documents_open(cq_documents **out, const char *const *paths, size_t n_paths,
                            const cq_documents_options *options, cq_error *error) {
  cq_documents_options o;
  *out = NULL;
  cq_status status = cq_options_take(&o, &cq_group_documents, options, error);
  if (status) return status;
  cq_documents *d = cq_alloc_zeroed(sizeof *d);
  if (!d) return cq_fail_memory(error, "documents");
  d->o = o;
  d->o.encoding = keep(d, 0, o.encoding), d->o.fields = keep(d, 1, o.fields), d->o.language = keep(d, 2, o.language);
  if ((o.encoding && !d->o.encoding) || (o.fields && !d->o.fields) || (o.language && !d->o.language))
    status = cq_fail_memory(error, "documents");
  if (!status) status = cq_document_fields_parse(&d->fields, d->o.fields, error);
  d->walk.keeps_all = true;
  for (size_t i = 0; !status && i < n_paths; i++) status = cq_walk_add(&d->walk, paths[i], error);
  if (status) cq_documents_close(d);
  *out = status ? NULL : d;
  return status;
}

static void close_file(cq_documents *d) {
  if (d->state && d->type->close) d->type->close(d->state); /* NULL: it did not open */
  if (d->file.lines) cq_lines_close(d->file.lines);
  d->file.lines = NULL, d->type = NULL, d->state = NULL;
  cq_map_free(&d->ids);
}

void cq_documents_close(cq_documents *d) {
  if (!d) return;
  close_file(d);
  cq_walk_free(&d->walk);
  cq_document_room_free(&d->room);
  cq_builder_free(&d->whole);
  cq_builder_free(&d->id);
  for (int i = 0; i < REASONS; i++) cq_builder_free(&d->left_out[i].endings);
  for (size_t i = 0; i < d->n_unread; i++) cq_free(d->unread[i].name);
  cq_free(d->unread);
  cq_builder_free(&d->marked);
  for (size_t i = 0; i < sizeof d->strings / sizeof *d->strings; i++) cq_free(d->strings[i]);
  cq_free(d);
}

/* --- which format a file has --- */

/* A file extension in lower case, before that of a compression: ".tsv" for "a/news.TSV.gz"; "": none. */
static void find_ending(char ending[16], const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const size_t n = strlen(name) - cq_compression_ending(name);
  size_t begin = n;
  while (begin > 0 && name[begin - 1] != '.') begin--;
  ending[0] = 0;
  if (begin == 0 || n - begin > 13) return;
  ending[0] = '.';
  for (size_t i = begin; i < n; i++)
    ending[i - begin + 1] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i]);
  ending[n - begin + 1] = 0;
}

static bool has_ending(const cq_document_type *type, const char *ending) {
  char padded[20];
  snprintf(padded, sizeof padded, " %s ", ending);
  return *ending && strstr(type->endings, padded);
}

static bool begins_like(cq_slice bytes, const char *text) {
  const size_t n = strlen(text);
  return bytes.n >= n && !strncasecmp(bytes.data, text, n);
}

/* WebVTT, or SubRip: a number, then a line of times. */
static bool is_subtitles(cq_slice bytes) {
  size_t i = 0;
  while (i < bytes.n && bytes.data[i] >= '0' && bytes.data[i] <= '9') i++;
  const size_t n_digits = i;
  while (i < bytes.n && (bytes.data[i] == '\r' || bytes.data[i] == '\n')) i++;
  const bool is_subrip = n_digits && i > n_digits && bytes.n - i > 12 && bytes.data[i + 2] == ':' &&
                         bytes.data[i + 5] == ':' && (bytes.data[i + 8] == ',' || bytes.data[i + 8] == '.');
  return is_subrip || begins_like(bytes, "WEBVTT");
}

/* An archive's first files say what it is: mimetype, which is stored as it is, or Office's; NULL: another one. */
static const cq_document_type *type_of_archive(cq_slice bytes) {
  static const struct {
    const char *begins;
    const cq_document_type *type;
  } rows[] = {{"mimetypeapplication/vnd.oasis.opendocument.text", &cq_document_type_odt},
              {"mimetypeapplication/epub+zip", &cq_document_type_epub},
              {"word/document.xml", &cq_document_type_docx},
              {"[Content_Types].xml", &cq_document_type_docx}};
  for (; bytes.n; bytes.data++, bytes.n--)
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
      if (cq_slice_begins(bytes, cq_slice_of(rows[i].begins))) return rows[i].type;
  return NULL;
}

/* By its first bytes; NULL: it is not text, or of another format. */
static const cq_document_type *type_of_bytes(cq_slice bytes) {
  if (bytes.n >= 4 && !memcmp(bytes.data, "PAR1", 4)) return &cq_document_type_parquet;
  if (bytes.n >= 4 && !memcmp(bytes.data, "PK\3\4", 4)) return type_of_archive(bytes);
  if (begins_like(bytes, "%PDF-")) return &cq_document_type_pdf;
  if (bytes.n && memchr(bytes.data, 0, bytes.n)) return NULL;
  if (begins_like(bytes, "\xEF\xBB\xBF")) bytes.data += 3, bytes.n -= 3;
  bytes = cq_slice_trimmed(bytes);
  const bool is_xml = begins_like(bytes, "<?xml");
  const char *after = is_xml ? memchr(bytes.data, '>', bytes.n) : NULL;
  if (after) bytes = cq_slice_trimmed((cq_slice){after + 1, bytes.n - (size_t)(after + 1 - bytes.data)});
  if (begins_like(bytes, "<doc>") || begins_like(bytes, "<doc ")) return &cq_document_type_trec;
  if (begins_like(bytes, "<!doctype html") || begins_like(bytes, "<html")) return &cq_document_type_html;
  for (int i = 0; i < 6; i++) {
    static const char *const begins[] = {"<tmx", "<!doctype tmx", "<xliff", "<!doctype xliff", "<TS ", "<!DOCTYPE TS"};
    if (begins_like(bytes, begins[i])) return &cq_document_type_translations;
  }
  if (begins_like(bytes, "<mediawiki")) return &cq_document_type_mediawiki;
  if (is_subtitles(bytes)) return &cq_document_type_subtitles;
  if (is_xml || begins_like(bytes, "{\\rtf")) return NULL;
  const char *newline = bytes.n ? memchr(bytes.data, '\n', bytes.n) : NULL;
  const cq_slice line = {bytes.data, newline ? (size_t)(newline - bytes.data) : bytes.n};
  if (bytes.n && *bytes.data == '[') return &cq_document_type_json;
  if (bytes.n && *bytes.data == '{')
    return cq_slice_trimmed(line).n > 1 ? &cq_document_type_jsonl : &cq_document_type_json;
  return &cq_document_type_lines;
}

static void leave_out(cq_documents *d, reason why) {
  char ending[16], padded[20];
  find_ending(ending, d->walk.files[d->next_file - 1].path);
  snprintf(padded, sizeof padded, " %s ", *ending ? ending : "none");
  cq_builder *endings = &d->left_out[why].endings;
  d->left_out[why].n++;
  if (d->left_out[why].n_endings == MAX_ENDINGS_TOLD || (endings->n && strstr(endings->data, padded))) return;
  cq_builder_text(endings, padded + (endings->n > 0)); /* with one blank between */
  d->left_out[why].n_endings++;
}

/* Whether text has characters that no text has. */
static bool has_controls(cq_slice text) {
  for (size_t i = 0; i < text.n; i++)
    if ((unsigned char)text.data[i] < ' ' && !strchr("\t\n\v\f\r\x1b", text.data[i])) return true;
  return text.n && memchr(text.data, 0, text.n);
}

/* For a file in a folder whose name says nothing: whether it is read, by its first bytes; else *why not. */
static bool is_read(cq_document_type const **type, reason *why, cq_slice bytes, bool may_be_cut, bool is_utf8) {
  const cq_document_type *found = *type;
  *why = !found && !has_controls(bytes) ? OTHER_FORMAT : BINARY;
  if (!found || found->is_binary || found->is_mapped || found == &cq_document_type_html ||
      found == &cq_document_type_mediawiki)
    return found;
  const size_t bad = cq_utf8_invalid_at(bytes.data, bytes.n);
  if (has_controls(bytes)) return false;
  *why = NOT_UTF8;
  if (found != &cq_document_type_subtitles) *type = &cq_document_type_text;
  return !is_utf8 || bad == bytes.n || (may_be_cut && bytes.n - bad < 4);
}

/* The type for the requested format or the file extension; NULL: unknown. */
static const cq_document_type *type_of_name(const cq_documents *d, const cq_walked *file, const char *ending) {
  const cq_document_type *type = types[d->o.format];
  for (int i = 1; i < N_TYPES && !type; i++)
    if (has_ending(types[i], ending)) type = types[i];
  return type == &cq_document_type_text && !file->is_inside && !d->o.format && !d->o.whole ? &cq_document_type_lines
                                                                                           : type;
}

/* *type NULL: the file is left out. */
static cq_status choose_type(const cq_document_type **type, cq_documents *d, const cq_walked *file, cq_input *input,
                             cq_error *error) {
  cq_slice bytes;
  reason why;
  const cq_status status = cq_input_peek(&bytes, input, error);
  if (status) return status;
  const char *encoding = cq_encoding_marked(bytes);
  const bool is_whole = bytes.n < CQ_PEEK;
  cq_builder decoded = {0};
  if (encoding && cq_decode_all(&decoded, bytes, encoding, error)) {
    cq_builder_free(&decoded);
    return CQ_ERR_MEMORY;
  }
  if (encoding) bytes = cq_built(&decoded);
  *type = type_of_bytes(bytes);
  if (!*type && d->o.encoding && !file->is_inside) *type = &cq_document_type_lines;
  if (file->is_inside && !is_read(type, &why, bytes, !is_whole, !d->o.encoding && !encoding)) {
    *type = NULL;
    leave_out(d, why);
  }
  d->is_guessed = file->is_inside && *type == &cq_document_type_text;
  cq_builder_free(&decoded);
  if (*type || file->is_inside) return CQ_OK;
  return cq_fail_file(error, CQ_ERR_FORMAT, cq_input_path(input),
                      "is in no format of documents that calque reads: JSON lines, JSON, CSV, TSV, text, Markdown, "
                      "HTML, DOCX, ODT, EPUB, PDF, subtitles, MediaWiki, TREC, Parquet, TMX, XLIFF, gettext or Qt (the "
                      "format lines takes any "
                      "text)");
}

/* --- opening the next file --- */

static cq_status close_source(const cq_byte_source *source, cq_status status) {
  source->close(source->context);
  return status;
}

/* All of a file. */
static cq_status read_whole(cq_documents *d, const cq_byte_source *source, cq_error *error) {
  cq_builder_clear(&d->whole);
  cq_builder_bytes(&d->whole, "", 0);
  for (size_t got = 1; got;) {
    char bytes[4096];
    const cq_status status = source->read(&got, source->context, bytes, sizeof bytes, error);
    if (status) return status;
    cq_builder_bytes(&d->whole, bytes, got);
    if (d->whole.failed) return cq_fail_memory(error, source->path);
    if (d->whole.n > d->type->most_bytes)
      return cq_fail_file(error, CQ_ERR_LIMIT, source->path, "a document of more than %zu MiB",
                          d->type->most_bytes >> 20);
  }
  d->file.bytes = (cq_slice){d->whole.data, d->whole.n};
  if (begins_like(d->file.bytes, "\xEF\xBB\xBF")) d->file.bytes.data += 3, d->file.bytes.n -= 3;
  return CQ_OK;
}

/* HTML may declare an encoding other than UTF-8. JSON's parser checks each document. */
static cq_status check_whole(cq_documents *d, cq_error *error) {
  const cq_slice bytes = d->file.bytes;
  const size_t bad = cq_utf8_invalid_at(bytes.data, bytes.n);
  d->file.is_utf8 = bad == bytes.n;
  if (d->type == &cq_document_type_html || (d->type == &cq_document_type_json && d->o.skip_bad)) return CQ_OK;
  if (bad < bytes.n)
    return cq_fail_byte(error, CQ_ERR_FORMAT, d->file.path, bad, "not UTF-8 (byte 0x%02x)",
                        (unsigned char)bytes.data[bad]);
  const char *nul = bytes.n ? memchr(bytes.data, 0, bytes.n) : NULL;
  return nul ? cq_fail_byte(error, CQ_ERR_FORMAT, d->file.path, (uint64_t)(nul - bytes.data), "a NUL byte") : CQ_OK;
}

/* --- ends of lines: a CR alone, as old Macs and Excel for Mac write it, becomes an LF; in CSV everywhere, in other
 * formats if the first line ends with one --- */

typedef struct line_ends {
  cq_byte_source source;
  bool is_decided, mends;
  bool after_cr; /* an LF belongs to it */
} line_ends;

static size_t mend_line_ends(line_ends *e, char *bytes, size_t n) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    const char c = bytes[i];
    if (!e->is_decided && (e->after_cr || c == '\n')) e->is_decided = true, e->mends = e->after_cr && c != '\n';
    if (e->is_decided && !e->mends && !e->after_cr) {
      memmove(bytes + kept, bytes + i, n - i);
      return kept + n - i;
    }
    if (!e->after_cr || c != '\n') bytes[kept++] = c == '\r' && (e->mends || !e->is_decided) ? '\n' : c;
    e->after_cr = c == '\r' && (e->mends || !e->is_decided);
  }
  return kept;
}

static cq_status read_line_ends(size_t *got, void *context, void *bytes, size_t n, cq_error *error) {
  line_ends *e = context;
  cq_status status;
  size_t n_read = 0;
  do {
    status = e->source.read(&n_read, e->source.context, bytes, n, error);
    *got = mend_line_ends(e, bytes, n_read);
  } while (!status && n_read > 0 && *got == 0);
  return status;
}

static void close_line_ends(void *context) {
  line_ends *e = context;
  e->source.close(e->source.context);
  cq_free(e);
}

static cq_status open_lines(cq_documents *d, const cq_byte_source *source, cq_error *error) {
  const bool is_csv = d->type == &cq_document_type_csv;
  line_ends *e = cq_alloc(sizeof *e);
  if (!e) return close_source(source, cq_fail_memory(error, source->path));
  *e = (line_ends){.source = *source, .is_decided = is_csv, .mends = is_csv};
  return cq_lines_of(&d->file.lines, &(cq_byte_source){read_line_ends, close_line_ends, source->path, e}, error);
}

/* In a directory, a page's own declaration goes before the encoding of the other files. */
static const char *encoding_of(const cq_documents *d, cq_input *input, const cq_walked *file) {
  char declared[CQ_ENCODING_NAME];
  cq_slice bytes;
  const bool may = d->o.encoding && file->is_inside && d->type == &cq_document_type_html;
  return may && !cq_input_peek(&bytes, input, NULL) && cq_encoding_declared(declared, bytes) &&
                 cq_encoding_is_known(declared)
             ? NULL
             : d->o.encoding;
}

static cq_status open_type(cq_documents *d, cq_input *input, const cq_walked *file, cq_error *error) {
  cq_byte_source source = cq_input_source(input);
  cq_status status = CQ_OK;
  d->file = (cq_document_file){.path = strcmp(file->path, "-") != 0 ? file->path : "<stdin>",
                               .fields = &d->fields,
                               .room = &d->room,
                               .is_whole = d->o.whole,
                               .notice = d->o.notice,
                               .notice_context = d->o.notice_context};
  if (d->type->is_mapped) {
    status = close_source(&source, CQ_OK);
    if (!status && !strcmp(file->path, "-"))
      status = cq_fail_file(error, CQ_ERR_ARGUMENT, d->file.path, "%s is read from files only: its end is read first",
                            d->type->name);
    return status ? status : d->type->open(&d->state, &d->file, error);
  }
  if (!d->type->is_binary) status = cq_text_source(&source, input, encoding_of(d, input, file), error);
  if (status) return status;
  if (d->type->most_bytes) {
    status = close_source(&source, read_whole(d, &source, error));
    if (!status && !d->type->is_binary) status = check_whole(d, error);
    if (!status && !d->type->is_binary)
      d->file.bytes.n = mend_line_ends(&(line_ends){0}, (char *)(uintptr_t)d->file.bytes.data, d->file.bytes.n);
  } else {
    status = open_lines(d, &source, error);
  }
  return status || !d->type->open ? status : d->type->open(&d->state, &d->file, error);
}

/* Names the documents of a file. With file_ids, a # in its name that could stand between FILE and ID, as in a.csv#9.md,
 * becomes %23, so that no two documents have the same id. */
static cq_status name_documents(cq_documents *d, const cq_walked *file, cq_error *error) {
  char ending[16];
  const char *slash = d->o.base_names && !file->is_inside ? strrchr(file->path, '/') : NULL;
  d->name = !strcmp(file->path, "-")           ? "<stdin>"
            : slash                            ? slash + 1
            : d->o.relative && file->is_inside ? file->name
                                               : file->path;
  if (!d->o.file_ids || !strpbrk(d->name, "#%")) return CQ_OK;
  cq_builder_clear(&d->marked);
  for (const char *c = d->name; *c && !d->marked.failed; c++) {
    find_ending(ending, d->marked.n ? d->marked.data : "");
    if ((*c == '#' || *c == '%') && type_of_name(d, file, ending))
      cq_builder_printf(&d->marked, "%%%02X", (unsigned)*c);
    else
      cq_builder_char(&d->marked, *c);
  }
  d->name = d->marked.data;
  return d->marked.failed ? cq_fail_memory(error, file->path) : CQ_OK;
}

static cq_status note_unread(cq_documents *d, const char *why, bool is_told, bool is_directory, cq_error *error) {
  const size_t file = d->next_file - 1;
  if (d->n_unread && d->unread[d->n_unread - 1].file == file) return CQ_OK;
  char *name = cq_strdup(d->name);
  if (!name || !cq_reserve((void **)&d->unread, &d->unread_capacity, d->n_unread + 1, sizeof *d->unread)) {
    cq_free(name);
    return cq_fail_memory(error, d->name);
  }
  d->unread[d->n_unread++] = (unread){name, d->walk.files[file].path, why, file, is_told, is_directory};
  return CQ_OK;
}

/* A name that is no file that could be read. type: by its name; NULL: unknown. */
static cq_status take_failure(cq_documents *d, const cq_walked *file, const cq_document_type *type, cq_error *error) {
  const bool is_dangling = file->failure == CQ_WALK_DANGLING, is_directory = file->failure == CQ_WALK_DIRECTORY;
  if (file->failure > 0)
    return cq_fail_file(error, CQ_ERR_IO, file->path, "%s cannot be read: %s", file->is_directory ? "the folder" : "it",
                        strerror(file->failure));
  const bool is_told = type && !is_directory && d->o.notice && d->n_odd++ < MAX_SKIPS_TOLD;
  const char *why = is_dangling    ? "is a link to something that is not there"
                    : is_directory ? "is a folder"
                                   : "is neither a file nor a folder";
  if (is_told) CQ_NOTIFY(&d->o, "left out: %.300s %s", file->path, why);
  if (is_directory ? !type || !d->o.file_ids : !type && !d->o.file_ids) return CQ_OK;
  return note_unread(d, why, is_told, is_directory, error);
}

static void count_file(cq_documents *d, int n) {
  for (int i = 1; i < N_TYPES; i++) d->n_files[i] += d->counted && types[i] == d->counted ? (uint64_t)n : 0;
}

static cq_status open_next_file(cq_documents *d, cq_error *error) {
  const cq_walked *file = &d->walk.files[d->next_file++];
  char ending[16];
  cq_input *input;
  find_ending(ending, file->path);
  const cq_document_type *type = type_of_name(d, file, ending);
  cq_status status = name_documents(d, file, error);
  if (status) return status;
  d->is_guessed = !type && file->is_inside, d->counted = NULL;
  if (file->failure) return take_failure(d, file, type, error);
  status = cq_input_open_any(&input, file->path, error);
  if (status) return status;
  if (!type) status = choose_type(&type, d, file, input, error);
  if (!status && type && !type->is_binary) status = cq_input_refuse_archive(input, error);
  if (status || !type) {
    cq_input_close(input);
    return status;
  }
  if (d->o.whole && !d->o.format && type == &cq_document_type_lines) type = &cq_document_type_text;
  d->counted = type;
  count_file(d, 1);
  d->type = type, d->was_read = false, d->n_found = 0;
  status = open_type(d, input, file, error);
  if (status) close_file(d);
  return status;
}

/* --- what is reported --- */

/* "read as markdown (10 files), html (2 files); left out files: 3 binary (.png none)". */
static void tell_formats(cq_documents *d) {
  static const char *const what[REASONS] = {"binary",    "of other formats", "not in UTF-8",
                                            "too large", "unreadable",       "that need a plugin"};
  char text[1000], shown[120];
  size_t n = 0;
  const char *before = "read as ";
  if (!d->o.notice) return;
  for (int i = 1; i < N_TYPES; i++) {
    if (!d->n_files[i]) continue;
    n += (size_t)snprintf(text + n, sizeof text - n, "%s%s (%llu file%s)", before, types[i]->name,
                          (unsigned long long)d->n_files[i], d->n_files[i] == 1 ? "" : "s");
    before = ", ";
  }
  before = n ? "; left out files: " : "left out files: ";
  for (int i = 0; i < REASONS; i++) {
    const cq_slice endings = cq_slice_trimmed(cq_built(&d->left_out[i].endings));
    if (!d->left_out[i].n) continue;
    n += (size_t)snprintf(text + n, sizeof text - n, "%s%llu %s (%.120s)", before, (unsigned long long)d->left_out[i].n,
                          what[i], cq_slice_copy(shown, sizeof shown, endings));
    before = ", ";
  }
  if (n) d->o.notice(d->o.notice_context, text);
}

/* Guesses the encoding of a file that is not UTF-8; opens the file again. */
static void suggest_encoding(const cq_documents *d, cq_error *error) {
  char name[CQ_ENCODING_NAME];
  cq_input *input;
  cq_slice bytes;
  struct stat info;
  const bool has_nul = strstr(error->message, "a NUL byte");
  if (d->o.encoding || (!has_nul && !strstr(error->message, "not UTF-8")) || stat(d->file.path, &info) != 0 ||
      !S_ISREG(info.st_mode))
    return;
  if (cq_input_open(&input, d->file.path, NULL)) return;
  if (!cq_input_peek(&bytes, input, NULL) && (has_nul || cq_utf8_invalid_at(bytes.data, bytes.n) < bytes.n) &&
      cq_encoding_guess(name, bytes) && (has_nul ? !strncmp(name, "UTF-16", 6) : strcmp(name, "UTF-8") != 0)) {
    const size_t n = strlen(error->message);
    snprintf(error->message + n, sizeof error->message - n, "; the encoding may be %s (--encoding)", name);
  }
  cq_input_close(input);
}

static void end_file(cq_documents *d) {
  if (d->n_found == 0 && d->o.notice && d->n_void++ < MAX_SKIPS_TOLD)
    CQ_NOTIFY(&d->o, "%.250s: no document in it", d->file.path);
  close_file(d);
}

/* --- the next document --- */

static bool has_failed(const cq_document_room *room) {
  bool failed = room->metadata.failed;
  for (int i = 0; i < CQ_ROLES; i++) failed |= room->role[i].failed;
  return failed;
}

/* Empty: undetermined. */
static cq_slice identified(cq_slice text) {
  const cq_language_guess guess = cq_language_identify((cq_slice){text.data, cq_min(text.n, LANGUAGE_BYTES)});
  return guess.probability > 0 ? cq_slice_of(guess.code) : (cq_slice){"", 0};
}

/* Completes the document: a title without a text becomes the text; a missing id becomes the position. */
static cq_status finish(cq_document *out, cq_documents *d, cq_error *error) {
  const cq_builder *role = d->room.role;
  if (has_failed(&d->room)) return cq_fail_memory(error, d->file.path);
  *out = (cq_document){.id = cq_built(&role[CQ_ROLE_ID]),
                       .language = cq_built(&role[CQ_ROLE_LANGUAGE]),
                       .text = cq_built(&role[CQ_ROLE_TEXT]),
                       .title = cq_built(&role[CQ_ROLE_TITLE]),
                       .url = cq_built(&role[CQ_ROLE_URL]),
                       .metadata = cq_built(&d->room.metadata)};
  if (out->text.n == 0) out->text = out->title;
  if (out->language.n == 0 && d->o.language && strcmp(d->o.language, "none") != 0)
    out->language = strcmp(d->o.language, "auto") != 0 ? cq_slice_of(d->o.language) : identified(out->text);
  if (out->id.n && !d->o.file_ids) return CQ_OK;
  cq_builder_clear(&d->id);
  if (cq_utf8_invalid_at(d->name, strlen(d->name)) < strlen(d->name))
    return cq_fail_file(error, CQ_ERR_FORMAT, d->file.path, "the file's name, which would be an id, is not UTF-8");
  cq_map_entry *seen = out->id.n ? cq_map_at(&d->ids, out->id) : NULL;
  if (out->id.n && !seen) return cq_fail_memory(error, d->file.path);
  cq_builder_text(&d->id, d->name);
  if (seen && seen->value++ == CQ_MAP_NONE)
    cq_builder_char(&d->id, '#'), cq_builder_bytes(&d->id, out->id.data, out->id.n);
  else if (!d->type->is_one)
    cq_builder_printf(&d->id, ":%llu", (unsigned long long)d->file.line);
  out->id = cq_built(&d->id);
  return d->id.failed ? cq_fail_memory(error, d->file.path) : CQ_OK;
}

/* *found false: the file has no more. */
static cq_status read_next(bool *found, cq_documents *d, cq_error *error) {
  cq_document_room_clear(&d->room);
  *found = false;
  if (d->type->is_one && d->was_read) return CQ_OK;
  d->was_read = true;
  return d->type->read(found, d->state, &d->file, error);
}

/* Reports the first few with their positions; the others are only counted. */
static void tell_skipped(const cq_documents *d, cq_error *why) {
  if (!d->o.notice || d->n_skipped >= MAX_SKIPS_TOLD) return;
  if (d->file.path) suggest_encoding(d, why);
  CQ_NOTIFY(&d->o, "skipped: %s", why->message);
}

bool cq_documents_may_hold(cq_documents *d, cq_slice id) {
  for (size_t i = 0; i < d->n_unread; i++) {
    unread *u = &d->unread[i];
    const size_t n = strlen(u->name);
    if (d->o.file_ids && !cq_slice_begins(id, (cq_slice){u->name, n})) continue;
    if (d->o.file_ids && id.n > n && !strchr(u->is_directory ? "#:" : "#:/", id.data[n])) continue;
    if (!u->is_told) CQ_NOTIFY(&d->o, "%.300s %s; what the index has of it is kept", u->path, u->why);
    return u->is_told = true;
  }
  return false;
}

bool cq_documents_rewind(cq_documents *d) {
  for (size_t i = 0; i < d->walk.n; i++)
    if (!strcmp(d->walk.files[i].path, "-")) return false;
  close_file(d);
  d->next_file = 0, d->is_over = false, d->o.notice = NULL;
  return true;
}

/* Leaves out a file of a folder that needs a plugin, or that was taken for text, and is none; false: neither. */
static bool leaves_out(cq_status *status, cq_documents *d, cq_error *why) {
  if (d->next_file == 0 || !d->walk.files[d->next_file - 1].is_inside) return false;
  const bool is_no_text =
      d->is_guessed && (*status == CQ_ERR_FORMAT || *status == CQ_ERR_LIMIT || *status == CQ_ERR_IO);
  if (*status != CQ_ERR_UNSUPPORTED && !is_no_text) return false;
  const reason because = *status == CQ_ERR_UNSUPPORTED       ? NO_PLUGIN
                         : *status == CQ_ERR_LIMIT           ? TOO_LARGE
                         : *status == CQ_ERR_IO              ? UNREADABLE
                         : strstr(why->message, "not UTF-8") ? NOT_UTF8
                                                             : BINARY;
  if (because >= UNREADABLE && !d->left_out[because].n) CQ_NOTIFY(&d->o, "left out: %s", why->message);
  leave_out(d, because);
  count_file(d, -1);
  close_file(d);
  *status = because >= UNREADABLE ? note_unread(d, "cannot be read", true, false, why) : CQ_OK;
  return true;
}

/* Counts and skips malformed input: a document, or the rest of its file. */
static void skip_bad(cq_status *status, bool *found, cq_documents *d, cq_error *why) {
  if (*status && leaves_out(status, d, why)) {
    *found = false;
    return;
  }
  if (!d->o.skip_bad || (*status != CQ_ERR_FORMAT && *status != CQ_ERR_LIMIT && *status != CQ_ERR_IO)) return;
  tell_skipped(d, why);
  const bool is_broken = d->file.is_broken || (d->file.lines && cq_lines_broken(d->file.lines));
  if (d->type && (!d->type->resumes || *status == CQ_ERR_IO || is_broken)) close_file(d);
  d->n_skipped++;
  *status = note_unread(d, "cannot be read completely", d->n_skipped <= MAX_SKIPS_TOLD, false, why), *found = false;
}

cq_status cq_documents_next(cq_document *out, cq_documents *d, cq_error *error) {
  cq_error own = {0};
  cq_status status = CQ_OK;
  *out = (cq_document){0};
  for (bool found = false; !status && !found && !d->is_over; skip_bad(&status, &found, d, &own)) {
    if (d->type) {
      status = read_next(&found, d, &own);
      d->n_found += found && !status;
      if (!status && !found) end_file(d);
    } else if (d->next_file < d->walk.n) {
      status = open_next_file(d, &own);
    } else {
      d->is_over = true;
      tell_formats(d);
    }
    if (!status && found) status = finish(out, d, &own);
    if (status) *out = (cq_document){0};
  }
  if (status && d->file.path) suggest_encoding(d, &own);
  if (status) d->is_over = true;
  if (status && error) *error = own;
  return status;
}

uint64_t cq_documents_n_skipped(const cq_documents *d) {
  return d->n_skipped;
}

const char *cq_documents_path(const cq_documents *d) {
  return d->file.path;
}

uint64_t cq_documents_line(const cq_documents *d) {
  return d->type && d->type->is_one ? 0 : d->file.line;
}
