/* From ids back to text: what SentencePiece has cut up is whole again, words are one space apart, special tokens are
 * left out. */
#include "golden.h"

static void expect_text(const cq_tokenizer *t, const int32_t *ids, size_t n, const char *expected) {
  cq_builder text = {0};
  cq_builder_text(&text, "before|"); /* what is there does not count */
  cq_tokenizer_text(&text, t, ids, n);
  assert_false(text.failed);
  if (strcmp(text.data + 7, expected) != 0) fail_msg("'%s', expected '%s'", text.data + 7, expected);
  cq_builder_free(&text);
}

static void expect_round_trip(const cq_tokenizer *t, const char *sentence, const char *expected) {
  cq_ids ids = {0};
  assert_int_equal(cq_tokenizer_encode(&ids, t, NULL, cq_slice_of(sentence), true, 0, NULL, NULL), CQ_OK);
  expect_text(t, ids.ids, ids.n, expected);
  cq_free(ids.ids);
}

static int32_t id_of(const cq_tokenizer *t, cq_piece_kind kind, const char *wanted) {
  const int64_t n = cq_tokenizer_describe(t)->vocab_size;
  for (int32_t id = 0; id < n; id++) {
    cq_slice text;
    cq_piece_kind found;
    if (cq_tokenizer_piece(&text, &found, t, id) && found == kind && text.n == strlen(wanted) &&
        !memcmp(text.data, wanted, text.n))
      return id;
  }
  fail_msg("no piece '%s'", wanted);
  return -1;
}

static bool next_sentence(void *context, cq_slice *sentence) {
  static const char *const sentences[] = {"the river bends, the boat does not", "un été à l'île", "Der Fluß ist alt.",
                                          "река и лодка"};
  size_t *at = context;
  if (*at == 40) return false;
  *sentence = cq_slice_of(sentences[(*at)++ % 4]);
  return true;
}

static void sentencepiece(void **state) {
  cq_tokenizer *t;
  cq_error error = {0};
  size_t at = 0;
  const cq_sentencepiece_training training = {.vocab_size = 38, .character_coverage = 1};
  (void)state;
  int largest;
  if (cq_tokenizer_train_sentencepiece(&t, &largest, next_sentence, &at, &training, &error))
    fail_msg("%s", error.message);
  expect_round_trip(t, "the boat bends", "the boat bends");
  expect_round_trip(t, "  the   boat,  ", "the boat,"); /* normalized */
  expect_round_trip(t, "l'île, река.", "l'île, река.");
  expect_round_trip(t, "tréalnu", "tréalnu"); /* a word made of pieces */
  expect_round_trip(t, "", "");
  expect_round_trip(t, "the 水 boat", "the \xE2\x81\x87 boat");
  expect_round_trip(t, "水", "\xE2\x81\x87");
  const int32_t mark = id_of(t, CQ_PIECE_START, ""), e = id_of(t, CQ_PIECE_INSIDE, "e"), unknown = 3;
  expect_text(t, (const int32_t[]){mark, mark, e, mark, mark, e, mark}, 7, "e e");
  expect_text(t, (const int32_t[]){mark, unknown, e, unknown, mark, e}, 6,
              "\xE2\x81\x87"
              "e \xE2\x81\x87 e");
  expect_text(t, (const int32_t[]){0, e, 1, e, 37, 2, e, 38, -1, e}, 10, "eeee"); /* <s> <pad> <mask> </s>, and none */
  expect_text(t, NULL, 0, "");
  cq_tokenizer_free(t);
}

static void other_kinds(void **state) {
  static const struct {
    const char *directory, *sentence, *expected;
  } cases[] = {
      {"golden/token/wordpiece-uncased", "The cat", "the cat"},
      {"golden/token/byte-level", "The cat", "The cat"},
      {"golden/token/words-marked", "My  wife, today's fish!", "My wife, today's fish!"},
      {"golden/token/words-plain", "The old mill", "the old mill"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_tokenizer *t;
    assert_int_equal(cq_tokenizer_open(&t, tests_file(cases[i].directory), false, NULL), CQ_OK);
    expect_round_trip(t, cases[i].sentence, cases[i].expected);
    cq_tokenizer_free(t);
  }
}

static void allocations_may_fail(void **state) {
  cq_tokenizer *t;
  int32_t ids[400];
  (void)state;
  assert_int_equal(cq_tokenizer_open(&t, tests_file("golden/token/wordpiece-uncased"), false, NULL), CQ_OK);
  for (int i = 0; i < 400; i++) ids[i] = i % (int32_t)cq_tokenizer_describe(t)->vocab_size;
  for (long n = 1;; n++) {
    cq_builder text = {0};
    cq_alloc_fail_at(n);
    cq_tokenizer_text(&text, t, ids, 400);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_true(text.failed == failed);
    cq_builder_free(&text);
    if (!failed) {
      assert_true(n > 2);
      break;
    }
  }
  cq_tokenizer_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sentencepiece),
      cmocka_unit_test(other_kinds),
      cmocka_unit_test(allocations_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
