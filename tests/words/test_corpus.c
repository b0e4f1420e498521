/* Text as word numbers: counts, order, what is dropped. */
#include "support/files.h"

#include "base/memory.h"
#include "words/words_corpus.h"

static const char *written(const char *text) {
  const char *path = test_path("corpus.txt");
  write_text(path, text);
  return path;
}

static void expect_words(const cq_word_corpus *c, const char *const *words, const uint64_t *counts, uint32_t n) {
  assert_int_equal(c->words.n, n);
  for (uint32_t i = 0; i < n; i++) {
    assert_int_equal(c->words.items[i].n, strlen(words[i]));
    assert_memory_equal(c->words.items[i].data, words[i], strlen(words[i]));
    assert_int_equal(c->counts[i], counts[i]);
  }
}

/* A digit a token, a blank a document's end. */
static void expect_tokens(const cq_word_corpus *c, const char *expected) {
  char got[200], *to = got;
  for (size_t d = 0; d < c->n_documents; d++) {
    assert_true(c->starts[d] <= c->starts[d + 1]);
    for (size_t i = c->starts[d]; i < c->starts[d + 1]; i++) *to++ = (char)('0' + c->tokens.items[i]);
    *to++ = ' ';
  }
  *to = '\0';
  assert_string_equal(got, expected);
  if (c->n_documents) {
    assert_int_equal(c->starts[0], 0);
    assert_int_equal(c->starts[c->n_documents], c->tokens.n);
  }
}

static void words_by_falling_count_ties_as_met(void **state) {
  (void)state;
  cq_word_corpus c = {0};
  assert_int_equal(cq_word_corpus_read(&c, written("once b a\na b a c\nc last\n"), NULL), CQ_OK);
  assert_int_equal(c.n_documents, 3);
  expect_tokens(&c, "012 2123 34 "); /* as they were met, until it is finished */
  assert_int_equal(cq_word_corpus_finish(&c, 1, NULL), CQ_OK);
  expect_words(&c, (const char *[]){"a", "b", "c", "once", "last"}, (uint64_t[]){3, 2, 2, 1, 1}, 5);
  expect_tokens(&c, "310 0102 24 ");
  cq_word_corpus_free(&c);
  assert_null(c.starts);
}

static void rare_words_and_their_tokens_go(void **state) {
  (void)state;
  cq_word_corpus c = {0};
  const char *path = written("once b a\na b a c\nc last\nonly\n");
  assert_int_equal(cq_word_corpus_read(&c, path, NULL), CQ_OK);
  assert_int_equal(cq_word_corpus_finish(&c, 2, NULL), CQ_OK);
  expect_words(&c, (const char *[]){"a", "b", "c"}, (uint64_t[]){3, 2, 2}, 3);
  expect_tokens(&c, "10 0102 2  ");                            /* a document that has none left is empty */
  assert_int_equal(cq_word_corpus_finish(&c, 3, NULL), CQ_OK); /* again: nothing but the counts is needed */
  expect_words(&c, (const char *[]){"a"}, (uint64_t[]){3}, 1);
  expect_tokens(&c, "0 00   ");
  assert_int_equal(cq_word_corpus_finish(&c, 4, NULL), CQ_OK);
  assert_int_equal(c.words.n, 0);
  assert_int_equal(c.tokens.n, 0);
  expect_tokens(&c, "    ");
  cq_word_corpus_free(&c);
}

static void blanks_and_empty_lines(void **state) {
  (void)state;
  cq_word_corpus c = {0};
  const char *path = written("\n  a\t\tb  \n \t \n\nb\v\fa\r\n\xe0\xa4\x98\xe0\xa4\xb0 \xc2\xa0\n");
  assert_int_equal(cq_word_corpus_read(&c, path, NULL), CQ_OK);
  assert_int_equal(cq_word_corpus_finish(&c, 0, NULL), CQ_OK);
  /* Blanks are ASCII's: a no-break space is a word like any other. */
  expect_words(&c, (const char *[]){"a", "b", "\xe0\xa4\x98\xe0\xa4\xb0", "\xc2\xa0"}, (uint64_t[]){2, 2, 1, 1}, 4);
  expect_tokens(&c, " 01   10 23 ");
  cq_word_corpus_free(&c);
  /* No line at all, and a last line without its end. */
  assert_int_equal(cq_word_corpus_read(&c, written(""), NULL), CQ_OK);
  assert_int_equal(cq_word_corpus_finish(&c, 1, NULL), CQ_OK);
  assert_int_equal(c.n_documents, 0);
  assert_int_equal(c.words.n, 0);
  cq_word_corpus_free(&c);
  assert_int_equal(cq_word_corpus_read(&c, written("x\ny x"), NULL), CQ_OK);
  assert_int_equal(cq_word_corpus_finish(&c, 1, NULL), CQ_OK);
  expect_tokens(&c, "0 10 ");
  cq_word_corpus_free(&c);
}

/* The way of those who have numbers already; words that no token has are not kept. */
static void documents_of_numbers(void **state) {
  (void)state;
  cq_word_corpus c = {0};
  for (const char *word = "pqrs"; *word; word++)
    assert_int_not_equal(cq_intern_put(&c.words, (cq_slice){word, 1}), CQ_INTERN_NONE);
  assert_int_equal(cq_word_corpus_add(&c, (uint32_t[]){3, 1, 3}, 3, NULL), CQ_OK);
  assert_int_equal(cq_word_corpus_add(&c, NULL, 0, NULL), CQ_OK);
  assert_int_equal(cq_word_corpus_add(&c, (uint32_t[]){0}, 1, NULL), CQ_OK);
  assert_int_equal(cq_word_corpus_finish(&c, 0, NULL), CQ_OK);
  expect_words(&c, (const char *[]){"s", "p", "q"}, (uint64_t[]){2, 1, 1}, 3);
  expect_tokens(&c, "020  1 ");
  cq_word_corpus_free(&c);
}

static void faults_name_the_line(void **state) {
  (void)state;
  cq_word_corpus c = {0};
  cq_error error = {0};
  assert_int_equal(cq_word_corpus_read(&c, written("a b\n\xff\n"), &error), CQ_ERR_FORMAT);
  assert_int_equal(error.line, 2);
  cq_word_corpus_free(&c);
  assert_int_equal(cq_word_corpus_read(&c, test_path("nowhere"), &error), CQ_ERR_IO);
  cq_word_corpus_free(&c);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  const char *path = written("once b a\na b a c\n\nc last\n");
  for (long n = 1;; n++) {
    cq_word_corpus c = {0};
    cq_alloc_fail_at(n);
    cq_status status = cq_word_corpus_read(&c, path, NULL);
    if (!status) status = cq_word_corpus_finish(&c, 2, NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    cq_word_corpus_free(&c);
    if (!failed) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_by_falling_count_ties_as_met),
      cmocka_unit_test(rare_words_and_their_tokens_go),
      cmocka_unit_test(blanks_and_empty_lines),
      cmocka_unit_test(documents_of_numbers),
      cmocka_unit_test(faults_name_the_line),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
