#include "calque/cache.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "recipe/encode/cached_encoder.h"
#include "store/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* One entry of CACHE/vectors or CACHE/searches. */
typedef cq_status check_fn(cq_cache_part *part, cq_error *error);

static cq_status check_vectors(cq_cache_part *part, cq_error *error) {
  return cq_vector_store_check(&part->n, &part->n_damaged, part->path, error);
}

static cq_status check_state(cq_cache_part *part, cq_error *error) {
  cq_checkpoint *state = NULL;
  const cq_status status = cq_checkpoint_open(&state, part->path, error);
  cq_checkpoint_close(state);
  part->n = 1, part->n_damaged = status == CQ_ERR_FORMAT;
  return status == CQ_ERR_FORMAT || status == CQ_ERR_UNSUPPORTED ? CQ_OK : status;
}

static int is_entry(const struct dirent *entry) {
  return entry->d_name[0] != '.' && !strstr(entry->d_name, ".tmp-");
}

static cq_status check_room(const char *cache, const char *room, check_fn *check, cq_cache_part_fn tell, void *context,
                            cq_error *error) {
  char directory[PATH_MAX], path[PATH_MAX];
  struct dirent **entries = NULL;
  cq_status status = cq_path_join(directory, sizeof directory, cache, room, error);
  if (status || !cq_is_directory(directory)) return status;
  const int n = scandir(directory, &entries, is_entry, alphasort);
  if (n < 0) return cq_fail_errno(error, directory, "cannot list");
  for (int i = 0; i < n; i++) {
    cq_cache_part part = {.path = path};
    if (!status) status = cq_path_join(path, sizeof path, directory, entries[i]->d_name, error);
    if (!status) status = check(&part, error);
    if (!status && tell) tell(context, &part);
    free(entries[i]); /* scandir's */
  }
  free(entries);
  return status;
}

cq_status cq_cache_check(const char *directory, cq_cache_part_fn tell, void *context, cq_error *error) {
  char cache[PATH_MAX];
  cq_status status = cq_cache_path(cache, sizeof cache, directory, "", error);
  if (!status) cache[strlen(cache) - 1] = '\0'; /* the slash */
  if (!status) status = check_room(cache, "vectors", check_vectors, tell, context, error);
  if (!status) status = check_room(cache, "searches", check_state, tell, context, error);
  return status;
}
