/* Words in Latin letters: every script gives letters a to z, and what cannot be written so stays. */
#include "support/files.h"

#include "base/memory.h"
#include "text/romanize.h"

static void check(cq_romanizer *r, const char *text, const char *expected) {
  cq_builder out = {0};
  cq_romanize(&out, r, cq_slice_of(text));
  assert_false(out.failed);
  cq_builder_bytes(&out, "", 0);
  if (strcmp(out.n ? out.data : "", expected) != 0) fail_msg("'%s' gave '%s', expected '%s'", text, out.data, expected);
  cq_builder_free(&out);
}

static void words_of_many_scripts(void **state) {
  (void)state;
  cq_romanizer *r;
  assert_int_equal(cq_romanizer_open(&r, NULL), CQ_OK);
  check(r, "", "");
  check(r, "Straße", "strasse");
  check(r, "Ελένη", "elene");
  check(r, "Волга", "volga");
  check(r, "東京", "dongjing");
  check(r, "カヌー", "kanu");
  check(r, "한강", "hangang");
  check(r, "ลาดพร้าว", "ladphraw");
  check(r, "เชียงใหม่", "cheiynghim");
  check(r, "a-b 'c' 7", "abc7");
  check(r, "\xF0\x90\x8C\xB0", "\xF0\x90\x8C\xB0"); /* Gothic, which ICU does not know how to write */
  cq_romanizer_free(r);
  cq_romanizer_free(NULL);
}

static void malformed_bytes(void **state) {
  (void)state;
  cq_romanizer *r;
  assert_int_equal(cq_romanizer_open(&r, NULL), CQ_OK);
  check(r, "\xFF\xE0\xB8", "");
  check(r, "a\xFFz", "az");
  char text[3001];
  memset(text, 'q', 3000), text[3000] = 0;
  check(r, text, text); /* longer than what came before */
  cq_romanizer_free(r);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  for (long n = 1;; n++) {
    cq_romanizer *r;
    cq_builder out = {0};
    cq_error error = {0};
    cq_alloc_fail_at(n);
    const cq_status status = cq_romanizer_open(&r, &error);
    if (!status) cq_romanize(&out, r, cq_slice_of("Волга"));
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(failed, status || out.failed);
    if (status) assert_true(status == CQ_ERR_MEMORY && !r);
    cq_romanizer_free(r);
    cq_builder_free(&out);
    if (failed) continue;
    assert_true(n > 3);
    break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(words_of_many_scripts), cmocka_unit_test(malformed_bytes),
                                     cmocka_unit_test(every_allocation_may_fail)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
