/* Directories that hold no tokenizer, or one that lies: the code, the file, the place and the reason. */
#include "golden.h"

#include "base/file.h"

/* A directory of its own with one or two files. */
static const char *directory_of(const char *name, const char *content, const char *name2, const char *content2) {
  static int n;
  static char directory[512];
  char path[600], folder[32];
  cq_error error = {0};
  snprintf(folder, sizeof folder, "case-%d", n++);
  snprintf(directory, sizeof directory, "%s", test_path(folder));
  assert_int_equal(cq_directory_make(directory, &error), CQ_OK);
  const char *names[] = {name, name2}, *contents[] = {content, content2};
  for (int i = 0; i < 2; i++) {
    if (!names[i]) continue;
    snprintf(path, sizeof path, "%s/%s", directory, names[i]);
    write_text(path, contents[i]);
  }
  return directory;
}

static void expect(const char *directory, cq_status status, const char *file, const char *message) {
  cq_tokenizer *t = (cq_tokenizer *)1;
  cq_error error = {0};
  cq_status got = cq_tokenizer_open(&t, directory, false, &error);
  if (got != status || !strstr(error.message, message) || !strstr(error.message, file))
    fail_msg("got %s '%s', expected %s with '%s' and '%s'", cq_status_name(got), error.message, cq_status_name(status),
             file, message);
  assert_null(t);
  assert_int_equal(error.status, status);
}

#define MODEL "\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"a\":1,\"b\":2}}"

static void test_documents(void **state) {
  (void)state;
  static const struct {
    const char *json;
    cq_status status;
    const char *message;
  } cases[] = {
      {"", CQ_ERR_FORMAT, "tokenizer.json"},
      {"{\n\"model\": {\n", CQ_ERR_FORMAT, "tokenizer.json:"},
      {"[]", CQ_ERR_FORMAT, "expected an object"},
      {"{}", CQ_ERR_FORMAT, "model: expected an object"},
      {"{\"model\":{}}", CQ_ERR_FORMAT, "model: no 'type'"},
      {"{\"model\":{\"type\":\"Syllables\",\"vocab\":{}}}", CQ_ERR_UNSUPPORTED, "'Syllables' is not supported"},
      {"{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"u\"}}", CQ_ERR_FORMAT, "model: no 'vocab'"},
      {"{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"u\",\"vocab\":[[\"u\",0]]}}", CQ_ERR_FORMAT,
       "model.vocab: expected an object of words and ids"},
      {"{\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"<unk>\":0}}}", CQ_ERR_FORMAT, "WordLevel needs an 'unk_token'"},
      {"{\"model\":{\"type\":\"WordLevel\",\"unk_token\":0,\"vocab\":{\"u\":0}}}", CQ_ERR_FORMAT, "unk_token"},
      {"{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"u\",\"vocab\":{}}}", CQ_ERR_FORMAT,
       "the unknown token 'u' is not in the vocabulary"},
      {"{\"added_tokens\":[{\"id\":1,\"content\":\"u\"}],\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"u\","
       "\"vocab\":{\"a\":0}}}",
       CQ_ERR_FORMAT, "the unknown token 'u' is not in the vocabulary"},
      {"{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"u\",\"vocab\":{\"u\":0,\"a\":1,\"b\":1}}}", CQ_ERR_FORMAT,
       "'b' and 'a' have the same id 1"},
      {"{\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"u\",\"vocab\":{\"u\":0,\"a\":2,\"b\":3}}}", CQ_ERR_FORMAT,
       "4 ids, but none of them is 1"},
      {"{\"model\":{\"type\":\"WordPiece\"}}", CQ_ERR_FORMAT, "model: no 'vocab'"},
      {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{}}}", CQ_ERR_FORMAT,
       "the unknown token '[UNK]' is not in the vocabulary"},
      {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":\"0\"}}}", CQ_ERR_FORMAT, "'[UNK]' has no integer id"},
      {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":-1}}}", CQ_ERR_FORMAT,
       "'[UNK]' has the id -1 of 1 pieces"},
      {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":2000000000}}}", CQ_ERR_FORMAT, "has the id 2000000000"},
      {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"a\":0}}}", CQ_ERR_FORMAT,
       "'a' and '[UNK]' have the same id 0"},
      {"{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"a\":2}}}", CQ_ERR_FORMAT, "none of them is 1"},
      {"{\"model\":{\"type\":\"WordPiece\",\"unk_token\":7,\"vocab\":{\"[UNK]\":0}}}", CQ_ERR_FORMAT, "unk_token"},
      {"{\"model\":{\"type\":\"WordPiece\",\"max_input_chars_per_word\":0,\"vocab\":{\"[UNK]\":0}}}", CQ_ERR_FORMAT,
       "max_input_chars_per_word"},
      {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[]}}", CQ_ERR_FORMAT, "no pieces"},
      {"{\"model\":{\"type\":\"Unigram\",\"vocab\":{\"a\":1}}}", CQ_ERR_FORMAT,
       "model.vocab: expected an array of [piece, score]"},
      {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",1],[\"b\"]]}}", CQ_ERR_FORMAT,
       "entry 1 is not [piece, score]"},
      {"{\"model\":{\"type\":\"Unigram\",\"vocab\":[[\"a\",1e99]]}}", CQ_ERR_FORMAT, "entry 0 has no finite score"},
      {"{\"model\":{\"type\":\"Unigram\",\"unk_id\":9,\"vocab\":[[\"a\",1]]}}", CQ_ERR_FORMAT, "unk_id"},
      {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0}}}", CQ_ERR_FORMAT, "model.merges: expected an array"},
      {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1},\"merges\":[\"ab\"]}}", CQ_ERR_FORMAT,
       "entry 0 is not two pieces"},
      {"{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1},\"merges\":[[\"a\",\"b\"]]}}", CQ_ERR_FORMAT,
       "entry 0, 'a' 'b', names a piece that is not in the vocabulary"},
      {"{\"model\":{\"type\":\"BPE\",\"dropout\":0.1,\"vocab\":{\"a\":0},\"merges\":[]}}", CQ_ERR_UNSUPPORTED,
       "dropout"},
      {"{\"normalizer\":{\"type\":\"Rot13\"}," MODEL "}", CQ_ERR_UNSUPPORTED, "normalizer: 'Rot13' is not supported"},
      {"{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{}]}," MODEL "}", CQ_ERR_FORMAT,
       "normalizer: expected an object with a 'type'"},
      {"{\"normalizer\":{\"type\":\"Sequence\"}," MODEL "}", CQ_ERR_FORMAT,
       "normalizer: Sequence needs an array 'normalizers'"},
      {"{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":{}}," MODEL "}", CQ_ERR_FORMAT,
       "normalizer: Sequence needs an array 'normalizers'"},
      {"{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"(a|b\"},\"content\":\"\"}," MODEL "}",
       CQ_ERR_UNSUPPORTED, "'(a|b' is not supported: "},
      {"{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\"\"},\"content\":\"x\"}," MODEL "}",
       CQ_ERR_FORMAT, "Replace of an empty string"},
      {"{\"normalizer\":{\"type\":\"BertNormalizer\",\"lowercase\":\"yes\"}," MODEL "}", CQ_ERR_FORMAT, "lowercase"},
      {"{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"&&&&\"}," MODEL "}", CQ_ERR_FORMAT,
       "not base64"},
      {"{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"AAAA\"}," MODEL "}", CQ_ERR_FORMAT,
       "has 3 bytes"},
      {"{\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"/////w==\"}," MODEL "}", CQ_ERR_FORMAT,
       "names an array of 4294967295 bytes in 4"},
      {"{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(x)\\\\1\"}}," MODEL "}", CQ_ERR_UNSUPPORTED,
       "'(x)\\1' is not supported: byte 3, a back-reference"},
      {"{\"pre_tokenizer\":{\"type\":\"Split\",\"behavior\":\"Odd\",\"pattern\":{\"Regex\":\"x\"}}," MODEL "}",
       CQ_ERR_UNSUPPORTED, "behavior 'Odd'"},
      {"{\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"String\":\"\"}}," MODEL "}", CQ_ERR_FORMAT,
       "Split needs a pattern (String or Regex)"},
      {"{\"pre_tokenizer\":{\"type\":\"Punctuation\",\"behavior\":\"Odd\"}," MODEL "}", CQ_ERR_UNSUPPORTED,
       "behavior 'Odd'"},
      {"{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"ab\"}," MODEL "}", CQ_ERR_FORMAT, "one character"},
      {"{\"pre_tokenizer\":{\"type\":\"UnicodeScripts\"}," MODEL "}", CQ_ERR_UNSUPPORTED,
       "pre_tokenizer: 'UnicodeScripts'"},
      {"{\"post_processor\":{\"type\":\"Fancy\"}," MODEL "}", CQ_ERR_UNSUPPORTED, "post_processor: 'Fancy'"},
      {"{\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"x\",9],\"sep\":[\"y\",1]}," MODEL "}",
       CQ_ERR_FORMAT, "id is not in the vocabulary"},
      {"{\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"q\"}}]}," MODEL
       "}",
       CQ_ERR_FORMAT, "'q' is not in special_tokens"},
      {"{\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[]}," MODEL "}", CQ_ERR_FORMAT,
       "without the text"},
      {"{\"added_tokens\":{}," MODEL "}", CQ_ERR_FORMAT, "added_tokens: expected an array"},
      {"{\"added_tokens\":[{\"id\":1}]," MODEL "}", CQ_ERR_FORMAT, "entry 0 has no content"},
      {"{\"added_tokens\":[{\"id\":70000,\"content\":\"x\"}]," MODEL "}", CQ_ERR_FORMAT,
       "entry 0 has the id 70000, expected 0 to 65543"},
      {"{\"added_tokens\":[{\"id\":1,\"content\":\"x\"}]," MODEL "}", CQ_ERR_FORMAT,
       "'x' has the id 1 of the vocabulary's 'a'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect(directory_of("tokenizer.json", cases[i].json, NULL, NULL), cases[i].status, "tokenizer.json",
           cases[i].message);
}

static void test_line_of_broken_json(void **state) {
  (void)state;
  cq_tokenizer *t;
  cq_error error = {0};
  const char *directory = directory_of("tokenizer.json", "{\n\"model\": {\n\"type\": WordPiece\n}}", NULL, NULL);
  assert_int_equal(cq_tokenizer_open(&t, directory, false, &error), CQ_ERR_FORMAT);
  assert_int_equal(error.line, 3);
}

static void test_directories(void **state) {
  (void)state;
  expect(test_path("nowhere"), CQ_ERR_IO, "nowhere", "none of tokenizer.json, vocab.txt, sentencepiece.bpe.model");
  expect(directory_of("config.json", "{}", NULL, NULL), CQ_ERR_IO, "case-", "no tokenizer");
  expect(directory_of("vocab.json", "{\"a\":0}", NULL, NULL), CQ_ERR_IO, "merges.txt", "not found");
  expect(directory_of("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n", "tokenizer_config.json", "[1]"), CQ_ERR_FORMAT,
         "tokenizer_config.json", "expected an object");
  expect(directory_of("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n", "tokenizer_config.json", "{\"model_max_length\":\"long\"}"),
         CQ_ERR_FORMAT, "tokenizer_config.json", "model_max_length");
}

static void test_vocab_txt(void **state) {
  (void)state;
  expect(directory_of("vocab.txt", "", NULL, NULL), CQ_ERR_FORMAT, "vocab.txt", "no pieces");
  expect(directory_of("vocab.txt", "[UNK]\n[CLS]\n", NULL, NULL), CQ_ERR_FORMAT, "vocab.txt",
         "the sep_token '[SEP]' is not in the vocabulary");
  cq_tokenizer *t;
  cq_error error = {0};
  assert_int_equal(
      cq_tokenizer_open(&t, directory_of("vocab.txt", "[UNK]\n[CLS]\na\xFF\n[SEP]\n", NULL, NULL), false, &error),
      CQ_ERR_FORMAT);
  assert_int_equal(error.line, 3);
  /* Windows line ends, no newline at the end, an empty line and a piece that stands twice are all in order. */
  t = open_tokenizer(directory_of("vocab.txt", "[UNK]\r\n[CLS]\r\n\r\n[SEP]\r\na\r\na", NULL, NULL));
  assert_int_equal(cq_tokenizer_describe(t)->vocab_size, 8); /* and [PAD] and [MASK], which the class adds */
  cq_ids ids = {0};
  encode(&ids, t, cq_slice_of("A b"), 0, NULL);
  const int32_t expected[] = {1, 5, 0, 3};
  assert_int_equal(ids.n, 4);
  assert_memory_equal(ids.ids, expected, sizeof expected);
  cq_free(ids.ids);
  cq_tokenizer_free(t);
}

/* Tokens added after training, in the two places where older directories keep them. */
static void test_added_beside(void **state) {
  (void)state;
  const char *vocab = "[UNK]\n[CLS]\n[SEP]\na\n";
  cq_ids ids = {0};
  cq_tokenizer *t = open_tokenizer(directory_of("vocab.txt", vocab, "added_tokens.json", "{\"Foo\": 4}"));
  encode(&ids, t, cq_slice_of("a foo"), 0, NULL); /* looked for in the lower-cased text, lower-cased */
  const int32_t expected[] = {1, 3, 4, 2};
  assert_int_equal(ids.n, 4);
  assert_memory_equal(ids.ids, expected, sizeof expected);
  cq_tokenizer_free(t);
  t = open_tokenizer(directory_of("vocab.txt", vocab, "tokenizer_config.json",
                                  "{\"added_tokens_decoder\":{\"4\":{\"content\":\"Foo\",\"normalized\":false}}}"));
  encode(&ids, t, cq_slice_of("a Foo"), 0, NULL);
  assert_memory_equal(ids.ids, expected, sizeof expected);
  encode(&ids, t, cq_slice_of("a foo"), 0, NULL);
  assert_int_equal(ids.ids[2], 0);
  cq_tokenizer_free(t);
  expect(directory_of("vocab.txt", vocab, "added_tokens.json", "{\"Foo\": \"x\"}"), CQ_ERR_FORMAT, "added_tokens.json",
         "'Foo' has no integer id");
  /* Ids may leave out some, within reason. */
  t = open_tokenizer(directory_of("vocab.txt", vocab, "added_tokens.json", "{\"Foo\": 7}"));
  assert_int_equal(cq_tokenizer_describe(t)->vocab_size, 10);
  encode(&ids, t, cq_slice_of("a foo"), 0, NULL);
  assert_int_equal(ids.ids[2], 7);
  cq_slice hole;
  cq_piece_kind kind;
  assert_false(cq_tokenizer_piece(&hole, &kind, t, 5));
  /* A table of fewer rows: tokens that were added may have none, as long as no text uses them. */
  cq_error error = {0};
  assert_int_equal(cq_tokenizer_limit(t, 3, "m", "words", &error), CQ_ERR_FORMAT);
  assert_string_equal(error.message, "m: the tokenizer has 10 ids, tensor 'words' has 3 rows");
  assert_int_equal(cq_tokenizer_limit(t, 8, "m", "words", &error), CQ_OK);
  encode(&ids, t, cq_slice_of("a foo"), 0, NULL);
  for (int n = 7; n > 3; n--) {
    assert_int_equal(cq_tokenizer_limit(t, n, "m", "words", &error), CQ_OK);
    assert_int_equal(cq_tokenizer_describe(t)->vocab_size, n);
    encode(&ids, t, cq_slice_of("a b"), 0, NULL);
    const size_t n_before = ids.n;
    assert_int_equal(cq_tokenizer_encode(&ids, t, NULL, cq_slice_of("a foo"), true, 0, NULL, &error), CQ_ERR_FORMAT);
    assert_string_equal(error.message, "the text uses the token 'Foo', whose id 7 has no row in the embeddings");
    assert_int_equal(ids.n, n_before);
    bool needed[8] = {true};
    int32_t new_ids[8];
    cq_tokenizer *trimmed;
    assert_int_equal(cq_tokenizer_trim(&trimmed, new_ids, t, needed, &error), CQ_OK);
    assert_int_equal(cq_tokenizer_describe(trimmed)->vocab_size, 3); /* [UNK], [CLS], [SEP] */
    cq_tokenizer_free(trimmed);
  }
  cq_tokenizer_free(t);
  expect(directory_of("vocab.txt", vocab, "tokenizer_config.json", "{\"added_tokens_decoder\":{\"x\":{}}}"),
         CQ_ERR_FORMAT, "tokenizer_config.json", "'x' is not an id");
  cq_free(ids.ids);
}

static void test_merges_txt(void **state) {
  (void)state;
  const char *vocab = "{\"<s>\":0,\"</s>\":1,\"a\":2,\"b\":3,\"ab\":4}";
  cq_tokenizer *t;
  cq_error error = {0};
  const char *directory = directory_of("vocab.json", vocab, "merges.txt", "#version: 0.2\na b\na c\n");
  assert_int_equal(cq_tokenizer_open(&t, directory, false, &error), CQ_ERR_FORMAT);
  assert_int_equal(error.line, 3);
  assert_non_null(strstr(error.message, "'a c' names a piece that is not in vocab.json"));
  directory = directory_of("vocab.json", vocab, "merges.txt", "#version: 0.2\nab\n");
  assert_int_equal(cq_tokenizer_open(&t, directory, false, &error), CQ_ERR_FORMAT);
  assert_int_equal(error.line, 2);
  expect(directory_of("vocab.json", "{\"a\":0}", "merges.txt", ""), CQ_ERR_FORMAT, "vocab.json",
         "'<s>' is not in the vocabulary");
  expect(directory_of("vocab.json", "[]", "merges.txt", ""), CQ_ERR_FORMAT, "vocab.json", "expected an object");
}

/* A SentencePiece model cut anywhere: an error that names the file (and a byte), or, where the cut falls between two
 * pieces, a smaller model. */
static void test_cut_models(void **state) {
  (void)state;
  size_t n;
  unsigned char *bytes = read_bytes(&n, golden_path("sentencepiece-unigram/sentencepiece.bpe.model"));
  char path[600];
  const char *directory = directory_of("config.json", "{}", NULL, NULL);
  snprintf(path, sizeof path, "%s/sentencepiece.bpe.model", directory);
  size_t n_errors = 0, n_bytes = 0;
  for (size_t cut = 0; cut < n; cut += cut < 200 ? 1 : 97) {
    write_bytes(path, bytes, cut);
    cq_tokenizer *t;
    cq_error error = {0};
    cq_status status = cq_tokenizer_open(&t, directory, false, &error);
    if (status) {
      assert_int_equal(status, CQ_ERR_FORMAT);
      assert_non_null(strstr(error.message, "sentencepiece.bpe.model"));
      n_errors++;
      if (strstr(error.message, "byte ")) n_bytes++;
    } else {
      cq_tokenizer_free(t);
    }
  }
  assert_true(n_errors > 100 && n_bytes > 100);
  free(bytes);
}

static void test_lying_models(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t n;
    const char *message;
    cq_status status;
  } cases[] = {
      {"", 0, "no pieces", CQ_ERR_FORMAT},
      {"\x0a\x7f", 2, "byte 0", CQ_ERR_FORMAT},
      {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "byte 0", CQ_ERR_FORMAT},
      {"\x0a\x00", 2, "piece 0 is empty", CQ_ERR_FORMAT},
      {"\x0a\x03\x0a\x01\xff", 5, "piece 0 is empty or not UTF-8", CQ_ERR_FORMAT},
      {"\x0f", 1, "byte 0", CQ_ERR_FORMAT},
      {"\x0a\x03\x0a\x01"
       "a",
       5, "no unknown piece", CQ_ERR_FORMAT},
      {"\x0a\x05\x0a\x01"
       "u\x18\x02",
       7, "1 pieces, expected", CQ_ERR_FORMAT},
      {"\x0a\x05\x0a\x01"
       "u\x18\x02\x12\x02\x18\x03",
       11, "of type 3", CQ_ERR_UNSUPPORTED},
  };
  char path[600];
  const char *directory = directory_of("config.json", "{}", NULL, NULL);
  snprintf(path, sizeof path, "%s/sentencepiece.bpe.model", directory);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_bytes(path, cases[i].bytes, cases[i].n);
    expect(directory, cases[i].status, "sentencepiece.bpe.model", cases[i].message);
  }
  expect(directory_of("spiece.model", "\x0a\x05\x0a\x01u\x18\x02", "tokenizer_config.json",
                      "{\"tokenizer_class\":\"XLNetTokenizer\"}"),
         CQ_ERR_UNSUPPORTED, "spiece.model", "tokenizer_class 'XLNetTokenizer'");
}

/* Every class whose rules differ from the file's usual ones is refused by name, whichever file names it. */
static void test_classes(void **state) {
  (void)state;
  static const char *const refused[][2] = {
      {"vocab.txt", "Phobert Bertweet KoBert RoFormer Esm ProphetNet Cpm OpenAIGPT "
                    "Roberta XLMRoberta Herbert Berty Ber My"},
      {"vocab.json", "CLIP XLM Flaubert GPT2 Qwen2 OpenAIGPT Phobert Bert MPNet T5 Mine"},
      {"spiece.model", "XLNet Cpm Bert Herbert T"}};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    for (const char *p = refused[i][1]; *p; p += strspn(p, " ")) {
      char class[64], config[160], message[160];
      const int n = (int)strcspn(p, " ");
      snprintf(class, sizeof class, "%.*s%s", n, p, n > 9 && strncmp(p + n - 4, "Fast", 4) == 0 ? "" : "Tokenizer");
      p += n;
      snprintf(message, sizeof message, "tokenizer_class '%s' without tokenizer.json is not supported", class);
      snprintf(config, sizeof config, "{\"tokenizer_class\":\"%s\"}", class);
      const char *content = i == 0   ? "[UNK]\n[CLS]\n[SEP]\na\n"
                            : i == 1 ? "{\"<s>\":0,\"</s>\":1}"
                                     : "\x0a\x05\x0a\x01u\x18\x02";
      const char *directory = directory_of(refused[i][0], content, "tokenizer_config.json", config);
      char path[600];
      snprintf(path, sizeof path, "%s/merges.txt", directory);
      write_text(path, "");
      expect(directory, CQ_ERR_UNSUPPORTED, refused[i][0], message);
      expect(directory, CQ_ERR_UNSUPPORTED, refused[i][0], "tokenizer.json");
      directory = directory_of(refused[i][0], content, "config.json", config);
      snprintf(path, sizeof path, "%s/merges.txt", directory);
      write_text(path, "");
      expect(directory, CQ_ERR_UNSUPPORTED, refused[i][0], message);
    }
  }
  const char *vocab = "[UNK]\n[CLS]\n[SEP]\na\n";
  expect(directory_of("vocab.txt", vocab, "tokenizer_config.json", "{\"tokenizer_class\":\"BertweetTokenizer\"}"),
         CQ_ERR_UNSUPPORTED, "vocab.txt",
         "it rewrites tweets before its BPE with '@@'; transformers has no tokenizer.json for it");
  expect(directory_of("vocab.txt", vocab, "config.json", "{\"model_type\":\"camembert\"}"), CQ_ERR_UNSUPPORTED,
         "vocab.txt", "model_type 'camembert' without tokenizer.json is not supported");
  static const char *const read[] = {"Electra", "DistilBert", "DPRQuestionEncoder", "ConvBert", "PreTrained"};
  for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
    char config[160];
    snprintf(config, sizeof config, "{\"tokenizer_class\":\"%sTokenizer%s\"}", read[i], i % 2 ? "Fast" : "");
    cq_tokenizer_free(open_tokenizer(directory_of("vocab.txt", vocab, "tokenizer_config.json", config)));
  }
  cq_tokenizer_free(open_tokenizer(directory_of("vocab.txt", vocab, "config.json", "{\"model_type\":\"new\"}")));
}

static void test_save(void **state) {
  (void)state;
  cq_tokenizer *t = open_tokenizer(golden_path("wordpiece-uncased"));
  cq_error error = {0};
  assert_int_equal(cq_tokenizer_save(t, test_path("not/there"), 128, &error), CQ_ERR_IO);
  assert_non_null(strstr(error.message, "not/there"));
  cq_tokenizer_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_documents),   cmocka_unit_test(test_line_of_broken_json),
      cmocka_unit_test(test_directories), cmocka_unit_test(test_vocab_txt),
      cmocka_unit_test(test_merges_txt),  cmocka_unit_test(test_added_beside),
      cmocka_unit_test(test_cut_models),  cmocka_unit_test(test_lying_models),
      cmocka_unit_test(test_classes),     cmocka_unit_test(test_save),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
