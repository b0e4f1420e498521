/* Routes of an index's documents: one document by its id, or many in a body of any format. Replies come after changes
 * are on disk. */
#include "serve/request_body.h"
#include "serve/route.h"

#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void get_document(serve_request *r) {
  cq_document *document;
  cq_error error = {0};
  char *json = NULL;
  if (!serve_has_index(r, false)) return;
  if (cq_index_get(&document, r->model->index, cq_slice_of(r->rest), &error)) {
    serve_fail_error(r, &error);
  } else if (!document) {
    serve_fail(r, SERVE_NOT_FOUND, NULL, "there is no document '%.200s'", r->rest);
  } else if (cq_document_json(&json, document, &error)) {
    serve_fail_error(r, &error);
  } else {
    cq_builder_text(&r->answer, json);
    serve_answer(r);
  }
  cq_free(json);
  cq_free(document);
}

static void delete_document(serve_request *r) {
  const cq_slice id = cq_slice_of(r->rest);
  cq_error error = {0};
  size_t n = 0;
  if (!serve_has_index(r, true)) return;
  if (cq_index_remove_commit(r->model->index, &id, 1, &n, &error)) {
    serve_fail_error(r, &error);
  } else if (n == 0) {
    serve_fail(r, SERVE_NOT_FOUND, NULL, "there is no document '%.200s'", r->rest);
  } else {
    cq_builder_printf(&r->answer, "{\"removed\":%zu}", n);
    serve_answer(r);
  }
}

/* --- adding --- */

/* A compressed body may expand a thousandfold: its documents may have this multiple of --max-body, and each takes memory
 * besides its bytes. */
enum { MAX_EXPANSION = 8, DOCUMENT_BYTES = 512 };

typedef struct kept {
  cq_document *block; /* has a document's texts */
  char *place;        /* FILE:LINE; "": a document alone */
} kept;

/* A body's documents, which are all read before any is added: a bad one adds nothing. */
typedef struct batch {
  cq_document *documents; /* [n] */
  kept *kept;             /* [n] */
  size_t n, capacity, kept_capacity, n_blank, n_bytes;
} batch;

static void free_batch(batch *b) {
  for (size_t i = 0; i < b->n; i++) cq_free(b->kept[i].block), cq_free(b->kept[i].place);
  cq_free(b->documents);
  cq_free(b->kept);
}

/* Keeps a borrowed document of a file (NULL: none) and line. */
static bool keep_document(batch *b, const cq_document *borrowed, const char *file, uint64_t line) {
  char place[PATH_MAX + 24] = "";
  cq_error error;
  if (!cq_reserve((void **)&b->documents, &b->capacity, b->n + 1, sizeof *b->documents) ||
      !cq_reserve((void **)&b->kept, &b->kept_capacity, b->n + 1, sizeof *b->kept))
    return false;
  if (file) snprintf(place, sizeof place, line ? "%s:%llu" : "%s", file, (unsigned long long)line);
  kept *k = &b->kept[b->n];
  if (!(k->place = cq_strdup(place))) return false;
  if (cq_document_copy(&k->block, borrowed, &error)) {
    cq_free(k->place);
    return false;
  }
  b->documents[b->n++] = *k->block;
  return true;
}

static int by_id(const void *a, const void *b) {
  const cq_document *x = *(const cq_document *const *)a, *y = *(const cq_document *const *)b;
  const int order = strcmp(x->id.data, y->id.data);
  return order ? order : x < y ? -1 : x > y;
}

/* Reports two documents with the same id, and where they are; false: there are none. */
static bool fail_twice(serve_request *r, const batch *b) {
  const cq_document **sorted = calloc(b->n + 1, sizeof *sorted);
  bool found = false;
  if (!sorted) return false;
  for (size_t i = 0; i < b->n; i++) sorted[i] = &b->documents[i];
  qsort(sorted, b->n, sizeof *sorted, by_id);
  for (size_t i = 1; i < b->n && !found; i++)
    if ((found = !strcmp(sorted[i - 1]->id.data, sorted[i]->id.data)))
      serve_fail(r, SERVE_INVALID, NULL, "%s: document '%.200s' appears twice, before in %s",
                 b->kept[sorted[i] - b->documents].place, sorted[i]->id.data,
                 b->kept[sorted[i - 1] - b->documents].place);
  free(sorted);
  return found;
}

/* Adds and commits; answers. */
static void add_batch(serve_request *r, batch *b) {
  cq_index *index = r->model->index;
  cq_error error = {0};
  const size_t before = cq_index_size(index), n_passages = cq_index_n_passages(index);
  if (b->n && cq_index_add_commit(index, b->documents, b->n, r->shared->ctx, &error)) {
    if (error.status != CQ_ERR_ARGUMENT || !fail_twice(r, b)) serve_fail_error(r, &error);
    return;
  }
  const size_t after = cq_index_size(index);
  cq_builder_printf(&r->answer, "{\"added\":%zu,\"replaced\":%zu,\"blank\":%zu,\"passages\":%zu,\"documents\":%zu}",
                    b->n, before + b->n > after ? before + b->n - after : 0, b->n_blank,
                    cq_index_n_passages(index) > n_passages ? cq_index_n_passages(index) - n_passages : 0, after);
  serve_answer(r);
}

static void put_document(serve_request *r) {
  batch b = {0};
  json_t *body = serve_has_index(r, true) ? serve_body_json(r) : NULL;
  if (!body) return;
  const char *text = NULL, *title = NULL, *url = NULL, *language = NULL;
  if (!*r->rest) {
    serve_fail(r, SERVE_INVALID, NULL, "the id is empty: PUT /api/documents/ID");
  } else if (serve_get_text(&text, r, body, "text") && serve_get_text(&title, r, body, "title") &&
             serve_get_text(&url, r, body, "url") && serve_get_text(&language, r, body, "language")) {
    cq_document d = {.id = cq_slice_of(r->rest),
                     .text = cq_slice_of(text ? text : ""),
                     .title = cq_slice_of(title ? title : ""),
                     .url = cq_slice_of(url ? url : ""),
                     .language = cq_slice_of(language ? language : "")};
    static const char *const known[] = {"id", "text", "title", "url", "language"};
    json_t *others = json_copy(body);
    for (size_t i = 0; others && i < sizeof known / sizeof *known; i++) json_object_del(others, known[i]);
    char *metadata = json_object_size(others) ? json_dumps(others, JSON_COMPACT) : NULL;
    json_decref(others);
    if (metadata) d.metadata = cq_slice_of(metadata);
    if (cq_document_is_blank(&d))
      serve_fail(r, SERVE_INVALID, "text", "'text' is missing or blank");
    else if (!keep_document(&b, &d, NULL, 0))
      serve_fail_memory(r);
    else
      add_batch(r, &b);
    free(metadata);
  }
  json_decref(body);
  free_batch(&b);
}

/* A file of a request, and what the request says of it. */
typedef struct upload {
  const char *name, *language; /* the name's extension determines the format unless the media type does */
  cq_slice bytes;
  const serve_media_type *type;
} upload;

static bool take_format(cq_document_format *out, serve_request *r, const serve_media_type *type) {
  static const struct {
    const char *type;
    cq_document_format format;
  } rows[] = {{"", CQ_DOCUMENTS_AUTO},
              {"application/octet-stream", CQ_DOCUMENTS_AUTO},
              {"application/x-www-form-urlencoded", CQ_DOCUMENTS_AUTO}, /* curl --data-binary */
              {"text/plain", CQ_DOCUMENTS_AUTO},
              {"application/json", CQ_DOCUMENTS_AUTO}, /* one or lines of it */
              {"text/json", CQ_DOCUMENTS_AUTO},
              {"application/vnd.ms-excel", CQ_DOCUMENTS_AUTO}, /* browsers on Windows, for .csv */
              {"application/gzip", CQ_DOCUMENTS_AUTO},
              {"application/x-gzip", CQ_DOCUMENTS_AUTO},
              {"application/zstd", CQ_DOCUMENTS_AUTO},
              {"application/x-xz", CQ_DOCUMENTS_AUTO},
              {"application/jsonl", CQ_DOCUMENTS_JSONL},
              {"application/x-jsonlines", CQ_DOCUMENTS_JSONL},
              {"application/jsonlines", CQ_DOCUMENTS_JSONL},
              {"application/x-ndjson", CQ_DOCUMENTS_JSONL},
              {"application/ndjson", CQ_DOCUMENTS_JSONL},
              {"text/csv", CQ_DOCUMENTS_CSV},
              {"application/csv", CQ_DOCUMENTS_CSV},
              {"text/tab-separated-values", CQ_DOCUMENTS_TSV},
              {"text/markdown", CQ_DOCUMENTS_MARKDOWN},
              {"text/x-markdown", CQ_DOCUMENTS_MARKDOWN},
              {"text/html", CQ_DOCUMENTS_HTML},
              {"application/xhtml+xml", CQ_DOCUMENTS_HTML},
              {"application/vnd.apache.parquet", CQ_DOCUMENTS_PARQUET},
              {"application/vnd.openxmlformats-officedocument.wordprocessingml.document", CQ_DOCUMENTS_DOCX},
              {"application/vnd.oasis.opendocument.text", CQ_DOCUMENTS_ODT},
              {"application/epub+zip", CQ_DOCUMENTS_EPUB},
              {"application/pdf", CQ_DOCUMENTS_PDF},
              {"application/x-subrip", CQ_DOCUMENTS_SUBTITLES},
              {"text/vtt", CQ_DOCUMENTS_SUBTITLES}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    *out = rows[i].format;
    if (!strcmp(rows[i].type, type->type)) return true;
  }
  return serve_fail_media_type(r, type->type,
                               "a format of documents: text/plain, text/html, text/csv, application/json, ...");
}

/* Reads the documents of a temporary file; its directory is removed from ids and messages. */
static bool read_file(serve_request *r, batch *b, const char *path, size_t n_directory, const upload *u) {
  cq_documents_options o = cq_documents_default_options();
  cq_documents *in;
  cq_error error = {0};
  cq_document d;
  if (!take_format(&o.format, r, u->type)) return false;
  if (u->language && *u->language) o.language = u->language;
  if (*u->type->charset) o.encoding = u->type->charset;
  cq_status status = cq_documents_open(&in, &path, 1, &o, &error);
  if (status) return serve_fail_error(r, &error);
  while (!status && !(status = cq_documents_next(&d, in, &error)) && d.id.data) {
    if (d.id.n > n_directory && !memcmp(d.id.data, path, n_directory)) d.id.data += n_directory, d.id.n -= n_directory;
    b->n_bytes += DOCUMENT_BYTES + d.id.n + d.language.n + d.text.n + d.title.n + d.url.n + d.metadata.n;
    if (b->n_bytes > MAX_EXPANSION * r->shared->limits.max_body) {
      serve_fail(r, SERVE_TOO_LARGE, NULL, "the documents have more than %zu bytes, %d times --max-body",
                 MAX_EXPANSION * r->shared->limits.max_body, MAX_EXPANSION);
      break;
    }
    if (cq_document_is_blank(&d)) {
      b->n_blank++;
    } else if (!keep_document(b, &d, path + n_directory, cq_documents_line(in))) {
      serve_fail_memory(r);
      break;
    }
  }
  if (status) {
    char *place = strstr(error.message, path);
    if (place) memmove(place, place + n_directory, strlen(place + n_directory) + 1);
    serve_fail(r, SERVE_INVALID, NULL, "%s", error.message);
  }
  cq_documents_close(in);
  return r->code == 0;
}

/* The last component of the client's file name. */
static const char *last_component(const char *name) {
  const char *slash = name ? strrchr(name, '/') : NULL;
  if (slash) name = slash + 1;
  return name && *name && *name != '.' && strlen(name) < 200 ? name : "documents";
}

static bool take_upload(serve_request *r, batch *b, const char *directory, const upload *u) {
  char path[PATH_MAX];
  const char *name = last_component(u->name);
  snprintf(path, sizeof path, "%s/%s", directory, name);
  FILE *file = fopen(path, "wbx");
  if (!file && errno == EEXIST) return serve_fail(r, SERVE_INVALID, NULL, "two files are named '%s'", name);
  const bool written = file && fwrite(u->bytes.data, 1, u->bytes.n, file) == u->bytes.n;
  const bool closed = file && fclose(file) == 0;
  if (!written || !closed)
    serve_fail(r, SERVE_INTERNAL, NULL, "cannot write a temporary file: %s", strerror(errno));
  else
    (void)read_file(r, b, path, strlen(directory) + 1, u);
  return !r->code;
}

static bool is_file(const serve_part *part) {
  return *part->file_name || !strcmp(part->name, "file");
}

/* The fields of a form, in any order; then its files. */
static void take_form(serve_request *r, batch *b, const char *directory, const serve_media_type *type) {
  serve_form form;
  serve_part part;
  upload u = {.name = r->argument(r, "name"), .language = r->argument(r, "language")};
  char values[2][SERVE_FILE_NAME] = {{0}};
  size_t n_files = 0;
  if (!serve_form_begin(&form, r, type)) return;
  while (serve_form_next(&part, &form, r)) {
    const bool is_name = !strcmp(part.name, "name");
    n_files += is_file(&part);
    if (is_file(&part)) continue;
    if (!is_name && strcmp(part.name, "language") != 0)
      serve_fail(r, SERVE_INVALID, part.name, "unknown field '%.100s', expected files, name, language", part.name);
    else if (part.bytes.n >= SERVE_FILE_NAME || memchr(part.bytes.data, 0, part.bytes.n))
      serve_fail(r, SERVE_INVALID, part.name, "'%s' has more than %d bytes, or a NUL", part.name, SERVE_FILE_NAME - 1);
    if (r->code) return;
    memcpy(values[is_name], part.bytes.data, part.bytes.n);
    *(is_name ? &u.name : &u.language) = values[is_name];
  }
  if (!r->code && n_files == 0) serve_fail(r, SERVE_INVALID, NULL, "the form has no file");
  if (!r->code && n_files > 1 && u.name)
    serve_fail(r, SERVE_INVALID, "name", "'name' is given, but the form has %zu files", n_files);
  if (r->code || !serve_form_begin(&form, r, type)) return;
  while (serve_form_next(&part, &form, r)) {
    if (!is_file(&part)) continue;
    upload one = {.name = u.name ? u.name : part.file_name, u.language, part.bytes, &part.type};
    if (!take_upload(r, b, directory, &one)) return;
  }
}

static void post_documents(serve_request *r) {
  batch b = {0};
  cq_directory_writer place;
  cq_error error = {0};
  serve_media_type type;
  if (!serve_has_index(r, true) || !serve_expand_body(r) || !serve_take_media_type(&type, r, r->body_type)) return;
  if (cq_directory_writer_temporary(&place, "calque-upload", &error)) {
    serve_fail(r, SERVE_INTERNAL, NULL, "%s", error.message);
    return;
  }
  if (!strcmp(type.type, "multipart/form-data")) {
    take_form(r, &b, place.temporary, &type);
  } else {
    const upload u = {.name = r->argument(r, "name"),
                      .language = r->argument(r, "language"),
                      .bytes = {r->body.n ? r->body.data : "", r->body.n},
                      .type = &type};
    (void)take_upload(r, &b, place.temporary, &u);
  }
  if (!r->code) add_batch(r, &b);
  cq_directory_writer_abort(&place);
  free_batch(&b);
}

#define ADDED                                                                                                          \
  "{\"added\":{\"type\":\"integer\"},\"replaced\":{\"type\":\"integer\"},\"blank\":{\"type\":\"integer\"},"            \
  "\"passages\":{\"type\":\"integer\"},\"documents\":{\"type\":\"integer\"}}"

const serve_route serve_document_routes[] = {
    {"GET", "/api/documents/", SERVE_OURS, 0, get_document, NULL, .summary = "A document by its id, all of its text",
     .answer_schema = "{\"id\":{\"type\":\"string\"},\"text\":{\"type\":\"string\"}}"},
    {"PUT", "/api/documents/", SERVE_OURS, 0, put_document, NULL,
     .summary = "Add a document, in place of one with its id; fields besides these are metadata",
     .body = "{\"text\":{\"type\":\"string\"},\"title\":{\"type\":\"string\"},\"url\":{\"type\":\"string\"},"
             "\"language\":{\"type\":\"string\"}}",
     .answer_schema = ADDED},
    {"DELETE", "/api/documents/", SERVE_OURS, 0, delete_document, NULL, .summary = "Remove a document by its id",
     .answer_schema = "{\"removed\":{\"type\":\"integer\"}}"},
    {"POST", "/api/documents", SERVE_OURS, SERVE_FILE, post_documents, NULL,
     .summary = "Add the documents of a file, or of the files of a form (multipart/form-data): JSON lines, JSON, CSV, "
                "TSV, text, Markdown, HTML, TREC. The Content-Type decides the format, else the extension (notes.md); "
                "language is that of documents that do not state theirs",
     .arguments = "name language", .answer_schema = ADDED},
    {0},
};
