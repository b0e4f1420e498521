/* UTF-8: every code point, every sequence of up to three bytes, against a decoder written the long way. */
#include "support/files.h"

#include "base/random.h"
#include "base/utf8.h"

/* The slow specification: decode by the bit patterns alone, then ask whether the shortest form gives the same bytes. */
static size_t spec_length(const unsigned char *p, size_t n) {
  size_t length = p[0] < 0x80 ? 1 : p[0] >> 5 == 6 ? 2 : p[0] >> 4 == 14 ? 3 : p[0] >> 3 == 30 ? 4 : 0;
  if (length == 0 || length > n) return 0;
  uint32_t code = length == 1 ? p[0] : p[0] & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; i++) {
    if (p[i] >> 6 != 2) return 0;
    code = code << 6 | (p[i] & 63u);
  }
  size_t shortest = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  return shortest == length && code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF) ? length : 0;
}

static size_t spec_invalid_at(const unsigned char *p, size_t n) {
  for (size_t i = 0, step; i < n; i += step) {
    step = spec_length(p + i, n - i);
    if (!step) return i;
  }
  return n;
}

static void every_code_point_goes_round(void **state) {
  (void)state;
  for (uint32_t code = 0; code <= 0x10FFFF; code++) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;
    char text[4];
    uint32_t back;
    size_t n = cq_utf8_encode(text, code);
    if (cq_utf8_invalid_at(text, n) != n || cq_utf8_decode(&back, text, n) != n || back != code ||
        cq_utf8_length(text, n) != 1)
      fail_msg("U+%04X", code);
    if (n > 1 && (cq_utf8_invalid_at(text, n - 1) != 0 || cq_utf8_decode(&back, text, n - 1) != 1 || back != 0xFFFD))
      fail_msg("U+%04X cut", code);
  }
}

static void every_three_bytes_are_judged_rightly(void **state) {
  (void)state;
  for (uint32_t x = 0; x < 0x1000000; x++) {
    unsigned char text[3] = {(unsigned char)(x >> 16), (unsigned char)(x >> 8), (unsigned char)x};
    if (cq_utf8_invalid_at((const char *)text, 3) != spec_invalid_at(text, 3)) fail_msg("%06x", x);
  }
}

/* Four bytes: all leads and second bytes, the edges of the others. */
static void four_bytes_are_judged_rightly(void **state) {
  (void)state;
  static const unsigned char edges[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF};
  for (unsigned a = 0xE0; a < 0x100; a++) {
    for (unsigned b = 0; b < 0x100; b++) {
      for (size_t c = 0; c < sizeof edges; c++) {
        for (size_t d = 0; d < sizeof edges; d++) {
          unsigned char text[4] = {(unsigned char)a, (unsigned char)b, edges[c], edges[d]};
          if (cq_utf8_invalid_at((const char *)text, 4) != spec_invalid_at(text, 4))
            fail_msg("%02x %02x %02x %02x", a, b, edges[c], edges[d]);
        }
      }
    }
  }
}

/* Mixed text at every alignment and length, with one byte broken: the fast path over ASCII must not step over it. */
static void long_text_is_judged_rightly(void **state) {
  (void)state;
  cq_random r = cq_random_seeded(5, 0);
  char text[80];
  for (int round = 0; round < 100000; round++) {
    size_t n = 0;
    while (n < 72) {
      uint32_t code =
          cq_random_below(&r, 4) ? (uint32_t)cq_random_below(&r, 0x80) : (uint32_t)cq_random_below(&r, 0xD800);
      n += cq_utf8_encode(text + n, code);
    }
    size_t begin = (size_t)cq_random_below(&r, 9), end = begin + (size_t)cq_random_below(&r, n - begin + 1);
    if (cq_random_below(&r, 2)) text[cq_random_below(&r, n)] = (char)cq_random_u64(&r);
    size_t want = spec_invalid_at((unsigned char *)text + begin, end - begin);
    if (cq_utf8_invalid_at(text + begin, end - begin) != want) fail_msg("round %d", round);
  }
  assert_int_equal(cq_utf8_invalid_at(NULL, 0), 0);
}

static void characters_are_taken_off_one_by_one(void **state) {
  static const uint32_t codes[] = {'a', 0xE9, 0x5317, 0xFFFD, 0x1F600};
  cq_slice text = cq_slice_of("a\xC3\xA9\xE5\x8C\x97\xFF\xF0\x9F\x98\x80");
  uint32_t code;
  (void)state;
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    assert_true(cq_utf8_next(&code, &text));
    assert_int_equal(code, codes[i]);
  }
  assert_false(cq_utf8_next(&code, &text));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_code_point_goes_round),         cmocka_unit_test(every_three_bytes_are_judged_rightly),
      cmocka_unit_test(four_bytes_are_judged_rightly),       cmocka_unit_test(long_text_is_judged_rightly),
      cmocka_unit_test(characters_are_taken_off_one_by_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
