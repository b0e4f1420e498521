/* Any bytes either are an error with a place, or tensors that fill the file exactly and survive being written again. */
#include "fuzz.h"

#include "format/safetensors.h"

#include <string.h>

/* Writes the tensors anew and reads them back. */
static void go_round(const cq_safetensors *file, size_t count) {
  static cq_stored_tensor tensors[1000];
  cq_safetensors *again;
  cq_error error = {0};
  if (count > sizeof tensors / sizeof *tensors) return;
  for (size_t i = 0; i < count; i++) {
    tensors[i] = *cq_safetensors_at(file, i);
    if (tensors[i].dtype == CQ_OTHER_DTYPE || !strcmp(tensors[i].name, "__metadata__")) return;
  }
  CHECK(cq_safetensors_write(fuzz_path("written"), tensors, count, NULL, &error) == CQ_OK);
  CHECK(cq_safetensors_open(&again, fuzz_path("written"), &error) == CQ_OK);
  CHECK(cq_safetensors_count(again) == count);
  for (size_t i = 0; i < count; i++) {
    const cq_stored_tensor *t = cq_safetensors_find(again, tensors[i].name);
    CHECK(t && t->dtype == tensors[i].dtype && t->n_elements == tensors[i].n_elements);
    size_t n_bytes = (size_t)t->n_elements * cq_dtype_size(t->dtype);
    CHECK(n_bytes == 0 || !memcmp(t->data, tensors[i].data, n_bytes));
  }
  cq_safetensors_close(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  cq_safetensors *file;
  cq_error error = {0};
  const char *path = input_file(data, n);
  cq_status status = cq_safetensors_open(&file, path, &error);
  if (status) {
    CHECK(!file && (status == CQ_ERR_FORMAT || status == CQ_ERR_UNSUPPORTED));
    const bool has_place = strstr(error.message, "byte "), is_pointer = strstr(error.message, "pointer of Git LFS");
    CHECK(error.byte <= n && (has_place || is_pointer));
    return 0;
  }
  size_t header_n = 0, count = cq_safetensors_count(file), known = 0;
  memcpy(&header_n, data, 8);
  const char *begin = count ? cq_safetensors_at(file, 0)->data : NULL, *at = begin;
  for (size_t i = 0; i < count; i++) {
    const cq_stored_tensor *t = cq_safetensors_at(file, i);
    size_t size = cq_dtype_size(t->dtype);
    CHECK(cq_safetensors_find(file, t->name) == t);
    CHECK(t->n_dims >= 0 && t->n_dims <= 8 && t->n_elements >= 0);
    if (size && known == i) {
      CHECK(t->data == at);
      at += (size_t)t->n_elements * size;
      known++;
    }
    float out[64];
    if (t->n_elements <= 64) CHECK(cq_stored_tensor_to_f32(out, t, path, &error) <= CQ_ERR_UNSUPPORTED);
  }
  if (count && known == count) CHECK((size_t)(at - begin) == n - 8 - header_n);
  go_round(file, count);
  cq_safetensors_close(file);
  return 0;
}
