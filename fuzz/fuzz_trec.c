/* Any bytes as judgements and as a run are an error with a place, or sorted records without twins. */
#include "fuzz.h"

#include "base/slice.h"
#include "lab/retrieval/trec.h"

#include <math.h>

static void check_status(cq_status status, const cq_error *error) {
  CHECK(status == CQ_OK || (status == CQ_ERR_FORMAT && error->message[0]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  cq_judgements judgements;
  cq_run run;
  cq_error error = {0};
  const char *path = input_file(data, n);
  cq_status status = cq_judgements_read(&judgements, path, &error);
  check_status(status, &error);
  for (size_t i = 1; !status && i < judgements.n; i++) {
    const cq_judgement *a = &judgements.items[i - 1], *b = &judgements.items[i];
    const int order = cq_slice_compare(a->topic, b->topic);
    CHECK(order < 0 || (order == 0 && cq_slice_compare(a->document, b->document) < 0));
    CHECK(cq_judgement_find(&judgements, i, 1, b->document) == b->relevance);
  }
  cq_judgements_free(&judgements);
  status = cq_run_read(&run, path, n % 2, &error);
  check_status(status, &error);
  for (size_t i = 1; !status && i < run.n; i++) {
    const cq_ranked *a = &run.items[i - 1], *b = &run.items[i];
    const int order = cq_slice_compare(a->topic, b->topic);
    CHECK(isfinite(b->score) || fabs(b->score) > 3e38);
    CHECK(order < 0 || (order == 0 && a->score >= b->score));
    CHECK(order < 0 || a->score > b->score || cq_slice_compare(a->document, b->document) > 0);
  }
  cq_run_free(&run);
  return 0;
}
