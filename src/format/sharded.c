/* Tensors in several files: checks the index against the contents of the files. See sharded.h. */
#include "format/sharded.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "format/json.h"
#include "format/stored_file.h"
#include "format/torch_zip.h"

#include <string.h>

#define MAX_PATH 4096

enum { MAX_SHARDS = 4096 };

typedef cq_status open_fn(cq_safetensors **out, const char *path, cq_error *error);

typedef struct sharding {
  cq_safetensors *file;          /* the view that is made */
  const char *names[MAX_SHARDS]; /* of its parts, borrowed from the index */
  const json_t *places;          /* the index's weight_map */
  int64_t n_bytes;               /* total of all tensors whose type has a known size */
  bool all_sized;
  open_fn *open;
  cq_error *error;
} sharding;

/* Beside the index and nowhere else. */
static bool is_plain_name(const char *name) {
  return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static cq_status open_part(sharding *s, const char *name) {
  char directory[MAX_PATH], path[MAX_PATH];
  cq_safetensors *file = s->file;
  const char *slash = strrchr(file->path, '/');
  if (file->n_parts == MAX_SHARDS)
    return cq_fail_file(s->error, CQ_ERR_LIMIT, file->path, "more than %d files of weights", MAX_SHARDS);
  if (!slash)
    snprintf(directory, sizeof directory, ".");
  else if (snprintf(directory, sizeof directory, "%.*s", (int)(slash - file->path), file->path) >= MAX_PATH)
    return cq_fail_file(s->error, CQ_ERR_ARGUMENT, file->path, "the path is too long");
  cq_status status = cq_path_join(path, sizeof path, slash == file->path ? "/" : directory, name, s->error);
  if (!status) status = s->open(&file->parts[file->n_parts], path, s->error);
  if (status) return status;
  s->names[file->n_parts++] = name;
  return CQ_OK;
}

static cq_status open_parts(sharding *s) {
  const char *tensor;
  json_t *value;
  json_object_foreach((json_t *)(uintptr_t)s->places, tensor, value) {
    const char *name = json_string_value(value);
    bool known = false;
    if (!name || strlen(name) != json_string_length(value) || !is_plain_name(name))
      return cq_fail_file(s->error, CQ_ERR_FORMAT, s->file->path,
                          "weight_map: tensor '%.200s' is in '%.200s', expected the name of a file next to the index",
                          tensor, name ? name : "");
    for (size_t i = s->file->n_parts; !known && i-- > 0;) known = s->names[i] && strcmp(s->names[i], name) == 0;
    cq_status status = known ? CQ_OK : open_part(s, name);
    if (status) return status;
  }
  return CQ_OK;
}

/* Adds one part's tensors, after checking that the index names this part for each of them. */
static cq_status join_part(sharding *s, size_t part) {
  cq_safetensors *file = s->file;
  const cq_safetensors *from = file->parts[part];
  for (size_t i = 0; i < from->n; i++) {
    const cq_stored_tensor *t = &from->tensors[i];
    const char *place = json_string_value(json_object_get(s->places, t->name));
    if (!place || !s->names[part] || strcmp(place, s->names[part]) != 0)
      return cq_fail_file(s->error, CQ_ERR_FORMAT, file->path, "tensor '%.200s' lies in %.200s, the index says %.200s",
                          t->name, s->names[part], place ? place : "nothing of it");
    s->n_bytes += t->n_elements * (int64_t)cq_dtype_size(t->dtype);
    s->all_sized = s->all_sized && t->dtype != CQ_OTHER_DTYPE;
    file->tensors[file->n] = *t;
    if (!cq_map_put_borrowed(&file->by_name, cq_slice_of(t->name), file->n++))
      return cq_fail_memory(s->error, file->path);
  }
  return CQ_OK;
}

static cq_status join_parts(sharding *s, const json_t *index) {
  cq_safetensors *file = s->file;
  size_t n = 0;
  int64_t total = -1;
  const char *tensor;
  json_t *value;
  for (size_t i = 0; i < file->n_parts; i++) n += file->parts[i]->n;
  file->tensors = cq_arena_array(&file->arena, n, sizeof *file->tensors);
  if (!file->tensors) return cq_fail_memory(s->error, file->path);
  cq_status status = CQ_OK;
  for (size_t i = 0; !status && i < file->n_parts; i++) status = join_part(s, i);
  if (status) return status;
  json_object_foreach((json_t *)(uintptr_t)s->places, tensor, value) {
    if (cq_safetensors_find(file, tensor)) continue;
    return cq_fail_file(s->error, CQ_ERR_FORMAT, file->path, "tensor '%.200s' is not in %.200s", tensor,
                        json_string_value(value));
  }
  status =
      cq_json_get_int(&total, json_object_get(index, "metadata"), "total_size", 0, INT64_MAX, file->path, s->error);
  if (!status && s->all_sized && total >= 0 && total != s->n_bytes)
    status = cq_fail_file(s->error, CQ_ERR_FORMAT, file->path, "total_size is %lld, the tensors have %lld bytes",
                          (long long)total, (long long)s->n_bytes);
  return status;
}

static cq_status open_sharded(cq_safetensors **out, const char *path, open_fn *open, cq_error *error) {
  sharding s = {.open = open, .all_sized = true, .error = error};
  json_t *index = NULL;
  *out = NULL;
  cq_safetensors *file = s.file = cq_alloc_zeroed(sizeof *file);
  if (!file) return cq_fail_memory(error, path);
  cq_status status = CQ_OK;
  file->path = cq_arena_strdup(&file->arena, path);
  file->parts = cq_arena_array(&file->arena, MAX_SHARDS, sizeof(cq_safetensors *));
  if (!file->path || !file->parts) status = cq_fail_memory(error, path);
  if (!status) status = cq_json_read(&index, path, error);
  s.places = json_object_get(index, "weight_map");
  if (!status && !json_is_object(s.places)) status = cq_fail_file(error, CQ_ERR_FORMAT, path, "no object 'weight_map'");
  if (!status && json_object_size(s.places) > CQ_MAX_TENSORS)
    status = cq_fail_file(error, CQ_ERR_LIMIT, path, "%zu tensors, at most %d are read", json_object_size(s.places),
                          CQ_MAX_TENSORS);
  if (!status) status = open_parts(&s);
  if (!status) status = join_parts(&s, index);
  json_decref(index);
  if (status)
    cq_safetensors_close(file);
  else
    *out = file;
  return status;
}

cq_status cq_sharded_safetensors_open(cq_safetensors **out, const char *path, cq_error *error) {
  return open_sharded(out, path, cq_safetensors_open, error);
}

cq_status cq_sharded_torch_open(cq_safetensors **out, const char *path, cq_error *error) {
  return open_sharded(out, path, cq_torch_zip_open, error);
}
