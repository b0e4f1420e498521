/* Ranks that are about to do the same agree; the first line that differs is named, by the rank that differs. */
#include "support/wires.h"

#include "calque/nearest.h"

#include <string.h>

typedef struct agreeing {
  const char *lines;
  double sum;
  cq_status status;
  cq_error error;
} agreeing;

static void agree(cq_ranks *ranks, void *item) {
  agreeing *a = item;
  a->status = cq_ranks_agree(ranks, a->lines, &a->error);
  a->sum = cq_ranks_rank(ranks) + 0.5;
  if (!a->status) a->status = cq_ranks_sum(ranks, &a->sum, 1, &a->error);
}

static void the_same_lines_agree(void **state) {
  (void)state;
  for (int n_ranks = 1; n_ranks <= MAX_WIRED_RANKS; n_ranks++) {
    agreeing all[MAX_WIRED_RANKS];
    for (int i = 0; i < n_ranks; i++) all[i] = (agreeing){.lines = "lr\t0.5\nname\t\n"};
    run_ranks(n_ranks, agree, all, sizeof *all);
    for (int i = 0; i < n_ranks; i++) {
      assert_int_equal(all[i].status, CQ_OK);
      assert_true(all[i].sum == n_ranks * (n_ranks - 1) / 2 + 0.5 * n_ranks);
    }
  }
}

static void check_difference(const char *first, const char *other, const char *message) {
  for (int n_ranks = 2; n_ranks <= MAX_WIRED_RANKS; n_ranks++)
    for (int odd = 1; odd < n_ranks; odd++) {
      agreeing all[MAX_WIRED_RANKS];
      for (int i = 0; i < n_ranks; i++) all[i] = (agreeing){.lines = i == odd ? other : first};
      run_ranks(n_ranks, agree, all, sizeof *all);
      assert_int_equal(all[odd].status, CQ_ERR_ARGUMENT);
      assert_string_equal(all[odd].error.message, message);
      for (int i = 0; i < n_ranks; i++)
        if (i != odd) assert_int_equal(all[i].status, CQ_ERR_IO); /* it has left */
    }
}

static void the_first_difference_is_named(void **state) {
  (void)state;
  check_difference("lr\t0.5\nk\t4\n", "lr\t0.1\nk\t5\n", "rank 0 has lr 0.5, not 0.1");
  check_difference("lr\t0.5\nk\t4\n", "lr\t0.5\nk\t\n", "rank 0 has k 4, not nothing");
  check_difference("lr\t0.5\n", "lr\t0.5\nk\t5\n", "rank 0 has no k");
  check_difference("lr\t0.5\nk\t4\n", "lr\t0.5\n", "rank 0 has k");
  check_difference("lr\t0.5\n", "rate\t0.5\n", "rank 0 has no rate");
}

static void options_become_lines(void **state) {
  (void)state;
  cq_builder lines = {0};
  cq_nearest_options o = cq_nearest_default_options();
  o.k = 7, o.checkpoint = "somewhere";
  cq_agree_text(&lines, "name", "two\twords\n");
  cq_agree_text(&lines, "none", NULL);
  cq_agree_options(&lines, cq_option_group_find("nearest"), &o);
  cq_builder_char(&lines, '\0');
  assert_false(lines.failed);
  assert_string_equal(lines.data, "name\ttwo words \nnone\t\nk\t7\n"); /* what keeps the result is not there */
  cq_builder_free(&lines);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_lines_agree),
      cmocka_unit_test(the_first_difference_is_named),
      cmocka_unit_test(options_become_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
