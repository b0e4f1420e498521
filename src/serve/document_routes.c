/* Routes of an index's documents: one document by its id, or many in a body of any format. Replies come after changes
 * are on disk. */
#include "serve/route.h"

#include "base/file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_index(serve_request *r, bool writing) {
  if (!r->model->index)
    serve_fail(r, SERVE_NOT_FOUND, NULL, "there is no index: start the server as 'calque serve INDEX'");
  else if (writing && !r->shared->writable)
    serve_fail(r, SERVE_FORBIDDEN, NULL, "the index is read-only: start the server with --writable");
  return r->code == 0;
}

static cq_slice slice_of(const char *text) {
  return (cq_slice){text, strlen(text)};
}

static void get_document(serve_request *r) {
  cq_document *document;
  cq_error error = {0};
  char *json = NULL;
  if (!has_index(r, false)) return;
  if (cq_index_get(&document, r->model->index, slice_of(r->rest), &error)) {
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
  const cq_slice id = slice_of(r->rest);
  cq_error error = {0};
  size_t n = 0;
  if (!has_index(r, true)) return;
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

/* A compressed body may expand a thousandfold: its documents may have this multiple of --max-body. */
enum { MAX_EXPANSION = 8 };

/* A body's documents, which are all read before any is added: a bad one adds nothing. */
typedef struct batch {
  cq_document *documents, **blocks; /* [n]; blocks have their texts */
  size_t n, capacity, n_blank, n_bytes;
} batch;

static void free_batch(batch *b) {
  for (size_t i = 0; i < b->n; i++) cq_free(b->blocks[i]);
  free(b->documents);
  free(b->blocks);
}

static bool grow_batch(batch *b) {
  if (b->n < b->capacity) return true;
  const size_t capacity = b->capacity ? 2 * b->capacity : 64;
  cq_document *documents = realloc(b->documents, capacity * sizeof *documents);
  if (documents) b->documents = documents;
  cq_document **blocks = documents ? realloc(b->blocks, capacity * sizeof *blocks) : NULL;
  if (blocks) b->blocks = blocks, b->capacity = capacity;
  return blocks != NULL;
}

/* Keeps a borrowed document. */
static bool keep_document(batch *b, const cq_document *borrowed) {
  cq_error error;
  if (!grow_batch(b) || cq_document_copy(&b->blocks[b->n], borrowed, &error)) return false;
  b->documents[b->n] = *b->blocks[b->n];
  b->n++;
  return true;
}

/* Adds and commits; answers. */
static void add_batch(serve_request *r, batch *b) {
  cq_index *index = r->model->index;
  cq_error error = {0};
  const size_t before = cq_index_size(index), n_passages = cq_index_n_passages(index);
  if (b->n && cq_index_add_commit(index, b->documents, b->n, r->shared->ctx, &error)) {
    serve_fail_error(r, &error);
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
  json_t *body = has_index(r, true) ? serve_body_json(r) : NULL;
  if (!body) return;
  const char *text = NULL, *title = NULL, *url = NULL, *language = NULL;
  if (!*r->rest) {
    serve_fail(r, SERVE_INVALID, NULL, "the id is empty: PUT /api/documents/ID");
  } else if (serve_get_text(&text, r, body, "text") && serve_get_text(&title, r, body, "title") &&
             serve_get_text(&url, r, body, "url") && serve_get_text(&language, r, body, "language")) {
    cq_document d = {.id = slice_of(r->rest),
                     .text = slice_of(text ? text : ""),
                     .title = slice_of(title ? title : ""),
                     .url = slice_of(url ? url : ""),
                     .language = slice_of(language ? language : "")};
    static const char *const known[] = {"id", "text", "title", "url", "language"};
    json_t *others = json_copy(body);
    for (size_t i = 0; others && i < sizeof known / sizeof *known; i++) json_object_del(others, known[i]);
    char *metadata = json_object_size(others) ? json_dumps(others, JSON_COMPACT) : NULL;
    json_decref(others);
    if (metadata) d.metadata = slice_of(metadata);
    if (cq_document_is_blank(&d))
      serve_fail(r, SERVE_INVALID, "text", "'text' is missing or blank");
    else if (!keep_document(&b, &d))
      serve_fail_memory(r);
    else
      add_batch(r, &b);
    free(metadata);
  }
  json_decref(body);
  free_batch(&b);
}

/* Reads the documents of a temporary file; its directory is removed from ids and messages. */
static bool read_file(serve_request *r, batch *b, const char *path, size_t n_directory) {
  cq_documents_options o = cq_documents_default_options();
  cq_documents *in;
  cq_error error = {0};
  cq_document d;
  const char *language = r->argument(r, "language");
  if (language && *language) o.language = language;
  cq_status status = cq_documents_open(&in, &path, 1, &o, &error);
  if (status) {
    serve_fail_error(r, &error);
    return false;
  }
  while (!status && !(status = cq_documents_next(&d, in, &error)) && d.id.data) {
    if (d.id.n > n_directory && !memcmp(d.id.data, path, n_directory)) d.id.data += n_directory, d.id.n -= n_directory;
    b->n_bytes += d.id.n + d.language.n + d.text.n + d.title.n + d.url.n + d.metadata.n;
    if (b->n_bytes > MAX_EXPANSION * r->shared->limits.max_body) {
      serve_fail(r, SERVE_TOO_LARGE, NULL, "the documents have more than %zu bytes, %d times --max-body",
                 MAX_EXPANSION * r->shared->limits.max_body, MAX_EXPANSION);
      break;
    }
    if (cq_document_is_blank(&d)) {
      b->n_blank++;
    } else if (!keep_document(b, &d)) {
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

/* The name is the last component of the client's file name; its extension determines the format. */
static const char *name_of_upload(const serve_request *r) {
  const char *name = r->argument(r, "name");
  const char *slash = name ? strrchr(name, '/') : NULL;
  if (slash) name = slash + 1;
  return name && *name && *name != '.' && strlen(name) < 200 ? name : "documents";
}

static void post_documents(serve_request *r) {
  batch b = {0};
  char path[PATH_MAX];
  cq_directory_writer place;
  cq_error error = {0};
  if (!has_index(r, true)) return;
  if (cq_directory_writer_temporary(&place, "calque-upload", &error)) {
    serve_fail(r, SERVE_INTERNAL, NULL, "%s", error.message);
    return;
  }
  const size_t n_directory = strlen(place.temporary) + 1;
  snprintf(path, sizeof path, "%s/%s", place.temporary, name_of_upload(r));
  FILE *file = fopen(path, "wb");
  const bool written = file && fwrite(r->body.data ? r->body.data : "", 1, r->body.n, file) == r->body.n;
  const bool closed = file && fclose(file) == 0;
  if (!written || !closed)
    serve_fail(r, SERVE_INTERNAL, NULL, "cannot write a temporary file: %s", strerror(errno));
  else if (read_file(r, &b, path, n_directory))
    add_batch(r, &b);
  cq_directory_writer_abort(&place);
  free_batch(&b);
}

#define ADDED                                                                                                          \
  "{\"added\":{\"type\":\"integer\"},\"replaced\":{\"type\":\"integer\"},\"blank\":{\"type\":\"integer\"},"            \
  "\"passages\":{\"type\":\"integer\"},\"documents\":{\"type\":\"integer\"}}"

const serve_route serve_document_routes[] = {
    {.method = "GET",
     .path = "/api/documents/",
     .prepare = get_document,
     .summary = "A document by its id, all of its text",
     .answer_schema = "{\"id\":{\"type\":\"string\"},\"text\":{\"type\":\"string\"}}"},
    {.method = "PUT",
     .path = "/api/documents/",
     .prepare = put_document,
     .summary = "Add a document, in place of one with its id; fields besides these are metadata",
     .body = "{\"text\":{\"type\":\"string\"},\"title\":{\"type\":\"string\"},\"url\":{\"type\":\"string\"},"
             "\"language\":{\"type\":\"string\"}}",
     .answer_schema = ADDED},
    {.method = "DELETE",
     .path = "/api/documents/",
     .prepare = delete_document,
     .summary = "Remove a document by its id",
     .answer_schema = "{\"removed\":{\"type\":\"integer\"}}"},
    {.method = "POST",
     .path = "/api/documents",
     .flags = SERVE_FILE,
     .prepare = post_documents,
     .summary = "Add the documents of a file: JSON lines, JSON, CSV, TSV, text, Markdown, HTML, TREC. The extension "
                "(notes.md) decides the format; language is that of documents that do not state theirs",
     .arguments = "name language",
     .answer_schema = ADDED},
    {0},
};
