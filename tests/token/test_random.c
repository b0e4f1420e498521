/* Arbitrary text, well-formed and not: nothing crashes, every id exists, a text encodes the same way twice. */
#include "golden.h"

#include "base/random.h"
#include "base/utf8.h"

/* Characters that have something to do: letters of several scripts, marks, spaces, ideographs, jamo, emoji,
 * controls. */
static uint32_t some_character(cq_random *r) {
  static const struct {
    uint32_t low, high;
  } ranges[] = {{0x00, 0x7F},       {0x20, 0x7E},       {0x80, 0x24F},    {0x300, 0x36F},   {0x370, 0x52F},
                {0x590, 0x6FF},     {0x900, 0x9FF},     {0xE00, 0xE7F},   {0x1100, 0x11FF}, {0x1E00, 0x20FF},
                {0x2580, 0x2588},   {0x3000, 0x30FF},   {0x4E00, 0x4F00}, {0xAC00, 0xAD00}, {0xF900, 0xFFFD},
                {0x1F1E6, 0x1F6FF}, {0xE0000, 0xE01EF}, {0, 0x10FFFF}};
  size_t k = (size_t)cq_random_below(r, sizeof ranges / sizeof *ranges);
  uint32_t c = ranges[k].low + (uint32_t)cq_random_below(r, ranges[k].high - ranges[k].low + 1);
  return c >= 0xD800 && c < 0xE000 ? ' ' : c;
}

static size_t some_text(char *out, size_t room, cq_random *r) {
  static const char *const words[] = {"[MASK]",       "<mask>", "</s>",   "foo", "#tag", "new york",
                                      "\xE2\x96\x81", "##",     "<0x41>", "'ll", "  "};
  size_t n = 0, wanted = (size_t)cq_random_below(r, room);
  switch (cq_random_below(r, 4)) {
  case 0: /* bytes */
    for (; n < wanted; n++) out[n] = (char)cq_random_below(r, 256);
    return n;
  case 1: /* one character again and again */
    for (uint32_t c = some_character(r); n + 4 < wanted;) n += cq_utf8_encode(out + n, c);
    return n;
  default:
    while (n + 16 < wanted) {
      if (cq_random_below(r, 8) == 0) {
        const char *word = words[cq_random_below(r, sizeof words / sizeof *words)];
        memcpy(out + n, word, strlen(word));
        n += strlen(word);
      } else {
        n += cq_utf8_encode(out + n, some_character(r));
      }
    }
    return n;
  }
}

static void test_random_text(void **state) {
  (void)state;
  enum { ROOM = 600, N_TEXTS = 300 };
  char text[ROOM];
  cq_ids a = {0}, b = {0};
  for (size_t i = 0; i < N_GOLDEN; i++) {
    cq_tokenizer *t = open_tokenizer(golden_path(golden_names[i]));
    int64_t size = cq_tokenizer_describe(t)->vocab_size;
    for (size_t k = 0; k < N_TEXTS; k++) {
      cq_random r = cq_random_seeded(11, k);
      size_t n = some_text(text, ROOM, &r);
      char *copy = malloc(n ? n : 1); /* so that a read past the end is seen */
      assert_non_null(copy);
      memcpy(copy, text, n);
      encode(&a, t, (cq_slice){copy, n}, 0, NULL);
      encode(&b, t, (cq_slice){copy, n}, 0, NULL);
      free(copy);
      assert_int_equal(a.n, b.n);
      for (size_t j = 0; j < a.n; j++) {
        assert_true(a.ids[j] >= 0 && a.ids[j] < size);
        assert_int_equal(a.ids[j], b.ids[j]);
      }
    }
    cq_tokenizer_free(t);
  }
  cq_free(a.ids);
  cq_free(b.ids);
}

/* A sentence of a quarter of a megabyte is encoded in time that grows with its length, not with its square. */
static void test_long_text(void **state) {
  (void)state;
  enum { N = 1 << 18 };
  char *text = malloc(N);
  assert_non_null(text);
  for (size_t i = 0; i < N; i++) text[i] = "the river bends twice"[i % 21];
  cq_ids ids = {0};
  for (size_t i = 0; i < N_GOLDEN; i++) {
    cq_tokenizer *t = open_tokenizer(golden_path(golden_names[i]));
    encode(&ids, t, (cq_slice){text, N}, 0, NULL);
    assert_true(ids.n > N / 21);
    cq_tokenizer_free(t);
  }
  memset(text, 'x', N); /* one word */
  for (size_t i = 0; i < N_GOLDEN; i++) {
    cq_tokenizer *t = open_tokenizer(golden_path(golden_names[i]));
    encode(&ids, t, (cq_slice){text, N}, 0, NULL);
    assert_true(ids.n >= 1);
    cq_tokenizer_free(t);
  }
  cq_free(ids.ids);
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_text), cmocka_unit_test(test_long_text)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
