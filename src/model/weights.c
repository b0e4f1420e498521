/* A model.safetensors (or, if missing, a pytorch_model.bin; in one file, or as an index and its files) as the module
 * types use it: they take tensors by name and shape, and tensors that were not taken are detected. f32 values stay in
 * the mapped file, and so do narrow matrices whose readers accept them; other half-precision values are widened. */
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "format/half.h"
#include "format/json.h"
#include "format/safetensors.h"
#include "format/sharded.h"
#include "format/torch_zip.h"
#include "model/module.h"

#include <math.h>
#include <string.h>

struct cq_weights {
  cq_safetensors *file;
  char *directory;
  bool *taken; /* [count] */
};

#define MAX_PATH 4096

/* The formats of weights, best first; formats without a reader are only recognized by name. */
static const struct {
  const char *name;
  cq_status (*open)(cq_safetensors **out, const char *path, cq_error *error);
} formats[] = {
    {"model.safetensors", cq_safetensors_open},
    {"model-int8.safetensors",
     cq_safetensors_open}, /* calque's own format: other readers would take its numbers for the weights */
    {"model.safetensors.index.json", cq_sharded_safetensors_open},
    {"pytorch_model.bin", cq_torch_zip_open},
    {"pytorch_model.bin.index.json", cq_sharded_torch_open},
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
                        "weights in this format are not read, and there is no model.safetensors next to it");
  }
  cq_status status = cq_path_join(path, sizeof path, directory, formats[0].name, error);
  return status ? status : formats[0].open(out, path, error); /* says that it is missing */
}

cq_status cq_weights_open(cq_weights **out, const char *directory, cq_error *error) {
  cq_weights *w = cq_alloc_zeroed(sizeof *w);
  if (!w) return cq_fail_memory(error, "weights");
  cq_status status = open_weights_file(&w->file, directory, error);
  if (status) goto failed;
  w->directory = cq_strdup(directory);
  w->taken = cq_alloc_array_zeroed(cq_safetensors_count(w->file) + 1, sizeof *w->taken);
  if (!w->taken || !w->directory) {
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
  cq_free(w->directory);
  cq_free(w);
}

void cq_weights_release_pages(const cq_weights *w) {
  cq_safetensors_release_pages(w->file);
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

/* The first of the names that the file has, with the expected shape; depth 0: at most two dimensions. */
static cq_status find_shaped(const cq_stored_tensor **out, const cq_weights *w, const char *const *names, int64_t rows,
                             int64_t cols, int64_t depth, cq_error *error) {
  const char *path = cq_safetensors_path(w->file);
  const cq_stored_tensor *tensor = NULL;
  for (size_t i = 0; names[i] && !tensor; i++) tensor = cq_safetensors_find(w->file, names[i]);
  if (!tensor) return cq_fail_file(error, CQ_ERR_FORMAT, path, "tensor '%s' is missing", names[0]);

  const int n_dims = cols == 0 ? 1 : depth == 0 ? 2 : 3;
  const int64_t wanted[3] = {rows, cols, depth};
  bool fits = tensor->n_dims == n_dims;
  for (int i = 0; fits && i < n_dims; i++) fits = wanted[i] < 0 || tensor->shape[i] == wanted[i];
  if (!fits) {
    char found[160], expected[64];
    write_shape(found, sizeof found, tensor->n_dims, tensor->shape);
    write_shape(expected, sizeof expected, n_dims, wanted);
    return cq_fail_file(error, CQ_ERR_FORMAT, path, "tensor '%s' has shape %s, expected %s", tensor->name, found,
                        expected);
  }
  *out = tensor;
  return CQ_OK;
}

static cq_status find_tensor(const cq_stored_tensor **out, const cq_weights *w, const char *const *names, int64_t rows,
                             int64_t cols, cq_error *error) {
  return find_shaped(out, w, names, rows, cols, 0, error);
}

static cq_status begin_param(cq_param *p, const cq_stored_tensor *tensor, const char *name, cq_arena *arena,
                             cq_error *error) {
  const int64_t depth = tensor->n_dims == 3 ? tensor->shape[2] : 1;
  *p = (cq_param){.n_dims = tensor->n_dims,
                  .depth = tensor->n_dims == 3 ? depth : 0,
                  .rows = tensor->n_dims == 1 ? 1 : tensor->shape[0],
                  .cols = tensor->n_dims == 1 ? tensor->shape[0] : tensor->shape[1] * depth,
                  .decay = tensor->n_dims > 1};
  p->name = cq_arena_strdup(arena, name);
  return p->name ? CQ_OK : cq_fail_memory(error, "a tensor's name");
}

/* The tensor's values in f32, borrowed if they already are f32. */
static cq_status take_found(cq_param *p, cq_weights *w, const cq_stored_tensor *tensor, const char *name,
                            cq_arena *arena, cq_error *error) {
  cq_status status = begin_param(p, tensor, name, arena, error);
  if (status) return status;
  if (tensor->dtype == CQ_F32 && (uintptr_t)tensor->data % sizeof(float) == 0) {
    p->value = (float *)(uintptr_t)tensor->data; /* read-only until cq_params_own copies it */
  } else {
    p->value = cq_arena_array(arena, (size_t)tensor->n_elements, sizeof(float));
    if (!p->value) return cq_fail_memory(error, "a tensor widened to f32");
    status = cq_stored_tensor_to_f32(p->value, tensor, cq_safetensors_path(w->file), error);
    if (status) return status;
  }
  mark_taken(w, tensor);
  return CQ_OK;
}

cq_status cq_weights_take(cq_param *p, cq_weights *w, const char *const *names, int64_t rows, int64_t cols,
                          cq_arena *arena, cq_error *error) {
  const cq_stored_tensor *tensor;
  cq_status status = find_tensor(&tensor, w, names, rows, cols, error);
  return status ? status : take_found(p, w, tensor, names[0], arena, error);
}

cq_status cq_weights_take_windows(cq_param *p, cq_weights *w, const char *name, int64_t rows, int64_t cols,
                                  int64_t width, cq_arena *arena, cq_error *error) {
  const cq_stored_tensor *tensor;
  cq_status status = find_shaped(&tensor, w, (const char *const[]){name, NULL}, rows, cols, width, error);
  return status ? status : take_found(p, w, tensor, name, arena, error);
}

/* --- narrow matrices --- */

enum { QUANTIZATION_VERSION = 1 };

/* What calque has quantized says how. */
static cq_status check_quantization(const cq_weights *w, const char *tensor, cq_error *error) {
  char path[MAX_PATH];
  json_t *json;
  int64_t version = 0;
  cq_status status = cq_path_join(path, sizeof path, w->directory, "quantization.json", error);
  if (!status && !cq_file_exists(path))
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, cq_safetensors_path(w->file),
                        "tensor '%s' has 8 bits, and there is no quantization.json of calque's next to it", tensor);
  if (!status) status = cq_json_read(&json, path, error);
  if (status) return status;
  status = cq_json_get_int(&version, json, "version", 0, INT64_MAX, path, error);
  json_decref(json);
  if (status || version == QUANTIZATION_VERSION) return status;
  return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "version %lld of quantized weights, expected %d",
                      (long long)version, QUANTIZATION_VERSION);
}

/* The name of the scales of a matrix in 8 bits. */
static bool name_scales(char *out, size_t size, const char *matrix) {
  const int n = snprintf(out, size, "%s_scale", matrix);
  return n > 0 && (size_t)n < size;
}

static cq_status take_scales(cq_param *p, cq_weights *w, const cq_stored_tensor *matrix, cq_arena *arena,
                             cq_error *error) {
  char name[512];
  cq_param scales;
  cq_status status = check_quantization(w, matrix->name, error);
  if (!status && !name_scales(name, sizeof name, matrix->name))
    status = cq_fail_file(error, CQ_ERR_FORMAT, cq_safetensors_path(w->file), "a tensor's name is too long");
  if (!status)
    status = cq_weights_take(&scales, w, (const char *const[]){name, NULL}, matrix->shape[0], 0, arena, error);
  if (!status) p->narrow.scales = scales.value;
  return status;
}

/* A matrix in 4 bits: half as wide as it should be, with scales; NULL: there is none of these names. */
static const cq_stored_tensor *find_four_bits(const cq_weights *w, const char *const *names, int64_t rows,
                                              int64_t cols) {
  for (size_t i = 0; names[i]; i++) {
    char scales[512];
    const cq_stored_tensor *t = cq_safetensors_find(w->file, names[i]);
    if (t)
      return t->dtype == CQ_U8 && t->n_dims == 2 && (cols < 0 || 2 * t->shape[1] == cols) &&
                     (rows < 0 || t->shape[0] == rows) && name_scales(scales, sizeof scales, names[i]) &&
                     cq_weights_has(w, scales)
                 ? t
                 : NULL;
  }
  return NULL;
}

cq_status cq_weights_take_narrow(cq_param *p, cq_weights *w, const char *const *names, int64_t rows, int64_t cols,
                                 cq_arena *arena, cq_error *error) {
  const cq_stored_tensor *tensor, *four_bits = find_four_bits(w, names, rows, cols);
  cq_status status = four_bits ? CQ_OK : find_tensor(&tensor, w, names, rows, cols, error);
  if (status) return status;
  if (four_bits) tensor = four_bits;
  if (!four_bits && tensor->dtype != CQ_BF16 && tensor->dtype != CQ_F16 && tensor->dtype != CQ_I8) {
    status = cq_weights_take(p, w, names, rows, cols, arena, error);
    p->narrows = true;
    return status;
  }
  status = begin_param(p, tensor, names[0], arena, error);
  p->narrows = true;
  p->narrow = (cq_narrow_rows){.data = tensor->data, .dtype = four_bits ? CQ_I4 : tensor->dtype};
  if (four_bits) p->cols *= 2;
  if (!status && (four_bits || tensor->dtype == CQ_I8)) status = take_scales(p, w, tensor, arena, error);
  if (!status) mark_taken(w, tensor);
  return status;
}

bool cq_weights_has_numbers(const cq_weights *w, const char *name) {
  char scales[512];
  const cq_stored_tensor *tensor = cq_safetensors_find(w->file, name);
  return tensor && tensor->dtype == CQ_I8 && tensor->n_dims == 2 && name_scales(scales, sizeof scales, name) &&
         !cq_weights_has(w, scales);
}

cq_status cq_weights_take_numbers(cq_param *p, cq_weights *w, const char *name, cq_arena *arena, cq_error *error) {
  const cq_stored_tensor *tensor;
  cq_status status = find_tensor(&tensor, w, (const char *const[]){name, NULL}, -1, -1, error);
  if (!status) status = begin_param(p, tensor, name, arena, error);
  if (status) return status;
  float *ones = cq_arena_array(arena, (size_t)p->rows, sizeof *ones);
  if (!ones) return cq_fail_memory(error, "scales");
  for (int64_t i = 0; i < p->rows; i++) ones[i] = 1;
  p->narrows = true;
  p->narrow = (cq_narrow_rows){.data = tensor->data, .scales = ones, .dtype = CQ_I8};
  mark_taken(w, tensor);
  return CQ_OK;
}

cq_status cq_weights_take_integers(int32_t **out, int64_t *n, cq_weights *w, const char *name, int64_t n_values,
                                   cq_arena *arena, cq_error *error) {
  const cq_stored_tensor *tensor;
  const char *path = cq_safetensors_path(w->file);
  cq_status status = find_tensor(&tensor, w, (const char *const[]){name, NULL}, -1, 0, error);
  if (status) return status;
  if (tensor->dtype != CQ_I32 && tensor->dtype != CQ_I64)
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "tensor '%s' has dtype %s, expected I32 or I64", name,
                        tensor->dtype_text ? tensor->dtype_text : cq_dtype_name(tensor->dtype));
  *n = tensor->n_elements;
  *out = cq_arena_array(arena, (size_t)*n, sizeof **out);
  if (!*out) return cq_fail_memory(error, "whole numbers");
  for (int64_t i = 0; i < *n; i++) {
    const size_t size = cq_dtype_size(tensor->dtype);
    int32_t narrow = 0;
    int64_t value = 0;
    if (size == sizeof narrow)
      memcpy(&narrow, (const char *)tensor->data + (size_t)i * size, size), value = narrow;
    else
      memcpy(&value, (const char *)tensor->data + (size_t)i * size, size);
    if (value < 0 || value >= n_values)
      return cq_fail_file(error, CQ_ERR_FORMAT, path, "element %lld of tensor '%s' is %lld, expected 0 to %lld",
                          (long long)i, name, (long long)value, (long long)n_values - 1);
    (*out)[i] = (int32_t)value;
  }
  mark_taken(w, tensor);
  return CQ_OK;
}

void cq_weights_leave_heads(cq_weights *w, const cq_module_source *source) {
  static const char *const heads[] = {"qa_outputs.", "pre_classifier.", "score.", "classifier."};
  const char *first = NULL;
  for (size_t i = 0; i < cq_safetensors_count(w->file); i++) {
    const char *name = cq_safetensors_at(w->file, i)->name;
    for (size_t j = 0; !w->taken[i] && j < sizeof heads / sizeof *heads; j++) {
      if (strncmp(name, heads[j], strlen(heads[j])) != 0) continue;
      w->taken[i] = true;
      if (!first) first = name;
    }
  }
  if (!first || !source->notice) return;
  char text[MAX_PATH + 400];
  snprintf(text, sizeof text, "%s: the head of another task is ignored ('%.200s')", w->directory, first);
  source->notice(source->notice_context, text);
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

/* --- writing --- */

static uint16_t half_of(float x, cq_dtype dtype) {
  return dtype == CQ_BF16 ? cq_f32_to_bf16(x) : cq_f32_to_f16(x);
}

/* The shape that a parameter has in files. */
static void set_shape(cq_stored_tensor *t, const cq_param *p) {
  const int64_t depth = p->n_dims == 3 ? p->depth : 1;
  t->n_dims = p->n_dims;
  t->shape[0] = p->n_dims == 1 ? p->cols : p->rows;
  t->shape[1] = p->n_dims == 1 ? 0 : p->cols / depth;
  t->shape[2] = p->n_dims == 3 ? depth : 0;
}

/* The type of a parameter in a file of weights in this type: only what may be narrow is quantized, and only tables have
 * 4 bits. */
static cq_dtype type_of(const cq_param *p, cq_dtype weights) {
  if (weights != CQ_I8 && weights != CQ_I4) return weights;
  return !p->narrows ? CQ_F32 : weights == CQ_I4 && p->table && p->cols % 2 == 0 ? CQ_I4 : CQ_I8;
}

/* Fails if a number is too large for a type of 16 bits, which would make it infinite. */
static cq_status check_range(const cq_param *p, const cq_stored_tensor *stored, cq_error *error) {
  float *made;
  if (stored->dtype != CQ_F16 && stored->dtype != CQ_BF16) return CQ_OK;
  const float *value = cq_param_f32(&made, p);
  const uint16_t *half = stored->data;
  cq_status status = value ? CQ_OK : cq_fail_memory(error, "narrow weights");
  for (int64_t i = 0; !status && i < cq_param_floats(p); i++) {
    const float x = stored->dtype == CQ_F16 ? cq_f16_to_f32(half[i]) : cq_bf16_to_f32(half[i]);
    if (!isfinite(x) && isfinite(value[i]))
      status = cq_fail(error, CQ_ERR_LIMIT, "tensor '%s': %g at element %lld does not fit %s", p->name,
                       (double)value[i], (long long)i, cq_dtype_name(stored->dtype));
  }
  cq_free(made);
  return status;
}

/* A parameter as one tensor in the arena, or as two: a quantized matrix, and its scales. Returns how many; 0: out of
 * memory. */
static size_t tensors_of(cq_stored_tensor out[2], const cq_param *p, cq_dtype weights, cq_arena *arena) {
  const size_t n = (size_t)cq_param_floats(p), n_rows = (size_t)p->rows;
  const cq_dtype dtype = type_of(p, weights);
  float *made;
  const float *value = cq_param_f32(&made, p);
  void *data = value ? cq_arena_array(arena, n, dtype == CQ_I4 ? 1 : cq_dtype_size(dtype)) : NULL;
  size_t n_out = 0;
  if (!data) goto done;
  out[n_out++] = (cq_stored_tensor){.name = p->name, .dtype = dtype, .n_elements = (int64_t)n, .data = data};
  set_shape(&out[0], p);
  if (dtype == CQ_F32) {
    memcpy(data, value, n * sizeof *value);
  } else if (dtype == CQ_I8 || dtype == CQ_I4) {
    char name[512];
    float *scales = cq_arena_array(arena, n_rows, sizeof *scales);
    const char *kept = name_scales(name, sizeof name, p->name) ? cq_arena_strdup(arena, name) : NULL;
    if (!scales || !kept) n_out = 0;
    for (size_t r = 0; n_out && r < n_rows; r++) {
      const float *row = value + r * (size_t)p->cols;
      scales[r] = dtype == CQ_I8 ? cq_int8_row((int8_t *)data + r * (size_t)p->cols, row, p->cols)
                                 : cq_int4_row((uint8_t *)data + r * (size_t)p->cols / 2, row, p->cols);
    }
    if (dtype == CQ_I4) out[0].dtype = CQ_U8, out[0].shape[1] /= 2, out[0].n_elements /= 2;
    if (n_out)
      out[n_out++] = (cq_stored_tensor){
          .name = kept, .dtype = CQ_F32, .n_dims = 1, .shape = {p->rows}, .n_elements = p->rows, .data = scales};
  } else {
    for (size_t i = 0; i < n; i++) ((uint16_t *)data)[i] = half_of(value[i], dtype);
  }
done:
  cq_free(made);
  return n_out;
}

cq_status cq_weights_save(const cq_param *params, size_t n, cq_dtype weights, const char *directory, cq_error *error) {
  return cq_weights_save_with(params, n, NULL, NULL, 0, weights, directory, error);
}

cq_status cq_weights_save_with(const cq_param *params, size_t n, const char *integers_name, const int32_t *integers,
                               int64_t n_integers, cq_dtype weights, const char *directory, cq_error *error) {
  static const char *const metadata[] = {"format", "pt", NULL};
  const bool is_quantized = weights == CQ_I8 || weights == CQ_I4;
  char path[MAX_PATH];
  cq_arena arena = {0};
  size_t n_tensors = 0;
  cq_status status =
      cq_path_join(path, sizeof path, directory, is_quantized ? "model-int8.safetensors" : "model.safetensors", error);
  cq_stored_tensor *tensors = cq_alloc_array_zeroed(2 * n + 1, sizeof *tensors);
  if (!status && !tensors) status = cq_fail_memory(error, "the list of tensors");
  for (size_t i = 0; !status && i < n; i++) {
    const cq_param *p = &params[i];
    if (weights == CQ_F32 && p->value) { /* as it lies */
      tensors[n_tensors++] =
          (cq_stored_tensor){.name = p->name, .dtype = CQ_F32, .n_elements = cq_param_floats(p), .data = p->value};
      set_shape(&tensors[n_tensors - 1], p);
      continue;
    }
    const size_t made = tensors_of(tensors + n_tensors, p, weights, &arena);
    status = made ? check_range(p, &tensors[n_tensors], error) : cq_fail_memory(error, "narrow weights");
    n_tensors += made;
  }
  if (integers_name && !status)
    tensors[n_tensors++] = (cq_stored_tensor){.name = integers_name,
                                              .dtype = CQ_I32,
                                              .n_dims = 1,
                                              .shape = {n_integers},
                                              .n_elements = n_integers,
                                              .data = integers};
  if (!status) status = cq_safetensors_write(path, tensors, n_tensors, metadata, error);
  if (!status && is_quantized)
    status = cq_json_save(
        json_pack("{s:i, s:s}", "version", QUANTIZATION_VERSION, "weights", weights == CQ_I8 ? "int8" : "int4"),
        directory, "quantization.json", error);
  cq_arena_free(&arena);
  cq_free(tensors);
  return status;
}
