/* Token ids by themselves: the same vectors by ids as by texts, windows of long texts, and every id that is refused. */
#include "support/files.h"

#include "base/memory.h"
#include "calque/calque.h"

static const char *const models[] = {"bert-uncased", "bert-prompt", "bert-xlmr",  "xlmr-model",      "roberta-mean",
                                     "bilstm-max",   "static-mean", "mpnet-mean", "distilbert-dense"};
enum { N_MODELS = sizeof models / sizeof *models, N = 9, MAX_DIM = 512 };

static const char *const texts[N] = {
    "a", "the river", "Garden, late", "na\xC3\xAFve 12", "\xE6\xB0\xB4", "late the", "", "river river garden", "12 a"};

static cq_encoder *open_golden(const char *model, int length) {
  char path[4096];
  cq_encoder *encoder;
  cq_error error = {0};
  cq_encoder_options o = cq_encoder_default_options();
  o.max_seq_length = length;
  snprintf(path, sizeof path, CQ_TESTS_DIR "/golden/models/%s", model);
  if (cq_encoder_open(&encoder, path, &o, &error)) fail_msg("%s", error.message);
  assert_true(cq_encoder_dim(encoder) <= MAX_DIM);
  return encoder;
}

static void ids_give_the_bits_that_texts_give(void **state) {
  (void)state;
  for (int m = 0; m < N_MODELS; m++) {
    cq_encoder *encoder = open_golden(models[m], 0);
    const size_t dim = (size_t)cq_encoder_dim(encoder);
    static float expected[N * MAX_DIM], found[N * MAX_DIM];
    cq_slice slices[N];
    cq_token_ids ids = {0};
    cq_context *ctx;
    cq_error error = {0};
    assert_int_equal(cq_context_open(&ctx, 2, NULL), CQ_OK);
    for (int i = 0; i < N; i++) {
      bool is_long = true;
      slices[i] = (cq_slice){texts[i], strlen(texts[i])};
      assert_int_equal(
          cq_encoder_token_ids(&ids, &is_long, encoder, slices[i], CQ_LONG_TRUNCATED, NULL, i % 2 ? ctx : NULL, NULL),
          CQ_OK);
      assert_false(is_long);
    }
    assert_int_equal(ids.n, N);
    assert_int_equal(cq_encoder_encode(expected, NULL, encoder, slices, N, NULL, NULL, NULL), CQ_OK);
    if (cq_encoder_encode_ids(found, encoder, ids.ids, ids.starts, N, NULL, ctx, &error)) fail_msg("%s", error.message);
    assert_memory_equal(found, expected, N * dim * sizeof(float));
    /* From the middle on, with options. */
    cq_encode_options o = cq_encode_default_options();
    o.normalize = true, o.truncate_dim = (int)dim / 2;
    assert_int_equal(cq_encoder_encode(expected, NULL, encoder, slices + 3, 2, &o, NULL, NULL), CQ_OK);
    assert_int_equal(cq_encoder_encode_ids(found, encoder, ids.ids, ids.starts + 3, 2, &o, NULL, NULL), CQ_OK);
    assert_memory_equal(found, expected, 2 * (dim / 2) * sizeof(float));
    o.normalize = false;
    assert_int_equal(cq_encoder_encode_ids(found, encoder, ids.ids, ids.starts + 3, 2, &o, NULL, NULL), CQ_OK);
    cq_normalize(found, 2, dim / 2);
    assert_memory_equal(found, expected, 2 * (dim / 2) * sizeof(float));
    cq_token_ids_free(&ids);
    cq_context_free(ctx);
    cq_encoder_free(encoder);
  }
}

/* Of windows with [CLS] and [SEP] taken off, the text's ids. */
static void windows_share_out_all_of_a_text(void **state) {
  (void)state;
  const cq_slice text = {"the river the garden late 12 a river the late garden", 52};
  cq_encoder *wide = open_golden("bert-uncased", 0), *narrow = open_golden("bert-uncased", 6);
  cq_token_ids whole = {0}, windows = {0};
  bool is_long = true;
  assert_int_equal(cq_encoder_token_ids(&whole, &is_long, wide, text, CQ_LONG_WINDOWS, NULL, NULL, NULL), CQ_OK);
  assert_false(is_long);
  assert_int_equal(whole.n, 1);
  assert_int_equal(cq_encoder_token_ids(&windows, &is_long, narrow, text, CQ_LONG_WINDOWS, NULL, NULL, NULL), CQ_OK);
  assert_true(is_long);
  const size_t n_inside = whole.starts[1] - 2;
  assert_int_equal(windows.n, (n_inside + 3) / 4);
  size_t at = 1;
  for (size_t w = 0; w < windows.n; w++) {
    const size_t begin = windows.starts[w], end = windows.starts[w + 1];
    assert_int_equal(windows.ids[begin], whole.ids[0]);
    assert_int_equal(windows.ids[end - 1], whole.ids[n_inside + 1]);
    assert_true(w + 1 == windows.n ? end - begin > 2 && end - begin <= 6 : end - begin == 6);
    for (size_t t = begin + 1; t + 1 < end; t++) assert_int_equal(windows.ids[t], whole.ids[at++]);
  }
  assert_int_equal(at, n_inside + 1);
  /* Truncated it is the first window. */
  const size_t n_windows = windows.n;
  assert_int_equal(cq_encoder_token_ids(&windows, &is_long, narrow, text, CQ_LONG_TRUNCATED, NULL, NULL, NULL), CQ_OK);
  assert_true(is_long);
  assert_int_equal(windows.n, n_windows + 1);
  assert_int_equal(windows.starts[n_windows + 1] - windows.starts[n_windows], 6);
  assert_memory_equal(windows.ids + windows.starts[n_windows], windows.ids, 6 * sizeof *windows.ids);
  /* As much of its end as there is room for after the prompt. */
  cq_encode_options o = cq_encode_default_options();
  cq_error error = {0};
  for (size_t n_head = 1; n_head <= 4; n_head++) {
    static const char *const prompts[] = {"", "the ", "the the ", "the the the "};
    cq_token_ids end = {0};
    o.prompt = prompts[n_head - 1];
    assert_int_equal(cq_encoder_token_ids(&end, &is_long, narrow, text, CQ_LONG_END, &o, NULL, NULL), CQ_OK);
    assert_true(is_long && end.n == 1 && end.starts[1] == 6 && end.ids[0] == whole.ids[0]);
    for (size_t t = 1; t < n_head; t++) assert_int_equal(end.ids[t], whole.ids[1]); /* "the" */
    for (size_t t = n_head; t < 6; t++) assert_int_equal(end.ids[t], whole.ids[whole.starts[1] - 6 + t]);
    cq_token_ids_free(&end);
  }
  const cq_slice fits = {"the the the the", 15};
  cq_token_ids same = {0};
  assert_int_equal(cq_encoder_token_ids(&same, &is_long, narrow, fits, CQ_LONG_END, NULL, NULL, NULL), CQ_OK);
  assert_true(!is_long && same.starts[1] == 6 && same.ids[0] == whole.ids[0] && same.ids[4] == whole.ids[1]);
  cq_token_ids_free(&same);
  o.prompt = "the river late garden";
  assert_int_equal(cq_encoder_token_ids(&windows, NULL, narrow, text, CQ_LONG_END, &o, NULL, &error), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_encoder_token_ids(&windows, NULL, narrow, text, CQ_LONG_WINDOWS, &o, NULL, &error),
                   CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "no room"));
  assert_int_equal(windows.n, n_windows + 1);
  cq_token_ids_free(&whole);
  cq_token_ids_free(&windows);
  cq_encoder_free(wide);
  cq_encoder_free(narrow);
}

static void what_no_model_takes_is_refused(void **state) {
  (void)state;
  cq_encoder *encoder = open_golden("bert-uncased", 6);
  static float out[8 * MAX_DIM];
  const int64_t n_ids = cq_encoder_vocab_size(encoder);
  const int32_t ids[] = {1, 2, 3, 4, 5, 6, 7, 8, (int32_t)n_ids, -1};
  cq_error error = {0};
  assert_int_equal(cq_encoder_encode_ids(out, encoder, ids, (const size_t[]){0, 2, 9}, 2, NULL, NULL, &error),
                   CQ_ERR_LIMIT);
  assert_int_equal(error.line, 2);
  assert_int_equal(cq_encoder_encode_ids(out, encoder, ids, (const size_t[]){0, 2, 4, 4, 5}, 4, NULL, NULL, &error),
                   CQ_ERR_ARGUMENT);
  assert_int_equal(error.line, 3);
  assert_int_equal(cq_encoder_encode_ids(out, encoder, ids, (const size_t[]){4, 7, 9}, 2, NULL, NULL, &error),
                   CQ_ERR_ARGUMENT);
  assert_int_equal(error.line, 2);
  assert_non_null(strstr(error.message, "token 2 of sequence 2"));
  assert_int_equal(cq_encoder_encode_ids(out, encoder, ids, (const size_t[]){9, 10}, 1, NULL, NULL, &error),
                   CQ_ERR_ARGUMENT);
  assert_int_equal(error.line, 1);
  cq_token_ids none = {0};
  bool is_long;
  assert_int_equal(
      cq_encoder_token_ids(&none, &is_long, encoder, (cq_slice){"a\xFF", 2}, CQ_LONG_TRUNCATED, NULL, NULL, &error),
      CQ_ERR_FORMAT);
  assert_int_equal(none.n, 0);
  cq_slice text;
  bool special = false;
  assert_false(cq_encoder_token(&text, &special, encoder, -1));
  assert_false(cq_encoder_token(&text, &special, encoder, (int32_t)n_ids));
  assert_int_equal(cq_encoder_token_ids(&none, NULL, encoder, (cq_slice){"a", 1}, CQ_LONG_TRUNCATED, NULL, NULL, NULL),
                   CQ_OK);
  assert_true(cq_encoder_token(&text, &special, encoder, none.ids[0]) && special);
  assert_true(cq_encoder_token(&text, &special, encoder, none.ids[1]) && !special);
  assert_true(text.n == 1 && *text.data == 'a');
  cq_token_ids_free(&none);
  cq_token_ids_free(NULL);
  cq_encoder_free(encoder);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  const cq_slice text = {"the river the garden late 12 a river the late garden", 52};
  cq_encoder *encoder = open_golden("bert-uncased", 6);
  static float out[8 * MAX_DIM];
  bool failed = true;
  for (long n = 1; failed; n++) {
    cq_token_ids ids = {0};
    bool is_long;
    cq_alloc_fail_at(n);
    cq_status status = cq_encoder_token_ids(&ids, &is_long, encoder, text, CQ_LONG_WINDOWS, NULL, NULL, NULL);
    if (!status) status = cq_encoder_encode_ids(out, encoder, ids.ids, ids.starts, ids.n, NULL, NULL, NULL);
    failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    cq_token_ids_free(&ids);
    assert_true(n < 1000);
  }
  cq_encoder_free(encoder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ids_give_the_bits_that_texts_give),
      cmocka_unit_test(windows_share_out_all_of_a_text),
      cmocka_unit_test(what_no_model_takes_is_refused),
      cmocka_unit_test(every_allocation_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
