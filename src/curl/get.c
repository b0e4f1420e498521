/* Fetches a repository's files into the cache:
 *
 *   list of files at the revision, and its commit ──▶ selected files ──▶ ETag and size of each ──▶ blobs/
 *   when all are complete ──▶ links in snapshots/COMMIT ──▶ refs/REVISION
 *
 * refs/ names a snapshot only when it is complete, so that a model is never found with files missing. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/temporary.h"
#include "curl/blob.h"
#include "curl/upload.h"
#include "hub/hub_plugin.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static const char *const kinds[] = {"models", "datasets"};

/* --- naming what is there --- */

static cq_status path_of(char out[CQ_HUB_PATH], cq_error *error, const char *format, ...) CQ_PRINTF(3, 4);
static cq_status path_of(char out[CQ_HUB_PATH], cq_error *error, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int n = vsnprintf(out, CQ_HUB_PATH, format, args);
  va_end(args);
  if (n < CQ_HUB_PATH) return CQ_OK;
  return cq_fail(error, CQ_ERR_ARGUMENT, "%.200s...: the path is longer than %d bytes", out, CQ_HUB_PATH - 1);
}

/* snapshots/COMMIT/a/b -> ../../../blobs/ETAG, put in place atomically; a copy if the file system has no links. */
static cq_status link_file(const cq_hub_store *store, const cq_hub_file *file, cq_error *error) {
  char path[CQ_HUB_PATH], target[CQ_HUB_PATH], parent[CQ_HUB_PATH], now[CQ_HUB_PATH];
  cq_status status = path_of(path, error, "%s/snapshots/%s/%s", store->directory, store->commit, file->name);
  if (status) return status;
  size_t n = 0;
  for (const char *c = file->name; *c; c++)
    if (*c == '/' && n + 3 < sizeof target) n += (size_t)snprintf(target + n, 4, "../");
  status = path_of(parent, error, "%.*s../../blobs/%s", (int)n, target, file->etag);
  if (status) return status;
  memcpy(target, parent, sizeof target);
  const ssize_t n_now = readlink(path, now, sizeof now - 1);
  if (n_now >= 0) {
    now[n_now] = '\0';
    if (!strcmp(now, target)) return CQ_OK;
  }
  if (!cq_path_parent(parent, sizeof parent, path)) return cq_fail_file(error, CQ_ERR_ARGUMENT, path, "is too long");
  status = cq_directory_make(parent, error);
  if (status) return status;
  char *temporary = cq_temporary_name(path);
  if (!temporary) return cq_fail_memory(error, path);
  unlink(temporary);
  if (symlink(target, temporary) == 0) {
    if (rename(temporary, path) != 0) status = cq_fail_errno(error, path, "cannot put in place");
    if (status) unlink(temporary);
  } else if (errno == EPERM || errno == EOPNOTSUPP) {
    status = cq_hub_blob_path(now, store, file, error);
    if (!status) status = cq_file_copy(now, path, error);
  } else {
    status = cq_fail_errno(error, path, "cannot link");
  }
  cq_temporary_release(temporary);
  return status ? status : cq_sync_name(path, error);
}

/* refs/REVISION holds the commit, without a newline. */
static cq_status write_reference(const cq_hub_store *store, const char *revision, cq_error *error) {
  char path[CQ_HUB_PATH], parent[CQ_HUB_PATH];
  if (!strcmp(revision, store->commit)) return CQ_OK;
  cq_status status = path_of(path, error, "%s/refs/%s", store->directory, revision);
  if (!status && !cq_path_parent(parent, sizeof parent, path)) status = CQ_ERR_ARGUMENT;
  if (!status) status = cq_directory_make(parent, error);
  return status ? status : cq_file_write(path, store->commit, strlen(store->commit), error);
}

/* --- what is needed --- */

static cq_status make_directories(cq_hub_store *store, const char *repository, cq_error *error) {
  char cache[CQ_HUB_PATH], folder[CQ_HUB_NAME], path[CQ_HUB_PATH];
  if (!cq_hub_cache_directory(cache))
    return cq_fail(error, CQ_ERR_IO, "there is no place for the cache: HOME is not set");
  if (!cq_hub_folder(folder, sizeof folder, store->kind, NULL, repository))
    return cq_fail(error, CQ_ERR_ARGUMENT, "'%.200s' is not a name on the hub", repository);
  cq_status status = path_of(store->directory, error, "%s/%s", cache, folder);
  if (!status) status = path_of(store->locks, error, "%s/.locks/%s", cache, folder);
  if (!status) status = path_of(path, error, "%s/blobs", store->directory);
  if (!status) status = cq_directory_make(path, error);
  if (!status) status = cq_directory_make(store->locks, error);
  return status;
}

/* modules.json lists the folders of a model's further files. */
static cq_status want_model(cq_hub_listing *l, const cq_hub_store *store, cq_error *error) {
  char path[CQ_HUB_PATH];
  json_t *modules = NULL;
  cq_hub_file *file = cq_hub_listing_find(l, "modules.json");
  cq_status status = file ? cq_hub_blob_ask(store, file, error) : CQ_OK;
  if (!status && file && !cq_hub_blob_is_there(store, file)) status = cq_hub_blob_fetch(store, file, error);
  if (!status && file) status = cq_hub_blob_path(path, store, file, error);
  if (!status && file) status = cq_json_read(&modules, path, error);
  if (!status) cq_hub_want_model(l, modules);
  json_decref(modules);
  bool has_weights = false;
  for (size_t i = 0; i < l->n; i++)
    has_weights = has_weights || (l->files[i].is_wanted &&
                                  (strstr(l->files[i].name, ".safetensors") || strstr(l->files[i].name, ".bin")));
  if (!status && !has_weights)
    status = cq_fail_file(error, CQ_ERR_UNSUPPORTED, store->repository,
                          "has no weights that calque reads (model.safetensors or pytorch_model.bin) among its %zu "
                          "files",
                          l->n);
  return status;
}

static cq_status fetch_wanted(cq_hub_listing *l, const cq_hub_store *store, cq_error *error) {
  cq_hub_session *s = store->session;
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < l->n; i++) {
    cq_hub_file *file = &l->files[i];
    if (!file->is_wanted) continue;
    s->what = file->name;
    if (!file->etag[0]) status = cq_hub_blob_ask(store, file, error);
  }
  s->done = s->n_all = 0;
  for (size_t i = 0; !status && i < l->n; i++)
    if (l->files[i].is_wanted && l->files[i].has_size) {
      s->n_all += l->files[i].n_bytes;
      if (cq_hub_blob_is_there(store, &l->files[i])) s->done += l->files[i].n_bytes;
    }
  for (size_t i = 0; !status && i < l->n; i++)
    if (l->files[i].is_wanted && !cq_hub_blob_is_there(store, &l->files[i]))
      status = cq_hub_blob_fetch(store, &l->files[i], error);
  for (size_t i = 0; !status && i < l->n; i++)
    if (l->files[i].is_wanted) status = link_file(store, &l->files[i], error);
  return status;
}

static cq_status get_listed(char **directory, cq_hub_listing *l, cq_hub_session *s, const char *repository,
                            const char *revision, const cq_hub_options *o, cq_error *error) {
  char path[CQ_HUB_PATH];
  cq_hub_store *store = cq_alloc_zeroed(sizeof *store);
  if (!store) return cq_fail_memory(error, repository);
  store->session = s, store->kind = kinds[o->type], store->repository = repository, store->commit = l->commit;
  cq_status status = make_directories(store, repository, error);
  if (!status)
    status = o->type == CQ_HUB_MODEL && o->n_files == 0
                 ? want_model(l, store, error)
                 : cq_hub_want_matching(l, o->files, o->n_files, repository, error);
  if (!status) status = fetch_wanted(l, store, error);
  if (!status) status = path_of(path, error, "%s/snapshots/%s", store->directory, l->commit);
  if (!status) status = cq_directory_make(path, error); /* of a repository without files as well */
  if (!status) status = write_reference(store, revision, error);
  if (!status && !(*directory = cq_strdup(path))) status = cq_fail_memory(error, repository);
  cq_free(store);
  return status;
}

/* --- the whole --- */

static cq_status get(char **directory, const cq_hub_name *name, const cq_hub_options *o, cq_error *error) {
  char with_organization[CQ_HUB_NAME + 32];
  const char *repository = name->repository;
  cq_hub_session s;
  cq_hub_listing l = {0};
  int code = 0;
  cq_status status = cq_hub_session_open(&s, o, name->repository, error);
  if (status) return status;
  /* As in sentence-transformers, a name without an organization is first tried as one of its own models. The hub
   * responds with 401 for a repository that does not exist. */
  const bool is_bare = o->type == CQ_HUB_MODEL && !strchr(repository, '/');
  if (is_bare) {
    snprintf(with_organization, sizeof with_organization, "sentence-transformers/%s", repository);
    status = cq_hub_list(&l, &code, &s, kinds[o->type], with_organization, name->revision, error);
    if (!status) repository = with_organization;
  }
  if (!is_bare || (status == CQ_ERR_IO && (code == 401 || code == 404)))
    status = cq_hub_list(&l, &code, &s, kinds[o->type], repository, name->revision, error);
  if (!status) status = get_listed(directory, &l, &s, repository, name->revision, o, error);
  cq_hub_listing_free(&l);
  cq_hub_session_close(&s);
  return status;
}

/* The names of a repository's files, as if its directory had been walked. */
static cq_status list(cq_walk *files, const cq_hub_name *name, const cq_hub_options *o, cq_error *error) {
  cq_hub_session s;
  cq_hub_listing l = {0};
  int code;
  cq_status status = cq_hub_session_open(&s, o, name->repository, error);
  if (status) return status;
  status = cq_hub_list(&l, &code, &s, kinds[o->type], name->repository, name->revision, error);
  for (size_t i = 0; !status && i < l.n; i++) {
    char *path = cq_strdup(l.files[i].name);
    if (path && cq_reserve((void **)&files->files, &files->capacity, files->n + 1, sizeof *files->files)) {
      files->files[files->n++] = (cq_walked){.path = path, .name = path, .is_inside = true};
    } else {
      cq_free(path);
      status = cq_fail_memory(error, name->repository);
    }
  }
  cq_hub_listing_free(&l);
  cq_hub_session_close(&s);
  return status;
}

extern __attribute__((visibility("default"))) const cq_hub_plugin cq_curl_plugin_table;
const cq_hub_plugin cq_curl_plugin_table = {CQ_HUB_PLUGIN_VERSION, get, list, cq_hub_publish, cq_hub_publish_preview};
