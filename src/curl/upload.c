/* Large files go to a store of their own (Git LFS): the hub names the address for each, and is notified when the upload
 * is done. */
#include "curl/upload.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "curl/hub_card.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_BYTES = 1 << 16, MAX_UPLOAD_HEADERS = 5 };

/* --- what there is --- */

/* Both hashes: the hub decides which of them it uses. */
static cq_status hash_upload(cq_hub_upload *u, cq_error *error) {
  char head[40];
  cq_sha large, small;
  const size_t n_head = 1 + (size_t)snprintf(head, sizeof head, "blob %llu", (unsigned long long)u->n_bytes);
  cq_sha_begin(&large, CQ_SHA256), cq_sha_begin(&small, CQ_SHA1);
  cq_sha_add(&small, head, n_head);
  if (!u->path) {
    cq_sha_add(&large, u->text.data, u->text.n), cq_sha_add(&small, u->text.data, u->text.n);
  } else {
    cq_mapping m;
    cq_status status = cq_mapping_open(&m, u->path, error);
    if (status) return status;
    cq_sha_add(&large, m.data, m.n), cq_sha_add(&small, m.data, m.n);
    u->n_bytes = m.n;
    cq_mapping_close(&m);
  }
  cq_sha_hex(u->sha256, &large), cq_sha_hex(u->git_hash, &small);
  return CQ_OK;
}

static cq_status collect_file(cq_hub_uploads *u, const cq_walked *file, bool with_hashes, cq_error *error) {
  struct stat info;
  if (!strcmp(file->name, "README.md")) return CQ_OK; /* the card takes its place */
  if (!strcmp(file->name, "log.jsonl")) return CQ_OK; /* names files of this machine */
  if (stat(file->path, &info) != 0) return cq_fail_errno(error, file->path, "cannot stat");
  cq_hub_upload *f = &u->files[u->n++];
  *f = (cq_hub_upload){.path = file->path, .name = file->name, .n_bytes = (uint64_t)info.st_size};
  u->n_bytes += f->n_bytes;
  return with_hashes ? hash_upload(f, error) : CQ_OK;
}

cq_status cq_hub_uploads_collect(cq_hub_uploads *out, const char *directory, const char *repository,
                                 const cq_hub_put_options *options, bool with_hashes, cq_error *error) {
  bool is_model = false;
  *out = (cq_hub_uploads){0};
  if (!cq_is_directory(directory))
    return cq_fail_file(error, CQ_ERR_IO, directory, "no such directory: a model is sent from one");
  cq_status status = cq_walk_add(&out->walk, directory, error);
  for (size_t i = 0; !status && i < out->walk.n; i++)
    is_model =
        is_model || !strcmp(out->walk.files[i].name, "modules.json") || !strcmp(out->walk.files[i].name, "config.json");
  if (!status && !is_model)
    status = cq_fail_file(error, CQ_ERR_ARGUMENT, directory, "is not a model: no modules.json, no config.json");
  if (!status) status = cq_hub_card_write(&out->card, directory, repository, options, error);
  if (!status && !(out->files = cq_alloc_array_zeroed(out->walk.n + 1, sizeof *out->files)))
    status = cq_fail_memory(error, directory);
  if (!status) {
    out->files[out->n++] =
        (cq_hub_upload){.name = "README.md", .text = {out->card.data, out->card.n}, .n_bytes = out->card.n};
    out->n_bytes = out->card.n;
    if (with_hashes) status = hash_upload(&out->files[0], error);
  }
  for (size_t i = 0; !status && i < out->walk.n; i++)
    status = collect_file(out, &out->walk.files[i], with_hashes, error);
  if (status) cq_hub_uploads_free(out);
  return status;
}

void cq_hub_uploads_free(cq_hub_uploads *u) {
  cq_walk_free(&u->walk);
  cq_builder_free(&u->card);
  cq_free(u->files);
  *u = (cq_hub_uploads){0};
}

/* --- sending --- */

cq_status cq_hub_post_json(json_t **out, int *code, cq_hub_session *s, const char *url, json_t *body, const char *type,
                           cq_error *error) {
  char content_type[100], accept[100];
  char *text = body ? cq_json_dump(body, JSON_COMPACT) : NULL;
  json_decref(body);
  *out = NULL;
  if (!text) return cq_fail_memory(error, url);
  snprintf(content_type, sizeof content_type, "Content-Type: %s", type);
  snprintf(accept, sizeof accept, "Accept: %s", type);
  const cq_hub_request request = {
      .method = "POST", .url = url, .headers = {content_type, accept}, .body = text, .n_body = strlen(text)};
  cq_status status = cq_hub_ask_json(out, code, s, &request, error);
  cq_free(text);
  return status;
}

typedef struct sending {
  cq_hub_session *session;
  const cq_hub_upload *file;
  int fd;
  uint64_t n, done_before;
  cq_status failure;
  cq_error failed;
} sending;

static size_t read_upload(void *context, void *bytes, size_t n) {
  sending *s = context;
  for (;;) {
    const ssize_t got = pread(s->fd, bytes, n, (off_t)s->n);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 || (got == 0 && s->n < s->file->n_bytes)) {
      s->failure = got < 0 ? cq_fail_errno(&s->failed, s->file->path, "cannot read")
                           : cq_fail_file(&s->failed, CQ_ERR_IO, s->file->path, "became shorter while it was sent");
      return SIZE_MAX;
    }
    s->n += (uint64_t)got;
    s->session->done = s->done_before + s->n;
    return (size_t)got;
  }
}

static bool rewind_upload(void *context) {
  sending *s = context;
  s->n = 0;
  s->session->done = s->done_before;
  return true;
}

/* The headers that the store requires, as "Name: value" in texts. */
static cq_status take_headers(cq_builder texts[MAX_UPLOAD_HEADERS], cq_hub_request *r, json_t *headers, const char *url,
                              cq_error *error) {
  const char *name;
  json_t *value;
  size_t n = 0;
  json_object_foreach(headers, name, value) {
    if (!json_is_string(value)) continue;
    if (n == MAX_UPLOAD_HEADERS || strpbrk(name, "\r\n:") || strpbrk(json_string_value(value), "\r\n"))
      return cq_fail_file(error, CQ_ERR_FORMAT, url, "the hub requires headers that cannot be sent");
    cq_builder_printf(&texts[n], "%s: %s", name, json_string_value(value));
    if (texts[n].failed) return cq_fail_memory(error, url);
    r->headers[n] = texts[n].data;
    n++;
  }
  return CQ_OK;
}

static cq_status send_contents(cq_hub_session *s, const cq_hub_upload *file, json_t *action, const char *batch_url,
                               cq_error *error) {
  const char *url = json_string_value(json_object_get(action, "href"));
  cq_builder texts[MAX_UPLOAD_HEADERS] = {{0}};
  if (!url) return cq_fail_file(error, CQ_ERR_FORMAT, batch_url, "does not say where %s is to be sent", file->name);
  sending *x = cq_alloc_zeroed(sizeof *x);
  if (!x) return cq_fail_memory(error, file->name);
  *x = (sending){.session = s, .file = file, .done_before = s->done};
  cq_hub_request request = {.method = "PUT",
                            .url = url,
                            .is_foreign = true,
                            .n_body = file->n_bytes,
                            .read = read_upload,
                            .rewind = rewind_upload,
                            .context = x,
                            .stall_s = s->download_s,
                            .failure = &x->failure,
                            .failed = &x->failed};
  cq_hub_answer a = {0};
  s->what = file->name;
  cq_status status = take_headers(texts, &request, json_object_get(action, "header"), batch_url, error);
  x->fd = status ? -1 : open(file->path, O_RDONLY | O_CLOEXEC);
  if (!status && x->fd < 0) status = cq_fail_errno(error, file->path, "cannot open");
  if (!status) status = cq_hub_ask(&a, s, &request, error);
  if (x->fd >= 0) close(x->fd);
  for (size_t i = 0; i < MAX_UPLOAD_HEADERS; i++) cq_builder_free(&texts[i]);
  cq_hub_answer_free(&a);
  cq_free(x);
  return status;
}

static json_t *lfs_object(const cq_hub_upload *file) {
  json_t *object = json_object();
  cq_json_set(&object, "oid", json_string(file->sha256));
  cq_json_set(&object, "size", json_integer((json_int_t)file->n_bytes));
  return object;
}

/* Handles one object of the batch's response; an object that the hub already has comes without actions. */
static cq_status send_object(cq_hub_session *s, const cq_hub_upload *file, json_t *object, const char *url,
                             cq_error *error) {
  json_t *actions = json_object_get(object, "actions"), *upload = json_object_get(actions, "upload");
  const char *said = json_string_value(json_object_get(json_object_get(object, "error"), "message"));
  const char *verify = json_string_value(json_object_get(json_object_get(actions, "verify"), "href"));
  cq_hub_answer a = {0};
  if (said) return cq_fail_file(error, CQ_ERR_IO, url, "%s: %.300s", file->name, said);
  if (!upload) return CQ_OK;
  cq_status status = send_contents(s, file, upload, url, error);
  if (status || !verify) return status;
  json_t *body = lfs_object(file);
  char *text = body ? cq_json_dump(body, JSON_COMPACT) : NULL;
  json_decref(body);
  if (!text) return cq_fail_memory(error, url);
  const cq_hub_request request = {.method = "POST",
                                  .url = verify,
                                  .headers = {"Content-Type: application/vnd.git-lfs+json"},
                                  .body = text,
                                  .n_body = strlen(text)};
  status = cq_hub_ask(&a, s, &request, error);
  cq_hub_answer_free(&a);
  cq_free(text);
  return status;
}

cq_status cq_hub_uploads_send(cq_hub_session *s, cq_hub_uploads *u, const char *repository, cq_error *error) {
  static const char type[] = "application/vnd.git-lfs+json";
  cq_builder url = {0};
  json_t *body = json_object(), *objects = json_array(), *transfers = json_array(), *answer = NULL;
  size_t n = 0;
  for (size_t i = 0; i < u->n; i++)
    if (u->files[i].is_large && !u->files[i].is_unchanged) cq_json_push(&objects, lfs_object(&u->files[i])), n++;
  cq_json_push(&transfers, json_string("basic"));
  cq_json_set(&body, "operation", json_string("upload"));
  cq_json_set(&body, "transfers", transfers);
  cq_json_set(&body, "objects", objects);
  cq_json_set(&body, "hash_algo", json_string("sha256"));
  cq_builder_printf(&url, "%s/%s.git/info/lfs/objects/batch", s->endpoint, repository);
  if (!n || url.failed || !body) {
    json_decref(body);
    cq_builder_free(&url);
    return n ? cq_fail_memory(error, repository) : CQ_OK;
  }
  cq_status status = cq_hub_post_json(&answer, NULL, s, url.data, body, type, error);
  const json_t *list = json_object_get(answer, "objects");
  for (size_t i = 0; !status && i < u->n; i++) {
    const cq_hub_upload *file = &u->files[i];
    json_t *object = NULL;
    if (!file->is_large || file->is_unchanged) continue;
    for (size_t k = 0; k < json_array_size(list) && !object; k++) {
      const char *oid = json_string_value(json_object_get(json_array_get(list, k), "oid"));
      if (oid && !strcmp(oid, file->sha256)) object = json_array_get(list, k);
    }
    status = object ? send_object(s, file, object, url.data, error)
                    : cq_fail_file(error, CQ_ERR_FORMAT, url.data, "says nothing of %s", file->name);
  }
  json_decref(answer);
  cq_builder_free(&url);
  return status;
}
