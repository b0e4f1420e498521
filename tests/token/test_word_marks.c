/* Word boundaries for a vocabulary's training: where they stand, and that no piece of a trained vocabulary crosses one. */
#include "golden.h"

#include "token/word_marks.h"

#define M CQ_WORD_MARK

static void test_marks(void **state) {
  (void)state;
  static const struct {
    const char *text, *marked;
  } rows[] = {
      {"我喜欢", "我" M "喜欢"},
      {"老师喜欢学校，今天也喜欢。", "老师" M "喜欢" M "学校，今天" M "也" M "喜欢。"},
      {"老师 喜欢 学校", "老师 喜欢 学校"},
      {"学校Python", "学校" M "Python"},
      {"特朗普知道", "特朗普" M "知道"}, /* a name that the dictionary lacks */
      {"東京都に住んでいる", NULL},
      {"ประเทศไทยสวยงาม", NULL},
      {"", ""},
      {"the old mill, l'homme 3D 10kg", "the old mill, l'homme 3D 10kg"},
      {"पुरानी चक्की", "पुरानी चक्की"},
      {"한국어 문장", "한국어 문장"},
  };
  cq_word_marks marks;
  cq_error error = {0};
  assert_int_equal(cq_word_marks_open(&marks, &error), CQ_OK);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    cq_slice text = cq_slice_of(rows[i].text);
    assert_true(cq_word_marks_set(&marks, &text));
    if (rows[i].marked) {
      if (!cq_slice_equal(text, cq_slice_of(rows[i].marked)))
        fail_msg("%s: %.*s", rows[i].text, (int)text.n, text.data);
      continue;
    }
    /* Where the dictionary divides is its own affair: it does, and nothing but marks is added. */
    char *kept = cq_strndup(text.data, text.n), *mark;
    assert_non_null(strstr(kept, M));
    while ((mark = strstr(kept, M))) memmove(mark, mark + sizeof M - 1, strlen(mark + sizeof M - 1) + 1);
    assert_string_equal(kept, rows[i].text);
    cq_free(kept);
  }
  cq_word_marks_close(&marks);
  marks = (cq_word_marks){0};
  cq_word_marks_close(&marks);
}

/* Sentences of words without spaces, which often follow each other in one order. */
typedef struct maker {
  size_t at;
  char text[256];
} maker;

static const char *const words[] = {"老师", "喜欢", "学校", "音乐", "今天", "特朗普"};
enum { N_WORDS = sizeof words / sizeof *words, N_SENTENCES = 400 };

static bool next_sentence(void *context, cq_slice *sentence) {
  maker *m = context;
  if (m->at == N_SENTENCES) return false;
  const size_t i = m->at++;
  snprintf(m->text, sizeof m->text, "老师喜欢学校%s%s%s", words[i % N_WORDS], words[i / 3 % N_WORDS],
           i % 2 ? "老师喜欢学校" : words[i / 7 % N_WORDS]);
  *sentence = cq_slice_of(m->text);
  return true;
}

static bool is_word(cq_slice text) {
  for (size_t i = 0; i < N_WORDS; i++)
    if (cq_slice_equal(text, cq_slice_of(words[i]))) return true;
  return false;
}

static void test_training(void **state) {
  (void)state;
  enum { SIZE = 25 };
  cq_tokenizer *t;
  cq_error error = {0};
  maker m = {0};
  int largest;
  const cq_sentencepiece_training options = {.vocab_size = SIZE, .character_coverage = 1};
  if (cq_tokenizer_train_sentencepiece(&t, &largest, next_sentence, &m, &options, &error))
    fail_msg("%s", error.message);
  assert_int_equal(cq_tokenizer_describe(t)->vocab_size, SIZE);
  size_t n_words = 0;
  for (int32_t id = 0; id < SIZE; id++) {
    cq_slice text;
    cq_piece_kind kind;
    assert_true(cq_tokenizer_piece(&text, &kind, t, id));
    assert_false(cq_slice_equal(text, cq_slice_of(CQ_WORD_MARK)));
    if (kind == CQ_PIECE_SPECIAL || text.n <= 3) continue;
    if (!is_word(text)) fail_msg("%.*s", (int)text.n, text.data);
    n_words += is_word(text);
  }
  assert_in_range(n_words, 4, SIZE);
  cq_tokenizer_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_marks),
      cmocka_unit_test(test_training),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
