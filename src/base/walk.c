#include "base/walk.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static cq_status add_walked(cq_walk *walk, const char *path, bool is_inside, cq_error *error) {
  char *copy = cq_strdup(path);
  if (!copy || !cq_reserve((void **)&walk->files, &walk->capacity, walk->n + 1, sizeof *walk->files)) {
    cq_free(copy);
    return cq_fail_memory(error, path);
  }
  walk->files[walk->n++] = (cq_walked){copy, is_inside};
  return CQ_OK;
}

static int bytewise_names(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static cq_status add_below(cq_walk *walk, const char *path, bool is_inside, cq_error *error) {
  if (!cq_is_directory(path)) return add_walked(walk, path, is_inside, error);
  struct dirent **entries;
  const int n = scandir(path, &entries, NULL, bytewise_names);
  if (n < 0) return cq_fail_errno(error, path, "reading the directory");
  cq_status status = CQ_OK;
  for (int i = 0; i < n; i++) {
    char inside[PATH_MAX];
    if (!status && entries[i]->d_name[0] != '.') {
      status = cq_path_join(inside, sizeof inside, path, entries[i]->d_name, error);
      if (!status) status = add_below(walk, inside, true, error);
    }
    free(entries[i]);
  }
  free(entries);
  return status;
}

cq_status cq_walk_add(cq_walk *walk, const char *path, cq_error *error) {
  if (strcmp(path, "-") != 0 && !cq_file_exists(path) && !cq_is_directory(path))
    return cq_fail_file(error, CQ_ERR_IO, path, "there is no such file or directory");
  return add_below(walk, path, false, error);
}

void cq_walk_free(cq_walk *walk) {
  for (size_t i = 0; i < walk->n; i++) cq_free(walk->files[i].path);
  cq_free(walk->files);
  *walk = (cq_walk){0};
}
