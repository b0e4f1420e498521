/* Word vectors of files: what is written is read again, states and their faults, memory. */
#include "support/files.h"

#include "base/memory.h"
#include "calque/lab/words.h"
#include "calque/npy.h"
#include "calque/words.h"

#include <math.h>

static const char *written(const char *name, const char *text) {
  const char *path = test_path(name);
  write_text(path, text);
  return path;
}

static const char *corpus(void) {
  return written("corpus.txt", "the mill by the river turns\nriver mill\n\nbread by the mill\n"
                               "\xe0\xa4\x98\xe0\xa4\xb0 by the river\n");
}

static cq_words_options tiny_options(void) {
  cq_words_options o = cq_words_default_options();
  o.dim = 3, o.window = 2, o.negative = 2, o.epochs = 3, o.learning_rate = 0.1, o.sample = 0, o.buckets = 20;
  return o;
}

static cq_words *trained(const cq_words_options *o) {
  cq_words *w;
  assert_int_equal(cq_words_train(&w, corpus(), o, NULL, NULL), CQ_OK);
  return w;
}

static cq_slice slice(const char *text) {
  return (cq_slice){text, strlen(text)};
}

static void what_is_saved_is_read_again(void **state) {
  (void)state;
  cq_words_options o = tiny_options();
  for (int way = 0; way < 2; way++) {
    if (way) o.min_ngram = 3, o.max_ngram = 4;
    cq_words *w = trained(&o), *again;
    assert_int_equal(cq_words_n(w), 7);
    assert_int_equal(cq_words_dim(w), 3);
    assert_int_equal(cq_words_n_read(w), 16 * 3);
    assert_memory_equal(cq_words_word(w, 0).data, "the", 3); /* the most frequent, the first */
    assert_int_equal(cq_words_find(w, slice("the")), 0);
    assert_int_equal(cq_words_find(w, slice("th")), SIZE_MAX);
    assert_int_equal(cq_words_find(w, slice("\xe0\xa4\x98\xe0\xa4\xb0")), 6);
    assert_int_equal(cq_words_save(w, test_path("v.txt"), NULL), CQ_OK);
    assert_int_equal(cq_words_open(&again, test_path("v.txt"), NULL), CQ_OK);
    assert_int_equal(cq_words_n(again), 7);
    for (size_t i = 0; i < 7; i++) {
      assert_int_equal(cq_words_find(again, cq_words_word(w, i)), i);
      assert_memory_equal(cq_words_vector(again, i), cq_words_vector(w, i), 3 * sizeof(float)); /* to the bit */
    }
    cq_words_free(w), cq_words_free(again);
  }
  cq_words_free(NULL);
}

static void faults_of_vectors_name_the_line(void **state) {
  (void)state;
  const struct {
    const char *text;
    uint64_t line;
  } cases[] = {{"", 1},
               {"2\n", 1},
               {"x 2\n", 1},
               {"1 0\na\n", 1},
               {"-1 2\n", 1},
               {"1 2 3\n", 1},
               {"1 2\na 1\n", 2},
               {"1 2\na 1 b\n", 2},
               {"1 2\na 1 2 3\n", 2},
               {"1 2\na 1 2\nb 1 2\n", 3},
               {"2 1\na 1\na 2\n", 3},
               {"2 1\na 1\n", 2},
               {"1 1\na nan\n", 2},
               {"1 1\na 340282356779733661637539395458142568448\n", 2}, /* rounded to infinity; the next below is not */
               {"1 1\na 1e39\n", 2}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    cq_words *w;
    cq_error error = {0};
    assert_int_equal(cq_words_open(&w, written("bad.txt", cases[i].text), &error), CQ_ERR_FORMAT);
    if (error.line != cases[i].line) fail_msg("case %zu: line %d: %s", i, (int)error.line, error.message);
    assert_null(w);
  }
}

/* --- states --- */

static void write_rows(const char *name, const float *rows, size_t n, int64_t dim) {
  cq_npy_writer *w;
  assert_int_equal(cq_npy_writer_open(&w, test_path(name), CQ_NPY_F32, dim, NULL), CQ_OK);
  assert_int_equal(cq_npy_writer_rows(w, rows, n, NULL), CQ_OK);
  assert_int_equal(cq_npy_writer_commit(w, NULL), CQ_OK);
}

/* One word's loss is log(1 + e^-f): every negative is the word itself and left out. */
static void a_loss_by_hand(void **state) {
  (void)state;
  const cq_words_options o = tiny_options();
  double loss;
  write_rows("s.in.npy", (float[]){1, 2, 3}, 1, 3);
  write_rows("s.out.npy", (float[]){0.5f, 0.25f, 1}, 1, 3);
  written("s.vocab", "mill\t5\n");
  const char *text = written("text.txt", "mill mill unknown\n\nmill\nother mill mill\n");
  assert_int_equal(cq_words_loss(&loss, text, test_path("s"), &o, NULL, NULL), CQ_OK);
  assert_float_equal(loss, log1p(exp(-4)), 1e-7);
  cq_error error = {0};
  text = written("text.txt", "mill\nunknown mill\n");
  assert_int_equal(cq_words_loss(&loss, text, test_path("s"), &o, NULL, &error), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_words_loss(&loss, written("text.txt", "unknown\n"), test_path("s"), &o, NULL, &error),
                   CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "the corpus has no words");
}

/* Negatives come as often as the state's counts say, whatever the corpus has: here always the frequent word. */
static void a_loss_counts_as_its_state(void **state) {
  (void)state;
  cq_words_options o = tiny_options();
  double loss;
  o.negative = 3;
  write_rows("c.in.npy", (float[]){1, 2, 0, 1}, 2, 2);
  write_rows("c.out.npy", (float[]){0.5f, 0.25f, -1, 0.75f}, 2, 2);
  written("c.vocab", "mill\t0\nhouse\t1000000\n");
  const char *text = written("text.txt", "mill mill\nmill mill mill\n");
  assert_int_equal(cq_words_loss(&loss, text, test_path("c"), &o, NULL, NULL), CQ_OK);
  assert_float_equal(loss, log1p(exp(-1)) + 3 * log1p(exp(0.5)), 1e-6);
}

static void a_state_measures_its_training(void **state) {
  (void)state;
  cq_words_options o = tiny_options();
  double loss[2];
  cq_error error = {0};
  for (int i = 0; i < 2; i++) {
    o.epochs = i ? 60 : 1;
    cq_words *w = trained(&o);
    assert_int_equal(cq_words_save_state(w, test_path("state"), NULL), CQ_OK);
    assert_int_equal(cq_words_loss(&loss[i], corpus(), test_path("state"), &o, NULL, NULL), CQ_OK);
    cq_words_free(w);
  }
  assert_true(loss[1] < loss[0] &&
              loss[0] < 3.01 * log(2)); /* one word and two negatives of zero vectors, at the most */
  size_t n;
  char *vocabulary = (char *)read_bytes(&n, test_path("state.vocab"));
  assert_string_equal(vocabulary,
                      "the\t4\nmill\t3\nby\t3\nriver\t3\nturns\t1\nbread\t1\n\xe0\xa4\x98\xe0\xa4\xb0\t1\n");
  free(vocabulary);
  /* Vectors that were read, and those of sub-words, have no state. */
  cq_words *w = trained(&o), *read;
  assert_int_equal(cq_words_save(w, test_path("v.txt"), NULL), CQ_OK);
  assert_int_equal(cq_words_open(&read, test_path("v.txt"), NULL), CQ_OK);
  assert_int_equal(cq_words_save_state(read, test_path("other"), &error), CQ_ERR_ARGUMENT);
  cq_words_free(w), cq_words_free(read);
  o.min_ngram = o.max_ngram = 3;
  w = trained(&o);
  assert_int_equal(cq_words_save_state(w, test_path("other"), &error), CQ_ERR_ARGUMENT);
  assert_int_equal(count_files("other"), 0);
  cq_words_free(w);
}

static void faults_of_states(void **state) {
  (void)state;
  const cq_words_options o = tiny_options();
  const float rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  char text[400];
  double loss;
  cq_error error = {0};
  snprintf(text, sizeof text, "%s", written("text.txt", "a b a b\n"));
  const struct {
    const char *text;
    uint64_t line;
  } cases[] = {{"a\t1\nb\n", 2},       {"a\tx\nb\t1\n", 1}, {"a\t1e300\nb\t1\n", 1},  {"a\t1\nb\t-1\n", 2},
               {"a\t1\t2\nb\t1\n", 1}, {"a\t1\na\t1\n", 2}, {"a\t1\nb\t1\na\t1\n", 3}};
  write_rows("f.in.npy", rows, 2, 3);
  write_rows("f.out.npy", rows, 2, 3);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    written("f.vocab", cases[i].text);
    error = (cq_error){0};
    assert_int_equal(cq_words_loss(&loss, text, test_path("f"), &o, NULL, &error), CQ_ERR_FORMAT);
    if (error.line != cases[i].line) fail_msg("case %zu: line %d: %s", i, (int)error.line, error.message);
  }
  written("f.vocab", "a\t1\nb\t1\n");
  assert_int_equal(cq_words_loss(&loss, text, test_path("f"), &o, NULL, NULL), CQ_OK);
  written("f.vocab", "");
  assert_int_equal(cq_words_loss(&loss, text, test_path("f"), &o, NULL, &error), CQ_ERR_FORMAT);
  written("f.vocab", "a\t1\nb\t1\n");
  write_rows("f.out.npy", rows, 3, 3); /* rows, then dimensions, that do not fit */
  assert_int_equal(cq_words_loss(&loss, text, test_path("f"), &o, NULL, &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "f.out.npy"));
  write_rows("f.out.npy", rows, 2, 2);
  assert_int_equal(cq_words_loss(&loss, text, test_path("f"), &o, NULL, &error), CQ_ERR_FORMAT);
  write_rows("f.in.npy", rows, 4, 3);
  assert_int_equal(cq_words_loss(&loss, text, test_path("f"), &o, NULL, &error), CQ_ERR_FORMAT);
  assert_non_null(strstr(error.message, "f.in.npy"));
  assert_int_equal(cq_words_loss(&loss, text, test_path("nowhere"), &o, NULL, &error), CQ_ERR_IO);
}

static void every_allocation_may_fail(void **state) {
  (void)state;
  const cq_words_options o = tiny_options();
  for (long n = 1;; n++) {
    cq_words *w, *read = NULL;
    const char *path = corpus();
    double loss;
    cq_alloc_fail_at(n);
    cq_status status = cq_words_train(&w, path, &o, NULL, NULL);
    if (!status) status = cq_words_save(w, test_path("m.txt"), NULL);
    if (!status) status = cq_words_save_state(w, test_path("m"), NULL);
    if (!status) status = cq_words_loss(&loss, path, test_path("m"), &o, NULL, NULL);
    if (!status) status = cq_words_open(&read, test_path("m.txt"), NULL);
    const bool failed = cq_alloc_failed();
    cq_alloc_fail_at(0);
    assert_int_equal(status, failed ? CQ_ERR_MEMORY : CQ_OK);
    cq_words_free(w), cq_words_free(read);
    if (!failed) break;
  }
}

static void corpora_without_words(void **state) {
  (void)state;
  cq_words_options o = tiny_options();
  cq_words *w;
  cq_error error = {0};
  assert_int_equal(cq_words_train(&w, written("empty.txt", "\n \n"), &o, NULL, &error), CQ_ERR_ARGUMENT);
  assert_string_equal(error.message, "the corpus has no words");
  assert_null(w);
  o.min_count = 9;
  assert_int_equal(cq_words_train(&w, corpus(), &o, NULL, &error), CQ_ERR_ARGUMENT);
  assert_int_equal(cq_words_train(&w, test_path("nowhere"), &o, NULL, &error), CQ_ERR_IO);
  o.min_count = 2;
  assert_int_equal(cq_words_train(&w, corpus(), &o, NULL, NULL), CQ_OK);
  assert_int_equal(cq_words_n(w), 4);
  cq_words_free(w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_saved_is_read_again),
      cmocka_unit_test(faults_of_vectors_name_the_line),
      cmocka_unit_test(a_loss_by_hand),
      cmocka_unit_test(a_loss_counts_as_its_state),
      cmocka_unit_test(a_state_measures_its_training),
      cmocka_unit_test(faults_of_states),
      cmocka_unit_test(every_allocation_may_fail),
      cmocka_unit_test(corpora_without_words),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
