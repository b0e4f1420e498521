/* Any bytes as a gold file and scored pairs, a line of '=' between them, are an error with a place or pairs, best
 * first, whose F1 lies between 0 and 1. */
#include "fuzz.h"

#include "calque/lab/labeled.h"

#include <math.h>
#include <string.h>

static void check_curve(const cq_labeled *l, bool by_cosine) {
  cq_f1_point *curve;
  size_t n_points;
  CHECK(cq_labeled_curve(&curve, &n_points, l, by_cosine, NULL) == CQ_OK);
  for (size_t i = 0; i < n_points; i++)
    CHECK(curve[i].f1 >= 0 && curve[i].f1 <= 1 && curve[i].n_correct <= curve[i].n_taken);
  cq_free(curve);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  const fuzz_part gold = fuzz_next_part(&data, &n);
  cq_labeled l;
  cq_error error = {0};
  const char *pairs = fuzz_file("pairs", data, n);
  const cq_status status = cq_labeled_read(&l, input_file(gold.data, gold.n), pairs, &error);
  if (status) {
    CHECK(status == CQ_ERR_FORMAT && error.message[0] && !l.pairs);
    return 0;
  }
  for (size_t i = 0; i < l.n; i++) {
    CHECK(isfinite(l.pairs[i].score) && (i == 0 || l.pairs[i - 1].score >= l.pairs[i].score));
    CHECK(!l.has_cosines || isfinite(l.pairs[i].cosine));
    CHECK(!memchr(l.pairs[i].source_id.data, '\t', l.pairs[i].source_id.n));
  }
  check_curve(&l, false);
  if (l.has_cosines) check_curve(&l, true);
  cq_labeled_free(&l);
  return 0;
}
