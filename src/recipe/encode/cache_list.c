/* The cache of vectors: lists, checks and clears its stores. */
#include "calque/cache.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "cache/checkpoint.h"
#include "recipe/encode/cached_encoder.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct visit visit;
typedef cq_status (*visitor)(visit *v, cq_cache_part *part, cq_error *error);

/* Actions for each entry of CACHE/vectors, CACHE/searches and CACHE/folders; NULL: none. */
struct visit {
  visitor vectors, state, index;
  double days;
  cq_cache_part_fn tell;
  void *context;
};

static void tell_part(const visit *v, const cq_cache_part *part) {
  if (v->tell) v->tell(v->context, part);
}

static cq_status check_vectors(visit *v, cq_cache_part *part, cq_error *error) {
  const cq_status status = cq_vector_store_check(&part->n, &part->n_damaged, part->path, error);
  if (!status) tell_part(v, part);
  return status;
}

static cq_status check_state(visit *v, cq_cache_part *part, cq_error *error) {
  cq_checkpoint *state = NULL;
  const cq_status status = cq_checkpoint_open(&state, part->path, error);
  cq_checkpoint_close(state);
  part->n = 1, part->n_damaged = status == CQ_ERR_FORMAT;
  if (status && status != CQ_ERR_FORMAT && status != CQ_ERR_UNSUPPORTED) return status;
  tell_part(v, part);
  return CQ_OK;
}

static cq_status tell_size(visit *v, cq_cache_part *part, cq_error *error) {
  (void)error;
  tell_part(v, part);
  return CQ_OK;
}

static cq_status remove_old(visit *v, cq_cache_part *part, cq_error *error) {
  if (v->days > 0 && difftime(time(NULL), (time_t)part->changed) < v->days * 24 * 3600) return CQ_OK;
  if (cq_is_directory(part->path))
    cq_directory_remove(part->path);
  else
    (void)unlink(part->path);
  if (cq_file_exists(part->path)) return cq_fail_errno(error, part->path, "cannot remove");
  tell_part(v, part);
  return CQ_OK;
}

static int is_entry(const struct dirent *entry) {
  return entry->d_name[0] != '.' && !strstr(entry->d_name, ".tmp-");
}

static void add_size(cq_cache_part *part, const char *path) {
  struct stat info;
  if (stat(path, &info) != 0) return; /* gone meanwhile */
  if (S_ISREG(info.st_mode)) part->n_bytes += (uint64_t)info.st_size;
  if (info.st_mtime > part->changed) part->changed = info.st_mtime;
}

/* For a file, or the files of a directory. */
static cq_status measure_part(cq_cache_part *part, cq_error *error) {
  char path[PATH_MAX];
  struct dirent **entries = NULL;
  cq_status status = CQ_OK;
  add_size(part, part->path);
  if (!cq_is_directory(part->path)) return CQ_OK;
  part->changed = 0; /* a directory's time is that of the last file added or removed */
  const int n = scandir(part->path, &entries, is_entry, NULL);
  for (int i = 0; i < n; i++) {
    if (!status) status = cq_path_join(path, sizeof path, part->path, entries[i]->d_name, error);
    if (!status) add_size(part, path);
    free(entries[i]); /* scandir's */
  }
  free(entries);
  return status;
}

static cq_status visit_entries(const char *cache, const char *name, visit *v, visitor with, cq_error *error) {
  char directory[PATH_MAX], path[PATH_MAX];
  struct dirent **entries = NULL;
  cq_status status = cq_path_join(directory, sizeof directory, cache, name, error);
  if (status || !with || !cq_is_directory(directory)) return status;
  const int n = scandir(directory, &entries, is_entry, alphasort);
  if (n < 0) return cq_fail_errno(error, directory, "cannot list");
  for (int i = 0; i < n; i++) {
    cq_cache_part part = {.path = path};
    if (!status) status = cq_path_join(path, sizeof path, directory, entries[i]->d_name, error);
    if (!status) status = measure_part(&part, error);
    if (!status) status = with(v, &part, error);
    free(entries[i]);
  }
  free(entries);
  return status;
}

static cq_status visit_cache(const char *directory, visit *v, cq_error *error) {
  char cache[PATH_MAX];
  cq_status status = cq_cache_path(cache, sizeof cache, directory, "", error);
  if (!status) cache[strlen(cache) - 1] = '\0'; /* the slash */
  if (!status) status = visit_entries(cache, "vectors", v, v->vectors, error);
  if (!status) status = visit_entries(cache, "searches", v, v->state, error);
  if (!status) status = visit_entries(cache, "folders", v, v->index, error);
  return status;
}

cq_status cq_cache_check(const char *directory, cq_cache_part_fn tell, void *context, cq_error *error) {
  visit v = {.vectors = check_vectors, .state = check_state, .tell = tell, .context = context};
  return visit_cache(directory, &v, error);
}

cq_status cq_cache_info(const char *directory, cq_cache_part_fn tell, void *context, cq_error *error) {
  visit v = {.vectors = tell_size, .state = tell_size, .index = tell_size, .tell = tell, .context = context};
  return visit_cache(directory, &v, error);
}

cq_status cq_cache_clear(const char *directory, double days, cq_cache_part_fn tell, void *context, cq_error *error) {
  visit v = {
      .vectors = remove_old, .state = remove_old, .index = remove_old, .days = days, .tell = tell, .context = context};
  return visit_cache(directory, &v, error);
}
