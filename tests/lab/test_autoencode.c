/* Autoencoders by the library: options that are refused, runs that are stopped or go wrong, models opened and
 * translating, and memory that runs out. tests/lab/test_autoencode_command.sh has what a user sees. */
#include "support/files.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/slice.h"
#include "calque/calque.h"
#include "calque/lab/autoencode.h"

#include <math.h>

enum { N_PAIRS = 24 };

static const char *pairs_file(void) {
  static char path[400];
  char text[4000] = "";
  for (int i = 0; i < N_PAIRS; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%c%c %c\t%c %c\n", 'a' + i % 3, 'a' + i % 4, 'd' + i % 2,
             'p' + i % 4, 'p' + i % 3);
  snprintf(path, sizeof path, "%s", test_path("pairs.tsv"));
  write_text(path, text);
  return path;
}

static cq_autoencode_options tiny_options(const char *output, const cq_autoencode_text *files) {
  cq_autoencode_options o = cq_autoencode_translating();
  o.output = output;
  o.train = files, o.n_train = 1;
  o.vocab_size = 12;
  o.embedding_dim = 6, o.hidden_dim = 8, o.latent_dim = 7;
  o.batch_pairs = 8;
  o.together_epochs = 0, o.encoder_epochs = 1, o.decoder_epochs = 2;
  return o;
}

/* A small model at test_path("model"), made once. */
static const char *model(void) {
  static char path[400];
  if (!*path) {
    const cq_autoencode_text files[] = {{pairs_file(), {"xx", "yy"}}};
    cq_error error = {0};
    cq_autoencode_result result;
    snprintf(path, sizeof path, "%s", test_path("model"));
    const cq_autoencode_options o = tiny_options(path, files);
    if (cq_autoencode(&result, &o, NULL, &error)) fail_msg("%s", error.message);
    assert_int_equal(result.n_steps, 3 * ((result.n_pairs + 7) / 8));
    assert_true(isnan(result.dev[CQ_AUTOENCODE_BLEU]));
  }
  return path;
}

/* --- training --- */

static void runs_log_their_steps(void **state) {
  cq_autoencode_log log;
  cq_error error = {0};
  (void)state;
  if (cq_autoencode_log_read(&log, model(), &error)) fail_msg("%s", error.message);
  assert_int_equal(log.n_languages, 2);
  assert_string_equal(log.languages[0], "xx");
  assert_string_equal(log.languages[1], "yy");
  assert_int_equal(log.n_stages, 2);
  assert_string_equal(log.stages[0].name, "encoders");
  assert_string_equal(log.stages[1].name, "decoders");
  assert_int_equal(log.n_steps, 3 * log.stages[1].begin);
  for (size_t i = 0; i < log.n_steps; i++) {
    const bool decoders = i >= log.stages[1].begin;
    for (int l = 0; l < 2; l++)
      assert_true(decoders ? log.nll[2 * i + (size_t)l] > 0 : isnan(log.nll[2 * i + (size_t)l]));
    assert_true(decoders ? isnan(log.steps[i].contrast) : log.steps[i].contrast > 0);
  }
  assert_int_equal(log.n_devs, 0);
  cq_autoencode_log_free(&log);
}

static void wrong_options(void **state) {
  const cq_autoencode_text files[] = {{pairs_file(), {"xx", "yy"}}};
  char output[400];
  (void)state;
  snprintf(output, sizeof output, "%s", test_path("refused"));
  const cq_autoencode_options usual = tiny_options(output, files);
#define REFUSED(change, word)                                                                                          \
  {                                                                                                                    \
    cq_autoencode_text text = files[0];                                                                                \
    cq_autoencode_options o = usual;                                                                                   \
    cq_error error = {0};                                                                                              \
    o.train = &text;                                                                                                   \
    change;                                                                                                            \
    const cq_status status = cq_autoencode(NULL, &o, NULL, &error);                                                    \
    if (status != CQ_ERR_ARGUMENT) fail_msg("%s: status %d: %s", word, status, error.message);                         \
    if (!strstr(error.message, word)) fail_msg("'%s' does not say '%s'", error.message, word);                         \
    if (access(output, F_OK) == 0) fail_msg("%s: a model was written", word);                                          \
  }
  REFUSED(o.output = NULL, "output")
  REFUSED(text.languages[0] = text.languages[1] = NULL, "without a language")
  REFUSED(text.path = NULL, "without a path")
  REFUSED((o.dev = &text, o.n_dev = 1, text.languages[1] = NULL), "without two languages")
  REFUSED(o.patience = 3, "patience without dev")
  REFUSED(o.patience = -1, "patience is -1")
  REFUSED(text.languages[1] = "xx", "both languages are 'xx'")
  REFUSED(text.languages[0] = "", "'' is not a language code")
  REFUSED(text.languages[0] = "a/b", "'a/b' is not a language code")
  REFUSED(text.languages[0] = "\xff", "is not a language code")
  REFUSED(text.languages[0] = "a-code-that-is-too-long-to-be-part-of-a-name-of-any-sort", "is not a language code")
  REFUSED(o.n_train = 0, "a file")
  REFUSED(o.vocab_size = 0, "vocab-size is 0")
  REFUSED(o.vocab_size = 1 << 21, "vocab-size is 2097152")
  REFUSED(o.embedding_dim = 0, "embedding is 0")
  REFUSED(o.hidden_dim = -4, "hidden is -4")
  REFUSED(o.latent_dim = 1 << 20, "latent is 1048576")
  REFUSED(o.n_layers = 0, "layers is 0")
  REFUSED(o.max_tokens = 2, "max-tokens is 2")
  REFUSED(o.batch_pairs = 0, "batch is 0")
  REFUSED(o.n_shards = 100, "shards is 100")
  REFUSED(o.max_characters = -1, "max-characters is -1")
  REFUSED(o.encoder_dropout = 1, "encoder-dropout is 1")
  REFUSED(o.decoder_dropout = NAN, "decoder-dropout is nan")
  REFUSED(o.word_dropout = -0.5, "word-dropout is -0.5")
  REFUSED(o.latent_as = CQ_AUTOENCODE_ENCODER_STATES, "bidirectional is yes")
  REFUSED(o.learning_rate = 0, "lr is 0")
  REFUSED(o.warmup = 2, "warmup is 2")
  REFUSED(o.encoder_epochs = -1, "encoder-epochs is -1")
  REFUSED(o.decoder_epochs = 0, "decoders need some")
  REFUSED(o.decoder_epochs = INFINITY, "decoder-epochs is inf")
  REFUSED(o.temperature = 0, "temperature is 0")
  REFUSED(o.margin = -1, "margin is -1")
  REFUSED(o.contrast = o.distance = 0, "losses weighted")
  REFUSED(o.contrast = NAN, "alpha is nan")
  /* The stage before would have been in order. */
  REFUSED(o.reconstruction = 0, "losses weighted")
  REFUSED(o.noise = -1, "noise is -1")
  REFUSED(o.weight_decay = -1, "weight-decay is -1")
  REFUSED(o.clip_norm = NAN, "clip-norm is nan")
}

/* The loss that is told is of the last stage that has steps, and later ones without any leave it. */
static void a_run_of_one_stage_tells_its_loss(void **state) {
  const cq_autoencode_text files[] = {{pairs_file(), {"xx", "yy"}}};
  cq_autoencode_result result = {0};
  (void)state;
  cq_autoencode_options o = tiny_options(test_path("one-stage"), files);
  o.together_epochs = 1, o.encoder_epochs = o.decoder_epochs = 0;
  assert_int_equal(cq_autoencode(&result, &o, NULL, NULL), CQ_OK);
  assert_true(result.n_steps > 0 && result.loss > 0);
}

static bool stop_at_third(void *context, const cq_autoencode_progress *p) {
  int *n = context;
  assert_true(p->step <= p->n_steps && p->phase);
  return ++*n < 3;
}

static void runs_can_be_stopped(void **state) {
  const cq_autoencode_text files[] = {{pairs_file(), {"xx", "yy"}}};
  int n = 0;
  (void)state;
  cq_autoencode_options o = tiny_options(test_path("stopped"), files);
  o.progress = stop_at_third, o.progress_context = &n;
  assert_int_equal(cq_autoencode(NULL, &o, NULL, NULL), CQ_ERR_STOPPED);
  assert_int_equal(n, 3);
  assert_int_equal(access(test_path("stopped"), F_OK), -1);
}

static void same_bytes(const char *a, const char *b, const char *name) {
  char paths[2][600];
  cq_mapping files[2];
  snprintf(paths[0], sizeof paths[0], "%s/%s", a, name);
  snprintf(paths[1], sizeof paths[1], "%s/%s", b, name);
  for (int i = 0; i < 2; i++) assert_int_equal(cq_mapping_open(&files[i], paths[i], NULL), CQ_OK);
  if (files[0].n != files[1].n || memcmp(files[0].data, files[1].data, files[0].n)) fail_msg("%s differs", name);
  for (int i = 0; i < 2; i++) cq_mapping_close(&files[i]);
}

/* Runs until it is done, stopped again and again. */
static int run_in_parts(cq_autoencode_options o, const char *other_seed) {
  cq_error error = {0};
  int n_runs = 0;
  cq_status status = CQ_ERR_STOPPED;
  for (; status == CQ_ERR_STOPPED; n_runs++) {
    int n = 1;
    o.progress = stop_at_third, o.progress_context = &n;
    status = cq_autoencode(NULL, &o, NULL, &error);
    if (n_runs == 1) { /* another run may not take its place */
      cq_autoencode_options other = o;
      other.seed = 77, other.progress = NULL;
      assert_int_equal(cq_autoencode(NULL, &other, NULL, &error), CQ_ERR_ARGUMENT);
      assert_non_null(strstr(error.message, other_seed));
      other.resume = false;
      assert_int_equal(cq_autoencode(NULL, &other, NULL, NULL), CQ_ERR_ARGUMENT);
    }
    o.resume = true;
  }
  if (status) fail_msg("%s", error.message);
  return n_runs;
}

static void runs_that_were_stopped_go_on_to_the_same_model(void **state) {
  static const char *const names[] = {"encoder-xx/0_WordEmbeddings/model.safetensors",
                                      "encoder-xx/1_LSTM/model.safetensors",
                                      "encoder-yy/3_Dense/model.safetensors",
                                      "decoder-xx/model.safetensors",
                                      "decoder-yy/model.safetensors",
                                      "log.jsonl"};
  const char *const whole = model();
  const cq_autoencode_text files[] = {{pairs_file(), {"xx", "yy"}}};
  char path[400];
  (void)state;
  snprintf(path, sizeof path, "%s", test_path("in-parts"));
  assert_true(run_in_parts(tiny_options(path, files), "in-parts.work: the run under way has seed 1, not 77") > 3);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) same_bytes(whole, path, names[i]);
  assert_int_equal(access(test_path("in-parts.work"), F_OK), -1);
}

static void so_do_runs_that_join_a_model(void **state) {
  static const char *const names[] = {"encoder-xx/1_LSTM/model.safetensors", "decoder-xx/model.safetensors",
                                      "encoder-zz/1_LSTM/model.safetensors", "decoder-zz/model.safetensors",
                                      "log.jsonl"};
  const cq_autoencode_text files[] = {{pairs_file(), {"xx", "zz"}}};
  char whole[400], parts[400];
  cq_error error = {0};
  (void)state;
  snprintf(whole, sizeof whole, "%s", test_path("joined"));
  snprintf(parts, sizeof parts, "%s", test_path("joined-in-parts"));
  cq_autoencode_options o = tiny_options(whole, files);
  o.joined = model();
  o.together_epochs = 1;
  if (cq_autoencode(NULL, &o, NULL, &error)) fail_msg("%s", error.message);
  o.output = parts;
  assert_true(run_in_parts(o, "has seed 1, not 77") > 3);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) same_bytes(whole, parts, names[i]);
}

static void runs_that_go_wrong_say_where(void **state) {
  const cq_autoencode_text files[] = {{pairs_file(), {"xx", "yy"}}};
  cq_error error = {0};
  (void)state;
  cq_autoencode_options o = tiny_options(test_path("wrong"), files);
  o.learning_rate = 1e38;
  o.clip_norm = 0;
  o.unit_length = false;
  assert_int_equal(cq_autoencode(NULL, &o, NULL, &error), CQ_ERR_LIMIT);
  assert_true(strstr(error.message, "not finite at step ") && strstr(error.message, "(encoders)") &&
              strstr(error.message, "wrong.work"));
  assert_int_equal(access(test_path("wrong"), F_OK), -1);
}

/* --- translating --- */

static void models_translate(void **state) {
  static const char *const texts[] = {"ab d", "", "unheard of", "cc e"};
  enum { N = 70 };
  cq_autoencoder *a;
  cq_error error = {0};
  cq_slice sentences[N];
  char *out[N], *again[N];
  cq_context *ctx;
  (void)state;
  if (cq_autoencoder_open(&a, model(), &error)) fail_msg("%s", error.message);
  assert_int_equal(cq_autoencoder_count(a), 2);
  assert_string_equal(cq_autoencoder_language(a, 1), "yy");
  assert_null(cq_autoencoder_encoder(a, "zz"));
  assert_int_equal(cq_encoder_dim(cq_autoencoder_encoder(a, "xx")), 7);
  for (int i = 0; i < N; i++) sentences[i] = cq_slice_of(texts[i % 4]);
  assert_int_equal(cq_context_open(&ctx, 3, NULL), CQ_OK);
  assert_int_equal(cq_autoencoder_translate(out, NULL, a, "xx", "yy", sentences, N, NULL, NULL, NULL), CQ_OK);
  assert_int_equal(cq_autoencoder_translate(again, NULL, a, "xx", "yy", sentences, N, NULL, ctx, NULL), CQ_OK);
  for (int i = 0; i < N; i++) {
    assert_string_equal(out[i], again[i]);
    assert_string_equal(out[i], out[i % 4]);
  }
  for (int i = 0; i < N; i++) cq_free(out[i]), cq_free(again[i]);
  assert_int_equal(cq_autoencoder_translate(out, NULL, a, "xx", "yy", NULL, 0, NULL, ctx, NULL), CQ_OK);
  assert_int_equal(cq_autoencoder_translate(out, NULL, a, "xx", "zz", sentences, N, NULL, ctx, &error),
                   CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "'zz'"));
  out[0] = out[N - 1] = (char *)"not yet";
  assert_int_equal(cq_autoencoder_translate(out, NULL, a, "zz", "xx", sentences, N, NULL, ctx, &error),
                   CQ_ERR_ARGUMENT);
  assert_non_null(strstr(error.message, "'zz'"));
  assert_true(!out[0] && !out[N - 1]);
  const char *const refused[] = {"beam is 0", "max-tokens is 0", "length-penalty is nan"};
  for (int i = 0; i < 3; i++) {
    cq_translate_options o = cq_translate_default_options();
    if (i == 0) o.beam = 0;
    if (i == 1) o.max_tokens = 0;
    if (i == 2) o.length_penalty = NAN;
    assert_int_equal(cq_autoencoder_translate(out, NULL, a, "xx", "yy", sentences, N, &o, ctx, &error),
                     CQ_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, refused[i]));
    assert_null(out[0]);
  }
  cq_context_free(ctx);
  cq_autoencoder_free(a);
  cq_autoencoder_free(NULL);
}

/* --- out of memory, at every allocation --- */

static void allocations_may_fail(void **state) {
  const cq_slice sentences[] = {cq_slice_of("ab d"), cq_slice_of("cc e")};
  cq_autoencoder *opened;
  (void)state;
  assert_int_equal(cq_autoencoder_open(&opened, model(), NULL), CQ_OK);
  for (int way = 0; way < 2; way++)
    for (long n = 1;; n++) {
      cq_autoencoder *a = NULL;
      char *out[2] = {NULL, NULL};
      cq_error error = {0};
      cq_alloc_fail_at(n);
      const cq_status status =
          way == 0 ? cq_autoencoder_open(&a, model(), &error)
                   : cq_autoencoder_translate(out, NULL, opened, "xx", "yy", sentences, 2, NULL, NULL, &error);
      const bool failed = cq_alloc_failed();
      cq_alloc_fail_at(0);
      cq_autoencoder_free(a);
      for (int i = 0; i < 2; i++) cq_free(out[i]);
      if (!failed) {
        assert_int_equal(status, CQ_OK);
        assert_true(n > 10);
        break;
      }
      if (status != CQ_ERR_MEMORY) fail_msg("way %d, allocation %ld: status %d: %s", way, n, status, error.message);
    }
  cq_autoencoder_free(opened);
}

/* Training allocates so often that only some of them are tried: each of the first, then fewer and fewer. */
static void training_may_run_out_of_memory(void **state) {
  const cq_autoencode_text files[] = {{pairs_file(), {"xx", "yy"}}};
  (void)state;
  for (long n = 1;; n += 1 + n / 12) {
    cq_error error = {0};
    cq_autoencode_options o = tiny_options(test_path("short"), files);
    o.dev = files, o.n_dev = 1;
    o.encoder_epochs = o.decoder_epochs = 0.3;
    o.resume = true; /* what a run before has saved may be gone on with */
    cq_alloc_fail_at(n);
    const cq_status status = cq_autoencode(NULL, &o, NULL, &error);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    if (!failed) {
      assert_int_equal(status, CQ_OK);
      assert_true(n > 100);
      break;
    }
    if (status != CQ_ERR_MEMORY) fail_msg("allocation %ld: status %d: %s", n, status, error.message);
    assert_int_equal(access(test_path("short"), F_OK), -1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_log_their_steps),
      cmocka_unit_test(wrong_options),
      cmocka_unit_test(a_run_of_one_stage_tells_its_loss),
      cmocka_unit_test(runs_can_be_stopped),
      cmocka_unit_test(runs_that_were_stopped_go_on_to_the_same_model),
      cmocka_unit_test(so_do_runs_that_join_a_model),
      cmocka_unit_test(models_translate),
      cmocka_unit_test(runs_that_go_wrong_say_where),
      cmocka_unit_test(allocations_may_fail),
      cmocka_unit_test(training_may_run_out_of_memory),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
