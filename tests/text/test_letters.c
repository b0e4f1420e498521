/* The letters of texts, with and without marks. */
#include "support/files.h"

#include "text/letters.h"
#include "text/unicode.h"

static void letters_by_hand(void **state) {
  static const struct {
    const char *text, *with_marks, *without;
  } cases[] = {
      {"Yes, it is: 3!", "yesitis3", "yesitis3"},
      {"\xc3\x89t\xc3\xa9", "\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9"},
      {"E\xcc\x81t\xef\xbd\x81", "\xc3\xa9ta", "\xc3\xa9ta"}, /* composed, and from full width */
      {"\xe0\xa4\x95\xe0\xa4\xbf", "\xe0\xa4\x95\xe0\xa4\xbf", "\xe0\xa4\x95"},
      {"\xc4\xb0", "i\xcc\x87", "i"}, /* the one letter that becomes two characters */
      {"\xe2\x80\x94 ...", "", ""},
      {"GRUSS, Gru\xc3\x9f, GRU\xe1\xba\x9e.", "grussgrussgruss", "grussgrussgruss"},
      {"\xce\xa3\xce\xb1\xcf\x82", "\xcf\x83\xce\xb1\xcf\x83", "\xcf\x83\xce\xb1\xcf\x83"}, /* every sigma is one */
      {"\xef\xac\x83", "ffi", "ffi"},
      {"\xce\xaa\xcc\x81", "\xce\x90", "\xce\x90"}, /* composed again after folding */
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int marks = 0; marks < 2; marks++) {
      cq_builder out = {0};
      cq_builder_text(&out, "before ");
      cq_text_letters(&out, cq_slice_of(cases[i].text), marks);
      assert_string_equal(out.data + 7, marks ? cases[i].with_marks : cases[i].without);
      cq_builder_free(&out);
    }
}

/* The short way of characters that NFKC leaves alone is the long one: a full-width letter behind a text has it taken.
 * Every character of the first plane, behind each of a few. */
static void the_short_way_is_the_long_one(void **state) {
  static const uint32_t before[] = {'a', 0xc9, 0x130, 0x3ac, 0x418, 0x2019, 0x304b, 0xac00};
  (void)state;
  cq_builder text = {0}, letters[2] = {{0}};
  for (uint32_t c = 1; c < 0xfffe; c == 0xd7ff ? c = 0xe000 : c++)
    for (size_t i = 0; i < 2 * (sizeof before / sizeof *before); i++) {
      const size_t b = i / 2;
      const bool marks = i % 2;
      cq_builder_clear(&text);
      cq_builder_code(&text, before[b]);
      cq_builder_code(&text, c);
      for (int k = 0; k < 2; k++) {
        if (k) cq_builder_text(&text, "\xef\xbd\x9a"); /* z */
        cq_builder_clear(&letters[k]);
        cq_text_letters(&letters[k], (cq_slice){text.data, text.n}, marks);
      }
      if (letters[0].n + 1 == letters[1].n && letters[1].data[letters[0].n] == 'z' &&
          (letters[0].n == 0 || !memcmp(letters[0].data, letters[1].data, letters[0].n)))
        continue;
      fail_msg("U+%04X behind U+%04X: '%s' and '%s'", c, before[b], letters[0].data, letters[1].data);
    }
  cq_builder_free(&text);
  for (int k = 0; k < 2; k++) cq_builder_free(&letters[k]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(letters_by_hand),
      cmocka_unit_test(the_short_way_is_the_long_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
