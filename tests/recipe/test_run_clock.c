/* A run against the clock, with a clock of its own: it ends in time whatever the steps cost, and its rate has no jumps. */
#include "support/files.h"

#include "recipe/run/run_clock.h"
#include "train/schedule.h"

#include <math.h>

enum { BUDGET = 600, WARMUP = 20 };

/* Seconds of a step or a pause that cost one second on a quiet machine; `at` is the share of the time that is over. */
typedef double load(double at);

typedef struct outcome {
  double seconds, pauses, largest_jump; /* of the rate, from one step to the next, relative to the steps left */
  uint64_t steps, n_pauses;
} outcome;

/* A run that was planned for n steps. */
static outcome run(uint64_t n, double step, double pause, uint64_t most, load *is) {
  cq_run_clock c = {.time = {BUDGET, BUDGET}, .most = most};
  cq_schedule_plan plan = {.decay = CQ_SCHEDULE_LINEAR, .n_steps = n, .n_warmup = WARMUP};
  outcome out = {0};
  double now = pause, before = 1;
  uint64_t end_before = n;
  cq_run_clock_pause(&c, 0, pause);
  cq_run_clock_plan(&c, 0, n, now);
  while (out.steps < plan.n_steps) {
    const double took = step * is(now / BUDGET), rate = cq_schedule_factor(&plan, ++out.steps);
    now += took;
    cq_run_clock_step(&c, took);
    if (out.steps > WARMUP + 1)
      out.largest_jump = fmax(out.largest_jump, (before - rate) * (double)(end_before - out.steps + 2));
    before = rate, end_before = plan.n_steps;
    if (cq_run_clock_is_due(&c, out.steps)) {
      cq_run_clock_plan(&c, out.steps, plan.n_steps, now);
      assert_in_range(c.next.end, out.steps, most);
      cq_schedule_move_end(&plan, out.steps, c.next.end);
    }
    if (out.steps < c.next.pause || out.steps >= plan.n_steps) continue;
    const double paused = pause * is(now / BUDGET);
    now += paused, out.pauses += paused, out.n_pauses++;
    cq_run_clock_pause(&c, out.steps, paused);
    cq_run_clock_plan(&c, out.steps, plan.n_steps, now);
    cq_schedule_move_end(&plan, out.steps, c.next.end);
  }
  out.seconds = now + 2 * pause * is(1);
  return out;
}

static double quiet(double at) {
  (void)at;
  return 1;
}
static double doubles(double at) {
  return at < 0.5 ? 1 : 2;
}
static double halves(double at) {
  return at < 0.5 ? 1 : 0.5;
}
static double waves(double at) {
  return 1.5 + sin(40 * at);
}

static void the_time_is_kept(void **state) {
  load *const loads[] = {quiet, doubles, halves, waves};
  const uint64_t planned[] = {30, 1000, 100000}; /* too few, about right, far too many */
  (void)state;
  for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
    for (size_t p = 0; p < sizeof planned / sizeof *planned; p++)
      for (double pause = 0; pause <= (loads[i] == waves ? 10 : 20); pause += 5) {
        const outcome o = run(planned[p], 0.5, pause, 1000000, loads[i]);
        const double most = loads[i] == waves ? 0.1 : 0.05; /* nobody knows what the last evaluation will meet */
        if (fabs(o.seconds - BUDGET) > most * BUDGET || o.pauses > (most + 0.05) * BUDGET + pause ||
            o.n_pauses > CQ_RUN_PAUSES - 1)
          fail_msg("load %zu, %llu steps planned, pauses of %g s: %g s, %g s of %llu pauses", i,
                   (unsigned long long)planned[p], pause, o.seconds, o.pauses, (unsigned long long)o.n_pauses);
        if (o.largest_jump > 1.2) fail_msg("load %zu: the rate falls %g times too fast", i, o.largest_jump);
      }
}

static void pauses_are_spread(void **state) {
  (void)state;
  assert_int_equal(run(1200, 0.5, 0.5, 1000000, quiet).n_pauses, CQ_RUN_PAUSES - 1);
  assert_in_range(run(1200, 0.5, 30, 1000000, quiet).n_pauses, 1, 2); /* each takes a twentieth of the time */
}

static void more_steps_would_not_help(void **state) {
  (void)state;
  const outcome o = run(30, 0.5, 1, 200, quiet);
  assert_int_equal(o.steps, 200);
  assert_true(o.seconds < 150);
}

/* A schedule whose end is not moved, or moved to where it was, has the bits of the plain formula. */
static void an_end_that_stays(void **state) {
  cq_schedule_plan fixed = {.decay = CQ_SCHEDULE_COSINE, .n_steps = 100, .n_warmup = 10}, moved = fixed;
  (void)state;
  cq_schedule_move_end(&moved, 5, 100); /* in the warm-up */
  for (uint64_t step = 1; step <= 101; step++) {
    const double share = ((double)step - 11) / 90;
    const double factor = step <= 10    ? (double)(step - 1) / 10
                          : step == 101 ? 0
                                        : 0.5 * (1 + cos(3.141592653589793 * share));
    assert_true(cq_schedule_factor(&fixed, step) == factor);
    assert_true(cq_schedule_factor(&moved, step) == factor);
  }
  cq_schedule_move_end(&moved, 40, 100);
  for (uint64_t step = 41; step <= 101; step++)
    assert_true(fabs(cq_schedule_factor(&moved, step) - cq_schedule_factor(&fixed, step)) < 1e-12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_time_is_kept),
      cmocka_unit_test(pauses_are_spread),
      cmocka_unit_test(more_steps_would_not_help),
      cmocka_unit_test(an_end_that_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
