/* Any bytes as the log of a training run are an error with a place, or finite values of known steps; the same bytes as
 * the log of autoencoders are an error, or steps of known languages. */
#include "fuzz.h"

#include "calque/lab/autoencode.h"
#include "calque/lab/learning_curve.h"

#include <math.h>

static void check_curves(const char *path) {
  cq_learning_curve *c;
  cq_error error = {0};
  const cq_status status = cq_learning_curve_read(&c, path, &error);
  CHECK(!status == !!c);
  if (status) {
    CHECK(status == CQ_ERR_FORMAT && error.message[0]);
    return;
  }
  const cq_curve *curve;
  for (size_t i = 0; (curve = cq_learning_curve_get(c, i)); i++) {
    CHECK(curve->kind < CQ_N_CURVE_KINDS && curve->name && curve->n > 0);
    for (size_t p = 0; p < curve->n; p++) CHECK(isfinite(curve->steps[p]) && isfinite(curve->values[p]));
  }
  cq_learning_curve_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  cq_autoencode_log log;
  cq_error error = {0};
  const char *path = input_file(data, n);
  check_curves(path);
  const cq_status status = cq_autoencode_log_read(&log, path, &error);
  CHECK(status == CQ_OK || (status == CQ_ERR_FORMAT && error.message[0] && !log.steps));
  CHECK(status || (log.n_steps > 0 && log.n_languages > 0 && log.n_stages > 0));
  cq_autoencode_log_free(&log);
  return 0;
}
