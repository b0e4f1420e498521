/* Every kind of tokenizer against the ids that Hugging Face's gives, and what follows from having the right ids. */
#include "golden.h"

#include "base/file.h"

static json_t *sentences;

static int read_sentences(void **state) {
  if (make_test_directory(state)) return -1;
  sentences = golden_json("sentences.json");
  return 0;
}

static int drop_sentences(void **state) {
  json_decref(sentences);
  return remove_test_directory(state);
}

static bool same(const cq_ids *ids, const json_t *expected) {
  if (ids->n != json_array_size(expected)) return false;
  for (size_t i = 0; i < ids->n; i++) {
    if (ids->ids[i] != json_integer_value(json_array_get(expected, i))) return false;
  }
  return true;
}

static size_t count_differences(const cq_tokenizer *t, const char *name, bool tell) {
  char file[128];
  snprintf(file, sizeof file, "%s/ids.json", name);
  json_t *expected = golden_json(file);
  assert_int_equal(json_array_size(expected), json_array_size(sentences));
  cq_ids ids = {0};
  size_t n_different = 0;
  for (size_t i = 0; i < json_array_size(sentences); i++) {
    if (json_is_null(json_array_get(expected, i))) continue;
    encode(&ids, t, json_slice(json_array_get(sentences, i)), 0, NULL);
    if (same(&ids, json_array_get(expected, i))) continue;
    n_different++;
    if (tell) print_error("%s: sentence %zu differs: %s\n", name, i, json_string_value(json_array_get(sentences, i)));
  }
  cq_free(ids.ids);
  json_decref(expected);
  return n_different;
}

static void test_ids(void **state) {
  (void)state;
  for (size_t i = 0; i < N_GOLDEN; i++) {
    cq_tokenizer *t = open_tokenizer(golden_path(golden_names[i]));
    assert_int_equal(count_differences(t, golden_names[i], true), 0);
    cq_tokenizer_free(t);
  }
}

/* The comparison itself must be able to fail. */
static void test_comparison(void **state) {
  (void)state;
  cq_tokenizer *t = open_tokenizer(golden_path("wordpiece-cased"));
  assert_true(count_differences(t, "wordpiece-uncased", false) > 20);
  cq_tokenizer_free(t);
}

static void test_saved(void **state) {
  (void)state;
  cq_error error = {0};
  for (size_t i = 0; i < N_GOLDEN; i++) {
    cq_tokenizer *t = open_tokenizer(golden_path(golden_names[i]));
    const char *directory = test_path(golden_names[i]);
    assert_int_equal(cq_directory_make(directory, &error), CQ_OK);
    if (cq_tokenizer_save(t, directory, 77, &error)) fail_msg("%s", error.message);
    cq_tokenizer_free(t);
    char path[512];
    snprintf(path, sizeof path, "%s/tokenizer.json", directory);
    assert_true(cq_file_exists(path)); /* whatever it was opened from */
    t = open_tokenizer(directory);
    assert_int_equal(count_differences(t, golden_names[i], true), 0);
    assert_int_equal(cq_tokenizer_describe(t)->model_max_length, 77);
    cq_tokenizer_free(t);
  }
}

/* Cutting keeps the special tokens and the beginning of the text. */
static void test_truncation(void **state) {
  (void)state;
  cq_ids all = {0}, cut = {0}, empty = {0};
  for (size_t i = 0; i < N_GOLDEN; i++) {
    cq_tokenizer *t = open_tokenizer(golden_path(golden_names[i]));
    encode(&empty, t, cq_slice_of(""), 0, NULL); /* the special tokens alone */
    size_t n_special = (size_t)cq_tokenizer_describe(t)->n_special, n_before = 0;
    assert_int_equal(empty.n, n_special);
    encode(&all, t, cq_slice_of("river"), 0, NULL);
    while (n_before < n_special && empty.ids[n_before] == all.ids[n_before]) n_before++;
    size_t n_after = n_special - n_before;
    for (size_t s = 0; s < json_array_size(sentences); s += 7) {
      cq_slice text = json_slice(json_array_get(sentences, s));
      encode(&all, t, text, 0, NULL);
      for (size_t max = n_special ? n_special : 1; max < all.n + 2; max += 1 + max / 4) {
        bool truncated = false;
        encode(&cut, t, text, max, &truncated);
        assert_int_equal(truncated, max < all.n);
        assert_int_equal(cut.n, max < all.n ? max : all.n);
        for (size_t k = 0; k < cut.n - n_after; k++) assert_int_equal(cut.ids[k], all.ids[k]);
        for (size_t k = 1; k <= n_after; k++) assert_int_equal(cut.ids[cut.n - k], empty.ids[n_special - k]);
      }
    }
    encode(&cut, t, cq_slice_of("more words than fit"), 1, NULL);
    assert_int_equal(cut.n, 1);
    cq_tokenizer_free(t);
  }
  cq_free(all.ids);
  cq_free(cut.ids);
  cq_free(empty.ids);
}

/* The mask of RoBERTa's files takes the blank before it where a file says so. */
static void test_lstrip(void **state) {
  (void)state;
  static const char *const files[] = {"vocab.json", "merges.txt"};
  cq_ids ids = {0};
  cq_error error = {0};
  char path[512];
  const char *directory = test_path("lstrip");
  assert_int_equal(cq_directory_make(directory, &error), CQ_OK);
  for (size_t i = 0; i < 2; i++) {
    char from[64];
    size_t n;
    snprintf(from, sizeof from, "vocab-json/%s", files[i]);
    unsigned char *bytes = read_bytes(&n, golden_path(from));
    snprintf(path, sizeof path, "%s/%s", directory, files[i]);
    write_bytes(path, bytes, n);
    free(bytes);
  }
  for (size_t i = 0; i < 2; i++) {
    cq_tokenizer *t = open_tokenizer(directory);
    encode(&ids, t, cq_slice_of("a <mask> b"), 0, NULL);
    assert_int_equal(ids.n, i ? 5 : 6);
    cq_tokenizer_free(t);
    snprintf(path, sizeof path, "%s/special_tokens_map.json", directory);
    write_text(path, "{\"mask_token\":{\"content\":\"<mask>\",\"lstrip\":true}}");
  }
  cq_free(ids.ids);
}

/* The ids are transformers 5.24's. */
static void test_special_tokens(void **state) {
  (void)state;
  static const struct {
    const char *golden, *file, *text, *input;
    size_t n;
    int32_t ids[16];
  } cases[] = {
      {"wordpiece-uncased",
       "tokenizer_config.json",
       "{\"split_special_tokens\":true}",
       "x[MASK]y",
       9,
       {2, 41, 1, 30, 278, 524, 1, 42, 3}},
      {"vocab-txt-uncased",
       "tokenizer_config.json",
       "{\"additional_special_tokens\":[\"<new>\",\"the\"]}",
       "a <new> b <NEW>",
       9,
       {2, 18, 600, 19, 1, 495, 301, 1, 3}},
      {"vocab-txt-uncased",
       "special_tokens_map.json",
       "{\"additional_special_tokens\":[{\"content\":\"<new>\"},\"the\"]}",
       "a <new> b <NEW>",
       9,
       {2, 18, 600, 19, 1, 495, 301, 1, 3}},
      {"vocab-txt-uncased",
       "tokenizer_config.json",
       "{\"extra_special_tokens\":[\"<new>\"]}",
       "a <new> b <NEW>",
       9,
       {2, 18, 600, 19, 1, 495, 301, 1, 3}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char folder[32], path[512], from[256];
    size_t n;
    cq_error error = {0};
    const char *name = i ? "vocab.txt" : "tokenizer.json";
    snprintf(folder, sizeof folder, "special-%zu", i);
    const char *directory = test_path(folder);
    assert_int_equal(cq_directory_make(directory, &error), CQ_OK);
    snprintf(from, sizeof from, "%s/%s", cases[i].golden, name);
    unsigned char *bytes = read_bytes(&n, golden_path(from));
    snprintf(path, sizeof path, "%s/%s", directory, name);
    write_bytes(path, bytes, n);
    free(bytes);
    snprintf(path, sizeof path, "%s/%s", directory, cases[i].file);
    write_text(path, cases[i].text);
    cq_tokenizer *t = open_tokenizer(directory);
    cq_ids ids = {0};
    encode(&ids, t, cq_slice_of(cases[i].input), 0, NULL);
    assert_int_equal(ids.n, cases[i].n);
    assert_memory_equal(ids.ids, cases[i].ids, ids.n * sizeof *ids.ids);
    cq_free(ids.ids);
    cq_tokenizer_free(t);
  }
}

/* truncation_side of tokenizer_config.json counts more than the direction of tokenizer.json. The text loses its first
 * ids; the special tokens stay. */
static void test_truncation_side(void **state) {
  (void)state;
  static const struct {
    const char *direction, *config;
    bool left;
  } cases[] = {
      {NULL, "{\"truncation_side\":\"left\"}", true},
      {NULL, "{\"truncation_side\":null}", false},
      {"Left", "{}", true},
      {"Left", "{\"truncation_side\":\"right\"}", false},
      {"Right", "{\"truncation_side\":\"left\"}", true},
  };
  cq_ids all = {0}, cut = {0};
  for (size_t i = 0; i <= sizeof cases / sizeof *cases; i++) {
    const bool last = i == sizeof cases / sizeof *cases;
    char folder[32], path[512];
    cq_error error = {0};
    json_t *document = golden_json("wordpiece-uncased/tokenizer.json");
    snprintf(folder, sizeof folder, "side-%zu", i);
    const char *directory = test_path(folder);
    assert_int_equal(cq_directory_make(directory, &error), CQ_OK);
    if (!last && cases[i].direction)
      json_object_set_new(document, "truncation",
                          json_pack("{s:i, s:s}", "max_length", 128, "direction", cases[i].direction));
    assert_int_equal(cq_json_save(document, directory, "tokenizer.json", &error), CQ_OK);
    snprintf(path, sizeof path, "%s/tokenizer_config.json", directory);
    write_text(path, last ? "{\"truncation_side\":\"top\"}" : cases[i].config);
    cq_tokenizer *t = NULL;
    if (last) {
      assert_int_equal(cq_tokenizer_open(&t, directory, false, &error), CQ_ERR_FORMAT);
      assert_non_null(strstr(error.message, "truncation_side is 'top', expected left or right"));
      break;
    }
    t = open_tokenizer(directory);
    assert_int_equal(cq_tokenizer_describe(t)->truncates_start, cases[i].left);
    for (size_t s = 0; s < json_array_size(sentences); s += 7) {
      const cq_slice text = json_slice(json_array_get(sentences, s));
      encode(&all, t, text, 0, NULL);
      for (size_t max = 2; max < all.n + 2; max += 1 + max / 4) {
        bool truncated;
        encode(&cut, t, text, max, &truncated);
        assert_int_equal(truncated, max < all.n);
        assert_int_equal(cut.n, max < all.n ? max : all.n);
        assert_int_equal(cut.ids[0], all.ids[0]);
        const size_t gone = cases[i].left ? all.n - cut.n : 0;
        for (size_t k = 1; k + 1 < cut.n; k++) assert_int_equal(cut.ids[k], all.ids[k + gone]);
        assert_int_equal(cut.ids[cut.n - 1], all.ids[all.n - 1]);
      }
    }
    encode(&cut, t, cq_slice_of("more words than fit"), 1, NULL);
    assert_int_equal(cut.n, 1);
    cq_tokenizer_free(t);
  }
  cq_free(all.ids);
  cq_free(cut.ids);
}

static void test_without_special(void **state) {
  (void)state;
  cq_tokenizer *t = open_tokenizer(golden_path("wordpiece-uncased"));
  cq_ids with = {0}, without = {0};
  cq_error error = {0};
  cq_slice text = cq_slice_of("Reading slowly is better");
  encode(&with, t, text, 0, NULL);
  bool truncated = true;
  assert_int_equal(cq_tokenizer_encode(&without, t, NULL, text, false, 0, &truncated, &error), CQ_OK);
  assert_false(truncated);
  assert_int_equal(without.n + 2, with.n);
  assert_memory_equal(without.ids, with.ids + 1, without.n * sizeof *without.ids);
  /* ids are appended */
  assert_int_equal(cq_tokenizer_encode(&without, t, NULL, text, false, 2, &truncated, &error), CQ_OK);
  assert_true(truncated);
  assert_int_equal(without.n, with.n);
  cq_free(with.ids);
  cq_free(without.ids);
  cq_tokenizer_free(t);
}

static void test_description(void **state) {
  (void)state;
  static const struct {
    const char *name, *type;
    int pad, unk, cls, sep, n_special;
    int64_t max_length;
    bool lowercase, mask;
  } expected[] = {
      {"wordpiece-uncased", "WordPiece", 0, 1, 2, 3, 2, 0, true, true},
      {"vocab-txt-cased", "WordPiece", 0, 1, 2, 3, 2, 512, false, true},
      {"mpnet", "WordPiece", 1, 3, 0, 2, 2, 0, true, true},
      {"unigram-first", "Unigram", 1, 3, 0, 2, 2, 0, true, true},
      {"unigram-never", "Unigram", 1, 3, 0, 2, 0, 0, false, true},
      {"sentencepiece-unigram", "Unigram", 1, 3, 0, 2, 2, 512, false, true},
      {"sentencepiece-bpe", "BPE", -1, 0, 1, 2, 1, 0, false, false},
      {"sentencepiece-t5", "Unigram", 0, 2, -1, 1, 1, 0, false, false},
      {"byte-level", "ByteLevelBPE", 1, 3, 0, 2, 2, 0, false, true},
      {"words-marked", "WordLevel", 1, 3, 0, 2, 2, 0, false, false},
      {"words-plain", "WordLevel", 1, 3, 0, 2, 2, 0, true, false},
  };
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    cq_tokenizer *t = open_tokenizer(golden_path(expected[i].name));
    const cq_tokenizer_info *info = cq_tokenizer_describe(t);
    assert_string_equal(info->type, expected[i].type);
    assert_int_equal(info->pad_id, expected[i].pad);
    assert_int_equal(info->unk_id, expected[i].unk);
    assert_int_equal(info->cls_id, expected[i].cls);
    assert_int_equal(info->sep_id, expected[i].sep);
    assert_int_equal(info->n_special, expected[i].n_special);
    assert_int_equal(info->model_max_length, expected[i].max_length);
    assert_int_equal(info->lowercase, expected[i].lowercase);
    assert_int_equal(info->mask_id >= 0, expected[i].mask);
    cq_tokenizer_free(t);
  }
}

/* do_lower_case of sentence_bert_config.json: Python's lower(), before anything else. */
static void test_lowercase_override(void **state) {
  (void)state;
  cq_tokenizer *plain = open_tokenizer(golden_path("wordpiece-cased")), *lowered;
  cq_error error = {0};
  assert_int_equal(cq_tokenizer_open(&lowered, golden_path("wordpiece-cased"), true, &error), CQ_OK);
  assert_true(cq_tokenizer_describe(lowered)->lowercase);
  cq_ids a = {0}, b = {0};
  encode(&a, lowered, cq_slice_of("The ΜΎΛΟΣ By The RIVER"), 0, NULL);
  encode(&b, plain, cq_slice_of("the μύλοσ by the river"), 0, NULL); /* character by character */
  assert_int_equal(a.n, b.n);
  assert_memory_equal(a.ids, b.ids, a.n * sizeof *a.ids);
  encode(&a, lowered, cq_slice_of("[MASK]"), 0, NULL); /* not a part of the text that is normalized */
  encode(&b, plain, cq_slice_of("[MASK]"), 0, NULL);
  assert_int_equal(a.n, 3);
  assert_memory_equal(a.ids, b.ids, a.n * sizeof *a.ids);
  cq_free(a.ids);
  cq_free(b.ids);
  cq_tokenizer_free(plain);
  cq_tokenizer_free(lowered);
}

/* A directory with another's tokenizer.json and a tokenizer_config.json of its own. */
static cq_tokenizer *open_configured(const char *golden, const char *folder, const char *config) {
  char path[700];
  cq_error error = {0};
  size_t n;
  snprintf(path, sizeof path, "%s/tokenizer.json", golden);
  unsigned char *bytes = read_bytes(&n, golden_path(path));
  assert_int_equal(cq_directory_make(test_path(folder), &error), CQ_OK);
  snprintf(path, sizeof path, "%s/tokenizer.json", test_path(folder));
  write_bytes(path, bytes, n);
  snprintf(path, sizeof path, "%s/tokenizer_config.json", test_path(folder));
  write_text(path, config);
  free(bytes);
  return open_tokenizer(test_path(folder));
}

/* A tokenizer.json says what stands around a text of Llama's and Gemma's classes, whatever the switches beside it. */
static void test_class_ends(void **state) {
  static const char *const cases[] = {
      "{\"tokenizer_class\":\"GemmaTokenizer\",\"add_bos_token\":true,\"add_eos_token\":false}",
      "{\"tokenizer_class\":\"GemmaTokenizerFast\",\"add_bos_token\":false,\"add_eos_token\":true}",
      "{\"tokenizer_class\":\"GemmaTokenizer\"}",
      "{\"tokenizer_class\":\"PreTrainedTokenizerFast\",\"add_eos_token\":false}",
      "{\"tokenizer_class\":\"LlamaTokenizer\",\"add_eos_token\":false,\"bos_token\":{\"content\":\"<bos>\"}}",
      "{\"tokenizer_class\":\"LlamaTokenizer\",\"add_eos_token\":false,\"bos_token\":\"<none>\"}",
  };
  (void)state;
  cq_ids ids = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char folder[32];
    snprintf(folder, sizeof folder, "ends-%zu", i);
    cq_tokenizer *t = open_configured("gemma", folder, cases[i]);
    encode(&ids, t, cq_slice_of("the river"), 0, NULL);
    assert_true(ids.n > 2);
    if (ids.ids[0] != 2 || ids.ids[ids.n - 1] != 1) fail_msg("case %zu", i);
    cq_tokenizer_free(t);
  }
  cq_free(ids.ids);
}

/* The switches of tokenizer_config.json win where the named class makes them. */
static void test_class_switches(void **state) {
  (void)state;
  static const struct {
    const char *golden, *config, *a, *b;
    bool same;
  } cases[] = {
      {"wordpiece-cased", "{\"tokenizer_class\":\"BertTokenizer\"}", "The RÍVER", "the river", true},
      {"wordpiece-cased", "{\"tokenizer_class\":\"BertTokenizer\",\"strip_accents\":false}", "The ríver", "the river",
       false},
      {"wordpiece-cased", "{\"tokenizer_class\":\"BertTokenizer\",\"do_lower_case\":false}", "The river", "the river",
       false},
      {"wordpiece-cased", "{\"tokenizer_class\":\"PreTrainedTokenizerFast\"}", "The river", "the river", false},
      {"byte-level", "{\"tokenizer_class\":\"RobertaTokenizer\",\"add_prefix_space\":true}", "the", " the", true},
      {"byte-level-prefix", "{\"tokenizer_class\":\"RobertaTokenizer\"}", "the", " the", false},
      {"byte-level-prefix", "{\"tokenizer_class\":\"BartTokenizerFast\"}", "the", " the", false},
      {"unigram-whitespace", "{\"tokenizer_class\":\"AlbertTokenizer\"}", "The ``RÍVER''", "the \"river\"", true},
      {"unigram-whitespace", "{\"tokenizer_class\":\"AlbertTokenizer\",\"do_lower_case\":false}", "The", "the", false},
      {"unigram-whitespace", "{\"tokenizer_class\":\"AlbertTokenizer\",\"keep_accents\":true}", "ríver", "river",
       false},
      {"unigram-whitespace", "{\"tokenizer_class\":\"DebertaV2Tokenizer\",\"do_lower_case\":true}", "The", "the", true},
      {"unigram-whitespace", "{\"tokenizer_class\":\"DebertaV2Tokenizer\"}", "The", "the", false},
  };
  cq_ids a = {0}, b = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char folder[32];
    snprintf(folder, sizeof folder, "configured-%zu", i);
    cq_tokenizer *t = open_configured(cases[i].golden, folder, cases[i].config);
    encode(&a, t, cq_slice_of(cases[i].a), 0, NULL);
    encode(&b, t, cq_slice_of(cases[i].b), 0, NULL);
    bool same_ids = a.n == b.n && !memcmp(a.ids, b.ids, a.n * sizeof *a.ids);
    if (same_ids != cases[i].same) fail_msg("case %zu", i);
    cq_tokenizer_free(t);
  }
  cq_free(a.ids);
  cq_free(b.ids);
}

/* Without a switch in tokenizer_config.json, the class has its own, whatever tokenizer.json says; without a class, the
 * model_type has one; transformers' base classes change nothing. */
static void test_class_defaults(void **state) {
  (void)state;
  static const struct {
    const char *config, *model; /* tokenizer_config.json, config.json; NULL: not there */
    bool lowers;
  } cases[] = {
      {NULL, NULL, false},
      {NULL, "{\"model_type\":\"bert\"}", true}, /* BioBERT, SciBERT */
      {"{}", "{\"model_type\":\"bert\"}", true},
      {"{\"do_lower_case\":false}", "{\"model_type\":\"bert\"}", false},
      {"{\"do_lower_case\":false}", "{\"model_type\":\"electra\"}", false},
      {"{\"tokenizer_class\":\"ElectraTokenizer\"}", "{\"model_type\":\"electra\"}", true},
      {"{\"tokenizer_class\":\"ElectraTokenizerFast\",\"do_lower_case\":false}", NULL, false},
      {NULL, "{\"model_type\":\"bert\",\"tokenizer_class\":\"MobileBertTokenizer\"}", true},
      {"{\"tokenizer_class\":\"LayoutLMTokenizer\"}", NULL, true},
      {"{\"tokenizer_class\":\"ConvBertTokenizer\",\"do_lower_case\":true}", "{\"model_type\":\"bert\"}", false},
      {"{\"tokenizer_class\":\"DPRReaderTokenizerFast\",\"do_lower_case\":true}", NULL, false},
      {"{\"tokenizer_class\":\"DPRContextEncoderTokenizer\",\"do_lower_case\":false}", NULL, true},
      {"{\"tokenizer_class\":\"PreTrainedTokenizerFast\",\"do_lower_case\":true}", "{\"model_type\":\"bert\"}", false},
      {"{\"tokenizer_class\":\"TokenizersBackend\",\"do_lower_case\":true}", "{\"model_type\":\"bert\"}", false},
      {"{\"tokenizer_class\":\"BertTokenizer\"}", "{\"model_type\":\"modernbert\"}", false},
      {NULL, "{\"model_type\":\"roformer\"}", false},
  };
  cq_ids a = {0}, b = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char folder[32], path[512];
    snprintf(folder, sizeof folder, "defaults-%zu", i);
    cq_tokenizer *t = open_configured("wordpiece-cased", folder, cases[i].config ? cases[i].config : "{}");
    cq_tokenizer_free(t);
    snprintf(path, sizeof path, "%s/tokenizer_config.json", test_path(folder));
    if (!cases[i].config) assert_int_equal(remove(path), 0);
    snprintf(path, sizeof path, "%s/config.json", test_path(folder));
    if (cases[i].model) write_text(path, cases[i].model);
    t = open_tokenizer(test_path(folder));
    encode(&a, t, cq_slice_of("The RÍVER"), 0, NULL);
    encode(&b, t, cq_slice_of("the river"), 0, NULL);
    if ((a.n == b.n && !memcmp(a.ids, b.ids, a.n * sizeof *a.ids)) != cases[i].lowers) fail_msg("case %zu", i);
    cq_tokenizer_free(t);
    /* A static model has the library tokenizers alone. */
    cq_error error = {0};
    if (cq_tokenizer_open_as_it_is(&t, test_path(folder), false, &error)) fail_msg("%s", error.message);
    encode(&a, t, cq_slice_of("The RÍVER"), 0, NULL);
    encode(&b, t, cq_slice_of("the river"), 0, NULL);
    assert_true(a.n != b.n || memcmp(a.ids, b.ids, a.n * sizeof *a.ids));
    cq_tokenizer_free(t);
  }
  cq_free(a.ids);
  cq_free(b.ids);
}

static cq_tokenizer *open_written(const char *folder, const char *json) {
  char path[700];
  cq_error error = {0};
  assert_int_equal(cq_directory_make(test_path(folder), &error), CQ_OK);
  snprintf(path, sizeof path, "%s/tokenizer.json", test_path(folder));
  write_text(path, json);
  return open_tokenizer(test_path(folder));
}

/* Piece 0 is merged as any other, with each of many neighbors. */
static void test_merges_of_piece_0(void **state) {
  enum { MANY = 24 };
  char vocab[2048] = "\"a\":0", merges[2048] = "", json[5000];
  (void)state;
  for (int i = 0; i < MANY; i++) {
    const char c = (char)('b' + i);
    snprintf(vocab + strlen(vocab), sizeof vocab - strlen(vocab), ",\"%c\":%d,\"a%c\":%d", c, 2 * i + 1, c, 2 * i + 2);
    snprintf(merges + strlen(merges), sizeof merges - strlen(merges), "%s\"a %c\"", i ? "," : "", c);
  }
  snprintf(json, sizeof json, "{\"model\":{\"type\":\"BPE\",\"vocab\":{%s},\"merges\":[%s]}}", vocab, merges);
  cq_tokenizer *t = open_written("merges-of-0", json);
  cq_ids ids = {0};
  cq_error error = {0};
  for (int i = 0; i < MANY; i++) {
    const char text[] = {'a', (char)('b' + i), '\0'};
    ids.n = 0;
    assert_int_equal(cq_tokenizer_encode(&ids, t, NULL, cq_slice_of(text), false, 0, NULL, &error), CQ_OK);
    assert_int_equal(ids.n, 1);
    assert_int_equal(ids.ids[0], 2 * i + 2);
  }
  cq_free(ids.ids);
  cq_tokenizer_free(t);
}

/* SentencePiece's "nmt" drops control characters, and makes others blanks. */
static void test_nmt(void **state) {
  static const struct {
    unsigned char c;
    size_t n;
  } cases[] = {{1, 1},    {8, 1},    {0xB, 1},  {0xE, 1}, {0x1F, 1}, {0x7F, 1},
               {'\t', 2}, {'\n', 2}, {'\f', 2}, {' ', 2}, {'\r', 2}};
  (void)state;
  cq_tokenizer *t = open_written("nmt", "{\"normalizer\":{\"type\":\"Nmt\"},"
                                        "\"pre_tokenizer\":{\"type\":\"WhitespaceSplit\"},"
                                        "\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"u\","
                                        "\"vocab\":{\"u\":0,\"x\":1,\"xx\":2}}}");
  cq_ids ids = {0};
  cq_error error = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char text[] = {'x', (char)cases[i].c, 'x'};
    ids.n = 0;
    assert_int_equal(cq_tokenizer_encode(&ids, t, NULL, (cq_slice){text, 3}, false, 0, NULL, &error), CQ_OK);
    assert_int_equal(ids.n, cases[i].n);
    assert_int_equal(ids.ids[0], cases[i].n == 1 ? 2 : 1);
  }
  cq_free(ids.ids);
  cq_tokenizer_free(t);
}

/* An added token takes the spaces before it, whatever their last byte is. */
static void test_spaces_before_added(void **state) {
  static const char *const spaces[] = {" ", "\xC2\xA0", "\xE2\x80\x83", "\xE2\x80\x84\xE2\x80\x85 "};
  (void)state;
  cq_tokenizer *t =
      open_written("spaces-before-added", "{\"added_tokens\":[{\"id\":2,\"content\":\"<m>\",\"lstrip\":true}],"
                                          "\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"u\","
                                          "\"vocab\":{\"u\":0,\"x\":1,\"<m>\":2}}}");
  cq_ids ids = {0};
  cq_error error = {0};
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
    char text[32];
    snprintf(text, sizeof text, "x%s<m>", spaces[i]);
    ids.n = 0;
    assert_int_equal(cq_tokenizer_encode(&ids, t, NULL, cq_slice_of(text), false, 0, NULL, &error), CQ_OK);
    assert_int_equal(ids.n, 2);
    assert_int_equal(ids.ids[0], 1);
    assert_int_equal(ids.ids[1], 2);
  }
  cq_free(ids.ids);
  cq_tokenizer_free(t);
}

static void expect_piece(const char *name, const char *text, bool first, const char *piece, cq_piece_kind kind) {
  cq_tokenizer *t = open_tokenizer(golden_path(name));
  cq_ids ids = {0};
  cq_error error = {0};
  cq_slice found;
  cq_piece_kind found_kind;
  assert_int_equal(cq_tokenizer_encode(&ids, t, NULL, cq_slice_of(text), false, 0, NULL, &error), CQ_OK);
  assert_true(ids.n > 0);
  assert_true(cq_tokenizer_piece(&found, &found_kind, t, first ? ids.ids[0] : ids.ids[ids.n - 1]));
  if (found.n != strlen(piece) || memcmp(found.data, piece, found.n) != 0)
    fail_msg("%s: the piece is '%.*s', expected '%s'", name, (int)found.n, found.data, piece);
  assert_int_equal(found_kind, kind);
  assert_false(cq_tokenizer_piece(&found, &found_kind, t, -1));
  assert_false(cq_tokenizer_piece(&found, &found_kind, t, (int32_t)cq_tokenizer_describe(t)->vocab_size));
  for (int32_t id = 0; id < cq_tokenizer_describe(t)->vocab_size; id++) {
    assert_true(cq_tokenizer_piece(&found, &found_kind, t, id));
    assert_non_null(found.data);
  }
  cq_free(ids.ids);
  cq_tokenizer_free(t);
}

static void test_pieces(void **state) {
  (void)state;
  expect_piece("wordpiece-uncased", "the", true, "the", CQ_PIECE_START);
  expect_piece("wordpiece-uncased", "xxx", false, "x", CQ_PIECE_INSIDE);
  expect_piece("wordpiece-uncased", "[SEP]", false, "[SEP]", CQ_PIECE_SPECIAL);
  expect_piece("unigram-split", "the", true, "the", CQ_PIECE_START);
  expect_piece("unigram-split", "xxxx", false, "x", CQ_PIECE_INSIDE);
  expect_piece("byte-level", "in a", false, "a", CQ_PIECE_START);
  expect_piece("byte-level", "in thee", false, "e", CQ_PIECE_INSIDE);
  expect_piece("byte-level", "xé", false, "é", CQ_PIECE_INSIDE);
  expect_piece("bpe-byte-fallback", "\xF0\x9F\x98\x80", false, "<0x80>", CQ_PIECE_OTHER);
  expect_piece("sentencepiece-unigram", "<mask>", false, "<mask>", CQ_PIECE_SPECIAL);
  expect_piece("words-marked", "My wife", false, "wife", CQ_PIECE_START);
  expect_piece("words-marked", "don't", false, "t", CQ_PIECE_INSIDE);
  expect_piece("words-marked", "Los ¿", false, "¿", CQ_PIECE_START);
  expect_piece("words-marked", "river!", false, "!", CQ_PIECE_INSIDE);
  expect_piece("words-marked", "unheard", false, "<unk>", CQ_PIECE_SPECIAL);
  expect_piece("words-plain", "The river", false, "river", CQ_PIECE_START);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ids),
      cmocka_unit_test(test_comparison),
      cmocka_unit_test(test_saved),
      cmocka_unit_test(test_truncation),
      cmocka_unit_test(test_truncation_side),
      cmocka_unit_test(test_special_tokens),
      cmocka_unit_test(test_lstrip),
      cmocka_unit_test(test_without_special),
      cmocka_unit_test(test_description),
      cmocka_unit_test(test_lowercase_override),
      cmocka_unit_test(test_pieces),
      cmocka_unit_test(test_merges_of_piece_0),
      cmocka_unit_test(test_nmt),
      cmocka_unit_test(test_spaces_before_added),
      cmocka_unit_test(test_class_switches),
      cmocka_unit_test(test_class_defaults),
      cmocka_unit_test(test_class_ends),
  };
  return cmocka_run_group_tests(tests, read_sentences, drop_sentences);
}
