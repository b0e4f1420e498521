/* The filters, on pairs they must drop and pairs they must keep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/slice.h"
#include "text/pair_filter.h"

static const struct {
  const char *source, *target;
  unsigned falls_to; /* of all filters the first */
} pairs[] = {
    {"A dog barks.", "Ein Hund bellt.", 0},
    {"Windows XP", "windows xp!", CQ_DROP_COPIES},
    {"ＡＢＣ", "abc", CQ_DROP_COPIES}, /* full width */
    {"...", "---", 0},                 /* no letters are no copy */
    {"", "", 0},
    {"It costs 3.75 dollars.", "Es kostet 3,75 Dollar.", 0},
    {"It costs 3.75 dollars.", "Es kostet 3,74 Dollar.", CQ_DROP_NUMBERS},
    {"In 2019 there were 12.", "كان هناك ١٢ في ٢٠١٩.", 0},
    {"Page 7.", "पृष्ठ ७।", 0},
    {"Page 7.", "पृष्ठ ८।", CQ_DROP_NUMBERS},
    {"There are two.", "Es sind zwei.", 0},
    {"There are 2.", "Es sind zwei.", CQ_DROP_NUMBERS},
    {"More at https://example.org today.", "Mehr heute auf https://example.org hier.", 0},
    {"More at https://example.org today.", "Mehr heute auf der Seite.", CQ_DROP_LINKS},
    {"see www.example.org", "siehe www.example.org", CQ_DROP_LINKS}, /* little else */
    {"Please write to anna@example.org soon.", "Bitte bald an anna@example.org schreiben.", 0},
    {"Please write to anna@example.org soon.", "Bitte bald schreiben.", CQ_DROP_LINKS},
    {"请访问https://example.org了解更多内容。", "Please visit https://example.org to learn more.", 0},
    {"请访问https://example.org了解更多内容。", "Please visit us to learn more.", CQ_DROP_LINKS},
    {"A page (HTTPS://example.org/x) of ours.", "Eine Seite von uns.", CQ_DROP_LINKS},
    {"on x://server there is more of it", "dort ist noch mehr davon", CQ_DROP_LINKS}, /* a scheme of one letter */
    {"the page url=https://example.org/x is ours", "eine Seite von uns", CQ_DROP_LINKS},
    {"@anna says hello to you.", "Anna sagt hallo zu dir.", 0}, /* a name is no address */
};

static void each_pair_falls_to_its_filter(void **state) {
  (void)state;
  const unsigned all = CQ_DROP_COPIES | CQ_DROP_NUMBERS | CQ_DROP_LINKS;
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    bool failed = false;
    const cq_slice source = cq_slice_of(pairs[i].source), target = cq_slice_of(pairs[i].target);
    if (cq_filter_pair(source, target, all, &failed) != pairs[i].falls_to ||
        cq_filter_pair(target, source, all, &failed) != pairs[i].falls_to)
      fail_msg("'%s' and '%s': expected %u", pairs[i].source, pairs[i].target, pairs[i].falls_to);
    assert_int_equal(cq_filter_pair(source, target, all & ~pairs[i].falls_to, &failed) & pairs[i].falls_to, 0);
    assert_false(failed);
  }
}

static void memory_may_run_out(void **state) {
  (void)state;
  for (long n = 1;; n++) {
    bool failed = false;
    cq_alloc_fail_at(n);
    (void)cq_filter_pair(cq_slice_of("One 1."), cq_slice_of("Eins 1."), CQ_DROP_COPIES | CQ_DROP_NUMBERS, &failed);
    const bool armed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(failed, armed);
    if (!armed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(each_pair_falls_to_its_filter),
                                     cmocka_unit_test(memory_may_run_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
