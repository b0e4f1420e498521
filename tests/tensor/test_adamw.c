/* AdamW against three steps worked out beforehand, in the order of operations PyTorch's AdamW has (lr 0.1, betas 0.9
 * and 0.999, eps 1e-8, decay 0.01; torch 2 gives the same numbers), and what follows from the definition. */
#include "harness.h"

static cq_adamw step_at(int t) {
  return (cq_adamw){.learning_rate = 0.1,
                    .beta1 = 0.9,
                    .beta2 = 0.999,
                    .eps = 1e-8,
                    .weight_decay = 0.01,
                    .correction1 = 1 - pow(0.9, t),
                    .correction2 = 1 - pow(0.999, t),
                    .gradient_scale = 1};
}

static void three_steps(void **state) {
  (void)state;
  static const float gradients[3][3] = {{0.5f, -1.0f, 0.0f}, {0.25f, 2.0f, 1e-3f}, {-1.0f, 0.5f, 0.0f}};
  /* After step 1: p = 0.999 p0 - 0.1 sign(g), because m / c1 = g and sqrt(v / c2) = |g|. */
  static const float p_want[3][3] = {{0.899f, -1.898f, 0.4995f},
                                     {0.804883063f, -1.93271244f, 0.424587905f},
                                     {0.824713886f, -1.97234476f, 0.366642326f}};
  static const float m_want[3] = {-0.037f, 0.149f, 9e-5f}, v_want[3] = {0.00131193781f, 0.00524400128f, 9.99e-10f};
  const cq_kernels *levels[8];
  size_t n = cq_kernels_all(levels, COUNT(levels));
  for (size_t l = 0; l < n; l++) {
    float *p = copy_of((float[]){1.0f, -2.0f, 0.5f}, 3, 1), *m = copy_of((float[3]){0}, 3, 0),
          *v = copy_of((float[3]){0}, 3, 0);
    for (int t = 0; t < 3; t++) {
      cq_adamw step = step_at(t + 1);
      step.gradient_scale = 0.5f; /* of doubled gradients: the same */
      float doubled[3] = {2 * gradients[t][0], 2 * gradients[t][1], 2 * gradients[t][2]};
      levels[l]->adamw(p, m, v, doubled, 3, &step);
      for (int i = 0; i < 3; i++) assert_true(fabsf(p[i] - p_want[t][i]) <= 1e-6f);
    }
    for (int i = 0; i < 3; i++) {
      assert_true(fabsf(m[i] - m_want[i]) <= 1e-6f * fabsf(m_want[i]));
      assert_true(fabsf(v[i] - v_want[i]) <= 1e-6f * fabsf(v_want[i]));
    }
    assert_true(intact("p", p, 3) && intact("m", m, 3) && intact("v", v, 3));
    cq_arena_free(&arena);
  }
}

/* A zero gradient still decays the weight and both averages; no gradient is the same as a zero one. */
static void no_gradient_is_a_zero_gradient(void **state) {
  (void)state;
  enum { N = 37 };
  const cq_kernels *levels[8];
  size_t n = cq_kernels_all(levels, COUNT(levels));
  for (size_t l = 0; l < n; l++) {
    float *p = random_buffer(N, 0, -1, 1), *m = random_buffer(N, 0, -1, 1), *v = random_buffer(N, 0, 0, 1),
          zero[N] = {0};
    float *p2 = copy_of(p, N, 0), *m2 = copy_of(m, N, 0), *v2 = copy_of(v, N, 0), *before = copy_of(m, N, 0);
    cq_adamw step = step_at(5);
    levels[l]->adamw(p, m, v, NULL, N, &step);
    levels[l]->adamw(p2, m2, v2, zero, N, &step);
    assert_memory_equal(p, p2, N * sizeof *p);
    assert_memory_equal(m, m2, N * sizeof *m);
    assert_memory_equal(v, v2, N * sizeof *v);
    for (int i = 0; i < N; i++) assert_true(fabsf(m[i] - 0.9f * before[i]) <= 1e-6f);
    cq_arena_free(&arena);
  }
}

/* Momentum that is too small to change anything ends, and does not become subnormal. */
static void momentum_ends(void **state) {
  (void)state;
  const cq_kernels *levels[8];
  size_t n = cq_kernels_all(levels, COUNT(levels));
  for (size_t l = 0; l < n; l++) {
    float *p = copy_of((float[]){1, 1, 1}, 3, 0), *m = copy_of((float[]){1e-20f, -1e-20f, 2e-20f}, 3, 0),
          *v = copy_of((float[]){0, 1e-8f, 1}, 3, 0);
    cq_adamw step = step_at(5);
    levels[l]->adamw(p, m, v, NULL, 3, &step);
    assert_true(m[0] == 0 && m[1] == 0 && fabsf(m[2] - 1.8e-20f) < 1e-25f);
    for (int i = 0; i < 3; i++) assert_true(fabsf(p[i] - 0.999f) <= 1e-7f);
    cq_arena_free(&arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(three_steps), cmocka_unit_test(no_gradient_is_a_zero_gradient),
                                     cmocka_unit_test(momentum_ends)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
