/* Passages: nothing is lost, nothing is too long, sentences stay whole where they can. */
#include "support/files.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "document/passages.h"

/* A token is a run of bytes without blanks; "!" in a text is an error of the tokenizer. */
static cq_status count_words(size_t *n, void *context, cq_slice text, cq_error *error) {
  (void)context;
  *n = 0;
  for (size_t i = 0; i < text.n; i++) {
    if (text.data[i] == '!') return cq_fail(error, CQ_ERR_LIMIT, "refused");
    *n += !cq_is_blank(text.data[i]) && (i == 0 || cq_is_blank(text.data[i - 1]));
  }
  return CQ_OK;
}

static void gives(const char *text, size_t max, size_t overlap, const char *expected) {
  const cq_passage_options o = {.max_tokens = max, .overlap_tokens = overlap, .count = count_words};
  char got[1000] = "";
  cq_passages p;
  assert_int_equal(cq_passages_open(&p, NULL), CQ_OK);
  assert_int_equal(cq_passages_find(&p, cq_slice_of(text), &o, NULL), CQ_OK);
  for (size_t i = 0; i < p.n; i++)
    snprintf(got + strlen(got), sizeof got - strlen(got), "%.*s|", (int)(p.items[i].end - p.items[i].begin),
             text + p.items[i].begin);
  assert_string_equal(got, expected);
  cq_passages_close(&p);
}

static void sentences_are_kept_whole(void **state) {
  (void)state;
  const char *text = " One is here. Two is there.  Three is away.\nFour.\n";
  gives(text, 100, 10, "One is here. Two is there.  Three is away.\nFour.|");
  gives(text, 6, 0, "One is here. Two is there.|Three is away.\nFour.|");
  gives(text, 6, 3, "One is here. Two is there.|Two is there.  Three is away.|Three is away.\nFour.|");
  gives(text, 3, 3, "One is here.|Two is there.|Three is away.|Four.|"); /* no room for what overlaps */
  gives(
      "Wir sind hier. "
      "\xE4\xB8\xAD\xE6\x96\x87\xE5\x8F\xA5\xE5\xAD\x90\xE3\x80\x82\xE5\x8F\xA6\xE4\xB8\x80\xE5\x8F\xA5\xE3\x80\x82",
      3, 0,
      "Wir sind "
      "hier.|"
      "\xE4\xB8\xAD\xE6\x96\x87\xE5\x8F\xA5\xE5\xAD\x90\xE3\x80\x82\xE5\x8F\xA6\xE4\xB8\x80\xE5\x8F\xA5\xE3\x80\x82|");
  gives("It rains. We met Dr. Miller at the station.", 6, 0, "It rains.|We met Dr. Miller at the|station.|");
  gives("It rains today. We met Dr. Miller there.", 5, 0, "It rains today.|We met Dr. Miller there.|");
  gives("", 3, 0, "");
  gives(" \n ", 3, 0, "");
}

static void headings_stay_with_their_text(void **state) {
  (void)state;
  gives("One is here.\n\nTwo\n\nThree is away. Four is near.", 4, 0,
        "One is here.|Two\n\nThree is away.|Four is near.|");
  gives("One is here.\n\nTwo\n\nThree\n\nFour is near.", 5, 0, "One is here.|Two\n\nThree\n\nFour is near.|");
  gives("One is here.\n\nTwo.\n\nThree is away.", 4, 0, "One is here.\n\nTwo.|Three is away.|");
  gives("One is here.\nTwo\n\nThree is away.", 4, 0, "One is here.\nTwo|Three is away.|"); /* the end of a block */
  gives("One\n\nTwo\n\nThree is away it is.", 2, 0, "One|Two|Three is|away it|is.|");      /* no room for more */
}

static void long_sentences_are_split_between_words(void **state) {
  (void)state;
  gives("one two, three four five six seven. Eight.", 3, 0, "one two, three|four five six|seven. Eight.|");
  gives("one two three four.", 1, 1, "one|two|three|four.|");
  gives("- - - - - - -\nOne is here. Two.", 4, 0, "- - - - - - -|One is here. Two.|"); /* nothing to split at */
}

static void errors_are_handed_on(void **state) {
  (void)state;
  const cq_passage_options o = {.max_tokens = 2, .count = count_words};
  cq_passages p;
  cq_error error = {0};
  assert_int_equal(cq_passages_open(&p, &error), CQ_OK);
  assert_int_equal(cq_passages_find(&p, cq_slice_of("a b. c d! e f."), &o, &error), CQ_ERR_LIMIT);
  assert_string_equal(error.message, "refused");
  assert_int_equal(cq_passages_find(&p, cq_slice_of("a \xFF"), &o, &error), CQ_ERR_FORMAT);
  assert_int_equal(cq_passages_find(&p, cq_slice_of("a b. c d. e f."), &o, &error), CQ_OK);
  assert_int_equal(p.n, 3);
  cq_passages_close(&p);
}

/* Of any text: each word is in a passage, passages move on, and none is longer than allowed. */
static void nothing_is_lost(void **state) {
  (void)state;
  static const char *const words[] = {
      "a", "Bc", "def.", "gh,", "\xC3\xBC", "Ij?", "\n", "k.\n\n", "\xE5\x8F\xA5\xE3\x80\x82"};
  cq_random r = cq_random_seeded(7, 1);
  cq_passages p;
  assert_int_equal(cq_passages_open(&p, NULL), CQ_OK);
  for (int round = 0; round < 2000; round++) {
    char text[2000] = "";
    const size_t n = cq_random_below(&r, 60), max = 1 + cq_random_below(&r, 12);
    for (size_t i = 0; i < n; i++) {
      strcat(text, words[cq_random_below(&r, sizeof words / sizeof *words)]);
      strcat(text, " ");
    }
    const cq_passage_options o = {.max_tokens = max, .overlap_tokens = cq_random_below(&r, 8), .count = count_words};
    assert_int_equal(cq_passages_find(&p, cq_slice_of(text), &o, NULL), CQ_OK);
    size_t covered = 0;
    for (size_t i = 0; i < p.n; i++) {
      const cq_slice between = {text + covered, p.items[i].begin > covered ? p.items[i].begin - covered : 0};
      size_t n_tokens;
      assert_int_equal(cq_slice_trimmed(between).n, 0);
      assert_true(p.items[i].end > covered && (i == 0 || p.items[i].begin > p.items[i - 1].begin));
      covered = p.items[i].end;
      assert_int_equal(
          count_words(&n_tokens, NULL, (cq_slice){text + p.items[i].begin, covered - p.items[i].begin}, NULL), CQ_OK);
      assert_true(n_tokens <= max);
    }
    assert_int_equal(cq_slice_trimmed(cq_slice_of(text + covered)).n, 0);
  }
  cq_passages_close(&p);
}

static void memory_may_fail(void **state) {
  (void)state;
  const cq_passage_options o = {.max_tokens = 2, .count = count_words};
  for (long n = 1;; n++) {
    cq_passages p;
    cq_alloc_fail_at(n);
    cq_status status = cq_passages_open(&p, NULL);
    const bool is_open = !status;
    if (!status) status = cq_passages_find(&p, cq_slice_of("a b. c d e f. g."), &o, NULL);
    const bool has_failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (is_open) cq_passages_close(&p);
    assert_int_equal(status, has_failed ? CQ_ERR_MEMORY : CQ_OK);
    if (!has_failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sentences_are_kept_whole),
      cmocka_unit_test(headings_stay_with_their_text),
      cmocka_unit_test(long_sentences_are_split_between_words),
      cmocka_unit_test(errors_are_handed_on),
      cmocka_unit_test(nothing_is_lost),
      cmocka_unit_test(memory_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
