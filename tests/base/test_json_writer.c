/* JSON's strings: every escape, and what is not UTF-8. Numbers read as the same float. */
#include "support/files.h"

#include "base/json_writer.h"
#include "base/number.h"

#include <math.h>

static void strings_are_escaped(void **state) {
  static const struct {
    const char *text, *shorts, *expected;
    size_t n;
  } cases[] = {
      {"", "", "\"\"", 0},
      {"a\"b\\", "", "\"a\\\"b\\\\\"", 4},
      {"\n\r\t\x01\x7f", "", "\"\\u000a\\u000d\\u0009\\u0001\x7f\"", 5},
      {"\n\r\t\x01\x7f", "\n\r\t\x7f", "\"\\n\\r\\t\\u0001\\u007f\"", 5},
      {"a\0b", "\n", "\"a\\u0000b\"", 3},
      {"\xc3\xa4\xf0\x9f\x98\x80", "", "\"\xc3\xa4\xf0\x9f\x98\x80\"", 6},
      {"\xc3\xa4\xff\xc3\xa4\xc3", "", "\"\xc3\xa4\xef\xbf\xbd\xc3\xa4\xef\xbf\xbd\"", 6},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_builder b = {0};
    cq_json_string(&b, cases[i].text, cases[i].n, cases[i].shorts);
    assert_string_equal(b.data, cases[i].expected);
    cq_builder_free(&b);
  }
}

static void floats_read_as_themselves(void **state) {
  static const float cases[] = {0, -0.0f, 1, -2.5f, 0.1f, 1e-5f, 99999992.0f, 1e8f, 3.4e38f, 0.00012345678f};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_builder b = {0};
    cq_json_float(&b, cases[i]);
    const float read = (float)cq_strtod(b.data, NULL);
    assert_memory_equal(&read, &cases[i], sizeof read);
    cq_builder_free(&b);
  }
  cq_builder b = {0};
  cq_json_floats(&b, (const float[]){NAN, 1, INFINITY}, 3);
  assert_string_equal(b.data, "[null,1.0,null]");
  cq_builder_free(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strings_are_escaped),
      cmocka_unit_test(floats_read_as_themselves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
