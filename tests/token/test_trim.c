/* Trimmed tokenizers: what was marked is split as before, by the tokenizer that was made and by the one read back. */
#include "golden.h"

#include "base/random.h"
#include "base/utf8.h"

#include <math.h>

/* Well-formed text that mixes scripts, so that words are unknown, single bytes are needed, and merges are long. */
static size_t mixed_text(char *out, size_t room, cq_random *r) {
  static const char *const words[] = {
      "the", "Hund",   "schläft",      "dogs",   "[MASK]", "<mask>", "new york",
      "foo", "#tag",   "'ll",          "кошка",  "спит",   "日本",   "नमस्ते",
      "😀",   "zzqx",   "\xE2\x96\x81", "Straße", "<0x41>", "1234",   "unbelievable",
      "aab", "ababab", "...",          "  ",     "ﬁne",    "café",   "internationalisation"};
  size_t n = 0;
  const size_t wanted = (size_t)cq_random_below(r, room - 64);
  while (n < wanted) {
    if (cq_random_below(r, 3) > 0) {
      const char *word = words[cq_random_below(r, sizeof words / sizeof *words)];
      memcpy(out + n, word, strlen(word));
      n += strlen(word);
    } else {
      const uint32_t code = (uint32_t)cq_random_below(r, cq_random_below(r, 4) ? 0x7F : 0x2FFF);
      if (code) n += cq_utf8_encode(out + n, code);
    }
    if (cq_random_below(r, 2)) out[n++] = ' ';
  }
  return n;
}

enum { N_TEXTS = 12, ROOM = 300 };

typedef struct texts {
  char bytes[N_TEXTS][ROOM];
  size_t n[N_TEXTS];
} texts;

static void make_texts(texts *t, uint64_t seed) {
  for (size_t i = 0; i < N_TEXTS; i++) {
    cq_random r = cq_random_seeded(seed, i);
    t->n[i] = mixed_text(t->bytes[i], ROOM, &r);
  }
}

static cq_slice text_at(const texts *t, size_t i) {
  return (cq_slice){t->bytes[i], t->n[i]};
}

static void same_split(const cq_tokenizer *old, const cq_tokenizer *trimmed, const int32_t *new_ids, cq_slice text) {
  cq_ids a = {0}, b = {0};
  encode(&a, old, text, 0, NULL);
  encode(&b, trimmed, text, 0, NULL);
  assert_int_equal(a.n, b.n);
  for (size_t k = 0; k < a.n; k++) assert_int_equal(new_ids[a.ids[k]], b.ids[k]);
  cq_free(a.ids), cq_free(b.ids);
}

static cq_tokenizer *trim_to(int32_t **new_ids, const cq_tokenizer *old, const texts *t) {
  cq_error error = {0};
  cq_tokenizer *trimmed;
  const size_t n = (size_t)cq_tokenizer_describe(old)->vocab_size;
  bool *needed = cq_alloc_zeroed(n);
  *new_ids = cq_alloc_array(n, sizeof **new_ids);
  assert_true(needed && *new_ids);
  for (size_t i = 0; t && i < N_TEXTS; i++)
    assert_int_equal(cq_tokenizer_mark(needed, old, NULL, text_at(t, i), true, &error), CQ_OK);
  if (cq_tokenizer_trim(&trimmed, *new_ids, old, needed, &error)) fail_msg("%s", error.message);
  cq_free(needed);
  return trimmed;
}

static cq_tokenizer *saved_and_opened(const cq_tokenizer *t) {
  cq_error error = {0};
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s'", test_path("saved"), test_path("saved"));
  assert_int_equal(system(command), 0);
  if (cq_tokenizer_save(t, test_path("saved"), 0, &error)) fail_msg("%s", error.message);
  return open_tokenizer(test_path("saved"));
}

/* Every kind of tokenizer, many texts. */
static void marked_text_is_split_as_before(void **state) {
  (void)state;
  static texts t;
  for (size_t g = 0; g < N_GOLDEN; g++) {
    cq_tokenizer *old = open_tokenizer(golden_path(golden_names[g]));
    const int64_t n = cq_tokenizer_describe(old)->vocab_size;
    bool smaller = false;
    for (uint64_t seed = 0; seed < 8; seed++) {
      int32_t *new_ids;
      make_texts(&t, seed);
      cq_tokenizer *trimmed = trim_to(&new_ids, old, &t), *again = saved_and_opened(trimmed);
      const cq_tokenizer_info *a = cq_tokenizer_describe(old), *b = cq_tokenizer_describe(trimmed),
                              *c = cq_tokenizer_describe(again);
      smaller |= b->vocab_size < n;
      assert_int_equal(b->vocab_size, c->vocab_size);
      assert_string_equal(a->type, c->type);
      assert_int_equal(a->lowercase, c->lowercase);
      assert_int_equal(a->pad_id < 0 ? -1 : new_ids[a->pad_id], c->pad_id);
      assert_int_equal(a->unk_id < 0 ? -1 : new_ids[a->unk_id], c->unk_id);
      assert_int_equal(a->cls_id < 0 ? -1 : new_ids[a->cls_id], c->cls_id);
      assert_int_equal(a->sep_id < 0 ? -1 : new_ids[a->sep_id], c->sep_id);
      assert_int_equal(a->mask_id < 0 ? -1 : new_ids[a->mask_id], c->mask_id);
      for (size_t i = 0; i < N_TEXTS; i++) {
        same_split(old, trimmed, new_ids, text_at(&t, i));
        same_split(old, again, new_ids, text_at(&t, i));
      }
      for (int64_t id = 0, last = -1; id < n; id++) { /* the order stays */
        if (new_ids[id] < 0) continue;
        assert_int_equal(new_ids[id], last + 1);
        last++;
      }
      cq_tokenizer_free(trimmed), cq_tokenizer_free(again);
      cq_free(new_ids);
    }
    if (!smaller) fail_msg("%s: nothing was ever left out", golden_names[g]);
    cq_tokenizer_free(old);
  }
}

/* --- what one could miss --- */

static cq_tokenizer *from_vocab_txt(const char *pieces) {
  char command[600];
  snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s'", test_path("made"), test_path("made"));
  assert_int_equal(system(command), 0);
  write_bytes(test_path("made/vocab.txt"), pieces, strlen(pieces));
  return open_tokenizer(test_path("made"));
}

/* Trims to two texts, which are split as before. */
static cq_tokenizer *trim_to_two(int32_t **new_ids, const cq_tokenizer *old, const char *one, const char *two) {
  static texts t;
  memset(&t, 0, sizeof t);
  t.n[0] = (size_t)snprintf(t.bytes[0], ROOM, "%s", one);
  t.n[1] = (size_t)snprintf(t.bytes[1], ROOM, "%s", two);
  cq_tokenizer *trimmed = trim_to(new_ids, old, &t);
  same_split(old, trimmed, *new_ids, text_at(&t, 0));
  same_split(old, trimmed, *new_ids, text_at(&t, 1));
  return trimmed;
}

/* "abcx" matches "abc" and ends as unknown. Without "abc" it would be "ab", "##cx". */
static void an_unknown_word_stays_unknown(void **state) {
  (void)state;
  int32_t *new_ids;
  cq_tokenizer *old = from_vocab_txt("[PAD]\n[UNK]\n[CLS]\n[SEP]\nabc\nab\n##cx\nzz\nmore\n");
  cq_tokenizer *trimmed = trim_to_two(&new_ids, old, "abcx", "ab zzcx abc");
  assert_true(new_ids[4] >= 0 && new_ids[5] >= 0 && new_ids[6] >= 0 && new_ids[7] >= 0);
  assert_int_equal(new_ids[8], -1);
  assert_int_equal(cq_tokenizer_describe(trimmed)->vocab_size, 9); /* with the class's [MASK] */
  cq_tokenizer_free(old), cq_tokenizer_free(trimmed);
  cq_free(new_ids);
}

/* XLM-R's class cannot read the tokenizer.json that is made of a BPE model. */
static void class_can_read_a_copy(void **state) {
  static const char config[] = "{\"tokenizer_class\": \"XLMRobertaTokenizer\", \"mask_token\": \"<mask>\"}";
  (void)state;
  for (int bpe = 0; bpe < 2; bpe++)
    for (int trims = 0; trims < 2; trims++) {
      char command[4096];
      int32_t *new_ids = NULL;
      cq_error error = {0};
      json_t *saved;
      snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s' && cp %s/*.model '%s/sentencepiece.bpe.model'",
               test_path("made"), test_path("made"), golden_path(bpe ? "sentencepiece-bpe" : "sentencepiece-unigram"),
               test_path("made"));
      assert_int_equal(system(command), 0);
      write_bytes(test_path("made/tokenizer_config.json"), config, sizeof config - 1);
      cq_tokenizer *old = open_tokenizer(test_path("made"));
      cq_tokenizer *trimmed = trims ? trim_to_two(&new_ids, old, "The cat sleeps.", "Die Katze") : NULL;
      cq_tokenizer_free(saved_and_opened(trims ? trimmed : old));
      if (cq_json_read(&saved, test_path("saved/tokenizer_config.json"), &error)) fail_msg("%s", error.message);
      assert_string_equal(json_string_value(json_object_get(saved, "tokenizer_class")),
                          bpe ? "PreTrainedTokenizerFast" : "XLMRobertaTokenizer");
      json_decref(saved);
      cq_tokenizer_free(old), cq_tokenizer_free(trimmed);
      cq_free(new_ids);
    }
}

/* ALBERT's class would replace the normalizer that folds. */
static void what_is_folded_stays_so(void **state) {
  (void)state;
  cq_error error = {0};
  cq_ids ids[2] = {{0}, {0}};
  cq_tokenizer *old = open_tokenizer(golden_path("albert")), *folded = NULL;
  const size_t n = (size_t)cq_tokenizer_describe(old)->vocab_size;
  int32_t *new_ids = calloc(n, sizeof *new_ids);
  double *weights = calloc(n, sizeof *weights);
  if (cq_tokenizer_fold_case(&folded, new_ids, weights, old, &error)) fail_msg("%s", error.message);
  cq_tokenizer_free(saved_and_opened(folded));
  write_text(test_path("saved/config.json"), "{\"model_type\":\"albert\"}");
  cq_tokenizer *opened = open_tokenizer(test_path("saved"));
  encode(&ids[0], folded, cq_slice_of("The R\u00CDV\u00ADER"), 0, NULL);
  encode(&ids[1], opened, cq_slice_of("The R\u00CDV\u00ADER"), 0, NULL);
  assert_int_equal(ids[0].n, ids[1].n);
  assert_memory_equal(ids[0].ids, ids[1].ids, ids[0].n * sizeof *ids[0].ids);
  cq_tokenizer_free(old), cq_tokenizer_free(folded), cq_tokenizer_free(opened);
  cq_free(ids[0].ids), cq_free(ids[1].ids);
  free(new_ids), free(weights);
}

/* An unknown character costs ten more than the lowest score: without that piece "yab" would be an unknown "y" and "ab". */
static void the_lowest_score_stays(void **state) {
  static const char json[] =
      "{\"version\": \"1.0\", \"added_tokens\": [], \"normalizer\": null, \"pre_tokenizer\": null, "
      "\"post_processor\": null, \"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": [[\"<unk>\", 0], "
      "[\"more\", -2], [\"ya\", -15], [\"b\", -15], [\"ab\", -1], [\"zzz\", -100]]}}";
  int32_t *new_ids;
  char command[600];
  (void)state;
  snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s'", test_path("made"), test_path("made"));
  assert_int_equal(system(command), 0);
  write_bytes(test_path("made/tokenizer.json"), json, sizeof json - 1);
  cq_tokenizer *old = open_tokenizer(test_path("made"));
  cq_tokenizer *trimmed = trim_to_two(&new_ids, old, "yab", "ab");
  assert_int_equal(new_ids[1], -1);
  assert_int_equal(new_ids[5], 4);
  cq_tokenizer_free(old), cq_tokenizer_free(trimmed);
  cq_free(new_ids);
}

/* With an empty text, tokens that have a role stay, and what needs them still works. */
static void special_tokens_stay(void **state) {
  (void)state;
  for (size_t g = 0; g < N_GOLDEN; g++) {
    int32_t *new_ids;
    cq_ids ids = {0};
    cq_tokenizer *old = open_tokenizer(golden_path(golden_names[g])), *trimmed = trim_to(&new_ids, old, NULL);
    encode(&ids, trimmed, cq_slice_of("Something else altogether: ничего 😀"), 0, NULL);
    for (size_t i = 0; i < ids.n; i++) assert_in_range(ids.ids[i], 0, cq_tokenizer_describe(trimmed)->vocab_size - 1);
    assert_int_equal(cq_tokenizer_describe(trimmed)->n_special, cq_tokenizer_describe(old)->n_special);
    cq_tokenizer_free(old), cq_tokenizer_free(trimmed);
    cq_free(new_ids), cq_free(ids.ids);
  }
}

/* --- memory --- */

static void every_allocation_may_fail(void **state) {
  (void)state;
  static const char *const names[] = {"wordpiece-uncased", "sentencepiece-unigram", "sentencepiece-bpe", "vocab-json",
                                      "words-marked"};
  static texts t;
  make_texts(&t, 1);
  for (size_t g = 0; g < sizeof names / sizeof *names; g++) {
    cq_tokenizer *old = open_tokenizer(golden_path(names[g]));
    const size_t n = (size_t)cq_tokenizer_describe(old)->vocab_size;
    bool *needed = cq_alloc_zeroed(n);
    int32_t *new_ids = cq_alloc_array(n, sizeof *new_ids);
    cq_status status = CQ_ERR_MEMORY;
    for (uint64_t at = 1; status; at += 1 + at / 40) {
      cq_error error = {0};
      cq_tokenizer *trimmed = NULL;
      cq_alloc_fail_at(at);
      status = cq_tokenizer_mark(needed, old, NULL, text_at(&t, 0), true, &error);
      if (!status) status = cq_tokenizer_trim(&trimmed, new_ids, old, needed, &error);
      cq_alloc_fail_at(0);
      if (status) {
        assert_int_equal(status, CQ_ERR_MEMORY);
        assert_null(trimmed);
      }
      cq_tokenizer_free(trimmed);
    }
    cq_free(needed), cq_free(new_ids);
    cq_tokenizer_free(old);
  }
}

static int finish(void **state) {
  cq_token_memory_free(golden_memory);
  return remove_test_directory(state);
}

/* Worked out by hand: what text loses when a piece is written with others. */
static void what_a_piece_is_worth(void **state) {
  (void)state;
  static const char json[] =
      "{\"version\": \"1.0\", \"added_tokens\": [], \"model\": {\"type\": \"Unigram\", \"unk_id\": 0, \"vocab\": ["
      "[\"<unk>\", 0], [\"a\", -1], [\"b\", -2], [\"ab\", -2.5], [\"ba\", -4]]}}";
  static const double want[] = {0, -1 - -14, -2 - -14, -2.5 - -3, -4 - -3};
  cq_error error = {0};
  cq_tokenizer *t;
  double probability[5], loss[5], sum = 0;
  write_text(test_path("tokenizer.json"), json);
  if (cq_tokenizer_open(&t, test_path("."), false, &error)) fail_msg("%s", error.message);
  assert_int_equal(cq_tokenizer_piece_values(probability, loss, t, &error), CQ_OK);
  for (int i = 1; i < 5; i++) assert_float_equal(loss[i], want[i], 1e-12);
  for (int i = 0; i < 5; i++) sum += probability[i];
  assert_float_equal(sum, 1, 1e-12);
  assert_float_equal(probability[1] / probability[2], exp(1), 1e-12);
  for (long n = 1;; n++) {
    cq_alloc_fail_at(n);
    const cq_status status = cq_tokenizer_piece_values(probability, loss, t, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    if (!failed) break;
  }
  cq_tokenizer_free(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(marked_text_is_split_as_before), cmocka_unit_test(an_unknown_word_stays_unknown),
      cmocka_unit_test(class_can_read_a_copy),          cmocka_unit_test(the_lowest_score_stays),
      cmocka_unit_test(what_is_folded_stays_so),        cmocka_unit_test(special_tokens_stay),
      cmocka_unit_test(every_allocation_may_fail),      cmocka_unit_test(what_a_piece_is_worth),
  };
  return cmocka_run_group_tests(tests, make_test_directory, finish);
}
