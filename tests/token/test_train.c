/* Training a vocabulary: XLM-R's layout, the same result every time, saved and read back, and our encoder against
 * SentencePiece's own on the trained model. */
#include "golden.h"

#include "base/context.h"
#include "base/file.h"
#include "support/sentencepiece.h"
#include "token/model_proto.h"

/* Sentences made by rule from words of five languages. */
typedef struct maker {
  size_t at, n;
  char text[256];
} maker;

static bool next_sentence(void *context, cq_slice *sentence) {
  static const char *const words[][8] = {
      {"the", "river", "old", "mill", "bends", "before", "morning", "Boat"},
      {"der", "Fluss", "alte", "Mühle", "größer", "früher", "Morgen", "grüßt"},
      {"река", "старая", "мельница", "утром", "лодка", "каждый", "ёлка", "берег"},
      {"नदी", "पुरानी", "चक्की", "सुबह", "नाव", "पहुँचने", "हाथ", "किनारा"},
      {"河流", "旧磨坊", "早晨", "小船", "拐弯", "到达", "挥手", "岸边"},
  };
  maker *m = context;
  if (m->at >= m->n) return false;
  size_t i = m->at++, language = i % 5, seed = i / 5 * 2654435761u % 40009;
  int n = 0;
  m->text[0] = 0;
  for (size_t k = 0; k < 6; k++) {
    n += snprintf(m->text + n, sizeof m->text - (size_t)n, "%s%s", k ? " " : "", words[language][seed % 8]);
    seed = seed / 3 + 17 * k;
  }
  *sentence = cq_slice_of(m->text);
  return true;
}

static cq_tokenizer *train(int vocab_size, bool bpe, bool lowercase, uint64_t max_sentences, size_t n) {
  cq_tokenizer *t;
  cq_error error = {0};
  maker m = {.n = n};
  cq_sentencepiece_training options = {.vocab_size = vocab_size,
                                       .bpe = bpe,
                                       .character_coverage = 0.9995,
                                       .lowercase = lowercase,
                                       .max_sentences = max_sentences};
  int largest = 1;
  if (cq_tokenizer_train_sentencepiece(&t, &largest, next_sentence, &m, &options, &error))
    fail_msg("%s", error.message);
  assert_int_equal(largest, 0);
  return t;
}

static void expect_layout(const cq_tokenizer *t, int vocab_size) {
  const cq_tokenizer_info *info = cq_tokenizer_describe(t);
  assert_int_equal(info->vocab_size, vocab_size);
  assert_int_equal(info->cls_id, 0);
  assert_int_equal(info->pad_id, 1);
  assert_int_equal(info->sep_id, 2);
  assert_int_equal(info->unk_id, 3);
  assert_int_equal(info->mask_id, vocab_size - 1);
  assert_int_equal(info->n_special, 2);
  static const char *const specials[] = {"<s>", "<pad>", "</s>", "<unk>"};
  for (int32_t id = 0; id < vocab_size; id++) {
    cq_slice text;
    cq_piece_kind kind;
    assert_true(cq_tokenizer_piece(&text, &kind, t, id));
    assert_int_equal(kind == CQ_PIECE_SPECIAL, id < 4 || id == vocab_size - 1);
    if (id < 4) assert_memory_equal(text.data, specials[id], text.n);
  }
}

/* As the library encodes, in XLM-R's ids. */
static void expect_as_library(const cq_tokenizer *t, const unsigned char *model, size_t n_bytes, const char *sentence) {
  int32_t theirs[256];
  cq_ids ours = {0};
  long n = sentencepiece_encode(theirs, 256, (const char *)model, n_bytes, sentence, strlen(sentence));
  assert_true(n >= 0 && n <= 256);
  encode(&ours, t, cq_slice_of(sentence), 0, NULL);
  assert_int_equal(ours.n, (size_t)n + 2);
  for (size_t i = 0; i < (size_t)n; i++) assert_int_equal(ours.ids[i + 1], theirs[i] == 0 ? 3 : theirs[i] + 1);
  cq_free(ours.ids);
}

static void check(int vocab_size, bool bpe, bool lowercase, const char *folder) {
  static const char *const sentences[] = {
      "the old mill",
      "",
      "  spaces   everywhere ",
      "Boat BOAT boat",
      "grüßt die größere Mühle",
      "ＦＵＬＬ width ﬁne ①",
      "reka река лодка",
      "पुरानी चक्की",
      "河流到达旧磨坊，早晨。",
      "tab\tand\nnewline",
      "unknown ☃ letters ☃☃",
      "Ёлка ёлка",
      "ﬀ ﬁ ﬂ ½",
      "thetheriverriver",
      "12345",
  };
  cq_error error = {0};
  cq_tokenizer *t = train(vocab_size, bpe, lowercase, 0, 400), *again = train(vocab_size, bpe, lowercase, 0, 400);
  expect_layout(t, vocab_size);
  assert_int_equal(cq_tokenizer_describe(t)->lowercase, lowercase);
  char path[2][600], model_path[2][700];
  for (int i = 0; i < 2; i++) {
    snprintf(path[i], sizeof path[i], "%s-%d", test_path(folder), i);
    const int length = snprintf(model_path[i], sizeof model_path[i], "%s/sentencepiece.bpe.model", path[i]);
    assert_in_range(length, 1, sizeof model_path[i] - 1);
    assert_int_equal(cq_directory_make(path[i], &error), CQ_OK);
    assert_int_equal(cq_tokenizer_save(i ? again : t, path[i], 100, &error), CQ_OK);
  }
  size_t n[2];
  unsigned char *models[] = {read_bytes(&n[0], model_path[0]), read_bytes(&n[1], model_path[1])};
  assert_int_equal(n[0], n[1]);
  assert_memory_equal(models[0], models[1], n[0]);
  cq_tokenizer *reopened = open_tokenizer(path[0]);
  expect_layout(reopened, vocab_size);
  assert_int_equal(cq_tokenizer_describe(reopened)->model_max_length, 100);
  assert_int_equal(cq_tokenizer_describe(reopened)->lowercase, lowercase);
  /* And by the .model alone. */
  char json[700];
  snprintf(json, sizeof json, "%s/tokenizer.json", path[1]);
  assert_int_equal(remove(json), 0);
  cq_tokenizer *bare = open_tokenizer(path[1]);
  assert_int_equal(cq_tokenizer_describe(bare)->lowercase, lowercase);
  cq_ids a = {0}, b = {0}, c = {0};
  for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
    encode(&a, t, cq_slice_of(sentences[i]), 0, NULL);
    encode(&b, reopened, cq_slice_of(sentences[i]), 0, NULL);
    encode(&c, bare, cq_slice_of(sentences[i]), 0, NULL);
    assert_int_equal(a.n, b.n);
    assert_int_equal(a.n, c.n);
    assert_memory_equal(a.ids, b.ids, a.n * sizeof *a.ids);
    assert_memory_equal(a.ids, c.ids, a.n * sizeof *a.ids);
    expect_as_library(t, models[0], n[0], sentences[i]);
  }
  if (lowercase) {
    encode(&a, t, cq_slice_of("THE OLD MÜHLE РЕКА"), 0, NULL);
    encode(&b, t, cq_slice_of("the old mühle река"), 0, NULL);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.ids, b.ids, a.n * sizeof *a.ids);
  }
  cq_free(a.ids);
  cq_free(b.ids);
  cq_free(c.ids);
  free(models[0]);
  free(models[1]);
  cq_tokenizer_free(t);
  cq_tokenizer_free(again);
  cq_tokenizer_free(reopened);
  cq_tokenizer_free(bare);
}

static void test_unigram(void **state) {
  (void)state;
  check(124, false, false, "unigram");
}

static void test_bpe(void **state) {
  (void)state;
  check(200, true, true, "bpe");
}

/* Trains a vocabulary that folds variants: the bytes of its model. */
static unsigned char *train_variants(cq_tokenizer **t, size_t *n, const char *name) {
  cq_error error = {0};
  maker m = {.n = 400};
  int largest;
  const cq_sentencepiece_training options = {
      .vocab_size = 116, .character_coverage = 1, .lowercase = true, .fold_variants = true};
  if (cq_tokenizer_train_sentencepiece(t, &largest, next_sentence, &m, &options, &error)) fail_msg("%s", error.message);
  char model_path[700];
  snprintf(model_path, sizeof model_path, "%s/sentencepiece.bpe.model", test_path(name));
  assert_int_equal(cq_directory_make(test_path(name), &error), CQ_OK);
  assert_int_equal(cq_tokenizer_save(*t, test_path(name), 100, &error), CQ_OK);
  return read_bytes(n, model_path);
}

/* The name goes, and with it a byte of its message's length, which is then less than 128; all else stays, and so does a model
 * without a name. */
static void test_rules_name(void **state) {
  (void)state;
  static const char piece[] = "\x0a\x03\x0a\x01"
                              "a",
                    other_piece[] = "\x0a\x03\x0a\x01"
                                    "b";
  static const char around[] = "\x1a\x07\x0a\x03nmt\x18\x01";
  char model[400], name[151];
  cq_error error = {0};
  memset(name, '/', 150);
  name[150] = '\0';
  /* normalizer_spec of 3 + 2 + 3 + 150 = 160 bytes: name "nmt", normalization_rule_tsv, add_dummy_prefix */
  const int n =
      snprintf(model, sizeof model, "%s\x1a\xa0\x01\x0a\x03nmt\x32\x96\x01%s\x18\x01%s", piece, name, other_piece);
  char expected[100];
  const int n_expected = snprintf(expected, sizeof expected, "%s%s%s", piece, around, other_piece);
  size_t left = (size_t)n;
  for (int time = 0; time < 2; time++) {
    assert_int_equal(cq_sp_model_drop_rules_name(model, &left, &error), CQ_OK);
    assert_int_equal(left, n_expected);
    assert_memory_equal(model, expected, left);
  }
  for (size_t cut = 1; cut < left; cut++) { /* not past the end, whatever is missing */
    size_t n_cut = cut;
    char copy[100];
    memcpy(copy, expected, cut);
    const cq_status status = cq_sp_model_drop_rules_name(copy, &n_cut, &error);
    assert_true(status == CQ_OK || status == CQ_ERR_FORMAT);
    assert_int_equal(n_cut, cut);
  }
}

/* Spelling variants have the same ids, everything else those that it has without them, and the library reads both alike. */
static void test_variants(void **state) {
  (void)state;
  static const char *const same[][2] = {
      {"Ёлка", "елка"},
      {"نَاب", "ناب"},
      {"أإآٱا", "ااااا"},
      {"مكتبة ى", "مكتبه ي"},
      {"發到達揮手", "发到达挥手"},
      {"पहुँचने", "पहुंचने"},
      {"‘old’ “mill” –", "'old' \"mill\" -"},
      {"שָׁלוֹם", "שלום"},
      {"ﬁ Ё½", "fi е1⁄2"},
  };
  static const char *const apart[][2] = {{"früher", "fruher"}, {"河流", "到达"}, {"ел", "ёлк"}};
  size_t n, n_again;
  cq_tokenizer *t, *again;
  unsigned char *model = train_variants(&t, &n, "variants"), *same_model = train_variants(&again, &n_again, "again");
  assert_int_equal(n, n_again);
  assert_memory_equal(model, same_model, n); /* without the name of the file of rules, which is another each time */
  free(same_model);
  cq_tokenizer_free(again);
  cq_ids a = {0}, b = {0};
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    encode(&a, t, cq_slice_of(same[i][0]), 0, NULL);
    encode(&b, t, cq_slice_of(same[i][1]), 0, NULL);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.ids, b.ids, a.n * sizeof *a.ids);
    expect_as_library(t, model, n, same[i][0]);
    expect_as_library(t, model, n, same[i][1]);
  }
  for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
    encode(&a, t, cq_slice_of(apart[i][0]), 0, NULL);
    encode(&b, t, cq_slice_of(apart[i][1]), 0, NULL);
    assert_true(a.n != b.n || memcmp(a.ids, b.ids, a.n * sizeof *a.ids) != 0);
  }
  cq_free(a.ids), cq_free(b.ids);
  free(model);
  cq_tokenizer_free(t);
}

/* Without some pieces a text has more of them, which spell the same; a key always drops the same, and single characters
 * stay. */
static void test_piece_dropout(void **state) {
  (void)state;
  static const char sentence[] = "the old river bends before morning früher старая мельница 旧磨坊";
  cq_tokenizer *t = train(124, false, false, 0, 400);
  cq_token_memory *memory = cq_token_memory_new();
  cq_error error = {0};
  cq_ids whole = {0}, ids = {0}, first = {0};
  cq_builder text = {0}, expected = {0};
  encode(&whole, t, cq_slice_of(sentence), 0, NULL);
  cq_tokenizer_text(&expected, t, whole.ids, whole.n);
  size_t n_different = 0, n_more = 0;
  for (uint64_t key = 0; key < 50; key++) {
    cq_token_memory_drop_pieces(memory, 0.3, key);
    ids.n = first.n = 0;
    assert_int_equal(cq_tokenizer_encode(&first, t, memory, cq_slice_of(sentence), true, 0, NULL, &error), CQ_OK);
    assert_int_equal(cq_tokenizer_encode(&ids, t, memory, cq_slice_of(sentence), true, 0, NULL, &error), CQ_OK);
    assert_int_equal(ids.n, first.n);
    assert_memory_equal(ids.ids, first.ids, ids.n * sizeof *ids.ids);
    n_different += ids.n != whole.n || memcmp(ids.ids, whole.ids, ids.n * sizeof *ids.ids) != 0;
    n_more += ids.n > whole.n;
    cq_builder_clear(&text);
    cq_tokenizer_text(&text, t, ids.ids, ids.n);
    assert_int_equal(text.n, expected.n);
    assert_memory_equal(text.data, expected.data, text.n);
  }
  assert_in_range(n_different, 45, 50);
  assert_in_range(n_more, 45, 50);
  cq_token_memory_drop_pieces(memory, 0, 7);
  ids.n = 0;
  assert_int_equal(cq_tokenizer_encode(&ids, t, memory, cq_slice_of(sentence), true, 0, NULL, &error), CQ_OK);
  assert_int_equal(ids.n, whole.n);
  assert_memory_equal(ids.ids, whole.ids, ids.n * sizeof *ids.ids);
  cq_free(whole.ids), cq_free(ids.ids), cq_free(first.ids);
  cq_builder_free(&text), cq_builder_free(&expected);
  cq_token_memory_free(memory);
  cq_tokenizer_free(t);
}

/* A sample is the same one every time, and smaller than the whole. */
static void test_sample(void **state) {
  (void)state;
  cq_tokenizer *a = train(140, true, false, 120, 1000), *b = train(140, true, false, 120, 1000);
  for (int32_t id = 0; id < 140; id++) {
    cq_slice x, y;
    cq_piece_kind kind;
    assert_true(cq_tokenizer_piece(&x, &kind, a, id) && cq_tokenizer_piece(&y, &kind, b, id));
    assert_int_equal(x.n, y.n);
    assert_memory_equal(x.data, y.data, x.n);
  }
  cq_tokenizer_free(a);
  cq_tokenizer_free(b);
}

static int expect_refusal(int vocab_size, double coverage, size_t n, const char *message) {
  int largest = -1;
  cq_tokenizer *t = (cq_tokenizer *)1;
  cq_error error = {0};
  maker m = {.n = n};
  cq_sentencepiece_training options = {.vocab_size = vocab_size, .character_coverage = coverage};
  assert_int_equal(cq_tokenizer_train_sentencepiece(&t, &largest, next_sentence, &m, &options, &error),
                   CQ_ERR_ARGUMENT);
  if (!strstr(error.message, message)) fail_msg("'%s' does not say '%s'", error.message, message);
  assert_null(t);
  return largest;
}

static void test_refusals(void **state) {
  (void)state;
  const int largest = expect_refusal(50000, 0.9995, 100, "Vocabulary size too high");
  assert_int_equal(expect_refusal(largest + 1, 0.9995, 100, "Vocabulary size too high"), largest);
  cq_tokenizer *t = train(largest, false, false, 0, 100);
  assert_int_equal(cq_tokenizer_describe(t)->vocab_size, largest);
  cq_tokenizer_free(t);
  assert_int_equal(expect_refusal(20, 1.0, 100, "Vocabulary size is smaller than required_chars"), 0);
  assert_int_equal(expect_refusal(3, 0.9995, 100, "vocab_size is 3"), 0);
  assert_int_equal(expect_refusal(1000, 0, 100, "character_coverage is 0"), 0);
  assert_int_equal(expect_refusal(1000, 0.9995, 0, "no usable sentence"), 0);
}

/* One tokenizer, many threads. */
typedef struct job {
  const cq_tokenizer *t;
  cq_ids expected;
  int wrong;
} job;

static void encode_in_thread(void *context, size_t item, int worker) {
  job *j = context;
  cq_ids ids = {0};
  (void)item;
  (void)worker;
  cq_status status =
      cq_tokenizer_encode(&ids, j->t, NULL, cq_slice_of("the old mill река पुरानी 河流 Boat"), true, 0, NULL, NULL);
  if (status || ids.n != j->expected.n || memcmp(ids.ids, j->expected.ids, ids.n * sizeof *ids.ids) != 0)
    __atomic_fetch_add(&j->wrong, 1, __ATOMIC_RELAXED);
  cq_free(ids.ids);
}

static void test_threads(void **state) {
  (void)state;
  static const char *const names[] = {"wordpiece-uncased", "sentencepiece-unigram", "byte-level"};
  cq_context *ctx;
  cq_error error = {0};
  assert_int_equal(cq_context_open(&ctx, 4, &error), CQ_OK);
  for (size_t i = 0; i < 3; i++) {
    cq_tokenizer *t = open_tokenizer(golden_path(names[i]));
    job j = {t, {0}, 0};
    encode(&j.expected, t, cq_slice_of("the old mill река पुरानी 河流 Boat"), 0, NULL);
    cq_context_run(ctx, 400, encode_in_thread, &j);
    assert_int_equal(j.wrong, 0);
    cq_free(j.expected.ids);
    cq_tokenizer_free(t);
  }
  cq_context_free(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unigram),  cmocka_unit_test(test_bpe),           cmocka_unit_test(test_rules_name),
      cmocka_unit_test(test_variants), cmocka_unit_test(test_piece_dropout), cmocka_unit_test(test_sample),
      cmocka_unit_test(test_refusals), cmocka_unit_test(test_threads),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
