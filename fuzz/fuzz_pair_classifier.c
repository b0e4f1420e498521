/* Any bytes as a classifier of pairs are an error with a message, or give every pair a probability. */
#include "fuzz.h"

#include "recipe/mine/pair_classifier.h"

#include <math.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static const float values[] = {0, 1, -1, 1e9F, -1e9F};
  cq_pair_classifier c;
  cq_error error = {0};
  const cq_status status = cq_pair_classifier_read(&c, input_file(data, n), CQ_MARGIN_RATIO, &error);
  if (status) {
    CHECK((status == CQ_ERR_FORMAT || status == CQ_ERR_ARGUMENT) && error.message[0]);
    return 0;
  }
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    float features[CQ_N_PAIR_FEATURES];
    for (size_t f = 0; f < CQ_N_PAIR_FEATURES; f++) features[f] = values[(i + f) % (sizeof values / sizeof *values)];
    const double p = cq_pair_classifier_score(&c, features);
    CHECK(p >= 0 && p <= 1);
  }
  return 0;
}
