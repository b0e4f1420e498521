/* A small imitation of the Hugging Face hub on loopback, with everything that may go wrong: it answers as the hub's
 * interface is documented; a part of the address selects a fault.
 *
 *   hub : lists of files, small files, redirections of large ones      cdn : large files, uploads; it must see no token
 */
#ifndef SUPPORT_HUB_H
#define SUPPORT_HUB_H

#include "base/sha.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <jansson.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum hub_fault_kind {
  HUB_CODE,       /* number: the status */
  HUB_ENDLESS,    /* number: the status, of a body that does not end */
  HUB_TEXT,       /* text with 200, as HTML */
  HUB_TRUNCATED,  /* after half of it the connection is closed; number: bytes instead of half */
  HUB_CHANGED,    /* a byte is another */
  HUB_LONGER,     /* more bytes than its size */
  HUB_SHORTER,    /* fewer, as if that were all */
  HUB_STALLED,    /* after half of it nothing comes any more */
  HUB_REDIRECTED, /* to text, which may have a %d for the hub's port */
  HUB_WHOLE,      /* 200 with all of it where a range was requested */
  HUB_OTHER_RANGE,
  HUB_ANSWER_LOST, /* the request is carried out, but the answer is 503 */
  HUB_UNSIZED,     /* no header says how many bytes it has; number: how many, '+' after its own */
  HUB_HEADER,      /* "Name: value" of a large or small file's head is another; value "": not there */
} hub_fault_kind;

typedef struct hub_fault {
  const char *method, *part; /* NULL: any method */
  hub_fault_kind kind;
  long number;
  const char *text;
  int times;          /* how often; 0: always */
  long retry_after_s; /* -1: none is said */
} hub_fault;

enum { HUB_MAX_FILES = 64, HUB_MAX_FAULTS = 8, HUB_LARGE = 64, HUB_LOG = 1 << 16 };

typedef struct hub_file {
  char name[256], etag[CQ_SHA_HEX];
  char *bytes;
  size_t n;
  bool is_large;
} hub_file;

typedef struct hub_imitation {
  struct MHD_Daemon *hub, *cdn;
  int port, cdn_port;
  char endpoint[64];
  const char *repository; /* "org/model" */
  const char *kind;       /* "models" */
  const char *token;      /* that is needed; NULL: none */
  char commit[41];
  hub_file files[HUB_MAX_FILES];
  size_t n_files;
  hub_fault faults[HUB_MAX_FAULTS];
  size_t n_faults;
  char log[HUB_LOG];                /* "hub GET /path range=... auth=...\n" */
  hub_file uploaded[HUB_MAX_FILES]; /* large files that no commit has named */
  size_t n_uploaded;
  char sent[HUB_LOG]; /* the last commit, as it came */
  bool exists;        /* the repository, for creating it */
  pthread_mutex_t mutex;
} hub_imitation;

typedef struct hub_body {
  char *bytes;
  size_t n;
} hub_body;

/* --- files --- */

/* A file as the hub keeps it; its bytes are copied. */
static inline void hub_make_file(hub_file *f, const char *name, const void *bytes, size_t n) {
  char head[40];
  cq_sha sha;
  snprintf(f->name, sizeof f->name, "%s", name);
  f->bytes = memcpy(malloc(n + 1), n ? bytes : "", n);
  f->n = n;
  f->is_large = strstr(name, ".safetensors") || strstr(name, ".bin") || strstr(name, ".parquet");
  cq_sha_begin(&sha, f->is_large ? CQ_SHA256 : CQ_SHA1);
  if (!f->is_large) cq_sha_add(&sha, head, 1 + (size_t)snprintf(head, sizeof head, "blob %zu", n));
  cq_sha_add(&sha, bytes, n);
  cq_sha_hex(f->etag, &sha);
}

static inline void hub_add(hub_imitation *h, const char *name, const void *bytes, size_t n) {
  hub_make_file(&h->files[h->n_files++], name, bytes, n);
}

static inline void hub_add_text(hub_imitation *h, const char *name, const char *text) {
  hub_add(h, name, text, strlen(text));
}

/* All files below a directory; prefix: "" at first. */
static inline void hub_add_directory(hub_imitation *h, const char *directory, const char *prefix) {
  DIR *d = opendir(directory);
  for (struct dirent *e; d && (e = readdir(d));) {
    char path[1024], name[256];
    struct stat info;
    if (e->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", directory, e->d_name);
    snprintf(name, sizeof name, "%s%s", prefix, e->d_name);
    if (stat(path, &info) != 0) continue;
    if (S_ISDIR(info.st_mode)) {
      strncat(name, "/", sizeof name - strlen(name) - 1);
      hub_add_directory(h, path, name);
      continue;
    }
    FILE *f = fopen(path, "rb");
    char *bytes = malloc((size_t)info.st_size + 1);
    if (f && fread(bytes, 1, (size_t)info.st_size, f) == (size_t)info.st_size)
      hub_add(h, name, bytes, (size_t)info.st_size);
    if (f) fclose(f);
    free(bytes);
  }
  if (d) closedir(d);
}

static inline hub_file *hub_find(hub_imitation *h, const char *name) {
  for (size_t i = 0; i < h->n_files; i++)
    if (!strcmp(h->files[i].name, name) || !strcmp(h->files[i].etag, name)) return &h->files[i];
  return NULL;
}

/* --- faults --- */

static inline void hub_fail(hub_imitation *h, hub_fault fault) {
  pthread_mutex_lock(&h->mutex);
  if (fault.times == 0) fault.times = 1 << 30;
  h->faults[h->n_faults++] = fault;
  pthread_mutex_unlock(&h->mutex);
}

static inline void hub_forget(hub_imitation *h) {
  pthread_mutex_lock(&h->mutex);
  h->n_faults = 0;
  h->log[0] = '\0';
  pthread_mutex_unlock(&h->mutex);
}

static inline bool hub_take_fault(hub_fault *out, hub_imitation *h, const char *method, const char *path) {
  bool found = false;
  pthread_mutex_lock(&h->mutex);
  for (size_t i = 0; i < h->n_faults && !found; i++) {
    hub_fault *f = &h->faults[i];
    if (f->times <= 0 || (f->method && strcmp(f->method, method) != 0) || !strstr(path, f->part)) continue;
    f->times--;
    *out = *f;
    found = true;
  }
  pthread_mutex_unlock(&h->mutex);
  return found;
}

/* How many requests the log has with this in their line. */
static inline int hub_count(hub_imitation *h, const char *part) {
  int n = 0;
  pthread_mutex_lock(&h->mutex);
  for (const char *line = h->log; *line; line = strchr(line, '\n') + 1) {
    char text[1024];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(line, "\n"), line);
    if (strstr(text, part)) n++;
  }
  pthread_mutex_unlock(&h->mutex);
  return n;
}

/* --- answers --- */

typedef enum MHD_Result hub_result;

static _Thread_local bool hub_answer_is_lost;

static inline hub_result hub_send(struct MHD_Connection *c, unsigned code, struct MHD_Response *r) {
  if (hub_answer_is_lost) {
    MHD_destroy_response(r);
    r = MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
    code = 503;
  }
  MHD_add_response_header(r, "Connection", "close"); /* what is kept open is sent after 40 ms by some versions */
  const hub_result sent = MHD_queue_response(c, code, r);
  MHD_destroy_response(r);
  return sent;
}

static inline struct MHD_Response *hub_text(const char *text, const char *type) {
  struct MHD_Response *r =
      MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
  MHD_add_response_header(r, "Content-Type", type);
  return r;
}

static inline hub_result hub_json(struct MHD_Connection *c, json_t *json) {
  char *text = json_dumps(json, 0);
  json_decref(json);
  struct MHD_Response *r = hub_text(text, "application/json");
  free(text);
  return hub_send(c, 200, r);
}

static inline hub_result hub_refuse(struct MHD_Connection *c, unsigned code, const char *name, const char *message) {
  struct MHD_Response *r = hub_text("{\"error\":\"refused\"}", "application/json");
  MHD_add_response_header(r, "X-Error-Code", name);
  MHD_add_response_header(r, "X-Error-Message", message);
  return hub_send(c, code, r);
}

/* A body that comes byte by byte, for what ends too early or never. */
typedef struct hub_stream {
  const char *bytes;
  size_t n, first, end;
  hub_fault fault;
  bool has_fault;
} hub_stream;

static inline ssize_t hub_stream_read(void *context, uint64_t at, char *out, size_t max) {
  hub_stream *s = context;
  const size_t n = s->end - s->first;
  size_t stop = n;
  if (s->has_fault && (s->fault.kind == HUB_TRUNCATED || s->fault.kind == HUB_STALLED))
    stop = s->fault.number && (size_t)s->fault.number < n ? (size_t)s->fault.number : n / 2;
  if (at >= stop && stop < n) {
    if (s->fault.kind == HUB_TRUNCATED) return MHD_CONTENT_READER_END_WITH_ERROR;
    for (int i = 0; i < 25; i++) usleep(100000); /* nothing comes; the other side gives up */
    return MHD_CONTENT_READER_END_WITH_ERROR;
  }
  if (at >= n) return MHD_CONTENT_READER_END_OF_STREAM;
  size_t count = stop - (size_t)at < max ? stop - (size_t)at : max;
  for (size_t i = 0; i < count; i++) {
    const size_t from = s->first + (size_t)at + i;
    out[i] = from < s->n ? s->bytes[from] : '+';
    if (s->has_fault && s->fault.kind == HUB_CHANGED && from == s->n / 2) out[i] ^= 1;
  }
  return (ssize_t)count;
}

static inline void hub_header(struct MHD_Response *r, const char *name, const char *value, const hub_fault *fault) {
  const size_t n = strlen(name);
  if (fault && fault->kind == HUB_HEADER && !strncmp(fault->text, name, n) && fault->text[n] == ':') {
    if (fault->text[n + 1] && fault->text[n + 2]) MHD_add_response_header(r, name, fault->text + n + 2);
    return;
  }
  MHD_add_response_header(r, name, value);
}

/* The bytes of a file, or a range of them; fault NULL: as it should be. */
static inline hub_result hub_send_file(hub_imitation *h, struct MHD_Connection *c, const hub_file *f, bool is_cdn,
                                       const hub_fault *fault) {
  const char *range = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Range");
  hub_stream *s = calloc(1, sizeof *s);
  unsigned code = 200;
  char text[128];
  *s = (hub_stream){.bytes = f->bytes, .n = f->n, .end = f->n, .has_fault = fault != NULL};
  if (fault) s->fault = *fault;
  if (range && !(fault && fault->kind == HUB_WHOLE)) {
    s->first = (size_t)strtoul(range + strlen("bytes="), NULL, 10);
    if (s->first >= f->n) {
      free(s);
      return hub_refuse(c, 416, "", "");
    }
    code = 206;
    if (fault && fault->kind == HUB_OTHER_RANGE) s->first /= 2;
  }
  if (fault && fault->kind == HUB_LONGER) s->end += 10;
  if (fault && fault->kind == HUB_SHORTER) s->end = s->first + (s->end - s->first) / 2;
  const bool is_unsized = fault && fault->kind == HUB_UNSIZED;
  if (is_unsized) s->end = (size_t)fault->number;
  struct MHD_Response *r =
      fault ? MHD_create_response_from_callback(is_unsized ? MHD_SIZE_UNKNOWN : s->end - s->first, 65536,
                                                hub_stream_read, s, free)
            : MHD_create_response_from_buffer(f->n - s->first, f->bytes + s->first, MHD_RESPMEM_MUST_COPY);
  if (code == 206) {
    snprintf(text, sizeof text, "bytes %zu-%zu/%zu", s->first, s->end - 1, f->n);
    MHD_add_response_header(r, "Content-Range", text);
  }
  if (!fault) free(s);
  if (!is_cdn) {
    snprintf(text, sizeof text, "\"%s\"", f->etag);
    hub_header(r, "ETag", text, fault);
    hub_header(r, "X-Repo-Commit", h->commit, fault);
  }
  return hub_send(c, code, r);
}

static inline hub_result hub_resolve(hub_imitation *h, struct MHD_Connection *c, const char *name,
                                     const hub_fault *fault) {
  hub_file *f = hub_find(h, name);
  char text[256];
  if (!f) return hub_refuse(c, 404, "EntryNotFound", "Entry not found");
  if (!f->is_large) return hub_send_file(h, c, f, false, fault);
  struct MHD_Response *r = hub_text("", "text/plain");
  snprintf(text, sizeof text, "http://127.0.0.1:%d/blob/%s?signature=secret", h->cdn_port, f->etag);
  MHD_add_response_header(r, "Location", text);
  snprintf(text, sizeof text, "\"%s\"", f->etag);
  hub_header(r, "X-Linked-ETag", text, fault);
  snprintf(text, sizeof text, "%zu", f->n);
  hub_header(r, "X-Linked-Size", text, fault);
  hub_header(r, "X-Repo-Commit", h->commit, fault);
  return hub_send(c, 302, r);
}

static inline hub_result hub_list(hub_imitation *h, struct MHD_Connection *c) {
  json_t *files = json_array();
  for (size_t i = 0; i < h->n_files; i++) {
    const hub_file *f = &h->files[i];
    json_t *file = json_pack("{s:s, s:I}", "rfilename", f->name, "size", (json_int_t)f->n);
    if (!f->is_large)
      json_object_set_new(file, "blobId", json_string(f->etag));
    else
      json_object_set_new(
          file, "lfs", json_pack("{s:s, s:I, s:i}", "sha256", f->etag, "size", (json_int_t)f->n, "pointerSize", 134));
    json_array_append_new(files, file);
  }
  return hub_json(c, json_pack("{s:s, s:s, s:s, s:b, s:o, s:[]}", "_id", "1", "id", h->repository, "sha", h->commit,
                               "private", h->token != NULL, "siblings", files, "tags"));
}

static inline ssize_t hub_read_endless(void *context, uint64_t at, char *out, size_t max) {
  (void)context, (void)at;
  memset(out, '+', max);
  return (ssize_t)max;
}

/* The common faults that need nothing of the request. */
static inline bool hub_plain_fault(hub_result *result, hub_imitation *h, struct MHD_Connection *c,
                                   const hub_fault *fault) {
  struct MHD_Response *r;
  char text[512];
  if (fault->kind == HUB_CODE) {
    r = hub_text("{\"error\":\"asked to fail\"}", "application/json");
    snprintf(text, sizeof text, "%ld", fault->retry_after_s);
    if (fault->retry_after_s > 0) MHD_add_response_header(r, "Retry-After", text);
    *result = hub_send(c, (unsigned)fault->number, r);
  } else if (fault->kind == HUB_ENDLESS) {
    r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 65536, hub_read_endless, NULL, NULL);
    *result = hub_send(c, (unsigned)fault->number, r);
  } else if (fault->kind == HUB_TEXT) {
    *result = hub_send(c, 200, hub_text(fault->text, "text/html"));
  } else if (fault->kind == HUB_REDIRECTED) {
    r = hub_text("", "text/plain");
    snprintf(text, sizeof text, fault->text, h->port);
    MHD_add_response_header(r, "Location", text);
    *result = hub_send(c, 302, r);
  } else {
    return false;
  }
  return true;
}

static inline hub_result hub_answer_get(hub_imitation *h, struct MHD_Connection *c, const char *path,
                                        const hub_fault *fault) {
  char prefix[300];
  snprintf(prefix, sizeof prefix, "/api/%s/%s", h->kind, h->repository);
  if (!strncmp(path, prefix, strlen(prefix)) && (!path[strlen(prefix)] || path[strlen(prefix)] == '/'))
    return h->exists ? hub_list(h, c) : hub_refuse(c, 404, "RepoNotFound", "Repository not found");
  snprintf(prefix, sizeof prefix, "/%s%s/resolve/", !strcmp(h->kind, "datasets") ? "datasets/" : "", h->repository);
  if (!strncmp(path, prefix, strlen(prefix)) && strchr(path + strlen(prefix), '/'))
    return hub_resolve(h, c, strchr(path + strlen(prefix), '/') + 1, fault);
  return hub_refuse(c, 404, "RepoNotFound", "Repository not found");
}

/* Called for each upload; see tests/hub/test_put.c. NULL: nothing can be uploaded. */
static hub_result (*hub_answer_post)(hub_imitation *h, struct MHD_Connection *c, const char *path,
                                     const hub_body *body);

static inline hub_result hub_answer(void *context, struct MHD_Connection *c, const char *path, const char *method,
                                    const char *version, const char *data, size_t *n_data, void **state) {
  hub_imitation *h = context;
  hub_body *body = *state;
  hub_fault fault;
  hub_result result;
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_DAEMON);
  const bool is_cdn = info && info->daemon == h->cdn;
  (void)version;
  if (!body) {
    *state = calloc(1, sizeof *body);
    return MHD_YES;
  }
  if (*n_data) {
    body->bytes = realloc(body->bytes, body->n + *n_data + 1);
    memcpy(body->bytes + body->n, data, *n_data);
    body->bytes[body->n += *n_data] = '\0';
    *n_data = 0;
    return MHD_YES;
  }
  const char *token = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
  const char *range = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Range");
  pthread_mutex_lock(&h->mutex);
  const size_t n = strlen(h->log);
  snprintf(h->log + n, sizeof h->log - n, "%s %s %s range=%s auth=%s\n", is_cdn ? "cdn" : "hub", method, path,
           range ? range : "-", token ? token : "-");
  pthread_mutex_unlock(&h->mutex);
  const bool has_fault = hub_take_fault(&fault, h, method, path);
  hub_answer_is_lost = has_fault && fault.kind == HUB_ANSWER_LOST;
  if (has_fault && hub_plain_fault(&result, h, c, &fault)) return result;
  if (is_cdn && !strncmp(path, "/blob/", 6)) {
    hub_file *f = hub_find(h, path + 6);
    return f ? hub_send_file(h, c, f, true, has_fault ? &fault : NULL) : hub_refuse(c, 403, "", "");
  }
  if (!is_cdn && h->token && (!token || strncmp(token, "Bearer ", 7) != 0 || strcmp(token + 7, h->token) != 0))
    return hub_refuse(c, token ? 403 : 401, token ? "GatedRepo" : "RepoNotFound", "Access is restricted");
  if (!strcmp(method, "POST") || !strcmp(method, "PUT"))
    return hub_answer_post ? hub_answer_post(h, c, path, body) : hub_refuse(c, 405, "", "");
  return hub_answer_get(h, c, path, has_fault ? &fault : NULL);
}

static inline void hub_answered(void *context, struct MHD_Connection *c, void **state,
                                enum MHD_RequestTerminationCode why) {
  hub_body *body = *state;
  (void)context, (void)c, (void)why;
  if (body) free(body->bytes);
  free(body);
  *state = NULL;
}

static inline struct MHD_Daemon *hub_listen(hub_imitation *h, int *port) {
  struct sockaddr_in a = {.sin_family = AF_INET};
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  struct MHD_Daemon *d =
      MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, hub_answer, h,
                       MHD_OPTION_SOCK_ADDR, &a, MHD_OPTION_NOTIFY_COMPLETED, hub_answered, NULL, MHD_OPTION_END);
  const union MHD_DaemonInfo *info = d ? MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT) : NULL;
  *port = info ? info->port : 0;
  return d;
}

static inline bool hub_open(hub_imitation *h, const char *kind, const char *repository) {
  memset(h, 0, sizeof *h);
  pthread_mutex_init(&h->mutex, NULL);
  h->kind = kind, h->repository = repository, h->exists = true;
  snprintf(h->commit, sizeof h->commit, "%040x", 0xc0ffee);
  h->hub = hub_listen(h, &h->port);
  h->cdn = hub_listen(h, &h->cdn_port);
  snprintf(h->endpoint, sizeof h->endpoint, "http://127.0.0.1:%d", h->port);
  return h->hub && h->cdn;
}

static inline void hub_close(hub_imitation *h) {
  MHD_stop_daemon(h->hub);
  MHD_stop_daemon(h->cdn);
  for (size_t i = 0; i < h->n_files; i++) free(h->files[i].bytes);
  pthread_mutex_destroy(&h->mutex);
}

#endif
