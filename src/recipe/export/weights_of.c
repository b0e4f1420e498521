/* Writes a parameter as a file stores it, one at a time, so that no second copy of the model is made. */
#include "recipe/export/weights_of.h"

#include "base/error.h"
#include "base/memory.h"
#include "format/half.h"
#include "tensor/narrow.h"

#include <math.h>

enum { Q8_NUMBERS = 32, Q8_BYTES = 2 + Q8_NUMBERS };

static const size_t sizes[] = {[CQ_AS_F32] = 4, [CQ_AS_F16] = 2, [CQ_AS_U8] = 1, [CQ_AS_SCALES] = 4};

cq_stored_weight cq_stored_weight_of(const cq_param *param, cq_stored_as as, bool transposed) {
  return (cq_stored_weight){param, as, transposed, 0, param->rows};
}

size_t cq_stored_weight_bytes(const cq_stored_weight *w) {
  if (w->as == CQ_AS_Q8_0) return (size_t)(w->rows * w->param->cols / Q8_NUMBERS) * Q8_BYTES;
  return (size_t)w->rows * (w->as == CQ_AS_SCALES ? 1 : (size_t)w->param->cols) * sizes[w->as];
}

static void convert_blocks(uint8_t *out, const float *values, int64_t n) {
  for (int64_t i = 0; i < n; i += Q8_NUMBERS, out += Q8_BYTES) {
    const uint16_t scale = cq_f32_to_f16(cq_int8_row((int8_t *)out + 2, values + i, Q8_NUMBERS));
    memcpy(out, &scale, sizeof scale);
  }
}

/* The values [rows, cols] as `as` in out. */
static cq_status convert(void *out, const float *values, const cq_stored_weight *w, cq_error *error) {
  const int64_t cols = w->param->cols;
  if (w->as == CQ_AS_Q8_0) {
    convert_blocks(out, values, w->rows * cols);
    return CQ_OK;
  }
  int8_t *row = w->as >= CQ_AS_U8 ? cq_alloc_array((size_t)cols, sizeof *row) : NULL;
  cq_status status = w->as >= CQ_AS_U8 && !row ? cq_fail_memory(error, "a row in 8 bits") : CQ_OK;
  for (int64_t r = 0; !status && r < w->rows; r++) {
    const float *x = values + r * cols;
    const float scale = row ? cq_int8_row(row, x, cols) : 0;
    if (w->as == CQ_AS_SCALES) ((float *)out)[r] = scale;
    for (int64_t c = 0; w->as != CQ_AS_SCALES && c < cols; c++) {
      const int64_t to = w->transposed ? c * w->rows + r : r * cols + c;
      if (w->as == CQ_AS_F32) ((float *)out)[to] = x[c];
      if (w->as == CQ_AS_U8) ((uint8_t *)out)[to] = (uint8_t)(row[c] + 128);
      if (w->as != CQ_AS_F16) continue;
      ((uint16_t *)out)[to] = cq_f32_to_f16(x[c]);
      if (isfinite(x[c]) && fabsf(x[c]) >= 65520) { /* which is rounded to infinity */
        status = cq_fail(error, CQ_ERR_LIMIT, "tensor '%s': %g in row %lld does not fit F16", w->param->name,
                         (double)x[c], (long long)(w->first + r));
        break;
      }
    }
  }
  cq_free(row);
  return status;
}

cq_status cq_stored_weight_write(const cq_stored_weight *w, cq_writer *file, cq_error *error) {
  const size_t n = cq_stored_weight_bytes(w);
  float *made = NULL;
  const float *values = cq_param_f32(&made, w->param);
  if (!values) return cq_fail_memory(error, "weights");
  values += w->first * w->param->cols;
  if (w->as == CQ_AS_F32 && !w->transposed) {
    const cq_status status = cq_writer_bytes(file, values, n, error);
    cq_free(made);
    return status;
  }
  void *out = cq_alloc(n);
  cq_status status = out ? convert(out, values, w, error) : cq_fail_memory(error, "weights");
  if (!status) status = cq_writer_bytes(file, out, n, error);
  cq_free(out);
  cq_free(made);
  return status;
}
