/* Vocabularies of whole words: what is counted and chosen, the same as Hugging Face's cuts give, saved and read back;
 * text that comes back as it was. */
#include "golden.h"

#include "base/file.h"
#include "calque/lines.h"

/* --- texts to train on --- */

typedef struct list {
  const char *const *sentences; /* NULL at the end */
  bool backwards;
  size_t at, n;
} list;

static bool next_of_list(void *context, cq_slice *sentence) {
  list *l = context;
  while (l->sentences[l->n]) l->n++;
  if (l->at == l->n) return false;
  *sentence = cq_slice_of(l->sentences[l->backwards ? l->n - ++l->at : l->at++]);
  return true;
}

static cq_tokenizer *train(const char *const *sentences, int vocab_size, uint64_t min_count, bool lowercase) {
  cq_tokenizer *t;
  cq_error error = {0};
  list l = {.sentences = sentences};
  const cq_words_training options = {vocab_size, min_count, lowercase};
  if (cq_tokenizer_train_words(&t, next_of_list, &l, &options, &error)) fail_msg("%s", error.message);
  return t;
}

/* Both columns of the sample's files behind the golden sentences, as reference/golden_words.py reads them. */
static const char *const languages[] = {"ar", "de", "es", "hi", "ru"};

typedef struct sample {
  const json_t *first;
  size_t at, file;
  cq_lines *lines;
  cq_slice columns[2];
  size_t column;
} sample;

static bool next_line(cq_slice columns[2], cq_lines **lines, size_t file) {
  cq_slice line;
  cq_error error = {0};
  if (!*lines) {
    char path[1024];
    snprintf(path, sizeof path, "%s/sample/train/en-%s.tsv.gz", CQ_SOURCE_DIR, languages[file]);
    if (cq_lines_open(lines, path, &error)) fail_msg("%s", error.message);
  }
  if (cq_lines_next(&line, *lines, &error)) fail_msg("%s", error.message);
  if (line.data) {
    assert_int_equal(cq_tsv_split(columns, 2, line), 2);
    return true;
  }
  cq_lines_close(*lines);
  *lines = NULL;
  return false;
}

static bool next_of_sample(void *context, cq_slice *sentence) {
  sample *s = context;
  if (s->at < json_array_size(s->first)) {
    *sentence = json_slice(json_array_get(s->first, s->at++));
    return true;
  }
  if (s->column == 1) {
    *sentence = s->columns[1];
    s->column = 0;
    return true;
  }
  while (s->file < 5) {
    if (next_line(s->columns, &s->lines, s->file)) {
      *sentence = s->columns[0];
      s->column = 1;
      return true;
    }
    s->file++;
  }
  return false;
}

/* --- what they give --- */

static void expect_words(const cq_tokenizer *t, const char *const *words) {
  static const char *const specials[] = {"<s>", "<pad>", "</s>", "<unk>"};
  int32_t id = 0;
  for (; id < 4 || words[id - 4]; id++) {
    cq_slice text;
    cq_piece_kind kind;
    const char *expected = id < 4 ? specials[id] : words[id - 4];
    const bool start = !strncmp(expected, "_", 1); /* stands for the blank's mark */
    assert_true(cq_tokenizer_piece(&text, &kind, t, id));
    if (text.n != strlen(expected) - start || memcmp(text.data, expected + start, text.n) != 0)
      fail_msg("%d is '%.*s', expected '%s'", id, (int)text.n, text.data, expected);
    assert_int_equal(kind, id < 4 ? CQ_PIECE_SPECIAL : start ? CQ_PIECE_START : CQ_PIECE_INSIDE);
  }
  assert_int_equal(cq_tokenizer_describe(t)->vocab_size, id);
}

static void expect_text(const cq_tokenizer *t, const char *sentence, const char *expected) {
  cq_ids ids = {0};
  cq_builder text = {0};
  encode(&ids, t, cq_slice_of(sentence), 0, NULL);
  cq_builder_text(&text, "");
  cq_tokenizer_text(&text, t, ids.ids, ids.n);
  assert_string_equal(text.data, expected);
  cq_builder_free(&text);
  cq_free(ids.ids);
}

static unsigned char *saved_document(size_t *n, const cq_tokenizer *t, const char *folder) {
  char path[700];
  cq_error error = {0};
  assert_int_equal(cq_directory_make(test_path(folder), &error), CQ_OK);
  if (cq_tokenizer_save(t, test_path(folder), 50, &error)) fail_msg("%s", error.message);
  snprintf(path, sizeof path, "%s/tokenizer.json", test_path(folder));
  return read_bytes(n, path);
}

/* Word for word what the reference program makes of the same text, the whole document included. */
static void test_golden(void **state) {
  (void)state;
  json_t *sentences = golden_json("sentences.json"), *expected = golden_json("words-marked/tokenizer.json"), *got;
  sample s = {.first = sentences};
  cq_tokenizer *t;
  cq_error error = {0};
  const cq_words_training options = {.vocab_size = 2500};
  if (cq_tokenizer_train_words(&t, next_of_sample, &s, &options, &error)) fail_msg("%s", error.message);
  size_t n;
  unsigned char *bytes = saved_document(&n, t, "golden");
  assert_int_equal(cq_json_parse(&got, (cq_slice){(const char *)bytes, n}, "tokenizer.json", &error), CQ_OK);
  assert_true(json_equal(got, expected));
  free(bytes);
  json_decref(got);
  json_decref(expected);
  json_decref(sentences);
  cq_tokenizer_free(t);
}

/* Ids of every 70th line's second column. */
static void test_sample_ids(void **state) {
  (void)state;
  json_t *expected = golden_json("words-marked/sample.json");
  cq_tokenizer *t = open_tokenizer(golden_path("words-marked"));
  cq_ids ids = {0};
  size_t n = 0, n_known = 0;
  for (size_t file = 0; file < 5; file++) {
    cq_lines *lines = NULL;
    cq_slice columns[2];
    for (size_t i = 0; next_line(columns, &lines, file); i++) {
      if (i % 70 != 0) continue;
      const json_t *want = json_array_get(expected, n++);
      bool known = true;
      encode(&ids, t, columns[1], 0, NULL);
      assert_int_equal(ids.n, json_array_size(want));
      for (size_t k = 0; k < ids.n; k++) {
        assert_int_equal(ids.ids[k], json_integer_value(json_array_get(want, k)));
        known &= ids.ids[k] != 3;
      }
      if (!known) continue;
      cq_builder text = {0}; /* all of it known: it comes back as it was */
      cq_tokenizer_text(&text, t, ids.ids, ids.n);
      assert_int_equal(text.n, columns[1].n);
      assert_memory_equal(text.data, columns[1].data, text.n);
      cq_builder_free(&text);
      n_known++;
    }
  }
  assert_int_equal(n, json_array_size(expected));
  assert_true(n > 300 && n_known > 50);
  cq_free(ids.ids);
  json_decref(expected);
  cq_tokenizer_free(t);
}

static void test_order(void **state) {
  (void)state;
  static const char *const text[] = {"b a, b", " a  b\tB", "c-c \xFF", "", "   ", "é z, z a", NULL};
  cq_tokenizer *t = train(text, 100, 0, false);
  expect_words(t, (const char *const[]){"_a", "_b", ",", "_z", "_B", "_é", NULL});
  cq_tokenizer_free(t);
}

static void test_min_count(void **state) {
  (void)state;
  static const char *const text[] = {"a b c d", "a b c", "b c", NULL};
  cq_tokenizer *t = train(text, 100, 2, false);
  expect_words(t, (const char *const[]){"_b", "_c", "_a", NULL});
  cq_tokenizer_free(t);
  t = train(text, 100, 3, false);
  expect_words(t, (const char *const[]){"_b", "_c", NULL});
  cq_tokenizer_free(t);
  t = train(text, 5, 3, false); /* the smallest that there is */
  expect_words(t, (const char *const[]){"_b", NULL});
  cq_tokenizer_free(t);
}

/* What is no word, or not the text's own. */
static void test_left_out(void **state) {
  (void)state;
  char longest[520], longer[520], both[1100], marked[524];
  snprintf(longest, sizeof longest, "%0509d", 7); /* 512 bytes with the mark */
  snprintf(longer, sizeof longer, "%0510d", 7);
  snprintf(both, sizeof both, "%s %s <s> b</s><unk><pad> b", longest, longer);
  const char *const text[] = {both, NULL};
  cq_tokenizer *t = train(text, 100, 0, false);
  snprintf(marked, sizeof marked, "_%s", longest);
  expect_words(t, (const char *const[]){"_b", marked, NULL});
  cq_ids ids = {0};
  encode(&ids, t, cq_slice_of(both), 0, NULL);
  const int32_t expected[] = {0, 5, 3, 0, 4,
                              2, 3, 1, 4, 2}; /* special tokens that the text spells out are what they say */
  assert_int_equal(ids.n, 10);
  assert_memory_equal(ids.ids, expected, sizeof expected);
  cq_free(ids.ids);
  cq_tokenizer_free(t);
}

static const char *const verses[] = {"Bonjour, Tom !",
                                     "« C'est l'été… », dit-elle (à 3,50 €).",
                                     "Don't; won't!? It's 100% \"re-read\" by user_name@example.org",
                                     "Ёлка, река — и лодка.",
                                     "क्या आप पानी चाहते हैं?",
                                     "می\xE2\x80\x8Cخواهم، متشکرم؟",
                                     "¿Qué? ¡Nadie!",
                                     "你好，世界。",
                                     "\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7 \xF0\x9F\x98\x80!",
                                     NULL};

static void test_text(void **state) {
  (void)state;
  cq_tokenizer *t = train(verses, 1000, 0, false);
  for (size_t i = 0; verses[i]; i++) {
    cq_builder normal = {0}; /* NFKC makes three full stops of one character, and an ASCII comma of a wide one */
    for (const char *c = verses[i]; *c;) {
      static const char *const wide[][2] = {{"…", "..."}, {"，", ","}};
      size_t k = 0;
      while (k < 2 && strncmp(c, wide[k][0], 3) != 0) k++;
      cq_builder_bytes(&normal, k < 2 ? wide[k][1] : c, k < 2 ? strlen(wide[k][1]) : 1);
      c += k < 2 ? 3 : 1;
    }
    expect_text(t, verses[i], normal.data);
    cq_builder_free(&normal);
  }
  expect_text(t, "\tBonjour,\xC2\xA0Tom\xE3\x80\x80\xE2\x96\x81! ", "Bonjour, Tom !");
  expect_text(t, "Bon\xC2\xADjour,\xE2\x80\x8BTom\xEF\xBB\xBF!", "Bonjour, Tom !");
  expect_text(t, "Bonjour, Bob!", "Bonjour, \xE2\x81\x87!");
  expect_text(t, "", "");
  expect_text(t, " \t ", "");
  cq_tokenizer_free(t);
}

static void test_lowercase(void **state) {
  (void)state;
  static const char *const text[] = {"The the THE Über über", NULL};
  cq_tokenizer *t = train(text, 100, 0, true);
  expect_words(t, (const char *const[]){"_the", "_über", NULL});
  assert_true(cq_tokenizer_describe(t)->lowercase);
  expect_text(t, "ÜBER The", "über the");
  cq_tokenizer_free(t);
}

/* The same words, whatever the order of the text; the same ids once saved and opened again; a beginning and an end. */
static void test_saved(void **state) {
  (void)state;
  cq_tokenizer *t = train(verses, 30, 0, false), *backwards, *again;
  cq_error error = {0};
  list l = {.sentences = verses, .backwards = true};
  const cq_words_training options = {.vocab_size = 30};
  assert_int_equal(cq_tokenizer_train_words(&backwards, next_of_list, &l, &options, &error), CQ_OK);
  size_t n[2];
  unsigned char *bytes[] = {saved_document(&n[0], t, "one"), saved_document(&n[1], backwards, "two")};
  assert_int_equal(n[0], n[1]);
  assert_memory_equal(bytes[0], bytes[1], n[0]);
  again = open_tokenizer(test_path("two"));
  const cq_tokenizer_info *info = cq_tokenizer_describe(again), *first = cq_tokenizer_describe(t);
  assert_string_equal(info->type, "WordLevel");
  assert_string_equal(first->type, "WordLevel");
  assert_int_equal(first->cls_id, 0);
  assert_int_equal(first->pad_id, 1);
  assert_int_equal(first->sep_id, 2);
  assert_int_equal(first->unk_id, 3);
  assert_int_equal(first->mask_id, -1);
  assert_int_equal(first->n_special, 2);
  assert_int_equal(first->vocab_size, 30);
  assert_false(first->lowercase);
  assert_int_equal(info->cls_id, 0);
  assert_int_equal(info->pad_id, 1);
  assert_int_equal(info->sep_id, 2);
  assert_int_equal(info->unk_id, 3);
  assert_int_equal(info->n_special, 2);
  assert_int_equal(info->model_max_length, 50);
  cq_ids a = {0}, b = {0};
  for (size_t i = 0; verses[i]; i++) {
    encode(&a, t, cq_slice_of(verses[i]), 0, NULL);
    encode(&b, again, cq_slice_of(verses[i]), 0, NULL);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.ids, b.ids, a.n * sizeof *a.ids);
    bool cut;
    encode(&b, again, cq_slice_of(verses[i]), a.n - 1, &cut);
    assert_true(cut);
    assert_int_equal(b.n, a.n - 1);
    assert_memory_equal(a.ids, b.ids, (b.n - 1) * sizeof *a.ids);
    assert_int_equal(b.ids[b.n - 1], 2);
  }
  cq_free(a.ids);
  cq_free(b.ids);
  free(bytes[0]);
  free(bytes[1]);
  cq_tokenizer_free(t);
  cq_tokenizer_free(backwards);
  cq_tokenizer_free(again);
}

static void test_refusals(void **state) {
  (void)state;
  static const char *const some[] = {"a b b", NULL}, *const none[] = {NULL},
                           *const blank[] = {"",
                                             " \t\xC2\xA0",
                                             "\xE2\x96\x81\xE2\x80\x8B",
                                             "<s> </s>",
                                             "\xFF"
                                             "a",
                                             NULL};
  static const struct {
    const char *const *text;
    int vocab_size;
    uint64_t min_count;
    const char *message;
  } cases[] = {
      {some, 4, 0, "vocab_size is 4, expected 5 to 1048576"},
      {some, -1, 0, "vocab_size is -1"},
      {some, (1 << 20) + 1, 0, "vocab_size is 1048577"},
      {none, 100, 0, "no word to make a vocabulary of"},
      {blank, 100, 0, "no word to make a vocabulary of"},
      {some, 100, 3,
       "no word occurs 3 times: the most frequent one, '\xE2\x96\x81"
       "b', occurs 2 times"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_tokenizer *t = (cq_tokenizer *)1;
    cq_error error = {0};
    list l = {.sentences = cases[i].text};
    const cq_words_training options = {cases[i].vocab_size, cases[i].min_count, false};
    assert_int_equal(cq_tokenizer_train_words(&t, next_of_list, &l, &options, &error), CQ_ERR_ARGUMENT);
    if (!strstr(error.message, cases[i].message)) fail_msg("'%s' does not say '%s'", error.message, cases[i].message);
    assert_int_equal(error.status, CQ_ERR_ARGUMENT);
    assert_null(t);
  }
}

static void test_memory(void **state) {
  (void)state;
  for (long n = 1;; n++) {
    cq_tokenizer *t = NULL;
    cq_error error = {0};
    list l = {.sentences = verses};
    const cq_words_training options = {.vocab_size = 1000, .lowercase = n % 2 == 0};
    cq_alloc_fail_at(n);
    const cq_status status = cq_tokenizer_train_words(&t, next_of_list, &l, &options, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    cq_tokenizer_free(t);
    if (!failed) {
      assert_int_equal(status, CQ_OK);
      assert_true(n > 100);
      break;
    }
    if (status != CQ_ERR_MEMORY)
      fail_msg("allocation %ld failed, and the answer was '%s' (%d)", n, error.message, status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_golden),    cmocka_unit_test(test_sample_ids), cmocka_unit_test(test_order),
      cmocka_unit_test(test_min_count), cmocka_unit_test(test_left_out),   cmocka_unit_test(test_text),
      cmocka_unit_test(test_lowercase), cmocka_unit_test(test_saved),      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_memory),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
