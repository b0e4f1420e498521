/* Uploads a model's directory as one commit:
 *
 *   card, hashes ──▶ files in the repository (created if missing) ──▶ which files are large
 *   large files to their store ──▶ commit on the known parent: contains small files, refers to large ones by hash */
#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "calque/version.h"
#include "curl/upload.h"

enum { SAMPLE_BYTES = 512 };

/* --- the repository --- */

/* It may already exist: an earlier attempt, whose response was lost, may have created it. */
static cq_status create_repository(cq_hub_session *s, const char *repository, bool is_private, cq_error *error) {
  char url[1200], organization[CQ_HUB_NAME];
  const char *slash = strchr(repository, '/');
  json_t *body = json_object(), *answer;
  snprintf(url, sizeof url, "%s/api/repos/create", s->endpoint);
  snprintf(organization, sizeof organization, "%.*s", (int)(slash - repository), repository);
  cq_json_set(&body, "name", json_string(slash + 1));
  cq_json_set(&body, "organization", json_string(organization));
  cq_json_set(&body, "type", json_string("model"));
  cq_json_set(&body, "private", json_boolean(is_private));
  int code = 0;
  const cq_status status = cq_hub_post_json(&answer, &code, s, url, body, "application/json", error);
  json_decref(answer);
  return status == CQ_ERR_IO && code == 409 ? CQ_OK : status;
}

/* Lists the repository's files; creates it if it does not exist. */
static cq_status open_repository(cq_hub_listing *l, cq_hub_session *s, const cq_hub_name *name,
                                 const cq_hub_put_options *o, cq_error *error) {
  int code;
  cq_status status = cq_hub_list(l, &code, s, "models", name->repository, name->revision, error);
  if (status != CQ_ERR_IO || code != 404 || strcmp(name->revision, "main") != 0) return status;
  status = create_repository(s, name->repository, o->is_private, error);
  return status ? status : cq_hub_list(l, &code, s, "models", name->repository, name->revision, error);
}

static bool is_same(const cq_hub_upload *file, const cq_hub_file *there) {
  if (!there) return false;
  return there->sha256 ? !strcmp(there->sha256, file->sha256)
                       : there->git_hash && !strcmp(there->git_hash, file->git_hash);
}

/* Finds files that already exist; a file with different contents is an error. */
static cq_status compare_files(cq_hub_uploads *u, const cq_hub_listing *l, const char *repository,
                               const cq_hub_put_options *o, cq_error *error) {
  for (size_t i = 0; i < u->n; i++) {
    cq_hub_upload *file = &u->files[i];
    const cq_hub_file *there = cq_hub_listing_find(l, file->name);
    if (!there) continue;
    file->is_unchanged = is_same(file, there);
    if (!file->is_unchanged && !o->replace)
      return cq_fail_file(error, CQ_ERR_ARGUMENT, repository,
                          "has a %s with other contents: nothing was sent (replace sends it anyway)", file->name);
    if (file->is_unchanged) u->n_bytes -= file->n_bytes;
  }
  return CQ_OK;
}

/* --- which files are large --- */

static cq_status read_start(cq_builder *out, const cq_hub_upload *file, cq_error *error) {
  char bytes[SAMPLE_BYTES];
  cq_slice start = {file->text.data, cq_min(file->text.n, SAMPLE_BYTES)};
  if (file->path) {
    FILE *f = fopen(file->path, "rbe");
    if (!f) return cq_fail_errno(error, file->path, "cannot open");
    start = (cq_slice){bytes, fread(bytes, 1, sizeof bytes, f)};
    fclose(f);
  }
  cq_builder_clear(out);
  cq_builder_bytes(out, "", 0);
  cq_base64_encode(out, start);
  return out->failed ? cq_fail_memory(error, file->name) : CQ_OK;
}

static cq_status take_modes(cq_hub_uploads *u, const json_t *answer, const char *url, cq_error *error) {
  const json_t *list = json_object_get(answer, "files");
  for (size_t i = 0; i < u->n; i++) {
    const char *mode = NULL;
    for (size_t k = 0; k < json_array_size(list); k++) {
      const json_t *entry = json_array_get(list, k);
      const char *path = json_string_value(json_object_get(entry, "path"));
      if (path && !strcmp(path, u->files[i].name)) mode = json_string_value(json_object_get(entry, "uploadMode"));
    }
    if (!u->files[i].is_unchanged && (!mode || (strcmp(mode, "lfs") != 0 && strcmp(mode, "regular") != 0)))
      return cq_fail_file(error, CQ_ERR_FORMAT, url, "does not say how %s is sent", u->files[i].name);
    u->files[i].is_large = mode && !strcmp(mode, "lfs") && u->files[i].path;
  }
  return CQ_OK;
}

static cq_status ask_modes(cq_hub_session *s, cq_hub_uploads *u, const cq_hub_name *name, cq_error *error) {
  cq_builder url = {0}, sample = {0};
  json_t *body = json_object(), *files = json_array(), *answer = NULL;
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < u->n; i++) {
    if (u->files[i].is_unchanged) continue;
    status = read_start(&sample, &u->files[i], error);
    json_t *file = json_object();
    cq_json_set(&file, "path", json_string(u->files[i].name));
    cq_json_set(&file, "size", json_integer((json_int_t)u->files[i].n_bytes));
    cq_json_set(&file, "sample", json_string(sample.data ? sample.data : ""));
    cq_json_push(&files, file);
  }
  cq_json_set(&body, "files", files);
  cq_builder_printf(&url, "%s/api/models/%s/preupload/", s->endpoint, name->repository);
  cq_hub_escape(&url, name->revision, false);
  if (!status && (url.failed || !body)) status = cq_fail_memory(error, name->repository);
  if (!status) {
    status = cq_hub_post_json(&answer, NULL, s, url.data, body, "application/json", error);
    body = NULL;
  }
  if (!status) status = take_modes(u, answer, url.data, error);
  json_decref(body);
  json_decref(answer);
  cq_builder_free(&url), cq_builder_free(&sample);
  return status;
}

/* --- the commit --- */

static void add_line(cq_builder *out, const char *key, json_t *value, bool *ok) {
  json_t *line = json_object();
  cq_json_set(&line, "key", json_string(key));
  cq_json_set(&line, "value", value);
  *ok = *ok && line;
  if (line) cq_json_append(out, line, -1);
  cq_builder_char(out, '\n');
  json_decref(line);
}

static cq_status add_file(cq_builder *out, const cq_hub_upload *file, bool *ok, cq_error *error) {
  json_t *value = json_object();
  cq_json_set(&value, "path", json_string(file->name));
  if (file->is_large) {
    cq_json_set(&value, "algo", json_string("sha256"));
    cq_json_set(&value, "oid", json_string(file->sha256));
    cq_json_set(&value, "size", json_integer((json_int_t)file->n_bytes));
    add_line(out, "lfsFile", value, ok);
    return CQ_OK;
  }
  cq_slice bytes = file->text;
  cq_builder content = {0};
  cq_status status = file->path ? cq_file_read(&bytes, file->path, error) : CQ_OK;
  if (!status) {
    cq_builder_bytes(&content, "", 0);
    cq_base64_encode(&content, bytes);
    cq_json_set(&value, "content", content.failed ? NULL : json_string(content.data ? content.data : ""));
    cq_json_set(&value, "encoding", json_string("base64"));
    add_line(out, "file", value, ok);
  } else {
    json_decref(value);
  }
  if (file->path) cq_free((void *)(uintptr_t)bytes.data);
  cq_builder_free(&content);
  return status;
}

static cq_status commit(char **out, int *code, cq_hub_session *s, const cq_hub_uploads *u, const cq_hub_name *name,
                        const char *parent, const cq_hub_put_options *o, cq_error *error) {
  char summary[300];
  cq_builder url = {0}, lines = {0};
  json_t *header = json_object(), *answer = NULL;
  bool ok = true;
  cq_status status = CQ_OK;
  snprintf(summary, sizeof summary, "Model made with calque %s", CQ_VERSION);
  cq_json_set(&header, "summary", json_string(o->message ? o->message : summary));
  cq_json_set(&header, "description", json_string(""));
  cq_json_set(&header, "parentCommit", json_string(parent));
  add_line(&lines, "header", header, &ok);
  for (size_t i = 0; !status && i < u->n; i++)
    if (!u->files[i].is_unchanged) status = add_file(&lines, &u->files[i], &ok, error);
  cq_builder_printf(&url, "%s/api/models/%s/commit/", s->endpoint, name->repository);
  cq_hub_escape(&url, name->revision, false);
  if (!status && (!ok || lines.failed || url.failed)) status = cq_fail_memory(error, name->repository);
  const cq_hub_request request = {.method = "POST",
                                  .url = url.data,
                                  .headers = {"Content-Type: application/x-ndjson"},
                                  .body = lines.data,
                                  .n_body = lines.n,
                                  .stall_s = 6 * s->request_s};
  *code = 0;
  if (!status) status = cq_hub_ask_json(&answer, code, s, &request, error);
  const char *where = json_string_value(json_object_get(answer, "commitUrl"));
  if (!status && !where) status = cq_fail_file(error, CQ_ERR_FORMAT, url.data, "does not name the commit");
  if (!status && !(*out = cq_strdup(where))) status = cq_fail_memory(error, name->repository);
  json_decref(answer);
  cq_builder_free(&url), cq_builder_free(&lines);
  return status;
}

/* Whether the repository has exactly these files, after a commit was refused because the repository had changed: the
 * change may be our own, if the response to an earlier attempt was lost. */
static bool has_been_committed(char **out, cq_hub_session *s, const cq_hub_uploads *u, const cq_hub_name *name) {
  cq_hub_listing l = {0};
  int code;
  bool is_there = cq_hub_list(&l, &code, s, "models", name->repository, name->revision, NULL) == CQ_OK;
  for (size_t i = 0; is_there && i < u->n; i++)
    is_there = is_same(&u->files[i], cq_hub_listing_find(&l, u->files[i].name));
  cq_builder url = {0};
  if (is_there) cq_builder_printf(&url, "%s/%s/commit/%s", s->endpoint, name->repository, l.commit);
  cq_hub_listing_free(&l);
  if (url.failed) cq_builder_free(&url);
  *out = url.data;
  return url.data != NULL;
}

/* --- the whole --- */

static cq_status put_online(char **url, cq_hub_session *s, cq_hub_uploads *u, const cq_hub_name *name,
                            const cq_hub_put_options *o, cq_error *error) {
  cq_hub_listing l = {0};
  cq_status status = open_repository(&l, s, name, o, error);
  if (!status) status = compare_files(u, &l, name->repository, o, error);
  bool is_changed = false;
  for (size_t i = 0; i < u->n; i++) is_changed = is_changed || !u->files[i].is_unchanged;
  if (!status && !is_changed) {
    char text[1024 + CQ_HUB_NAME + 2];
    snprintf(text, sizeof text, "%s/%s", s->endpoint, name->repository);
    if (o->notice) o->notice(o->notice_context, "the repository has all of it already: nothing was sent");
    if (!(*url = cq_strdup(text))) status = cq_fail_memory(error, text);
  } else if (!status) {
    s->n_all = u->n_bytes;
    status = ask_modes(s, u, name, error);
    if (!status) status = cq_hub_uploads_send(s, u, name->repository, error);
    int code = 0;
    if (!status) status = commit(url, &code, s, u, name, l.commit, o, error);
    if (status == CQ_ERR_IO && (code == 409 || code == 412) && has_been_committed(url, s, u, name)) status = CQ_OK;
  }
  cq_hub_listing_free(&l);
  return status;
}

cq_status cq_hub_publish(char **url, const char *directory, const cq_hub_name *name, const cq_hub_put_options *o,
                         cq_error *error) {
  cq_hub_session s = {0};
  cq_hub_uploads u = {0};
  const cq_hub_options network = {.progress = o->progress, .progress_context = o->progress_context};
  cq_status status = cq_hub_session_open(&s, &network, name->repository, error);
  if (!status && !s.token)
    status = cq_fail(error, CQ_ERR_ARGUMENT, "sending needs a token with write access: HF_TOKEN, or 'hf auth login'");
  if (!status) status = cq_hub_uploads_collect(&u, directory, name->repository, o, true, error);
  if (!status) status = put_online(url, &s, &u, name, o, error);
  cq_hub_uploads_free(&u);
  cq_hub_session_close(&s);
  return status;
}

cq_status cq_hub_publish_preview(char **text, const char *directory, const cq_hub_name *name,
                                 const cq_hub_put_options *o, cq_error *error) {
  cq_hub_uploads u = {0};
  cq_builder out = {0};
  cq_status status = cq_hub_uploads_collect(&u, directory, name->repository, o, false, error);
  for (size_t i = 0; !status && i < u.n; i++)
    cq_builder_printf(&out, "%12llu  %s\n", (unsigned long long)u.files[i].n_bytes, u.files[i].name);
  if (!status) {
    cq_builder_char(&out, '\n');
    cq_builder_bytes(&out, u.card.data, u.card.n);
    if (out.failed) status = cq_fail_memory(error, directory);
  }
  cq_hub_uploads_free(&u);
  if (status)
    cq_builder_free(&out);
  else
    *text = out.data;
  return status;
}
