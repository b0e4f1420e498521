/* The files under directories, in bytewise order. See walk.h. */
#include "base/walk.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/slice.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A directory being walked, and its parents, to detect a link back to one of them, which would never end. */
typedef struct ancestor {
  dev_t device;
  ino_t inode;
  const struct ancestor *above;
} ancestor;

static cq_status add_walked(cq_walk *walk, const char *path, bool is_inside, int failure, bool is_directory,
                            cq_error *error) {
  char *copy = cq_strdup(path);
  if (!copy || !cq_reserve((void **)&walk->files, &walk->capacity, walk->n + 1, sizeof *walk->files)) {
    cq_free(copy);
    return cq_fail_memory(error, path);
  }
  walk->files[walk->n++] = (cq_walked){copy, copy + (is_inside ? walk->n_root : 0), is_inside, failure, is_directory};
  return CQ_OK;
}

static cq_status add_failure(cq_walk *walk, const char *path, int failure, bool is_directory, cq_error *error) {
  if (walk->keeps_all) return add_walked(walk, path, true, failure, is_directory, error);
  return failure < 0 ? CQ_OK : cq_fail_errno(error, path, "reading");
}

static int bytewise_names(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static bool is_above(const struct stat *info, const ancestor *above) {
  while (above && (above->device != info->st_dev || above->inode != info->st_ino)) above = above->above;
  return above;
}

static cq_status add_directory(cq_walk *walk, cq_builder *path, const struct stat *info, const ancestor *above,
                               cq_error *error);

/* Adds one name of a directory, unless it has gone since; the builder holds its path. */
static cq_status add_entry(cq_walk *walk, cq_builder *path, const ancestor *above, cq_error *error) {
  struct stat info;
  if (path->failed) return cq_fail_memory(error, "a path");
  if (stat(path->data, &info) != 0) {
    if (errno != ENOENT && errno != ELOOP) return add_failure(walk, path->data, errno, false, error);
    return lstat(path->data, &info) != 0 ? CQ_OK : add_failure(walk, path->data, CQ_WALK_DANGLING, false, error);
  }
  if (S_ISREG(info.st_mode)) return add_walked(walk, path->data, true, 0, false, error);
  if (!S_ISDIR(info.st_mode)) return add_failure(walk, path->data, CQ_WALK_SPECIAL, false, error);
  const cq_status status = add_failure(walk, path->data, CQ_WALK_DIRECTORY, true, error);
  return status ? status : add_directory(walk, path, &info, above, error);
}

static cq_status add_directory(cq_walk *walk, cq_builder *path, const struct stat *info, const ancestor *above,
                               cq_error *error) {
  const ancestor here = {info->st_dev, info->st_ino, above};
  const size_t n_path = path->n;
  struct dirent **entries;
  if (is_above(info, above)) return CQ_OK;
  const int n = scandir(path->data, &entries, NULL, bytewise_names);
  if (n < 0 && above) return add_failure(walk, path->data, errno, true, error);
  if (n < 0) return cq_fail_errno(error, path->data, "reading the directory");
  cq_status status = CQ_OK;
  for (int i = 0; i < n; i++) {
    if (!status && entries[i]->d_name[0] != '.') {
      if (path->data && path->data[path->n - 1] != '/') cq_builder_char(path, '/');
      cq_builder_text(path, entries[i]->d_name);
      status = add_entry(walk, path, &here, error);
      path->n = n_path;
      if (path->data) path->data[n_path] = 0;
    }
    free(entries[i]);
  }
  free(entries);
  return status;
}

cq_status cq_walk_add(cq_walk *walk, const char *path, cq_error *error) {
  struct stat info;
  if (strcmp(path, "-") == 0) return add_walked(walk, path, false, 0, false, error);
  if (stat(path, &info) != 0) return cq_fail_file(error, CQ_ERR_IO, path, "there is no such file or directory");
  if (!S_ISDIR(info.st_mode)) return add_walked(walk, path, false, 0, false, error);
  cq_builder below = {0};
  cq_builder_text(&below, path);
  walk->n_root = below.n + (below.n && path[below.n - 1] != '/');
  const cq_status status = below.failed ? cq_fail_memory(error, path) : add_directory(walk, &below, &info, NULL, error);
  cq_builder_free(&below);
  return status;
}

void cq_walk_free(cq_walk *walk) {
  for (size_t i = 0; i < walk->n; i++) cq_free(walk->files[i].path);
  cq_free(walk->files);
  *walk = (cq_walk){0};
}
