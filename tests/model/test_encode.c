/* Encoding with a context: memory that is kept from call to call, and every allocation that may fail. */
#include "support/files.h"

#include "base/memory.h"
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_hot_call_allocates_nothing),
      cmocka_unit_test(every_allocation_may_fail),
  };
  make_texts();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
