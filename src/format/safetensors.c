/* The reader trusts nothing: every number is checked before it becomes a pointer. Byte positions in errors are offsets
 * in the file; for a bad entry of the header, the position is the offset of the tensor's name. */
#include "format/safetensors.h"

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "format/half.h"
#include "format/json.h"
#include "format/stored_file.h"

#include <stdlib.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tensors are borrowed from a little-endian file");

#define MAX_HEADER_BYTES ((uint64_t)100 * 1000 * 1000) /* the format's own limit */
#define DATA_ALIGNMENT   64

static const struct {
  const char *name;
  cq_dtype dtype;
  size_t size;
} dtypes[] = {
    {"F32", CQ_F32, 4},
    {"F16", CQ_F16, 2},
    {"BF16", CQ_BF16, 2},
    {"F64", CQ_F64, 8},
    {"I8", CQ_I8, 1},
    {"U8", CQ_U8, 1},
    {"I32", CQ_I32, 4},
    {"I64", CQ_I64, 8},
    {"BOOL", CQ_BOOL, 1},
    {"I16", CQ_OTHER_DTYPE, 2},
    {"U16", CQ_OTHER_DTYPE, 2},
    {"U32", CQ_OTHER_DTYPE, 4},
    {"U64", CQ_OTHER_DTYPE, 8},
    {"C64", CQ_OTHER_DTYPE, 8},
    {"F8_E4M3", CQ_OTHER_DTYPE, 1},
    {"F8_E5M2", CQ_OTHER_DTYPE, 1},
    {"F8_E8M0", CQ_OTHER_DTYPE, 1},
};
#define N_DTYPES (sizeof dtypes / sizeof *dtypes)

const char *cq_dtype_name(cq_dtype dtype) {
  for (size_t i = 0; dtype != CQ_OTHER_DTYPE && i < N_DTYPES; i++) {
    if (dtypes[i].dtype == dtype) return dtypes[i].name;
  }
  return "OTHER";
}

/* ---- reading ---- */

/* While the header is read, each tensor also has its claimed data offsets. */
struct entry {
  cq_stored_tensor tensor;
  uint64_t begin, end;
  size_t order; /* in the header */
};

struct reader {
  cq_safetensors *file;
  const char *header;
  size_t header_n;
  const unsigned char *data;
  size_t data_n;
  cq_error *error;
};

/* The position of a tensor's name, for messages: the first "NAME" followed by a colon, or 8, the start of the header,
 * if the name contains escapes. */
static uint64_t place_of_member(const struct reader *r, const char *name) {
  size_t n = strlen(name);
  for (size_t i = 0; i + n + 2 <= r->header_n; i++) {
    if (r->header[i] != '"' || r->header[i + n + 1] != '"' || memcmp(r->header + i + 1, name, n) != 0) continue;
    size_t after = i + n + 2;
    while (after < r->header_n && strchr(" \t\r\n", r->header[after])) after++;
    if (after < r->header_n && r->header[after] == ':') return 8 + i;
  }
  return 8;
}

static cq_status wrong_entry(const struct reader *r, const char *name, const char *problem) {
  return cq_fail_byte(r->error, CQ_ERR_FORMAT, r->file->path, place_of_member(r, name), "tensor '%.200s': %s", name,
                      problem);
}

static cq_status read_metadata(const struct reader *r, json_t *metadata) {
  const char *key;
  json_t *value;
  if (!json_is_object(metadata)) return wrong_entry(r, "__metadata__", "expected an object of strings");
  json_object_foreach(metadata, key, value) {
    if (!json_is_string(value)) return wrong_entry(r, "__metadata__", "expected an object of strings");
  }
  return CQ_OK;
}

static cq_status read_tensor_entry(struct entry *out, const struct reader *r, const char *name, json_t *json) {
  cq_stored_tensor *t = &out->tensor;
  const char *key;
  json_t *value;
  if (!json_is_object(json)) return wrong_entry(r, name, "expected an object");
  json_object_foreach(json, key, value) {
    if (strcmp(key, "dtype") != 0 && strcmp(key, "shape") != 0 && strcmp(key, "data_offsets") != 0)
      return wrong_entry(r, name, "has a member other than dtype, shape and data_offsets");
  }
  const json_t *dtype = json_object_get(json, "dtype"), *shape = json_object_get(json, "shape"),
               *offsets = json_object_get(json, "data_offsets");
  if (!json_is_string(dtype)) return wrong_entry(r, name, "no dtype");
  if (!json_is_array(shape)) return wrong_entry(r, name, "no shape");
  if (!json_is_array(offsets) || json_array_size(offsets) != 2) return wrong_entry(r, name, "no data_offsets of two");

  size_t size = 0;
  for (size_t i = 0; i < N_DTYPES; i++) {
    if (strcmp(json_string_value(dtype), dtypes[i].name) != 0) continue;
    t->dtype = dtypes[i].dtype;
    t->dtype_text = dtypes[i].name;
    size = dtypes[i].size;
  }
  if (!size)
    return cq_fail_byte(r->error, CQ_ERR_UNSUPPORTED, r->file->path, place_of_member(r, name),
                        "tensor '%.200s': unknown dtype '%.40s'", name, json_string_value(dtype));

  if (json_array_size(shape) > sizeof t->shape / sizeof *t->shape)
    return cq_fail_byte(r->error, CQ_ERR_UNSUPPORTED, r->file->path, place_of_member(r, name),
                        "tensor '%.200s': %zu dimensions, at most 8 are supported", name, json_array_size(shape));
  t->n_dims = (int)json_array_size(shape);
  /* An empty dimension makes the tensor empty, but the product of the others must still be a size. */
  int64_t n_elements = 1, n_bytes;
  bool empty = false;
  for (int i = 0; i < t->n_dims; i++) {
    const json_t *dim = json_array_get(shape, (size_t)i);
    if (!json_is_integer(dim) || json_integer_value(dim) < 0)
      return wrong_entry(r, name, "a dimension is not a whole number of at least 0");
    t->shape[i] = json_integer_value(dim);
    if (t->shape[i] == 0)
      empty = true;
    else if (__builtin_mul_overflow(n_elements, t->shape[i], &n_elements))
      return wrong_entry(r, name, "the shape has more than 2^63 elements");
  }
  if (__builtin_mul_overflow(n_elements, (int64_t)size, &n_bytes))
    return wrong_entry(r, name, "the shape has more than 2^63 bytes");
  if (empty) n_elements = n_bytes = 0;
  t->n_elements = n_elements;

  const json_t *begin = json_array_get(offsets, 0), *end = json_array_get(offsets, 1);
  if (!json_is_integer(begin) || !json_is_integer(end) || json_integer_value(begin) < 0 ||
      json_integer_value(end) < json_integer_value(begin))
    return wrong_entry(r, name, "data_offsets are not two growing whole numbers");
  out->begin = (uint64_t)json_integer_value(begin);
  out->end = (uint64_t)json_integer_value(end);
  uint64_t data_start = 8 + (uint64_t)r->header_n;
  if (out->end > r->data_n)
    return cq_fail_byte(r->error, CQ_ERR_FORMAT, r->file->path, place_of_member(r, name),
                        "tensor '%.200s' ends at byte %llu, the file has %llu", name,
                        (unsigned long long)(data_start + out->end), (unsigned long long)(data_start + r->data_n));
  if (out->end - out->begin != (uint64_t)n_bytes)
    return cq_fail_byte(r->error, CQ_ERR_FORMAT, r->file->path, place_of_member(r, name),
                        "tensor '%.200s': its shape has %lld bytes, its data_offsets %llu", name, (long long)n_bytes,
                        (unsigned long long)(out->end - out->begin));
  t->data = r->data + out->begin;
  t->name = cq_arena_strdup(&r->file->arena, name);
  return t->name ? CQ_OK : cq_fail_memory(r->error, r->file->path);
}

static int tensor_by_place(const void *a, const void *b) {
  const struct entry *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  if (x->end != y->end) return x->end < y->end ? -1 : 1;
  return x->order < y->order ? -1 : 1;
}

/* The tensors must cover the data exactly once, from the first byte to the last. */
static cq_status check_cover(const struct reader *r, const struct entry *entries, size_t n) {
  uint64_t data_start = 8 + (uint64_t)r->header_n, at = 0;
  for (size_t i = 0; i < n; i++) {
    if (entries[i].begin != at)
      return cq_fail_byte(r->error, CQ_ERR_FORMAT, r->file->path, data_start + entries[i].begin,
                          entries[i].begin < at ? "tensor '%.200s' overlaps the one before it, which ends at byte %llu"
                                                : "a gap before tensor '%.200s', expected it at byte %llu",
                          entries[i].tensor.name, (unsigned long long)(data_start + at));
    at = entries[i].end;
  }
  if (at != r->data_n)
    return cq_fail_byte(r->error, CQ_ERR_FORMAT, r->file->path, data_start + at,
                        "%llu bytes after the last tensor, expected none", (unsigned long long)(r->data_n - at));
  return CQ_OK;
}

static cq_status read_safetensors_header(struct reader *r, json_t *root) {
  cq_safetensors *file = r->file;
  const char *name;
  json_t *value;
  size_t capacity = json_object_size(root), n = 0;
  if (capacity > CQ_MAX_TENSORS)
    return cq_fail_file(r->error, CQ_ERR_LIMIT, file->path, "%zu tensors, at most %d are read", capacity,
                        CQ_MAX_TENSORS);
  struct entry *entries = cq_alloc_array_zeroed(capacity, sizeof *entries);
  if (!entries) return cq_fail_memory(r->error, file->path);
  cq_status status = CQ_OK;
  json_object_foreach(root, name, value) {
    if (!strcmp(name, "__metadata__")) {
      status = read_metadata(r, value);
    } else {
      entries[n].order = n;
      status = read_tensor_entry(&entries[n], r, name, value);
      n++;
    }
    if (status) goto done;
  }
  if (n) qsort(entries, n, sizeof *entries, tensor_by_place);
  status = check_cover(r, entries, n);
  if (status) goto done;
  file->tensors = cq_arena_array(&file->arena, n, sizeof *file->tensors);
  if (!file->tensors) status = cq_fail_memory(r->error, file->path);
  for (size_t i = 0; !status && i < n; i++) {
    file->tensors[i] = entries[i].tensor;
    if (!cq_map_put_borrowed(&file->by_name, cq_slice_of(entries[i].tensor.name), i))
      status = cq_fail_memory(r->error, file->path);
  }
  file->n = n;
done:
  cq_free(entries);
  return status;
}

static cq_status read_safetensors(cq_safetensors *file, cq_error *error) {
  const unsigned char *bytes = file->mapping.data;
  size_t n_bytes = file->mapping.n;
  uint64_t n = 0;
  if (n_bytes < 8)
    return cq_fail_byte(error, CQ_ERR_FORMAT, file->path, n_bytes, "the file ends inside the header's length");
  for (int i = 7; i >= 0; i--) n = n << 8 | bytes[i];
  if (n > n_bytes - 8)
    return cq_fail_byte(error, CQ_ERR_FORMAT, file->path, 0, "the header has %llu bytes, the file %zu after them",
                        (unsigned long long)n, n_bytes - 8);
  if (n > MAX_HEADER_BYTES)
    return cq_fail_byte(error, CQ_ERR_FORMAT, file->path, 0, "a header of %llu bytes, at most %llu are allowed",
                        (unsigned long long)n, (unsigned long long)MAX_HEADER_BYTES);
  if (n > CQ_MAX_FILE_READ)
    return cq_fail_byte(error, CQ_ERR_LIMIT, file->path, 0, "a header of %llu bytes, at most %zu are read",
                        (unsigned long long)n, CQ_MAX_FILE_READ);
  struct reader r = {file, (const char *)bytes + 8, (size_t)n, bytes + 8 + n, n_bytes - 8 - (size_t)n, error};
  if (r.header_n == 0 || r.header[0] != '{')
    return cq_fail_byte(error, CQ_ERR_FORMAT, file->path, 8, "the header does not begin with '{'");
  json_error_t problem;
  json_t *root;
  cq_status status = cq_json_load(&root, (cq_slice){r.header, r.header_n}, JSON_REJECT_DUPLICATES, &problem);
  if (status == CQ_ERR_MEMORY) return cq_fail_memory(error, file->path);
  if (status)
    return cq_fail_byte(error, CQ_ERR_FORMAT, file->path, 8 + (uint64_t)(problem.position > 0 ? problem.position : 0),
                        "the header is not JSON: %s", problem.text);
  status = read_safetensors_header(&r, root);
  json_decref(root);
  return status;
}

cq_status cq_stored_file_open(cq_safetensors **out, const char *path, cq_status (*read)(cq_safetensors *, cq_error *),
                              cq_error *error) {
  *out = NULL;
  cq_safetensors *file = cq_alloc_zeroed(sizeof *file);
  if (!file) return cq_fail_memory(error, path);
  cq_status status = CQ_OK;
  file->path = cq_arena_strdup(&file->arena, path);
  if (!file->path) status = cq_fail_memory(error, path);
  if (!status) status = cq_mapping_open(&file->mapping, path, error);
  if (!status) status = cq_mapping_not_pointer(&file->mapping, path, error);
  if (!status) status = read(file, error);
  if (status)
    cq_safetensors_close(file);
  else
    *out = file;
  return status;
}

cq_status cq_safetensors_open(cq_safetensors **out, const char *path, cq_error *error) {
  return cq_stored_file_open(out, path, read_safetensors, error);
}

void cq_safetensors_release_pages(const cq_safetensors *file) {
  if (file->mapping.data) cq_mapping_release_pages(&file->mapping);
  for (size_t i = 0; i < file->n_parts; i++) cq_safetensors_release_pages(file->parts[i]);
}

void cq_safetensors_close(cq_safetensors *file) {
  if (!file) return;
  for (size_t i = 0; i < file->n_parts; i++) cq_safetensors_close(file->parts[i]);
  cq_mapping_close(&file->mapping);
  cq_map_free(&file->by_name);
  cq_arena_free(&file->arena);
  cq_free(file);
}

const char *cq_safetensors_path(const cq_safetensors *file) {
  return file->path;
}

size_t cq_safetensors_count(const cq_safetensors *file) {
  return file->n;
}

const cq_stored_tensor *cq_safetensors_at(const cq_safetensors *file, size_t index) {
  return &file->tensors[index];
}

const cq_stored_tensor *cq_safetensors_find(const cq_safetensors *file, const char *name) {
  uint64_t index = cq_map_get(&file->by_name, cq_slice_of(name));
  return index == CQ_MAP_NONE ? NULL : &file->tensors[index];
}

/* ---- converting ---- */

cq_status cq_stored_tensor_to_f32(float *out, const cq_stored_tensor *tensor, const char *path, cq_error *error) {
  const unsigned char *in = tensor->data; /* read by memcpy: it may be unaligned */
  size_t n = (size_t)tensor->n_elements;
  uint16_t half;
  double wide;
  switch (tensor->dtype) {
  case CQ_F32:
    if (n) memcpy(out, in, n * sizeof *out);
    return CQ_OK;
  case CQ_F16:
  case CQ_BF16:
    for (size_t i = 0; i < n; i++) {
      memcpy(&half, in + 2 * i, 2);
      out[i] = tensor->dtype == CQ_F16 ? cq_f16_to_f32(half) : cq_bf16_to_f32(half);
    }
    return CQ_OK;
  case CQ_F64:
    for (size_t i = 0; i < n; i++) {
      memcpy(&wide, in + 8 * i, 8);
      out[i] = (float)wide;
    }
    return CQ_OK;
  default:
    return cq_fail_file(error, CQ_ERR_UNSUPPORTED, path, "tensor '%.200s' has dtype %s, expected F32, F16, BF16 or F64",
                        tensor->name, tensor->dtype_text ? tensor->dtype_text : cq_dtype_name(tensor->dtype));
  }
}

/* ---- writing ---- */

/* A tensor's size in bytes, as in reading: even an empty tensor's other dimensions must give a valid size. */
static cq_status bytes_of_tensor(size_t *n_bytes, const cq_stored_tensor *t, const char *path, cq_error *error) {
  bool good = cq_dtype_size(t->dtype) > 0 && t->n_dims >= 0 && t->n_dims <= 8, empty = false;
  *n_bytes = cq_dtype_size(t->dtype);
  for (int i = 0; good && i < t->n_dims; i++) {
    if (t->shape[i] == 0)
      empty = true;
    else
      good = t->shape[i] > 0 && cq_checked_mul(n_bytes, *n_bytes, (size_t)t->shape[i]) && *n_bytes <= INT64_MAX;
  }
  if (!good)
    return cq_fail_file(error, CQ_ERR_ARGUMENT, path, "tensor '%.200s': its dtype or shape cannot be written", t->name);
  if (empty) *n_bytes = 0;
  return CQ_OK;
}

/* Adds a tensor's entry to the header; *at moves past its data. */
static cq_status describe_tensor(json_t *header, uint64_t *at, const cq_stored_tensor *t, const char *path,
                                 cq_error *error) {
  size_t n_bytes;
  cq_status status = bytes_of_tensor(&n_bytes, t, path, error);
  if (status) return status;
  if (json_object_get(header, t->name))
    return cq_fail_file(error, CQ_ERR_ARGUMENT, path, "two tensors are named '%.200s'", t->name);
  json_t *shape = json_array();
  for (int i = 0; i < t->n_dims; i++) cq_json_push(&shape, json_integer(t->shape[i]));
  const uint64_t begin = *at;
  *at += n_bytes;
  json_t *entry = json_pack("{s:s, s:o, s:[I, I]}", "dtype", cq_dtype_name(t->dtype), "shape", shape, "data_offsets",
                            (json_int_t)begin, (json_int_t)*at);
  return json_object_set_new(header, t->name, entry) ? cq_fail_memory(error, path) : CQ_OK;
}

/* Wider types first, otherwise in the given order: each tensor's offset is then a multiple of its type's size. Some
 * readers rely on this and reinterpret a byte buffer. */
static void order_by_width(const cq_stored_tensor **out, const cq_stored_tensor *tensors, size_t n) {
  static const size_t widths[] = {8, 4, 2, 1, 0};
  size_t k = 0;
  for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
    for (size_t i = 0; i < n; i++) {
      if (cq_dtype_size(tensors[i].dtype) == widths[w]) out[k++] = &tensors[i];
    }
  }
}

static cq_status make_header(cq_builder *out, const cq_stored_tensor *const *ordered, size_t n,
                             const char *const *metadata, const char *path, cq_error *error) {
  const bool has_notes = metadata && metadata[0];
  json_t *header = json_object(), *notes = has_notes ? json_object() : NULL;
  uint64_t at = 0;
  for (size_t i = 0; has_notes && metadata[i] && metadata[i + 1]; i += 2)
    cq_json_set(&notes, metadata[i], json_string(metadata[i + 1]));
  if (has_notes) cq_json_set(&header, "__metadata__", notes);
  cq_status status = header ? CQ_OK : cq_fail_memory(error, path);
  for (size_t i = 0; !status && i < n; i++) status = describe_tensor(header, &at, ordered[i], path, error);
  if (!status) {
    cq_json_append(out, header, -1);
    while ((8 + out->n) % DATA_ALIGNMENT != 0 && !out->failed) cq_builder_char(out, ' ');
    if (out->failed) status = cq_fail_memory(error, path);
  }
  json_decref(header);
  return status;
}

cq_status cq_safetensors_write(const char *path, const cq_stored_tensor *tensors, size_t n, const char *const *metadata,
                               cq_error *error) {
  cq_builder header = {0};
  cq_writer w = {0};
  const cq_stored_tensor **ordered = cq_alloc_array(n, sizeof *ordered);
  if (!ordered) return cq_fail_memory(error, path);
  order_by_width(ordered, tensors, n);
  cq_status status = make_header(&header, ordered, n, metadata, path, error);
  if (!status) status = cq_writer_open(&w, path, error);
  unsigned char length[8];
  for (int i = 0; i < 8; i++) length[i] = (unsigned char)((uint64_t)header.n >> (8 * i));
  if (!status) status = cq_writer_bytes(&w, length, sizeof length, error);
  if (!status) status = cq_writer_bytes(&w, header.data, header.n, error);
  for (size_t i = 0; !status && i < n; i++) {
    size_t n_bytes;
    status = bytes_of_tensor(&n_bytes, ordered[i], path, error);
    if (!status) status = cq_writer_bytes(&w, ordered[i]->data, n_bytes, error);
  }
  if (!status) status = cq_writer_commit(&w, error);
  cq_writer_abort(&w);
  cq_builder_free(&header);
  cq_free(ordered);
  return status;
}
