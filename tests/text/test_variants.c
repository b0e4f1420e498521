/* Spelling variants: each stands for a character that stands for itself. */
#include "support/files.h"

#include "text/variants.h"

typedef struct seen {
  uint32_t n_han, n_dropped;
  unsigned char is_from[0x10000], is_to[0x10000];
} seen;

static bool note(void *context, uint32_t from, uint32_t to) {
  seen *s = context;
  assert_in_range(from, 1, 0xFFFF);
  assert_in_range(to, 0, 0xFFFF);
  assert_false(s->is_from[from]);
  s->is_from[from] = 1;
  if (to) s->is_to[to] = 1;
  s->n_han += from >= 0x4E00 && from <= 0x9FFF, s->n_dropped += to == 0;
  return true;
}

static void test_variants(void **state) {
  (void)state;
  static seen s;
  assert_int_equal(cq_text_each_variant(note, &s, NULL), CQ_OK);
  for (size_t c = 0; c < 0x10000; c++) assert_false(s.is_from[c] && s.is_to[c]);
  static const uint32_t some[] = {0xAB, 0x451, 0x5B0, 0x623, 0x64E, 0x901, 0x2019, 0x7372 /* 獲 */, 0x767C /* 發 */};
  for (size_t i = 0; i < sizeof some / sizeof *some; i++) assert_int_equal(s.is_from[some[i]], 1);
  assert_int_equal(s.is_from[0x53D1] /* 发 */, 0);
  assert_in_range(s.n_han, 1500, 4000);
  assert_in_range(s.n_dropped, 20, 60);
}

static bool stop(void *context, uint32_t from, uint32_t to) {
  int *n = context;
  (void)from, (void)to;
  return ++*n < 3;
}

static void test_stop(void **state) {
  (void)state;
  int n = 0;
  cq_error error = {0};
  assert_int_equal(cq_text_each_variant(stop, &n, &error), CQ_ERR_MEMORY);
  assert_int_equal(n, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_variants), cmocka_unit_test(test_stop)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
