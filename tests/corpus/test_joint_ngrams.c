/* The joint n-gram model of two spellings: probabilities against all divisions of a pair, one by one; words spelled by
 * what pairs taught. */
#include "support/files.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "corpus/joint_ngrams.h"
#include "text/unicode.h"

#include <math.h>

static cq_joint_pair pair(const char *source, const char *target) {
  return (cq_joint_pair){cq_slice_of(source), cq_slice_of(target)};
}

/* A language that writes a word by its next letters: b as c, sh as one letter, no h alone, x as two. */
static void write_word(char *out, const char *word) {
  for (const char *c = word; *c; c++) {
    if (c[0] == 's' && c[1] == 'h') {
      *out++ = '$', c++;
    } else if (*c == 'x') {
      *out++ = 'l', *out++ = 't';
    } else if (*c != 'h') {
      *out++ = (char)(*c + 1);
    }
  }
  *out = '\0';
}

enum { N_WORDS = 400, LENGTH = 7 };
static char words[N_WORDS][LENGTH + 1], spellings[N_WORDS][2 * LENGTH + 1];

static void make_words(cq_joint_pair pairs[N_WORDS]) {
  uint32_t random = 1;
  for (int i = 0; i < N_WORDS; i++) {
    for (int k = 0; k < LENGTH; k++) {
      random = random * 1664525 + 1013904223;
      words[i][k] = "abdeghiklmnorsstuxhh"[(random >> 16) % 20];
    }
    write_word(spellings[i], words[i]);
    pairs[i] = pair(words[i], spellings[i]);
  }
}

/* The sum over all divisions of what is left of a pair, each unit looked up by its letters. */
static double by_all_divisions(const cq_joint_ngrams *m, const char *source, const char *target) {
  static const size_t shapes[][2] = {{1, 1}, {1, 0}, {0, 1}, {2, 1}, {1, 2}};
  const size_t n_source = strlen(source), n_target = strlen(target);
  if (n_source == 0 && n_target == 0) return 1;
  double sum = 0;
  for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
    if (shapes[k][0] > n_source || shapes[k][1] > n_target) continue;
    double p = 1e-8; /* of a unit that was not seen */
    for (size_t u = 0; u < m->n_units; u++) {
      const uint32_t *letters = m->units[u].letters;
      bool is = true;
      for (size_t i = 0; i < 2; i++) {
        is &= letters[i] == (i < shapes[k][0] ? (uint32_t)source[i] : 0);
        is &= letters[2 + i] == (i < shapes[k][1] ? (uint32_t)target[i] : 0);
      }
      if (is && m->units[u].p > p) p = m->units[u].p;
    }
    sum += p * by_all_divisions(m, source + shapes[k][0], target + shapes[k][1]);
  }
  return sum;
}

static void scores_are_sums_over_divisions(void **state) {
  static const char *const cases[][2] = {{"bad", "cbe"}, {"shox", "$plt"}, {"hog", "ph"}, {"g", "cbea"}, {"zzz", "q"}};
  (void)state;
  cq_joint_ngrams m;
  cq_joint_pair pairs[N_WORDS];
  make_words(pairs);
  assert_true(cq_joint_open(&m));
  assert_true(cq_joint_learn(&m, pairs, N_WORDS, 3));
  double sum = 0;
  for (size_t u = 0; u < m.n_units; u++) sum += m.units[u].p;
  assert_true(fabs(sum - 1) < 1e-12);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const double expected = log(by_all_divisions(&m, cases[i][0], cases[i][1]));
    const double got = cq_joint_score(&m, pair(cases[i][0], cases[i][1]));
    if (!(fabs(got - expected) < 1e-9 * fabs(expected)))
      fail_msg("%s, %s: %.12g, expected %.12g", cases[i][0], cases[i][1], got, expected);
  }
  assert_true(cq_joint_score(&m, pair("", "a")) == -HUGE_VAL);
  assert_true(cq_joint_score(&m, pair("a", "")) == -HUGE_VAL);
  assert_true(cq_joint_score(&m, pair("a", "aaaaaaaaaaaaaaaaaaaaa")) == -HUGE_VAL);
  assert_true(isfinite(cq_joint_score(&m, pair("a", "aaaaaaaaaaaaaaaaaaaa"))));
  cq_joint_close(&m);
}

/* Each iteration makes the pairs likelier: what expectation maximization promises. */
static void learning_makes_pairs_likelier(void **state) {
  (void)state;
  cq_joint_ngrams m;
  cq_joint_pair pairs[N_WORDS];
  double last = -HUGE_VAL;
  make_words(pairs);
  assert_true(cq_joint_open(&m));
  for (int iteration = 0; iteration < 6; iteration++) {
    double sum = 0;
    assert_true(cq_joint_learn(&m, pairs, N_WORDS, 1));
    for (int i = 0; i < N_WORDS; i++) sum += cq_joint_score(&m, pairs[i]);
    assert_true(sum > last);
    last = sum;
  }
  cq_joint_close(&m);
}

static void words_are_spelled(void **state) {
  static const char *const unseen[] = {"shagbark", "dishdash", "oxtail", "hunted", "gex", "lemoshin", "b"};
  (void)state;
  cq_joint_ngrams m;
  cq_joint_pair pairs[N_WORDS];
  cq_builder out = {0};
  char expected[64];
  make_words(pairs);
  assert_true(cq_joint_open(&m));
  assert_true(cq_joint_learn(&m, pairs, N_WORDS, 8) && cq_joint_count(&m, pairs, N_WORDS));
  for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++) {
    cq_builder_clear(&out);
    write_word(expected, unseen[i]);
    assert_true(cq_joint_spell(&out, &m, cq_slice_of(unseen[i])));
    if (!cq_slice_equal((cq_slice){out.data, out.n}, cq_slice_of(expected)))
      fail_msg("%s: '%.*s', expected '%s'", unseen[i], (int)out.n, out.data, expected);
  }
  /* Letters that no pair has, none, and too many. */
  static const char *const none[] = {"zebra", "", "aaaaaaaaaaaaaaaaaaaaa"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    cq_builder_clear(&out);
    assert_true(cq_joint_spell(&out, &m, cq_slice_of(none[i])));
    assert_int_equal(out.n, 0);
  }
  cq_builder_free(&out);
  cq_joint_close(&m);
}

/* What a letter becomes where it stands is learned from the letters before it: c is k before a, and s before e. */
static void letters_depend_on_their_neighbors(void **state) {
  static const char *const seen[][2] = {{"cata", "kata"}, {"cete", "sete"}, {"tacat", "takat"}, {"tecet", "teset"}};
  (void)state;
  cq_joint_ngrams m;
  cq_builder out = {0};
  cq_joint_pair pairs[40];
  for (size_t i = 0; i < 40; i++) pairs[i] = pair(seen[i % 4][0], seen[i % 4][1]);
  assert_true(cq_joint_open(&m));
  assert_true(cq_joint_learn(&m, pairs, 40, 8) && cq_joint_count(&m, pairs, 40));
  assert_true(cq_joint_spell(&out, &m, cq_slice_of("cat")));
  assert_string_equal(out.data, "kat");
  cq_builder_clear(&out);
  assert_true(cq_joint_spell(&out, &m, cq_slice_of("cet")));
  assert_string_equal(out.data, "set");
  cq_builder_free(&out);
  cq_joint_close(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scores_are_sums_over_divisions),
      cmocka_unit_test(learning_makes_pairs_likelier),
      cmocka_unit_test(words_are_spelled),
      cmocka_unit_test(letters_depend_on_their_neighbors),
  };
  return cmocka_run_group_tests(tests, make_test_directory, remove_test_directory);
}
