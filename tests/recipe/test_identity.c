/* A run's identity: its lines, and the message about the first that differs. */
#include "support/files.h"

#include "base/error.h"
#include "base/memory.h"
#include "calque/calque.h"
#include "calque/lab/autoencode.h"
#include "lab/autoencode/autoencode_options.h"
#include "recipe/run/identity.h"

#include <math.h>

static cq_run_identity make(double rate, uint64_t batch, bool shuffled, const char *schedule, uint64_t text) {
  cq_run_identity id = {0};
  cq_run_identity_number(&id, "lr", rate);
  cq_run_identity_count(&id, "batch", batch);
  cq_run_identity_text(&id, "shuffled", shuffled ? "yes" : "no");
  cq_run_identity_text(&id, "schedule", schedule);
  cq_run_identity_file(&id, batch == 64 ? "train.tsv" : "moved.tsv", (cq_identity){text, 1});
  cq_run_identity_fingerprint(&id, "teacher", "0f");
  return id;
}

static void lines_are_text(void **state) {
  cq_run_identity id = make(0.0005, 64, true, "two\tof\nthem", 0x1f);
  (void)state;
  assert_string_equal(id.lines.data, "lr\t0.0005\nbatch\t64\nshuffled\tyes\nschedule\ttwo?of?them\n"
                                     "text in train.tsv\t#0000000000000001000000000000001f\nteacher\t#0f\n");
  cq_run_identity_free(&id);
  cq_run_identity_number(&id, "x", 1e6); /* at least six digits, as printf's %g: files keep the text */
  cq_run_identity_number(&id, "x", 0.1234567);
  assert_string_equal(id.lines.data, "x\t1e+06\nx\t0.1234567\n");
  cq_run_identity_free(&id);
  static const double values[] = {0, -1, 0.1, 1e-8, 2.0 / 3, 1e300, 0x1p-1074, 123456789, INFINITY};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    cq_run_identity_number(&id, "x", values[i]);
    assert_true(strtod(id.lines.data + 2, NULL) == values[i]);
    cq_run_identity_free(&id);
  }
}

/* The message that a run with `now` is refused with; "": it is not. */
static const char *compared(cq_run_identity now, cq_run_identity then) {
  static char message[sizeof(cq_error)];
  cq_error error = {0};
  const cq_status status = cq_run_identity_compare(&now, then.lines.data, then.lines.n, "out.work", &error);
  assert_int_equal(status, *error.message ? CQ_ERR_ARGUMENT : CQ_OK);
  snprintf(message, sizeof message, "%s", error.message);
  cq_run_identity_free(&now);
  cq_run_identity_free(&then);
  return message;
}

static cq_run_identity with_more(cq_run_identity id) {
  cq_run_identity_count(&id, "seed", 3);
  return id;
}

static void the_first_difference_is_named(void **state) {
  (void)state;
  assert_string_equal(compared(make(1, 64, true, "linear", 5), make(1, 64, true, "linear", 5)), "");
  assert_string_equal(compared(make(0.001, 64, true, "linear", 5), make(0.0005, 32, true, "linear", 5)),
                      "out.work: the run under way has lr 0.0005, not 0.001");
  assert_string_equal(compared(make(1, 64, true, "linear", 5), make(1, 64, false, "linear", 6)),
                      "out.work: the run under way has shuffled no, not yes");
  assert_string_equal(compared(make(1, 64, true, NULL, 5), make(1, 64, true, "linear", 5)),
                      "out.work: the run under way has schedule linear, not nothing");
  assert_string_equal(compared(make(1, 64, true, "linear", 5), make(1, 64, true, "linear", 6)),
                      "out.work: the run under way has another text in train.tsv");
  assert_string_equal(compared(with_more(make(1, 64, true, "linear", 5)), make(1, 64, true, "linear", 5)),
                      "out.work: the run under way has no seed");
  assert_string_equal(compared(make(1, 64, true, "linear", 5), with_more(make(1, 64, true, "linear", 5))),
                      "out.work: the run under way has seed, this one does not");
  assert_string_equal(compared(make(1, 64, true, "linear", 5), (cq_run_identity){0}),
                      "out.work: the run under way has no lr");
}

/* Files may have other names, as long as the text is the same. */
static void contents_have_no_names(void **state) {
  cq_run_identity a = {0}, b = {0};
  (void)state;
  cq_run_identity_file(&a, "a.tsv", (cq_identity){7, 7});
  cq_run_identity_file(&b, "b.tsv", (cq_identity){7, 7});
  assert_string_equal(compared(a, b), "");
}

static void options_are_lines_where_they_change_the_result(void **state) {
  cq_autoencode_options o = cq_autoencode_translating(), other = o;
  cq_run_identity a = {0}, b = {0};
  (void)state;
  o.output = "here", other.output = "there";
  o.checkpoint_every = 1;
  cq_run_identity_options(&a, &cq_group_autoencode, &o);
  cq_run_identity_options(&b, &cq_group_autoencode, &other);
  assert_string_equal(compared(a, b), "");
  a = b = (cq_run_identity){0};
  other.learning_rate = 0.25;
  cq_run_identity_options(&a, &cq_group_autoencode, &o);
  cq_run_identity_options(&b, &cq_group_autoencode, &other);
  assert_string_equal(compared(a, b), "out.work: the run under way has lr 0.25, not 0.004");
}

static void memory_may_be_short(void **state) {
  (void)state;
  for (long n = 1;; n++) {
    cq_error error = {0};
    cq_alloc_fail_at(n);
    cq_run_identity id = make(1, 64, true, "linear", 5);
    const cq_status status = cq_run_identity_compare(&id, "lr\t1\n", 5, "out.work", &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    cq_run_identity_free(&id);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_ERR_ARGUMENT);
    if (!failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_are_text),         cmocka_unit_test(the_first_difference_is_named),
      cmocka_unit_test(contents_have_no_names), cmocka_unit_test(options_are_lines_where_they_change_the_result),
      cmocka_unit_test(memory_may_be_short),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
