/* Encoding with a context: memory that is kept from call to call, and every allocation that may fail. */
#include "support/files.h"

#include "base/memory.h"
#include "base/slice.h"
#include "calque/calque.h"

static const char *const models[] = {"bert-uncased", "bert-prompt", "bert-xlmr",  "xlmr-model",      "roberta-mean",
                                     "bilstm-max",   "static-mean", "mpnet-mean", "distilbert-dense"};
enum { N_MODELS = sizeof models / sizeof *models, N = 70, MAX_DIM = 512 };

static cq_slice texts[N];
static float expected[N * MAX_DIM], found[N * MAX_DIM];

static cq_encoder *open_golden(const char *model) {
  char path[4096];
  cq_encoder *encoder;
  cq_error error = {0};
  snprintf(path, sizeof path, CQ_TESTS_DIR "/golden/models/%s", model);
  if (cq_encoder_open(&encoder, path, NULL, &error)) fail_msg("%s", error.message);
  assert_true(cq_encoder_dim(encoder) <= MAX_DIM);
  return encoder;
}

/* Texts of one to some words, the first of them short. */
static void make_texts(void) {
  static char text[N][128];
  static const char *const words[] = {"a", "river", "Garden,", "the", "12", "na\xC3\xAFve", "\xE6\xB0\xB4", "late"};
  for (int i = 0; i < N; i++) {
    size_t n = 0;
    for (int k = 0; k <= i % 11; k++)
      n += (size_t)snprintf(text[i] + n, sizeof text[i] - n, "%s ", words[(i + k * k) % 8]);
    texts[i] = (cq_slice){text[i], n};
  }
}

/* With a context's memory as without, whatever call came before; and once it is there nothing is allocated. */
static void a_hot_call_allocates_nothing(void **state) {
  (void)state;
  for (int m = 0; m < N_MODELS; m++) {
    cq_encoder *encoder = open_golden(models[m]);
    const size_t dim = (size_t)cq_encoder_dim(encoder), row = dim * sizeof(float);
    assert_int_equal(cq_encoder_encode(expected, NULL, encoder, texts, N, NULL, NULL, NULL), CQ_OK);
    for (int threads = 1; threads <= 3; threads += 2) {
      cq_context *ctx;
      assert_int_equal(cq_context_open(&ctx, threads, NULL), CQ_OK);
      for (int round = 0; round < 3; round++) {
        memset(found, 0, N * row);
        assert_int_equal(cq_encoder_encode(found, NULL, encoder, texts, N, NULL, ctx, NULL), CQ_OK);
        assert_memory_equal(found, expected, N * row);
        for (int i = 0; i < N; i++) {
          const bool is_hot = round == 1; /* its memory has seen all these texts */
          cq_alloc_fail_at(is_hot);       /* any allocation fails */
          const cq_status status = cq_encoder_encode(found, NULL, encoder, &texts[i], 1, NULL, ctx, NULL);
          const bool tried = cq_alloc_failed();
          cq_alloc_fail_at(0);
          assert_int_equal(status, CQ_OK);
          assert_false(is_hot && tried);
          assert_memory_equal(found, expected + (size_t)i * dim, row);
        }
        if (round) cq_context_trim(ctx);
      }
      cq_context_free(ctx);
    }
    cq_encoder_free(encoder);
  }
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  cq_encode_options options = cq_encode_default_options();
  options.prompt = "query: ";
  for (int m = 0; m < N_MODELS; m++) {
    cq_encoder *encoder = open_golden(models[m]);
    const size_t n_bytes = (size_t)cq_encoder_dim(encoder) * sizeof(float) * N;
    cq_context *ctx;
    assert_int_equal(cq_context_open(&ctx, 1, NULL), CQ_OK);
    assert_int_equal(cq_encoder_encode(expected, NULL, encoder, texts, N, &options, NULL, NULL), CQ_OK);
    for (int with = 0; with < 2; with++) {
      bool failed = true;
      for (long n = 1; failed; n++) {
        cq_error error = {0};
        cq_alloc_fail_at(n);
        const cq_status status = cq_encoder_encode(found, NULL, encoder, texts, N, &options, with ? ctx : NULL, &error);
        failed = cq_alloc_failed();
        cq_alloc_fail_at(0);
        assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
        assert_int_equal(error.status, status);
      }
      assert_memory_equal(found, expected, n_bytes);
    }
    cq_context_free(ctx);
    cq_encoder_free(encoder);
  }
}

/* --- decomposed text --- */

static const char korean[] = "\uB2E4\uC74C \uC5ED", korean_nfd[] = "\u1103\u1161\u110B\u1173\u11B7 \u110B\u1167\u11A8";

static void count_notice(void *context, const char *text) {
  if (strstr(text, "'compose'")) ++*(int *)context;
}

static cq_encoder *open_composing(const char *model, bool compose, int *n_notices) {
  char path[4096];
  cq_encoder *encoder;
  cq_encoder_options options = cq_encoder_default_options();
  options.compose = compose, options.notice = count_notice, options.notice_context = n_notices;
  snprintf(path, sizeof path, CQ_TESTS_DIR "/golden/models/%s", model);
  assert_int_equal(cq_encoder_open(&encoder, path, &options, NULL), CQ_OK);
  return encoder;
}

/* Without the option the vectors differ, and one notice says so, whatever number of calls and threads. */
static void decomposed_text_is_composed_or_noticed(void **state) {
  cq_slice both[2 * N];
  char fingerprints[2][33];
  cq_context *ctx;
  (void)state;
  assert_int_equal(cq_context_open(&ctx, 3, NULL), CQ_OK);
  for (int i = 0; i < 2 * N; i++) both[i] = cq_slice_of(i % 2 ? korean_nfd : korean);
  for (int compose = 0; compose < 2; compose++) {
    static float out[2 * N * MAX_DIM];
    int n_notices = 0;
    bool is_long;
    cq_token_ids ids = {0};
    cq_encoder *encoder = open_composing("mistral-last", compose, &n_notices);
    const size_t dim = (size_t)cq_encoder_dim(encoder);
    assert_int_equal(cq_encoder_encode(out, NULL, encoder, texts, N, NULL, ctx, NULL), CQ_OK);
    assert_int_equal(cq_encoder_encode(out, NULL, encoder, both, 1, NULL, ctx, NULL), CQ_OK);
    assert_int_equal(n_notices, 0);
    for (int round = 0; round < 2; round++)
      assert_int_equal(cq_encoder_encode(out, NULL, encoder, both, 2 * N, NULL, ctx, NULL), CQ_OK);
    assert_int_equal(memcmp(out, out + dim, dim * sizeof *out) == 0, compose);
    for (int i = 0; i < 2; i++)
      assert_int_equal(cq_encoder_token_ids(&ids, &is_long, encoder, both[i], CQ_LONG_WINDOWS, NULL, ctx, NULL), CQ_OK);
    assert_int_equal(ids.n == 2 && ids.starts[1] * 2 == ids.starts[2] &&
                         memcmp(ids.ids, ids.ids + ids.starts[1], ids.starts[1] * sizeof *ids.ids) == 0,
                     compose);
    assert_int_equal(n_notices, !compose);
    assert_int_equal(cq_encoder_fingerprint(fingerprints[compose], encoder, NULL), CQ_OK);
    cq_token_ids_free(&ids);
    cq_encoder_free(encoder);
  }
  assert_string_not_equal(fingerprints[0], fingerprints[1]);
  cq_context_free(ctx);
}

/* A tokenizer that has a normal form of its own, and text whose ids are the same: nothing to notice, or to change. */
static void nothing_is_noticed_where_nothing_differs(void **state) {
  static const struct {
    const char *model, *text;
  } cases[] = {{"qwen2-last", korean_nfd}, {"bert-uncased", "cafe\u0301"}, {"bert-xlmr", "cafe\u0301"}};
  char fingerprints[2][33];
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int compose = 0; compose < 2; compose++) {
      int n_notices = 0;
      cq_encoder *encoder = open_composing(cases[i].model, compose, &n_notices);
      const cq_slice text = cq_slice_of(cases[i].text);
      assert_int_equal(cq_encoder_encode(compose ? found : expected, NULL, encoder, &text, 1, NULL, NULL, NULL), CQ_OK);
      assert_int_equal(cq_encoder_fingerprint(fingerprints[compose], encoder, NULL), CQ_OK);
      assert_int_equal(n_notices, 0);
      assert_memory_equal(found, expected, compose * (size_t)cq_encoder_dim(encoder) * sizeof *found);
      cq_encoder_free(encoder);
    }
    if (i < 2) assert_string_equal(fingerprints[0], fingerprints[1]);
  }
}

static void composing_may_run_out_of_memory(void **state) {
  const cq_slice text = cq_slice_of(korean_nfd);
  (void)state;
  for (int compose = 0; compose < 2; compose++) {
    int n_notices = 0;
    bool failed = true;
    for (long n = 1; failed; n++) {
      cq_encoder *encoder = open_composing("mistral-last", compose, &n_notices);
      cq_alloc_fail_at(n);
      const cq_status status = cq_encoder_encode(found, NULL, encoder, &text, 1, NULL, NULL, NULL);
      failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
      cq_encoder_free(encoder);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_hot_call_allocates_nothing),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(decomposed_text_is_composed_or_noticed),
      cmocka_unit_test(nothing_is_noticed_where_nothing_differs),
      cmocka_unit_test(composing_may_run_out_of_memory),
  };
  make_texts();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
