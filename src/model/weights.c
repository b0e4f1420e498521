/* A model.safetensors (or pytorch_model.bin, where that is all there is) as the module types see it: tensors are asked
 * for by name and shape, and what was never asked for is found out. Values stay in the mapping when they are f32 there;
 * half precision is widened into the arena. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "format/safetensors.h"
#include "format/torch_zip.h"
#include "model/module.h"

#include <string.h>

struct cq_weights {
  cq_safetensors *file;
  bool *taken; /* [count] */
};

#define MAX_PATH 4096

/* The formats weights come in, best first; those without a reader are known by name only. */
static const struct {
  const char *name;
  cq_status (*open)(cq_safetensors **out, const char *path, cq_error *error);
} formats[] = {
    {"model.safetensors", cq_safetensors_open},
    {"pytorch_model.bin", cq_torch_zip_open},
    {"model.safetensors.index.json", NULL},
    {"pytorch_model.bin.index.json", NULL},
    {"tf_model.h5", NULL},
    {"flax_model.msgpack", NULL},
};
#define N_FORMATS (sizeof formats / sizeof *formats)

static cq_status open_weights_file(cq_safetensors **out, const char *directory, cq_error *error) {
  char path[MAX_PATH];
  for (size_t i = 0; i < N_FORMATS; i++) {
    cq_status status = cq_path_join(path, sizeof path, directory, formats[i].name, error);
    if (status) return status;
    if (!cq_file_exists(path)) continue;
    if (formats[i].open) return formats[i].open(out, path, error);
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path,
                        "weights in this format are not read, and there is no model.safetensors beside it");
  }
  cq_status status = cq_path_join(path, sizeof path, directory, formats[0].name, error);
  return status ? status : formats[0].open(out, path, error); /* says that it is missing */
}

cq_status cq_weights_open(cq_weights **out, const char *directory, cq_error *error) {
  cq_weights *w = cq_alloc_zeroed(sizeof *w);
  if (!w) return cq_fail_memory(error, "weights");
  cq_status status = open_weights_file(&w->file, directory, error);
  if (status) goto failed;
  w->taken = cq_alloc_array_zeroed(cq_safetensors_count(w->file) + 1, sizeof *w->taken);
  if (!w->taken) {
    status = cq_fail_memory(error, "weights");
    goto failed;
  }
  *out = w;
  return CQ_OK;
failed:
  cq_weights_close(w);
  return status;
}

void cq_weights_close(cq_weights *w) {
  if (!w) return;
  cq_safetensors_close(w->file);
  cq_free(w->taken);
  cq_free(w);
}

bool cq_weights_has(const cq_weights *w, const char *name) {
  return cq_safetensors_find(w->file, name) != NULL;
}

static void mark_taken(cq_weights *w, const cq_stored_tensor *tensor) {
  for (size_t i = 0; i < cq_safetensors_count(w->file); i++)
    if (cq_safetensors_at(w->file, i) == tensor) w->taken[i] = true;
}

/* "[2, 3]" */
static void write_shape(char *out, size_t size, int n_dims, const int64_t *shape) {
  size_t n = (size_t)snprintf(out, size, "[");
  for (int i = 0; i < n_dims && n < size; i++)
    n += (size_t)snprintf(out + n, size - n, shape[i] < 0 ? "%s*" : "%s%lld", i ? ", " : "", (long long)shape[i]);
  if (n < size) snprintf(out + n, size - n, "]");
}

cq_status cq_weights_take(cq_param *p, cq_weights *w, const char *const *names, int64_t rows, int64_t cols,
                          cq_arena *arena, cq_error *error) {
  const char *path = cq_safetensors_path(w->file);
  const cq_stored_tensor *tensor = NULL;
  for (size_t i = 0; names[i] && !tensor; i++) tensor = cq_safetensors_find(w->file, names[i]);
  if (!tensor) return cq_fail_file(error, CQ_ERR_FORMAT, path, "tensor '%s' is missing", names[0]);

  const int n_dims = cols == 0 ? 1 : 2;
  const int64_t wanted[2] = {rows, cols};
  bool fits = tensor->n_dims == n_dims;
  for (int i = 0; fits && i < n_dims; i++) fits = wanted[i] < 0 || tensor->shape[i] == wanted[i];
  if (!fits) {
    char found[160], expected[64];
    write_shape(found, sizeof found, tensor->n_dims, tensor->shape);
    write_shape(expected, sizeof expected, n_dims, wanted);
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "tensor '%s' has shape %s, expected %s", tensor->name, found,
                        expected);
  }

  *p = (cq_param){.n_dims = n_dims,
                  .rows = n_dims == 1 ? 1 : tensor->shape[0],
                  .cols = n_dims == 1 ? tensor->shape[0] : tensor->shape[1],
                  .decay = n_dims == 2};
  if (!(p->name = cq_arena_strdup(arena, names[0]))) return cq_fail_memory(error, "a tensor's name");
  if (tensor->dtype == CQ_F32 && (uintptr_t)tensor->data % sizeof(float) == 0) {
    p->value = (float *)(uintptr_t)tensor->data; /* read-only until cq_params_own copies it */
  } else {
    p->value = cq_arena_array(arena, (size_t)tensor->n_elements, sizeof(float));
    if (!p->value) return cq_fail_memory(error, "a tensor widened to f32");
    cq_status status = cq_stored_tensor_to_f32(p->value, tensor, path, error);
    if (status) return status;
  }
  mark_taken(w, tensor);
  return CQ_OK;
}

cq_status cq_weights_all_taken(const cq_weights *w, const char *const *ignored, cq_error *error) {
  for (size_t i = 0; i < cq_safetensors_count(w->file); i++) {
    const char *name = cq_safetensors_at(w->file, i)->name;
    bool known = w->taken[i];
    for (size_t j = 0; !known && ignored && ignored[j]; j++) known = strncmp(name, ignored[j], strlen(ignored[j])) == 0;
    if (!known)
      return cq_fail_file(error, CQ_ERR_UNSUPPORTED, cq_safetensors_path(w->file),
                          "tensor '%s' is not part of the architecture that the configuration names", name);
  }
  return CQ_OK;
}

cq_status cq_weights_save(const cq_param *params, size_t n, const char *directory, cq_error *error) {
  static const char *const metadata[] = {"format", "pt", NULL};
  char path[MAX_PATH];
  cq_status status = cq_path_join(path, sizeof path, directory, "model.safetensors", error);
  if (status) return status;
  cq_stored_tensor *tensors = cq_alloc_array_zeroed(n, sizeof *tensors);
  if (!tensors) return cq_fail_memory(error, "the list of tensors");
  for (size_t i = 0; i < n; i++) {
    const cq_param *p = &params[i];
    tensors[i] = (cq_stored_tensor){.name = p->name,
                                    .dtype = CQ_F32,
                                    .n_dims = p->n_dims,
                                    .shape = {p->n_dims == 1 ? p->cols : p->rows, p->n_dims == 1 ? 0 : p->cols},
                                    .n_elements = cq_param_floats(p),
                                    .data = p->value};
  }
  status = cq_safetensors_write(path, tensors, n, metadata, error);
  cq_free(tensors);
  return status;
}
