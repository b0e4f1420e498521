/* Disentangled attention: buckets of distances as the original has them, and its scores against plain loops in double
 * precision. */
#include "support/files.h"

#include "base/random.h"
#include "nn/disentangled.h"

#include <math.h>

static void buckets_are_the_originals(void **state) {
  /* DeBERTa v3's 256 buckets to distance 512: each distance its own up to 128, logarithmic beyond. */
  static const int64_t expected[][2] = {{0, 0},     {1, 1},       {-127, -127}, {128, 128}, {129, 129},
                                        {130, 130}, {-131, -131}, {200, 169},   {300, 207}, {-400, -233},
                                        {510, 255}, {511, 255},   {600, 256}};
  const cq_distances v3 = {.span = 256, .max = 512}, plain = {.span = 11};
  (void)state;
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
    assert_int_equal(cq_distance_bucket(&v3, expected[i][0]), expected[i][1]);
  assert_int_equal(cq_distance_bucket(&plain, 10), 10);
  assert_int_equal(cq_distance_bucket(&plain, -300), -11);
}

enum { DIM = 12, HEADS = 3, HEAD = DIM / HEADS, SPAN = 4, MAX = 9, LONGEST = 17 };

static void fill(float *x, int64_t n, uint64_t seed) {
  cq_random random = cq_random_seeded(seed, 0);
  for (int64_t i = 0; i < n; i++) x[i] = (float)cq_random_normal(&random);
}

/* Without a term, K or Q is NULL. */
static void check_scores(bool c2p, bool p2c, int64_t length) {
  static float table[2 * SPAN * DIM], weight[2][DIM * DIM], q[LONGEST * DIM], k[LONGEST * DIM];
  static float bias[HEADS * LONGEST * LONGEST];
  cq_param t = {.rows = 2 * SPAN, .cols = DIM, .n_dims = 2, .value = table}, w[2];
  cq_linear linear[2] = {{0}};
  cq_worker worker = {.kernels = cq_kernels_best()};
  fill(table, 2 * SPAN * DIM, 1), fill(q, LONGEST * DIM, 2), fill(k, LONGEST * DIM, 3);
  for (int i = 0; i < 2; i++) {
    fill(weight[i], DIM * DIM, 4 + (uint64_t)i);
    w[i] = (cq_param){.rows = DIM, .cols = DIM, .n_dims = 2, .value = weight[i]};
    linear[i].weight = &w[i];
    assert_int_equal(cq_linear_pack(&linear[i], &(cq_packing){worker.kernels, CQ_PRECISION_F32, false}, NULL), CQ_OK);
  }
  const cq_distances distances = {.table = &t, .span = SPAN, .max = MAX};
  const cq_disentangled l = {.distances = &distances,
                             .key = c2p ? &linear[0] : NULL,
                             .query = p2c ? &linear[1] : NULL,
                             .n_terms = 1 + c2p + p2c};
  cq_distance_rows rows;
  assert_int_equal(cq_distance_rows_make(&rows, &worker, &l, LONGEST, NULL), CQ_OK);
  assert_int_equal(cq_disentangled_bias(bias, &worker, &rows, cq_tensor_f32(q, length, DIM),
                                        cq_tensor_f32(k, length, DIM), HEADS, 0.5f, NULL),
                   CQ_OK);
  for (int64_t h = 0; h < HEADS; h++) {
    for (int64_t i = 0; i < length; i++) {
      for (int64_t j = 0; j < length; j++) {
        int64_t row = SPAN + cq_distance_bucket(&distances, i - j);
        if (row > 2 * SPAN - 1) row = 2 * SPAN - 1;
        double sum = 0;
        for (int64_t c = h * HEAD; c < (h + 1) * HEAD; c++) {
          double of_k = 0, of_q = 0;
          for (int64_t d = 0; d < DIM; d++) {
            of_k += (double)table[row * DIM + d] * (double)weight[0][c * DIM + d];
            of_q += (double)table[row * DIM + d] * (double)weight[1][c * DIM + d];
          }
          sum += (c2p ? (double)q[i * DIM + c] * of_k : 0) + (p2c ? (double)k[j * DIM + c] * of_q : 0);
        }
        const double found = (double)bias[(h * length + i) * length + j];
        if (!(fabs(found - 0.5 * sum) < 1e-4)) fail_msg("head %d, %d on %d: %g", (int)h, (int)i, (int)j, found);
      }
    }
  }
  cq_linear_free(&linear[0]), cq_linear_free(&linear[1]);
  cq_workspace_free(&worker.workspace);
}

static void scores_agree_with_plain_loops(void **state) {
  (void)state;
  check_scores(true, true, LONGEST); /* passes the last bucket on both sides */
  check_scores(true, false, 5);
  check_scores(false, true, 1);
  check_scores(false, false, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(buckets_are_the_originals),
      cmocka_unit_test(scores_agree_with_plain_loops),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
