/* The negative log likelihood of tokens under softmax(x W^T + b), and its gradient. See token_loss.h. */
#include "lab/autoencode/token_loss.h"

#include "base/error.h"

/* Rows per block. With more rows, the weight is read, and its gradient read and written, less often; fewer rows keep
 * the block's logits in a closer cache and a worker's memory small: 32 MiB for a vocabulary of 32,000. See
 * docs/notes/speed-log.md. */
enum { BLOCK_ROWS = 256 };

/* Floats between rows of logits: with a power of two, a column would map to few cache lines. */
static int64_t logits_stride(int64_t vocabulary) {
  return (vocabulary + 15) / 16 * 16 + 16;
}

cq_status cq_token_loss(cq_worker *worker, const cq_linear *output, cq_gradients *gradients, cq_tensor dx, cq_tensor x,
                        const int32_t *ids, float factor, float smoothing, double *loss, cq_error *error) {
  const cq_kernels *k = worker->kernels;
  const int64_t n = x.rows, vocabulary = output->weight->rows, max_rows = n < BLOCK_ROWS ? n : BLOCK_ROWS;
  assert(x.cols == output->weight->cols && smoothing >= 0 && smoothing <= 1);
  assert(!gradients || !dx.data || (dx.rows == n && dx.cols == x.cols));
  cq_mark mark = cq_workspace_mark(&worker->workspace);
  cq_tensor room = cq_workspace_f32(&worker->workspace, max_rows, logits_stride(vocabulary));
  if (!room.data) return cq_fail_memory(error, "logits");
  double sum = 0;
  cq_status status = CQ_OK;
  for (int64_t first = 0; first < n && !status; first += max_rows) {
    const int64_t rows = n - first < max_rows ? n - first : max_rows;
    cq_tensor logits = cq_tensor_columns(cq_tensor_rows(room, 0, rows), 0, vocabulary);
    cq_tensor x_block = cq_tensor_rows(x, first, rows);
    float *values = cq_f32(logits);
    if ((status = cq_linear_forward(worker, output, logits, x_block, CQ_IDENTITY, (cq_tensor){0}, error))) break;
    sum += k->cross_entropy(gradients ? values : NULL, values, logits.stride, ids + first, factor, smoothing, rows,
                            vocabulary);
    if (!gradients) continue;
    cq_tensor dx_block = dx.data ? cq_tensor_rows(dx, first, rows) : dx;
    status = cq_linear_backward(worker, output, gradients, dx_block, false, logits, x_block, error);
  }
  cq_workspace_release(&worker->workspace, mark);
  if (!status) *loss += sum;
  return status;
}

cq_status cq_token_log_probabilities(cq_worker *worker, const cq_linear *output, cq_tensor y, cq_tensor x,
                                     cq_error *error) {
  const cq_status status = cq_linear_forward(worker, output, y, x, CQ_IDENTITY, (cq_tensor){0}, error);
  if (status) return status;
  worker->kernels->log_softmax(cq_f32(y), y.stride, cq_f32(y), y.stride, y.rows, y.cols);
  return CQ_OK;
}
