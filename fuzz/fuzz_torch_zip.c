/* Any bytes either are an error, or tensors that lie inside the file. */
#include "fuzz.h"

#include "format/torch_zip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  cq_safetensors *file;
  cq_error error = {0};
  cq_status status = cq_torch_zip_open(&file, input_file(data, n), &error);
  if (status) {
    CHECK(!file && (status == CQ_ERR_FORMAT || status == CQ_ERR_UNSUPPORTED));
    CHECK(error.byte <= n && error.message[0]);
    return 0;
  }
  for (size_t i = 0; i < cq_safetensors_count(file); i++) {
    const cq_stored_tensor *t = cq_safetensors_at(file, i);
    CHECK(t->n_elements >= 0 && (uint64_t)t->n_elements <= n && cq_safetensors_find(file, t->name) == t);
    size_t n_bytes = (size_t)t->n_elements * cq_dtype_size(t->dtype);
    CHECK(n_bytes <= n);
    const unsigned char *bytes = t->data;
    volatile unsigned char seen = 0;
    for (size_t k = 0; k < n_bytes; k++) seen ^= bytes[k];
    (void)seen;
  }
  cq_safetensors_close(file);
  return 0;
}
