/* The file of a document, as the page links it: GET /api/files/ID.
 *
 *   ID of a document in the index ──▶ FILE, FILE#ID or FILE:LINE in the served folder ──▶ its bytes
 *                                 └─ no folder, or the file has gone ──▶ the document's text
 *
 * A file is opened component by component, and none may begin with a dot. Text is shown as text/plain, a PDF as such;
 * whatever could run or is opened by another program (HTML, DOCX) is for downloading only. */
#include "serve/route.h"

#include "base/error.h"
#include "base/utf8.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE ((size_t)64 << 20)

/* Opens a file below a directory; -1: there is none, or its path has a component that no document's file has. */
static int open_below(const char *folder, char *path) {
  int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (char *next = path; at >= 0 && next;) {
    char *name = next, *slash = strchr(name, '/');
    if (slash) *slash = '\0';
    next = slash ? slash + 1 : NULL;
    const int below = !*name || *name == '.'
                          ? -1
                          : openat(at, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (next ? O_DIRECTORY : 0));
    close(at);
    at = below;
    if (slash) *slash = '/';
  }
  struct stat info;
  if (at >= 0 && (fstat(at, &info) || !S_ISREG(info.st_mode))) close(at), at = -1;
  return at;
}

/* %23 and %25 in the name of an ID are # and %, if no file has that name. */
static void decode_marks(char *name) {
  char *out = name;
  for (const char *c = name; *c; c++) {
    const bool is_mark = !strncmp(c, "%23", 3) || !strncmp(c, "%25", 3);
    *out++ = is_mark ? (c[2] == '3' ? '#' : '%') : *c;
    if (is_mark) c += 2;
  }
  *out = '\0';
}

/* Opens the file of a document: the longest part of its ID that names one. name [strlen(id) + 1] gets that. */
static int open_file(char *name, const serve_request *r) {
  const char *folder = r->shared->folder;
  struct stat info;
  int file = -1;
  if (!folder || !r->model->is_of_folder || stat(folder, &info)) return -1;
  if (!S_ISDIR(info.st_mode)) { /* the FILE that is served, in its folder */
    const char *slash = strrchr(folder, '/');
    const char *base = slash ? slash + 1 : folder;
    const size_t n = strlen(base);
    if (strncmp(r->rest, base, n) != 0 || (r->rest[n] && !strchr("#:", r->rest[n]))) return -1;
    memcpy(name, base, n + 1); /* a part of the ID */
    return open(folder, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  }
  for (size_t n = strlen(r->rest); file < 0 && n > 0;) {
    for (int decoded = 0; decoded < 2 && file < 0; decoded++) {
      memcpy(name, r->rest, n), name[n] = '\0';
      if (decoded && !strchr(name, '%')) break;
      if (decoded) decode_marks(name);
      file = open_below(folder, name);
    }
    do n--;
    while (n > 0 && r->rest[n] != '#' && r->rest[n] != ':');
  }
  return file;
}

/* Its type; *is_shown: in the browser. */
static const char *type_of(bool *is_shown, const char *name, const cq_builder *bytes) {
  static const struct {
    const char *ending, *type;
    bool is_shown;
  } rows[] = {{".pdf", "application/pdf", true},
              {".html", "text/html", false},
              {".htm", "text/html", false},
              {".xhtml", "application/xhtml+xml", false},
              {".svg", "image/svg+xml", false},
              {".epub", "application/epub+zip", false},
              {".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", false},
              {".odt", "application/vnd.oasis.opendocument.text", false}};
  const size_t n = strlen(name);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const size_t n_ending = strlen(rows[i].ending);
    *is_shown = rows[i].is_shown;
    if (n > n_ending && !strcasecmp(name + n - n_ending, rows[i].ending)) return rows[i].type;
  }
  const cq_slice text = cq_built(bytes);
  const bool has_nul = text.n && memchr(text.data, 0, text.n);
  *is_shown = !has_nul;
  return has_nul                                           ? "application/octet-stream"
         : cq_utf8_invalid_at(text.data, text.n) == text.n ? "text/plain; charset=utf-8"
                                                           : "text/plain";
}

/* inline; filename*=UTF-8''a%20name.txt */
static void put_disposition(serve_request *r, bool is_shown, const char *name) {
  cq_builder b = {0};
  const char *slash = strrchr(name, '/');
  cq_builder_text(&b, is_shown ? "inline; filename*=UTF-8''" : "attachment; filename*=UTF-8''");
  for (const char *c = slash ? slash + 1 : name; *c; c++) {
    const bool is_plain = (*c >= '0' && *c <= '9') || ((*c | 32) >= 'a' && (*c | 32) <= 'z') || strchr("-._~", *c);
    cq_builder_printf(&b, is_plain ? "%c" : "%%%02X", (unsigned char)*c);
  }
  r->disposition = b.failed ? NULL : b.data;
  if (b.failed) serve_fail_memory(r), cq_builder_free(&b);
}

static void answer_file(serve_request *r, int file, const char *name) {
  char bytes[1 << 16];
  bool is_shown;
  ssize_t n;
  while ((n = read(file, bytes, sizeof bytes)) > 0 && r->answer.n <= MAX_FILE)
    cq_builder_bytes(&r->answer, bytes, (size_t)n);
  if (n < 0) {
    serve_fail(r, SERVE_INTERNAL, NULL, "the file of '%.200s' cannot be read", r->rest);
  } else if (r->answer.n > MAX_FILE) {
    serve_fail(r, SERVE_TOO_LARGE, NULL, "the file of '%.200s' has more than %zu MiB", r->rest, MAX_FILE >> 20);
  } else {
    r->content_type = type_of(&is_shown, name, &r->answer);
    serve_answer(r);
    if (r->code == 200) put_disposition(r, is_shown, name);
  }
}

static void get_file(serve_request *r) {
  cq_document *document;
  cq_error error = {0};
  if (!serve_has_index(r, false)) return;
  if (serve_model_refresh(r->model, &error) || cq_index_get(&document, r->model->index, cq_slice_of(r->rest), &error)) {
    serve_fail_error(r, &error);
    return;
  }
  char *name = malloc(strlen(r->rest) + 1);
  const int file = name && document ? open_file(name, r) : -1;
  if (!name) {
    serve_fail_memory(r);
  } else if (!document) {
    serve_fail(r, SERVE_NOT_FOUND, NULL, "there is no document '%.200s'", r->rest);
  } else if (file >= 0) {
    answer_file(r, file, name);
  } else {
    cq_builder_slice(&r->answer, document->text);
    r->content_type = "text/plain; charset=utf-8";
    serve_answer(r);
    if (r->code == 200) put_disposition(r, true, r->rest);
  }
  if (file >= 0) close(file);
  cq_free(document);
  free(name);
}

const serve_route serve_file_routes[] = {
    {"GET", "/api/files/", SERVE_OURS, 0, get_file, NULL,
     .summary = "The file of a document of a served folder, by the document's id; of another index, the document's "
                "text. Text is text/plain; HTML and office files are attachments"},
    {0},
};
